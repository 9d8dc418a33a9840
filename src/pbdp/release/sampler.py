"""Noise for answers on the grid, drawn from the very table that was accounted.

An alias table holds any law of integer weights as equally likely buckets of two values each. Walker (1977),
in whole numbers: 2^k buckets of capacity 2^(62-k), so that every weight is kept exactly. The first k bits of
a random word choose the bucket and the others one of its two values; there is nothing to reject, and the
time is the same for every word.

Laws that change with the answer but have few answers or cells have an alias table for every answer. All of
them are made at the first release, whatever its answer is, so that neither making nor keeping them tells
anything. A draw is then one look-up, as for a law that only moves.

**Time.** Claimed: given the noisy number, the time of a release does not depend on the answer, if it comes as
a Python float, a number of numpy's (but for `longdouble`), an array of these, or a Python whole number of 64
bits. All of these are machine words from the first step on, and every step from there to the noisy number is
the same for all words: no branch, no search whose length depends on one, no table that is made for one. What
remains of a Python whole number is that Python reads its digits of 30 bits one by one, 1 or 2 ns each.
`tests/release/test_sampler_timing.py` measures it. Not claimed: anything about `Decimal`, `Fraction`,
`longdouble`, larger whole numbers and lists of mixed types, which are looked at with all their digits; about
the caches and the power draw of the processor; about the query that found the answer. What comes after
(decoding, giving the published number back in a type, writing and storing it) depends on the noisy number
alone.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pbdp.mechanism.design import AnyDesign
from pbdp.mechanism.region import Region
from pbdp.mechanism.reweighted import ReweightedTable
from pbdp.mechanism.weights import BITS, TOTAL, WeightTable
from pbdp.noise.kernel import Index, Words
from pbdp.release.keystream import SLACK, WORD, Keystream

# Words looked up at a time: their intermediate values stay in the processor's cache.
CHUNK = 1 << 15
_ZEROS = memoryview(bytes(CHUNK * WORD))
# Buckets of all tables together: 16 MB of memory, and about a quarter of a second to make them.
MOST_BUCKETS = 1 << 20
MOST_ANSWERS = 1 << 12


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AliasTable:
    """Bucket i holds values[2i] where the rest of the word is below thresholds[i], else values[2i + 1].

    The rest of the word is taken as a fraction of 2^64. A bucket with one value has the threshold 0.
    """

    bits: int
    thresholds: Words
    # 32 bits, so that large tables stay in the processor's cache
    values: npt.NDArray[np.int32]

    def value_of(self, word: int) -> int:
        """The value that one word stands for."""
        bucket = word >> (64 - self.bits)
        rest = (word << self.bits) & 0xFFFF_FFFF_FFFF_FFFF
        return int(self.values.item(2 * bucket + (rest >= self.thresholds.item(bucket))))

    def weights(self) -> dict[int, int]:
        """The weight of every value, added up over the buckets: what the table really draws."""
        capacity = 1 << (BITS - self.bits)
        found: dict[int, int] = {}
        for bucket, threshold in enumerate(self.thresholds.tolist()):
            first = threshold >> (64 - BITS + self.bits)
            for value, weight in ((2 * bucket, first), (2 * bucket + 1, capacity - first)):
                key = int(self.values[value])
                found[key] = found.get(key, 0) + weight
        return {value: weight for value, weight in found.items() if weight}

    def draw(self, count: int, keystream: Keystream) -> Index:
        """That many values."""
        drawn = np.empty(count, dtype=np.int64)
        stream = keystream.stream()
        room = min(count, CHUNK)
        buffer = bytearray(room * WORD + SLACK)
        words = np.frombuffer(buffer, dtype="<u8", count=room)
        places = np.empty(room, dtype=np.int64)
        limits = np.empty(room, dtype=np.uint64)
        second = np.empty(room, dtype=np.bool_)
        values = np.empty(room, dtype=np.int32)
        bits, rest = np.uint64(self.bits), np.uint64(64 - self.bits)
        for start in range(0, count, CHUNK):
            size = min(CHUNK, count - start)
            word, place, limit = words[:size], places[:size], limits[:size]
            is_second, value = second[:size], values[:size]
            stream.fill(buffer, _ZEROS[: size * WORD])
            np.right_shift(word, rest, out=place.view(np.uint64))
            # places are below 2^bits, so `clip` never clips: it only spares the check
            np.take(self.thresholds, place, out=limit, mode="clip")
            np.left_shift(word, bits, out=word)
            np.greater_equal(word, limit, out=is_second)
            np.left_shift(place, 1, out=place)
            np.add(place, is_second, out=place)
            np.take(self.values, place, out=value, mode="clip")
            drawn[start : start + size] = value
        return drawn


def bits_for(cells: int) -> int:
    """The logarithm of the number of buckets that so many cells need."""
    return max(1, (cells - 1).bit_length())


def alias_table(table: WeightTable, bits: int | None = None) -> AliasTable:
    """The alias table of a table of weights, without a loop (Hübschle-Schneider and Sanders 2022, sweeping).

    Light cells (weight below the capacity c) are topped up by heavy ones, both in order. With D the running
    sum of what the light ones lack and E that of what the heavy ones have beyond c, light cell i takes from
    the first heavy cell whose E is above D(i-1). Heavy cell j is left with c + E(j) - D(i) <= c after the
    first light cell i with D(i) >= E(j), and is topped up by heavy cell j + 1.
    """
    weights = table.weights
    bits = bits_for(len(weights)) if bits is None else bits
    capacity = TOTAL >> bits
    padded = np.zeros(1 << bits, dtype=np.int64)
    padded[: len(weights)] = weights
    heavy = np.flatnonzero(padded > capacity)
    light = np.flatnonzero(padded <= capacity)
    kept, partner = padded, np.arange(len(padded))
    if heavy.size:
        lacking = np.cumsum(capacity - padded[light])
        beyond = np.cumsum(padded[heavy] - capacity)
        before = np.concatenate(([0], lacking[:-1]))
        giver = np.minimum(np.searchsorted(beyond, before, side="right"), len(heavy) - 1)
        partner[light] = heavy[giver]
        last = np.searchsorted(lacking, beyond, side="left")
        kept[heavy] = capacity + beyond - lacking[last]
        partner[heavy[:-1]] = heavy[1:]
    full = kept == capacity
    partner[full] = np.flatnonzero(full)
    thresholds = np.where(full, 0, kept).astype(np.uint64) << np.uint64(64 - BITS + bits)
    values = np.empty(2 * len(padded), dtype=np.int32)
    values[0::2] = np.arange(len(padded)) + table.start
    values[1::2] = partner + table.start
    return AliasTable(bits=bits, thresholds=thresholds, values=values)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class StackedTables:
    """One alias table for each of the answers first, ..., last; those beyond have the law of the nearest."""

    first: int
    last: int
    bits: int
    thresholds: Words
    values: npt.NDArray[np.int32]

    def many(self, answers: Index, words: Words) -> Index:
        """The noise for many answers, a word each."""
        start = (np.minimum(np.maximum(answers, self.first), self.last) - self.first) << self.bits
        bucket = start + (words >> np.uint64(64 - self.bits)).astype(np.int64)
        rest = words << np.uint64(self.bits)
        found: Index = self.values[2 * bucket + (rest >= self.thresholds[bucket])].astype(np.int64)
        return found

    def table(self, answer: int) -> AliasTable:
        """The alias table of one answer."""
        row = min(max(answer, self.first), self.last) - self.first
        size = 1 << self.bits
        return AliasTable(
            bits=self.bits,
            thresholds=self.thresholds[row * size : (row + 1) * size],
            values=self.values[2 * row * size : 2 * (row + 1) * size],
        )


def stacked_tables(design: AnyDesign) -> StackedTables | None:
    """The tables of all answers, or None if they are too many."""
    cells = design.laws().cells
    first, last = _answers(design, cells)
    bits = bits_for(cells)
    count = last - first + 1
    if count > MOST_ANSWERS or count << bits > MOST_BUCKETS:
        return None
    tables = [alias_table(design.table_at(float(answer)), bits) for answer in range(first, last + 1)]
    return StackedTables(
        first=first,
        last=last,
        bits=bits,
        thresholds=np.concatenate([table.thresholds for table in tables]),
        values=np.concatenate([table.values for table in tables]),
    )


def _answers(design: AnyDesign, cells: int) -> tuple[int, int]:
    """The answers whose laws differ."""
    low, high = design.region.answers
    furthest = float(np.ceil(design.region.settled_from(cells))) + 1
    return int(max(low, -furthest)), int(min(high, furthest))


class NoiseSampler(ABC):
    """From answers on the grid to the steps that are published, before clamping.

    Each answer has kernel noise of its own; what is published is answer, offset and noise, in parts.
    """

    __slots__ = ()

    offset: int
    parts: int

    @abstractmethod
    def many(self, answers: Index, keystream: Keystream) -> Index:
        """Independent noise for each answer."""

    @abstractmethod
    def row(self, answer: Index, keystream: Keystream) -> Index:
        """Noise for a row of one answer.

        The answer stays a machine word: Python keeps small integers, so that its time would tell them apart.
        """

    def outputs(self, answers: Index, keystream: Keystream) -> Index:
        """The output steps of the answers."""
        return self._around(answers, self.many(answers, keystream))

    def output(self, answer: Index, keystream: Keystream) -> Index:
        """The output step of a row of one answer."""
        return self._around(answer, self.row(answer, keystream))

    def _around(self, answers: Index, drawn: Index) -> Index:
        """The noise, moved to where the answers are."""
        drawn += answers if self.parts == 1 else answers * self.parts
        if self.offset:
            drawn += self.offset
        return drawn


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MovingSampler(NoiseSampler):
    """One law for all answers."""

    table: AliasTable
    offset: int = 0
    parts: int = 1

    def row(self, answer: Index, keystream: Keystream) -> Index:  # noqa: ARG002 - the law does not depend on it
        return np.array([self.table.value_of(keystream.word())], dtype=np.int64)

    def many(self, answers: Index, keystream: Keystream) -> Index:
        return self.table.draw(len(answers), keystream)


class _OneWordEach(NoiseSampler):
    """Answers and words side by side, in parts that stay in the processor's cache."""

    __slots__ = ()

    @abstractmethod
    def _noise(self, answers: Index, words: npt.NDArray[np.uint64]) -> Index:
        """The noise for each answer, from its word."""

    def many(self, answers: Index, keystream: Keystream) -> Index:
        drawn = np.empty(len(answers), dtype=np.int64)
        stream = keystream.stream()
        room = min(len(answers), CHUNK)
        buffer, zeros = bytearray(room * WORD + SLACK), memoryview(bytes(room * WORD))
        words = np.frombuffer(buffer, dtype="<u8", count=room)
        for start in range(0, len(answers), CHUNK):
            part = answers[start : start + CHUNK]
            stream.fill(buffer, zeros[: len(part) * WORD])
            drawn[start : start + len(part)] = self._noise(part, words[: len(part)])
        return drawn


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class StackedSampler(_OneWordEach):
    """A law for each answer, all of them in tables."""

    tables: StackedTables
    offset: int = 0
    parts: int = 1

    def row(self, answer: Index, keystream: Keystream) -> Index:
        return self.tables.many(answer, np.array([keystream.word()], dtype=np.uint64))

    def _noise(self, answers: Index, words: npt.NDArray[np.uint64]) -> Index:
        return self.tables.many(answers, words)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ReweightedSampler(_OneWordEach):
    """A law for each answer, too many for tables of all: each draw is a search in the base table."""

    table: ReweightedTable
    region: Region
    offset: int = 0
    parts: int = 1

    def row(self, answer: Index, keystream: Keystream) -> Index:
        (below,), (above,) = self.region.offsets(answer.astype(np.float64))
        return np.array([self.table.one_noise_at(keystream.word(), float(below), float(above))])

    def _noise(self, answers: Index, words: npt.NDArray[np.uint64]) -> Index:
        return self.table.noise_at(words, *self.region.offsets(answers.astype(np.float64)))


def sampler_of(design: AnyDesign) -> NoiseSampler:
    """The sampler of a design's table."""
    if design.follows_answer:
        return MovingSampler(
            table=alias_table(design.drawn_table()), offset=design.offset, parts=design.parts
        )
    tables = stacked_tables(design)
    if tables is not None:
        return StackedSampler(tables=tables, offset=design.offset)
    laws = design.laws()
    if not isinstance(laws, ReweightedTable):
        raise AssertionError("listed laws are few")
    return ReweightedSampler(table=laws, region=design.region, offset=design.offset)
