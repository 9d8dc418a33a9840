"""Optimized local hashing (OLH; Wang et al. 2017): everyone hashes to g values and randomizes the hash.

g is a prime near e^epsilon + 1, and value number v is written with m digits in base g, v = v_0 + v_1 g + ...
The hash with coefficients a_0 .. a_{m-1} is h(v) = (a_0 v_0 + ... ) mod g. Two different values collide with
chance exactly 1/g over uniform coefficients: g is prime, so a (v - v') = 0 takes away one of m dimensions.

How a client draws, from 1 + m random words below 2^64 (`//` rounds down): a_i = word[1 + i] mod g and
u = word[0] // 4. If u < g other, then r = u // other; else r = h(true value). The report is the whole number
r + g (a_0 + g (a_1 + ...)).

Privacy: coefficients do not depend on the value, and given them r has the weight own = 2^62 - (g - 1) other
if it is the hash and `other` if not; `other` is rounded up, so that own/other is at most e^epsilon. A
remainder of a 64-bit word is uniform up to g/2^64, which is below the rounding of floats in the estimates and
no matter of privacy.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from pbdp.errors import InputError
from pbdp.local.blanket import AnswerPair, pure_pair
from pbdp.local.domain import Codes, Domain
from pbdp.local.estimators import (
    VALUE,
    exact_bincount,
    grouped_estimates,
    pure_estimates,
    pure_value_variances,
)
from pbdp.local.integer_weights import certified, checked_epsilon, epsilon_of, ratio_below
from pbdp.local.intervals import PureCounts, pure_counts
from pbdp.local.mechanism import CellBounds, LocalMechanism, MarkLaw
from pbdp.local.value_codes import integer_codes
from pbdp.local.variances import Variances, dense, unknowable
from pbdp.mechanism.weights import TOTAL
from pbdp.noise.kernel import Array, Words

# e^10 values of a hash; beyond it randomized response is better anyway, unless there are more values still.
LARGEST_EPSILON = 10.0
# Comparing categories looks at every pair of values.
LARGEST_COMPARED = 512
# More than remainders of 64-bit words can change the chance of a collision by.
COLLISIONS = 2.0**-40


@dataclass(frozen=True, kw_only=True)
class LocalHashing(LocalMechanism):
    """Reports are whole numbers below g^(m+1)."""

    kind: ClassVar[str] = "local hashing"
    g: int
    other: int

    def __post_init__(self) -> None:
        if self.g < 2 or not _is_prime(self.g):
            raise InputError("g", "a prime", self.g)
        if not 0 < self.g * self.other < TOTAL:
            raise InputError("other", "above 0 and below 2^62 / g", self.other)
        if self.g ** (self.digits + 1) >= 1 << 62:
            raise InputError("values", "fewer for this hash", self.domain.count)

    @property
    def own(self) -> int:
        """The weight of the hash itself."""
        return TOTAL - (self.g - 1) * self.other

    @property
    def epsilon(self) -> float:
        return epsilon_of(Fraction(self.own, self.other))

    @property
    def distance(self) -> Fraction:
        """That of two answers with different hashes; those with the same cannot be told apart."""
        return Fraction(self.own - self.other, TOTAL)

    @property
    def parameters(self) -> dict[str, Any]:
        return {"total_bits": 62, "g": self.g, "digits": self.digits, "other": str(self.other)}

    @property
    def digits(self) -> int:
        """Digits m of a value's number in base g."""
        return digits_of(self.domain.count, self.g)

    @property
    def report_words(self) -> str:
        return "a whole number that stands for a random hash and what it gave"

    @classmethod
    def of_record(cls, domain: Domain, record: dict[str, Any]) -> LocalHashing:
        parameters = record["parameters"]
        return cls(domain=domain, g=int(parameters["g"]), other=int(parameters["other"]))

    @property
    def words_per_user(self) -> int:
        return 1 + self.digits

    @cached_property
    def _digit_table(self) -> Codes:
        """Digits of every value's number, one row each."""
        return np.arange(self.domain.count)[:, None] // self.g ** np.arange(self.digits) % self.g

    def draw(self, codes: Codes, words: Words) -> npt.NDArray[Any]:
        coefficients = (words[:, 1:] % np.uint64(self.g)).astype(np.int64)
        hashed = (coefficients * self._digit_table[codes]).sum(axis=1) % self.g
        random = ((words[:, 0] >> np.uint64(2)) // np.uint64(self.other)).astype(np.int64)
        reported = np.where(random < self.g, random, hashed)
        places = self.g ** np.arange(1, self.digits + 1)
        return np.asarray(reported + coefficients @ places)

    def report_codes(self, reports: npt.NDArray[Any]) -> Codes:
        """Reports themselves, as they are numbered already."""
        return integer_codes(reports, 0, self.g ** (self.digits + 1))

    @property
    def cells(self) -> int:
        """Reports that support each value, then the sum of squares of those that support each group."""
        return self.domain.count + len(self.domain.groups)

    def tally(self, reports: npt.NDArray[Any], codes: Codes, times: Codes | None) -> Codes:  # noqa: ARG002
        distinct, inverse = np.unique(codes, return_inverse=True)
        weight = np.zeros(len(distinct), dtype=np.int64)
        np.add.at(weight, inverse, 1 if times is None else times)
        counts = np.zeros(self.cells, dtype=np.int64)
        step = max(1, (1 << 22) // self.domain.count)
        for start in range(0, len(distinct), step):
            part, often = distinct[start : start + step], weight[start : start + step]
            supports = self._supports(part)
            counts[: self.domain.count] += often @ supports
            counts[self.domain.count :] += often @ self.domain.group_sums(supports) ** 2
        return counts

    def _supports(self, reports: Codes) -> Codes:
        """Whether each report (row) supports each value (column)."""
        places = self.g ** np.arange(1, self.digits + 1)
        coefficients = reports[:, None] // places % self.g
        hashes = coefficients @ self._digit_table.T % self.g
        return np.asarray(hashes == (reports % self.g)[:, None]).astype(np.int64)

    @property
    def probabilities(self) -> tuple[float, float]:
        """How likely a report supports the true value, and any other: own, and exactly 1/g."""
        return self.own / TOTAL, 1 / self.g

    @property
    def mark_laws(self) -> tuple[MarkLaw, ...]:
        """Every coefficient of the hash is uniform."""
        even = np.full(self.g, 1 / self.g)
        return tuple(
            MarkLaw(chances=even, names=[f"coefficient {place} = {value}" for value in range(self.g)])
            for place in range(self.digits)
        )

    def marks(self, reports: npt.NDArray[Any], codes: Codes, times: Codes | None) -> Codes:  # noqa: ARG002
        places = self.g ** np.arange(1, self.digits + 1)
        coefficients = codes[:, None] // places % self.g
        return np.concatenate([exact_bincount(column, times, self.g) for column in coefficients.T])

    def cell_bounds(self, tally: Codes, users: int) -> list[CellBounds]:
        own, other = (np.full(self.domain.count, chance) for chance in self.probabilities)
        counts = tally[: self.domain.count].astype(float)
        return [CellBounds(counts=counts, users=users, least=other, most=own, names=self.domain.values)]

    @property
    def largest_chance(self) -> float:
        return float(self.own / TOTAL / self.g**self.digits)

    def estimates(self, kind: str, tally: Codes, users: int) -> tuple[Array, Array]:
        p, q = self.probabilities
        supports, squares = tally[: self.domain.count], tally[self.domain.count :]
        if kind == VALUE:
            return pure_estimates(p, q, supports, users)
        return grouped_estimates(self.domain, (p, q), supports, squares, users)

    def pure(self, kind: str, tally: Codes) -> PureCounts | None:
        return pure_counts(tally[: self.domain.count], *self.probabilities) if kind == VALUE else None

    def share_variances(self, kind: str) -> Variances:
        if kind == VALUE:
            return pure_value_variances(self.domain.count, *self.probabilities)
        if self.domain.count > LARGEST_COMPARED:
            return unknowable(len(self.domain.groups), self.domain.count)
        return self.weighted(self.domain.members().astype(np.float64))

    def weighted(self, weights: Array) -> Variances:
        """Exact variances, from the joint collisions of pairs of values with the true one."""
        if self.domain.count > LARGEST_COMPARED:
            return unknowable(len(weights), self.domain.count)
        p, q = self.probabilities
        g, total, squares = self.g, weights.sum(axis=1), (weights**2).sum(axis=1)
        uniform = squares / g + (total**2 - squares) / g**2
        others = total[:, None] - weights
        # values on one line through x collide with x together, others independently
        together = _together(self.domain.count, g, weights.tobytes(), weights.shape[0])
        squared = weights**2 + 2 * weights * others / g + together / g + (others**2 - together) / g**2
        follows = (self.own - self.other) / TOTAL
        second = follows * squared + (1 - follows) * uniform[:, None]
        center = (q * total)[:, None]
        first = center + weights * (p - q)
        centered = second - 2 * center * first + center**2
        # a report may support any values
        down, up = (
            (part.sum(axis=1) - q * total) / (p - q)
            for part in (np.minimum(weights, 0.0), np.maximum(weights, 0.0))
        )
        return dense(weights, centered / (p - q) ** 2, down, up)

    @property
    def answer_pairs(self) -> tuple[AnswerPair, ...]:
        """Two answers have the same hash with chance 1/g, a little less to be sure."""
        together = (1 / self.g - COLLISIONS) / self.g
        return (pure_pair(1 / self.g, together, self.own / self.other, self.g * self.other / TOTAL),)


@lru_cache(maxsize=16)
def _together(count: int, g: int, given: bytes, groups: int) -> Array:
    """For each group and value x, the sum over the lines through x of the squared sum of weights on them.

    Plans ask for it again and again, with other weights of reports but the same g.
    """
    weights = np.frombuffer(given, dtype=np.float64).reshape(groups, count)
    lines = _lines(count, g)
    number = int(lines.max()) + 1
    made = np.empty(weights.shape)
    places = np.arange(count)[:, None] * number + lines
    for row, own in zip(made, weights, strict=True):
        sums = np.bincount(places.ravel(), np.broadcast_to(own, places.shape).ravel(), count * number)
        row[:] = (sums.reshape(count, number)[:, 1:] ** 2).sum(axis=1)
    return made


@lru_cache(maxsize=4)
def _lines(count: int, g: int) -> Codes:
    """For x and v the number, from 1 on, of the line through them; 0 for v = x.

    Through x go the lines x + t y, each y with 1 as its first digit that is not 0.
    """
    digits = digits_of(count, g)
    table = np.arange(count)[:, None] // g ** np.arange(digits) % g
    steps = (table - table[:, None]) % g
    first = np.take_along_axis(steps, np.argmax(steps != 0, axis=2)[:, :, None], axis=2)
    inverses = np.array([0, *(pow(step, -1, g) for step in range(1, g))])
    directions = (steps * inverses[first] % g) @ g ** np.arange(digits)
    return np.unique(directions, return_inverse=True)[1].reshape(count, count).astype(np.int64)


def digits_of(count: int, g: int) -> int:
    """Digits of the numbers of so many values in base g."""
    digits, reach = 1, g
    while reach < count:
        digits, reach = digits + 1, reach * g
    return digits


def local_hashing(domain: Domain, epsilon: float) -> LocalHashing:
    """Optimized local hashing with at most the given epsilon and the prime g of least variance."""
    epsilon = checked_epsilon(epsilon, LARGEST_EPSILON, " for local hashing")
    g = best_prime(epsilon)
    other = math.ceil(TOTAL / (ratio_below(epsilon) + g - 1))
    return certified(LocalHashing(domain=domain, g=g, other=other), epsilon)


def best_prime(epsilon: float) -> int:
    """The prime g of least variance q (1 - q)/(p - q)^2, q = 1/g; of all numbers e^epsilon + 1 has it."""
    best = math.exp(epsilon) + 1
    below = next((n for n in range(math.floor(best), 1, -1) if _is_prime(n)), 2)
    above = next(n for n in range(math.floor(best) + 1, 4 * math.ceil(best)) if _is_prime(n))
    return min(below, above, key=lambda g: hashing_variance(epsilon, g))


def hashing_variance(epsilon: float, g: int) -> float:
    """q (1 - q)/(p - q)^2 with q = 1/g and p = e^epsilon/(e^epsilon + g - 1)."""
    p, q = math.exp(epsilon) / (math.exp(epsilon) + g - 1), 1 / g
    return q * (1 - q) / (p - q) ** 2


def _is_prime(n: int) -> bool:
    return n >= 2 and all(n % divisor for divisor in range(2, math.isqrt(n) + 1))
