"""The continuous kernels against 50-digit values; see golden/generate_continuous.py."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pbdp.noise.gaussian import Gaussian
from pbdp.noise.huber import Huber
from pbdp.noise.kernel import Array, LogConcave, LogConcaveKernel
from pbdp.noise.laplace import Laplace

KERNELS: dict[str, Callable[..., LogConcaveKernel]] = {"gaussian": Gaussian, "laplace": Laplace}
DENSITIES: dict[str, Callable[..., LogConcave]] = {"huber": Huber}
LAWS: list[dict[str, Any]] = json.loads(
    (Path(__file__).parent / "golden" / "continuous.json").read_text(encoding="utf-8")
)


def name(law: dict[str, Any]) -> str:
    return f"{law['family']} {law['parameters']}"


each_law = pytest.mark.parametrize("law", LAWS, ids=name)
each_kernel = pytest.mark.parametrize("law", [law for law in LAWS if law["family"] in KERNELS], ids=name)


def kernel_of(law: dict[str, Any]) -> LogConcaveKernel:
    return KERNELS[law["family"]](**law["parameters"])


def column(rows: list[dict[str, Any]], name: str) -> Array:
    return np.array([float(row[name]) for row in rows])


def largest_error(values: Array, exact: Array) -> float:
    return float(np.max(np.abs(values / exact - 1)))


@each_kernel
def test_tails_keep_twelve_digits_down_to_1e_250(law: dict[str, Any]) -> None:
    kernel, tails = kernel_of(law), law["tails"]
    x, exact = column(tails, "x"), column(tails, "cdf")
    assert exact.min() < 2e-249
    assert largest_error(kernel.cdf(x), exact) < 1e-12
    assert largest_error(kernel.survival(-x), exact) < 1e-12
    np.testing.assert_allclose(kernel.cdf(-x), 1 - exact, rtol=1e-14)
    np.testing.assert_allclose(kernel.survival(x), 1 - exact, rtol=1e-14)


@each_law
def test_densities_keep_twelve_digits_down_to_1e_250(law: dict[str, Any]) -> None:
    density, tails = (KERNELS | DENSITIES)[law["family"]](**law["parameters"]), law["tails"]
    x, exact = column(tails, "x"), column(tails, "log_density")
    for points in (x, -x):
        np.testing.assert_allclose(density.log_density(points), exact, rtol=1e-14, atol=1e-14)
        assert largest_error(np.exp(density.log_density(points)), np.exp(exact)) < 1e-12


@each_kernel
def test_reaches_are_exact_down_to_1e_250(law: dict[str, Any]) -> None:
    kernel, tails = kernel_of(law), law["tails"]
    u, exact = column(tails, "u"), column(tails, "quantile")
    reach = np.array([kernel.reach(2 * tail) for tail in u])
    assert largest_error(reach, -exact) < 1e-14
    # How far the tail is off where the reach is: its slope times the error.
    assert np.max(np.abs(reach + exact) * kernel.density(exact) / u) < 1e-11


@each_kernel
def test_masses_keep_twelve_digits_in_narrow_and_far_intervals(law: dict[str, Any]) -> None:
    kernel, masses = kernel_of(law), law["masses"]
    low, high, exact = (column(masses, name) for name in ("low", "high", "mass"))
    assert largest_error(kernel.mass(low, high), exact) < 1e-12
    assert largest_error(kernel.mass(-high, -low), exact) < 1e-12


@each_kernel
def test_log_moments_keep_thirteen_digits(law: dict[str, Any]) -> None:
    kernel, moments = kernel_of(law), law["moments"]
    for order in {row["order"] for row in moments}:
        rows = [row for row in moments if row["order"] == order]
        low, high, shift, exact = (column(rows, name) for name in ("low", "high", "shift", "log_moment"))
        np.testing.assert_allclose(kernel.log_moment(low, high, shift, order), exact, rtol=1e-13, atol=1e-13)
