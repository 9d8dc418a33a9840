"""`pbdp verify`: checks every claim in the manifest of a published table."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from typing import TYPE_CHECKING

from pbdp.cli.outcome import Outcome
from pbdp.cli.text import columns, rounded_up

if TYPE_CHECKING:
    from pbdp.tables.verify import VerifiedTable

FAULTY = 1
VERDICTS = {True: "holds", False: "DOES NOT HOLD", None: "not checked"}

EXAMPLES = """examples:
  pbdp verify visits.csv.manifest.json
  pbdp verify visits.csv.manifest.json --table elsewhere/visits.csv --ledger pbdp-ledger.db

exit code: 0 nothing is wrong, 1 something does not hold, 2 the manifest cannot be read
"""


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the command."""
    parser = commands.add_parser(
        "verify",
        help="check the manifest of a table: its guarantee, its numbers, who paid",
        description="Check the manifest of a table that `pbdp tables -o` wrote. The guarantee is computed\n"
        "again from the noise that it names; the private data is not needed.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("manifest", metavar="MANIFEST", help="the manifest (JSON)")
    parser.add_argument("--table", metavar="FILE", help="default: the file that it names, beside it")
    parser.add_argument(
        "--ledger", metavar="FILE_OR_URL", help="the ledger that paid, to compare its record and its answer"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> Outcome:
    """Check, and say what became of every claim."""
    from pbdp.tables.verify import verify_manifest

    found = verify_manifest(options.manifest, table=options.table, ledger=options.ledger)
    if options.json:
        record = {
            "holds": found.holds,
            "epsilon": found.epsilon,
            "delta": found.delta,
            "checks": [asdict(check) for check in found.checks],
        }
        output = json.dumps(record, indent=2, allow_nan=False)
    else:
        output = _words(found)
    return Outcome(output=output, code=0 if found.holds else FAULTY)


def _words(found: VerifiedTable) -> str:
    rows = [[VERDICTS[check.holds], check.name, check.words] for check in found.checks]
    if not found.holds:
        verdict = "NOT SOUND: do not rely on this table."
    elif found.epsilon is None or found.delta is None:
        verdict = "Nothing was found to be wrong."
    else:
        verdict = (
            f"Sound as far as it was checked: epsilon {rounded_up(found.epsilon)} at delta {found.delta:g}."
        )
    return f"{columns(rows)}\n\n{verdict}"
