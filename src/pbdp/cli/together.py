"""`pbdp together`: several requirements in one file, planned for the least joint epsilon."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from pbdp.cli.files import picture_of, plan_out, plan_target, toml_in
from pbdp.cli.options import add, width_of
from pbdp.cli.parser import Parser
from pbdp.errors import InputError, did_you_mean
from pbdp.json_records import names_now

if TYPE_CHECKING:
    from pbdp.mechanism.requirement import Requirement

EXAMPLE = """the file, in TOML:
  delta = 1e-6

  [visits]
  within = 20
  confidence = 0.9
  sensitivity = 1
  integer = true

  [spend]
  within = "5%+100"
  nonnegative = true
  confidence = 0.9
  sensitivity = 10

  [rating]
  within = 0.5
  range = [0, 5]
  confidence = 0.9
  sensitivity = 0.01

  [ages]
  within = 60
  error_norm = "l2"
  dimensions = 10
  touches = 1
  confidence = 0.9
  sensitivity = 1
  integer = true
"""
COMMON = {"delta", "neighbors"}
SIDES = {"below", "above"}
NOISE = {"confidence", "sensitivity", "integer", "releases", "simultaneous", "step", "scale"}
VECTOR = {"dimensions", "norm", "error_norm", "change_norm", "touches"}
OWN = SIDES | NOISE | VECTOR | {"within", "nonnegative", "range"}


def declare(parser: Parser) -> None:
    """What the command takes."""
    parser.set_defaults(doing="Planning")
    parser.description = "Plan several different requirements for the least joint epsilon."
    parser.epilog = EXAMPLE
    parser.add_argument("file", metavar="FILE", help="the requirements, in TOML")
    add(parser, "--output", help="save the plan")
    add(parser, "--force", "--plot", "--json")


def run(options: argparse.Namespace) -> str:
    """Read the requirements, plan them together, and say what was chosen."""
    named, target, picture = _requirements(options.file), plan_target(options), picture_of(options)

    from pbdp.planning.together import plan_together

    plan = plan_together(named)
    if picture is not None:
        plan.plot(picture)
    return plan_out(plan, options, target)


def _requirements(path: str) -> dict[str, Requirement]:
    record = toml_in("file", path)
    common = {name: value for name, value in names_now(record).items() if not isinstance(value, dict)}
    tables = {name: value for name, value in record.items() if isinstance(value, dict)}
    if unknown := sorted(set(common) - COMMON):
        rule = f"among {', '.join(sorted(COMMON))}"
        near = did_you_mean(unknown[0], COMMON) or "Lines about one requirement stand below its [name]."
        raise InputError("names before the first table", rule, ", ".join(unknown), near)
    if not tables:
        raise InputError("file", "one table per requirement", "none", "Write [visits], then its lines.")
    return {name: _requirement(name, table, common) for name, table in tables.items()}


def _requirement(name: str, table: dict[str, Any], common: dict[str, Any]) -> Requirement:
    from pbdp.planning.together.words import requirement_of

    if unknown := sorted(set(table) - OWN):
        rule = f"among {', '.join(sorted(OWN))}"
        raise InputError(f"names in [{name}]", rule, ", ".join(unknown), did_you_mean(unknown[0], OWN))
    words = {word: value for word, value in table.items() if word not in SIDES}
    return requirement_of(f"[{name}]", words | {"within": width_of(table)}, common)
