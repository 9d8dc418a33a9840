"""Boosted randomized response: a report is the true value, one near it, or any other.

How a client draws, from one random word w below 2^64 (all numbers whole, `//` rounds down):
    u = w // 4;  B = sum over categories k of n_k far_k  (a scale of N values: N far)
    if u < B:   report value number y = first_k + (u - B_k) // far_k for the last category k with B_k <= u,
                B_k being the sum of n_i far_i over the categories i before k (a scale: y = u // far)
    else:       e = u - B - (own_j - far_j), with j the category of the true value x
                if e < 0, report x
                else k = e // (near_j - far_j) and report the value 1 + k places after x in its category
                (on a scale: in its neighborhood), going on at its first value after its last
Each report has exactly the weight the configuration says: far from the first case, own - far or near - far
from the second. Only look-ups depend on the true value; which case occurs does not.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from pbdp.local.arithmetic import Arithmetic, arithmetic_of
from pbdp.local.domain import Codes, Domain
from pbdp.local.law import IntegerLaw, Shares, integer_law
from pbdp.local.mechanism import VALUE, LocalMechanism
from pbdp.local.response_estimator import response_estimates, response_spread
from pbdp.local.spread import Spread
from pbdp.noise.kernel import Array
from pbdp.release.keystream import Words

SPARE_BITS = np.uint64(2)


@dataclass(frozen=True, kw_only=True)
class BoostedResponse(LocalMechanism):
    """The paper's randomizer, for categories of any sizes and for scales; epsilon0 = epsilon is plain GRR."""

    law: IntegerLaw
    # what was asked for; the law says what is drawn
    epsilon0: float = field(compare=False)

    def __post_init__(self) -> None:
        self.law.check(self.domain)

    @property
    def kind(self) -> str:
        return "boosted response"

    @cached_property
    def epsilon(self) -> float:
        return self.law.epsilon(self.domain)

    @property
    def shares(self) -> Shares:
        """The probabilities p, p_s and p_s-bar that are drawn."""
        return self.law.shares(self.domain)

    @property
    def parameters(self) -> dict[str, Any]:
        return {
            "total_bits": 62,
            "own": [str(weight) for weight in self.law.own],
            "near": [str(weight) for weight in self.law.near],
            "far": [str(weight) for weight in self.law.far],
        }

    @property
    def words_per_user(self) -> int:
        return 1

    @cached_property
    def _arithmetic(self) -> Arithmetic:
        return arithmetic_of(self.domain, self.law)

    def draw(self, codes: Codes, words: Words) -> npt.NDArray[Any]:
        return self._arithmetic.reports(codes, words[:, 0] >> SPARE_BITS)

    def published(self, internal: npt.NDArray[Any], like: npt.NDArray[Any]) -> npt.NDArray[Any]:
        return self.lookup.restored(internal, like)

    def report_codes(self, reports: npt.NDArray[Any]) -> Codes:
        return self.lookup.codes(reports)

    @property
    def cells(self) -> int:
        return self.domain.count

    def tally(self, reports: npt.NDArray[Any], codes: Codes, times: Codes | None) -> Codes:  # noqa: ARG002
        return exact_bincount(codes, times, self.cells)

    def estimates(self, kind: str, tally: Codes, users: int) -> tuple[Array, Array]:
        return response_estimates(self.domain, self.shares, tally, users, values=kind == VALUE)

    def spread(self, kind: str) -> Spread:
        return response_spread(self.domain, self.shares, values=kind == VALUE)


def boosted_response(domain: Domain, epsilon: float, epsilon0: float) -> BoostedResponse:
    """The randomizer with the given epsilon (an upper bound: the certified one may be 1e-12 less)."""
    return BoostedResponse(
        domain=domain, law=integer_law(domain, epsilon, epsilon0), epsilon0=float(epsilon0)
    )


def exact_bincount(codes: Codes, times: Codes | None, cells: int) -> Codes:
    """How often each code occurs, in whole numbers (numpy's own weights are floats)."""
    if times is None:
        return np.bincount(codes, minlength=cells)
    counts = np.zeros(cells, dtype=np.int64)
    np.add.at(counts, codes, times)
    return counts
