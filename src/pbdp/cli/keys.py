"""`pbdp keys`: key pairs to sign published tables with."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from pbdp.cli.files import Outcome, json_text
from pbdp.cli.options import add
from pbdp.cli.parser import Parser

EXAMPLES = """examples:
  pbdp keys create office
  pbdp tables visits.toml -o visits.csv --sign office
  pbdp verify visits.csv.manifest.json --signed-by office.pub
"""


def declare(parser: Parser) -> None:
    """What the command takes."""
    parser.description = (
        "Make an Ed25519 key pair to sign manifests with. The private key (mode 0600) is for you alone and\n"
        "is kept in its own folder, away from the data; give the public one (.pub) to your readers."
    )
    parser.epilog = EXAMPLES
    parts = parser.add_subparsers(dest="part", metavar="WHAT", required=True)
    create = parts.add_parser("create", help="make a new pair")
    create.add_argument(
        "name", metavar="NAME|FILE", help="a name, for pbdp's own folder of keys; or a file in another one"
    )
    add(create, "--json")


def run(options: argparse.Namespace) -> Outcome:
    """Make the pair and say where it is."""
    from pbdp.tables.signing import create_pair, public_key_at, signing_folder

    named = Path(options.name).expanduser()
    path = named if {"/", os.sep} & set(options.name) else signing_folder() / named
    public = create_pair(path)
    if options.json:
        record = {"private": str(path), "public": str(public), "public_key": public_key_at(public)}
        return Outcome(output=json_text("signing-keys", record))
    return Outcome(
        output=f"Private key: {path} (keep it to yourself, and a copy in a safe)\n"
        f"Public key:  {public} (for your readers)\n\n"
        f"Sign with pbdp tables ... --sign {options.name}\n"
        f"Check with pbdp verify ... --signed-by {public}"
    )
