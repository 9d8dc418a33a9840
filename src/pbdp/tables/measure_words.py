"""How each kind of measure is asked for and what it is called: in flags, in messages and in the studio.

Only words: the command line tells its flags without loading a measure.
"""

from __future__ import annotations

from typing import NamedTuple


class Words(NamedTuple):
    """What a kind of measure is called, and its flag.

    `leading` are the settings that come without a name, in this order, and so many of them are `needed`.
    """

    title: str
    leading: tuple[str, ...]
    needed: int
    metavar: str
    help: str


MEASURES = {
    "count": Words(title="Count of rows", leading=("within",), needed=0, metavar="WITHIN", help="rows"),
    "people": Words(title="Count of people", leading=("within",), needed=0, metavar="WITHIN", help="people"),
    "sum": Words(
        title="Sum",
        leading=("column", "low", "high", "within"),
        needed=3,
        metavar="COLUMN LOW HIGH WITHIN",
        help="sums; per=person bounds each person's sum",
    ),
    "mean": Words(
        title="Mean",
        leading=("column", "low", "high", "within", "at_least"),
        needed=3,
        metavar="COLUMN LOW HIGH WITHIN AT_LEAST",
        help="means, WITHIN holds in groups of AT_LEAST rows; or count_within=N instead of the last two",
    ),
    "ratio": Words(
        title="Ratio",
        leading=("of", "of_low", "of_high", "over", "over_low", "over_high"),
        needed=6,
        metavar="OF LOW HIGH OVER LOW HIGH",
        help="ratios of two sums; of_within= and over_within= are their widths",
    ),
}
# Settings that are given by name, and those that are text.
NAMED = (
    "within", "name", "confidence", "column", "per", "whole", "at_least", "count_within",
    "of_within", "over_within",
)  # fmt: skip
TEXTS = ("column", "name", "per", "of", "over")


def class_names() -> str:
    """The classes of all kinds: `Count, People or Sum`."""
    *names, last = (kind.capitalize() for kind in MEASURES)
    return f"{', '.join(names)} or {last}"
