"""`pbdp choose`: the option whose score is near the best, or the best few, from scores in a file."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from pbdp.choosing.request import GIVEN, Asked, ChoiceRequest, ChooseRequest
from pbdp.cli.files import Outcome, picture_of
from pbdp.cli.options import add, add_ledger, check_budget, target_of
from pbdp.cli.parser import Parser
from pbdp.cli.requests import add_options, request_of
from pbdp.columns.files import FORMATS
from pbdp.digits import percent_down, percent_up, rounded_down, rounded_up
from pbdp.errors import ContradictionError, InputError
from pbdp.mechanism.neighbors import Neighbors
from pbdp.paying import BUDGET

if TYPE_CHECKING:
    from pbdp.choosing.plan import ChoicePlan

EXAMPLES = """examples:
  pbdp choose --options 1000 --within 50 --confidence 0.95 --sensitivity 1 --integer --rising
  pbdp choose visits.csv --column visits --names region --within 50 --confidence 0.95 \\
      --sensitivity 1 --integer --rising --ledger pbdp-ledger.db --dataset visits
  pbdp choose visits.csv --column visits --names region --top 10 --within 50 --confidence 0.95 \\
      --sensitivity 1 --integer --rising

Without scores the plan is shown: what choosing among that many options costs. The names of the options are
public; their scores are not.
"""


def declare(parser: Parser) -> None:
    """What the command takes."""
    parser.set_defaults(doing="Planning")
    parser.description = "Choose the option with the best score, or the best few, up to a stated width."
    parser.epilog = EXAMPLES
    parser.private = True
    parser.add_argument("file", metavar="SCORES", nargs="?", help="a file of scores, the same as --input")
    groups = add_options(Asked, parser, names=["options"])
    add(groups[GIVEN], "--input")
    add(groups[GIVEN], "--input-format", choices=FORMATS)
    add_options(ChooseRequest, parser, groups=groups)
    add_ledger(groups[BUDGET])
    output = parser.add_argument_group("output")
    output.add_argument("--dry-run", action="store_true", help="show the plan only; choose and spend nothing")
    add(output, "--output", help="write the plan as a .json file")
    add(output, "--force", "--plot", "--json", "--insecure-test-seed")


def run(options: argparse.Namespace) -> Outcome:
    """Read, plan, pay, choose, print."""
    _check(options)
    options.format = None
    target = target_of(options, ("json",), read=[options.input])
    picture = picture_of(options)
    asked = request_of(ChooseRequest, options, scores=None)
    scores = None if options.input is None else _scores(options)

    def write(plan: ChoicePlan) -> None:
        with target.opened() as file:
            if file is not None:
                file.write((json.dumps(plan.record(), indent=2, allow_nan=False) + "\n").encode())
        if picture is not None:
            plan.plot(picture)

    if scores is not None and options.ledger is not None and not options.dry_run:
        return _paid(asked, scores, write, options)

    from pbdp.choosing.search import choice_of

    if scores is None:
        plan = choice_of(request_of(ChoiceRequest, options))
    else:
        plan = choice_of(asked.choice(len(scores), asked.neighbors or Neighbors.ADD_REMOVE))
    write(plan)
    if scores is None or options.dry_run:
        others = {"alternatives": [dict(one._asdict()) for one in plan.alternatives], "limit": plan.limit}
        record = plan.record() | others
        return Outcome(output=json.dumps(record, allow_nan=False) if options.json else _plan_words(plan))
    option = plan.choose(scores, insecure_test_seed=options.insecure_test_seed)
    return _outcome(plan, option, {}, (_uncounted(),), options)


def _check(options: argparse.Namespace) -> None:
    """Refuse options that do not belong together before anything is read."""
    check_budget(options, spends=(options.input or options.file) is not None and not options.dry_run)
    if options.file is not None:
        if options.input is not None:
            raise ContradictionError("SCORES", "left out with --input", "both")
        options.input = options.file
    if (options.options is None) == (options.input is None):
        got = "neither" if options.input is None else "both"
        rule = "given, or --options for a plan alone"
        raise ContradictionError("--input", rule, got)
    for name in ("column", "names", "input_format", "key", "query", "dataset"):
        if options.input is None and getattr(options, name) is not None:
            raise ContradictionError(f"--{name.replace('_', '-')}", "used with --input", "no scores")
    if options.names is not None and options.column is None:
        raise ContradictionError("--names", "used with --column", "no --column")
    if options.names is not None and options.names == options.column:
        raise ContradictionError("--names", "another column than the scores'", "the same")
    if options.ledger is not None and options.delta is not None:
        raise ContradictionError("--delta", "left out with a ledger", "one", "The budget has its own.")


def _scores(options: argparse.Namespace) -> dict[Any, Any]:
    """Scores by option; where options have no names, by their place, from 1."""
    from pbdp.cli.private_numbers import numbers_from

    keep = [] if options.names is None else [options.names]
    column = options.input, options.input_format, options.column
    answers, kept = numbers_from(*column, keep, options.progress)
    options.progress.now(options.doing)
    numbers = answers if isinstance(answers, list) else answers.tolist()
    if options.names is None:
        return dict(enumerate(numbers, start=1))
    named = kept[options.names]
    names = named if isinstance(named, list) else named.to_pylist()
    scores = dict(zip(names, numbers, strict=True))
    if len(scores) < len(numbers):
        raise InputError("--names", "a column in which every option stands once", "one with repeated names")
    return scores


def _paid(
    asked: ChooseRequest,
    scores: dict[Any, Any],
    write: Callable[[ChoicePlan], None],
    options: argparse.Namespace,
) -> Outcome:
    from pbdp.choosing.choose import choose_paid, plan_within
    from pbdp.ledger import Ledger
    from pbdp.ledger.budget import Budget

    with Ledger.open(options.ledger, trust=options.trust_ledger) as ledger:
        budget = Budget.of(ledger, options.dataset)
        request = asked.choice(len(scores), asked.neighbors or budget.terms.neighbors)
        plan = plan_within(budget, request, asked.payment)
        write(plan)
        paid = choose_paid(budget, plan, scores, **asked.payment)
        cost = "Paid for before" if paid.repeated else f"Cost {percent_up(paid.share)} of the budget"
        words = f"{cost}; {percent_up(paid.spent)} is spent now. Request key: {paid.key}"
        record = {"share": paid.share, "spent": paid.spent, "repeated": paid.repeated, "key": paid.key}
        return _outcome(plan, paid.option, record, (words, *ledger.notes), options)


def _outcome(
    plan: ChoicePlan, option: Any, more: dict[str, Any], notes: tuple[str, ...], options: argparse.Namespace
) -> Outcome:
    seed = options.insecure_test_seed
    if seed is not None:
        from pbdp.report.text import warning_text
        from pbdp.report.warnings import insecure

        notes = (warning_text(insecure(seed)), *notes)
        more = more | {"insecure_test_seed": seed}
    if options.json:
        record = {"chosen": option, **plan.record(), **more}
        return Outcome(output=json.dumps(record, allow_nan=False, default=str), released=True)
    chosen = option if isinstance(option, list) else [option]
    words = f"{plan.describe()}."
    return Outcome(
        output="\n".join(map(str, chosen)),
        notes=(f"{words[0].upper()}{words[1:]}", plan.risk_words(), *notes),
        released=True,
    )


def _plan_words(plan: ChoicePlan) -> str:
    """What is promised, what it means, and what others would cost."""
    asked = plan.asked
    words = plan.describe()
    lines = [f"{words[0].upper()}{words[1:]}.", plan.risk_words(), "", "epsilon"]
    rows = [(rounded_up(plan.epsilon), f"{plan.law} (chosen)")]
    rows += [(rounded_up(other.epsilon), other.name) for other in plan.alternatives]
    if plan.limit is not None:
        rows.append((rounded_down(plan.limit), "no mechanism can do with less"))
    if asked.picks > 1 and plan.epsilon_each is not None:
        rows.append((rounded_up(plan.epsilon_each), f"each of the {asked.picks} picks"))
    lines += [f"  {figure:<9}{name}" for figure, name in rows]
    lines += [
        "",
        f"Holds for any scores of which one person changes each by at most {asked.sensitivity:g}"
        f"{', all upwards when added' if asked.rising else ''}. Certified confidence: "
        f"{percent_down(plan.confidence)}.",
    ]
    return "\n".join(lines)


def _uncounted() -> str:
    """That nobody counts it."""
    from pbdp.report.text import warning_text
    from pbdp.report.warnings import NO_LEDGER

    return warning_text(NO_LEDGER)
