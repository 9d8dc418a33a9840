"""`pbdp ledger`: budgets that outlast every process; what is spent, what a plan would cost, what is left."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pbdp.cli.files import Outcome, checked_target, lines_in, new_file, picture_of
from pbdp.cli.ledger_keys import declare_keys
from pbdp.cli.options import LEDGER_VARIABLE, add, add_neighbors, ledger_place
from pbdp.cli.parser import Parser
from pbdp.cli.words.layout import paragraph
from pbdp.cli.words.ledgers import history_table, status_table, verification_words
from pbdp.errors import ContradictionError, InputError
from pbdp.ledger.book import share_spent

if TYPE_CHECKING:
    from pbdp.ledger.budget import Budget
    from pbdp.ledger.ledger import Ledger
    from pbdp.planning.plan import Plan

DEFAULT = "pbdp-ledger.db"
FAULTY = 1

EXAMPLES = f"""examples:
  pbdp ledger create visits --epsilon 3 --delta 1e-6
  pbdp release plan.json 1234 --ledger pbdp-ledger.db --dataset visits --key march
  pbdp ledger status
  pbdp ledger price plan.json --dataset visits

The ledger is the file or the PostgreSQL database (postgresql://...) that --ledger names, else the one in
{LEDGER_VARIABLE}, else {DEFAULT} in this folder.
"""


def declare(parser: Parser) -> None:
    """What the command and its parts take."""
    parser.description = "Keep the privacy budget of datasets."
    parser.epilog = EXAMPLES
    parts = parser.add_subparsers(dest="part", metavar="PART", required=True)

    create = _part(parts, "create", _create, "give a dataset a budget (and make the ledger if there is none)")
    create.add_argument("dataset", metavar="DATASET", help="a name for the data that people are in")
    add(create, "--epsilon", required=True, help="the most that may ever be spent")
    add(create, "--delta", required=True, help="... at this delta (0 with --rule sum)")
    create.add_argument(
        "--rule",
        choices=("renyi", "sum", "batch"),
        help="how spends add up: renyi (the default; chosen as one goes), sum (epsilons and deltas added "
        "up), batch (plans fixed in advance, composed exactly)",
    )
    create.add_argument("--order", type=float, help="order of the Rényi rule; the best for Gaussian noise")
    create.add_argument(
        "--plan",
        action="append",
        default=[],
        metavar="PLAN[:TIMES]",
        help="a plan of the batch and how often it is used (may be repeated)",
    )
    add_neighbors(create)
    add(create, "--trust-ledger")
    create.add_argument("--note", help="a public remark")

    status = _part(parts, "status", _status, "what is spent and what remains")
    status.add_argument("dataset", metavar="DATASET", nargs="?", help="one dataset only")
    add(status, "--plot", help="draw the budget over time (.png, .svg, .pdf)")

    history = _part(parts, "history", _history, "every spend, in order")
    history.add_argument("dataset", metavar="DATASET", nargs="?", help="one dataset only")

    price = _part(parts, "price", _price, "what a plan would cost, and what would remain; spends nothing")
    add(price, "plan")
    add(price, "--dataset", help="default: every dataset")

    verify = _part(
        parts, "verify", _verify, "check every record; exit code 1 if one was changed, removed or moved"
    )
    verify.add_argument(
        "--against",
        metavar="EXPORT",
        help="an export that was kept elsewhere: the ledger must begin with its records, unchanged",
    )
    verify.add_argument(
        "--all",
        action="store_true",
        help="add everything up again, also what this machine has verified before and is unchanged",
    )

    export = _part(parts, "export", _export, "every record as a line of JSON, to check elsewhere")
    add(export, "--output", help="write a file")

    declare_keys(parts, _part, _place)

    recover = _part(parts, "recover", _recover, "open a ledger that was restored from a backup")
    recover.add_argument(
        "--gap",
        choices=("known", "all"),
        required=True,
        help="how to count what is missing: what this machine knows to be spent, or everything",
    )


def _part(parts: Any, name: str, run: Any, words: str) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = parts.add_parser(
        name, help=words, description=f"{words[0].upper()}{words[1:]}."
    )
    add(parser, "--ledger")
    add(parser, "--json", help="print JSON")
    parser.set_defaults(run=run)
    return parser


@contextmanager
def paying_budget(options: argparse.Namespace) -> Iterator[Budget | None]:
    """The budget that --ledger and --dataset name, in its open ledger; None if there is none."""
    if options.ledger is None:
        yield None
        return
    from pbdp.ledger import Ledger
    from pbdp.ledger.budget import Budget

    with Ledger.open(options.ledger, trust=options.trust_ledger) as ledger:
        yield Budget.of(ledger, options.dataset)


def _opened(options: argparse.Namespace) -> Ledger:
    from pbdp.ledger import Ledger

    return Ledger.open(_place(options))


def _place(options: argparse.Namespace) -> str:
    return ledger_place(options) or DEFAULT


def _create(options: argparse.Namespace) -> Outcome:
    from pbdp.ledger import Ledger
    from pbdp.ledger.budget import Budget
    from pbdp.ledger.errors import DatasetExistsError, LedgerExistsError, NotALedgerError
    from pbdp.planning.pricing import make_rule

    place = _place(options)
    rule = options.rule or ("batch" if options.plan else "renyi")
    plans = [_times(text) for text in options.plan] or None
    asked = {name: getattr(options, name) for name in ("epsilon", "delta", "order", "neighbors")}
    made = None
    try:
        ledger = Ledger.open(place, trust=options.trust_ledger)
    except NotALedgerError as nothing:
        # the budget is checked before a file is made for it
        make_rule(rule, plans=plans, **asked)
        try:
            # what a creation that was broken off left behind is taken over
            ledger = made = Ledger.create(place, trust=options.trust_ledger)
        except LedgerExistsError:
            raise nothing from None
    with ledger:
        try:
            budget = Budget.create(
                ledger, options.dataset, rule=rule, plans=plans, note=options.note, **asked
            )
        except DatasetExistsError:
            # the same again, because the first time was broken off: it is as it should be
            budget = Budget.of(ledger, options.dataset)
            state, wanted = budget.state, make_rule(rule, plans=plans, **asked)
            found = (state.rule, state.limits, state.note, state.releases)
            if found != (wanted.record(), wanted.limits(), options.note, 0):
                raise
        if options.json:
            return Outcome(output=json.dumps(_record(budget), allow_nan=False), notes=ledger.notes)
        where = f"{'New ledger' if made else 'Ledger'} {ledger.place}"
        return Outcome(
            output=f"{where}: {options.dataset} has epsilon {options.epsilon:g} at delta {options.delta:g}.\n"
            f"{paragraph(budget.rule.describe())}",
            notes=ledger.notes,
        )


def _times(text: str) -> tuple[Plan, int]:
    """PLAN or PLAN:TIMES."""
    from pbdp.planning.plan import Plan

    path, colon, times = text.rpartition(":")
    if not colon or Path(text).exists():
        path, times = text, "1"
    if not times.isdecimal() or int(times) < 1:
        raise InputError("--plan", "PLAN or PLAN:TIMES, such as weekly.json:52", repr(text))
    return Plan.load(path), int(times)


def _record(budget: Budget) -> dict[str, Any]:
    state = budget.state
    return {
        "dataset": state.name,
        "epsilon": budget.rule.epsilon,
        "delta": budget.rule.delta,
        "rule": state.rule,
        "guarantee": budget.rule.describe(),
        "neighbors": state.neighbors,
        "limits": state.limits,
        "spent": state.spent,
        "remaining": state.remaining,
        "share_spent": share_spent(state.spent, state.limits),
        "releases": state.releases,
        "created": state.created,
        "note": state.note,
    }


def _status(options: argparse.Namespace) -> Outcome:
    picture = picture_of(options)

    from pbdp.ledger.budget import Budget

    with _opened(options) as ledger:
        names = [options.dataset] if options.dataset else [state.name for state in ledger.datasets()]
        budgets = [Budget.of(ledger, name) for name in names]
        if picture is not None:
            from pbdp.figures.budget_figure import draw_budget
            from pbdp.figures.canvas import save

            save(draw_budget([(b.state, list(ledger.history(b.dataset))) for b in budgets]), picture)
        if options.json:
            records = [_record(budget) for budget in budgets]
            whole = {"ledger": ledger.place, "datasets": records, "notes": list(ledger.notes)}
            return Outcome(output=json.dumps(whole, allow_nan=False))
        return Outcome(output=status_table(ledger.place, budgets), notes=ledger.notes)


def _history(options: argparse.Namespace) -> Outcome:
    with _opened(options) as ledger:
        entries = list(ledger.history(options.dataset))
        if options.json:
            listed = [asdict(entry) for entry in entries]
            return Outcome(output=json.dumps(listed, allow_nan=False))
        return Outcome(output=history_table(entries, {s.name: s for s in ledger.datasets()}))


def _price(options: argparse.Namespace) -> Outcome:
    from pbdp.ledger.budget import Budget
    from pbdp.planning.plan import Plan

    plan = Plan.load(options.plan)
    with _opened(options) as ledger:
        names = [options.dataset] if options.dataset else [state.name for state in ledger.datasets()]
        if not names:
            raise ContradictionError("dataset", "made first", "none", "pbdp ledger create NAME ...")
        prices = {name: Budget.of(ledger, name).price(plan) for name in names}
    if options.json:
        listed = {name: found.record() for name, found in prices.items()}
        return Outcome(output=json.dumps(listed, allow_nan=False))
    return Outcome(output="\n\n".join(f"{name}: {found.describe()}" for name, found in prices.items()))


def _verify(options: argparse.Namespace) -> Outcome:
    from pbdp.ledger.ledger import verify_ledger

    against = None if options.against is None else lines_in("export", options.against)
    found = verify_ledger(_place(options), everything=options.all, against=against)
    output = json.dumps(asdict(found) | {"sound": found.sound}) if options.json else verification_words(found)
    notes = () if options.json else found.notes
    return Outcome(output=output, notes=notes, code=0 if found.fault is None else FAULTY)


def _export(options: argparse.Namespace) -> Outcome:
    with _opened(options) as ledger:
        lines = ledger.export()
        if options.output is None:
            return Outcome(output="\n".join(lines))
        count = 0
        with new_file(checked_target(options.output, False), False) as file:
            for line in lines:
                file.write(f"{line}\n".encode())
                count += 1
    return Outcome(output=f"{count:,} lines in {options.output}")


def _recover(options: argparse.Namespace) -> Outcome:
    from pbdp.ledger import Ledger

    with Ledger.recover(_place(options), options.gap) as ledger:
        counted = "what this machine knew to be spent" if options.gap == "known" else "everything"
        note = f"Recovered: the gap was counted as {counted}."
        if options.json:
            return Outcome(output=json.dumps({"ledger": ledger.place, "gap": options.gap}))
        return Outcome(output=note, notes=ledger.notes)
