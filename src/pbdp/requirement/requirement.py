"""The whole of what a user asks for, checked once."""

from __future__ import annotations

from dataclasses import dataclass

from pbdp.domains import above_one, positive, probability, whole
from pbdp.errors import ContradictionError, InputError
from pbdp.requirement.custom import CustomRegion
from pbdp.requirement.fixed import FixedRegion
from pbdp.requirement.neighbours import NEIGHBOURS
from pbdp.requirement.region import Region


@dataclass(frozen=True, slots=True, kw_only=True)
class Requirement:
    """An accuracy, and what privacy is measured against.

    `region` and `confidence` are the accuracy; `sensitivity` is the most that one person can change the
    answer under the relation `neighbours`; the privacy loss is epsilon at `delta`, or Rényi at `rdp_order`.
    With `bounds` answers and outputs are clamped into a range, which costs nothing.
    """

    region: Region
    confidence: float
    sensitivity: float
    delta: float | None = None
    rdp_order: float | None = None
    releases: int = 1
    neighbours: str = "add/remove"
    integer: bool = False
    step: float | None = None
    scale: float | None = None
    bounds: FixedRegion | None = None

    def __post_init__(self) -> None:
        probability("confidence", self.confidence, "Write 0.9 for 90 %.")
        positive("sensitivity", self.sensitivity, "It is the most that one person can change the answer.")
        self._check_privacy()
        whole("releases", self.releases)
        if self.releases != 1:
            raise InputError("releases", "1 for now", self.releases, "Plan each release on its own.")
        if self.neighbours not in NEIGHBOURS:
            raise InputError("neighbours", " or ".join(NEIGHBOURS), repr(self.neighbours))
        if self.integer and self.step not in (None, 1):
            raise ContradictionError(
                "step",
                "1 (or left out) for whole-number answers",
                self.step,
                "Drop `integer` to publish on another grid.",
            )
        self._check_scale()

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
        if isinstance(self.region, FixedRegion):
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
        if isinstance(self.region, CustomRegion) and not self.integer:
            raise ContradictionError("integer", "true for a region given as a function", False)
