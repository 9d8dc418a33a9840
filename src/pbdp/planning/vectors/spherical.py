"""Noise in all directions alike, for the Euclidean norm: what its laws share, and where its numbers live.

**Rounding.** Answers live on a very fine grid, published numbers on a fine one. Rounding an answer to
multiples of a moves every coordinate by a/2 at most, so two answers that are Δ apart are at most
Δ + a sqrt(d) apart afterwards, which is what is accounted. Rounding the sum of answer and noise to multiples
of the step b costs no privacy. Together they move a vector by (a + b) sqrt(d)/2 at most, which the width
loses.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass

from pbdp.errors import CannotCertifyError, InputError
from pbdp.mechanism.grid import LinearGrid, power_of_two_below
from pbdp.mechanism.requirement import Requirement
from pbdp.noise.kernel import Array
from pbdp.planning.vectors.design import VectorDesign, covered
from pbdp.release.spherical import SphericalNoise, SphericalSampler

# Rounding may cost this share of the width, and this share of the sensitivity.
OF_WIDTH = 1e-3
OF_SENSITIVITY = 2.0**-13
# The answers' grid is at most this many halvings finer: both parts of a sum then fit into one word.
MOST_HALVINGS = 52
# A bound that is computed with a few roundings is moved by this share of it.
SAFE = 2.0**-49


@dataclass(frozen=True, slots=True, kw_only=True)
class Rounding:
    """Published numbers are multiples of `step`, answers are rounded to multiples of `answer_step` first."""

    step: float
    answer_step: float

    def __post_init__(self) -> None:
        for step in (self.step, self.answer_step):
            LinearGrid(step=step, rounded=True)
            if math.frexp(step)[0] != 0.5:
                raise InputError("step", "a power of two", f"{step:g}", "It is halved for the answers.")
        if not 1 <= math.log2(self.step / self.answer_step) <= MOST_HALVINGS:
            raise InputError(
                "answer_step", f"the step halved 1 to {MOST_HALVINGS} times", f"{self.answer_step:g}"
            )

    @property
    def halvings(self) -> int:
        """How often the step is halved for the answers."""
        return math.frexp(self.step)[1] - math.frexp(self.answer_step)[1]

    @property
    def answers(self) -> LinearGrid:
        """The grid that answers are rounded to."""
        return LinearGrid(step=self.answer_step, rounded=True)

    @property
    def outputs(self) -> LinearGrid:
        """The grid that outputs are rounded to."""
        return LinearGrid(step=self.step, rounded=True)

    def room(self, requirement: Requirement) -> float:
        """What is left of the width for the noise, rounded down."""
        lost = (self.step + self.answer_step) / 2 * math.sqrt(requirement.dimensions)
        room = requirement.half_width - lost * (1 + SAFE)
        if room <= 0:
            raise CannotCertifyError("The step leaves no room for noise in the width. Use a smaller step.")
        return room * (1 - SAFE)

    def sensitivity(self, requirement: Requirement) -> float:
        """How far apart the rounded answers of neighbors are at most, rounded up."""
        grown = requirement.length_changed + self.answer_step * math.sqrt(requirement.dimensions)
        return grown * (1 + SAFE)

    def describe(self) -> tuple[str, ...]:
        """What the guarantee says of it."""
        return (
            f"Answers are rounded to multiples of {self.answer_step:g} before noise is added, outputs to "
            f"multiples of {self.step:g} afterwards; both are part of the guarantee.",
        )


def rounding_for(requirement: Requirement) -> Rounding:
    """Steps that cost about a thousandth of the width and a ten-thousandth of the sensitivity, or less."""
    root = math.sqrt(requirement.dimensions)
    step = power_of_two_below(2 * OF_WIDTH * requirement.half_width / root)
    fine = power_of_two_below(OF_SENSITIVITY * requirement.length_changed / root)
    return Rounding(step=step, answer_step=min(max(fine, step * 2.0**-MOST_HALVINGS), step / 2))


class SphericalDesign(VectorDesign):
    """Noise that prefers no direction, for rounded answers: all of its law is that of its length."""

    __slots__ = ()

    rounding: Rounding

    @property
    def output_grid(self) -> LinearGrid:
        return self.rounding.outputs

    @abstractmethod
    def noise(self, requirement: Requirement) -> SphericalNoise:
        """What is drawn, in steps."""

    @abstractmethod
    def sampling_error(self, requirement: Requirement) -> float:
        """η: how far what is published is from the ideal law, rounded, in total variation, at most."""

    @abstractmethod
    def length_below(self, requirement: Requirement, lengths: Array) -> Array:
        """P(|noise| <= length), before rounding; neither from above nor from below."""

    @abstractmethod
    def log_density(self, requirement: Requirement, lengths: Array) -> Array:
        """The logarithm of the density at noise of these lengths, up to a constant."""

    def sampler(self, requirement: Requirement) -> SphericalSampler:
        return SphericalSampler(noise=self.noise(requirement))

    def assumptions(self, requirement: Requirement) -> tuple[str, ...]:
        return (*self.rounding.describe(), covered(self.sampling_error(requirement)))
