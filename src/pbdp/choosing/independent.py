"""Noise of its own on every score, sorted: the way to order very many options where a delta is allowed.

Every score gets noise of one table, and the options are sorted (`ranking`). Only their order is published, so
that scores which rise, by 0 to D, may be thought to move by -D/2 to D/2; others move by so much in any case
(D = 2s). All k scores can move, each by D/2 steps or less: what is certified, by the planner, is k releases
of the table at that shift. The table never rises away from zero, so smaller shifts lose no more, whichever
score has which (`accounting.filters.steps`). Where D is odd, noise is in half steps.

With F(x) = P(noise <= x), which is summed from the table, the bounds of `ranking` are

    q(x) = sum of P(r)·P(noise >= r + x),
    P(range < g) = sum over the smallest r of (F(r + g - 1) - F(r - 1))^k - (F(r + g - 1) - F(r))^k.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from pbdp.choosing.checking_code import CheckingCode
from pbdp.choosing.law import Asked, Chances, Law, exchanges
from pbdp.choosing.ranking import pairs_of, score_scale, sorted_places
from pbdp.choosing.scores import Scale
from pbdp.errors import CannotCertifyError
from pbdp.mechanism.absolute import AbsoluteRegion
from pbdp.mechanism.design import Design
from pbdp.mechanism.grid import whole_numbers
from pbdp.mechanism.requirement import Requirement
from pbdp.mechanism.weights import TOTAL, WeightTable
from pbdp.noise.gaussian import DiscreteGaussian
from pbdp.noise.kernel import Array, Index
from pbdp.parameters import positive
from pbdp.planning.certificate import certified
from pbdp.planning.plan import Plan, plan_of
from pbdp.release.keystream import Keystream
from pbdp.release.sampler import alias_table
from pbdp.root_finding import least_enough

# What stands in the plan of the noise for its accuracy; that of the order is computed here.
_NOMINAL = 0.5
# What sums of products of probabilities may be off by, and a power for each time that it multiplies.
_ROUNDING, _POWER = 1e-11, 2.0**-50

_LINES = """w, gap = claim["tables"][0][0], claim["gap"]
tails = [0]
for p in reversed(w):
    tails.append(tails[-1] + p)
tails.reverse()
near, far = (sum(p * q for p, q in zip(w, tails[g:])) / 2**124 for g in (gap, 2 * gap))
right = 1 - claim["pairs"][0] * near - claim["pairs"][1] * far
print(f"in order {right:.8%} of the time; claimed: {claim['confidence']:.8%}")
if right < claim["confidence"] - 1e-9:
    print("DOES NOT HOLD")
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class IndependentNoise(Law):
    """Gaussian noise of this sigma, in steps, or in half steps where D is odd."""

    is_pure = False
    proof = "noise on every score, of which only the order is published"

    sigma: float

    @property
    def name(self) -> str:
        return "Gaussian noise on every score"

    @property
    def design(self) -> Design:
        """The noise, in steps."""
        kernel = DiscreteGaussian(sigma=self.sigma)
        return Design(grid=whole_numbers(), kernel=kernel, region=AbsoluteRegion.even(1.0))

    def scale(self, within: float, asked: Asked) -> Scale:
        return score_scale(within, asked)

    def epsilon(self, asked: Asked, scale: Scale) -> float:
        return self.plan(asked, scale).epsilon

    def plan(self, asked: Asked, scale: Scale) -> Plan:
        """The plan of the noise: as many releases as there are options."""
        return _plan(self.design, scale, asked)

    def right(self, asked: Asked, scale: Scale) -> float:
        return ordered(self.design.table_at(0.0), asked.options, asked.top, scale.gap * _parts(scale))

    def paid(self, asked: Asked, scale: Scale) -> tuple[Plan, int]:
        return self.plan(asked, scale), 1

    def places(self, steps: Index, asked: Asked, scale: Scale, keystream: Keystream) -> Index:
        noise = alias_table(self.design.table_at(0.0)).draw(len(steps), keystream)
        return sorted_places(_parts(scale) * steps + noise, asked.top)

    def exchanged(self, gaps: Index, scale: Scale) -> Array:
        """About how likely two options so far apart are listed in the wrong order."""
        table = self.design.table_at(0.0)
        return np.array([_apart(table, gap * _parts(scale)) for gap in gaps.tolist()])

    def chances(self, scale: Scale) -> Chances:
        return exchanges(scale, self.exchanged)

    def checking_code(self, asked: Asked, scale: Scale) -> CheckingCode:
        pairs = list(pairs_of(asked.options, asked.top))
        return CheckingCode(
            text=_LINES,
            data={"gap": scale.gap * _parts(scale), "pairs": pairs},
            noise=self.plan(asked, scale),
        )

    def record(self) -> dict[str, Any]:
        return {
            "kind": "independent",
            "law": "every score plus noise of its own, sorted",
            "family": "gaussian",
            "sigma": self.sigma,
        }


def ordered(table: WeightTable, options: int, top: int, gap: int) -> float:
    """How often the order is right, at least; the larger of both bounds."""
    pairs, below = pairs_of(options, top), np.cumsum(table.weights)
    by_pairs = pairs.near * _apart(table, gap) + pairs.far * _apart(table, 2 * gap)
    ends = np.minimum(np.arange(len(below)) + gap - 1, len(below) - 1)
    least = (below[ends] - below + table.weights) / TOTAL
    inside = np.sum(least**options - ((below[ends] - below) / TOTAL) ** options)
    return max(1 - by_pairs, float(inside)) - _ROUNDING - options * _POWER


def _apart(table: WeightTable, steps: int) -> float:
    """P(one noise is so many steps or more above another), rounded up."""
    if steps >= len(table.weights):
        return 0.0
    # P(noise >= r) for every r of the table
    tails = (TOTAL - np.cumsum(table.weights) + table.weights) / TOTAL
    masses = table.probabilities()
    return float(np.sum(masses[: len(masses) - steps] * tails[steps:])) * (1 + 1e-12)


def independent_for(asked: Asked, within: float, confidence: float) -> IndependentNoise | None:
    """The widest noise that keeps the order so often; None if no table will do."""
    scale = score_scale(within, asked)

    def short(inverse: float) -> float:
        try:
            return confidence - IndependentNoise(sigma=1 / inverse).right(asked, scale)
        except CannotCertifyError:
            return 1.0  # so wide that no table is long enough

    about = math.sqrt(2 * math.log(asked.options**2 / (1 - confidence))) / (scale.gap * _parts(scale))
    found = least_enough(short, about, close=1e-5, beside=1.2)
    if not math.isfinite(found) or short(found) > 0:
        return None
    way = IndependentNoise(sigma=1 / found)
    try:
        way.plan(asked, scale)
    except CannotCertifyError:
        return None
    return way


def independent_from(record: Any) -> IndependentNoise:
    """The noise of a record."""
    return IndependentNoise(sigma=positive("sigma", record["sigma"]))


def _parts(scale: Scale) -> int:
    """How many parts steps are in, so that half of D is a whole number of them."""
    return 1 + scale.moved % 2


@lru_cache(maxsize=16)
def _plan(design: Design, scale: Scale, asked: Asked) -> Plan:
    parts = _parts(scale)
    requirement = Requirement(
        region=AbsoluteRegion.even(float(scale.gap * parts)),
        confidence=_NOMINAL,
        sensitivity=float(scale.moved * parts // 2),
        delta=asked.delta,
        releases=asked.options,
        neighbors=asked.neighbors,
        integer=True,
    )
    found = certified(requirement, design)
    if found is None:
        raise CannotCertifyError("The noise is far wider than what is asked for.")
    return plan_of(requirement, found)
