"""`pbdp verify`: checks every claim in the manifest of a published table."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from typing import TYPE_CHECKING

from pbdp.cli.files import Outcome, text_in
from pbdp.cli.options import add
from pbdp.cli.parser import Parser

if TYPE_CHECKING:
    from pbdp.tables.verify import VerifiedTable

FAULTY = 1
VERDICTS = {True: "holds", False: "DOES NOT HOLD", None: "not checked"}

EXAMPLES = """examples:
  pbdp verify visits.csv.manifest.json
  pbdp verify visits.csv.manifest.json --table elsewhere/visits.csv --ledger pbdp-ledger.db

exit code: 0 nothing is wrong, 1 something does not hold, 2 the manifest cannot be read
"""


def declare(parser: Parser) -> None:
    """What the command takes."""
    parser.description = (
        "Check the manifest of a table that `pbdp tables -o` wrote. The guarantee is computed\n"
        "again from the noise that it names; the private data is not needed."
    )
    parser.epilog = EXAMPLES
    parser.add_argument("manifest", metavar="MANIFEST", help="the manifest (JSON)")
    parser.add_argument("--table", metavar="FILE", help="default: the file that it names, beside it")
    add(parser, "--ledger", help="the ledger that paid, to compare its record and its answer")
    add(parser, "--json")


def run(options: argparse.Namespace) -> Outcome:
    """Check, and say what became of every claim."""
    text_in("manifest", options.manifest)  # what cannot be read is refused before much is loaded

    from pbdp.tables.verify import verify_manifest

    found = verify_manifest(options.manifest, table=options.table, ledger=options.ledger)
    if options.json:
        record = {
            "holds": found.holds,
            "epsilon": found.epsilon,
            "delta": found.delta,
            "guessed_right": found.guessed_right,
            "checks": [asdict(check) for check in found.checks],
        }
        output = json.dumps(record, indent=2, allow_nan=False)
    else:
        output = _words(found)
    return Outcome(output=output, code=0 if found.holds else FAULTY)


def _words(found: VerifiedTable) -> str:
    from pbdp.cli.words.layout import columns
    from pbdp.cli.words.plans import loss_words

    rows = [[VERDICTS[check.holds], check.name, check.words] for check in found.checks]
    if not found.holds:
        verdict = "NOT SOUND: do not rely on this table."
    elif found.epsilon is None or found.delta is None:
        verdict = "Nothing was found to be wrong."
    else:
        verdict = f"Sound as far as it was checked: {loss_words(found.epsilon, found.delta)}. {found.means}"
    return f"{columns(rows)}\n\n{verdict}"
