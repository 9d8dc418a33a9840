"""The continuous kernels against 50-digit values; see golden/generate_continuous.py."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pbdp.noise.gaussian import Gaussian
from pbdp.noise.generalized_normal import GeneralizedNormal
from pbdp.noise.huber import Huber
from pbdp.noise.kernel import Array, LogConcaveKernel
from pbdp.noise.laplace import Laplace

FAMILIES = {"gaussian": Gaussian, "laplace": Laplace, "generalized normal": GeneralizedNormal, "huber": Huber}
LAWS: list[dict[str, Any]] = json.loads(
    (Path(__file__).parent / "golden" / "continuous.json").read_text(encoding="utf-8")
)
each_law = pytest.mark.parametrize("law", LAWS, ids=lambda law: f"{law['family']} {law['parameters']}")


def kernel_of(law: dict[str, Any]) -> LogConcaveKernel:
    kernel: LogConcaveKernel = FAMILIES[law["family"]](**law["parameters"])
    return kernel


def column(rows: list[dict[str, Any]], name: str) -> Array:
    return np.array([float(row[name]) for row in rows])


def largest_error(values: Array, exact: Array) -> float:
    return float(np.max(np.abs(values / exact - 1)))


@each_law
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
    kernel, tails = kernel_of(law), law["tails"]
    x, exact = column(tails, "x"), column(tails, "log_density")
    for points in (x, -x):
        np.testing.assert_allclose(kernel.log_density(points), exact, rtol=1e-14, atol=1e-14)
        assert largest_error(kernel.density(points), np.exp(exact)) < 1e-12


@each_law
def test_quantiles_are_exact_down_to_1e_250(law: dict[str, Any]) -> None:
    kernel, tails = kernel_of(law), law["tails"]
    u, exact = column(tails, "u"), column(tails, "quantile")
    assert largest_error(kernel.quantile(u), exact) < 1e-14
    assert largest_error(kernel.upper_quantile(u), -exact) < 1e-14
    # How far the cdf is off where the quantile is: its slope times the error.
    assert np.max(np.abs(kernel.quantile(u) - exact) * kernel.density(exact) / u) < 1e-11


@each_law
def test_masses_keep_twelve_digits_in_narrow_and_far_intervals(law: dict[str, Any]) -> None:
    kernel, masses = kernel_of(law), law["masses"]
    low, high, exact = (column(masses, name) for name in ("low", "high", "mass"))
    assert largest_error(kernel.mass(low, high), exact) < 1e-12
    assert largest_error(kernel.mass(-high, -low), exact) < 1e-12


@each_law
def test_log_moments_hold_the_exact_value(law: dict[str, Any]) -> None:
    kernel, moments = kernel_of(law), law["moments"]
    is_bound = law["family"] == "generalized normal" and law["parameters"]["shape"] > 1
    for order in {row["order"] for row in moments}:
        rows = [row for row in moments if row["order"] == order]
        low, high, shift, exact = (column(rows, name) for name in ("low", "high", "shift", "log_moment"))
        lower, upper = kernel.log_moment(low, high, shift, order)
        if is_bound:
            assert np.all(lower <= exact)
            assert np.all(exact <= upper)
            # Above 1e15 neighboring floats are further apart than the integrand is wide.
            known = np.abs(exact) < 1e15
            assert known.sum() >= 6
            assert np.all((upper - lower)[known] < 2e-5 + 2e-13 * np.abs(exact[known]))
        else:
            np.testing.assert_allclose(lower, exact, rtol=1e-13, atol=1e-13)
            np.testing.assert_array_equal(lower, upper)
