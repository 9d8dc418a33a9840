"""Every lattice law against plain 50-digit sums (golden/generate_lattice.py)."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pbdp.noise.gaussian import DiscreteGaussian
from pbdp.noise.grid_kernel import GridKernel
from pbdp.noise.huber import Huber
from pbdp.noise.kernel import LatticeKernel
from pbdp.noise.laplace import DiscreteLaplace
from pbdp.noise.staircase import Staircase

GOLDEN = json.loads((Path(__file__).parent / "golden" / "lattice.json").read_text(encoding="utf-8"))
LATTICES: dict[str, Callable[..., LatticeKernel]] = {
    "DiscreteGaussian": DiscreteGaussian,
    "DiscreteLaplace": DiscreteLaplace,
    "Staircase": Staircase,
    "Huber": lambda **given: GridKernel(continuous=Huber(**given)),
}


def name(case: dict[str, Any]) -> str:
    return f"{case['kernel']}-{'-'.join(map(str, case['parameters'].values()))}"


def kernel_of(case: dict[str, Any]) -> LatticeKernel:
    return LATTICES[case["kernel"]](**case["parameters"])


every_lattice = pytest.mark.parametrize("case", GOLDEN["lattice"], ids=name)


@every_lattice
@pytest.mark.parametrize("figure", ["cdf", "survival", "mass"])
def test_lattice_figures_keep_twelve_digits(case: dict[str, Any], figure: str) -> None:
    *where, expected = np.array(case[figure]).T

    np.testing.assert_allclose(getattr(kernel_of(case), figure)(*where), expected, rtol=1e-12, atol=0)


@every_lattice
def test_masses_are_those_of_single_points(case: dict[str, Any]) -> None:
    points = {int(low): mass for low, high, mass in case["mass"] if low == high < 5000}
    kernel = kernel_of(case)
    reach = max(points)

    table = kernel.masses(reach)

    np.testing.assert_allclose([table[reach + n] for n in points], list(points.values()), rtol=1e-12, atol=0)
    np.testing.assert_allclose(kernel.density(list(points)), list(points.values()), rtol=1e-12, atol=0)


@every_lattice
def test_reaches_are_exact(case: dict[str, Any]) -> None:
    # survival(n) <= u says cdf(-n-1) <= u; no golden u is a value of the cdf, where the two would differ
    kernel, tails = kernel_of(case), [(u, n) for u, n in case["quantile"] if n < 0]

    assert [kernel.reach(2 * u) for u, _ in tails] == [-n for _, n in tails]
