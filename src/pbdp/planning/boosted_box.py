"""A box: several numbers at once, each with a kernel that is boosted in a region of its own.

The output is near the truth as a whole if every coordinate is in its region. Coordinates have noise of their
own, so their confidences multiply, and their losses add up; one person may move all of them, each by its
sensitivity.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pbdp.accounting.composition.loss_distribution import LossDistribution
from pbdp.errors import InputError, shown
from pbdp.mechanism.neighbors import Neighbors
from pbdp.noise.kernel import Array, Kernel
from pbdp.parameters import probability
from pbdp.planning.boosted import BoostedMechanism, Composition, Within, boosted
from pbdp.planning.plan import Plan
from pbdp.planning.together.joint import joint_plan

# What a product of confidences may be off by for each factor.
_ROUNDING = 2.0**-50


@dataclass(frozen=True, slots=True, kw_only=True)
class BoostedBox:
    """One boosted mechanism for each coordinate of an answer; `confidence` is for all of them at once."""

    coordinates: tuple[BoostedMechanism, ...]

    @property
    def confidence(self) -> float:
        """The probability that all coordinates are in their regions, at least."""
        shares = [each.confidence for each in self.coordinates]
        return math.prod(shares) * (1 - len(shares) * _ROUNDING * (min(shares) < 1))

    @property
    def once(self) -> Composition:
        """All coordinates together, as one release."""
        return Composition(parts=tuple((each, 1) for each in self.coordinates))

    @property
    def drawn(self) -> Composition:
        """The same for the tables that are drawn from."""
        return Composition(parts=self.once.parts, drawn=True)

    def coverage(self, answers: Sequence[float] | None = None) -> float:
        """P(every coordinate is in its region) for these true `answers`, or the least of all."""
        given = [None] * len(self.coordinates) if answers is None else self._each(answers)
        shares = [each.coverage(answer) for each, answer in zip(self.coordinates, given, strict=True)]
        return math.prod(shares) * (1 - len(shares) * _ROUNDING * (min(shares) < 1))

    def density(self, y: npt.ArrayLike, answers: Sequence[float]) -> Array:
        """The density of outputs `y`, whose last axis is the coordinates, at the true `answers`."""
        outputs = np.asarray(y, dtype=np.float64)
        each = zip(self.coordinates, self._each(answers), strict=True)
        return np.asarray(
            np.prod(
                [made.density(outputs[..., at], answer) for at, (made, answer) in enumerate(each)], axis=0
            )
        )

    def delta(self, epsilon: float) -> float:
        """The smallest delta with (`epsilon`, delta)-DP."""
        return self.once.delta(epsilon)

    def epsilon(self, delta: float) -> float:
        """The smallest epsilon with (epsilon, `delta`)-DP."""
        return self.once.epsilon(delta)

    def renyi(self, order: float) -> float:
        """The smallest Rényi loss of this order."""
        return self.once.renyi(order)

    def loss_distributions(self) -> list[LossDistribution]:
        """The privacy loss distribution of each coordinate."""
        return [each.loss_distribution() for each in self.coordinates]

    def compose(self, releases: int) -> Composition:
        """The same for so many `releases` of the whole answer."""
        return self.once.compose(releases)

    def release(self, answers: Sequence[float]) -> list[float]:
        """Draw an output for the true `answers`. Nothing is counted (see `plan`)."""
        each = zip(self.coordinates, self._each(answers), strict=True)
        return [made.release(answer) for made, answer in each]

    def plan(self, delta: float, *, neighbors: str = Neighbors.ADD_REMOVE) -> Plan:
        """A plan of one part for each coordinate, at a `delta`, under the relation `neighbors`."""
        return joint_plan(
            [(str(at + 1), *made.planned(delta, neighbors)) for at, made in enumerate(self.coordinates)]
        )

    def _each(self, answers: Sequence[float]) -> Sequence[float]:
        if len(answers) != len(self.coordinates):
            raise InputError("answers", f"{len(self.coordinates)} numbers, one for each", len(answers))
        return answers


def boosted_box(
    kernel: Kernel,
    widths: Sequence[Within],
    *,
    confidence: float,
    sensitivity: float,
    nonnegative: bool = False,
) -> BoostedBox:
    """The paper's mechanism for several numbers at once: a `kernel` boosted in a region of each coordinate.

    `widths` has a width for each (5, "5%+10" with `nonnegative` answers or not, or a pair below and above).
    The `confidence` is for all of them together; one person changes each by the `sensitivity` at most.
    """
    if isinstance(widths, str) or not len(widths):
        raise InputError("widths", "a width for each coordinate", shown(widths))
    each = confidence
    if confidence != 1:
        # the root is rounded, and multiplied again
        each = min(probability("confidence", confidence) ** (1 / len(widths)) * (1 + 2**-48), 1 - 2**-52)
    return BoostedBox(
        coordinates=tuple(
            boosted(kernel, within=width, nonnegative=nonnegative, confidence=each, sensitivity=sensitivity)
            for width in widths
        )
    )
