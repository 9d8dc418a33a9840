"""`pbdp keys`: key pairs, and signatures of files of every kind."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from pbdp.cli.files import Outcome, json_text, new_file
from pbdp.cli.options import add
from pbdp.cli.parser import Parser
from pbdp.errors import InputError
from pbdp.json_records import place_of

EXAMPLES = """examples:
  pbdp keys create office
  pbdp tables visits.toml -o visits.csv --sign office
  pbdp verify visits.csv.manifest.json --signed-by office.pub
  pbdp keys sign release.json --key office
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
    sign = parts.add_parser("sign", help="sign a plan, a release, a choice, a comparison or a manifest")
    sign.add_argument("file", metavar="FILE", help="it is written again, with the signature in it")
    sign.add_argument("--key", metavar="NAME|FILE", required=True, help="the private key to sign with")
    add(sign, "--json")


def run(options: argparse.Namespace) -> Outcome:
    """Make a pair and say where it is, or sign a file."""
    if options.part == "sign":
        return _sign(options)
    from pbdp.tables.signing import create_pair, public_key_at, signing_folder

    named = place_of("name", options.name).expanduser()
    if not named.name:
        raise InputError("name", "that of a new file", options.name)
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


def _sign(options: argparse.Namespace) -> Outcome:
    """Put a signature into a file, in place of one that it had."""
    from pbdp.json_records import file_content
    from pbdp.report.verify import signable
    from pbdp.tables.signing import SIGNATURE, signer_at

    path = Path(options.file)
    signer, record = signer_at(options.key), signable(path)
    signer.check_apart([path])
    signed = signer.signed(record)
    with new_file(path, force=True) as file:
        file.write(file_content(signed))
    public = signed[SIGNATURE]["public_key"]
    if options.json:
        return Outcome(output=json_text("signed-file", {"file": str(path), "public_key": public}))
    return Outcome(output=f"Signed {path} with the key {public}.")
