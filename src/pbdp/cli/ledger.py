"""`pbdp ledger`: budgets that outlast every process; what is spent, what a plan would cost, what is left."""

from __future__ import annotations

import argparse
import json
import os
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pbdp.cli.ledger_words import history_table, money, paragraph, status_table, verification_words
from pbdp.cli.outcome import Outcome
from pbdp.errors import ContradictionError, InputError
from pbdp.mechanism.neighbors import Neighbors

if TYPE_CHECKING:
    from pbdp.ledger.ledger import Ledger
    from pbdp.planning.plan import Plan

VARIABLE = "PBDP_LEDGER"
DEFAULT = "pbdp-ledger.db"
FAULTY = 1

EXAMPLES = """examples:
  pbdp ledger create visits --epsilon 3 --delta 1e-6
  pbdp release plan.json 1234 --ledger pbdp-ledger.db --dataset visits --key march
  pbdp ledger status
  pbdp ledger price plan.json --dataset visits

The ledger is the file or the PostgreSQL database (postgresql://...) that --ledger names, else the one in
PBDP_LEDGER, else pbdp-ledger.db in this folder.
"""


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the command and its parts."""
    top = commands.add_parser(
        "ledger",
        help="keep the privacy budget of datasets",
        description="Keep the privacy budget of datasets.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parts = top.add_subparsers(dest="part", metavar="PART", required=True)

    create = _part(parts, "create", _create, "give a dataset a budget (and make the ledger if there is none)")
    create.add_argument("dataset", metavar="DATASET", help="a name for the data that people are in")
    create.add_argument("--epsilon", type=float, required=True, help="the most that may ever be spent")
    create.add_argument("--delta", type=float, required=True, help="... at this delta (0 with --rule sum)")
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
    create.add_argument("--neighbors", "--neighbours", choices=list(Neighbors), default=Neighbors.ADD_REMOVE)
    create.add_argument("--note", help="a public remark")

    status = _part(parts, "status", _status, "what is spent and what remains")
    status.add_argument("dataset", metavar="DATASET", nargs="?", help="one dataset only")
    status.add_argument("--plot", metavar="FILE", help="draw the budget over time (.png, .svg, .pdf)")

    history = _part(parts, "history", _history, "every spend, in order")
    history.add_argument("dataset", metavar="DATASET", nargs="?", help="one dataset only")

    price = _part(parts, "price", _price, "what a plan would cost, and what would remain; spends nothing")
    price.add_argument("plan", metavar="PLAN", help="a plan saved with `pbdp plan -o`")
    price.add_argument("--dataset", metavar="DATASET", help="default: every dataset")

    _part(parts, "verify", _verify, "check every record; exit code 1 if one was changed, removed or moved")

    export = _part(parts, "export", _export, "every record as a line of JSON, to check elsewhere")
    export.add_argument("-o", "--output", metavar="FILE", help="write a file")

    recover = _part(parts, "recover", _recover, "open a ledger that was restored from a backup")
    recover.add_argument(
        "--gap",
        choices=("known", "all"),
        required=True,
        help="how to count what is missing: what this machine knows to be spent, or everything",
    )


def _part(parts: Any, name: str, run: Any, words: str) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = parts.add_parser(
        name, help=words, description=f"{words[0].upper()}{words[1:]}.", allow_abbrev=False
    )
    add_place(parser)
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=run)
    return parser


def add_place(parser: Any) -> None:
    """Declare --ledger, the same for every command that spends."""
    parser.add_argument(
        "--ledger", metavar="FILE_OR_URL", help=f"where the budget is kept (default: ${VARIABLE})"
    )


def place_of(options: argparse.Namespace, default: str | None = DEFAULT) -> str | None:
    """The ledger that is meant: as said, else of the environment, else the default."""
    return options.ledger or os.environ.get(VARIABLE) or default


def _opened(options: argparse.Namespace) -> Ledger:
    from pbdp.ledger import Ledger

    return Ledger.open(_place(options))


def _place(options: argparse.Namespace) -> str:
    return place_of(options) or DEFAULT


def _create(options: argparse.Namespace) -> Outcome:
    from pbdp.ledger import Ledger
    from pbdp.ledger.budget import Budget
    from pbdp.ledger.errors import NotALedgerError

    place = _place(options)
    rule = options.rule or ("batch" if options.plan else "renyi")
    plans = [_times(text) for text in options.plan] or None
    made = None
    try:
        ledger = Ledger.open(place)
    except NotALedgerError:
        if not place.startswith(("postgresql:", "postgres:")) and Path(place).exists():
            raise
        # the budget is checked before a file is made for it
        from pbdp.planning.pricing import make_rule

        make_rule(
            rule,
            epsilon=options.epsilon,
            delta=options.delta,
            order=options.order,
            plans=plans,
            neighbors=options.neighbors,
        )
        ledger = made = Ledger.create(place)
    with ledger:
        budget = Budget.create(
            ledger,
            options.dataset,
            epsilon=options.epsilon,
            delta=options.delta,
            rule=rule,
            order=options.order,
            plans=plans,
            neighbors=options.neighbors,
            note=options.note,
        )
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


def _record(budget: Any) -> dict[str, Any]:
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
        "share_spent": money(state),
        "releases": state.releases,
        "created": state.created,
        "note": state.note,
    }


def _status(options: argparse.Namespace) -> Outcome:
    from pbdp.ledger.budget import Budget

    with _opened(options) as ledger:
        names = [options.dataset] if options.dataset else [state.name for state in ledger.datasets()]
        budgets = [Budget.of(ledger, name) for name in names]
        if options.plot:
            from pbdp.figures.budget_figure import draw_budget
            from pbdp.figures.canvas import checked_path, save

            path = checked_path(options.plot)
            save(draw_budget([(b.state, list(ledger.history(b.dataset))) for b in budgets]), path)
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

    found = verify_ledger(_place(options))
    output = json.dumps(asdict(found) | {"sound": found.sound}) if options.json else verification_words(found)
    return Outcome(output=output, code=0 if found.fault is None else FAULTY)


def _export(options: argparse.Namespace) -> Outcome:
    with _opened(options) as ledger:
        lines = ledger.export()
        if options.output is None:
            return Outcome(output="\n".join(lines))
        from pbdp.cli.output.whole_file import checked_target, new_file

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
