"""What all looks reveal together: every transcript of a small procedure, against what a budget was paid."""

from __future__ import annotations

import math
from collections.abc import Iterator

import pytest

from pbdp.ledger.looks.procedure import NEXT, Procedure, Scout, Target, Width
from pbdp.mechanism.weights import TOTAL
from pbdp.planning.pricing import Terms

PROCEDURE = Procedure(
    target=Target(width=Width(theta=0.2, floor=3, confidence=0.9), sensitivity=2, delta=1e-6, integer=True),
    scouts=(
        Scout(sigma=6.0, bands=((0, NEXT), (9, 4.0), (20, 7.0))),
        Scout(sigma=4.0, bands=((0, 1.7), (14, 2.5))),
    ),
    alone=1.7,
)


def transcripts(
    answer: int, seen: tuple[int, ...] = (), chance: float = 1.0
) -> Iterator[tuple[tuple[int, ...], float]]:
    """Everything that may be published at an answer, and how often; the rarest noises are left out."""
    sigma = PROCEDURE.next_look(seen)
    if sigma is None:
        yield seen, chance
        return
    table = PROCEDURE.plan(sigma).design.table_at(0.0)
    for noise, weight in zip(range(table.start, table.stop), table.weights.tolist(), strict=True):
        if (likely := chance * weight / TOTAL) > 1e-13:
            yield from transcripts(answer, (*seen, answer + noise), likely)


def test_no_neighbor_tells_more_than_was_paid_for() -> None:
    plans = [PROCEDURE.plan(sigma) for sigma in PROCEDURE.longest()]
    paid = None
    for epsilon in (4.0, 5.0, 6.0, 7.0):
        terms = Terms(epsilon=epsilon, delta=1e-4)
        spent: dict[str, int] | None = dict.fromkeys(terms.limits(), 0)
        for plan in plans:
            cost = None if spent is None else terms.cost(((plan, 1),), spent)
            spent = None if cost is None or spent is None else {k: v + cost[k] for k, v in spent.items()}
        if spent is not None:
            paid = epsilon
            break
    assert paid is not None
    first, second = dict(transcripts(3)), dict(transcripts(5))
    for one, other in ((first, second), (second, first)):
        known = {seen: (chance, other.get(seen, 0.0)) for seen, chance in one.items()}
        delta = math.fsum(max(p - math.exp(paid) * q, 0.0) for p, q in known.values())
        assert delta <= 1e-4
        # the budget is no waste either
        assert math.fsum(max(p - math.exp(0.6 * paid) * q, 0.0) for p, q in known.values()) > 1e-4


def test_looks_are_ordinary_plans_of_the_sensitivity() -> None:
    for sigma in PROCEDURE.longest():
        plan = PROCEDURE.plan(sigma)
        assert plan.requirement.sensitivity == PROCEDURE.target.sensitivity
        assert plan.delta == PROCEDURE.target.delta
        assert plan.epsilon == pytest.approx(2 / sigma * 4.75, rel=0.35)
