"""`pbdp compare`: two groups of people, their rates or means, and what the difference is."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from pbdp.cli.files import Outcome, checked_target, json_text, new_file, picture_of, saved_words
from pbdp.cli.options import add, add_ledger, check_budget, typed_numbers
from pbdp.cli.parser import Parser
from pbdp.cli.requests import add_options, option_of, request_of
from pbdp.columns.files import FORMATS
from pbdp.comparing.request import CompareRequest, Comparing, Pair, checked_users
from pbdp.digits import percent_down, percent_up
from pbdp.errors import ContradictionError, InputError
from pbdp.paying import BUDGET, PayingFor, Payment

if TYPE_CHECKING:
    from pbdp.comparing.compared import Compared
    from pbdp.comparing.plan import ComparisonPlan

EXAMPLES = """examples:
  pbdp compare --users 100000,100000 --rate 5% --wider 5%
  pbdp compare --users 100000,100000 --rate 5% --power 80% --lift 0.3%
  pbdp compare 5123 4890 --users 100000,100000 --rate 5% --wider 5% \\
      --ledger pbdp-ledger.db --dataset signups
  pbdp compare --input adult.parquet --by sex --groups Male,Female --column over_50k --rate 25% --wider 5%
  pbdp compare --input adult.parquet --by sex --groups Male,Female --column hours_per_week \\
      --bounds 0..99 --spread 12 --wider 5%

Without counts or --input the plan is shown. Numbers that are typed can be seen by other users of the machine
and stay in the shell's history. The sizes of the groups are public.
"""


def declare(parser: Parser) -> None:
    """What the command takes."""
    parser.set_defaults(doing="Planning")
    parser.description = "Compare how many people say yes in two groups, or the means of numbers."
    parser.epilog = EXAMPLES
    parser.private = True
    parser.add_argument(
        "given",
        metavar="[FILE] COUNT COUNT",
        nargs="*",
        help="a plan saved with -o; then how many said yes in each group",
    )
    groups = add_options(CompareRequest, parser)
    data = parser.add_argument_group("groups in a file, one row per person")
    add(data, "--input", help="a file to read; - for standard input")
    add(data, "--column", help="the private column that is compared")
    data.add_argument("--by", metavar="NAME", help="the column that tells the groups apart")
    data.add_argument("--groups", metavar="A,B", help="its values for the first and the second group")
    data.add_argument("--yes", metavar="VALUE", help="the value that counts as yes (default: true or 1)")
    add(data, "--input-format", choices=FORMATS)
    add_options(Payment, parser, groups=groups)
    add_ledger(groups[BUDGET])
    output = parser.add_argument_group("output")
    add(output, "--output", help="write the plan and what was published as a .json file")
    add(output, "--force", "--plot", "--json", "--insecure-test-seed")


def run(options: argparse.Namespace) -> Outcome:
    """Plan or read the plan, pay, publish, say."""
    file, counts = _given(options)
    check_budget(options, spends=bool(counts) or options.input is not None)
    target = _target(options, file, counts)
    picture = picture_of(options)
    paying = request_of(Payment, options).payment
    groups: tuple[Any, Any] | None = None
    if file is None:
        asked = request_of(CompareRequest, options, first=None, second=None)
        if options.input is not None:
            groups = _groups(options, means=asked.bounds is not None)

        from pbdp.comparing.plan import comparison_of

        sizes = asked.users if groups is None else (len(groups[0]), len(groups[1]))
        plan, users = comparison_of(asked.comparison(sizes)), asked.users
    else:
        from pbdp.comparing.plan import read

        plan, users = read(file)[0], _users(options)
        if options.input is not None:
            groups = _groups(options, means=not plan.asked.counted)
    if counts:
        groups = _typed(counts, plan)
    if groups is None:
        return _planned(plan, options, target, picture)
    with _opened(target, options.force) as written:
        found, cost, notes = _published(plan, groups, users, paying, options)
        if written is not None:
            written.write(found.plan.content(found))
    if picture is not None:
        found.plot(picture)
    return _said(found, cost, options, notes)


def _groups(options: argparse.Namespace, *, means: bool) -> tuple[Any, Any]:
    """Both groups in the file."""
    from pbdp.cli.private_numbers import groups_from

    if means and options.yes is not None:
        raise ContradictionError("--yes", "left out with --bounds", "both", "Rates are of yes and no.")
    groups = groups_from(options, means=means)
    options.progress.now(options.doing)
    return groups


def _users(options: argparse.Namespace) -> Pair | None:
    """The sizes of the groups, where they are not as planned."""
    if options.users is None:
        return None
    return checked_users(CompareRequest.typed({"users": options.users})["users"], least=1)


def _target(options: argparse.Namespace, file: str | None, counts: list[str]) -> Path | None:
    """Where the plan, and what is published, is written; refused before anything is read or spent."""
    if not counts and options.input is None and options.dataset is not None:
        raise ContradictionError("--dataset", "used with numbers", "none", "Leave it out to see the plan.")
    if options.output is None:
        return None
    target = checked_target(options.output, options.force, [options.input, file])
    if target.suffix.lower() != ".json":
        raise InputError("output", "named .json", options.output)
    return target


def _given(options: argparse.Namespace) -> tuple[str | None, list[str]]:
    """A file with a plan, and the private numbers; what does not belong together is refused first."""
    given = list(options.given)
    file = given.pop(0) if given and given[0].lower().endswith(".json") else None
    if len(given) not in (0, 2):
        raise ContradictionError("COUNT", "one number for each of the two groups", f"{len(given)}")
    if given and options.input is not None:
        raise ContradictionError("COUNT", "left out with --input", "both")
    _check_data(options)
    if file is None and options.users is None and options.input is None:
        raise ContradictionError("--users", "given, as 100000,100000", "nothing", "Or name a saved plan.")
    for name in Comparing.settings():
        if file is not None and getattr(options, name) is not None:
            remedy = "The plan has its own."
            raise ContradictionError(option_of(name), "left out with a saved plan", "both", remedy)
    return file, given


def _check_data(options: argparse.Namespace) -> None:
    if options.input is None:
        for name in ("column", "by", "groups", "yes", "input_format"):
            if getattr(options, name) is not None:
                raise ContradictionError(f"--{name.replace('_', '-')}", "used with --input", "no --input")
        return
    for name in ("column", "by", "groups"):
        if getattr(options, name) is None:
            raise ContradictionError(f"--{name}", "given with --input", "nothing")
    if options.users is not None:
        raise ContradictionError("--users", "left out with --input", "both", "The file tells them.")


def _typed(counts: list[str], plan: ComparisonPlan) -> tuple[Any, Any]:

    if not plan.asked.counted:
        raise ContradictionError(
            "COUNT", f"left out for {plan.asked.kind}", "two", "Give a file: --input, --by, --column."
        )
    first, second = typed_numbers(counts, "COUNT")
    return first, second


@contextmanager
def _opened(target: Path | None, force: bool) -> Iterator[BinaryIO | None]:
    if target is None:
        yield None
    else:
        with new_file(target, force) as file:
            yield file


def _published(
    plan: ComparisonPlan,
    groups: tuple[Any, Any],
    users: Pair | None,
    paying: PayingFor,
    options: argparse.Namespace,
) -> tuple[Compared, dict[str, Any], tuple[str, ...]]:
    """What was found, what it cost (for programs), and notes."""
    if options.ledger is None:
        seed = options.insecure_test_seed
        found = plan.compare(*groups, users=users, insecure_test_seed=seed)
        return found, {}, (_uncounted(),)
    from pbdp.ledger import Ledger
    from pbdp.ledger.budget import Budget

    with Ledger.open(options.ledger, trust=options.trust_ledger) as ledger:
        budget = Budget.of(ledger, options.dataset)
        found = plan.paid(budget, groups, users=users, **paying)
        key = (found.paid or {}).get("key")
        cost = {"spent": budget.spent, "key": key}
        spent = f"{percent_up(budget.spent)} of the budget of {budget.dataset} is spent now."
        return found, cost, (f"{spent} Request key: {key}", *ledger.notes)


def _said(
    found: Compared, cost: dict[str, Any], options: argparse.Namespace, notes: tuple[str, ...]
) -> Outcome:
    plan = found.plan
    if options.json:
        record = found.record() | cost | {"written_to": options.output, "plan": plan.record()}
        return Outcome(output=json_text("compared", record), released=True)
    words = f"{found.summary()}."
    if found.insecure_test_seed is not None:
        from pbdp.report.text import warning_text
        from pbdp.report.warnings import insecure

        notes = (warning_text(insecure(found.insecure_test_seed)), *notes)
    shown = found.counts if plan.asked.counted else [f"{level:.6g}" for level in found.levels]
    numbers = " ".join(map(str, shown))
    if options.input is not None:
        first, second = found.sizes
        notes = (f"Public: the groups have {first:,} and {second:,} people.", *notes)
    lines = [numbers, f"{words[0].upper()}{words[1:]}", f"{found.cost()}."]
    return Outcome(
        output="\n".join(lines) + saved_words(options.output),
        notes=(plan.risk_words(), *notes),
        released=True,
    )


def _planned(
    plan: ComparisonPlan, options: argparse.Namespace, target: Path | None, picture: Path | None
) -> Outcome:
    """What a plan promises."""
    if target is not None:
        with new_file(target, options.force) as file:
            file.write(plan.content())
    if picture is not None:
        plan.plot(picture)
    if options.json:
        return Outcome(output=json_text("comparison-cost", plan.record()))
    return Outcome(output=_words(plan) + saved_words(options.output))


def _words(plan: ComparisonPlan) -> str:
    asked = plan.asked
    words = f"{plan.summary()}."
    lines = [f"{words[0].upper()}{words[1:]}", plan.risk_words()]
    if asked.lift:
        power = percent_down(plan.power(*asked.planned))
        about = "Power" if asked.counted else "About the power"
        lines.append(f"{about} to find a lift of {asked.lift:g}: {power}.")
    smaller, other = (f"{users:,}" for users in plan.users)
    lines.append(
        f"Privacy costs {smaller} and {other} people: without noise, groups smaller by that would do."
    )
    lines.append(asked.promise())
    both = "People may be in both groups" if asked.in_both else "Nobody is in both groups"
    lines.append(f"{both}, and the sizes of the groups are public.")
    return "\n".join(lines)


def _uncounted() -> str:
    """That nobody counts it."""
    from pbdp.report.text import warning_text
    from pbdp.report.warnings import NO_LEDGER

    return warning_text(NO_LEDGER)
