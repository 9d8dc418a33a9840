"""`pbdp ask`: an accuracy and a private number; the budget chooses the noise that costs least, and pays."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from pbdp.cli.files import Outcome, checked_target, json_text, new_file
from pbdp.cli.options import add, add_ledger, ledger_place, typed_numbers
from pbdp.cli.parser import Parser
from pbdp.cli.requests import add_options, request_of
from pbdp.digits import plain
from pbdp.errors import ContradictionError
from pbdp.ledger.question import AskRequest
from pbdp.paying import BUDGET, DEFAULT_LEDGER

if TYPE_CHECKING:
    from pbdp.ledger import Ledger
    from pbdp.ledger.ask import Asked
    from pbdp.ledger.budget import Budget
    from pbdp.report.certificates.release_file import ReleaseFile

EXAMPLES = """examples:
  pbdp ask 1234 --within 50 --confidence 0.95 --sensitivity 1 --integer --dataset visits
  pbdp ask 1234 --share 0.1 --confidence 0.95 --sensitivity 1 --integer --dataset visits
  pbdp ask --price --within 50 --confidence 0.95 --sensitivity 1 --integer --dataset visits
  pbdp ask 1234 --within 5% --floor 50 --confidence 0.95 --sensitivity 1 --integer --dataset visits
  pbdp ask 1234 --within 20 --confidence 0.95 --sensitivity 1 --dataset visits --key march
  pbdp ask 1234 --within 5 --confidence 0.95 --sensitivity 1 --dataset visits --key march

--floor with a percentage asks for 5 % of the truth, or 50 where that is more. Cheap looks come first and say
how precise the last one must be; large answers cost next to nothing. Only the looks that are taken are paid.
--expect says where you expect answers to be: it changes what they cost, never the promise.

The same question under the same --key for less width costs the difference: the new answer is averaged with
those before.

--share spends a part of what is left: leave out the width to get the narrowest that it buys, or the
confidence to get the largest.

A number that is typed can be seen by other users of the machine and stays in the shell's history; - reads it
from standard input.
"""


def declare(parser: Parser) -> None:
    """What the command takes."""
    parser.set_defaults(doing="Choosing the noise")
    parser.description = "Publish a number with the noise that costs a budget least."
    parser.epilog = EXAMPLES
    parser.private = True
    parser.add_argument("number", metavar="NUMBER", nargs="?", help="the true number; - for standard input")
    budget = add_options(AskRequest, parser)[BUDGET]
    add_ledger(budget, needed=True)
    budget.add_argument("--price", action="store_true", help="say what it would cost; spend nothing")
    parser.add_argument(
        "--manifest",
        metavar="FILE",
        help="write what was published, with its plan, as a file that others can check (JSON)",
    )
    add(parser, "--force", "--json")


def run(options: argparse.Namespace) -> Outcome:
    """Choose, pay, draw, store, print."""
    answer = answer_of(options)
    manifest = _manifest(options)

    asked = request_of(AskRequest, options, answer=answer)

    from pbdp.ledger import Ledger
    from pbdp.ledger.budget import Budget

    place = ledger_place(options) or DEFAULT_LEDGER
    with Ledger.open(place, trust=options.trust_ledger) as ledger:
        budget = Budget.of(ledger, options.dataset)
        if answer is None:
            return Outcome(output=_priced(budget, asked, as_json=options.json), notes=ledger.notes)

        from pbdp.ledger.ask import ask, asking_of

        if manifest is not None:
            asking = asking_of(budget, asked).read()
            if len(asking.looks) > 1 or (asking.looks and asking.next_plan() is not None):
                raise _alone("an average of several answers")
        found = ask(budget, asked)
        if manifest is not None:
            with new_file(manifest, options.force) as file:
                file.write(_release_file(found, asked, ledger, options.dataset).content())
        return _outcome(found, asked, ledger.notes, as_json=options.json)


def _manifest(options: argparse.Namespace) -> Path | None:
    """Where a record of the release goes; refused before anything is spent if it cannot."""
    if options.manifest is None:
        return None
    others = {"--price": options.price, "--floor": options.floor is not None}
    if got := ", ".join(name for name, given in others.items() if given):
        raise _alone(got)
    return checked_target(options.manifest, options.force, what="--manifest")


def _alone(got: str) -> ContradictionError:
    return ContradictionError("--manifest", "used where one number is published by one plan", got)


def _release_file(found: Asked, asked: AskRequest, ledger: Ledger, dataset: str) -> ReleaseFile:
    from pbdp.report.certificates.release_file import ReleaseFile, utc_now

    entry = next(one for one in ledger.history(dataset) if one.key == found.key)
    paid = {"ledger": ledger.identity, "dataset": dataset, "key": found.key}
    return ReleaseFile(
        plan=found.plan,
        numbers={"": [float(found.value)]},
        created=utc_now(),
        query=entry.query,
        paid=paid | {"sequence": entry.sequence, "blocks": asked.blocks},
    )


def answer_of(options: argparse.Namespace) -> object:
    """The number, read before anything else; None if only a price is asked for."""
    if options.price:
        if options.number is not None:
            raise ContradictionError("NUMBER", "left out with --price", "one", "The price does not need it.")
        return None
    if options.number is None:
        raise ContradictionError("NUMBER", "given", "none", "Or ask for the --price.")
    text = options.number
    if text == "-":
        import sys

        text = sys.stdin.readline(1000).strip()
    return typed_numbers([text], "NUMBER")[0]


def _priced(budget: Budget, asked: AskRequest, *, as_json: bool) -> str:
    from pbdp.ledger.ask import asking_of

    if asked.floor is not None:
        from pbdp.ledger.scouting import LookPrice

        price = LookPrice.of(budget, asked, asked.blocks)
        return json_text("look-price", price.record()) if as_json else price.describe()
    asking = asking_of(budget, asked).read()
    needed = asking.next_plan()
    plan = asking.looks[-1].plan if needed is None else needed
    found = budget.price(plan, blocks=asked.blocks)
    if not as_json:
        return (
            "The answer is as precise already; nothing is to be paid."
            if needed is None
            else f"{plan.summary()}.\n{plan.risk_words()}\n{found.describe()}"
        )
    record = {"noise": plan.summary(), "guessed_right": plan.risk(), **found.record()}
    if needed is None:
        record |= {"fits": True, "share": 0.0, "spent_after": budget.spent, "cost": {}}
    return json_text("price", record)


def _outcome(found: Asked, asked: AskRequest, notes: tuple[str, ...], *, as_json: bool) -> Outcome:
    plan = found.plan
    if not as_json:
        words = (f"{plan.summary()}.", plan.risk_words()) if len(found.looks) == 1 else ()
        return Outcome(output=plain(found.value), notes=(*words, *found.lines(), *notes), released=True)
    # what was typed is read as an exact number, which JSON does not know
    number = int if plan.grid.whole_outputs else float
    record = {
        "released": number(found.value),
        "low": number(found.low),
        "high": number(found.high),
        "confidence": found.confidence,
        "within": plan.within if asked.within is None else asked.within,
        "floor": asked.floor,
        "joint": found.joint,
        "averaged": found.averaged,
        "complete": found.complete,
        "looks": [
            {
                "value": number(look.value),
                "within": look.within,
                "share": look.share,
                "noise": look.plan.summary(),
            }
            for look in found.looks
        ],
        "noise": plan.summary(),
        "epsilon": plan.epsilon,
        "delta": plan.delta,
        "guessed_right": plan.risk(),
        "cost": found.cost,
        "share": found.share,
        "spent": found.spent,
        "repeated": found.repeated,
        "key": found.key,
    }
    return Outcome(output=json_text("ask", record), notes=notes, released=True)
