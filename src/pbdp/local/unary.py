"""Optimized unary encoding (OUE; Wang et al. 2017): one bit for each value, each flipped on its own.

How a client draws, from ceil(n/2) random words below 2^64 for n values: word i gives the numbers r[2i] = its
low 32 bits and r[2i + 1] = its high 32 bits. Bit v of the report is 1 if r[v] < 2^31 for the true value v,
and if r[v] < noise for any other. The report travels as hexadecimal digits, bit 0 being the highest bit of
the first digit and unused bits 0.

Privacy: two values differ in two bits only, so the ratio is at most (p/q)((1-q)/(1-p)) = (2^32 - noise)/noise
with p = 1/2 and q = noise/2^32; noise is rounded up, so that it is at most e^epsilon.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from pbdp.errors import InputError
from pbdp.local.bits import as_text, bit_codes, unpacked
from pbdp.local.contrast import Contrast, pure_contrast
from pbdp.local.domain import Codes, Domain
from pbdp.local.estimators import exact_bincount, pure_estimates, pure_value_spread, support_reach
from pbdp.local.intervals import PureCounts, pure_counts
from pbdp.local.law import checked_epsilons, epsilon_of
from pbdp.local.mechanism import MEAN, VALUE, CellBounds, LocalMechanism, MarkLaw
from pbdp.local.spread import DenseSpread, GroupSpread, Spread, reach_of
from pbdp.noise.kernel import Array, Words

BITS = 32
HALF = np.uint32(1 << (BITS - 1))
# Beyond it noise has few bits left, and randomized response is better anyway.
LARGEST_EPSILON = 12.0
LARGEST_DOMAIN = 1 << 16


@dataclass(frozen=True, kw_only=True)
class UnaryEncoding(LocalMechanism):
    """A bit is 1 with chance 1/2 for the true value, and with chance noise/2^32 for any other."""

    kind: ClassVar[str] = "unary encoding"
    noise: int

    def __post_init__(self) -> None:
        if not 0 < self.noise < 1 << (BITS - 1):
            raise InputError("noise", "above 0 and below 2^31", self.noise)
        if self.domain.count > LARGEST_DOMAIN:
            raise InputError(
                "values", f"at most {LARGEST_DOMAIN:,} for unary encoding", self.domain.count, "Use hashing."
            )

    @property
    def epsilon(self) -> float:
        return epsilon_of(Fraction((1 << BITS) - self.noise, self.noise))

    @property
    def distance(self) -> Fraction:
        """P(1, 0) - P(0, 1) of the two bits in which two answers differ: 1/2 (1 - q) - 1/2 q."""
        return Fraction(1, 2) - Fraction(self.noise, 1 << BITS)

    @property
    def parameters(self) -> dict[str, Any]:
        return {"noise": self.noise}

    @property
    def report_words(self) -> str:
        return "a hexadecimal string, one bit per value"

    @classmethod
    def of_record(cls, domain: Domain, record: dict[str, Any]) -> UnaryEncoding:
        return cls(domain=domain, noise=int(record["parameters"]["noise"]))

    @property
    def words_per_user(self) -> int:
        return -(-self.domain.count // 2)

    def draw(self, codes: Codes, words: Words) -> npt.NDArray[Any]:
        numbers = np.ascontiguousarray(words).view("<u4")[:, : self.domain.count]
        bits = numbers < np.uint32(self.noise)
        rows = np.arange(len(codes))
        bits[rows, codes] = numbers[rows, codes] < HALF
        return np.packbits(bits, axis=1)

    def published(self, internal: npt.NDArray[Any], like: npt.NDArray[Any]) -> npt.NDArray[Any]:
        return as_text(internal, like)

    def report_codes(self, reports: npt.NDArray[Any]) -> Codes:
        """The number of ones of a well-formed report."""
        return bit_codes(reports, self.domain.count)

    @property
    def cells(self) -> int:
        return self.domain.count

    def tally(self, reports: npt.NDArray[Any], codes: Codes, times: Codes | None) -> Codes:  # noqa: ARG002
        counts = np.zeros(self.cells, dtype=np.int64)
        for rows, bits in unpacked(reports, self.cells):
            part = None if times is None else times[rows]
            counts += bits.sum(axis=0, dtype=np.int64) if part is None else part @ bits.astype(np.int64)
        return counts

    @property
    def probabilities(self) -> tuple[float, float]:
        """How likely a bit is 1 for the true value, and for any other."""
        return 0.5, self.noise / (1 << BITS)

    @property
    def mark_laws(self) -> tuple[MarkLaw, ...]:
        """The number of ones: one bit is fair, the others have the chance q."""
        from scipy.stats import binom

        count, q = self.domain.count, self.probabilities[1]
        others = binom.pmf(np.arange(count), count - 1, q)
        chances = (np.append(others, 0.0) + np.append(0.0, others)) / 2
        names = [f"{ones:,} ones" for ones in range(count + 1)]
        return (MarkLaw(chances=chances, names=names, ordered=True, unit="ones"),)

    def marks(self, reports: npt.NDArray[Any], codes: Codes, times: Codes | None) -> Codes:  # noqa: ARG002
        return exact_bincount(codes, times, self.domain.count + 1)

    def cell_bounds(self, tally: Codes, users: int) -> list[CellBounds]:
        own, other = (np.full(self.domain.count, chance) for chance in self.probabilities)
        return [
            CellBounds(
                counts=tally.astype(float), users=users, least=other, most=own, names=self.domain.values
            )
        ]

    @property
    def largest_chance(self) -> float:
        q = self.probabilities[1]
        return 0.5 * max(q, 1 - q) ** (self.domain.count - 1)

    def estimates(self, kind: str, tally: Codes, users: int) -> tuple[Array, Array]:
        found, variances = pure_estimates(*self.probabilities, tally, users)
        if kind == VALUE:
            return found, variances
        # bits are independent, so variances add up like the estimates
        return self.domain.group_sums(found), self.domain.group_sums(variances)

    def pure(self, kind: str, tally: Codes) -> PureCounts | None:
        return pure_counts(tally, *self.probabilities) if kind == VALUE else None

    def spread(self, kind: str) -> Spread:
        if kind == MEAN:
            return self.mean_spread()
        return unary_spread(self.domain, *self.probabilities, values=kind == VALUE)

    def weighted(self, weights: Array) -> Spread:
        p, q = self.probabilities
        right, wrong = p * (1 - p) / (p - q) ** 2, q * (1 - q) / (p - q) ** 2
        squares = weights**2
        variances = squares * (right - wrong) + wrong * squares.sum(axis=1)[:, None]
        return DenseSpread(matrix=variances, reach=support_reach(weights, p, q))

    @property
    def contrasts(self) -> tuple[Contrast, ...]:
        """Against bits that are all drawn with q: whatever the answer, at least (1 - p)/(1 - q) times
        that.
        """
        p, q = self.probabilities
        return (pure_contrast(q, q * q, p / q * (1 - q) / (1 - p), (1 - p) / (1 - q)),)


def unary_spread(domain: Domain, p: float, q: float, *, values: bool) -> Spread:
    """Exact variances; a group's estimate is the sum of those of its values, whose bits are independent."""
    if values:
        return pure_value_spread(domain, p, q)
    sizes = domain.group_sums(np.ones(domain.count))
    right, wrong = p * (1 - p) / (p - q) ** 2, q * (1 - q) / (p - q) ** 2
    return GroupSpread(
        domain=domain,
        inside=right + (sizes - 1) * wrong,
        outside=sizes * wrong,
        reach=reach_of(-sizes * q / (p - q), sizes * (1 - q) / (p - q)),
    )


def unary_encoding(domain: Domain, epsilon: float) -> UnaryEncoding:
    """Optimized unary encoding with at most the given epsilon."""
    epsilon, _ = checked_epsilons(epsilon, 0.0)
    if epsilon > LARGEST_EPSILON:
        raise InputError("epsilon", f"at most {LARGEST_EPSILON:g} for unary encoding", f"{epsilon:g}")
    noise = math.ceil((1 << BITS) / (math.exp(epsilon) + 1))
    # the float may have been rounded to the wrong side of a whole number
    made = UnaryEncoding(domain=domain, noise=noise)
    return made if made.epsilon <= epsilon else UnaryEncoding(domain=domain, noise=noise + 1)
