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
It travels as hexadecimal digits of one bit per value, two for each byte: a 1 for each value that is in the
set, bit 0 being the highest bit of the first digit, and 0 beyond the last value.

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
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from pbdp.errors import CannotCertifyError, InputError
from pbdp.local.blanket import AnswerPair, set_pairs
from pbdp.local.domain import CategoryDomain, Codes, Domain
from pbdp.local.estimators import SetReports
from pbdp.local.integer_weights import (
    SHAVE,
    certified,
    checked_epsilon,
    epsilon_of,
    largest_ratio,
)
from pbdp.local.limit import best_size
from pbdp.local.mechanism import CellBounds, EstimatedMechanism
from pbdp.local.region import Region
from pbdp.local.value_codes import NULL, UNKNOWN, WRONG_TYPE, is_null
from pbdp.mechanism.weights import TOTAL
from pbdp.noise.kernel import Words

# Values are numbered with 16 bits below their key, and blocks with the 16 above it: a word holds all three.
NUMBER_BITS, KEY_BITS = 16, 32
LARGEST_DOMAIN = 1 << NUMBER_BITS
LARGEST_EPSILON = 12.0
# Multiples of all sizes of sets beyond this would cost more weight than rounding does.
LARGEST_MULTIPLE = 1 << 32
# Bits that are unpacked at a time.
BLOCK = 1 << 24
DIGITS = "0123456789abcdef"


@dataclass(frozen=True, kw_only=True)
class SubsetSelection(EstimatedMechanism):
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
    def name(self) -> str:
        return "subsets in categories" if self.by_category else self.kind

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

    @cached_property
    def boost(self) -> int:
        """The weight of the sets that were chosen to hold the true value."""
        multiple = math.lcm(*self.sizes)
        return (TOTAL - self._base) // multiple * multiple

    @property
    def epsilon(self) -> float:
        blocks = set(zip(self.sizes, self.other, strict=True))
        return epsilon_of(largest_ratio((other + self.boost // size, other) for size, other in blocks))

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

    @property
    def _block_of(self) -> Codes:
        return self.estimator.at

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
            ones = self.domain.group_sums(bits.astype(np.int64))
            fits = np.all((ones == 0) | (ones == np.array(self.sizes)), axis=1)
            codes[good[rows]] = np.where(fits & (np.count_nonzero(ones, axis=1) == 1), 0, UNKNOWN)
        return codes

    @property
    def cells(self) -> int:
        """As `SetReports` has them."""
        return self.domain.count + (0 if self.by_category else len(self.domain.groups))

    def tally(self, reports: npt.NDArray[Any], codes: Codes, times: Codes | None) -> Codes:  # noqa: ARG002
        count = self.domain.count
        counts = np.zeros(self.cells, dtype=np.int64)
        for rows, bits in unpacked(reports, count):
            each = bits.astype(np.int64)
            often = np.ones(len(each), dtype=np.int64) if times is None else times[rows]
            counts[:count] += often @ each
            if not self.by_category:
                counts[count:] += often @ self.domain.group_sums(each) ** 2
        return counts

    # ------------------------------------------------------------------------------------ estimates

    @cached_property
    def estimator(self) -> SetReports:
        """The probabilities that are really drawn."""
        boost = np.full(len(self.sizes), self.boost / TOTAL)
        return SetReports(
            domain=self.domain,
            n=np.array(self.blocks, dtype=np.float64),
            d=np.array(self.sizes, dtype=np.float64),
            other=np.array(self.other) / TOTAL,
            held=boost,
            spread=np.zeros(len(boost)),
        )

    def cell_bounds(self, tally: Codes, users: int) -> list[CellBounds]:
        held, at = self.estimator, self._block_of
        least = held.far if self.by_category else np.minimum(held.same, held.own)
        counts = tally[: self.domain.count].astype(float)
        ends = {"least": least[at], "most": held.own[at]}
        return [CellBounds(counts=counts, users=users, names=self.domain.values, **ends)]

    @property
    def largest_chance(self) -> float:
        # of whole numbers: there may be more sets than a float can say
        own = [
            (other + self.boost // d) * n / (TOTAL * math.comb(n, d))
            for n, d, other in zip(self.blocks, self.sizes, self.other, strict=True)
        ]
        return max(own)

    @property
    def answer_pairs(self) -> tuple[AnswerPair, ...]:
        return set_pairs(self.estimator)

    def near_enough(self, region: Region) -> float | None:
        """Only for sets of one category: how likely that is the true one."""
        if not self.by_category or not region.of_categories:
            return None
        return float((self.estimator.never + self.estimator.boost).min())


def subset_selection(
    domain: Domain, epsilon: float, size: int | None = None, *, by_category: bool = False
) -> SubsetSelection:
    """Subset selection with at most the given epsilon; sets of the size that is best for values if none is
    given.

    `by_category` takes them from one category each, whole ones where they are no larger than `size`.
    """
    epsilon = checked_epsilon(epsilon, LARGEST_EPSILON, " for subset selection")
    chosen = best_size(domain.count, epsilon) if size is None else size
    blocks, sizes = block_sizes(domain, chosen, by_category=by_category)
    if math.lcm(*sizes) > LARGEST_MULTIPLE:
        raise CannotCertifyError("Categories of so many sizes leave no common multiple. Use smaller sets.")
    gain = math.expm1(epsilon - max(epsilon, 1.0) * SHAVE)
    boost = 1 / (1 + math.fsum(n / d for n, d in zip(blocks, sizes, strict=True)) / gain)
    other = tuple(math.ceil(boost / (d * gain) * TOTAL) for d in sizes)
    return certified(SubsetSelection(domain=domain, sizes=sizes, other=other), epsilon)


def block_sizes(domain: Domain, size: int, *, by_category: bool) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """How many values the blocks have, and the sets in them."""
    if not by_category:
        return (domain.count,), (size,)
    if not isinstance(domain, CategoryDomain):
        raise InputError("domain", "one of categories for sets in categories", "a scale")
    return domain.sizes, tuple(min(size, n) for n in domain.sizes)


# ------------------------------------------------------------------------------------ bits


def digits_of(count: int) -> int:
    """Hexadecimal digits of a report on that many values: whole bytes."""
    return 2 * (-(-count // 8))


def as_text(packed: npt.NDArray[np.uint8], like: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Reports as they travel, from their bytes; as Python's strings where they answer to objects."""
    texts = np.frombuffer(packed.tobytes().hex().encode("ascii"), dtype=f"S{2 * packed.shape[1]}")
    strings = texts.astype(np.str_)
    return strings.astype(object) if like.dtype == object else strings


def bit_codes(reports: npt.NDArray[Any], count: int, ones: int | None = None) -> Codes:
    """The number of ones of each well-formed report, or a negative code; `ones`, if given, is what it must
    be.
    """
    digits = digits_of(count)
    codes = np.array([_form(report, digits) for report in reports.tolist()], dtype=np.int64)
    good = np.flatnonzero(codes == 0)
    # all bits, also those that stand for no value
    for rows, bits in unpacked(reports[good], 4 * digits):
        found = bits[:, :count].sum(axis=1, dtype=np.int64)
        fits = ~bits[:, count:].any(axis=1) & (True if ones is None else found == ones)
        codes[good[rows]] = np.where(fits, found, UNKNOWN)
    return codes


def _form(report: object, digits: int) -> int:
    """0 for so many hexadecimal digits."""
    if not isinstance(report, str):
        return NULL if is_null(report) else WRONG_TYPE
    return 0 if len(report) == digits and not report.strip(DIGITS) else UNKNOWN


def unpacked(reports: npt.NDArray[Any], count: int) -> Iterator[tuple[slice, npt.NDArray[np.uint8]]]:
    """The bits of good reports, some rows at a time, with the rows they are."""
    joined = np.frombuffer(bytes.fromhex("".join(reports.tolist())), dtype=np.uint8)
    packed = joined.reshape(len(reports), digits_of(count) // 2)
    step = max(1, BLOCK // count)
    for start in range(0, len(packed), step):
        rows = slice(start, start + step)
        yield rows, np.unpackbits(packed[rows], axis=1, count=count)
