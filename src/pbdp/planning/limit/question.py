"""The question that a limit answers, in the one form that all absolute requirements on whole numbers share.

A constant added to the noise changes neither privacy nor the number of points in the region. So
"-below <= noise <= above" asks the same as "noise in 0..points-1" with points = below + above + 1, and the
law may be taken symmetric about the middle of the region: the average of a law and its mirror image is
feasible whenever the law is, with the same confidence.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from pbdp.parameters import fraction, probability, whole

# Confidence that laws found by asking have in reserve, for the rounding of their masses.
RESERVE = 1e-11


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """The least epsilon of noise that lies in a region of `points` whole numbers with `confidence`."""

    points: int
    sensitivity: int
    confidence: float
    delta: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "points", whole("points", self.points))
        object.__setattr__(self, "sensitivity", whole("sensitivity", self.sensitivity))
        probability("confidence", self.confidence)
        fraction("delta", self.delta)

    @classmethod
    def about(cls, below: int, above: int, confidence: float, sensitivity: int, delta: float) -> Question:
        """The question for noise between -below and above."""
        remedy = "Round it down for whole answers."
        return cls(
            points=whole("below", below, 0, remedy) + whole("above", above, 0, remedy) + 1,
            sensitivity=sensitivity,
            confidence=confidence,
            delta=delta,
        )

    def coarsened(self, block: int) -> Question:
        """A question on the lattice of multiples of `block` whose limit holds for this one too.

        Take answers that are multiples of `block` only, and publish floor((output + below) / block): both
        keep the guarantee, at a sensitivity of floor(sensitivity / block), and the region becomes
        ceil(points / block) points. What is impossible there is impossible here.
        """
        if block == 1:
            return self
        return Question(
            points=-(-self.points // block),
            sensitivity=self.sensitivity // block,
            confidence=self.confidence,
            delta=self.delta,
        )

    @property
    def whole_steps(self) -> int:
        """Steps, as wide as the sensitivity, between either end of the region and its central block."""
        return (self.points - 1) // (2 * self.sensitivity)

    @property
    def central_points(self) -> int:
        """Points of the central block: 1 to 2·sensitivity."""
        return self.points - 2 * self.whole_steps * self.sensitivity

    def staircase_miss(self, epsilon: float) -> float:
        """1 - confidence of the aligned staircase of loss epsilon, the best law for delta = 0.

        Heights e^{-i·eps}: the central block (c points) has level 0, then `sensitivity` points a level on
        either side; the region ends with level j. The miss is 2·D·x^{j+1} / (c·(1-x) + 2·D·x), x = e^-eps.
        """
        x, rest = math.exp(-epsilon), -math.expm1(-epsilon)
        width, outside = 2 * self.sensitivity, math.exp(-epsilon * (self.whole_steps + 1))
        return width * outside / (self.central_points * rest + width * x)
