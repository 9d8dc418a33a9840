"""`pbdp verify`: checks every claim in the manifest of a published table, in a release or in a plan."""

from __future__ import annotations

import argparse
from dataclasses import asdict

from pbdp.cli.files import Outcome, json_text
from pbdp.cli.options import add
from pbdp.cli.parser import Parser

FAULTY, INCOMPLETE = 1, 4

EXAMPLES = """examples:
  pbdp verify visits.csv.manifest.json
  pbdp verify visits.csv.manifest.json --table elsewhere/visits.csv --ledger pbdp-ledger.db
  pbdp verify march.json --ledger pbdp-ledger.db
  pbdp verify plan.json

exit code: 0 nothing is wrong, 1 something does not hold, 2 the file cannot be read,
4 nothing is wrong as far as it was checked, but the table, the ledger that paid or the key that signed was
not named. A file without a signature is UNSIGNED: whoever can write it can change what only it says.
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
    parser.add_argument("--signed-by", metavar="FILE", help="the public key that must have signed the file")
    add(parser, "--json")


def run(options: argparse.Namespace) -> Outcome:
    """Check, and say what became of every claim."""
    from pbdp.report.statement import statement
    from pbdp.report.text import as_text
    from pbdp.report.verify import verify

    found = verify(options.manifest, table=options.table, ledger=options.ledger, signed_by=options.signed_by)
    said = statement(found)
    if options.json:
        from pbdp.report.record import warning_records

        record = {
            "verdict": found.verdict,
            "holds": found.holds,
            "complete": found.is_complete,
            "signed": found.is_signed,
            "epsilon": found.epsilon,
            "delta": found.delta,
            "guessed_right": found.guessed_right,
            "checks": [asdict(check) for check in found.checks],
            "warnings": warning_records(said),
        }
        output = json_text("verification", record)
    else:
        output = as_text(said)
    code = FAULTY if not found.holds else 0 if found.is_complete else INCOMPLETE
    return Outcome(output=output, code=code)
