"""Options that several commands take: each is declared once, and means the same everywhere.

What they name is read here too: numbers, a plan, a file to write to, the budget that pays.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, TypeVar, cast

from pbdp.cli.files import STANDARD, checked_target, new_file
from pbdp.cli.parser import number, share, whole
from pbdp.cli.requests import add_options, request_of
from pbdp.digits import SHORT_TEXT, number_in
from pbdp.errors import ContradictionError, InputError, shown
from pbdp.kinds import number_of
from pbdp.mechanism.neighbors import Neighbors
from pbdp.paying import BUDGET, DEFAULT_LEDGER, LEDGER_VARIABLE, PayingOnce, Payment

if TYPE_CHECKING:
    from pbdp.ledger.budget import Budget
    from pbdp.planning.plan import Plan

P = TypeVar("P", bound=PayingOnce)
# Endings that say a format by another name.
_ALSO = {"pq": "parquet", "txt": "csv"}

_SHARED: dict[str, dict[str, Any]] = {
    "plan": {"metavar": "PLAN", "help": "a plan saved with `pbdp plan -o`"},
    "--part": {"metavar": "NAME", "help": "which part to look at, if the plan has several"},
    "survey": {"metavar": "SURVEY", "help": "a configuration written by `pbdp local plan -o`"},
    # an accuracy
    "--confidence": {"type": share, "metavar": "P", "help": "how often it must hold: 0.9 or 90%%"},
    # answers
    "--neighbors": {
        "choices": list(Neighbors),
        "help": "refuse the plan unless its neighbors are of this kind",
    },
    # privacy
    "--epsilon": {"type": number, "metavar": "EPS"},
    "--delta": {
        "type": number,
        "metavar": "DELTA",
        "help": "the probability that epsilon does not cover, such as 1e-6",
    },
    # surveys
    "--of": {"choices": ("category", "value"), "help": "default: category if there are any, else value"},
    "--joint": {"action": "store_true", "help": "the confidence is for all estimates together"},
    "--guaranteed": {
        "action": "store_true",
        "help": "proved for any number of people (wider than the normal approximation)",
    },
    # files that are read
    "--input": {"metavar": "FILE", "help": "a file to read; - for standard input"},
    "--input-format": {"help": "default: from the file name; otherwise text, one per line"},
    "--column": {"metavar": "NAME", "help": "the private column, by its name in the first row"},
    # who counts
    "--ledger": {
        "metavar": "FILE_OR_URL",
        "help": f"where the budget is kept (default: ${LEDGER_VARIABLE}, else {DEFAULT_LEDGER} here)",
    },
    "--dataset": {"metavar": "NAME", "help": "the dataset whose budget pays; needed with a ledger"},
    "--trust-ledger": {
        "action": "store_true",
        "help": "use a ledger that this machine has not seen before, or that has replaced another",
    },
    # what is written
    "--output": {"metavar": "FILE"},
    "--format": {},
    "--force": {"action": "store_true", "help": "replace FILE if it exists"},
    "--json": {"action": "store_true", "help": "print one JSON object"},
    "--plot": {"metavar": "FILE", "help": "draw a picture: a .png, .svg or .pdf file"},
    "--insecure-test-seed": {
        "type": whole,
        "metavar": "N",
        "help": "FOR TESTS ONLY: makes noise that anyone can subtract; marks the output",
    },
}
_SHORT = {"--output": "-o"}
# What says who pays, and how, in the order of help.
_BUDGET = ("--ledger", "--dataset", "--blocks", "--key", "--trust-ledger", "--query")


def _dest(name: str) -> str:
    """Under which name the value of an option is found."""
    return name.lstrip("-").replace("-", "_")


def add(parser: argparse._ActionsContainer, *names: str, **changes: Any) -> None:
    """Declare shared options, with what a command has to say otherwise about them."""
    for name in names:
        settings = _SHARED[name] | changes
        flags = (_SHORT[name], name) if name in _SHORT else (name,)
        parser.add_argument(*flags, **settings)


def add_budget(parser: Any, words: type[PayingOnce], *, needed: bool = False) -> None:
    """Declare who pays, and what such a payment says; `needed` where nothing is done without a budget."""
    add_options(Payment, parser, groups={BUDGET: parser}, names=words.__annotations__)
    add_ledger(parser, needed=needed)


def add_ledger(parser: argparse._ActionsContainer, *, needed: bool = False) -> None:
    """Declare whose budget pays; `needed` where nothing is done without one."""
    if "--ledger" not in parser._option_string_actions:  # the parts of `pbdp ledger` have one already
        add(parser, "--ledger")
    add(parser, "--trust-ledger")
    add(parser, "--dataset", required=needed)


def paying_of(options: argparse.Namespace, words: type[P]) -> P:
    """What the options of `add_budget` say of a payment."""
    payment = request_of(Payment, options).payment
    return cast("P", {name: value for name, value in payment.items() if name in words.__annotations__})


def add_neighbors(
    parser: argparse._ActionsContainer, default: Neighbors | None = Neighbors.ADD_REMOVE
) -> None:
    """Declare the relation that a new plan is for."""
    told = {each: "" if each != (default or Neighbors.ADD_REMOVE) else " (default)" for each in Neighbors}
    words = "; ".join(f"{each}{mark}: {each.description}" for each, mark in told.items())
    add(parser, "--neighbors", default=default, help=words)


def add_written(parser: argparse._ActionsContainer, formats: Sequence[str], more: str = "") -> None:
    """Declare a file to write in one of several formats."""
    add(parser, "--output", help=f"write a {endings_in_words(formats)} file{more}")
    add(parser, "--format", choices=formats, help="default: from the ending of FILE, otherwise csv")
    add(parser, "--force")


def endings_in_words(formats: Sequence[str]) -> str:
    """.csv, .json or .parquet."""
    endings = [f".{name}" for name in formats]
    return f"{', '.join(endings[:-1])} or {endings[-1]}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """Where a table goes and in which format; `path` is None for standard output."""

    path: Path | None
    written: str
    force: bool

    @contextmanager
    def opened(self) -> Iterator[BinaryIO | None]:
        """The file to write to; None where the output is printed."""
        if self.path is None:
            yield None
        else:
            with new_file(self.path, self.force) as file:
                yield file


def target_of(
    options: argparse.Namespace,
    formats: Sequence[str],
    *,
    read: Sequence[Path | str | None] = (),
    also: Sequence[str] = (),
) -> Target:
    """What the options of `add_written` say, checked before anything is read, drawn or spent.

    `read` are the files that the command reads, none of which may be overwritten; `also` are further endings
    of names.
    """
    if options.output == STANDARD:
        options.output = None
    name: str | None = options.output
    if name is None:
        if options.format and getattr(options, "json", False):
            raise ContradictionError("--format", "left out with --json, or used with -o", options.format)
        if sys.stdout is None:
            raise InputError("standard output", "open", "a closed one")
        if options.format == "parquet" and sys.stdout.isatty():
            raise InputError("output", "a file for Parquet", "a terminal", "Name it with -o.")
        return _writable(Target(path=None, written=options.format or "csv", force=False))
    path = checked_target(name, options.force, read)
    ending = path.suffix.lower().lstrip(".")
    if options.format is None and ending not in (*formats, *also):
        raise InputError(
            "output", f"named {endings_in_words(formats)}", name, f"Or say --format {formats[0]}."
        )
    written = options.format or _ALSO.get(ending, ending)
    return _writable(Target(path=path, written=written, force=options.force))


def _writable(target: Target) -> Target:
    """Refused where the package that writes the format is missing."""
    if target.written == "parquet":
        from pbdp.columns.files import pyarrow_modules

        pyarrow_modules()
    return target


def names_in(text: str | None) -> list[str]:
    """Names that are separated by commas."""
    return [] if text is None else [name.strip() for name in text.split(",")]


def float_of(name: str, text: str) -> float:
    """A number of the command line as the nearest float."""
    try:
        return float(number_of(name, text))
    except OverflowError:
        raise InputError(name, "a finite number", shown(text)) from None


def typed_numbers(texts: list[str], what: str = "NUMBER") -> list[int | Decimal | Fraction]:
    """Private numbers of the command line, exactly; they may be fractions such as 1/3. None is repeated."""
    try:
        return [_typed(text) for text in texts]
    except (ArithmeticError, ValueError):
        remedy = "Write 1234.5: a point, no commas, no units."
        raise InputError(what, "a number", "something else", remedy) from None


def _typed(text: str) -> int | Decimal | Fraction:
    if not text.strip():
        raise ValueError
    return Fraction(text) if "/" in text and len(text) <= SHORT_TEXT else number_in(text)


def plan_in(options: argparse.Namespace) -> Plan:
    """The plan that the options name, for the relation that is relied on; or one part of it, by itself."""
    from pbdp.planning.plan import Plan

    plan = Plan.load(options.plan, neighbors=options.neighbors)
    part = getattr(options, "part", None)
    return plan if part is None else plan.alone(part)


def ledger_place(options: argparse.Namespace) -> str | None:
    """The ledger that is meant: as said, else of the environment."""
    return options.ledger or os.environ.get(LEDGER_VARIABLE)


def check_budget(options: argparse.Namespace, *more: str, spends: bool = True) -> None:
    """A ledger needs a dataset, and what belongs to a ledger needs one; test seeds are never paid for.

    Whoever only looks at a plan, and `spends` nothing, need not say whose budget that of the environment is.
    """
    named = options.ledger is not None
    if spends or named or options.dataset is not None:
        options.ledger = ledger_place(options)
    if options.ledger is None and options.dataset is not None:
        options.ledger = DEFAULT_LEDGER
    if options.ledger is None:
        for name in (*_BUDGET, *more):
            if getattr(options, _dest(name), None) not in (None, False):
                raise ContradictionError(name, f"used with --ledger (or {LEDGER_VARIABLE})", "no ledger")
    elif options.dataset is None:
        known = "" if named else f" The ledger is that of ${LEDGER_VARIABLE}; unset it to use none."
        raise ContradictionError(
            "--dataset", "given with a ledger", "nothing", f"Say whose budget pays.{known}"
        )
    elif options.insecure_test_seed is not None:
        raise ContradictionError("--insecure-test-seed", "used without a ledger", "both")


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
