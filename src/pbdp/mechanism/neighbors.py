"""Which datasets count as neighbors; part of every guarantee.

A relation says here all that the rest of the product needs of it. What rests on a proof for certain relations
alone (`strategies`, `comparing`) asks for these, and refuses any other.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Any, NoReturn

from pbdp.errors import InputError, did_you_mean, shown
from pbdp.kinds import Kind


def _one_contribution(low: int, high: int) -> int:
    """What a person who comes or goes changes a sum by: what they contribute."""
    return max(abs(low), abs(high))


def _two_contributions(low: int, high: int) -> int:
    """What a new person in the place of another changes a sum by; either may contribute nothing."""
    return max(high, 0) - min(low, 0)


class Neighbors(StrEnum):
    """A neighboring relation; `Neighbors("replace")` reads one, and refuses what is none.

    It is its own text, in files and in comparisons, so callers may write the text wherever it is asked for.
    """

    description: str
    """How two neighbors differ."""
    label: str
    """The same in few words, after "one person is"."""
    question: str
    """What an attacker who knows all other people wants to know of you."""
    without: str
    """What is published from either of two neighbors differs little; this is the one that lacks your data."""
    people: int
    """How many people's data neighbors differ in."""
    most_change: Callable[[int, int], int]
    """The most that a sum differs by between neighbors, where everyone adds `low` to `high`, or nothing."""
    other_names: tuple[str, ...]
    """What other libraries and papers call it."""

    ADD_REMOVE = (
        "add/remove",
        {
            "description": "one person is added or removed",
            "label": "added or removed",
            "question": "whether you are in the data",
            "without": "without the data of any one person",
            "people": 1,
            "most_change": _one_contribution,
            "other_names": ("unbounded", "add_or_remove_one"),
        },
    )
    REPLACE = (
        "replace",
        {
            "description": "one person's data is replaced",
            "label": "replaced",
            "question": "which of two records is yours",
            "without": "with other data in place of any one person's",
            "people": 2,
            "most_change": _two_contributions,
            "other_names": ("bounded", "replace_one", "substitute", "change_one", "swap"),
        },
    )

    def __new__(cls, text: str, own: Mapping[str, Any] = MappingProxyType({})) -> Neighbors:
        """A relation with all that is its own, by the names above."""
        made = str.__new__(cls, text)
        made._value_ = text
        for name in cls.__annotations__:
            setattr(made, name, own[name])
        return made

    @classmethod
    def _missing_(cls, value: object) -> NoReturn:
        meant = next((each for each in cls if value in each.other_names), value)
        near = did_you_mean(meant, cls) if isinstance(meant, str) else ""
        told = "; ".join(f"{each}: {each.description}" for each in cls)
        raise InputError("neighbors", " or ".join(cls), shown(value), near or f"{told}.") from None

    def __repr__(self) -> str:
        return repr(self.value)


def _relation(name: str, value: Any) -> Neighbors:
    if not isinstance(value, str):
        raise InputError(name, " or ".join(Neighbors), shown(value))
    return Neighbors(value)


# The relation of a request, and its line of help.
RELATION = Kind(check=_relation, schema={"enum": list(map(str, Neighbors))}, form="choice")
RELATIONS = "; ".join(f"{each}: {each.description}" for each in Neighbors)
