"""Every command: a module of this package, which is imported when it is run, and its line of help."""

from __future__ import annotations

from pbdp.reported import has_reproduction

# by task, each in the order of use
GROUPS = {
    "to begin": {
        "demo": "a guided tour: plan, release, keep a budget, publish a table",
        "studio": "a local page to trade accuracy against privacy and build tables",
    },
    "plan an accuracy": {
        "plan": "find the noise with the least privacy loss that meets an accuracy",
        "noise": "show what a plan may publish, and how likely each number is",
        "audit": "draw from the sampler and test everything a plan claims",
    },
    "publish": {
        "release": "publish private numbers with the noise of a plan",
        "ask": "publish a number with the noise that costs a budget least",
        "choose": "choose the option with the best score, or the best few",
        "compare": "compare two groups: rates or means, with an interval",
        "tables": "counts, sums and means of groups, from a file or a database",
        "bounds": "find bounds for a column that cut few people",
    },
    "keep a budget": {
        "ledger": "keep the privacy budget of datasets",
    },
    "read and check what was published": {
        "interval": "see what a published number tells you about the truth",
        "certificate": "write one page for people: the claim, and how to check it",
        "verify": "check a published table, release, choice, comparison or plan",
        "keys": "make key pairs, and sign files of every kind",
    },
    "surveys without a collector to trust": {
        "local": "people randomize their answers before they are sent",
    },
}

if has_reproduction():
    GROUPS["the paper"] = {"reproduce": "redraw the paper's figures and report what holds"}
COMMANDS = {name: words for group in GROUPS.values() for name, words in group.items()}
