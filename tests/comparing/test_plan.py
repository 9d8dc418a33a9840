"""Plans for comparing: the least epsilon that the analysis allows; what counts say; refusals."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pbdp.comparing.plan import ComparisonPlan, plan_comparison
from pbdp.errors import CannotCertifyError, InputError
from pbdp.ledger import Ledger
from pbdp.ledger.budget import Budget

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
    assert plan.coverage(0.05, 0.05) >= 0.95
    # as if there were so many people fewer, and no noise
    assert plan.users[0] == pytest.approx(100_000 * (1 - 1 / (1 + wider) ** 2), rel=0.02)


def test_power_is_reached_and_no_more_is_spent() -> None:
    plan = plan_comparison(users=(3000, 3000), rate=0.1, power=0.8, lift=0.03)
    assert 0.8 <= plan.power(0.13, 0.1) <= 0.803
    assert plan.coverage(0.13, 0.1) >= 0.95
    assert plan.coverage(0.1, 0.1) >= 0.95
    with pytest.raises(CannotCertifyError, match="Without any noise the power is"):
        plan_comparison(users=(3000, 3000), rate=0.1, power=0.8, lift=0.003)


def test_ratios_are_covered_too() -> None:
    plan = plan_comparison(users=(1000, 1000), rate=0.3, wider=0.1, measure="ratio", lift=0.05)
    assert plan.coverage(0.35, 0.3) >= 0.95
    found = plan.say(350, 300)
    assert found.low < found.estimate < found.high
    assert found.estimate == pytest.approx(350 / 300, rel=0.01)


def test_p_values_are_as_rare_as_they_say(small: ComparisonPlan) -> None:
    rng = np.random.default_rng(11)
    table = small.noise.design.table_at(0.0)
    noise = rng.choice(table.values(), p=table.probabilities(), size=(300, 2))
    counts = rng.binomial(SMALL["users"], 0.2, size=(300, 2)) + noise
    found = [small.say(int(first), int(second)).p_value for first, second in counts]
    for level in (0.1, 0.5):
        share = np.mean([value <= level for value in found])
        assert share == pytest.approx(level, abs=4 * math.sqrt(level * (1 - level) / 300))


def test_an_interval_leaves_out_no_difference_when_the_p_value_is_small(small: ComparisonPlan) -> None:
    for first in range(150, 260, 7):
        found = small.say(first, 400)
        assert (found.low > 0 or found.high < 0) == (found.p_value < 0.0502)
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
    assert found.counts != (210, 400) or found.estimate == pytest.approx(0.01)
    assert "people would have done as well" in found.describe()
    assert repr(small).startswith("<ComparisonPlan: difference of two rates of about 0.2 in groups of 1,000")
    coverage = small.record()["coverage"]
    assert isinstance(coverage, float)
    assert coverage >= 0.95


def test_a_budget_pays_and_repeats(
    small: ComparisonPlan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PBDP_STATE", str(tmp_path / "state"))
    with Ledger.create(tmp_path / "budget.db") as ledger:
        budget = Budget.create(ledger, "signups", epsilon=3, delta=1e-6, neighbors="replace")
        first = small.paid(budget, [210, 400], key="march")
        spent = budget.spent
        assert spent > 0
        assert small.paid(budget, [210, 400], key="march") == first
        assert budget.spent == spent
        small.paid(budget, [210, 400])
        assert budget.spent > spent


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({}, "wider or power must be given; got neither"),
        ({"wider": 0.1, "power": 0.8}, "wider or power must be given; got both"),
        ({"power": 0.8}, "lift must be given with power"),
        ({"wider": 0.05, "users": 5}, "users must be two whole numbers"),
        ({"wider": 0.05, "users": (1, 5)}, "users must be a whole number"),
        ({"wider": 0.05, "users": (10**13, 5)}, "users must be at most"),
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
