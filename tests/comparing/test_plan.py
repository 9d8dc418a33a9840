"""Plans for comparing: the least epsilon that the analysis allows; what counts say; refusals."""

from __future__ import annotations

import math
from decimal import Decimal
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
import pytest

from pbdp.comparing.plan import ComparisonPlan
from pbdp.comparing.search import compare, plan_comparison
from pbdp.digits import rounded_up
from pbdp.errors import CannotCertifyError, ContradictionError, InputError, ParameterError, UnchangeableError
from tests.effort import FULL, cases

LARGE: dict[str, Any] = {"users": (100_000, 100_000), "rate": 0.05}
SMALL: dict[str, Any] = {"users": (1000, 2000), "rate": 0.2}


@pytest.fixture(scope="module")
def small() -> ComparisonPlan:
    return plan_comparison(**SMALL, wider=0.05)


@pytest.mark.parametrize(("wider", "epsilon"), [(0.01, 0.145), (0.05, 0.0645)])
def test_figures_of_a_hundred_thousand_users(wider: float, epsilon: float) -> None:
    plan = plan_comparison(**LARGE, wider=wider)
    assert plan.epsilon <= epsilon
    assert 0.95 * wider <= plan.wider <= wider
    assert (plan.coverage(0.05, 0.05) or 0) >= 0.95
    # as if there were so many people fewer, and no noise
    assert plan.users[0] == pytest.approx(100_000 * (1 - 1 / (1 + wider) ** 2), rel=0.02)


def test_power_is_reached_and_no_more_is_spent() -> None:
    plan = plan_comparison(users=(3000, 3000), rate=0.1, power=0.8, lift=0.03)
    assert 0.8 <= plan.power(0.13, 0.1) <= 0.803
    assert (plan.coverage(0.13, 0.1) or 0) >= 0.95
    assert (plan.coverage(0.1, 0.1) or 0) >= 0.95
    with pytest.raises(CannotCertifyError, match="Without any noise the power is"):
        plan_comparison(users=(3000, 3000), rate=0.1, power=0.8, lift=0.003)


def test_ratios_are_covered_too() -> None:
    plan = plan_comparison(users=(1000, 1000), rate=0.3, wider=0.1, measure="ratio", lift=0.05)
    assert (plan.coverage(0.35, 0.3) or 0) >= 0.95
    found = plan.say(350, 300)
    assert found.low < found.estimate < found.high
    assert found.estimate == pytest.approx(350 / 300, rel=0.01)


def test_p_values_are_as_rare_as_they_say(small: ComparisonPlan) -> None:
    rng = np.random.default_rng(11)
    table = small.noise.design.table_at(0.0)
    size = cases(1000)
    noise = rng.choice(table.values(), p=table.probabilities(), size=(size, 2))
    counts = rng.binomial(SMALL["users"], 0.2, size=(size, 2)) + noise
    found = [small.say(int(first), int(second)).p_value for first, second in counts]
    for level in (0.1, 0.5):
        share = np.mean([value <= level for value in found])
        assert share == pytest.approx(level, abs=4 * math.sqrt(level * (1 - level) / size))


def test_an_interval_leaves_out_no_difference_when_the_p_value_is_small(small: ComparisonPlan) -> None:
    for first in range(150, 260, 7):
        found = small.say(first, 400)
        assert (found.low > 0 or found.high < 0) == found.decided == (found.p_value <= 0.05)
        assert 0 <= found.p_value <= 1


def test_counts_beyond_what_is_possible_are_said_something_of(small: ComparisonPlan) -> None:
    for counts in [(-20, 5), (1000, 2040), (0, 0), (1000, 2000)]:
        found = small.say(*counts)
        assert math.isfinite(found.low)
        assert math.isfinite(found.high)
        assert found.low <= found.high


def test_a_comparison_is_published_and_described(small: ComparisonPlan) -> None:
    with pytest.warns(UserWarning, match="tests only"):
        assert small.compare(210, 400, insecure_test_seed=1) == small.compare(210, 400, insecure_test_seed=1)
    found = small.compare(210, 400)
    assert found.levels == (found.counts[0] / 1000, found.counts[1] / 2000)
    assert found.estimate == pytest.approx(found.levels[0] - found.levels[1])
    assert "groups smaller by that would have done" in found.describe()
    assert repr(small).startswith(
        "<ComparisonPlan: difference of rates, 1,000 and 2,000 people; intervals at"
    )
    assert "\n" not in repr(small) + repr(found)
    assert len(repr(small)) < 160
    assert "guesses right at most" in small.describe()
    coverage = small.record()["coverage"]
    assert isinstance(coverage, float)
    assert coverage >= 0.95


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({}, "wider or power must be given, one of the two; got neither"),
        ({"wider": 0.1, "power": 0.8}, "wider or power must be given, one of the two; got both"),
        ({"power": 0.8}, "lift must be given with power"),
        ({"wider": 0.05, "users": 5}, "users must be two whole numbers"),
        ({"wider": 0.05, "users": (1, 5)}, "users must be a whole number"),
        ({"wider": 0.05, "users": (10**13, 5)}, "users must be at most"),
        ({"wider": 0.05, "looks": 0}, "looks must be a whole number"),
        ({"wider": 0.05, "looks": 10**6}, "looks must be at most 400"),
        ({"wider": 0.05, "users": (9, 9), "looks": 10}, "looks must be at most the people"),
        ({"wider": 0.05, "looks": 3, "in_both": True}, "in_both must be left out with several looks"),
        ({"wider": 0.05, "spread": 3}, "spread must be left out beside rate"),
        ({"wider": 0.05, "guaranteed": True}, "guaranteed must be left out beside rate"),
        ({"wider": 0.05, "rate": None}, "rate and bounds must be given one at a time"),
        ({"wider": 0.05, "delta": 2}, "delta must be"),
        ({"wider": 0.05, "rate": 5}, "0.05 for 5 %"),
        ({"wider": 0.05, "lift": 0.9}, "lift must be such that"),
        ({"wider": -1}, "wider must be"),
        ({"wider": 0.05, "confidence": 95}, "0.95 for 95 %"),
        ({"wider": 0.05, "measure": "odds"}, "difference or ratio"),
    ],
)
def test_bad_requests_say_what_to_do(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        plan_comparison(**(SMALL | changes))


def test_hardly_any_noise_is_refused() -> None:
    with pytest.raises(CannotCertifyError, match="protects nobody"):
        plan_comparison(users=(10, 10), rate=0.5, wider=1e-30)


def test_a_billion_people_are_planned_in_seconds() -> None:
    started = process_time()
    plan = plan_comparison(users=(10**9, 10**9), rate=0.05, wider=0.05)
    assert plan.epsilon == pytest.approx(0.000644, rel=0.01)
    assert (plan.coverage(0.05, 0.05) or 0) >= 0.95
    found = plan.say(50_022_000, 50_000_000)
    assert found.decided
    assert process_time() - started < 8


def test_two_periods_of_the_same_people_are_paid_for_twice() -> None:
    once = plan_comparison(**SMALL, wider=0.05)
    twice = plan_comparison(**SMALL, wider=0.05, in_both=True)
    assert twice.noise.releases == 2
    assert twice.epsilon == pytest.approx(2 * once.epsilon, rel=0.02)
    assert "independently in both" in twice.asked.promise()


def test_fourteen_looks_cost_what_the_first_costs() -> None:
    """Everything that is published costs as much as the counts of one look."""
    known: dict[str, Any] = {"users": (14_000, 14_000), "rate": 0.1}
    looks = plan_comparison(**known, looks=14, wider=0.1)
    one = plan_comparison(users=(1_000, 1_000), rate=0.1, wider=0.1)
    # up to what tails far out make of the first look's interval
    assert one.epsilon < looks.epsilon < 1.25 * one.epsilon
    assert looks.noise.releases == 1
    assert looks.wider <= 0.1
    assert looks.users[0] < 14_000 * (1 - 1 / 1.1**2) + 1


@pytest.mark.parametrize(("users", "rate", "lift", "looks"), [(300, 0.3, 0.15, 2), (10**5, 0.05, 0.004, 14)])
def test_looks_of_small_and_of_large_groups_are_planned(
    users: int, rate: float, lift: float, looks: int
) -> None:
    """Chances of few counts are stairs, which no slope leads down; many counts take no longer."""
    made = plan_comparison(users=(users, users), rate=rate, lift=lift, power=0.8, looks=looks)
    assert 0.8 <= made.power(rate + lift, rate) <= 0.801


def test_everything_at_once() -> None:
    found = compare(5_123, 4_890, users=(100_000, 100_000), rate=0.05, wider=0.05)
    assert found.plan.epsilon < 0.0645
    yes = np.arange(1000) % 5 == 0
    columns = compare(yes, yes[:500], rate=0.2, wider=0.2)
    assert columns.plan.asked.users == (1000, 500)
    rng = np.random.default_rng(1)
    means = compare(rng.normal(60, 10, 3000), rng.normal(40, 10, 2000), bounds=(0, 100), spread=10, wider=0.1)
    assert means.decided
    assert means.estimate == pytest.approx(20, abs=2)
    with pytest.raises(ContradictionError, match="users must be given with counts"):
        compare(5, 6, rate=0.1, wider=0.1)
    with pytest.raises(ContradictionError, match="users must be as long as the columns"):
        found.plan.compare(yes, yes, users=(5, 6))
    with pytest.raises(ParameterError, match="Did you mean wider"):
        compare(5, 6, widder=0.1)  # type: ignore[call-arg]


def test_counts_that_cannot_be_are_moved_to_those_that_can(small: ComparisonPlan) -> None:
    found = small.compare(-(10**9), 10**30)
    assert abs(found.counts[0]) < 300
    assert abs(found.counts[1] - 2000) < 300
    assert abs(small.compare(float("nan"), Decimal("inf")).counts[1] - 2000) < 300
    wrong: list[object] = ["210", [], object()]
    for given in wrong:
        with pytest.raises(InputError):
            small.compare(given, 400)
    with pytest.raises(InputError, match="two counts, or two columns"):
        small.compare([True, False], 400)


def test_no_difference_at_all_has_a_p_value_of_one() -> None:
    plan = plan_comparison(users=(30, 30), rate=0.5, wider=0.5)
    assert plan.say(12, 12).p_value == 1


def test_plans_and_what_they_found_cannot_be_changed(small: ComparisonPlan) -> None:
    for thing, name in ((small, "loss"), (small.say(200, 400), "published")):
        with pytest.raises(UnchangeableError, match="cannot be changed"):
            setattr(thing, name, 3)


def test_looks_follow_each_other() -> None:
    plan = plan_comparison(users=(900, 900), rate=0.2, looks=2, wider=0.3)
    first = plan.compare(90, 85)
    assert (first.look, first.looks_left) == (1, 1)
    second = plan.compare(90, 85, after=first)
    assert second.counts == tuple(
        one + two for one, two in zip(second.published[0].numbers, second.published[1].numbers, strict=True)
    )
    with pytest.raises(ContradictionError, match="all 2 looks"):
        plan.compare(90, 85, after=second)
    other = plan_comparison(users=(900, 900), rate=0.3, looks=2, wider=0.3)
    with pytest.raises(InputError, match="what this plan found"):
        other.compare(90, 85, after=first)
    with pytest.raises(InputError, match="the 2 that were published"):
        plan.say(1, 2, 3)


def test_the_figures_of_the_page_are_those_of_the_code() -> None:
    page = (Path(__file__).resolve().parents[2] / "docs" / "comparing.md").read_text(encoding="utf-8")
    rows = {}
    for line in page.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) == 4 and cells[0]:
            rows[cells[0]] = cells[1:]
    # fourteen looks take longest
    for column, looks in enumerate((1, 4, 14) if FULL else (1, 4)):
        wide = plan_comparison(**LARGE, wider=0.05, looks=looks)
        assert rows["intervals at most 5 % wider, at every look"][column] == rounded_up(wide.epsilon)
        strong = plan_comparison(**LARGE, power=0.8, lift=0.004, looks=looks)
        assert rows["power of 80 % to find 0.4 points"][column] == rounded_up(strong.epsilon)


def test_other_ways_to_look_cost_as_much_more_as_the_page_says() -> None:
    """For noise of variance j·v in the total at look j, as the counts of every look have it, at 14 looks."""
    variance, looks = 2 / 0.26**2, 14
    own = math.sqrt(2 / variance)
    # whoever came first is in every running total
    totals = sum(math.sqrt(2 / (look * variance)) for look in range(1, looks + 1))
    assert totals / own == pytest.approx(6, abs=0.5)
    # and in one sum of each level of a tree; the sums of a total are those of the digits of its look
    node = min(look * variance / look.bit_count() for look in range(1, looks + 1))
    assert looks.bit_length() * math.sqrt(2 / node) / own == pytest.approx(4)
