"""Plans for comparing: the least epsilon that the analysis allows; what counts say; refusals."""

from __future__ import annotations

import math
from decimal import Decimal
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
import pytest

from pbdp.comparing.compared import Compared
from pbdp.comparing.plan import ComparisonPlan, compare, plan_comparison
from pbdp.digits import rounded_up
from pbdp.errors import CannotCertifyError, ContradictionError, InputError, ParameterError, UnchangeableError
from tests.effort import cases

LARGE: dict[str, Any] = {"users": (100_000, 100_000), "rate": 0.05}
SMALL: dict[str, Any] = {"users": (1000, 2000), "rate": 0.2}


@pytest.fixture(scope="module")
def small() -> ComparisonPlan:
    return plan_comparison(**SMALL, wider=0.05)


@pytest.mark.parametrize(("wider", "epsilon"), [(0.01, 0.147), (0.05, 0.0645)])
def test_figures_of_a_hundred_thousand_users(wider: float, epsilon: float) -> None:
    plan = plan_comparison(**LARGE, wider=wider)
    assert plan.epsilon <= epsilon
    assert 0.95 * wider <= plan.wider <= wider
    # as if there were so many people fewer, and no noise
    assert plan.users[0] == pytest.approx(100_000 * (1 - 1 / (1 + wider) ** 2), rel=0.02)


def test_power_is_reached_and_no_more_is_spent() -> None:
    plan = plan_comparison(users=(3000, 3000), rate=0.1, power=0.8, lift=0.03)
    assert 0.8 <= plan.power(0.13, 0.1) <= 0.803
    with pytest.raises(CannotCertifyError, match="Without any noise the power is"):
        plan_comparison(users=(3000, 3000), rate=0.1, power=0.8, lift=0.003)


def test_ratios_are_covered_too() -> None:
    plan = plan_comparison(users=(1000, 1000), rate=0.3, wider=0.1, measure="ratio", lift=0.05)
    found = plan.say(350, 300)
    assert found.low < found.estimate < found.high
    assert found.estimate == pytest.approx(350 / 300, rel=0.01)


def test_ratios_that_may_be_anything_have_plans_and_files(tmp_path: Path) -> None:
    """Where hardly anyone in the second group says yes the interval has no upper end, noise or not."""
    for users, rate, lift in (((14, 17), 0.05, 0.6), ((40, 40), 0.12, 0.5)):
        plan = plan_comparison(users=users, rate=rate, lift=lift, power=0.3, measure="ratio")
        assert 0 < plan.wider < 3
        assert all(0 < cost < size for cost, size in zip(plan.users, users, strict=True))
        found = plan.say(10, 0)
        found.save(tmp_path / "found.json")
        assert Compared.load(tmp_path / "found.json").high == math.inf


def test_a_difference_is_found_when_the_interval_leaves_none_out(small: ComparisonPlan) -> None:
    for first in range(150, 260, 7):
        found = small.say(first, 400)
        assert (found.low > 0 or found.high < 0) == found.decided
        assert found.summary().endswith(
            "; a difference is found" if found.decided else "; no difference is found"
        )


def test_planned_power_is_that_of_published_numbers() -> None:
    """Trials with the planned lift, and without any: what is said of the published numbers alone."""
    plan = plan_comparison(users=(40, 40), rate=0.3, power=0.8, lift=0.4)
    rng = np.random.default_rng(3)
    noise = plan.noise.design.table_at(0.0)
    size = cases(1000)
    for rates in (plan.asked.planned, (0.3, 0.3)):
        counts = rng.binomial(40, rates, size=(size, 2))
        counts = counts + rng.choice(noise.values(), p=noise.probabilities(), size=counts.shape)
        found = sum(plan.say(first, second).decided for first, second in counts.tolist())
        exact = plan.power(*rates)
        assert found / size == pytest.approx(exact, abs=4.5 * math.sqrt(exact * (1 - exact) / size))
        assert exact >= 0.8 if rates[0] != rates[1] else exact <= 0.05


def test_groups_of_other_sizes_are_counted_as_they_were(small: ComparisonPlan) -> None:
    found = small.say(210, 380, users=(1010, 1980))
    assert found.levels == (210 / 1010, 380 / 1980)
    assert found.low < found.estimate < found.high
    with pytest.raises(InputError, match="the 2 that were published"):
        small.say(1, 2, 3)


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


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({}, "wider or power must be given, one of the two; got neither"),
        ({"wider": 0.1, "power": 0.8}, "wider or power must be given, one of the two; got both"),
        ({"power": 0.8}, "lift must be given with power"),
        ({"wider": 0.05, "users": 5}, "users must be two whole numbers"),
        ({"wider": 0.05, "users": (1, 5)}, "users must be a whole number"),
        ({"wider": 0.05, "users": (10**13, 5)}, "users must be at most"),
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
    assert plan.epsilon == pytest.approx(0.000644, rel=0.06)
    found = plan.say(50_022_000, 50_000_000)
    assert found.decided
    assert process_time() - started < 20


def test_two_periods_of_the_same_people_are_paid_for_twice() -> None:
    once = plan_comparison(**SMALL, wider=0.05)
    twice = plan_comparison(**SMALL, wider=0.05, in_both=True)
    assert twice.noise.releases == 2
    assert twice.epsilon == pytest.approx(2 * once.epsilon, rel=0.02)
    assert "independently in both" in twice.asked.promise()


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


def test_plans_and_what_they_found_cannot_be_changed(small: ComparisonPlan) -> None:
    for thing, name in ((small, "loss"), (small.say(200, 400), "published")):
        with pytest.raises(UnchangeableError, match="cannot be changed"):
            setattr(thing, name, 3)


def test_the_figures_of_the_page_are_those_of_the_code() -> None:
    page = (Path(__file__).resolve().parents[2] / "docs" / "comparing.md").read_text(encoding="utf-8")
    rows = {}
    for line in page.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) == 2 and cells[0]:
            rows[cells[0]] = cells[1]
    wide = plan_comparison(**LARGE, wider=0.05)
    assert rows["intervals at most 5 % wider"] == rounded_up(wide.epsilon)
    strong = plan_comparison(**LARGE, power=0.8, lift=0.004)
    assert rows["power of 80 % to find 0.4 points"] == rounded_up(strong.epsilon)
