"""`pbdp compare`: two groups of people, their rates or means, and what the difference is."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from pbdp.cli.files import Outcome, checked_target, json_text, new_file, picture_of, saved_words
from pbdp.cli.options import add, add_budget, add_neighbors, check_budget, names_in, paying_of, typed_numbers
from pbdp.cli.parser import Parser, number, share, whole
from pbdp.columns.files import FORMATS
from pbdp.digits import percent_down, percent_up
from pbdp.errors import ContradictionError, InputError
from pbdp.mechanism.neighbors import Neighbors
from pbdp.paying import PayingFor

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
      --bounds 0,99 --spread 12 --wider 5%

look every day for two weeks, and stop when a difference is found:
  pbdp compare --looks 14 --users 100000,100000 --rate 5% --power 80% --lift 0.4% -o trial.json
  pbdp compare trial.json 362 340        the people of the first day; and so on, day by day

Without counts or --input the plan is shown. Numbers that are typed can be seen by other users of the machine
and stay in the shell's history. The sizes of the groups are public.
"""
# What makes a plan, and is left out where a file has one.
_PLANNING = {
    "rate": None,
    "bounds": None,
    "spread": None,
    "mean": None,
    "wider": None,
    "power": None,
    "lift": 0.0,
    "confidence": 0.95,
    "ratio": False,
    "looks": 1,
    "in_both": False,
    "guaranteed": False,
    "delta": 1e-9,
    "neighbors": Neighbors.REPLACE,
}


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
        help="a plan or trial saved with -o; then how many said yes in each group",
    )
    known = parser.add_argument_group("what is known")
    known.add_argument("--users", metavar="N,N", help="how many people each group has; IT IS PUBLIC")
    known.add_argument("--rate", type=share, metavar="P", help="roughly what share says yes: 0.05 or 5%%")
    known.add_argument(
        "--bounds", metavar="LOW,HIGH", help="to compare means: numbers are clamped to this range"
    )
    known.add_argument("--spread", type=number, metavar="S", help="roughly their standard deviation")
    known.add_argument("--mean", type=number, metavar="M", help="roughly the second mean, for --ratio")
    known.add_argument("--in-both", action="store_true", help="a person may be in both groups (two periods)")
    data = parser.add_argument_group("groups in a file, one row per person")
    add(data, "--input", help="a file to read; - for standard input")
    add(data, "--column", help="the private column that is compared")
    data.add_argument("--by", metavar="NAME", help="the column that tells the groups apart")
    data.add_argument("--groups", metavar="A,B", help="its values for the first and the second group")
    data.add_argument("--yes", metavar="VALUE", help="the value that counts as yes (default: true or 1)")
    add(data, "--input-format", choices=FORMATS)
    needed = parser.add_argument_group("what the analysis needs: --wider, or --power with --lift")
    needed.add_argument(
        "--wider", type=share, metavar="S", help="how much wider intervals may be than without noise: 5%%"
    )
    needed.add_argument("--power", type=share, metavar="P", help="how often the lift must be found: 80%%")
    needed.add_argument("--lift", type=share, metavar="D", help="the change of the rate or mean to find")
    add(needed, "--confidence", help="confidence of the intervals (default: 0.95)")
    needed.add_argument("--ratio", action="store_true", help="compare by ratio instead of difference")
    needed.add_argument(
        "--looks", type=whole, metavar="L", help="how often you will look; all intervals hold together"
    )
    needed.add_argument(
        "--guaranteed", action="store_true", help="for means: intervals proved for any distribution"
    )
    add(needed, "--delta", help="the probability that epsilon does not cover (default: 1e-9)")
    add_neighbors(needed, default=Neighbors.REPLACE)
    parser.set_defaults(neighbors=None)
    budget = parser.add_argument_group("budget")
    add_budget(budget, PayingFor)
    output = parser.add_argument_group("output")
    add(output, "--output", help="write the plan and what was published as a .json file")
    add(output, "--force", "--plot", "--json", "--insecure-test-seed")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asked:
    """What stands on the command line: a file with a plan, and the private numbers, if any."""

    file: str | None
    counts: list[str]


def run(options: argparse.Namespace) -> Outcome:
    """Plan or read the plan, pay, publish, say."""
    asked = _asked(options)
    check_budget(options, spends=bool(asked.counts) or options.input is not None)
    target = _target(options, asked)
    picture = picture_of(options)
    groups: tuple[Any, Any] | None = None
    if options.input is not None:
        from pbdp.cli.compared_groups import groups_from

        groups = groups_from(options, means=_compares_means(options, asked.file))
        options.progress.now(options.doing)
    plan, after = _plan(options, asked.file, groups)
    if asked.counts:
        groups = _typed(asked.counts, plan)
    if groups is None:
        return _planned(plan, after, options, target, picture)
    if plan.looks > 1 and target is None:
        target = _kept_in(options, asked.file)
    with _opened(target, options.force) as file:
        found, cost, notes = _published(plan, groups, after, options)
        if file is not None:
            from pbdp.comparing.file import content

            file.write(content(found.plan, found.published))
    if picture is not None:
        found.plot(picture)
    return _said(found, cost, options, notes)


def _target(options: argparse.Namespace, asked: _Asked) -> Path | None:
    """Where the plan, and what is published, is written; refused before anything is read or spent."""
    if not asked.counts and options.input is None and options.dataset is not None:
        raise ContradictionError("--dataset", "used with numbers", "none", "Leave it out to see the plan.")
    if options.output is None:
        return None
    target = checked_target(options.output, options.force, [options.input, asked.file])
    if target.suffix.lower() != ".json":
        raise InputError("output", "named .json", options.output)
    return target


def _kept_in(options: argparse.Namespace, file: str | None) -> Path:
    """A trial is kept in its file, look by look."""
    if file is None:
        rule = "given with several looks, to keep what was published"
        raise ContradictionError("-o", rule, "nothing", "Name a new file: -o trial.json.")
    options.output, options.force = file, True
    return Path(file).resolve()


def _asked(options: argparse.Namespace) -> _Asked:
    """Tell a file from numbers, and refuse options that do not belong together before anything is read."""
    given = list(options.given)
    file = given.pop(0) if given and given[0].lower().endswith(".json") else None
    if len(given) not in (0, 2):
        raise ContradictionError("COUNT", "one number for each of the two groups", f"{len(given)}")
    if given and options.input is not None:
        raise ContradictionError("COUNT", "left out with --input", "both")
    _check_data(options)
    _check_planning(options, file)
    return _Asked(file=file, counts=given)


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


def _check_planning(options: argparse.Namespace, file: str | None) -> None:
    """What makes a plan stands here, or in a file."""
    if file is None and options.users is None and options.input is None:
        raise ContradictionError("--users", "given, as 100000,100000", "nothing", "Or name a saved plan.")
    for name, default in _PLANNING.items():
        is_given = getattr(options, name) is not None and getattr(options, name) is not False
        if file is None:
            setattr(options, name, getattr(options, name) if is_given else default)
        elif is_given:
            flag = f"--{name.replace('_', '-')}"
            raise ContradictionError(flag, "left out with a saved plan", "both", "The plan has its own.")


def _compares_means(options: argparse.Namespace, file: str | None) -> bool:
    if file is None:
        if options.yes is not None and options.bounds is not None:
            raise ContradictionError("--yes", "left out with --bounds", "both", "Rates are of yes and no.")
        return options.bounds is not None
    from pbdp.comparing.file import read

    return not read(file)[0].asked.counted


def _plan(
    options: argparse.Namespace, file: str | None, groups: tuple[Any, Any] | None
) -> tuple[ComparisonPlan, Compared | None]:
    """A new plan, or a saved one and what was found with it so far."""
    if file is not None:
        from pbdp.comparing.compared import Compared
        from pbdp.comparing.file import read

        plan, published = read(file)
        return plan, Compared(plan=plan, published=published) if published and plan.looks > 1 else None
    from pbdp.comparing.search import plan_comparison

    made = plan_comparison(
        users=_pair("--users", options.users) if groups is None else (len(groups[0]), len(groups[1])),
        rate=options.rate,
        bounds=None if options.bounds is None else _numbers("--bounds", options.bounds),
        spread=options.spread,
        mean=options.mean,
        wider=options.wider,
        power=options.power,
        lift=options.lift,
        confidence=options.confidence,
        measure="ratio" if options.ratio else "difference",
        looks=options.looks,
        in_both=options.in_both,
        guaranteed=options.guaranteed,
        delta=options.delta,
        neighbors=options.neighbors,
    )
    return made, None


def _pair(name: str, text: str) -> tuple[int, int]:
    try:
        first, second = (whole(part) for part in names_in(text))
    except (ValueError, argparse.ArgumentTypeError):
        raise InputError(name, "two whole numbers, such as 100000,100000", repr(text)) from None
    return first, second


def _numbers(name: str, text: str) -> tuple[float, float]:
    try:
        low, high = (float(part) for part in names_in(text))
    except ValueError:
        raise InputError(name, "two numbers, such as 0,99", repr(text)) from None
    if not low < high:
        raise InputError(name, "the lower bound, then the higher one", repr(text))
    return low, high


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
    plan: ComparisonPlan, groups: tuple[Any, Any], after: Compared | None, options: argparse.Namespace
) -> tuple[Compared, dict[str, Any], tuple[str, ...]]:
    """What was found, what it cost (for programs), and notes."""
    users = None if options.users is None else _pair("--users", options.users)
    if after is not None:
        _check_payer(after, options)
    if options.ledger is None:
        seed = options.insecure_test_seed
        found = plan.compare(*groups, after=after, users=users, insecure_test_seed=seed)
        return found, {}, ("No ledger: other releases are not counted.",)
    from pbdp.ledger import Ledger
    from pbdp.ledger.budget import Budget

    with Ledger.open(options.ledger, trust=options.trust_ledger) as ledger:
        budget = Budget.of(ledger, options.dataset)
        found = plan.paid(budget, groups, after=after, users=users, **paying_of(options, PayingFor))
        key = (found.published[-1].paid or {}).get("trial")
        cost = {"spent": budget.spent, "key": key}
        spent = f"{percent_up(budget.spent)} of the budget of {budget.dataset} is spent now."
        return found, cost, (f"{spent} Request key: {key}", *ledger.notes)


def _check_payer(after: Compared, options: argparse.Namespace) -> None:
    """All looks of a trial are in one ledger, or in none."""
    paid = after.published[-1].paid
    if paid is not None and options.ledger is None:
        remedy = f"They were paid from {paid['dataset']}, and this one with them: it costs nothing more."
        raise ContradictionError("--ledger", "given, as at the looks before", "nothing", remedy)
    if paid is None and options.ledger is not None:
        remedy = "No ledger recorded those; to have all of them paid for, begin again from the plan."
        raise ContradictionError("--ledger", "left out, as at the looks before", "one", remedy)


def _said(
    found: Compared, cost: dict[str, Any], options: argparse.Namespace, notes: tuple[str, ...]
) -> Outcome:
    plan = found.plan
    if options.json:
        record = found.record() | cost | {"written_to": options.output, "plan": plan.record()}
        return Outcome(output=json_text("compared", record), released=True)
    words = f"{found.summary()}."
    if found.insecure_test_seed is not None:
        from pbdp.cli.words.releases import insecure_words

        notes = (insecure_words(found.insecure_test_seed), *notes)
    numbers = plan.asked.shown(found.published[-1], found.levels)
    if options.input is not None:
        first, second = found.published[-1].users
        notes = (f"Public: the groups have {first:,} and {second:,} people.", *notes)
    lines = [numbers, f"{words[0].upper()}{words[1:]}", f"{found.cost()}."]
    return Outcome(
        output="\n".join(lines) + saved_words(options.output),
        notes=(plan.risk_words(), *notes),
        released=True,
    )


def _planned(
    plan: ComparisonPlan,
    after: Compared | None,
    options: argparse.Namespace,
    target: Path | None,
    picture: Path | None,
) -> Outcome:
    """What a plan promises; of a trial what was found so far."""
    if target is not None:
        from pbdp.comparing.file import content

        with new_file(target, options.force) as file:
            file.write(content(plan, () if after is None else after.published))
    if picture is not None:
        (plan if after is None else after).plot(picture)
    if options.json:
        if after is not None:
            return Outcome(output=json_text("compared", after.record() | {"plan": plan.record()}))
        return Outcome(output=json_text("comparison-cost", plan.record()))
    return Outcome(output=_words(plan, after) + saved_words(options.output))


def _words(plan: ComparisonPlan, after: Compared | None) -> str:
    asked = plan.asked
    words = f"{plan.summary()}."
    lines = [f"{words[0].upper()}{words[1:]}", plan.risk_words()]
    first, second = (f"{level:g}" for level in asked.planned)
    coverage = plan.coverage(*asked.planned)
    if coverage is not None:
        lines.append(f"Exact coverage at rates of {first} and {second}: {percent_down(coverage)}.")
    if asked.lift:
        power = percent_down(plan.power(*asked.planned))
        about = "Power" if asked.counted else "About the power"
        lines.append(f"{about} to find a lift of {asked.lift:g}: {power}.")
    smaller, other = (f"{users:,}" for users in plan.users)
    lines.append(
        f"Privacy costs {smaller} and {other} people: without noise, groups smaller by that would do."
    )
    lines.append(asked.promise())
    if plan.looks > 1:
        new, more = asked.schedule[0]
        lines.append(
            f"At each look {new:,} and {more:,} new people are counted, nobody twice; all looks are paid for "
            "with the first."
        )
    both = "People may be in both groups" if asked.in_both else "Nobody is in both groups"
    lines.append(f"{both}, and the sizes of the groups are public.")
    if after is not None:
        said = after.summary()
        lines.append(f"{said[0].upper()}{said[1:]}.")
    return "\n".join(lines)
