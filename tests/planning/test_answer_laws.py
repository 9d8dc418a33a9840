"""Laws of their own for every answer of a short range: what is drawn is what is proved, and files too."""

from __future__ import annotations

import json
import math
from collections import Counter
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import pytest

import pbdp
from pbdp.errors import PlanFileError
from pbdp.planning.answer_laws import AnswerLaws
from pbdp.planning.pricing import Terms, price
from pbdp.planning.pricing.priced import compose_plans

NARROW: dict[str, Any] = {
    "within": 1, "range": (0, 9), "confidence": 0.833, "sensitivity": 2, "delta": 1.8e-6, "integer": True
}  # fmt: skip
WIDER: dict[str, Any] = {
    "within": 4, "range": (0, 20), "confidence": 0.8, "sensitivity": 4, "delta": 1e-6, "integer": True
}  # fmt: skip
Laws = dict[int, dict[int, Fraction]]


def laws_of(record: dict[str, Any]) -> Laws:
    """P(output | answer), from a plan file and nothing else."""
    listed = record["mechanism"]
    return {
        listed["first"] + row: {
            listed["start"] + column: Fraction(weight, 2**62) for column, weight in enumerate(weights)
        }
        for row, weights in enumerate(listed["weights"])
    }


def delta_of(laws: Laws, moved: int, growth: Fraction) -> Fraction:
    """The largest sum of P - e^eps P' over two neighboring answers."""
    return max(
        sum((max(Fraction(0), mass - growth * other[y]) for y, mass in one.items()), Fraction(0))
        for (a, one), (b, other) in product(laws.items(), repeat=2)
        if 0 < abs(a - b) <= moved
    )


@pytest.mark.parametrize(("asked", "most", "without"), [(NARROW, 1.72, 1.96), (WIDER, 1.005, 1.06)])
def test_short_ranges_cost_what_the_program_allows(
    asked: dict[str, Any], most: float, without: float, tmp_path: Path
) -> None:
    plan = pbdp.plan(**asked)

    assert isinstance(plan.mechanism, AnswerLaws)
    assert plan.epsilon <= most < without < plan.alternatives[0].epsilon
    limit = plan.limit_of_any_law()
    assert limit is not None
    assert limit.epsilon <= plan.epsilon <= 1.001 * limit.epsilon

    plan.save(tmp_path / "plan.json")
    laws = laws_of(json.loads((tmp_path / "plan.json").read_text()))
    low, high = asked["range"]
    assert sorted(laws) == list(range(low, high + 1))
    assert all(sum(law.values()) == 1 for law in laws.values())
    assert all(low <= y <= high for law in laws.values() for y, mass in law.items() if mass)
    # e^eps from below and from above
    below, above = (Fraction(math.exp(plan.epsilon)) * Fraction(1 + sign * 2**-50) for sign in (-1, 1))
    assert delta_of(laws, asked["sensitivity"], above) <= Fraction(asked["delta"])
    assert delta_of(laws, asked["sensitivity"], below * Fraction(1 - 1e-6)) > Fraction(asked["delta"])
    kept = [sum(mass for y, mass in law.items() if abs(y - a) <= asked["within"]) for a, law in laws.items()]
    assert Fraction(asked["confidence"]) <= Fraction(plan.confidence) <= min(kept)


@pytest.mark.filterwarnings("ignore:Drawn from insecure_test_seed")
def test_what_is_drawn_has_the_laws_and_the_intervals_hold() -> None:
    plan, count = pbdp.plan(**NARROW), 20_000

    for answer in (0, 4, 9):
        law = plan.law_at(answer)
        drawn = plan.release([answer] * count, disjoint=True, interval=True, insecure_test_seed=7)
        seen = Counter(drawn.value)
        for output, mass in zip(law.output, law.probability, strict=True):
            assert abs(seen[int(output)] - count * mass) < 6 * math.sqrt(count * mass * (1 - mass) + 1)
        held = sum(low <= answer <= high for low, high in zip(drawn.low, drawn.high, strict=True))
        assert held >= (plan.confidence - 0.02) * count
        likely = plan.likelihood(5, list(range(10)))
        assert likely[answer] == pytest.approx(float(law.probability[law.output == 5].sum()))


def test_a_composition_is_above_that_of_two_answers_and_a_budget_pays() -> None:
    plan = pbdp.plan(**NARROW)
    laws = [plan.law_at(answer).probability for answer in (4, 6)]
    twice = [[one * other for one, other in product(law, repeat=2)] for law in laws]
    together = compose_plans([(plan, 2)])

    for epsilon in (1.0, 2.0, 3.0):
        truth = sum(max(0.0, p - math.exp(epsilon) * q) for p, q in zip(*twice, strict=True))
        assert truth <= together.delta_at(epsilon).upper
    assert price(Terms(epsilon=3, delta=1e-2), ((plan, 1),)).fits


@pytest.mark.parametrize(
    "asked",
    [{"sensitivity": 1}, {"releases": 2}, {"range": (0, 100)}, {"integer": False}],
    ids=str,
)
def test_other_requirements_have_other_noise(asked: dict[str, Any]) -> None:
    assert not isinstance(pbdp.plan(**NARROW | asked).mechanism, AnswerLaws)


def _moved(weights: list[list[int]]) -> None:
    """More of the truth in one row: as likely in all, but no longer as private."""
    weights[0][0], weights[0][-1] = weights[0][-1], weights[0][0]


@pytest.mark.parametrize(
    "change",
    [
        lambda record: _moved(record["mechanism"]["weights"]),
        lambda record: record["mechanism"].update(first=1),
        lambda record: record["mechanism"]["weights"].pop(),
        lambda record: record["mechanism"]["weights"][0].__setitem__(0, -1),
        lambda record: record["mechanism"]["weights"][0].__setitem__(0, 0.5),
        lambda record: record.update(releases=2),
        lambda record: record.update(sensitivity=3),
    ],
)
def test_altered_files_are_refused(change: Any, tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    pbdp.plan(**NARROW).save(path)
    record = json.loads(path.read_text())
    change(record)
    path.write_text(json.dumps(record))

    with pytest.raises(PlanFileError):
        pbdp.Plan.load(path)
