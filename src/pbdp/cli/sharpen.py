"""`pbdp sharpen`: an answer that was published before, made more precise for the difference in cost."""

from __future__ import annotations

import argparse

from pbdp.cli.ask import answer_of
from pbdp.cli.files import Outcome, json_text
from pbdp.cli.ledger import DEFAULT
from pbdp.cli.options import add, add_budget, float_of, ledger_place, paying_of
from pbdp.cli.parser import Parser
from pbdp.digits import plain
from pbdp.paying import Paying

EXAMPLES = """examples:
  pbdp ask 1234 --sharpenable --within 20 --confidence 0.95 --sensitivity 1 --dataset visits --key march
  pbdp sharpen march --within 5 --dataset visits --price
  pbdp sharpen march 1234 --within 5 --dataset visits

The true number is given again: no ledger keeps it. An answer with Gaussian-type noise (ask --sharpenable, and
every answer to a percentage with a floor) costs the difference; another one the full price.
"""


def declare(parser: Parser) -> None:
    """What the command takes."""
    parser.set_defaults(doing="Choosing the noise")
    parser.description = "Make an answer that `pbdp ask` published more precise."
    parser.epilog = EXAMPLES
    parser.private = True
    parser.add_argument("key", metavar="KEY", help="the request key of the answer")
    parser.add_argument("number", metavar="NUMBER", nargs="?", help="the true number; - for standard input")
    add(parser, "--within", required=True, help="the width that the answer is to have: 5")
    add(parser, "--confidence", help="default: that of the answer")
    add_budget(parser, Paying, needed=True)
    parser.add_argument("--price", action="store_true", help="say what it would cost; spend nothing")
    add(parser, "--json")


def run(options: argparse.Namespace) -> Outcome:
    """Price, or pay, draw, combine and print."""
    answer = answer_of(options)
    within = float_of("--within", options.within)

    from pbdp.ledger import Ledger
    from pbdp.ledger.budget import Budget

    place, paying = ledger_place(options) or DEFAULT, paying_of(options, Paying)
    with Ledger.open(place, trust=options.trust_ledger) as ledger:
        budget, confidence = Budget.of(ledger, options.dataset), options.confidence
        if answer is None:
            blocks = paying.get("blocks")
            found = budget.sharpening(options.key, within=within, confidence=confidence, blocks=blocks)
            priced = json_text("sharpening", found.record()) if options.json else found.describe()
            return Outcome(output=priced, notes=ledger.notes)
        sharpened = budget.sharpen(options.key, within=within, answer=answer, confidence=confidence, **paying)
        if not options.json:
            notes = (*sharpened.lines(), *ledger.notes)
            return Outcome(output=plain(sharpened.value), notes=notes, released=True)
        record = {
            "released": sharpened.value,
            "low": sharpened.low,
            "high": sharpened.high,
            "confidence": sharpened.confidence,
            "holds": "by itself",
            "joint": {"low": sharpened.joint_low, "high": sharpened.joint_high},
            "looks": [{"value": value, "within": width} for value, width in sharpened.looks],
            "full_price": sharpened.full_price,
            "share": sharpened.share,
            "spent": sharpened.spent,
            "repeated": sharpened.repeated,
            "key": sharpened.key,
        }
        return Outcome(output=json_text("sharpened", record), notes=ledger.notes, released=True)
