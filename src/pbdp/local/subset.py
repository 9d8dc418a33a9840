"""Subset selection (Wang et al. 2016; Ye and Barg 2018): a report is a set of values, often with the true
one.

The sets are of d values out of all, or *in categories*: of d_j values of one category j (of the whole
category if it has fewer). Blocks are what a set is taken from: all n = k values, or the n_j of a category. d
= 1 is plain randomized response, and whole categories are boosted response with epsilon0 = 0.

How a client draws, for k values, from 1 + ceil(k/2) random words below 2^64 (`//` rounds down):
    key[v], v = 0 .. k-1: word 1 + v // 2, its low 32 bits for even v, its high 32 bits for odd v
    line up the values of each block by key, the lower number first where two keys are equal
    u = word 0 // 4;  B_j = sum of n_i other_i over the blocks i before j, B that of all blocks;
    extra_j = boost // d_j, with boost the largest multiple of all d_j that is at most 2^62 - B
    if u < B:  j the last block with B_j <= u, start = (u - B_j) // other_j
    else:      j the block of the true value, pos its place there, i = (u - B) // extra_j,
               start = pos - i if i < d_j; else block 0 and start = 0
    report the d_j values of block j at the places start, start + 1, ..., the first place after the last
It travels as in `bits`: a 1 for each value that is in the set.

Privacy: the line-ups do not depend on the true value. Given them, a start whose places hold it has the
weight own_j = other_j + extra_j, any other start other_j, and the very first one the few that are left over
of 2^62 on top, for every true value. So no start is more than own_j/other_j times as likely for one value as
for another, whatever the keys were. With uniform keys all sets of a block are alike but for the true value,
and these laws reach the limit for values, and for values and categories at once where epsilon is large
(`limit`).

Two keys are equal with chance 2^-32, and then the line-up prefers a value by its number: the chance that a
report holds a value is off by less than 2^-31, far below what any survey can see, and however many values
there are. (Only keys equal to the true value's, or to that of the other value, move one against the other,
by n 2^-32 places in the mean at most, and a place counts for a set of d with chance 1/d where they are within
d of one another, as they are with chance 2d/n.)
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from pbdp.errors import CannotCertifyError, InputError
from pbdp.local.bits import as_text, bit_codes, unpacked
from pbdp.local.contrast import Contrast
from pbdp.local.domain import CategoryDomain, Codes, Domain
from pbdp.local.estimators import NOT_KNOWABLE, group_rows, grouped_estimates, pure_estimates
from pbdp.local.intervals import PureCounts, pure_counts
from pbdp.local.law import SHAVE, checked_epsilons, epsilon_of, largest_ratio
from pbdp.local.limit import best_size
from pbdp.local.lookup import UNKNOWN
from pbdp.local.mechanism import CATEGORY, MEAN, VALUE, CellBounds, LocalMechanism
from pbdp.local.region import Region
from pbdp.local.sets import Chances, chances_of, subset_contrasts, subset_spread, weighted_spread
from pbdp.local.spread import Spread
from pbdp.mechanism.weights import TOTAL
from pbdp.noise.kernel import Array, Words

# Values are numbered with 16 bits below their key, and blocks with the 16 above it: a word holds all three.
NUMBER_BITS, KEY_BITS = 16, 32
LARGEST_DOMAIN = 1 << NUMBER_BITS
LARGEST_EPSILON = 12.0
# Multiples of all sizes of sets beyond this would cost more weight than rounding does.
LARGEST_MULTIPLE = 1 << 32


@dataclass(frozen=True, kw_only=True)
class SubsetSelection(LocalMechanism):
    """Sets of sizes[j] values of block j: of all values if there is one size, else of each category."""

    kind: ClassVar[str] = "subset selection"
    sizes: tuple[int, ...]
    other: tuple[int, ...]

    def __post_init__(self) -> None:
        if self.domain.count > LARGEST_DOMAIN:
            most = f"at most {LARGEST_DOMAIN:,} for subset selection"
            raise InputError("values", most, self.domain.count, "Use hashing.")
        blocks = self.blocks
        if not len(blocks) == len(self.sizes) == len(self.other):
            raise InputError("sizes", "one, or one for each category", f"{len(self.sizes)}")
        if any(not 1 <= d <= n for d, n in zip(self.sizes, blocks, strict=True)) or self.sizes == (
            self.domain.count,
        ):
            raise InputError("sizes", "from 1 to the number of values, and not all of them", "others")
        if min(self.other) < 1 or self.boost < 1:
            raise InputError("other", "above 0, leaving something of 2^62", "others")

    @property
    def by_category(self) -> bool:
        """Whether sets are of values of one category."""
        return len(self.sizes) > 1

    @property
    def blocks(self) -> tuple[int, ...]:
        """How many values each block has."""
        if not self.by_category:
            return (self.domain.count,)
        if not isinstance(self.domain, CategoryDomain):
            raise InputError("domain", "one of categories for sets in categories", "a scale")
        return self.domain.sizes

    @property
    def _base(self) -> int:
        return sum(n * other for n, other in zip(self.blocks, self.other, strict=True))

    @property
    def boost(self) -> int:
        """The weight of the sets that were chosen to hold the true value."""
        multiple = math.lcm(*self.sizes)
        return (TOTAL - self._base) // multiple * multiple

    @property
    def epsilon(self) -> float:
        columns = (
            (other + self.boost // size, other) for size, other in zip(self.sizes, self.other, strict=True)
        )
        return epsilon_of(largest_ratio(columns))

    @property
    def parameters(self) -> dict[str, Any]:
        return {"total_bits": 62, "sizes": list(self.sizes), "other": [str(w) for w in self.other]}

    @property
    def report_words(self) -> str:
        least, most = min(self.sizes), max(self.sizes)
        ones = f"{most:,}" if least == most else f"{least:,} to {most:,}"
        where = ", all of one category" if self.by_category else ""
        return f"a hexadecimal string, one bit per value, {ones} of them 1{where}"

    @classmethod
    def of_record(cls, domain: Domain, record: dict[str, Any]) -> SubsetSelection:
        given = record["parameters"]
        return cls(
            domain=domain, sizes=tuple(map(int, given["sizes"])), other=tuple(map(int, given["other"]))
        )

    # ------------------------------------------------------------------------------------ reports

    @property
    def words_per_user(self) -> int:
        return 1 + -(-self.domain.count // 2)

    @cached_property
    def _block_of(self) -> Codes:
        return np.repeat(np.arange(len(self.blocks)), self.blocks)

    def draw(self, codes: Codes, words: Words) -> npt.NDArray[Any]:
        count, rows, people = self.domain.count, np.arange(len(codes)), len(codes)
        keys = np.ascontiguousarray(words[:, 1:]).view("<u4")[:, :count].astype(np.uint64)
        keys <<= np.uint64(NUMBER_BITS)
        keys |= np.arange(count, dtype=np.uint64)
        keys |= self._block_of.astype(np.uint64) << np.uint64(NUMBER_BITS + KEY_BITS)
        own = keys[rows, codes]
        keys.sort(axis=1)
        n, d = np.array(self.blocks), np.array(self.sizes)
        first = np.cumsum(n) - n
        mine = self._block_of[codes]
        # keys are different now: as many as are below the true value's say its place
        position = (keys < own[:, None]).sum(axis=1) - first[mine]
        u = words[:, 0] >> np.uint64(2)
        edges = np.cumsum(
            [0, *(k * w for k, w in zip(self.blocks, self.other, strict=True))], dtype=np.uint64
        )
        any_block = np.searchsorted(edges[1:-1], u, side="right")
        any_start = (u - edges[any_block]) // np.array(self.other, dtype=np.uint64)[any_block]
        extra = np.array([self.boost // size for size in self.sizes], dtype=np.uint64)
        after = ((np.maximum(u, edges[-1]) - edges[-1]) // extra[mine]).astype(np.int64)
        near = after < d[mine]
        anywhere = u < edges[-1]
        block = np.where(anywhere, any_block, np.where(near, mine, 0))
        start = np.where(anywhere, any_start.astype(np.int64), np.where(near, position - after, 0))
        steps = np.arange(int(d.max()))
        places = first[block][:, None] + (start[:, None] + steps) % n[block][:, None]
        chosen = (np.take_along_axis(keys, places, axis=1) & np.uint64(LARGEST_DOMAIN - 1)).astype(np.int64)
        bits = np.zeros((people, count), dtype=np.uint8)
        # smaller sets end before the last step
        chosen = np.where(steps < d[block][:, None], chosen, chosen[:, :1])
        bits[rows[:, None], chosen] = 1
        return np.packbits(bits, axis=1)

    def published(self, internal: npt.NDArray[Any], like: npt.NDArray[Any]) -> npt.NDArray[Any]:
        return as_text(internal, like)

    def report_codes(self, reports: npt.NDArray[Any]) -> Codes:
        """0 for a well-formed report; one with another number of ones, or of several categories, is none."""
        if not self.by_category:
            return np.minimum(bit_codes(reports, self.domain.count, self.sizes[0]), 0)
        codes = np.minimum(bit_codes(reports, self.domain.count), 0)
        good = np.flatnonzero(codes == 0)
        for rows, bits in unpacked(reports[good], self.domain.count):
            ones = group_rows(self.domain, bits.astype(np.int64))
            fits = np.all((ones == 0) | (ones == np.array(self.sizes)), axis=1)
            codes[good[rows]] = np.where(fits & (np.count_nonzero(ones, axis=1) == 1), 0, UNKNOWN)
        return codes

    @property
    def cells(self) -> int:
        """Reports that hold each value, then the sum of squares of those of each group that a report
        holds.
        """
        return self.domain.count + len(self.domain.groups)

    def tally(self, reports: npt.NDArray[Any], codes: Codes, times: Codes | None) -> Codes:  # noqa: ARG002
        count = self.domain.count
        counts = np.zeros(self.cells, dtype=np.int64)
        for rows, bits in unpacked(reports, count):
            each = bits.astype(np.int64)
            often = np.ones(len(each), dtype=np.int64) if times is None else times[rows]
            counts[:count] += often @ each
            counts[count:] += often @ group_rows(self.domain, each) ** 2
        return counts

    # ------------------------------------------------------------------------------------ estimates

    @cached_property
    def chances(self) -> Chances:
        """The probabilities that are really drawn."""
        return chances_of(self.blocks, self.sizes, [w / TOTAL for w in self.other], self.boost / TOTAL)

    def cell_bounds(self, tally: Codes, users: int) -> list[CellBounds]:
        chances, count = self.chances, self.domain.count
        least = chances.far if self.by_category else np.minimum(chances.same, chances.own)
        return [
            CellBounds(
                counts=tally[:count].astype(float),
                users=users,
                least=least[self._block_of],
                most=chances.own[self._block_of],
                names=self.domain.values,
            )
        ]

    @property
    def largest_chance(self) -> float:
        # of whole numbers: there may be more sets than a float can say
        own = [
            (other + self.boost // d) * n / (TOTAL * math.comb(n, d))
            for n, d, other in zip(self.blocks, self.sizes, self.other, strict=True)
        ]
        return max(own)

    def estimates(self, kind: str, tally: Codes, users: int) -> tuple[Array, Array]:
        supports, squares = tally[: self.domain.count], tally[self.domain.count :]
        chances = self.chances
        if not self.by_category:
            pure = float(chances.own[0]), float(chances.same[0])
            if kind == VALUE:
                return pure_estimates(*pure, supports, users)
            return grouped_estimates(self.domain, pure, supports, squares, users)
        reports = squares / np.array(self.sizes) ** 2
        high, low = chances.group_coefficients()
        by_category = high * reports + low * (users - reports)
        if kind == CATEGORY:
            return by_category, high**2 * reports + low**2 * (users - reports) - by_category
        if not chances.values_known:
            raise CannotCertifyError(NOT_KNOWABLE)
        at = self._block_of
        held, inside, anyone = (coefficient[at] for coefficient in chances.value_coefficients())
        reports = reports[at]
        found = held * supports + inside * reports + anyone * users
        squared = (
            (held**2 + 2 * held * (inside + anyone)) * supports
            + (inside**2 + 2 * inside * anyone) * reports
            + anyone**2 * users
        )
        return found, np.maximum(squared - found, 0.0)

    def pure(self, kind: str, tally: Codes) -> PureCounts | None:
        chances = self.chances
        if kind == VALUE and not self.by_category:
            return pure_counts(tally[: self.domain.count], float(chances.own[0]), float(chances.same[0]))
        if kind == CATEGORY and self.by_category:
            reports = tally[self.domain.count :] / np.array(self.sizes) ** 2
            return pure_counts(reports, chances.never + chances.boost, chances.never)
        return None

    def spread(self, kind: str) -> Spread:
        if kind == MEAN:
            return self.mean_spread()
        return subset_spread(self.domain, self.chances, values=kind == VALUE)

    def weighted(self, weights: Array) -> Spread:
        return weighted_spread(self.domain, self.chances, weights)

    @property
    def contrasts(self) -> tuple[Contrast, ...]:
        return subset_contrasts(self.chances)

    def near_enough(self, region: Region) -> float | None:
        """Only for sets of one category: how likely that is the true one."""
        if not self.by_category or not region.of_categories:
            return None
        return float((self.chances.never + self.chances.boost).min())


def subset_selection(
    domain: Domain, epsilon: float, size: int | None = None, *, by_category: bool = False
) -> SubsetSelection:
    """Subset selection with at most the given epsilon; sets of the size that is best for values if none is
    given.

    `by_category` takes them from one category each, whole ones where they are no larger than `size`.
    """
    epsilon, _ = checked_epsilons(epsilon, 0.0)
    if epsilon > LARGEST_EPSILON:
        raise InputError("epsilon", f"at most {LARGEST_EPSILON:g} for subset selection", repr(epsilon))
    chosen = best_size(domain.count, epsilon) if size is None else size
    blocks, sizes = block_sizes(domain, chosen, by_category=by_category)
    if math.lcm(*sizes) > LARGEST_MULTIPLE:
        raise CannotCertifyError("Categories of so many sizes leave no common multiple. Use smaller sets.")
    gain = math.expm1(epsilon - max(epsilon, 1.0) * SHAVE)
    boost = 1 / (1 + math.fsum(n / d for n, d in zip(blocks, sizes, strict=True)) / gain)
    other = tuple(math.ceil(boost / (d * gain) * TOTAL) for d in sizes)
    made = SubsetSelection(domain=domain, sizes=sizes, other=other)
    if made.epsilon > epsilon:
        raise CannotCertifyError("No integer weights hold this epsilon. Use a larger one.")
    return made


def block_sizes(domain: Domain, size: int, *, by_category: bool) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """How many values the blocks have, and the sets in them."""
    if not by_category:
        return (domain.count,), (size,)
    if not isinstance(domain, CategoryDomain):
        raise InputError("domain", "one of categories for sets in categories", "a scale")
    return domain.sizes, tuple(min(size, n) for n in domain.sizes)
