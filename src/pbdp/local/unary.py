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
from typing import Any

import numpy as np
import numpy.typing as npt

from pbdp.errors import InputError
from pbdp.local.domain import Codes, Domain
from pbdp.local.estimators import pure_estimates, pure_value_spread
from pbdp.local.law import checked_epsilons, epsilon_of
from pbdp.local.lookup import NULL, UNKNOWN, WRONG_TYPE, is_null
from pbdp.local.mechanism import VALUE, LocalMechanism
from pbdp.local.spread import GroupSpread, Spread
from pbdp.noise.kernel import Array, Words

BITS = 32
HALF = np.uint32(1 << (BITS - 1))
# Beyond it noise has few bits left, and randomized response is better anyway.
LARGEST_EPSILON = 12.0
LARGEST_DOMAIN = 1 << 16
# What each character stands for as a hexadecimal digit: -1 for none, as for all beyond the table.
_DIGITS = np.full(129, -1, dtype=np.int8)
_DIGITS[[ord(digit) for digit in "0123456789abcdef"]] = np.arange(16)


@dataclass(frozen=True, kw_only=True)
class UnaryEncoding(LocalMechanism):
    """A bit is 1 with chance 1/2 for the true value, and with chance noise/2^32 for any other."""

    noise: int

    def __post_init__(self) -> None:
        if not 0 < self.noise < 1 << (BITS - 1):
            raise InputError("noise", "above 0 and below 2^31", self.noise)
        if self.domain.count > LARGEST_DOMAIN:
            raise InputError(
                "values", f"at most {LARGEST_DOMAIN:,} for unary encoding", self.domain.count, "Use hashing."
            )

    @property
    def kind(self) -> str:
        return "unary encoding"

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
    def words_per_user(self) -> int:
        return -(-self.domain.count // 2)

    @property
    def digits(self) -> int:
        """Hexadecimal digits of a report: whole bytes."""
        return 2 * (-(-self.domain.count // 8))

    def draw(self, codes: Codes, words: Words) -> npt.NDArray[Any]:
        numbers = np.ascontiguousarray(words).view("<u4")[:, : self.domain.count]
        bits = numbers < np.uint32(self.noise)
        rows = np.arange(len(codes))
        bits[rows, codes] = numbers[rows, codes] < HALF
        return np.packbits(bits, axis=1)

    def published(self, internal: npt.NDArray[Any], like: npt.NDArray[Any]) -> npt.NDArray[Any]:
        texts = np.frombuffer(internal.tobytes().hex().encode("ascii"), dtype=f"S{self.digits}")
        strings = texts.astype(np.str_)
        return strings.astype(object) if like.dtype == object else strings

    def report_codes(self, reports: npt.NDArray[Any]) -> Codes:
        """Zero for a well-formed report: the code says only whether it is one."""
        listed = reports.tolist()
        if set(map(type, listed)) != {str} or set(map(len, listed)) != {self.digits}:
            return np.fromiter(map(self._code, listed), dtype=np.int64, count=len(listed))
        points = np.frombuffer("".join(listed).encode("utf-32-le", "replace"), dtype="<u4")
        digit = _DIGITS[np.minimum(points, len(_DIGITS) - 1)].reshape(len(listed), self.digits)
        unused = (1 << (-self.domain.count % 8)) - 1
        ends = 16 * digit[:, -2].astype(np.int64) + digit[:, -1]
        good = np.all(digit >= 0, axis=1) & (ends & unused == 0)
        return np.where(good, 0, UNKNOWN).astype(np.int64)

    def _code(self, report: object) -> int:
        """The code of one report among others of all kinds."""
        if is_null(report):
            return NULL
        if not isinstance(report, str):
            return WRONG_TYPE
        text = np.array([str(report)], dtype=object)
        return int(self.report_codes(text)[0]) if len(report) == self.digits else UNKNOWN

    @property
    def cells(self) -> int:
        return self.domain.count

    def tally(self, reports: npt.NDArray[Any], codes: Codes, times: Codes | None) -> Codes:  # noqa: ARG002
        packed = np.frombuffer(bytes.fromhex("".join(reports.tolist())), dtype=np.uint8)
        packed = packed.reshape(len(reports), self.digits // 2)
        counts = np.zeros(self.cells, dtype=np.int64)
        step = max(1, (1 << 24) // self.cells)
        for start in range(0, len(packed), step):
            bits = np.unpackbits(packed[start : start + step], axis=1, count=self.cells)
            part = None if times is None else times[start : start + step]
            counts += bits.sum(axis=0, dtype=np.int64) if part is None else part @ bits.astype(np.int64)
        return counts

    @property
    def probabilities(self) -> tuple[float, float]:
        """How likely a bit is 1 for the true value, and for any other."""
        return 0.5, self.noise / (1 << BITS)

    def estimates(self, kind: str, tally: Codes, users: int) -> tuple[Array, Array]:
        found, variances = pure_estimates(*self.probabilities, tally, users)
        if kind == VALUE:
            return found, variances
        # bits are independent, so variances add up like the estimates
        return self.domain.group_sums(found), self.domain.group_sums(variances)

    def spread(self, kind: str) -> Spread:
        return unary_spread(self.domain, *self.probabilities, values=kind == VALUE)


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
        reach=sizes * (max(1 - q, q) / (p - q) + 1),
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
