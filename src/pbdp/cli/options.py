"""Options that several commands take: each is declared once, and means the same everywhere."""

from __future__ import annotations

import argparse
import math
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeVar, cast

from pbdp.errors import ContradictionError, InputError
from pbdp.mechanism.neighbors import Neighbors
from pbdp.paying import Paying, PayingFor

if TYPE_CHECKING:
    from pbdp.ledger.budget import Budget

P = TypeVar("P", bound=Paying)
LEDGER_VARIABLE = "PBDP_LEDGER"
# Written out, such a number would fill the memory.
LONG_EXPONENT = re.compile(r"[eE][+-]?[\d_]{4}")

# 1,234 and 1,234,567.5; 0,9 and 12,5
_THOUSANDS = re.compile(r"[+-]?\d{1,3}(?:,\d{3})+(?:\.\d+)?")
_COMMA = re.compile(r"[+-]?\d*,\d+")


def number(text: str) -> float:
    """A number; what people write otherwise is refused with the way to write it."""
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"must be a number; got {text!r}. {how_to_write(text)}".strip()
        ) from None


def share(text: str) -> float:
    """A part of one, such as 0.9, also written 90%."""
    percent = text.strip().removesuffix("%")
    if percent == text.strip():
        return number(text)
    try:
        return float(Fraction(percent) / 100)
    except ValueError:
        raise argparse.ArgumentTypeError(f"must be 0.9 or 90%, say; got {text!r}.") from None


def whole(text: str) -> int:
    """A whole number, also written 1e6."""
    try:
        exact = int(text) if LONG_EXPONENT.search(text) else Fraction(text)
    except (ValueError, ZeroDivisionError):
        exact = Fraction(1, 2)
    if exact.denominator != 1:
        raise argparse.ArgumentTypeError(
            f"must be a whole number; got {text!r}. {how_to_write(text)}".strip()
        )
    return int(exact)


def how_to_write(text: str) -> str:
    """A sentence on how a number is written here, for text that has commas or per cent signs."""
    text = text.strip()
    if _THOUSANDS.fullmatch(text):
        point = f", or {text.replace(',', '.')}" if text.count(",") == 1 and "." not in text else ""
        return f"Write {text.replace(',', '')} without the comma{point}."
    if _COMMA.fullmatch(text):
        return f"Write {text.replace(',', '.')} with a point."
    return ""


_SHARED: dict[str, dict[str, Any]] = {
    "plan": {"metavar": "PLAN", "help": "a plan saved with `pbdp plan -o`"},
    "--part": {"metavar": "NAME", "help": "which part to look at, if the plan has several"},
    "survey": {"metavar": "SURVEY", "help": "a configuration written by `pbdp local plan -o`"},
    # an accuracy
    "--within": {"metavar": "W", "help": "width: 5 (within 5), or 5%%+10 (within 5 %% plus 10)"},
    "--below": {
        "type": number,
        "metavar": "B",
        "help": "a lopsided width: at most B below the truth (default: any distance) ...",
    },
    "--above": {"type": number, "metavar": "A", "help": "... and at most A above it"},
    "--range": {
        "nargs": 2,
        "type": number,
        "metavar": ("LO", "HI"),
        "help": "answers and outputs lie in LO..HI (give a width too, or --scale)",
    },
    "--scale": {"type": number, "metavar": "S", "help": "noise scale for --range without a width"},
    "--confidence": {"type": share, "metavar": "P", "help": "how often it must hold: 0.9 or 90%%"},
    # answers
    "--sensitivity": {
        "type": number,
        "required": True,
        "metavar": "D",
        "help": "the most that one person can change the answer",
    },
    "--integer": {"action": "store_true", "help": "answers are whole numbers"},
    "--nonnegative": {"action": "store_true", "help": "answers are 0 or more (with --within 5%%+10)"},
    "--step": {
        "type": number,
        "metavar": "STEP",
        "help": "the step of the grid for real answers (default: pbdp finds one)",
    },
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
        "help": f"where the budget is kept (default: ${LEDGER_VARIABLE})",
    },
    "--dataset": {"metavar": "NAME", "help": "the dataset whose budget pays; needed with a ledger"},
    "--blocks": {
        "metavar": "NAMES",
        "help": "the blocks of people that are read, such as north,south; only they pay (default: all)",
    },
    "--key": {
        "help": "a name for this request: repeating it gives the same answer at no cost",
    },
    "--trust-ledger": {
        "action": "store_true",
        "help": "use a ledger that this machine has not seen before, or that has replaced another",
    },
    "--query": {"metavar": "TEXT", "help": "what was asked, for the history; it is public"},
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
# What options were called before; it still works, and is not shown.
_BEFORE = {"--neighbors": "--neighbours"}


def _dest(name: str) -> str:
    """Under which name the value of an option is found."""
    return name.lstrip("-").replace("-", "_")


def add(parser: argparse._ActionsContainer, *names: str, **changes: Any) -> None:
    """Declare shared options, with what a command has to say otherwise about them."""
    for name in names:
        settings = _SHARED[name] | changes
        flags = (_SHORT[name], name) if name in _SHORT else (name,)
        parser.add_argument(*flags, **settings)
        if name in _BEFORE:
            hidden = {"dest": _dest(name), "help": argparse.SUPPRESS, "default": argparse.SUPPRESS}
            parser.add_argument(_BEFORE[name], **(settings | hidden))


def add_budget(parser: argparse._ActionsContainer, words: type[Paying], *, needed: bool = False) -> None:
    """Declare who pays, and what such a payment says; `needed` where nothing is done without a budget."""
    left_out = PayingFor.__annotations__.keys() - words.__annotations__.keys()
    for name in _BUDGET:
        # the parts of `pbdp ledger` have one already
        if _dest(name) not in left_out and name not in parser._option_string_actions:
            add(parser, name, **({"required": True} if needed and name == "--dataset" else {}))


def paying_of(options: argparse.Namespace, words: type[P]) -> P:
    """What the options of `add_budget` say of a payment."""
    said = {name: getattr(options, name) for name in words.__annotations__}
    return cast("P", said | {"blocks": blocks_of(options)})


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


def width_of(given: Mapping[str, Any], mark: str = "") -> Any:
    """The width that is stated: one for both sides, or one below and one above; None if there is none."""
    within, below, above = (given.get(name) for name in ("within", "below", "above"))
    if below is None and above is None:
        return within
    if within is not None:
        raise InputError(
            f"{mark}below and {mark}above",
            f"given without {mark}within",
            "both",
            f"Use {mark}within 5 for the same width on both sides.",
        )
    # a side that is left out does not count
    return math.inf if below is None else below, math.inf if above is None else above


def names_in(text: str | None) -> list[str]:
    """Names that are separated by commas."""
    return [] if text is None else [name.strip() for name in text.split(",")]


def blocks_of(options: argparse.Namespace) -> list[str] | None:
    """The blocks that are named, or None for all of them."""
    return None if options.blocks is None else names_in(options.blocks)


def number_of(name: str, text: str) -> int | Fraction:
    """A number of the command line as it was written, exactly; whole ones as such."""
    try:
        if LONG_EXPONENT.search(text):
            raise ValueError
        exact = Fraction(text)
    except (ValueError, ZeroDivisionError):
        raise InputError(name, "a finite number", repr(text), how_to_write(text)) from None
    return int(exact) if exact.denominator == 1 else exact


def float_of(name: str, text: str) -> float:
    """A number of the command line as the nearest float."""
    try:
        return float(number_of(name, text))
    except OverflowError:
        raise InputError(name, "a finite number", repr(text)) from None


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
