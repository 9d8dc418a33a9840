"""The kinds of measures: where each is, how it is asked for and what it is called in messages and the studio.

Only words: the command line tells its flags, and `pbdp.tables` its names, without loading a measure.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple


class Words(NamedTuple):
    """Where a kind of measure is (`module` in `pbdp.tables`, `made` its class), its title, and its flag.

    `leading` are the settings that come without a name, in this order, and so many of them are `needed`.
    """

    module: str
    made: str
    title: str
    leading: tuple[str, ...]
    needed: int
    metavar: str
    help: str


MEASURES = {
    "count": Words(
        module="measures",
        made="Count",
        title="Count of rows",
        leading=("within",),
        needed=0,
        metavar="WITHIN",
        help="rows",
    ),
    "people": Words(
        module="measures",
        made="People",
        title="Count of people",
        leading=("within",),
        needed=0,
        metavar="WITHIN",
        help="people",
    ),
    "sum": Words(
        module="measures",
        made="Sum",
        title="Sum",
        leading=("column", "low", "high", "within"),
        needed=3,
        metavar="COLUMN LOW HIGH WITHIN",
        help="sums; per=person bounds each person's sum",
    ),
    "mean": Words(
        module="mean",
        made="Mean",
        title="Mean",
        leading=("column", "low", "high", "within", "at_least"),
        needed=3,
        metavar="COLUMN LOW HIGH WITHIN AT_LEAST",
        help="means, WITHIN holds in groups of AT_LEAST rows; or count_within=N instead of the last two",
    ),
    "ratio": Words(
        module="ratio",
        made="Ratio",
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


def kind_names() -> str:
    """All kinds: `count, people or sum`."""
    return _listed(MEASURES)


def class_names() -> str:
    """The classes of all kinds: `Count, People or Sum`."""
    return _listed(words.made for words in MEASURES.values())


def _listed(names: Iterable[str]) -> str:
    *first, last = names
    return f"{', '.join(first)} or {last}"
