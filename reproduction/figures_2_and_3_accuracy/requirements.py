"""The requirements of Figures 2, 3 and 6: three kinds of preferred region, aligned to the same smallest size.

The paper compares regions by the size of the smallest one, |S(Q̃)|: 2τ for absolute error, 2τ at an answer of
zero for relative error, high - low for a fixed range.
"""

from __future__ import annotations

from dataclasses import dataclass

from pbdp.errors import InputError
from pbdp.mechanism.absolute import AbsoluteRegion
from pbdp.mechanism.fixed_range import FixedRegion
from pbdp.mechanism.region import Region
from pbdp.mechanism.relative import RelativeRegion
from pbdp.mechanism.requirement import Requirement
from pbdp.parameters import positive, probability
from reproduction.experiment import Settings, Value, number, number_or_none
from reproduction.published.measure import AtDelta, AtOrder, Measure, measure_of
from reproduction.published.optimum import Search
from reproduction.published.special_cases import (
    AbsoluteError,
    Case,
    FixedRange,
    Reading,
    RelativeError,
    plain_sigma,
)

REGIONS = ("absolute", "relative", "fixed")
# The relative part of a relative error; the paper gives none.
THETA = 0.05
# What the paper measures privacy by in Figures 2 and 3.
MEASURES: tuple[Measure, ...] = (
    AtDelta(delta=1e-5),
    AtDelta(delta=1e-7),
    AtOrder(order=2.0),
    AtOrder(order=10.0),
    AtOrder(order=100.0),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Aligned:
    """One requirement of a curve: a region of a size, a confidence, a sensitivity, and a measure of privacy.

    `theta` is the relative part of a relative error. A fixed range says nothing of how near the truth an
    output is (a constant meets it), so a scale of the kernel goes with it: `spread` times that of the plain
    Gaussian which stays inside the range with the confidence when the answer is in its middle.
    """

    region: str
    size: float
    confidence: float
    sensitivity: float
    measure: Measure
    theta: float = THETA
    spread: float = 1.0
    reading: Reading = Reading.PRINTED

    def __post_init__(self) -> None:
        if self.region not in REGIONS:
            raise InputError("region", f"among {', '.join(REGIONS)}", repr(self.region))
        positive("size", self.size)
        positive("spread", self.spread)
        positive("sensitivity", self.sensitivity)
        probability("confidence", self.confidence)
        probability("theta", self.theta)

    @property
    def half_width(self) -> float:
        """τ: how far the smallest region reaches from its middle."""
        return self.size / 2

    @property
    def delta(self) -> float | None:
        """The delta that is measured at, or None at a Rényi order."""
        return self.measure.delta if isinstance(self.measure, AtDelta) else None

    @property
    def order(self) -> float | None:
        """The Rényi order that is measured at, or None at a delta."""
        return self.measure.order if isinstance(self.measure, AtOrder) else None

    @property
    def case(self) -> Case:
        """The region as the published formulas know it."""
        match self.region:
            case "absolute":
                return AbsoluteError(half_width=self.half_width)
            case "relative":
                return RelativeError(tau=self.half_width, theta=self.theta)
        return FixedRange(low=-self.half_width, high=self.half_width)

    @property
    def preferred(self) -> Region:
        """The region as exact accounting knows it; answers of any size and sign (in the range, if fixed)."""
        match self.region:
            case "absolute":
                return AbsoluteRegion.even(self.half_width)
            case "relative":
                return RelativeRegion(theta=self.theta, tau=self.half_width)
        return FixedRegion(low=-self.half_width, high=self.half_width)

    @property
    def published(self) -> Search:
        """What the paper's formulas say of every Gaussian that meets the requirement."""
        return Search(
            case=self.case,
            confidence=self.confidence,
            sensitivity=self.sensitivity,
            measure=self.measure,
            reading=self.reading,
        )

    @property
    def plain_sigma(self) -> float:
        """The largest σ with which a plain Gaussian stays within τ of the truth with the confidence."""
        return plain_sigma(AbsoluteError(half_width=self.half_width), self.confidence)

    @property
    def given_sigma(self) -> float:
        """The kernel's σ that goes with a fixed range."""
        return self.spread * self.plain_sigma

    def asked(self, releases: int = 1) -> Requirement:
        """The same requirement for the planner; real answers."""
        return Requirement(
            region=self.preferred,
            confidence=self.confidence,
            sensitivity=self.sensitivity,
            delta=self.delta,
            rdp_order=self.order,
            scale=self.given_sigma if self.region == "fixed" else None,
            releases=releases,
        )

    def settings(self) -> Settings:
        """The requirement in plain JSON, which `aligned_of` reads."""
        return {
            "region": self.region,
            "width": self.size,
            "confidence": self.confidence,
            "sensitivity": self.sensitivity,
            "delta": self.delta,
            "order": self.order,
            "theta": self.theta if self.region == "relative" else None,
            "spread": self.spread if self.region == "fixed" else None,
            "reading": self.reading.value,
        }


def aligned_of(settings: Settings) -> Aligned:
    """The requirement that `Aligned.settings` wrote; other names are left alone."""
    return Aligned(
        region=str(settings["region"]),
        size=number(settings, "width"),
        confidence=number(settings, "confidence"),
        sensitivity=number(settings, "sensitivity"),
        measure=measure_of(number_or_none(settings, "delta"), number_or_none(settings, "order")),
        theta=number_or_none(settings, "theta") or THETA,
        spread=number_or_none(settings, "spread") or 1.0,
        reading=Reading(settings["reading"]),
    )


def measure_in_words(delta: Value, order: Value) -> str:
    """How a measure is shown: δ = 1e-5, or Rényi, α = 2."""
    return f"Rényi, α = {order:g}" if delta is None else f"δ = {delta:g}".replace("e-0", "e-")
