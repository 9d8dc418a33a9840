"""`pbdp local`: surveys in which people randomize their own answers, planned, run and evaluated."""

from __future__ import annotations

from pbdp.cli.parser import Parser

COMMANDS = {
    "plan": "find the best way to randomize answers, or the least epsilon for an accuracy",
    "questions": "plan several questions of one person: one of them each, or all of them",
    "client": "write the JavaScript that makes reports on people's own devices",
    "randomize": "make a report of every true answer, as people do at home",
    "estimate": "estimate from reports how many people hold each value or are in each category",
}


def declare(parser: Parser) -> None:
    """What the command takes: one of its parts."""
    parser.description = (
        "Surveys in which each person randomizes their answer before it is sent, so that no one, the\n"
        "collector included, ever sees a true one: plan a survey, make reports, estimate from them."
    )
    parser.add_commands("pbdp.cli.local", {"commands": COMMANDS})
