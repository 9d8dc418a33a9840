"""`pbdp verify`: checks every claim in the manifest of a published table, in a release or in a plan."""

from __future__ import annotations

import argparse
from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from pbdp.cli.files import Outcome, json_text, text_in
from pbdp.cli.options import add
from pbdp.cli.parser import Parser
from pbdp.errors import ContradictionError, InputError
from pbdp.json_records import NotJsonError, json_of

if TYPE_CHECKING:
    from pbdp.verification import Verified

FAULTY, INCOMPLETE = 1, 4
SQLITE = b"SQLite format 3\0"
VERDICTS = {True: "holds", False: "DOES NOT HOLD", None: "not checked"}

EXAMPLES = """examples:
  pbdp verify visits.csv.manifest.json
  pbdp verify visits.csv.manifest.json --table elsewhere/visits.csv --ledger pbdp-ledger.db
  pbdp verify march.json --ledger pbdp-ledger.db
  pbdp verify plan.json

exit code: 0 nothing is wrong, 1 something does not hold, 2 the file cannot be read,
4 nothing is wrong as far as it was checked, but the table or the ledger that paid is missing
"""


def declare(parser: Parser) -> None:
    """What the command takes."""
    parser.set_defaults(doing="Checking every claim")
    parser.description = (
        "Check the manifest of a table that `pbdp tables -o` wrote, a release that\n"
        "`pbdp release --manifest` wrote, a comparison, a choice or a plan. The guarantee is computed\n"
        "again from the noise that it names; the private data is not needed."
    )
    parser.epilog = EXAMPLES
    parser.add_argument("manifest", metavar="FILE", help="a manifest, a release, a comparison or a plan")
    parser.add_argument(
        "--table", metavar="FILE", help="default: the file that the manifest names, in its folder"
    )
    add(parser, "--ledger", help="the ledger that paid, to compare its record and its answer")
    parser.add_argument(
        "--signed-by", metavar="FILE", help="the public key that must have signed the manifest"
    )
    add(parser, "--json")


def run(options: argparse.Namespace) -> Outcome:
    """Check, and say what became of every claim."""
    found = _found(options)
    if options.json:
        record = {
            "holds": found.holds,
            "complete": found.is_complete,
            "epsilon": found.epsilon,
            "delta": found.delta,
            "guessed_right": found.guessed_right,
            "checks": [asdict(check) for check in found.checks],
        }
        output = json_text("verification", record)
    else:
        output = _words(found, "table" if _kind(options) not in FILES else "file")
    code = FAULTY if not found.holds else 0 if found.is_complete else INCOMPLETE
    return Outcome(output=output, code=code)


PLAN, RELEASE, CHOICE, COMPARISON = FILES = "plan", "release", "choice", "comparison"


def _kind(options: argparse.Namespace) -> str:
    """What the file says it is; what cannot be read is refused before much is loaded."""
    path = Path(options.manifest)
    if path.is_file():
        with path.open("rb") as file:
            if file.read(len(SQLITE)) == SQLITE:
                remedy = f"Run pbdp ledger verify --ledger {path}."
                raise InputError("FILE", "a manifest, a release, a comparison or a plan", "a ledger", remedy)
        manifest = path.with_name(f"{path.name}.manifest.json")
        if manifest.is_file():
            remedy = f"Did you mean {manifest.name}?"
            raise InputError("FILE", "the manifest of a table", f"{path.name}, the table itself", remedy)
    try:
        record = json_of(text_in("manifest", options.manifest).encode())
    except NotJsonError:
        return "something else"
    said = str(record.get("format")) if isinstance(record, dict) else ""
    return said.rpartition("-")[2] if said.startswith("pbdp-") else "something else"


def _found(options: argparse.Namespace) -> Verified:
    kind = _kind(options)
    for option in ("table", "signed_by"):
        if kind in FILES and getattr(options, option) is not None:
            name = f"--{option.replace('_', '-')}"
            raise ContradictionError(name, "used with the manifest of a table", f"a {kind}")
    if kind in (PLAN, CHOICE):
        if options.ledger is not None:
            raise _nothing_to_find()
        return _plan(Path(options.manifest)) if kind == PLAN else _choice(Path(options.manifest))
    if kind == RELEASE:
        return _release(options)
    if kind == COMPARISON:
        return _comparison(options)
    from pbdp.tables.verify import verify_manifest

    return verify_manifest(
        options.manifest, table=options.table, ledger=options.ledger, signed_by=options.signed_by
    )


def _nothing_to_find() -> ContradictionError:
    """A file that names no payment is not compared with a ledger."""
    remedy = "The file has no published numbers. What a ledger stored is checked by pbdp ledger verify."
    return ContradictionError("--ledger", "used with a table, a release or a comparison", "a plan", remedy)


def _plan(path: Path) -> Verified:
    from pbdp.planning.plan_file import verify_plan

    return verify_plan(path)


def _choice(path: Path) -> Verified:
    from pbdp.report.certificates.choice import verify_choice

    return verify_choice(path)


def _release(options: argparse.Namespace) -> Verified:
    from pbdp.ledger import Ledger
    from pbdp.report.certificates.release_file import read_release, verify_release
    from pbdp.verification import Verified

    release = read_release(options.manifest)
    with nullcontext() if options.ledger is None else Ledger.open(options.ledger) as ledger:
        checks = verify_release(release, ledger)
    return Verified.of(release.plan, checks)


def _comparison(options: argparse.Namespace) -> Verified:
    from pbdp.comparing.plan import read
    from pbdp.ledger import Ledger
    from pbdp.report.certificates.comparison import verify_comparison
    from pbdp.verification import Verified

    plan, found = read(options.manifest)
    if options.ledger is not None and found is None:
        raise _nothing_to_find()
    with nullcontext() if options.ledger is None else Ledger.open(options.ledger) as ledger:
        checks = verify_comparison(plan, found, ledger)
    return Verified.of(plan, checks)


def _words(found: Verified, what: str) -> str:
    from pbdp.report.releases import loss_words
    from pbdp.report.text import columns

    rows = [[VERDICTS[check.holds], check.name, check.words] for check in found.checks]
    if not found.holds:
        verdict = f"NOT SOUND: do not rely on this {what}."
    elif not found.is_complete:
        missing = ", ".join(check.name for check in found.checks if check.missing)
        verdict = f"INCOMPLETE: nothing was found to be wrong, but not all was there to look at ({missing})."
    elif found.epsilon is None or found.delta is None:
        verdict = "Nothing was found to be wrong."
    else:
        verdict = f"Sound as far as it was checked: {loss_words(found.epsilon, found.delta)}. {found.means}"
    return f"{columns(rows)}\n\n{verdict}"
