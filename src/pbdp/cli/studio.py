"""`pbdp studio`: a local page to explore accuracy against privacy."""

from __future__ import annotations

import argparse

from pbdp.cli.files import Outcome, json_text
from pbdp.cli.options import add, ledger_place
from pbdp.cli.parser import Parser, whole
from pbdp.errors import ContradictionError, InputError

LARGEST_PORT = 65535

EXAMPLES = """examples:
  pbdp studio
  pbdp studio --ledger pbdp-ledger.db
  pbdp studio visits.toml --ledger pbdp-ledger.db
  pbdp studio visits.parquet

The page is served on this machine only, to the browser that opens the address first; it works offline.
It reads the names and types of columns; it reads values only when you publish a table, and pay for it.
Stop it with Ctrl-C.
"""


def declare(parser: Parser) -> None:
    """What the command takes."""
    parser.description = (
        "Open a page on this machine to trade width and confidence against privacy, to look at a budget,\n"
        "and to build a table by clicking."
    )
    parser.epilog = EXAMPLES
    parser.add_argument(
        "asked",
        metavar="QUERY.toml|DATA",
        nargs="?",
        help="a query file, or data (.csv, .parquet, URL) to make a table of",
    )
    parser.add_argument("--table", metavar="NAME", help="the table or view, if the data is a database")
    add(parser, "--ledger", "--trust-ledger")
    parser.add_argument("--port", type=whole, metavar="N", help="default: 8642, or any if that is taken")
    parser.add_argument("--no-browser", action="store_true", help="print the address, and open no browser")
    add(parser, "--json")


def run(options: argparse.Namespace) -> Outcome:
    """Check what was named, then serve until interrupted."""
    ledger = ledger_place(options)
    if options.port is not None and not 0 <= options.port <= LARGEST_PORT:
        raise InputError("--port", f"0 to {LARGEST_PORT}", options.port, "0 takes any that is free.")
    if options.table is not None and options.asked is None:
        raise ContradictionError("--table", "used with data", "none")
    if options.trust_ledger and ledger is None:
        raise ContradictionError("--trust-ledger", "used with a ledger", "none")

    from pbdp.studio.opened import Opened
    from pbdp.studio.server import serve

    opened = Opened(ledger=ledger, asked=options.asked, table=options.table, trust=options.trust_ledger)
    if ledger is not None:
        with opened.read_ledger():
            pass
    if options.asked is not None:
        from pbdp.studio.tables import check_named

        check_named(opened)

    def tell(address: str) -> None:
        # it is no task that gets done
        options.progress.now("")
        if options.json:
            print(json_text("studio", {"address": address}), flush=True)
        else:
            print(
                f"Studio: {address}\nThe address opens it once, in one browser. End it with Ctrl-C.",
                flush=True,
            )

    serve(opened, options.port, tell, browse=not options.no_browser)
    return Outcome(output=b"")
