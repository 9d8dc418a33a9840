"""Noise for answers on the grid, drawn from the very table that was accounted.

Laws that change with the answer but have few answers or cells have an alias table for every answer. All of
them are made at the first release, whatever its answer is, so that neither making nor keeping them tells
anything. A draw is then one look-up, as for a law that only moves.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pbdp.mechanism.design import AnyDesign
from pbdp.mechanism.region import Region
from pbdp.mechanism.reweighted import ReweightedTable
from pbdp.noise.kernel import Index, Words
from pbdp.release.alias import CHUNK, AliasTable, alias_table, bits_for
from pbdp.release.keystream import SLACK, WORD, Keystream

# Buckets of all tables together: 16 MB of memory, and about a quarter of a second to make them.
MOST_BUCKETS = 1 << 20
MOST_ANSWERS = 1 << 12


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
    base = design.reweighted()
    first, last = _answers(design, base.cells)
    bits = bits_for(base.cells)
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


class Sampler(ABC):
    """From answers on the grid to the steps that are published, before clamping."""

    __slots__ = ()

    @abstractmethod
    def outputs(self, answers: Index, keystream: Keystream) -> Index:
        """The output steps of the answers, each with noise of its own or all with that of one vector."""

    def output(self, answer: Index, keystream: Keystream) -> Index:
        """The output step of a row of one answer."""
        return self.outputs(answer, keystream)


class NoiseSampler(Sampler):
    """Kernel noise for each answer by itself; what is published is answer, offset and noise."""

    __slots__ = ()

    offset: int

    @abstractmethod
    def many(self, answers: Index, keystream: Keystream) -> Index:
        """Independent noise for each answer."""

    @abstractmethod
    def row(self, answer: Index, keystream: Keystream) -> Index:
        """Noise for a row of one answer.

        The answer stays a machine word: Python keeps small integers, so that its time would tell them apart.
        """

    def outputs(self, answers: Index, keystream: Keystream) -> Index:
        drawn = self.many(answers, keystream)
        drawn += answers
        if self.offset:
            drawn += self.offset
        return drawn

    def output(self, answer: Index, keystream: Keystream) -> Index:
        return self.row(answer, keystream) + (answer + self.offset)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MovingSampler(NoiseSampler):
    """One law for all answers."""

    table: AliasTable
    offset: int = 0

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

    def row(self, answer: Index, keystream: Keystream) -> Index:
        (below,), (above,) = self.region.offsets(answer.astype(np.float64))
        return np.array([self.table.one_noise_at(keystream.word(), float(below), float(above))])

    def _noise(self, answers: Index, words: npt.NDArray[np.uint64]) -> Index:
        return self.table.noise_at(words, *self.region.offsets(answers.astype(np.float64)))


def sampler_of(design: AnyDesign) -> NoiseSampler:
    """The sampler of a design's table."""
    if design.follows_answer:
        return MovingSampler(table=alias_table(design.table_at(0.0)), offset=design.offset)
    tables = stacked_tables(design)
    if tables is not None:
        return StackedSampler(tables=tables, offset=design.offset)
    return ReweightedSampler(table=design.reweighted(), region=design.region, offset=design.offset)
