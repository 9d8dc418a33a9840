"""Every command: a module of this package, which is imported when it is run, and its line of help."""

from __future__ import annotations

# in the order of use
COMMANDS = {
    "demo": "a guided tour: plan, release, keep a budget, publish a table",
    "plan": "find the noise with the least privacy loss that meets an accuracy",
    "vector": "plan an answer with several coordinates",
    "together": "plan several different requirements for the least joint epsilon",
    "noise": "show what a plan may publish, and how likely each number is",
    "audit": "draw from the sampler and test everything a plan claims",
    "ledger": "keep the privacy budget of datasets",
    "release": "publish private numbers with the noise of a plan",
    "ask": "publish a number with the noise that costs a budget least",
    "sharpen": "make a published answer more precise, for the difference in cost",
    "choose": "choose the option with the best score, or the best few",
    "compare": "compare two groups: rates or means, with an interval and a p-value",
    "interval": "see what a published number tells you about the truth",
    "tables": "publish counts, sums and means of groups from a file or a database",
    "keys": "make a key pair to sign published tables with",
    "certificate": "write one page for people: the claim, what it rests on, how to check it",
    "verify": "check a published table, release, choice, comparison or plan",
    "studio": "open a local page to trade accuracy against privacy and to build tables",
    "local": "surveys in which people randomize their answers before they are sent",
    "reproduce": "redraw the paper's figures and report what holds",
    "completion": "print a script that completes commands and options in a shell",
}
