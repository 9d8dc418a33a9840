"""`pbdp ask`: an accuracy and a private number; the budget chooses the noise that costs least, and pays."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pbdp.cli.files import Outcome, checked_target, json_text, new_file
from pbdp.cli.ledger import DEFAULT
from pbdp.cli.options import (
    add,
    add_budget,
    blocks_of,
    float_of,
    ledger_place,
    paying_of,
    typed_numbers,
    width_of,
)
from pbdp.cli.parser import Parser, number, share
from pbdp.digits import percent_down, percent_up, plain
from pbdp.errors import ContradictionError, InputError
from pbdp.paying import PayingFor

if TYPE_CHECKING:
    from pbdp.certificates.release_file import ReleaseFile
    from pbdp.ledger import Ledger
    from pbdp.ledger.ask import Asked, Question
    from pbdp.ledger.budget import Budget
    from pbdp.ledger.looks import Looked

EXAMPLES = """examples:
  pbdp ask 1234 --within 50 --confidence 0.95 --sensitivity 1 --integer --dataset visits
  pbdp ask 1234 --share 0.1 --confidence 0.95 --sensitivity 1 --integer --dataset visits
  pbdp ask --price --within 50 --confidence 0.95 --sensitivity 1 --integer --dataset visits
  pbdp ask 1234 --within 5% --floor 50 --confidence 0.95 --sensitivity 1 --integer --dataset visits

--floor with a percentage asks for 5 % of the truth, or 50 where that is more. Cheap looks come first and say
how precise the last one must be; large answers cost next to nothing. Only the looks that are taken are paid.
--expect says where you expect answers to be: it changes what they cost, never the promise.

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
    accuracy = parser.add_argument_group("accuracy: two of width, confidence and share")
    add(accuracy, "--within", "--below", "--above", "--confidence")
    floor = "with a percentage: the width where that is more than the percentage"
    accuracy.add_argument("--floor", type=number, metavar="F", help=floor)
    expect = "with a floor: where answers are expected, as 100..1e6"
    accuracy.add_argument("--expect", metavar="LOW..HIGH", help=expect)
    accuracy.add_argument("--share", type=share, metavar="S", help="the part of what is left to spend: 0.1")
    add(accuracy, "--sensitivity", "--integer", "--step")
    sharpenable = "take noise that `pbdp sharpen` can refine later for the difference in cost"
    accuracy.add_argument("--sharpenable", action="store_true", help=sharpenable)
    accuracy.add_argument("--nonnegative", action="store_true", help="answers are never below zero")
    budget = parser.add_argument_group("budget")
    add_budget(budget, PayingFor, needed=True)
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

    from pbdp.ledger import Ledger
    from pbdp.ledger.ask import Question
    from pbdp.ledger.budget import Budget

    question = Question(
        sensitivity=options.sensitivity,
        within=_width(options),
        confidence=options.confidence,
        share=options.share,
        integer=options.integer,
        nonnegative=options.nonnegative,
        step=options.step,
        floor=options.floor,
        expect=_expected(options.expect),
        sharpenable=options.sharpenable,
    )
    place = ledger_place(options) or DEFAULT
    with Ledger.open(place, trust=options.trust_ledger) as ledger:
        budget = Budget.of(ledger, options.dataset)
        if answer is None:
            return Outcome(output=_priced(budget, question, options), notes=ledger.notes)

        from pbdp.ledger.ask import Asked, ask

        asked = ask(budget, question, answer, **paying_of(options, PayingFor))
        if not isinstance(asked, Asked):
            return _looked(asked, options, ledger.notes)
        if manifest is not None:
            with new_file(manifest, options.force) as file:
                file.write(_release_file(asked, ledger, options).content())
        return _outcome(asked, options, ledger.notes)


def _manifest(options: argparse.Namespace) -> Path | None:
    """Where a record of the release goes; refused before anything is spent if it cannot."""
    if options.manifest is None:
        return None
    if options.price or options.floor is not None:
        got = "--price" if options.price else "--floor"
        raise ContradictionError("--manifest", "used where one number is published by one plan", got)
    return checked_target(options.manifest, options.force, what="--manifest")


def _release_file(asked: Asked, ledger: Ledger, options: argparse.Namespace) -> ReleaseFile:
    from pbdp.certificates.release_file import ReleaseFile, utc_now

    entry = next(one for one in ledger.history(options.dataset) if one.key == asked.key)
    paid = {"ledger": ledger.identity, "dataset": options.dataset, "key": asked.key}
    return ReleaseFile(
        plan=asked.plan,
        numbers={"": [float(asked.value)]},
        created=utc_now(),
        query=options.query,
        paid=paid | {"sequence": entry.sequence, "blocks": blocks_of(options)},
    )


def _expected(text: str | None) -> tuple[float, float] | None:
    """A range as LOW..HIGH."""
    if text is None:
        return None
    low, dots, high = text.partition("..")
    if not dots:
        raise InputError("--expect", "a range such as 100..1e6", repr(text))
    return float_of("--expect", low), float_of("--expect", high)


def _width(options: argparse.Namespace) -> Any:
    width = width_of(vars(options), "--")
    if not isinstance(width, str):
        return width
    try:
        return float(width)
    except ValueError:  # relative
        return width


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


def _priced(budget: Budget, question: Question, options: argparse.Namespace) -> str:
    from pbdp.ledger.ask import choose

    blocks = blocks_of(options)
    if question.floor is not None:
        from pbdp.ledger.looks import LookPrice

        price = LookPrice.of(budget, question, blocks)
        return json_text("look-price", price.record()) if options.json else price.describe()
    plan = choose(budget, question, blocks)
    found = budget.price(plan, blocks=blocks)
    if options.json:
        record = {"noise": plan.summary(), "guessed_right": plan.risk(), **found.record()}
        return json_text("price", record)
    return f"{plan.summary()}.\n{plan.risk_words()}\n{found.describe()}"


def _looked(looked: Looked, options: argparse.Namespace, notes: tuple[str, ...]) -> Outcome:
    if not options.json:
        return Outcome(output=plain(looked.value), notes=(*looked.lines(), *notes), released=True)
    number = int if looked.procedure.asked.integer else float
    record = {
        "released": number(looked.value),
        "low": number(looked.low),
        "high": number(looked.high),
        "confidence": looked.confidence,
        "within": options.within,
        "floor": options.floor,
        "complete": looked.complete,
        "looks": [
            {"value": number(look.value), "within": look.within, "share": look.share} for look in looked.looks
        ],
        "cost": looked.cost,
        "share": looked.share,
        "spent": looked.spent,
        "repeated": looked.repeated,
        "key": looked.key,
    }
    return Outcome(output=json_text("looked", record), notes=notes, released=True)


def _outcome(asked: Asked, options: argparse.Namespace, notes: tuple[str, ...]) -> Outcome:
    plan = asked.plan
    # what was typed is read as an exact number, which JSON does not know
    number = int if plan.grid.whole_outputs else float
    if options.json:
        record = {
            "released": number(asked.value),
            "low": number(asked.low),
            "high": number(asked.high),
            "confidence": asked.confidence,
            "within": plan.within,
            "noise": plan.summary(),
            "epsilon": plan.epsilon,
            "delta": plan.delta,
            "guessed_right": plan.risk(),
            "share": asked.share,
            "spent": asked.spent,
            "repeated": asked.repeated,
            "key": asked.key,
        }
        return Outcome(output=json_text("ask", record), notes=notes, released=True)
    paid = "paid for before" if asked.repeated else f"cost {percent_up(asked.share)} of the budget"
    words = (
        f"{plan.summary()}.",
        plan.risk_words(),
        f"The true answer is between {plain(asked.low)} and {plain(asked.high)}, with confidence "
        f"{percent_down(asked.confidence)}.",
        f"{paid[0].upper()}{paid[1:]}; {percent_up(asked.spent)} is spent now. Request key: {asked.key}",
    )
    return Outcome(output=plain(asked.value), notes=(*words, *notes), released=True)
