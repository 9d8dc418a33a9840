"""Every command: a module of this package, which is imported when it is run, and its line of help."""

from __future__ import annotations

from importlib.machinery import PathFinder
from importlib.util import find_spec

# in the order of use
COMMANDS = {
    "demo": "a guided tour: plan, release, keep a budget, publish a table",
    "plan": "find the noise with the least privacy loss that meets an accuracy, or several",
    "noise": "show what a plan may publish, and how likely each number is",
    "audit": "draw from the sampler and test everything a plan claims",
    "ledger": "keep the privacy budget of datasets",
    "release": "publish private numbers with the noise of a plan",
    "ask": "publish a number with the noise that costs a budget least",
    "choose": "choose the option with the best score, or the best few",
    "compare": "compare two groups: rates or means, with an interval",
    "interval": "see what a published number tells you about the truth",
    "tables": "publish counts, sums and means of groups from a file or a database",
    "bounds": "find bounds for a column that cut few people, before sums and means of it",
    "keys": "make a key pair to sign published tables with",
    "certificate": "write one page for people: the claim, what it rests on, how to check it",
    "verify": "check a published table, release, choice, comparison or plan",
    "studio": "open a local page to trade accuracy against privacy and to build tables",
    "local": "surveys in which people randomize their answers before they are sent",
}


def has_reproduction() -> bool:
    """Whether the paper's reproduction is there: in the repository, not in the wheel. Imports nothing."""
    package = find_spec("reproduction")
    folders = None if package is None else package.submodule_search_locations
    return folders is not None and PathFinder.find_spec("reproduction.published", folders) is not None


if has_reproduction():
    COMMANDS["reproduce"] = "redraw the paper's figures and report what holds"
