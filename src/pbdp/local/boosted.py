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
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from pbdp.local.contrast import Contrast, response_contrasts
from pbdp.local.domain import CategoryDomain, Codes, Domain
from pbdp.local.estimators import (
    exact_bincount,
    response_estimates,
    response_spread,
    response_weighted,
)
from pbdp.local.intervals import PureCounts, pure_counts
from pbdp.local.law import IntegerLaw, Shares, integer_law, part_sizes, part_values
from pbdp.local.mechanism import CATEGORY, MEAN, VALUE, CellBounds, LocalMechanism
from pbdp.local.region import Region
from pbdp.local.spread import Spread
from pbdp.mechanism.weights import TOTAL
from pbdp.noise.kernel import Array, Words

SPARE_BITS = np.uint64(2)
# Up to so many different divisors, one division by each is faster than a division by an array.
FEW = 4
# Entries of a table of all neighborhoods that still fits into the processor's cache.
LARGEST_TABLE = 1 << 16


@dataclass(frozen=True, kw_only=True)
class BoostedResponse(LocalMechanism):
    """The paper's randomizer, for categories of any sizes and for scales; epsilon0 = epsilon is plain GRR."""

    kind: ClassVar[str] = "boosted response"
    law: IntegerLaw
    # what was asked for; the law says what is drawn
    epsilon0: float = field(compare=False)

    def __post_init__(self) -> None:
        self.law.check(self.domain)

    @cached_property
    def epsilon(self) -> float:
        return self.law.epsilon(self.domain)

    @property
    def distance(self) -> Fraction:
        return self.law.distance(self.domain)

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
    def report_words(self) -> str:
        return "one of the values"

    @classmethod
    def of_record(cls, domain: Domain, record: dict[str, Any]) -> BoostedResponse:
        parameters = record["parameters"]
        law = IntegerLaw(**{k: tuple(map(int, parameters[k])) for k in ("own", "near", "far")})
        return cls(domain=domain, law=law, epsilon0=float(record["epsilon0"]))

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

    def cell_bounds(self, tally: Codes, users: int) -> list[CellBounds]:
        own, far = (np.repeat(part, part_values(self.domain)) for part in (self.shares.own, self.shares.far))
        return [
            CellBounds(counts=tally.astype(float), users=users, least=far, most=own, names=self.domain.values)
        ]

    def estimates(self, kind: str, tally: Codes, users: int) -> tuple[Array, Array]:
        return response_estimates(self.domain, self.shares, tally, users, values=kind == VALUE)

    def pure(self, kind: str, tally: Codes) -> PureCounts | None:
        """Categories; and values where none is nearer than others, as in plain response."""
        domain, shares = self.domain, self.shares
        if not isinstance(domain, CategoryDomain):
            return None
        if kind == CATEGORY:
            never = np.array(domain.sizes) * np.array(shares.far)
            return pure_counts(domain.group_sums(tally.astype(np.float64)), never + shares.boost, never)
        alone = all(
            n == 1 or near == far
            for n, near, far in zip(domain.sizes, self.law.near, self.law.far, strict=True)
        )
        own, far = (np.array(part)[domain.category_of] for part in (shares.own, shares.far))
        return pure_counts(tally, own, far) if alone else None

    def spread(self, kind: str) -> Spread:
        if kind == MEAN:
            return self.mean_spread()
        return response_spread(self.domain, self.shares, values=kind == VALUE)

    def weighted(self, weights: Array) -> Spread:
        return response_weighted(self.domain, self.shares, weights)

    @property
    def contrasts(self) -> tuple[Contrast, ...]:
        shares = self.shares
        return response_contrasts(self.domain, shares.own, shares.near, shares.far)

    def near_enough(self, region: Region) -> float:
        return response_near(self.domain, self.shares, region)


def boosted_response(domain: Domain, epsilon: float, epsilon0: float) -> BoostedResponse:
    """The randomizer with the given epsilon (an upper bound: the certified one may be 1e-12 less)."""
    return BoostedResponse(
        domain=domain, law=integer_law(domain, epsilon, epsilon0), epsilon0=float(epsilon0)
    )


def response_near(domain: Domain, shares: Shares, region: Region) -> float:
    """How likely a report is in the region of the true value, for the worst value."""
    own, near, far = (np.repeat(part, part_values(domain)) for part in (shares.own, shares.near, shares.far))
    if region.ring:
        both = np.minimum(region.size, domain.size)
        anywhere = region.size * far
    else:
        end = np.minimum(region.start + region.size, domain.start + domain.size)
        both = np.maximum(end - np.maximum(region.start, domain.start), 0)
        sums = np.concatenate([[0.0], np.cumsum(far)])
        anywhere = sums[region.start + region.size] - sums[region.start]
    # the region holds the value itself, and so does what is near it
    return float((anywhere + (both - 1) * (near - far) + (own - far)).min())


# --------------------------------------------------------------------------- for many people at once


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Arithmetic:
    """What the divisions need to know; neighboring categories with the same weights are one block.

    Block i has the reports from `firsts[i]` on, for u from `edges[i]` on, `far[i]` for each. In class c, a
    code's report is the value itself for u below `lows[c] + near[c]`, and then one place further for each
    `near[c]`; `class_of` says the class of each code. `table`, if any, holds the report for each code and
    place.
    """

    domain: Domain
    edges: Words
    firsts: Codes
    far: Words
    base: np.uint64
    lows: Words
    near: Words
    class_of: npt.NDArray[np.intp]
    table: Codes | None
    # plain randomized response has no report that is near but not the value
    only_itself: bool
    # whether most reports are near the true value: a matter of the law, not of the people
    mostly_near: bool

    def reports(self, codes: Codes, u: Words) -> Codes:
        """Report codes for numbers u below 2^62. What is computed depends on u only, not on the codes."""
        made = self._independent(u)
        if self.mostly_near:
            return _chosen(_at_least(u, self.base), self._nearby(codes, u), made)
        near = np.flatnonzero(u >= self.base)
        made[near] = self._nearby(codes[near], u[near])
        return np.asarray(made)

    def _independent(self, u: Words) -> Codes:
        """Reports that do not depend on the true value; without meaning where u is beyond the base."""
        if len(self.far) > FEW:
            block = np.searchsorted(self.edges, u, side="right") - 1
            return np.asarray(
                self.firsts[block] + ((u - self.edges[block]) // self.far[block]).view(np.int64)
            )
        made = (u // self.far[0]).view(np.int64)
        for edge, first, far in zip(self.edges[1:], self.firsts[1:], self.far[1:], strict=True):
            # below the edge the difference wraps round, and is not taken
            made = _chosen(_at_least(u, edge), ((u - edge) // far).view(np.int64) + first, made)
        return np.asarray(made)

    def _nearby(self, codes: Codes, u: Words) -> Codes:
        """Reports near the true value, itself included; without meaning where u is below the base."""
        if self.only_itself:
            return codes
        places = self._places(codes, u)
        if self.table is not None:
            places += codes * (len(self.table) // self.domain.count)
            # places are below the width, so `clip` never clips: it only spares the check
            return np.take(self.table, places, mode="clip")
        places += self.domain.position[codes]
        size = self.domain.size[codes]
        places -= size & ~((places - size) >> 63)
        places += self.domain.start[codes]
        places -= self.domain.count & ~((places - self.domain.count) >> 63)
        return np.asarray(places)

    def _places(self, codes: Codes, u: Words) -> Codes:
        """How many places after the true value the report is; 0 for the value itself."""
        if len(self.near) > FEW:
            kind = self.class_of[codes]
            return _divided(u, self.lows[kind], self.near[kind])
        places = _divided(u, self.lows[0], self.near[0])
        if len(self.near) > 1:
            kind = self.class_of[codes]
            for number in range(1, len(self.near)):
                others = _divided(u, self.lows[number], self.near[number])
                places = _chosen(-(kind == number).astype(np.int64), others, places)
        return places


def _at_least(u: Words, limit: np.uint64) -> Codes:
    """All bits 1 where u >= limit, else 0; both are below 2^62."""
    return np.asarray((limit - np.uint64(1) - u).view(np.int64) >> 63)


def _chosen(mask: Codes, first: Codes, second: Codes) -> Codes:
    """The first where the bits of the mask are 1, else the second: no branch for a processor to foresee."""
    made = first ^ second
    made &= mask
    made ^= second
    return made


def _divided(u: Words, low: Words | np.uint64, near: Words | np.uint64) -> Codes:
    return np.asarray(((np.maximum(u, low) - low) // near).view(np.int64))


def arithmetic_of(domain: Domain, law: IntegerLaw) -> Arithmetic:
    """The arithmetic of a law."""
    values, sizes = part_values(domain), part_sizes(domain)
    changes = [part for part, (a, b) in enumerate(pairwise(law.far), start=1) if a != b]
    starts = [0, *changes]
    sums = np.cumsum([0, *(n * far for n, far in zip(values, law.far, strict=True))])
    firsts = np.cumsum([0, *values])
    base = int(sums[-1])
    # where near equals far nothing is left to divide, but numpy divides all
    near = [max(near - far, 1) for near, far in zip(law.near, law.far, strict=True)]
    lows = [base + own - far - step for own, far, step in zip(law.own, law.far, near, strict=True)]
    weights = list(zip(lows, near, strict=True))
    table = _table(domain)
    if table is not None and max(sizes) > 1:
        # whatever its place, the table gives a value alone in its category itself: it joins another class
        usual = weights[sizes.index(max(sizes))]
        weights = [own if size > 1 else usual for own, size in zip(weights, sizes, strict=True)]
    classes = {pair: number for number, pair in enumerate(dict.fromkeys(weights))}
    return Arithmetic(
        domain=domain,
        edges=sums[starts].astype(np.uint64),
        firsts=firsts[starts].astype(np.int64),
        far=np.array([law.far[part] for part in starts], dtype=np.uint64),
        base=np.uint64(base),
        lows=np.array([low for low, _ in classes], dtype=np.uint64),
        near=np.array([step for _, step in classes], dtype=np.uint64),
        class_of=np.repeat([classes[pair] for pair in weights], values).astype(np.intp),
        table=table,
        only_itself=all(
            size == 1 or near == far for size, near, far in zip(sizes, law.near, law.far, strict=True)
        ),
        mostly_near=2 * base < TOTAL,
    )


def _table(domain: Domain) -> Codes | None:
    """The code `place` places after each code in its neighborhood, or None for large domains."""
    width = int(domain.size.max())
    if domain.count * width > LARGEST_TABLE:
        return None
    places = (domain.position[:, None] + np.arange(width)) % domain.size[:, None]
    return ((domain.start[:, None] + places) % domain.count).ravel()
