"""Which datasets count as neighbors; part of every guarantee."""

from __future__ import annotations

from enum import StrEnum
from typing import NoReturn

from pbdp.errors import InputError, did_you_mean

# What other libraries and papers call them.
_OTHER_NAMES = {
    "unbounded": "add/remove",
    "add_or_remove_one": "add/remove",
    "bounded": "replace",
    "replace_one": "replace",
    "substitute": "replace",
    "change_one": "replace",
    "swap": "replace",
}


class Neighbors(StrEnum):
    """A neighboring relation; `Neighbors("replace")` reads one, and refuses what is none.

    It is its own text, in files and in comparisons, so callers may write the text wherever it is asked for.
    """

    ADD_REMOVE = "add/remove"
    REPLACE = "replace"

    @property
    def description(self) -> str:
        """How two neighbors differ."""
        if self is Neighbors.REPLACE:
            return "one person's data is replaced"
        return "one person is added or removed"

    @property
    def question(self) -> str:
        """What an attacker who knows all other people wants to know of you."""
        if self is Neighbors.REPLACE:
            return "which of two records is yours"
        return "whether you are in the data"

    @property
    def people(self) -> int:
        """How many people's data neighbors differ in: one who comes or goes, or an old and a new one."""
        return 2 if self is Neighbors.REPLACE else 1

    @classmethod
    def _missing_(cls, value: object) -> NoReturn:
        near = did_you_mean(_OTHER_NAMES.get(str(value), str(value)), cls)
        told = "; ".join(f"{each}: {each.description}" for each in cls)
        raise InputError("neighbors", " or ".join(cls), ascii(value), near or f"{told}.") from None

    def __repr__(self) -> str:
        return repr(self.value)
