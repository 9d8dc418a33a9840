"""The free-form table: the optimum that it claims to be, the requirement it meets, the epsilon it reaches."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache

import numpy as np
import pytest

from pbdp.accounting.exact.accountant import plain_accountant
from pbdp.errors import CannotCertifyError, InputError
from pbdp.mechanism.absolute import AbsoluteRegion
from pbdp.mechanism.design import Design
from pbdp.mechanism.grid import whole_numbers
from pbdp.noise.family import Goal, Problem
from pbdp.noise.kernel import Array
from pbdp.planning.candidates import moving_candidates, problem_of
from pbdp.planning.certificate import certify
from pbdp.planning.free_form import Layout, free_form_law, least_moment
from pbdp.planning.free_form import moment as moment_of
from pbdp.planning.limit.closed_form import Question

DELTA = 1e-6
PARAMETRIC = ("laplace", "gaussian", "staircase", "huber")

# points in the region, sensitivity, confidence, order: plateaus narrower and wider than the sensitivity
LAYOUTS = [(41, 1, 0.9, 23.0), (42, 1, 0.9, 4.0), (11, 4, 0.8, 3.0), (13, 4, 0.7, 2.0), (9, 3, 0.5, 1.3)]


def problem(within: int, sensitivity: int, releases: int, confidence: float = 0.9, extra: int = 0) -> Problem:
    goal = Goal(confidence=confidence, sensitivity=sensitivity, delta=DELTA, order=None, releases=releases)
    return problem_of(AbsoluteRegion(below=float(within), above=float(within + extra)), goal)


@cache
def free_design(
    within: int, sensitivity: int, releases: int, confidence: float = 0.9, extra: int = 0
) -> Design:
    asked = problem(within, sensitivity, releases, confidence, extra)
    (design,) = free_designs(asked, ("free form",))
    return design


def free_designs(asked: Problem, families: tuple[str, ...]) -> list[Design]:
    region = AbsoluteRegion(below=float(asked.below), above=float(asked.above))
    found = moving_candidates(whole_numbers(), region, asked.goal, families)
    return [design for design in found if design.kernel.family == "free form"]


def free_epsilon(within: int, sensitivity: int, releases: int) -> float:
    design = free_design(within, sensitivity, releases)
    return certify(design, design.region, problem(within, sensitivity, releases).goal).epsilon


def best_parametric_epsilon(within: int, sensitivity: int, releases: int) -> float:
    region = AbsoluteRegion(below=float(within), above=float(within))
    goal = problem(within, sensitivity, releases).goal
    best = math.inf
    for design in moving_candidates(whole_numbers(), region, goal, PARAMETRIC):
        found = certify(design, region, goal)
        if found.confidence >= goal.confidence:
            best = min(best, found.epsilon)
    return best


def moment(masses: Array, shift: int, order: float) -> float:
    """Sum of p(n)^order p(n-shift)^(1-order) where both are in the table; the ends hold next to nothing."""
    p, q = masses[shift:], masses[:-shift]
    return float(np.sum(p * (p / q) ** (order - 1)))


def masses_of(layout: Layout, levels: Array) -> Array:
    """The row of the law with these levels."""
    law = layout.law(levels)
    first, last = (int(end) for end in law.support)
    return np.asarray(law.mass(np.arange(first, last + 1), np.arange(first, last + 1)))


def optimum(points: int, sensitivity: int, confidence: float, order: float) -> tuple[Layout, Array]:
    question = Question(points=points, sensitivity=sensitivity, confidence=confidence, delta=0.0)
    layout = Layout(question)
    return layout, least_moment(layout, order, layout.even_levels())


# --------------------------------------------------------------------------------------------- the shape


@pytest.mark.parametrize(("points", "sensitivity", "confidence", "order"), LAYOUTS)
def test_lumped_outputs_have_the_moment_of_the_whole_table(
    points: int, sensitivity: int, confidence: float, order: float
) -> None:
    layout, levels = optimum(points, sensitivity, confidence, order)
    first, second = layout.neighbors(levels)
    lumped = float(np.sum(first**order * second ** (1 - order)))
    assert moment(masses_of(layout, levels), sensitivity, order) == pytest.approx(lumped, rel=1e-10)


@pytest.mark.parametrize(("points", "sensitivity", "confidence", "order"), LAYOUTS)
def test_the_region_holds_the_confidence_and_the_table_falls(
    points: int, sensitivity: int, confidence: float, order: float
) -> None:
    layout, levels = optimum(points, sensitivity, confidence, order)
    masses = masses_of(layout, levels)
    outside = (len(masses) - points) // 2
    assert math.fsum(masses[outside:-outside]) == pytest.approx(confidence, abs=1e-14)
    half = masses[len(masses) // 2 :]
    assert np.all(np.diff(half) <= 0)
    assert np.array_equal(masses, masses[::-1])


def test_even_levels_are_the_laplace_law_for_a_sensitivity_of_one() -> None:
    layout = Layout(Question(points=41, sensitivity=1, confidence=0.9, delta=0.0))
    masses = masses_of(layout, layout.even_levels())
    falls = np.diff(np.log(masses[len(masses) // 2 :]))
    assert np.ptp(falls) < 1e-9


def test_a_sensitivity_above_the_number_of_values_in_the_region_is_refused() -> None:
    with pytest.raises(InputError, match="at most the 3 values"):
        Layout(Question(points=3, sensitivity=4, confidence=0.9, delta=0.0))


# ------------------------------------------------------------------------------------------- the optimum


@pytest.mark.parametrize(("points", "sensitivity", "confidence", "order"), LAYOUTS)
def test_no_falling_law_of_the_same_confidence_has_a_smaller_moment(
    points: int, sensitivity: int, confidence: float, order: float
) -> None:
    """Point by point, so the steps and the even tail are put to the test as well.

    Symmetric laws that fall outwards and have the confidence are mixtures of pairs of uniform laws, one that
    holds at least the confidence and one that holds less. The moment is convex, so it is the least of all if
    it falls toward no such pair.
    """
    layout, levels = optimum(points, sensitivity, confidence, order)
    masses = masses_of(layout, levels)
    # the ratio of neighbors goes on at either end as it was
    inner = masses[sensitivity:] / masses[:-sensitivity]
    ratio = np.concatenate([np.full(sensitivity, inner[0]), inner, np.full(sensitivity, inner[-1])])
    slope = order * ratio[:-sensitivity] ** (order - 1) + (1 - order) * ratio[sensitivity:] ** order
    widths = np.arange(len(masses) % 2 or 2, len(masses) + 1, 2)
    middle = len(masses) // 2
    half = np.cumsum((slope + slope[::-1])[middle:])
    half -= slope[middle] if len(masses) % 2 else 0.0
    toward = half / widths
    held = np.minimum(points / widths, 1.0)
    near, far = held >= confidence, held < confidence
    share = (confidence - held[far]) / (held[near][:, None] - held[far])
    change = share * toward[near][:, None] + (1 - share) * toward[far] - slope @ masses
    assert change.size > 50
    assert change.min() >= -1e-8 * moment(masses, sensitivity, order)


@pytest.mark.parametrize(("points", "sensitivity", "confidence", "order"), LAYOUTS)
def test_moving_levels_at_random_raises_the_moment(
    points: int, sensitivity: int, confidence: float, order: float
) -> None:
    layout, levels = optimum(points, sensitivity, confidence, order)
    least = moment_of(layout, order, levels)
    generator = np.random.default_rng(7)
    for size in np.geomspace(1e-3, 1, 30):
        moved = layout.normalized(levels + size * generator.normal(size=len(levels)))
        assert moment_of(layout, order, moved) > least


def test_newton_ends_where_it_ends_from_any_start() -> None:
    layout, levels = optimum(41, 1, 0.9, 12.0)
    start = levels + np.linspace(0.0, 1.0, len(levels)) ** 2
    again = least_moment(layout, 12.0, start)
    assert again == pytest.approx(levels, abs=1e-8)


# ------------------------------------------------------------------------------------- what is certified


@pytest.mark.parametrize("releases", [2, 5, 10, 30, 100, 1000])
def test_it_is_never_worse_than_the_best_parametric_family(releases: int) -> None:
    assert free_epsilon(20, 1, releases) <= best_parametric_epsilon(20, 1, releases) * (1 + 1e-4)


@pytest.mark.parametrize(
    ("within", "sensitivity", "releases", "gain"),
    [(20, 1, 6, 7e-3), (20, 1, 10, 4.9e-3), (20, 1, 30, 6e-4), (20, 8, 100, 2e-2), (20, 14, 100, 4e-2)],
)
def test_it_gains_on_the_best_parametric_family(
    within: int, sensitivity: int, releases: int, gain: float
) -> None:
    free, parametric = (
        free_epsilon(within, sensitivity, releases),
        best_parametric_epsilon(within, sensitivity, releases),
    )
    assert free <= parametric * (1 - gain)


@pytest.mark.parametrize(
    ("releases", "known"), [(5, 0.5600), (10, 1.0036), (30, 1.9102), (100, 3.7507), (1000, 14.4966)]
)
def test_it_reaches_the_known_figures(releases: int, known: float) -> None:
    assert free_epsilon(20, 1, releases) <= known


@pytest.mark.parametrize(
    ("within", "sensitivity", "releases", "confidence", "extra"),
    [(20, 1, 10, 0.9, 0), (20, 8, 100, 0.9, 0), (20, 1, 10, 0.9, 1), (6, 5, 20, 0.99, 1), (0, 1, 3, 0.5, 0)],
)
def test_the_integer_weights_keep_the_confidence_and_stay_unimodal(
    within: int, sensitivity: int, releases: int, confidence: float, extra: int
) -> None:
    design = free_design(within, sensitivity, releases, confidence, extra)
    table = design.table_at(0.0)
    inside = table.weight_within(within + design.offset, within + extra - design.offset)
    assert inside >= Fraction(confidence) * 2**62
    assert table.is_unimodal
    spare = inside / 2**62 - confidence
    assert spare < 1e-10


def test_a_region_with_an_even_number_of_values_is_certified() -> None:
    """Noise about a half: better than what fits the smaller side, worse than what a wider region allows."""
    asked = problem(20, 1, 10, extra=1)
    design = free_design(20, 1, 10, extra=1)
    epsilon = certify(design, design.region, asked.goal).epsilon
    assert free_epsilon(21, 1, 10) < epsilon < free_epsilon(20, 1, 10)


def test_the_law_is_the_same_every_time_and_moves_with_the_region() -> None:
    one, two = free_design(20, 1, 10), free_design(17, 1, 10, extra=6)
    assert one.kernel == two.kernel
    assert two.offset == one.offset + 3


def test_a_delta_that_needs_no_epsilon_gives_zero() -> None:
    law = free_form_law(Question.about(20, 20, 0.5, 1, 0.3), releases=5)
    assert plain_accountant(law, 1).epsilon_at(0.3).upper == 0


def test_a_million_releases_are_composed_as_well() -> None:
    assert free_epsilon(20, 1, 1_000_000) == pytest.approx(3517.8, rel=1e-4)


@pytest.mark.parametrize("within", [600, 3000])
def test_a_curve_through_fewer_levels_loses_next_to_nothing(
    within: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    few = free_epsilon(within, 1, 10)
    monkeypatch.setattr("pbdp.planning.free_form.MOST_LEVELS", within)
    free_design.cache_clear()
    assert few <= free_epsilon(within, 1, 10) * (1 + 1e-4)


# ------------------------------------------------------------------------------------------ what is refused


def test_it_is_tried_only_when_asked_for() -> None:
    assert not list(free_designs(problem(5, 1, 10), PARAMETRIC))


def test_there_is_no_candidate_for_a_narrow_region_or_an_order() -> None:
    order = Goal(confidence=0.9, sensitivity=1, delta=None, order=2.0)
    for unmet in (problem(1, 4, 10), Problem(below=5, above=5, goal=order)):
        assert not list(free_designs(unmet, ("free form",)))


def test_delta_zero_is_refused() -> None:
    with pytest.raises(CannotCertifyError, match="delta 0"):
        free_form_law(Question.about(5, 5, 0.9, 1, 0.0), releases=10)
