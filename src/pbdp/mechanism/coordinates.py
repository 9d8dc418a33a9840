"""Answers with several coordinates: how many, which norm counts, and how many one person changes."""

from __future__ import annotations

from dataclasses import dataclass

from pbdp.domains import finite, whole
from pbdp.errors import ContradictionError, InputError

NORMS = {
    "linf": "in every coordinate",
    "l2": "in Euclidean length",
    "l1": "in the sum of absolute values",
}
# More are refused: the special functions behind the figures were compared with 40 digits up to here.
MOST_DIMENSIONS = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Coordinates:
    """A vector of `dimensions` numbers that is released as a whole.

    `norm` measures both the error and what one person can change: every coordinate by itself (`linf`), the
    Euclidean length (`l2`), or the sum of absolute values (`l1`). `touches` is the most coordinates that one
    person changes, all of them if left out.
    """

    dimensions: int
    norm: str
    touches: int | None = None

    def __post_init__(self) -> None:
        remedy = "It is the number of coordinates of the answer."
        whole("dimensions", finite("dimensions", self.dimensions, remedy), remedy=remedy)
        if self.dimensions > MOST_DIMENSIONS:
            raise InputError("dimensions", f"at most {MOST_DIMENSIONS:,}", f"{self.dimensions:,}")
        if self.norm not in tuple(NORMS):
            raise InputError("norm", " or ".join(NORMS), repr(self.norm))
        object.__setattr__(self, "dimensions", int(self.dimensions))
        self._check_touches()

    @property
    def touched(self) -> int:
        """The most coordinates that one person changes."""
        return self.dimensions if self.touches is None else self.touches

    @property
    def change(self) -> str:
        """What the sensitivity speaks of."""
        return "each coordinate" if self.norm == "linf" else f"the answer {NORMS[self.norm]}"

    def _check_touches(self) -> None:
        if self.touches is None:
            return
        if self.norm == "l2":
            raise ContradictionError(
                "touches", "left out for the norm l2", self.touches, "Only the length of the change counts."
            )
        remedy = "It is the most coordinates that one person changes."
        whole("touches", finite("touches", self.touches, remedy), remedy=remedy)
        if self.touches > self.dimensions:
            raise ContradictionError("touches", f"at most the {self.dimensions} dimensions", self.touches)
        object.__setattr__(self, "touches", int(self.touches))
