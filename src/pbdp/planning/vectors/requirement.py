"""What is asked of a vector answer, checked once."""

from __future__ import annotations

from dataclasses import dataclass

from pbdp.domains import finite, positive, probability, whole
from pbdp.errors import ContradictionError, InputError
from pbdp.mechanism.neighbors import Neighbors

NORMS = {
    "linf": "in every coordinate",
    "l2": "in Euclidean length",
    "l1": "in the sum of absolute values",
}
# More are refused: the special functions behind the figures were compared with 40 digits up to here.
MOST_DIMENSIONS = 100_000
# Widths and sensitivities outside leave no room in a double for the steps around them.
SMALLEST, LARGEST = 1e-100, 1e100


@dataclass(frozen=True, slots=True, kw_only=True)
class VectorRequirement:
    """A vector of `dimensions` numbers must lie within `within` of the truth, as often as `confidence` says.

    `norm` measures both the error and what one person can change: every coordinate by itself (`linf`), the
    Euclidean length (`l2`), or the sum of absolute values (`l1`).
    `touches` is the most coordinates that one person changes, all of them if left out. Answers are whole
    numbers if `integer`; otherwise they are rounded to multiples of `step`, except for `l2`, which has fine
    grids of its own.
    """

    within: float
    confidence: float
    dimensions: int
    norm: str
    sensitivity: float
    delta: float
    integer: bool = False
    neighbors: str = Neighbors.ADD_REMOVE
    touches: int | None = None
    step: float | None = None

    def __post_init__(self) -> None:
        _sized("within", self.within, "It is how near the truth the vector must be.")
        probability("confidence", self.confidence, "Write 0.9 for 90 %.")
        remedy = "It is the number of coordinates of the answer."
        whole("dimensions", finite("dimensions", self.dimensions, remedy), remedy=remedy)
        if self.dimensions > MOST_DIMENSIONS:
            raise InputError("dimensions", f"at most {MOST_DIMENSIONS:,}", f"{self.dimensions:,}")
        _named("norm", self.norm, NORMS)
        _sized("sensitivity", self.sensitivity, f"It is the most that one person can change {self._change}.")
        if self.delta == 0:
            raise InputError("delta", "above 0", 0, "No noise here is certified without one; use 1e-9, say.")
        probability("delta", self.delta, "It should be far below one over the number of people; 1e-6, say.")
        _flag("integer", self.integer)
        object.__setattr__(self, "neighbors", Neighbors(self.neighbors))
        self._check_grid()
        self._check_touches()
        for name in ("within", "confidence", "sensitivity", "delta", "step"):
            value = getattr(self, name)
            object.__setattr__(self, name, None if value is None else float(value))
        object.__setattr__(self, "dimensions", int(self.dimensions))

    @property
    def touched(self) -> int:
        """The most coordinates that one person changes."""
        return self.dimensions if self.touches is None else self.touches

    @property
    def in_words(self) -> str:
        """The number of coordinates."""
        return f"{self.dimensions} dimension{'s' if self.dimensions > 1 else ''}"

    @property
    def _change(self) -> str:
        return "each coordinate" if self.norm == "linf" else f"the answer {NORMS[self.norm]}"

    def _check_grid(self) -> None:
        if self.step is not None:
            positive("step", self.step)
        if self.norm == "l2" and (self.integer or self.step is not None):
            raise ContradictionError(
                "integer and step",
                "left out for the norm l2",
                "given",
                "It has a fine grid of its own: the published numbers are real, the true ones may be whole.",
            )
        if self.integer and self.step not in (None, 1):
            raise ContradictionError(
                "step",
                "1 (or left out) for whole-number answers",
                self.step,
                "Drop `integer` to publish on another grid.",
            )

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


def _named(name: str, value: object, known: dict[str, str]) -> None:
    if not isinstance(value, str) or value not in known:
        raise InputError(name, " or ".join(known), repr(value))


def _flag(name: str, value: object) -> None:
    if not isinstance(value, bool):
        raise InputError(name, "true or false", repr(value))


def _sized(name: str, value: object, remedy: str) -> None:
    number = positive(name, value, remedy)
    if not SMALLEST <= number <= LARGEST:
        raise InputError(name, f"{SMALLEST:g} to {LARGEST:g}", f"{number:g}", "Count in another unit.")
