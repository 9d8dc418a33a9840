"""`pbdp local`: surveys in which people randomize their own answers, planned, run and evaluated."""

from __future__ import annotations

import argparse

from pbdp.cli.local import estimate, plan, randomize


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the command and its parts."""
    top = commands.add_parser(
        "local",
        help="surveys in which everyone randomizes the own answer before it is sent",
        description="Surveys in which everyone randomizes the own answer before it is sent, so that no one,\n"
        "the collector included, ever sees a true one: plan a survey, make reports, estimate from them.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parts = top.add_subparsers(dest="part", metavar="PART", required=True)
    for part in (plan, randomize, estimate):
        part.add_to(parts)
