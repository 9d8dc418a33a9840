"""`pbdp bounds`: bounds for a column that cut few people, published as a table with one row."""

from __future__ import annotations

import argparse
from pathlib import Path

from pbdp.cli.files import Outcome
from pbdp.cli.parser import Parser
from pbdp.cli.requests import add_options
from pbdp.cli.tables.command import add_publishing, check, publish
from pbdp.cli.tables.flags import add_csv, csv_of, options_given
from pbdp.tables.measure_request import BoundsRequest
from pbdp.tables.request import QueryRequest

EXAMPLES = """examples:
  pbdp bounds trips.parquet --column fare --unit user_id --people 10000 --delta 1e-6 --dry-run
  pbdp bounds trips.parquet --column fare --unit user_id --people 10000 --delta 1e-6 \\
      --ledger pbdp-ledger.db --dataset trips

Then: pbdp tables trips.parquet --unit user_id --sum fare LOW HIGH 500 ...
"""
OWN = ("column", "people", "cut")
OF_QUERIES = (
    "unit",
    "one_row_per_person",
    "neighbors",
    "where",
    "derive",
    "time_zone",
    "delta",
    "confidence",
)


def declare(parser: Parser) -> None:
    """What the command takes."""
    parser.set_defaults(doing="Planning")
    parser.description = (
        "Find bounds for a column: at most 1 % of the people have values beyond each of them.\n"
        "They cost a part of the privacy budget; bounds that you know without the data cost nothing."
    )
    parser.epilog = EXAMPLES
    parser.add_argument("asked", metavar="DATA", help="the data (.csv, .parquet, URL)")
    parser.add_argument("--table", metavar="NAME", help="the table or view, if the data is a database")
    parser.add_argument(
        "--dry-run",
        action="store_true",
        help="print the cost and the accuracies; no data is read, nothing is spent",
    )
    groups = add_options(BoundsRequest, parser, names=OWN)
    add_options(QueryRequest, parser, groups=groups, names=OF_QUERIES)
    add_csv(parser)
    add_publishing(parser)


def run(options: argparse.Namespace) -> Outcome:
    """The query that asks for the bounds, published as any other table."""
    from pbdp.cli.tables.asked import asked_of

    check(options)
    settings = QueryRequest.typed(options_given(options))
    own = BoundsRequest.typed({name: text for name in OWN if (text := getattr(options, name)) is not None})
    settings |= {"measures": [{"kind": BoundsRequest.kind, **own}], "bounds_touched": False}
    settings["data"] = options.asked
    if options.table is not None:
        settings["table"] = options.table
    if options.csv is not None:
        settings["csv"] = csv_of(options.csv)
    options.elsewhere = ("data",)
    return publish(options, asked_of(settings, Path()))
