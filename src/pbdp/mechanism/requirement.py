"""The whole of what a user asks for, checked once."""

from __future__ import annotations

import math
from dataclasses import dataclass

from pbdp.domains import above_one, positive, probability, whole
from pbdp.errors import ContradictionError, InputError
from pbdp.mechanism.fixed import FixedRegion
from pbdp.mechanism.neighbors import Neighbors
from pbdp.mechanism.region import Region

# Sensitivities outside leave no room in a double for the steps around them.
SMALLEST, LARGEST = 1e-100, 1e100
# Beyond it the Rényi sums run over ever more terms, and say no more than the largest loss.
LARGEST_ORDER = 1e5


@dataclass(frozen=True, slots=True, kw_only=True)
class Requirement:
    """An accuracy, and what privacy is measured against.

    `region` and `confidence` are the accuracy; `sensitivity` is the most that one person can change the
    answer under the relation `neighbors`; the privacy loss is epsilon at `delta`, or Rényi at `rdp_order`.
    `releases` numbers are published that one person may affect, each by the sensitivity; `simultaneous` makes
    the confidence joint for all of them. With `bounds` answers and outputs are clamped into a range.
    """

    region: Region
    confidence: float
    sensitivity: float
    delta: float | None = None
    rdp_order: float | None = None
    releases: int = 1
    simultaneous: bool = False
    neighbors: str = Neighbors.ADD_REMOVE
    integer: bool = False
    step: float | None = None
    scale: float | None = None
    bounds: FixedRegion | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.region, Region):
            raise InputError("region", "a region, such as AbsoluteRegion.even(5)", repr(self.region))
        probability("confidence", self.confidence, "Write 0.9 for 90 %.")
        positive("sensitivity", self.sensitivity, "It is the most that one person can change the answer.")
        if not SMALLEST <= self.sensitivity <= LARGEST:
            raise InputError(
                "sensitivity", f"{SMALLEST:g} to {LARGEST:g}", self.sensitivity, "Count in another unit."
            )
        if not isinstance(self.integer, bool):
            raise InputError("integer", "true or false", repr(self.integer))
        self._check_privacy()
        whole("releases", self.releases)
        object.__setattr__(self, "neighbors", Neighbors(self.neighbors))
        if self.step is not None:
            positive("step", self.step, "It is the grid for real answers, a power of two; 0.25, say.")
        if self.integer and self.step not in (None, 1):
            raise ContradictionError(
                "step",
                "1 (or left out) for whole-number answers",
                self.step,
                "Drop `integer` to publish on another grid.",
            )
        self._check_scale()
        # other kinds of number (whole ones, fractions) become floats, so that plans can be compared and saved
        for name in ("confidence", "sensitivity", "delta", "rdp_order", "step", "scale"):
            value = getattr(self, name)
            object.__setattr__(self, name, None if value is None else float(value))

    @property
    def confidence_each(self) -> float:
        """The confidence that each number needs; independent noise makes the joint one their product."""
        if not self.simultaneous or self.releases == 1:
            return self.confidence
        each = math.exp(math.log(self.confidence) / self.releases)
        return min(each * (1 + 2**-50), math.nextafter(1.0, 0.0))

    def joint_confidence(self, each: float) -> float:
        """The confidence that the requirement speaks of when each number has `each`, rounded down."""
        if not self.simultaneous or self.releases == 1:
            return each
        return math.exp(self.releases * math.log1p(each - 1)) * (1 - 2**-50)

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What it takes for granted of true answers, in sentences."""
        bounds = () if self.bounds is None else self.bounds.assumptions
        return tuple(dict.fromkeys((*bounds, *self.region.assumptions)))

    def describe(self) -> str:
        """Region and bounds in words."""
        inside = "" if self.bounds is None else f" and {self.bounds.describe()}"
        return self.region.describe() + inside

    def _check_privacy(self) -> None:
        if (self.delta is None) == (self.rdp_order is None):
            given = "neither" if self.delta is None else "both"
            raise ContradictionError(
                "delta and rdp_order",
                "given one at a time",
                given,
                "Use delta=1e-6, say, for approximate DP, or rdp_order=10 for Rényi DP.",
            )
        if self.rdp_order is not None:
            above_one("rdp_order", self.rdp_order, "Rényi orders are above 1; 10 is a common choice.")
            if self.rdp_order > LARGEST_ORDER:
                raise InputError("rdp_order", f"at most {LARGEST_ORDER:g}", self.rdp_order, "10 is common.")
        if self.delta is not None:
            if self.delta == 0:
                raise InputError(
                    "delta",
                    "above 0",
                    0,
                    "Published noise is drawn from a finite table, which has no pure epsilon; use 1e-9, say.",
                )
            probability(
                "delta", self.delta, "It should be far below one over the number of people; 1e-6, say."
            )

    def _check_scale(self) -> None:
        if self.region.stands_still:
            if self.scale is None:
                raise ContradictionError(
                    "scale",
                    "given with a fixed range",
                    "nothing",
                    "A range alone asks for no accuracy: any constant inside it meets it at epsilon 0. "
                    "Say how much noise you accept (scale=3), or ask for a width (within=5).",
                )
            positive(
                "scale",
                self.scale,
                "It is the standard deviation (Gaussian) or scale (Laplace) of the noise.",
            )
        elif self.scale is not None:
            raise ContradictionError(
                "scale",
                "left out unless a range is given",
                self.scale,
                "The planner finds the scale that the width asks for.",
            )
        if self.region.only_whole_answers and not self.integer:
            raise ContradictionError("integer", "true for a region given as a function", False)
