"""The rows of single requirements: the published formulas once more, and the order of the kinds."""

from __future__ import annotations

from typing import Any

import pytest
from mpmath import MPContext

from reproduction.figures_2_and_3_accuracy.curves import EMPTY, rows_at
from reproduction.figures_2_and_3_accuracy.requirements import Aligned
from reproduction.published.measure import AtDelta, AtOrder, Measure

mp = MPContext()
mp.dps = 25
AT_DELTA, AT_ORDER = AtDelta(delta=1e-5), AtOrder(order=2.0)


def by_kind(region: str, size: float, rho: float, sensitivity: float, measure: Measure) -> dict[str, Any]:
    aligned = Aligned(region=region, size=size, confidence=rho, sensitivity=sensitivity, measure=measure)
    rows = rows_at(aligned.settings() | {"part": "main"})
    assert all(list(row) == list(EMPTY) for row in rows)
    return {str(row["kind"]): row for row in rows}


@pytest.fixture(scope="module")
def absolute() -> dict[str, Any]:
    return by_kind("absolute", 5.0, 0.8, 4.0, AT_DELTA)


@pytest.fixture(scope="module")
def relative() -> dict[str, Any]:
    return by_kind("relative", 5.0, 0.8, 4.0, AT_ORDER)


@pytest.fixture(scope="module")
def fixed() -> dict[str, Any]:
    return by_kind("fixed", 10.0, 0.9, 1.0, AT_DELTA)


def kernel_delta(sigma: Any, shift: float, epsilon: Any) -> Any:
    """delta_Z of the Gaussian, by integration of the difference of the two densities where it is positive."""
    crossing = shift / mp.mpf(2) - epsilon * sigma**2 / shift
    points = mp.linspace(crossing - 30 * sigma, crossing, 11)
    return mp.quad(lambda y: mp.npdf(y, 0, sigma) - mp.exp(epsilon) * mp.npdf(y, shift, sigma), points)


def mass(sigma: Any, low: float, high: float) -> Any:
    return mp.ncdf(high / sigma) - mp.ncdf(low / sigma)


def published_parts(region: str, sigma: Any, tau: float, shift: float, rho: float) -> tuple[Any, ...]:
    """q, L1, L2, W1 and W2 letter by letter (Propositions 4 to 6)."""
    theta = mp.mpf("0.05")
    p = mass(sigma, 0, 2 * tau) if region == "fixed" else mass(sigma, -tau, tau)
    q = 1 / mp.mpf(rho) + 1 / (1 - p) - 1 / (rho * (1 - p))
    there = {
        "absolute": p,
        "relative": mass(sigma, -theta * shift - tau, theta * shift + tau),
        "fixed": mass(sigma, -shift, 2 * tau - shift),
    }[region]
    first = mp.log((1 - (1 - there) * q) / (1 - (1 - p) * q))
    weights = {
        "absolute": (mass(sigma, -tau, shift - tau),) * 2,
        "relative": (mass(sigma, tau, theta * shift + tau), mass(sigma, -tau, theta * shift - tau)),
        "fixed": (mp.mpf(0), mp.mpf(0)),
    }[region]
    return q, first, -mp.log(1 - q), *weights


@pytest.mark.parametrize(
    ("region", "tau", "rho", "shift"), [("absolute", 2.5, 0.8, 4.0), ("fixed", 5.0, 0.9, 1.0)]
)
def test_proposition_1_at_the_published_epsilon_is_delta(
    region: str, tau: float, rho: float, shift: float, request: pytest.FixtureRequest
) -> None:
    row = request.getfixturevalue(region)["as published"]
    sigma, epsilon = mp.mpf(row["sigma"]), mp.mpf(row["epsilon"])
    q, first, step, plus, minus = published_parts(region, sigma, tau, shift, rho)
    e = epsilon - first
    delta = plus * kernel_delta(sigma, shift, e - step) + minus * kernel_delta(sigma, shift, e + step)
    delta += (1 - plus - minus) * kernel_delta(sigma, shift, e)

    assert float(q) == pytest.approx(row["boost"], rel=1e-9)
    assert float(delta) == pytest.approx(1e-5, rel=1e-9)


def test_proposition_2_is_the_published_renyi_epsilon(relative: dict[str, Any]) -> None:
    row = relative["as published"]
    sigma = mp.mpf(row["sigma"])
    q, first, step, plus, minus = published_parts("relative", sigma, 2.5, 4.0, 0.8)
    mean = plus * mp.exp(step) + minus * mp.exp(-step) + 1 - plus - minus
    epsilon = 2 * mp.mpf(16) / (2 * sigma**2) + first + mp.log(mean)

    assert float(q) == pytest.approx(row["boost"], rel=1e-9)
    assert row["epsilon"] == pytest.approx(float(epsilon), rel=1e-9)


def test_the_kinds_come_in_the_order_they_must(absolute: dict[str, Any], relative: dict[str, Any]) -> None:
    limit, planner, best, exact, plain = (
        absolute[kind]["epsilon"] for kind in ("limit", "planner", "exact best", "exact", "plain gaussian")
    )
    assert limit <= planner <= best <= exact <= plain
    assert absolute["exact"]["epsilon"] < absolute["as published"]["epsilon"]  # loose here
    assert relative["planner"]["epsilon"] <= relative["exact best"]["epsilon"]
    assert relative["exact best"]["epsilon"] <= relative["plain gaussian"]["epsilon"]
    assert relative["exact best"]["epsilon"] <= relative["exact"]["epsilon"]


def test_the_relative_renyi_curve_is_twenty_times_too_low(relative: dict[str, Any]) -> None:
    published, exact = relative["as published"]["epsilon"], relative["exact"]

    assert exact["epsilon_lower"] > 20 * published
    assert published < exact["witnessed"] <= exact["epsilon"]
    assert "limit" not in relative


def test_on_a_fixed_range_the_published_epsilon_vanishes_with_a_free_kernel(fixed: dict[str, Any]) -> None:
    assert fixed["as published, any kernel"]["epsilon"] < 0.05 * fixed["as published"]["epsilon"]
    assert fixed["exact"]["epsilon"] < fixed["as published"]["epsilon"]
    assert fixed["truncated"]["epsilon"] < fixed["clamped"]["epsilon"] <= fixed["plain gaussian"]["epsilon"]
    assert fixed["clamped"]["epsilon"] < fixed["exact"]["epsilon_lower"]
    assert fixed["planner"]["epsilon"] == pytest.approx(fixed["truncated"]["epsilon"], rel=0.01)
