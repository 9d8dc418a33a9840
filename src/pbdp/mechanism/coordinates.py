"""Answers with several coordinates: how many, how errors are measured, and what one person changes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pbdp.errors import ContradictionError, InputError, shown
from pbdp.parameters import finite, whole

NORMS = {
    "linf": "in every coordinate",
    "l2": "in Euclidean length",
    "l1": "in the sum of absolute values",
}
# How one person's changes may be measured.
CHANGE_NORMS = ("linf", "l1")
# More are refused: the special functions behind the figures were compared with 40 digits up to here.
MOST_DIMENSIONS = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Coordinates:
    """A vector of `dimensions` numbers that is released as a whole.

    `norm` measures the error: every coordinate by itself (`linf`), the Euclidean length (`l2`), or the sum of
    absolute values (`l1`). `change_norm` measures what one person can change, `linf` or `l1`; left out, it is
    the same norm.
    `touches` is the most coordinates that one person changes, all of them if left out.
    """

    dimensions: int
    norm: str
    touches: int | None = None
    change_norm: str | None = None

    def __post_init__(self) -> None:
        remedy = "It is the number of coordinates of the answer."
        whole("dimensions", finite("dimensions", self.dimensions, remedy), remedy=remedy)
        if self.dimensions > MOST_DIMENSIONS:
            raise InputError("dimensions", f"at most {MOST_DIMENSIONS:,}", f"{self.dimensions:,}")
        if self.norm not in tuple(NORMS):
            raise InputError("norm", "linf, l2 or l1", shown(self.norm))
        if self.changed_in not in CHANGE_NORMS:
            remedy = "Errors may be measured in l2 (error_norm); for changes see known limits in the docs."
            raise InputError("change_norm", "linf or l1", shown(self.changed_in), remedy)
        if self.change_norm == self.norm:
            object.__setattr__(self, "change_norm", None)
        object.__setattr__(self, "dimensions", int(self.dimensions))
        self._check_touches()

    @property
    def changed_in(self) -> str:
        """The norm in which one person's change is measured."""
        return self.norm if self.change_norm is None else self.change_norm

    @property
    def touched(self) -> int:
        """The most coordinates that one person changes."""
        return self.dimensions if self.touches is None else self.touches

    @property
    def change(self) -> str:
        """What the sensitivity speaks of."""
        norm = self.changed_in
        if norm != "linf":
            return f"the answer {NORMS[norm]}"
        if self.touches is None or self.touches == self.dimensions:
            return "each coordinate"
        return "one coordinate" if self.touches == 1 else f"{self.touches} coordinates, each"

    def record(self) -> dict[str, Any]:
        """What is needed to build them again, for JSON; part of the fingerprints of plans for vectors."""
        names = ("dimensions", "norm", "change_norm", "touches")
        return {name: getattr(self, name) for name in names}

    def _check_touches(self) -> None:
        if self.touches is None:
            return
        remedy = "It is the most coordinates that one person changes."
        whole("touches", finite("touches", self.touches, remedy), remedy=remedy)
        if self.touches > self.dimensions:
            raise ContradictionError("touches", f"at most the {self.dimensions} dimensions", self.touches)
        object.__setattr__(self, "touches", int(self.touches))


def coordinates_of(
    *,
    dimensions: int,
    norm: str | None = None,
    error_norm: str | None = None,
    change_norm: str | None = None,
    touches: int | None = None,
) -> Coordinates:
    """The coordinates as they are asked for: a norm of the error and one of changes, or one for both."""
    if (norm is None) == (error_norm is None):
        if norm is not None:
            raise ContradictionError("norm", "left out beside error_norm", "both", "It is one norm for both.")
        raise ContradictionError(
            "error_norm",
            "given",
            "nothing",
            "How is the width measured? linf: every coordinate; l2: the length; l1: the sum of sizes.",
        )
    if error_norm is not None and error_norm not in NORMS:
        raise InputError("error_norm", "linf, l2 or l1", shown(error_norm))
    if norm is not None and change_norm is not None:
        raise ContradictionError("change_norm", "left out beside norm, which says both", shown(change_norm))
    return Coordinates(
        dimensions=dimensions,
        norm=norm if error_norm is None else error_norm,  # type: ignore[arg-type]
        touches=touches,
        change_norm="linf" if norm is None and change_norm is None else change_norm,
    )
