"""`pbdp ledger`: budgets that outlast every process; what is spent, what a plan would cost, what is left."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pbdp.accounting.risk import delta_words
from pbdp.cli.files import Outcome, checked_target, json_text, lines_in, new_file, picture_of
from pbdp.cli.ledger_keys import declare_keys
from pbdp.cli.options import add, add_budget, add_neighbors, ledger_place, names_in, paying_of
from pbdp.cli.parser import Parser, share
from pbdp.cli.requests import add_options, request_of
from pbdp.digits import delta_text, epsilon_text, percent_up
from pbdp.errors import ContradictionError, InputError, shown
from pbdp.paying import BUDGET, DEFAULT_LEDGER, LEDGER_VARIABLE, PayingOnce, Payment
from pbdp.report.text import paragraph
from pbdp.report.words.ledgers import history_table, status_table, verification_words

if TYPE_CHECKING:
    from pbdp.ledger.budget import Budget
    from pbdp.ledger.ledger import Ledger

FAULTY = 1

EXAMPLES = f"""examples:
  pbdp ledger create visits --epsilon 3 --delta 1e-6
  pbdp release plan.json 1234 --ledger pbdp-ledger.db --dataset visits --key march
  pbdp ledger status
  pbdp ledger price plan.json --dataset visits
  pbdp ledger reserve weekly.json:52 monthly.json:12 --dataset visits

The ledger is the file or the PostgreSQL database (postgresql://...) that --ledger names, else the one in
{LEDGER_VARIABLE}, else {DEFAULT_LEDGER} in this folder.
"""


def declare(parser: Parser) -> None:
    """What the command and its parts take."""
    parser.description = "Keep the privacy budget of datasets."
    parser.epilog = EXAMPLES
    parts = parser.add_subparsers(dest="part", metavar="PART", required=True)

    create = _part(parts, "create", _create, "give a dataset a budget (and make the ledger if there is none)")
    create.add_argument("dataset", metavar="DATASET", help="a name for the data that people are in")
    add(create, "--epsilon", required=True, help="the most that may ever be spent")
    add(
        create,
        "--delta",
        required=True,
        help="what that epsilon need not cover, far below one over the number of people: 1e-6",
    )
    create.add_argument(
        "--reserve",
        type=share,
        metavar="SHARE",
        help="share of delta set aside for near-impossible outputs, and for mechanisms known only by their "
        "epsilon and delta (default: a thousandth)",
    )
    create.add_argument(
        "--blocks",
        metavar="NAMES",
        help="disjoint blocks of PEOPLE, such as north,south: a release pays in the blocks that it reads. "
        "Days are not blocks, unless each person appears on only one",
    )
    add_neighbors(create)
    add(create, "--trust-ledger")
    create.add_argument("--note", help="a public remark")

    status = _part(parts, "status", _status, "what is spent and what remains")
    status.add_argument("dataset", metavar="DATASET", nargs="?", help="one dataset only")
    status.add_argument("--explain", action="store_true", help="also say why the guarantee holds")
    add(status, "--plot", help="draw the budget over time (.png, .svg, .pdf)")

    history = _part(parts, "history", _history, "every spend, in order")
    history.add_argument("dataset", metavar="DATASET", nargs="?", help="one dataset only")

    price = _part(parts, "price", _price, "what a plan would cost, and what would remain; spends nothing")
    price.add_argument(
        "plans",
        metavar="PLAN[:TIMES]",
        nargs="+",
        help="plans, or query files of tables (.toml), together as one step: weekly.json:52 visits.toml",
    )
    add(price, "--dataset", help="default: every dataset")
    add_options(Payment, price, groups={BUDGET: price}, names=["blocks"])

    reserve = _part(parts, "reserve", _reserve, "pay for plans together and in advance, composed exactly")
    reserve.add_argument("plans", metavar="PLAN[:TIMES]", nargs="+", help="such as weekly.json:52")
    add_budget(reserve, PayingOnce, needed=True)

    verify = _part(
        parts, "verify", _verify, "check every record; exit code 1 if one was changed, removed or moved"
    )
    verify.add_argument(
        "--against",
        metavar="EXPORT",
        help="an export kept elsewhere: the ledger must begin with exactly its records",
    )
    verify.add_argument(
        "--quiet", action="store_true", help="one line, for cron: exit code 0 if sound, 1 if not"
    )

    export = _part(parts, "export", _export, "every record as a line of JSON, to check elsewhere")
    add(export, "--output", help="write a file")
    add(export, "--force")

    declare_keys(parts, _part, _place)

    repair = _part(parts, "repair", _repair, "go on with a ledger that is damaged, or came from a backup")
    repair.add_argument(
        "--gap",
        choices=("known", "all"),
        default="known",
        help="how to count what is missing: what this machine knows to be spent, and all where that is "
        "not certain (known); or everything",
    )


def _part(parts: Any, name: str, run: Any, words: str) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = parts.add_parser(
        name, help=words, description=f"{words[0].upper()}{words[1:]}."
    )
    add(parser, "--ledger")
    add(parser, "--json", help="print JSON")
    parser.set_defaults(run=run, doing="Checking the ledger")
    return parser


def _opened(options: argparse.Namespace) -> Ledger:
    from pbdp.ledger import Ledger

    return Ledger.open(_place(options))


def _place(options: argparse.Namespace) -> str:
    return ledger_place(options) or DEFAULT_LEDGER


def _create(options: argparse.Namespace) -> Outcome:
    from pbdp.ledger.budget import budget

    asked = {name: getattr(options, name) for name in ("epsilon", "delta", "neighbors", "note")}
    if options.reserve is not None:
        asked["reserve"] = options.reserve
    blocks, place = tuple(names_in(options.blocks)), _place(options)
    made = budget(options.dataset, blocks=blocks, ledger=place, trust=options.trust_ledger, **asked)
    with made.ledger as ledger:
        if options.json:
            return Outcome(output=json_text("budget", _record(made)), notes=ledger.notes)
        first = made.state.sequence == 1
        where = f"{'New ledger' if first else 'Ledger'} {ledger.place}"
        kept = "\nYou need its key to spend from it. Keep a copy: pbdp ledger key export." if first else ""
        return Outcome(
            output=f"{where}: {options.dataset} has epsilon {epsilon_text(options.epsilon)} at delta "
            f"{delta_text(options.delta)}.\n"
            f"{paragraph(made.terms.risk_words())}{kept}",
            notes=(*ledger.notes, *filter(None, [delta_words(options.delta)])),
        )


def plans_in(texts: Sequence[str]) -> list[tuple[Any, int]]:
    """PLAN or PLAN:TIMES, each; a query file of a table stands for its plan."""
    return [_times(text) for text in texts]


def _times(text: str) -> tuple[Any, int]:
    from pbdp.planning.plan import Plan

    path, colon, times = text.rpartition(":")
    if not colon or Path(text).exists():
        path, times = text, "1"
    if not times.isdecimal() or int(times) < 1:
        raise InputError("PLAN", "a file, or FILE:TIMES, such as weekly.json:52", shown(text))
    if path.lower().endswith(".toml"):
        from pbdp.cli.tables.asked import asked_of
        from pbdp.cli.tables.query_file import settings_in

        return asked_of(settings_in(Path(path)), Path(path).parent).query.plan(), int(times)
    return Plan.load(path), int(times)


def _record(budget: Budget) -> dict[str, Any]:
    state, terms = budget.state, budget.terms
    return {
        "dataset": state.name,
        "epsilon": terms.epsilon,
        "delta": terms.delta,
        "reserve": terms.reserve,
        "blocks": {block: terms.share(state.spent, (block,)) for block in terms.blocks},
        "guarantee": terms.theory(),
        "neighbors": state.neighbors,
        "share_spent": terms.share(state.spent),
        "guessed_right": terms.risk(),
        "limits": state.limits,
        "spent": state.spent,
        "remaining": state.remaining,
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
            from pbdp.report.pictures.budget_figure import draw_budget
            from pbdp.report.pictures.canvas import save

            save(draw_budget([(b.state, list(ledger.history(b.dataset))) for b in budgets]), picture)
        if options.json:
            records = [_record(budget) for budget in budgets]
            whole = {"ledger": ledger.place, "datasets": records, "notes": list(ledger.notes)}
            return Outcome(output=json_text("ledger-status", whole))
        words = status_table(ledger.place, budgets, explain=options.explain)
        return Outcome(output=words, notes=ledger.notes)


def _history(options: argparse.Namespace) -> Outcome:
    from pbdp.planning.pricing import Terms

    with _opened(options) as ledger:
        entries = list(ledger.history(options.dataset))
        terms = {state.name: Terms.from_record(state.rule) for state in ledger.datasets()}
        if options.json:
            listed = [
                asdict(entry)
                | {
                    "share": terms[entry.dataset].share_of_cost(entry.cost, entry.spent),
                    "share_spent": terms[entry.dataset].share(entry.spent),
                }
                for entry in entries
            ]
            return Outcome(output=json_text("ledger-history", {"entries": listed}))
        return Outcome(output=history_table(entries, terms))


def _price(options: argparse.Namespace) -> Outcome:
    from pbdp.ledger.budget import Budget

    plans, blocks = plans_in(options.plans), request_of(Payment, options).blocks
    with _opened(options) as ledger:
        names = [options.dataset] if options.dataset else [state.name for state in ledger.datasets()]
        if not names:
            raise ContradictionError("dataset", "made first", "none", "pbdp ledger create NAME ...")
        prices = {name: Budget.of(ledger, name).price(*plans, blocks=blocks) for name in names}
    if options.json:
        listed = {name: found.record() for name, found in prices.items()}
        return Outcome(output=json_text("ledger-price", {"prices": listed}))
    return Outcome(output="\n\n".join(f"{name}: {found.describe()}" for name, found in prices.items()))


def _reserve(options: argparse.Namespace) -> Outcome:
    from pbdp.ledger import Ledger
    from pbdp.ledger.budget import Budget

    plans = plans_in(options.plans)
    with Ledger.open(_place(options), trust=options.trust_ledger) as ledger:
        budget = Budget.of(ledger, options.dataset)
        found = budget.reserve(*plans, **paying_of(options, PayingOnce))
        if options.json:
            return Outcome(output=json_text("reservation", asdict(found)), notes=ledger.notes)
        paid = (
            "Paid for before" if found.repeated else f"Reserved for {percent_up(found.share)} of the budget"
        )
        return Outcome(
            output=f"{paid}: {found.label}. {percent_up(budget.spent)} of the budget of {budget.dataset} is "
            f"spent now. Request key: {found.key}",
            notes=ledger.notes,
        )


def _verify(options: argparse.Namespace) -> Outcome:
    from pbdp.ledger.verification import verify_ledger

    against = None if options.against is None else lines_in("--against", options.against)
    found = verify_ledger(_place(options), against=against)
    code = 0 if found.fault is None else FAULTY
    if options.quiet:
        return Outcome(output=verification_words(found).partition("\n")[0], code=code)
    output = (
        json_text("ledger-verification", asdict(found) | {"sound": found.sound})
        if options.json
        else verification_words(found)
    )
    return Outcome(output=output, notes=() if options.json else found.notes, code=code)


def _export(options: argparse.Namespace) -> Outcome:
    with _opened(options) as ledger:
        lines = ledger.export()
        if options.output is None:
            if not options.json:
                return Outcome(output="\n".join(lines))
            return Outcome(
                output=json_text("ledger-export", {"records": [json.loads(line) for line in lines]})
            )
        count = 0
        with new_file(checked_target(options.output, options.force), options.force) as file:
            for line in lines:
                file.write(f"{line}\n".encode())
                count += 1
    if options.json:
        return Outcome(output=json_text("ledger-export", {"lines": count, "written_to": options.output}))
    return Outcome(output=f"{count:,} lines in {options.output}")


def _repair(options: argparse.Namespace) -> Outcome:
    from pbdp.ledger import Ledger

    with Ledger.repair(_place(options), options.gap) as ledger:
        notes = ledger.notes
        if options.json:
            record = {"ledger": ledger.place, "gap": options.gap, "notes": list(notes)}
            return Outcome(output=json_text("ledger-repair", record))
        return Outcome(output="\n".join(notes))
