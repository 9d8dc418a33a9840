"""Drawing for the command line, and who counts the releases: a ledger, or without one this call alone."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pbdp.cli.input.column import PrivateColumn
from pbdp.cli.ledger_words import paid_words
from pbdp.errors import InputError
from pbdp.noise.kernel import Array
from pbdp.release.answers import read_answers
from pbdp.release.keystream import InsecureTestKeystream, SecureKeystream
from pbdp.release.publisher import Index

if TYPE_CHECKING:
    from pbdp.planning.plan import Plan

THIS_CALL = "this call only"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Drawn:
    """Published numbers, which doubles hold exactly, and who counted them: `enforced`, and a note on it."""

    values: Array
    enforced: str
    note: str


def released_values(plan: Plan, column: PrivateColumn, options: argparse.Namespace) -> Drawn:
    """Check that the plan covers so many numbers, and draw for all of them or for none.

    The same as `plan.release`, but for the way back into the form of the answers, which text does not have.
    """
    releaser, seed = plan.releaser, options.insecure_test_seed
    releaser.check_count(column.count, options.disjoint)
    keystream = SecureKeystream() if seed is None else InsecureTestKeystream(seed)
    draw: Callable[[], Array | Index]
    try:
        if column.count == 1:
            # one number may be larger than an array can hold
            steps = releaser.steps_of(column.answers[0])
            draw = lambda: np.array([releaser.published(steps, keystream)])  # noqa: E731 - one of two
        else:
            read = read_answers(column.answers, releaser.publisher)
            draw = lambda: releaser.column(read, keystream)  # noqa: E731
    except InputError as error:
        raise _placed(plan, column, error) from None
    if options.ledger is not None:
        return _paid(plan, column.count, draw, options)
    values = draw()
    return Drawn(
        values=values.astype(np.float64, copy=False),
        enforced=THIS_CALL,
        note=_note(plan, 1 if options.disjoint else column.count),
    )


def _paid(plan: Plan, count: int, draw: Callable[[], Array | Index], options: argparse.Namespace) -> Drawn:
    """Paid for in the ledger before anything is drawn."""
    from pbdp.ledger import Ledger
    from pbdp.ledger.budget import Budget

    with Ledger.open(options.ledger) as ledger:
        budget = Budget.of(ledger, options.dataset)
        paid = budget.paid(
            plan,
            count,
            draw,
            key=options.key,
            query=options.query,
            disjoint=options.disjoint,
            again=options.again,
        )
        return Drawn(
            values=paid.values.astype(np.float64, copy=False),
            enforced=f"ledger {ledger.place}",
            note=paid_words(budget, plan, paid),
        )


def _note(plan: Plan, taken: int) -> str:
    covered = plan.requirement.releases
    share = "the one release" if covered == 1 else f"{taken} of the {covered} releases"
    return f"Only this call was checked, as no ledger counts across calls: it takes {share} of the plan."


def _placed(plan: Plan, column: PrivateColumn, error: InputError) -> InputError:
    """The same refusal with the place of the first answer that has it."""
    index = _first_refused(plan, column.answers)
    if index is None:
        return error
    return InputError(column.place(index), error.rule, error.value, error.remedy)


def _first_refused(plan: Plan, answers: Any) -> int | None:
    """Halve what is refused until one answer is left."""
    start, stop = 0, len(answers)
    if not _refused(plan, answers):
        return None
    while stop - start > 1:
        middle = (start + stop) // 2
        if _refused(plan, answers[start:middle]):
            stop = middle
        else:
            start = middle
    return start


def _refused(plan: Plan, answers: Any) -> bool:
    try:
        read_answers(answers, plan.releaser.publisher)
    except InputError:
        return True
    return False
