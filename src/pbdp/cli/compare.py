"""`pbdp compare`: two groups of people, how many of each say yes, and what the difference is."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from pbdp.cli.files import Outcome, json_text
from pbdp.cli.options import add, add_neighbors, check_budget, names_in, share
from pbdp.cli.parser import Parser
from pbdp.digits import percent_down
from pbdp.errors import ContradictionError, InputError
from pbdp.mechanism.neighbors import Neighbors

if TYPE_CHECKING:
    from pbdp.comparing.plan import ComparisonPlan

EXAMPLES = """examples:
  pbdp compare --users 100000,100000 --rate 0.05 --wider 0.05
  pbdp compare --users 100000,100000 --rate 0.05 --power 0.8 --lift 0.003
  pbdp compare 5123 4890 --users 100000,100000 --rate 0.05 --wider 0.05 \\
      --ledger pbdp-ledger.db --dataset signups

Without counts the plan is shown. Numbers that are typed can be seen by other users of the machine and stay
in the shell's history.
"""


def declare(parser: Parser) -> None:
    """What the command takes."""
    parser.set_defaults(doing="Planning")
    parser.description = "Compare how many people say yes in two groups."
    parser.epilog = EXAMPLES
    parser.private = True
    parser.add_argument("counts", metavar="COUNT", nargs="*", help="how many said yes, of each group")
    known = parser.add_argument_group("what is known")
    known.add_argument("--users", required=True, metavar="N,N", help="how many people each group has; public")
    known.add_argument("--rate", type=share, required=True, metavar="P", help="about how many say yes: 0.05")
    needed = parser.add_argument_group("what the analysis needs: one of the two")
    needed.add_argument(
        "--wider", type=share, metavar="S", help="intervals at most so much wider: 0.05 for 5 %%"
    )
    needed.add_argument("--power", type=share, metavar="P", help="how often a lift is found: 0.8")
    needed.add_argument("--lift", type=share, default=0.0, metavar="D", help="the change of the rate to find")
    add(needed, "--confidence", default=0.95, help="of intervals (default: 0.95)")
    needed.add_argument("--ratio", action="store_true", help="of the rates, in place of their difference")
    add(needed, "--delta", default=1e-9)
    add_neighbors(needed, default=Neighbors.REPLACE)
    budget = parser.add_argument_group("who counts")
    add(budget, "--ledger", "--dataset", "--blocks", "--key", "--trust-ledger")
    budget.add_argument("--query", metavar="TEXT", help="what was asked, for the history; it is public")
    output = parser.add_argument_group("output")
    add(output, "--json", "--insecure-test-seed")


def run(options: argparse.Namespace) -> Outcome:
    """Plan, pay, publish, say."""
    check_budget(options, "query")
    if len(options.counts) not in (0, 2):
        raise ContradictionError("COUNT", "one number for each of the two groups", f"{len(options.counts)}")
    if not options.counts and options.ledger is not None and options.dataset is not None:
        raise ContradictionError("--dataset", "used with two counts", "none", "Leave it out to see the plan.")
    users = _users(options.users)

    from pbdp.comparing.plan import plan_comparison

    plan = plan_comparison(
        users=users,
        rate=options.rate,
        wider=options.wider,
        power=options.power,
        lift=options.lift,
        confidence=options.confidence,
        measure="ratio" if options.ratio else "difference",
        delta=options.delta,
        neighbors=options.neighbors,
    )
    if not options.counts:
        return Outcome(output=json_text("comparison-cost", plan.record()) if options.json else _words(plan))
    return _compared(plan, options)


def _users(text: str) -> tuple[int, int]:
    try:
        first, second = (int(part) for part in names_in(text))
    except ValueError:
        raise InputError("--users", "two whole numbers, such as 100000,100000", repr(text)) from None
    return first, second


def _compared(plan: ComparisonPlan, options: argparse.Namespace) -> Outcome:
    from pbdp.cli.private_numbers import typed_numbers

    counts = typed_numbers(options.counts, "COUNT").answers
    notes: tuple[str, ...] = ("No budget was asked to pay: count it yourself.",)
    if options.ledger is None:
        found = plan.compare(*counts, insecure_test_seed=options.insecure_test_seed)
    else:
        from pbdp.cli.options import blocks_of
        from pbdp.ledger import Ledger
        from pbdp.ledger.budget import Budget

        with Ledger.open(options.ledger, trust=options.trust_ledger) as ledger:
            budget = Budget.of(ledger, options.dataset)
            found = plan.paid(budget, counts, key=options.key, query=options.query, blocks=blocks_of(options))
            notes = (budget.describe().splitlines()[0], *ledger.notes)
    if options.json:
        return Outcome(output=json_text("compared", found.record() | {"plan": plan.record()}), released=True)
    words = f"{found.describe()}."
    return Outcome(
        output=f"{found.counts[0]} {found.counts[1]}\n{words[0].upper()}{words[1:]}",
        notes=(plan.noise.risk_words(), *notes),
        released=True,
    )


def _words(plan: ComparisonPlan) -> str:
    words = f"{plan.describe()}."
    lines = [f"{words[0].upper()}{words[1:]}", plan.noise.risk_words()]
    rates = plan.asked.rates
    lines.append(
        f"Exact coverage at rates of {rates[0]:g} and {rates[1]:g}: {percent_down(plan.coverage(*rates))}."
    )
    if plan.asked.lift:
        lines.append(
            f"Exact power to find a lift of {plan.asked.lift:g}: {percent_down(plan.power(*rates))}."
        )
    first, second = (f"{users:,}" for users in plan.users)
    return "\n".join(
        [
            *lines,
            f"Without noise, groups smaller by {first} and {second} people would do as well.",
            "Nobody is in both groups, and the sizes of the groups are public.",
        ]
    )
