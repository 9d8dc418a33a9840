"""Figure 5: published values by the printed formulas, exact ones by brute force, and what they show."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.stats import norm

from reproduction.experiment import Row, Settings
from reproduction.figure_5a_feasible import BOOSTED, BOUNDED, CLASSICAL, EACH, EXPERIMENT, ONE
from reproduction.tests.boosted_reference import (
    gaussian_delta,
    hockey_stick,
    printed_l1,
    printed_rate,
    renyi,
)

NARROW, WIDE = (-10.0, 10.0), (-50.0, 50.0)


def profile(ends: tuple[float, float], delta: float, kernel: str = EACH, sensitivity: float = 1.0) -> Any:
    rows = EXPERIMENT.compute(
        {
            "part": "a",
            "low": ends[0],
            "high": ends[1],
            "sensitivity": sensitivity,
            "kernel": kernel,
            "delta": delta,
        }
    )
    return {row["mechanism"]: row for row in rows}


def added(
    ends: tuple[float, float], sensitivity: float, order: float, rho: float, sigma: float = 10.0
) -> Any:
    (row,) = EXPERIMENT.compute(
        {
            "part": "b",
            "low": ends[0],
            "high": ends[1],
            "sensitivity": sensitivity,
            "order": order,
            "sigma": sigma,
            "rho": rho,
        }
    )
    return row


@pytest.mark.parametrize("ends", [NARROW, WIDE])
@pytest.mark.parametrize("delta", [1e-8, 1e-4])
@pytest.mark.parametrize("kernel", [EACH, ONE, CLASSICAL])
def test_published_epsilons_are_those_of_the_printed_formulas(
    ends: tuple[float, float], delta: float, kernel: str
) -> None:
    width = ends[1] - ends[0]
    for name, row in profile(ends, delta, kernel).items():
        sigma = row["sigma"]
        inside = norm.cdf(width / sigma) - 0.5
        boost = printed_rate(0.8, inside) if name == BOOSTED else 1.0
        assert row["boost"] == pytest.approx(boost, rel=1e-9)
        l1 = printed_l1(width, 1.0, sigma, boost)
        assert row["l1_published"] == pytest.approx(l1, rel=1e-9)
        # Remark 3 solved for epsilon: delta_Z(epsilon - L1) = delta
        assert gaussian_delta(row["epsilon_published"] - l1, 1.0, sigma) == pytest.approx(delta, rel=1e-8)
        if kernel == EACH:
            assert gaussian_delta(0.1, 1.0, sigma) == pytest.approx(delta, rel=1e-8)
            assert row["epsilon_published"] == pytest.approx(0.1 + l1, abs=1e-9)
        if kernel == CLASSICAL:
            assert sigma == pytest.approx(np.sqrt(2 * np.log(1.25 / delta)) / 0.1, rel=1e-12)


@pytest.mark.parametrize("ends", [NARROW, WIDE])
@pytest.mark.parametrize("delta", [1e-5, 1e-3])
def test_exact_epsilons_agree_with_brute_force(ends: tuple[float, float], delta: float) -> None:
    answers = np.linspace(ends[0], ends[1] - 1, 13)
    for row in profile(ends, delta).values():
        law = {"sigma": row["sigma"], "boost": row["boost"]}

        def largest(epsilon: float, law: Any = law) -> float:
            pairs = [(a, a + 1) for a in answers] + [(a + 1, a) for a in answers]
            return max(hockey_stick(a, b, ends, ends, epsilon=epsilon, **law) for a, b in pairs)

        assert row["epsilon_exact_lower"] <= row["epsilon_exact"] <= 1.01 * row["epsilon_exact_lower"] + 2e-6
        assert largest(row["epsilon_exact"]) <= delta * (1 + 1e-6)
        # a little less is not enough
        assert largest(0.99 * row["epsilon_exact_lower"]) > delta


def test_bounding_beats_boosting_exactly_and_loses_as_published() -> None:
    for ends, delta in ((NARROW, 1e-8), (NARROW, 1e-2), (WIDE, 1e-5)):
        rows = profile(ends, delta)
        assert rows[BOOSTED]["epsilon_published"] < rows[BOUNDED]["epsilon_published"]
        assert rows[BOUNDED]["epsilon_exact"] < rows[BOOSTED]["epsilon_exact_lower"]
    narrow = profile(NARROW, 1e-5)
    assert narrow[BOOSTED]["epsilon_exact"] == pytest.approx(0.0945, abs=2e-4)
    assert narrow[BOUNDED]["epsilon_exact"] == pytest.approx(0.01024, abs=5e-5)


@pytest.mark.parametrize("ends", [NARROW, WIDE])
@pytest.mark.parametrize("sensitivity", [1.0, 30.0])
@pytest.mark.parametrize("rho", [0.7, 0.95])
def test_l1_is_the_printed_one_and_the_exact_renyi_loss_that_of_brute_force(
    ends: tuple[float, float], sensitivity: float, rho: float
) -> None:
    width, sigma = ends[1] - ends[0], 10.0
    boost = printed_rate(rho, norm.cdf(width / sigma) - 0.5)
    shift = min(sensitivity, width)
    for order in (2.0, 10.0):
        row = added(ends, sensitivity, order, rho)
        l1 = printed_l1(width, sensitivity, sigma, boost)
        assert row["l1_published"] == pytest.approx(l1, rel=1e-9)
        kernel = order * sensitivity**2 / (2 * sigma**2)
        assert row["epsilon_published"] == pytest.approx(kernel + l1, rel=1e-9)
        assert row["kernel_epsilon"] == pytest.approx(order * shift**2 / (2 * sigma**2), rel=1e-12)
        answers = np.linspace(ends[0], ends[1] - shift, 1 if shift == width else 41)
        found = max(
            renyi(*pair, ends, ends, sigma=sigma, boost=boost, order=order)
            for a in answers
            for pair in ((a, a + shift), (a + shift, a))
        )
        assert row["epsilon_exact"] >= found - 1e-9
        assert row["epsilon_exact_lower"] <= found + 2e-3 * max(1.0, shift / 10)
        assert row["added_exact"] == pytest.approx(row["epsilon_exact_lower"] - row["kernel_epsilon"])


def test_signs_and_sizes_of_l1() -> None:
    # the printed neighbor is outside [-10, 10] for a sensitivity of 30, and L1 is negative there
    assert added(NARROW, 30.0, 2.0, 0.999)["l1_published"] < -1
    assert added(NARROW, 30.0, 2.0, 0.999)["l1_mended"] > 0.3
    assert added(WIDE, 30.0, 2.0, 1.0)["epsilon_exact"] is None
    falls = [added(WIDE, 30.0, 2.0, rho)["l1_published"] for rho in (0.7, 0.8, 0.9, 1.0)]
    assert falls == sorted(falls)
    # L1 knows no order, what is really added does
    low, high = added(WIDE, 30.0, 2.0, 0.7), added(WIDE, 30.0, 10.0, 0.7)
    assert low["l1_published"] == high["l1_published"]
    assert low["added_exact"] < 0
    assert high["added_exact"] > 0.25
    # a lower confidence at the same kernel loses more, not less
    assert (
        added(NARROW, 1.0, 2.0, 0.7)["epsilon_exact_lower"] > added(NARROW, 1.0, 2.0, 0.999)["epsilon_exact"]
    )


def test_the_narrower_range_is_judged_by_the_larger_direction() -> None:
    # Appendix G: the larger of both directions; true at σ = 10 and Δ = 30, not at σ = 20, nor at Δ = 1
    for sensitivity, sigma, narrower in ((30.0, 10.0, True), (30.0, 20.0, False), (1.0, 10.0, False)):
        falls = []
        for width in (20.0, 100.0):
            boosts = [printed_rate(rho, norm.cdf(width / sigma) - 0.5) for rho in (0.999, 0.7)]
            high, low = (abs(printed_l1(width, sensitivity, sigma, boost)) for boost in boosts)
            falls.append(high - low)
        assert (falls[0] > falls[1]) is narrower


def test_the_findings_say_so() -> None:
    rows: list[Row] = [
        row for settings in EXPERIMENT.cases(True) if _cheap(settings) for row in EXPERIMENT.compute(settings)
    ]
    # the slow corner is filled in from the other range, whose rows have the same shape
    spare = [row | {"low": -50.0, "high": 50.0} for row in rows if _narrow_corner(row)]
    found = EXPERIMENT.findings(rows + spare)
    assert [finding.holds for finding in found[:4]] == [True, False, None, True]
    assert found[1].figures["boosted_better"] == 0
    assert any("times δ" in line for line in found[1].check)
    assert all(finding.figures for finding in found)
    narrower = next(finding for finding in found if "Appendix G" in finding.text)
    assert (narrower.figures["narrower_larger"], narrower.figures["as_printed"]) == (1, 0)
    assert "true at Δ = 30 and σ = 10, and not at the other 1 of 2" in narrower.text
    assert narrower.holds is False
    assert all("L1 = log(" in line for line in narrower.check)


def _cheap(settings: Settings) -> bool:
    if settings["part"] == "a":
        return settings["kernel"] == EACH and settings["delta"] in {1e-8, 1e-4}
    corner = settings["low"], settings["sensitivity"]
    return settings["sigma"] == 10.0 and settings["rho"] in {0.7, 0.999} and corner != (-50.0, 1.0)


def _narrow_corner(row: Row) -> bool:
    return (row["part"], row["low"], row["sensitivity"]) == ("b", -10.0, 1.0)
