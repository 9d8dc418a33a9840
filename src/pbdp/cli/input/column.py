"""A column of private numbers, the public columns kept beside it, and the name of each row's place."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from pbdp.errors import InputError

MISSING = "an empty cell"
NO_NUMBER = "something else"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PrivateColumn:
    """`answers` is a list of exact numbers or a numpy array; `kept` columns are published as they are.

    `place(i)` names row i to the user, who may hear where something is wrong but never what is there.
    """

    answers: Any
    place: Callable[[int], str]
    kept: dict[str, Any] = field(default_factory=dict)

    @property
    def count(self) -> int:
        """How many numbers there are."""
        return len(self.answers)


def row_place(index: int) -> str:
    """Rows counted from 1."""
    return f"number in row {index + 1:,}"


def unusable(place: str, got: str = NO_NUMBER, remedy: str = "") -> InputError:
    """The refusal of one row; it says where, not what."""
    return InputError(place, "a finite number", got, remedy)
