"""`pbdp together`: several requirements in one file, planned for the least joint epsilon."""

from __future__ import annotations

import argparse
import json
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pbdp.cli.text import columns, percent, rounded_up
from pbdp.errors import InputError
from pbdp.spelling import names_now

if TYPE_CHECKING:
    from pbdp.mechanism.requirement import Requirement
    from pbdp.planning.together import JointPlan

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
"""
COMMON = {"delta", "neighbors"}
OWN = {"within", "below", "above", "confidence", "sensitivity", "integer", "nonnegative", "releases", "step"}


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the command."""
    parser = commands.add_parser(
        "together",
        help="plan several different requirements for the least joint epsilon",
        description="Plan several different requirements for the least joint epsilon.",
        epilog=EXAMPLE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("file", metavar="FILE", help="the requirements, in TOML")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> str:
    """Read the requirements, plan them together, and say what was chosen."""
    from pbdp.planning.together import plan_together

    named = _requirements(Path(options.file))
    joint = plan_together(list(named.values()))
    return json.dumps(_record(list(named), joint), indent=2) if options.json else _words(list(named), joint)


def _requirements(path: Path) -> dict[str, Requirement]:
    try:
        record = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError("file", "readable", path, f"{error.strerror}.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError("file", "valid TOML", path, f"{error}.") from None
    common = {name: value for name, value in names_now(record).items() if not isinstance(value, dict)}
    tables = {name: value for name, value in record.items() if isinstance(value, dict)}
    if unknown := sorted(set(common) - COMMON):
        raise InputError(
            "names before the first table", f"among {', '.join(sorted(COMMON))}", ", ".join(unknown)
        )
    if not tables:
        raise InputError("file", "one table a requirement", "none", "Write [visits], then its lines.")
    return {name: _requirement(name, table, common) for name, table in tables.items()}


def _requirement(name: str, table: dict[str, Any], common: dict[str, Any]) -> Requirement:
    from pbdp.mechanism.requirement import Requirement
    from pbdp.mechanism.within import region_within

    if unknown := sorted(set(table) - OWN):
        raise InputError(f"names in [{name}]", f"among {', '.join(sorted(OWN))}", ", ".join(unknown))
    for needed in ("confidence", "sensitivity"):
        if needed not in table:
            raise InputError(f"{needed} of [{name}]", "given", "nothing")
    width = table.get("within", (table.get("below"), table.get("above")))
    rest = {
        key: value for key, value in table.items() if key not in {"within", "below", "above", "nonnegative"}
    }
    return Requirement(region=region_within(width, table.get("nonnegative", False)), **rest, **common)


def _record(names: list[str], joint: JointPlan) -> dict[str, Any]:
    from pbdp.planning.storage import design_record

    return {
        "epsilon": joint.epsilon,
        "epsilon_lower": joint.epsilon_lower,
        "delta": joint.delta,
        "method": joint.method,
        "parts": [
            {
                "name": name,
                "requirement": part.requirement.describe(),
                "confidence": part.confidence,
                "releases": part.requirement.releases,
                "mechanism": design_record(part.design),
            }
            for name, part in zip(names, joint.parts, strict=True)
        ],
    }


def _words(names: list[str], joint: JointPlan) -> str:
    rows = [["", "requirement", "confidence", "noise"]]
    rows += [
        [name, part.requirement.describe(), percent(part.confidence), part.design.name]
        for name, part in zip(names, joint.parts, strict=True)
    ]
    total = sum(part.requirement.releases for part in joint.parts)
    return "\n".join(
        [
            f"Privacy      epsilon {rounded_up(joint.epsilon)} in total for {total} releases "
            f"at delta {joint.delta:g}   (certified)",
            f"Proof        {joint.method}",
            "",
            columns(rows, right=(2,)),
            "",
        ]
    )
