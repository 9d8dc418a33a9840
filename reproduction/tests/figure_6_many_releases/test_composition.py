"""Figure 6, on a few of its own cases."""

from __future__ import annotations

import contextlib
import io
import math
from typing import Any

import pytest
from mpmath import MPContext

from pbdp.json_records import canonical
from reproduction.experiment import Cause, Row, Settings
from reproduction.figure_6_many_releases.composed_curves import best_sigma, published_total
from reproduction.figure_6_many_releases.composed_noise import composed_delta, composition_program
from reproduction.figure_6_many_releases.composition import COUNTS, EXPERIMENT, FEW_COUNTS
from reproduction.figure_6_many_releases.fixed_budget import OF_KERNEL, OF_RELEASE
from reproduction.figures_2_and_3_accuracy.curves import published_choice
from reproduction.figures_2_and_3_accuracy.noise import BoostedGaussian
from reproduction.figures_2_and_3_accuracy.requirements import Aligned
from reproduction.published.measure import AtDelta
from reproduction.witness import pair_at

mp = MPContext()
mp.dps = 25


def chosen(case: Settings) -> bool:
    return (
        not case["budget"]
        and case["width"] == 10.0
        and (case["order"] == 2.0 or case["releases"] in (1, 10, 1000))
    )


@pytest.fixture(scope="module")
def rows() -> list[Row]:
    return [row for case in EXPERIMENT.cases(True) if chosen(case) for row in EXPERIMENT.compute(case)]


def curve(rows: list[Row], kind: str, column: str = "epsilon", *, region: str = "absolute") -> list[float]:
    found = [
        (int(str(row["releases"])), float(str(row[column])))
        for row in rows
        if row["kind"] == kind
        and row["region"] == region
        and row["part"] == "main"
        and row["delta"] is not None
    ]
    return [value for _, value in sorted(found)]


def test_both_widths_all_counts_and_measures_have_cases() -> None:
    full, quick = EXPERIMENT.cases(False), EXPERIMENT.cases(True)
    at_delta = [case for case in full if case["delta"] is not None]

    assert {case["width"] for case in full} == {10.0, 20.0}
    assert sorted({int(str(case["releases"])) for case in at_delta}) == list(COUNTS)
    assert {case["order"] for case in full if case["budget"]} == {2.0, 20.0}
    assert (COUNTS[0], COUNTS[-1]) == (FEW_COUNTS[0], FEW_COUNTS[-1]) == (1, 1000)
    assert {case["order"] for case in full} == {None, 2.0, 20.0}
    assert len({canonical(case) for case in full}) == len(full)
    assert len({canonical(case) for case in quick}) == len(quick)


def test_totals_rise_with_the_number_of_releases(rows: list[Row]) -> None:
    for kind in ("as published", "exact", "exact best", "plain gaussian", "plain laplace", "planner"):
        values = curve(rows, kind)
        assert len(values) == 3
        assert values == sorted(values)
    for region in ("relative", "fixed"):
        values = curve(rows, "exact", "epsilon_lower", region=region)
        assert len(values) == 3
        assert values == sorted(values)


def test_the_order_of_the_kinds(rows: list[Row]) -> None:
    for limit, planner, best, exact in zip(
        curve(rows, "limit"),
        curve(rows, "planner"),
        curve(rows, "exact best"),
        curve(rows, "exact"),
        strict=False,
    ):
        assert limit <= planner <= best <= exact * (1 + 1e-12)


def test_the_published_total_is_loose_for_one_release_and_far_too_small_for_many(rows: list[Row]) -> None:
    published, exact = curve(rows, "as published"), curve(rows, "exact", "epsilon_lower")

    assert published[0] > curve(rows, "exact")[0]
    assert exact[1] > 1.05 * published[1]
    assert exact[2] > 2.5 * published[2]
    # and the exactly accounted choice then needs more than plain noise
    assert exact[2] > curve(rows, "plain gaussian")[2]


def test_renyi_totals_are_multiples_of_one_release(rows: list[Row]) -> None:
    renyi: list[Any] = [row for row in rows if row["order"] == 2.0 and row["kind"] == "exact"]

    assert [row["releases"] for row in renyi] == list(FEW_COUNTS)
    assert all(row["epsilon"] == pytest.approx(row["releases"] * renyi[0]["epsilon"]) for row in renyi)


def test_two_releases_as_published_are_theorem_2_term_by_term() -> None:
    aligned = Aligned(
        region="absolute", size=10.0, confidence=0.9, sensitivity=3.0, measure=AtDelta(delta=1e-5)
    )
    gaussian = published_choice(aligned)
    epsilon = mp.mpf(published_total(gaussian, 2))
    sigma = mp.mpf(gaussian.sigma)
    weight = mp.ncdf(-2 / sigma) - mp.ncdf(-5 / sigma)  # Φ(Δ-τ) - Φ(-τ)
    step = -mp.log(1 - mp.mpf(gaussian.boost))
    mean = 3 * mp.sqrt(2) / sigma

    def kernels(e: Any) -> Any:
        """delta of two Gaussians together: of one with shift Δ√2."""
        return mp.ncdf(mean / 2 - e / mean) - mp.exp(e) * mp.ncdf(-mean / 2 - e / mean)

    steps = {1: weight, -1: weight, 0: 1 - 2 * weight}
    total = sum(p * r * kernels(epsilon - (i + j) * step) for i, p in steps.items() for j, r in steps.items())

    assert float(total) == pytest.approx(1e-5, rel=1e-9)


def test_the_best_sigma_for_many_releases_is_narrower_than_for_one() -> None:
    aligned = Aligned(
        region="absolute", size=10.0, confidence=0.9, sensitivity=3.0, measure=AtDelta(delta=1e-5)
    )
    one, many = (best_sigma(aligned, 1e-5, count) for count in (1, 1000))

    assert aligned.plain_sigma <= many < one


def test_every_total_that_is_too_small_is_shown(rows: list[Row]) -> None:
    findings = EXPERIMENT.findings(rows)
    shown = next(
        f for f in findings if f.text.startswith("δ = 1e-5, within 5: as published, the total ε is not")
    )
    relative = next(f for f in findings if f.text.startswith("Relative region"))

    assert "Chebyshev" in shown.check[-1]
    assert shown.figures["largest exact/published"] > 2.5
    assert (shown.cause, relative.cause) == (Cause.MIXTURE, Cause.MOVING_REGION)
    assert all(f.check for f in findings if f.holds is False)
    assert all(math.isfinite(value) for f in findings for value in f.figures.values())


def test_a_budget_for_each_release_buys_a_confidence() -> None:
    case = next(case for case in EXPERIMENT.cases(True) if case["budget"] and case["order"] == 20.0)
    rows: list[Any] = EXPERIMENT.compute(case)
    of = {(row["part"], row["kind"]): row for row in rows}
    sigma = math.sqrt(20 * 9 / 0.2)  # αΔ²/2σ² = 0.1
    plain, best = (of[OF_RELEASE, kind]["confidence"] for kind in ("plain gaussian", "exact best"))

    assert plain == pytest.approx(float(mp.ncdf(5 / sigma) - mp.ncdf(-5 / sigma)), rel=1e-9)
    assert plain < best < 0.2
    assert of[OF_KERNEL, "exact"]["sigma"] == pytest.approx(sigma)
    assert len(EXPERIMENT.findings(rows)) == 2


def test_mechanism_and_choice_are_judged_apart(rows: list[Row]) -> None:
    findings = [f for f in EXPERIMENT.findings(rows) if f.text.startswith("δ = 1e-5, within 5, ")]
    mechanism = next(f for f in findings if "the mechanism" in f.text)
    choice = next(f for f in findings if "Algorithm 2's choice" in f.text)

    assert mechanism.holds
    assert choice.holds is False
    assert choice.cause is Cause.CHOICE


def test_the_program_for_readers_prints_what_the_composition_has() -> None:
    mechanism = BoostedGaussian(
        aligned=Aligned(
            region="absolute", size=20.0, confidence=0.9, sensitivity=3.0, measure=AtDelta(delta=1e-5)
        ),
        sigma=7.0,
        boost=0.3,
    ).mechanism
    pair = pair_at(mechanism.region, sigma=7.0, boost=0.3, answer=0.0, other=3.0)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(composition_program(pair, 20, 8.0), {})  # noqa: S102 - the program is ours
    exact = composed_delta(mechanism, (0.0, 3.0), 20, 8.0)

    assert 0.9 * exact < float(printed.getvalue()) <= exact


def test_the_figure_has_a_panel_for_each_measure_and_one_relative_to_the_plain_gaussian(
    rows: list[Row],
) -> None:
    figure = EXPERIMENT.draw(rows)

    assert [panel.get_ylabel() for panel in figure.axes] == [
        "total ε",
        "ε / ε of the plain Gaussian",
        "total ε",
    ]
    assert all(panel.get_xscale() == "log" for panel in figure.axes)
