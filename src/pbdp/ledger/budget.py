"""A dataset's budget: what plans cost under its rule, and releases that are paid for before they are drawn.

with Ledger.create("budget.db") as ledger:
    budget = Budget.create(ledger, "visits", epsilon=3, delta=1e-6)
    budget.price(plan).describe()
    budget.release(plan, 1234, key="report of March")
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pbdp.errors import InputError, PbdpError
from pbdp.ledger.book import DatasetState
from pbdp.ledger.errors import BudgetExceededError, KeyReusedError
from pbdp.ledger.ledger import Ledger
from pbdp.ledger.request import Request, Reservation
from pbdp.mechanism.neighbors import Neighbors
from pbdp.noise.kernel import Array, Index
from pbdp.planning.plan import Plan
from pbdp.planning.pricing import Price, Rule, fingerprint, make_rule, price, rule_from_record
from pbdp.planning.pricing.priced import Priced, name_of
from pbdp.release.keystream import SecureKeystream
from pbdp.spelling import neighbours_too

Numbers = Array | Index
# Limits that agree to one part in this many are the same.
SAME = 10**9


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Paid:
    """Published numbers, as the ledger stored them, and the reservation they were paid with."""

    values: Numbers
    reservation: Reservation

    @property
    def repeated(self) -> bool:
        """Whether they are the stored answer to an earlier request with the same key."""
        return self.reservation.stored_answer is not None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Budget:
    """The budget of one dataset in a ledger. Get one with `create` or `of`."""

    ledger: Ledger
    dataset: str
    rule: Rule

    @classmethod
    @neighbours_too
    def create(
        cls,
        ledger: Ledger,
        dataset: str,
        *,
        epsilon: float,
        delta: float,
        rule: str = "renyi",
        order: float | None = None,
        plans: Iterable[tuple[Priced, int]] | None = None,
        neighbors: str = Neighbors.ADD_REMOVE,
        note: str | None = None,
    ) -> Budget:
        """Give a dataset (epsilon, delta) to spend, once. `rule` says how spends add up (see `pricing`)."""
        made = make_rule(rule, epsilon=epsilon, delta=delta, order=order, plans=plans, neighbors=neighbors)
        ledger.create_dataset(dataset, made.limits(), made.record(), made.neighbors, note)
        return cls(ledger=ledger, dataset=dataset, rule=made)

    @classmethod
    def of(cls, ledger: Ledger, dataset: str) -> Budget:
        """The budget that the dataset was given."""
        state = ledger.dataset(dataset)
        rule = rule_from_record(state.rule)
        # the stored limits were proved when they were made; another machine may round them a unit lower
        if any(
            state.limits.get(name, 0) * SAME > limit * (SAME + 1) for name, limit in rule.limits().items()
        ):
            raise PbdpError(
                f"The limits of {dataset} in the ledger are above those that its rule proves. Spend nothing "
                "from it; it was made by another version of pbdp, or by hand."
            )
        return cls(ledger=ledger, dataset=dataset, rule=rule)

    @property
    def state(self) -> DatasetState:
        """What is spent now."""
        return self.ledger.dataset(self.dataset)

    def price(self, plan: Priced) -> Price:
        """What a package of the plan costs, and what would remain; nothing is spent."""
        return price(self.rule, plan, self.state.spent)

    def release(
        self,
        plan: Plan,
        answers: object,
        *,
        key: str | None = None,
        query: str | None = None,
        disjoint: bool = False,
        again: bool = False,
    ) -> Any:
        """`plan.release` of any plan, paid first. The same `key` brings back the same numbers.

        `query` is any public text on what was asked. `again` pays for another package of the plan's releases.
        Of the answers only types and number are looked at before they are paid for.
        """
        ready = plan.prepared(answers, disjoint=disjoint)
        if not ready.count:
            raise InputError("answers", "at least one number", "none")
        paid = self.paid(
            plan,
            ready.count,
            lambda: ready.draw(SecureKeystream()),
            key=key,
            query=query,
            disjoint=disjoint,
            again=again,
            shape=ready.shape,
        )
        return ready.restored(paid.values)

    def paid(
        self,
        plan: Plan,
        count: int,
        draw: Callable[[], Numbers],
        *,
        key: str | None = None,
        query: str | None = None,
        disjoint: bool = False,
        again: bool = False,
        shape: Sequence[int] | None = None,
    ) -> Paid:
        """Pay for `count` numbers, have them drawn unless they were, and store them.

        `draw` is called once the price is paid, and should not fail for any answer. `shape` is how many
        numbers each part of a plan has, if it has several; they are stored apart, never to be taken for each
        other's.
        """
        request = Request(
            dataset=self.dataset,
            plan=fingerprint(plan),
            plan_label=name_of(plan),
            cost=self.rule.cost(plan),
            package=plan.package,
            values=count,
            neighbors=plan.neighbors,
            query=query,
            key=key,
            again=again,
            disjoint=disjoint,
        )
        stored, reservation = self.answered(request, lambda: _packed(draw(), shape))
        values = _unpacked(stored, shape)
        if values is None:
            raise KeyReusedError(reservation.key)
        return Paid(values=values, reservation=reservation)

    def answered(self, request: Request, draw: Callable[[], bytes]) -> tuple[bytes, Reservation]:
        """Pay for a request, have its answer drawn unless it was, and store it; refusals say what to do."""
        try:
            reservation = self.ledger.reserve(request)
        except BudgetExceededError as refusal:
            raise refusal.told(self.rule.in_words, self.rule.advice()) from None
        stored = reservation.stored_answer
        if stored is None:
            stored = self.ledger.settle(reservation, draw())
        return stored, reservation


def _packed(values: Numbers, shape: Sequence[int] | None) -> bytes:
    """Published numbers as text, a list for each part; floats come back digit for digit."""
    if shape is None:
        listed = values.tolist()
    else:
        listed = [part.tolist() for part in np.split(values, np.cumsum(shape)[:-1])]
    return json.dumps(listed, separators=(",", ":"), allow_nan=False).encode()


def _unpacked(stored: bytes, shape: Sequence[int] | None) -> Numbers | None:
    """The numbers again; None if they are of another shape."""
    listed = json.loads(stored)
    if shape is None:
        return np.array(listed)
    if [len(part) for part in listed] != list(shape):
        return None
    return np.concatenate([np.array(part) for part in listed])
