"""`pbdp local client`: the JavaScript that makes reports on people's own devices."""

from __future__ import annotations

import argparse
from importlib.resources import files

from pbdp.cli.files import Outcome, checked_target, json_text, new_file
from pbdp.cli.options import add
from pbdp.cli.parser import Parser

NAME = "pbdp-survey.js"
EXAMPLES = """examples:
  pbdp local client -o pbdp-survey.js

The file is plain JavaScript (an ES module) for browsers, Node and other engines with Web Crypto; it needs
nothing else. It reads the configurations that `pbdp local plan -o` writes, checks them, and makes reports.
"""


def declare(parser: Parser) -> None:
    """What the command takes."""
    parser.set_defaults(doing="Writing")
    parser.description = "Write the JavaScript client for surveys."
    parser.epilog = EXAMPLES
    add(parser, "--output", help=f"where to write it; default: {NAME} in this folder", default=NAME)
    add(parser, "--force", "--json")


def run(options: argparse.Namespace) -> Outcome:
    """Copy the client that this version of pbdp was tested with."""
    target = checked_target(options.output, options.force)
    content = files("pbdp.local").joinpath("client", NAME).read_bytes()
    with new_file(target, options.force) as file:
        file.write(content)
    if options.json:
        return Outcome(
            output=json_text("local-client", {"written_to": options.output, "bytes": len(content)})
        )
    return Outcome(output=f"{len(content):,} bytes in {options.output}")
