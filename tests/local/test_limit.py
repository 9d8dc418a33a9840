"""Limits: linear programs over all channels, random channels that stay above, and plans that reach them."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import numpy.typing as npt
import pytest
from scipy.optimize import linprog

from pbdp.errors import CannotCertifyError, InputError
from pbdp.local import (
    Domain,
    LeastError,
    LeastMeanError,
    ReportWithin,
    Within,
    in_blocks,
    in_categories,
    on_scale,
    plan_local,
    region_of,
    without_categories,
)
from pbdp.local.limit import both_errors, mean_error, report_confidence, report_epsilon, value_error
from pbdp.local.region import Region

Floats = npt.NDArray[np.float64]

REGIONS: dict[str, tuple[Domain, int | str]] = {
    "line": (without_categories(range(1, 13)), 3),
    "line that divides": (without_categories(range(9)), 1),
    "line with a short end": (without_categories(range(7)), 2),
    "gaps": (without_categories([1, 2, 3, 10, 11, 12, 40]), 3),
    "words": (without_categories(["never", "rarely", "often", "always", "don't know"]), 1),
    "itself": (without_categories(range(5)), 0),
    "ring": (on_scale(range(7), 3, ring=True), 1),
    "ring, wide": (on_scale(range(8), 3, ring=True), 2),
    "categories": (in_categories([[1, 2], [3, 4, 5], [6]]), "category"),
}


def inside(region: Region) -> npt.NDArray[np.bool_]:
    count = region.count
    return (np.arange(count) - region.start[:, None]) % count < region.size[:, None]


def best_confidence(near: npt.NDArray[np.bool_], epsilon: float) -> float:
    """The largest confidence of any channel whose reports are the values: P(y|x), m(y) and rho."""
    count, grown = len(near), math.exp(epsilon)
    cells = count * count
    least: list[Floats] = []
    for x, y in product(range(count), repeat=2):
        row = np.zeros(cells + count + 1)
        row[x * count + y], row[cells + y] = -1, 1
        least.append(row)
        row = np.zeros(cells + count + 1)
        row[x * count + y], row[cells + y] = 1, -grown
        least.append(row)
    for x in range(count):
        row = np.zeros(cells + count + 1)
        row[x * count : (x + 1) * count], row[-1] = -near[x].astype(float), 1
        least.append(row)
    rows = np.zeros((count, cells + count + 1))
    for x in range(count):
        rows[x, x * count : (x + 1) * count] = 1
    cost = np.zeros(cells + count + 1)
    cost[-1] = -1
    found = linprog(cost, np.array(least), np.zeros(len(least)), rows, np.ones(count), method="highs")
    assert found.fun is not None
    return -float(found.fun)


@pytest.mark.parametrize("name", REGIONS)
@pytest.mark.parametrize("epsilon", [0.3, 1.5])
def test_the_limit_for_reports_is_the_linear_program_over_all_channels(name: str, epsilon: float) -> None:
    domain, within = REGIONS[name]
    region = region_of(domain, within)
    limit = report_confidence(region, epsilon)
    assert best_confidence(inside(region), epsilon) == pytest.approx(limit, rel=1e-7)
    assert report_epsilon(region, limit) == pytest.approx(epsilon, rel=1e-9)


@pytest.mark.parametrize("name", REGIONS)
def test_the_cover_number_is_that_of_both_programs(name: str) -> None:
    domain, within = REGIONS[name]
    region = region_of(domain, within)
    near = inside(region).astype(float)
    count = len(near)
    cover = linprog(np.ones(count), -near, -np.ones(count), method="highs").fun
    packed = linprog(-np.ones(count), near.T, np.ones(count), method="highs").fun
    assert cover == pytest.approx(float(region.cover_number))
    assert packed == pytest.approx(-float(region.cover_number))
    if not region.ring:
        assert np.all(near[:, list(region.centers())].sum(axis=1) >= 1)


def test_the_closed_form_on_a_line() -> None:
    for count, within in ((12, 3), (100, 5), (91, 10), (21, 10)):
        region = region_of(without_categories(range(count)), within)
        assert region.cover_number == math.ceil(count / (2 * within + 1))


@pytest.mark.parametrize("name", [name for name in REGIONS if name != "itself"])
@pytest.mark.parametrize("confidence", [0.7, 0.9])
def test_plans_for_reports_are_at_the_limit(name: str, confidence: float) -> None:
    domain, within = REGIONS[name]
    goal = ReportWithin(region=region_of(domain, within), confidence=confidence)
    plan = plan_local(domain, goal)
    assert plan.limit is not None
    assert plan.limit.value <= plan.epsilon <= 1.00001 * plan.limit.value
    assert plan.chosen.near is not None
    assert plan.chosen.near >= confidence
    at = plan_local(domain, ReportWithin(region=goal.region), epsilon=plan.epsilon)
    assert at.chosen.near == pytest.approx(plan.chosen.near, abs=1e-6)


def test_reports_that_tell_nothing_are_not_planned() -> None:
    domain = without_categories(range(12))
    with pytest.raises(InputError, match=r"above 0\.5 here"):
        plan_local(domain, ReportWithin(region=region_of(domain, 3), confidence=0.5))
    with pytest.raises(CannotCertifyError, match="any report meets it"):
        region_of(on_scale(range(7), 3, ring=True), 3)
    with pytest.raises(InputError, match="rising order"):
        region_of(without_categories([3, 1, 2]), 1)
    with pytest.raises(InputError, match="category"):
        region_of(domain, "category")


# ------------------------------------------------------------------------------------------ estimates


def random_channel(generator: np.random.Generator, count: int, epsilon: float) -> Floats:
    """Columns of 1 and e^epsilon (or, for some, anything between), weighed so that rows add up.

    Of those that do, one that tells much about the value; more or less so, at random.
    """
    columns = np.where(generator.random((count, 40)) < generator.random(40), math.exp(epsilon), 1.0)
    columns[:, ::4] = np.exp(epsilon * generator.random((count, 10)))
    means = columns.mean(axis=0)
    told = ((columns / means - 1) ** 2).sum(axis=0) * means
    cost = -told * (1 + generator.random() * generator.random(40))
    found = linprog(cost, A_eq=columns, b_eq=np.ones(count), method="highs")
    if not found.success or found.x is None:
        return random_channel(generator, count, epsilon)
    weights = np.asarray(found.x)
    return np.asarray((columns * weights)[:, weights > 1e-12])


@pytest.mark.parametrize("epsilon", [0.4, 1.0, 2.5])
def test_no_channel_is_below_the_limit_for_values_or_for_both(epsilon: float) -> None:
    """What a person, of people spread evenly, adds to the variances of the best unbiased estimator.

    Its mean square is the inverse of J, of which the people's own share is taken off.
    """
    generator = np.random.default_rng(3)
    domain = in_blocks(range(6), 3)
    members = np.repeat(np.eye(2), 3, axis=1)
    nearest = math.inf
    for _ in range(60):
        # several of them at random are one, too
        several = int(generator.integers(1, 9))
        parts = [random_channel(generator, 6, epsilon) / several for _ in range(several)]
        channel = np.concatenate(parts, axis=1)
        if np.linalg.matrix_rank(channel) < 6:
            continue
        inverse = np.linalg.inv((channel / channel.mean(axis=0)) @ channel.T) - np.eye(6) / 6
        value, category = np.trace(inverse) / 6, np.trace(members @ inverse @ members.T) / 2
        assert value >= value_error(6, epsilon) * (1 - 1e-9)
        nearest = min(nearest, value / value_error(6, epsilon))
        for weight in (0.2, 0.5, 0.8):
            limit = both_errors(domain, weight, epsilon)
            assert limit is not None
            assert weight * category + (1 - weight) * value >= limit * (1 - 1e-9)
    assert nearest < 2


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0, 3.0, 4.0, 5.0])
@pytest.mark.parametrize("weight", [0.0, 0.3, 0.5, 1.0])
def test_plans_for_equal_categories_are_near_the_limit(epsilon: float, weight: float) -> None:
    """In variance, within 1 %; and never above splitting users or subset selection."""
    plan = plan_local(in_blocks(range(90), 10), LeastError(category=weight), epsilon=epsilon)
    assert plan.above_limit is not None
    assert 1 <= plan.above_limit**2 < 1.01
    for other in plan.others:
        assert plan.chosen.cost <= other.cost * (1 + 1e-8)


def test_decades_of_ages_beat_boosted_response_by_as_much_as_was_measured() -> None:
    """Category and value alike: 2.7 times less variance than the best plan before at epsilon 0.5 and more."""
    domain = in_blocks(range(90), 10)
    before = ("boosted response", "plain randomized response", "local hashing")
    gains = []
    for epsilon in (0.5, 1.0, 2.0, 3.0, 4.0, 5.0):
        plan = plan_local(domain, LeastError(category=0.5), epsilon=epsilon)
        old = min(entry.cost for entry in plan.others if entry.name in before)
        gains.append(old / plan.chosen.cost)
    assert np.all(np.array(gains) > [2.7, 2.6, 3.0, 1.9, 1.4, 1.05])


def test_limits_where_sizes_differ_or_an_accuracy_is_asked_for() -> None:
    ages = in_blocks(range(10, 101), 10)
    for epsilon in (1.0, 5.0):
        plan = plan_local(ages, LeastError(category=0.5), epsilon=epsilon)
        assert plan.above_limit is not None
        assert 1 <= plan.above_limit < 1.04
    for kind in ("category", "value"):
        plan = plan_local(ages, Within(users=45_222, **{kind: 0.01}))  # type: ignore[arg-type]
        assert plan.limit is not None
        assert plan.limit.value < plan.epsilon < 1.15 * plan.limit.value
    assert plan_local(on_scale(range(9), 3), LeastError(category=1), epsilon=1.0).limit is None
    assert plan_local(ages, Within(users=900, category=0.1, method="guaranteed")).limit is None


def test_the_limit_of_a_mean_is_that_of_people_at_the_ends() -> None:
    domain = without_categories(range(10, 101))
    for epsilon in (0.1, 1.0, 3.0):
        e = math.exp(epsilon)
        # the best channel for two answers is randomized response: p (1 - p)/(2 p - 1)^2 for a count
        assert mean_error(domain, epsilon) == pytest.approx(90**2 * e / (e - 1) ** 2)
        plan = plan_local(domain, LeastMeanError(), epsilon=epsilon)
        assert plan.chosen.name == "mean response"
        assert plan.above_limit is not None
        assert 1 <= plan.above_limit < 1.4
