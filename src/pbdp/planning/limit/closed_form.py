"""The limit beside every plan: an epsilon that no noise, and no mechanism, can go below. In closed form.

**The question.** A constant added to the noise changes neither privacy nor the number of points in a region.
So "-below <= noise <= above" asks the same as "noise in 0..points-1" with points = below + above + 1, and the
law may be taken symmetric about the middle: the average of a law and its mirror image is feasible whenever
the law is, with the same confidence.

**Weak duality.** Let noise p be (eps, delta)-DP at sensitivity D. For weights w[s, n] >= 0 on shifts 0 < s <=
D put mu[s] = max over n of w[s, n] and

    c(n) = 1[0 <= n < points] - sum over s of (w[s, n] - e^eps w[s, n + s]),
    lambda = max over all whole n of (c(n) + c(points - 1 - n)) / 2.

Then P(0 <= noise < points) <= lambda + delta · sum of mu[s]. For w[s, n] / mu[s] lies in [0, 1], so that the
sum over n of w[s, n] (p(n) - e^eps p(n - s)) is at most mu[s] · delta; the mirrored weights with shift -s
give the same. Add halves of both over all s and collect the terms of each p(n): they are the indicator of the
region less (c(n) + c(points - 1 - n)) / 2. A smaller epsilon only lowers c: weights that exclude epsilon
exclude all below.

**The weights.** Divide points and D by their greatest common divisor g: on the lattice of multiples of g the
question is the same one, and what is impossible for answers on it is impossible for all. Level 0 is the
central block (c points), each level i >= 1 the D points that follow on its left; the region ends with level
j. With q what the aligned staircase of loss eps misses and lambda = 1 - q:

- level i sends 2·q·((e^{i·eps} - 1)/(e^eps - 1) + e^{i·eps}·c/(2D)) by the shift D, for 1 <= i <= j;
- every level beyond the region sends 2·lambda/(e^eps - 1), without end, which is what level j sends;
- point a = 0..c-1 of the block sends to points b >= a of level 1, by the shift D - (b - a). If c <= D: c·q/D
  to b = a, and q/D to each b >= c. If c > D: points a < c - D send c·q/D to b = a and q/D to each of c - D <=
  b < D, the others up to D send q to b = a. Each point of level 1 gets c·q/D, a point and its mirror image
  send 2·q.

Every gain is then lambda exactly. The largest weights are 2·lambda/(e^eps - 1) for the shift D, as levels
rise to it, and q/D for each of the D - 1 others. So the confidence is at most 1 - q + delta · price with

    price = 2·(1 - q)/(e^eps - 1) + q·(1 - g/D),       D before it was divided.

For delta = 0 that is the staircase's own confidence: no noise is better. For delta far below what may be
missed it is next to that, at any size of the problem and without solving anything.

**Every mechanism.** The same bound holds for any mechanism K(y | x), additive or not, whose answers x may be
any of arbitrarily many consecutive whole numbers: write p_x(n) = K(x + n | x) and average the inequality of
the pair (x, x + s) over x = 1..N. Only the s answers at one end lack a partner; each adds at most mu[s] / N,
so the least confidence over x is at most the bound plus (sum of mu[s] · s) / N, which vanishes as N grows.
Outputs that are not whole numbers may be rounded down first, which keeps them in the region.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from pbdp import special
from pbdp.mechanism.requirement import Requirement
from pbdp.parameters import fraction, promised_level, whole
from pbdp.root_finding import least_enough

# One unit in the last place of a double.
ULP = 2.0**-52
# What a few products or sums of positive doubles are off by; they are moved to the safe side by as much.
ROUNDING = 2.0**-50
# Confidence that laws have in reserve for the rounding of their masses: 2^-62 for each value of a table, of
# which there are 2^25 at most.
RESERVE = 2.0**-37
# How closely an epsilon is found, relatively.
CLOSE = 1e-12
# Real answers are compared on multiples of the sensitivity over this number; a double's digits are no finer.
FINE = 2**52

CLOSED_FORM, PROGRAM = "weights in closed form", "linear program"
ANY_MECHANISM = "mechanism"
WHOLE_OUTPUTS = "mechanism that publishes whole numbers"


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
        promised_level("confidence", self.confidence)
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

    @property
    def whole_steps(self) -> int:
        """j: steps, as wide as the sensitivity, between either end of the region and its central block."""
        return (self.points - 1) // (2 * self.sensitivity)

    @property
    def central_points(self) -> int:
        """c: points of the central block, 1 to 2·sensitivity."""
        return self.points - 2 * self.whole_steps * self.sensitivity

    @property
    def has_ends(self) -> bool:
        """Whether noise may end at both ends of the region for a delta below 1/2."""
        return self.points > 2 * self.sensitivity

    @property
    def needs_no_epsilon(self) -> bool:
        """Whether uniform noise on so many values that each sensitivity of them weighs delta is enough."""
        return self.delta * self.points >= self.confidence * self.sensitivity

    def staircase_miss(self, epsilon: float) -> float:
        """q: 1 - confidence of the aligned staircase of loss epsilon, the best law for delta = 0.

        Heights e^{-i·eps}: the central block (c points) has level 0, then `sensitivity` points a level on
        either side; the region ends with level j. The miss is 2·D·x^{j+1} / (c·(1-x) + 2·D·x), x = e^-eps.
        """
        x, rest = math.exp(-epsilon), -math.expm1(-epsilon)
        width, outside = 2 * self.sensitivity, math.exp(-epsilon * (self.whole_steps + 1))
        return width * outside / (self.central_points * rest + width * x)

    def least_miss(self, epsilon: float) -> float:
        """What noise of loss epsilon misses at least, by the weights in closed form; rounded down.

        The exponent of the miss is off by a unit of itself, and a dozen operations by half a unit each.
        """
        miss, rounding = self.staircase_miss(epsilon), (8 + epsilon * (self.whole_steps + 2)) * ULP
        caught = 1 - miss * (1 - rounding) + ULP
        apart = 1 - math.gcd(self.points, self.sensitivity) / self.sensitivity
        price = 2 * caught * math.exp(-epsilon) / -math.expm1(-epsilon) + miss * apart
        return miss * (1 - rounding) - self.delta * price * (1 + rounding)


def provable_epsilon(question: Question) -> float:
    """The largest epsilon that the closed form proves impossible, rounded down; 0 where it proves nothing."""
    if question.needs_no_epsilon:
        return 0.0
    missed = 1 - question.confidence
    start = -math.log(missed or question.delta) / (question.whole_steps + 1)
    return least_enough(lambda epsilon: question.least_miss(epsilon) - missed, start, close=CLOSE) / (
        1 + 2 * CLOSE
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """No `subject` that meets the requirement has a smaller epsilon; `kind` says how that is proved."""

    epsilon: float
    subject: str
    kind: str


def limit_of(requirement: Requirement) -> Limit | None:
    """The limit in closed form, or None where none is proved."""
    question = question_of(requirement)
    if question is None or (epsilon := provable_epsilon(question)) <= 0:
        return None
    releases = median_of(requirement)
    kind = (
        f"{CLOSED_FORM}; median of {releases} releases with independent noise"
        if releases > 1
        else CLOSED_FORM
    )
    return Limit(epsilon=epsilon, subject=subject_of(requirement), kind=kind)


def question_of(requirement: Requirement) -> Question | None:
    """A question about whole numbers whose limit holds for the requirement too; None where there is none.

    - Whole-number answers: the region holds floor(below + above) + 1 whole numbers wherever it lies, also for
      outputs that are not whole. Whole outputs can only be floor(below) + floor(above) + 1 of them, so where
      that is less the limit is a larger one, for mechanisms that publish whole numbers, as the plan does.
    - Real answers: among them are the multiples of a fraction of the sensitivity.
    - Several releases with independent noise: if all numbers have the same true answer, the median of an odd
      number m of them misses the region only if more than half of them do. It is one release, so its limit at
      the confidence P(Bin(m, rho) > m/2) holds for all of them together.
    - A joint confidence for several releases may be shared out unevenly, so all that it says of one of them
      is that this one keeps it too: the limit is that of one release, for any mechanism.
    """
    region, moved = requirement.region, requirement.sensitivity
    if not region.follows_answer or requirement.delta is None or requirement.bounds is not None:
        return None
    if requirement.coordinates is not None or region.answers != (-math.inf, math.inf):
        return None
    below, above = (float(offset) for offset in region.offsets(0.0))
    if math.isinf(below + above) or (requirement.integer and moved < 1):
        return None  # whole answers that differ by less than one do not differ
    if requirement.integer:
        points = math.floor(below) + math.floor(above) + 1
    else:
        points = math.floor((Fraction(below) + Fraction(above)) / Fraction(moved) * FINE) + 1
    return Question(
        points=points,
        sensitivity=math.floor(moved) if requirement.integer else FINE,
        confidence=median_confidence(requirement, median_of(requirement)),
        delta=requirement.delta,
    )


def subject_of(requirement: Requirement) -> str:
    """Who cannot go below the limit."""
    independent = median_of(requirement) > 1
    below, above = (float(offset) for offset in requirement.region.offsets(0.0))
    if requirement.integer and math.floor(below) + math.floor(above) < math.floor(below + above):
        return WHOLE_OUTPUTS + " and has independent noise" * independent
    return ANY_MECHANISM + " with independent noise" * independent


def median_of(requirement: Requirement) -> int:
    """The odd number of releases whose median has the largest confidence; 1 where that is no gain."""
    odd = requirement.releases - (requirement.releases + 1) % 2
    gains = odd > 1 and median_confidence(requirement, odd) > requirement.confidence
    return odd if gains else 1


def median_confidence(requirement: Requirement, releases: int) -> float:
    """The confidence of the median of so many releases, rounded down; a joint one is that of each of them."""
    each = requirement.confidence
    if requirement.simultaneous or releases == 1 or each <= 0.5:
        return each
    missed = float(special.bdtr(releases // 2, releases, each))
    # far more than what SciPy's incomplete beta function is off by
    return min(1 - missed * (1 + 2.0**-30), math.nextafter(1.0, 0.0))
