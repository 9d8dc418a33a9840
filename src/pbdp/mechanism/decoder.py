"""A decoder: the public map from a noisy number to the number that is published.

Noise whose law does not depend on the answer is added to the answer, and y = D(noisy) is published, for a map
D that stands in the plan. D sees the noisy number only, so the privacy is that of the noise. It pays where
some outputs are acceptable to more answers than others: relative widths, and ranges.

**Parts.** Each noisy grid point z stands for `parts` equally likely ones, z·parts, ..., z·parts + parts - 1,
and D may tell them apart. That is a public coin added to the noisy number, again at no cost. Weights of the
noise are multiples of `parts`, so that the table that is drawn from splits every weight evenly.

**The confidence.** D never falls. So the noisy numbers whose output is acceptable for the answer Q, from L(Q)
to U(Q), are one interval, a <= noisy < b, with a the first one whose output is L(Q) or more and b the first
whose output is above U(Q). Their weight is a difference of two sums over the table, a whole number. It is
computed for every answer that the plan serves. Where answers have no end, D(noisy) = floor(noisy/parts)
from some point e on. For an answer whose acceptable outputs are all e or more, a and b are L(Q) and U(Q) + 1
themselves, in parts: its output is acceptable whenever the noise stays within its offsets. So it is for every
answer beyond the last one that e is acceptable for; and for every Q >= e + r, r the reach of the noise, as
its output is the answer plus noise. All of them have at least the weight within the least of their offsets,
and the answers before are finitely many. Downwards it is the same.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pbdp.errors import CannotCertifyError, InputError
from pbdp.mechanism.region import Region
from pbdp.mechanism.weights import WeightTable
from pbdp.noise.kernel import Index

MOST_PARTS = 128
MOST_OUTPUTS = 1 << 16
# Beyond every noisy number: answers are at most 2^52 steps from 0, in at most 2^7 parts each.
FAR = 1 << 60
_FURTHEST = 1 << 52
# Answers that are looked at one by one.
MOST_ANSWERS = 1 << 22


@dataclass(frozen=True, slots=True, kw_only=True)
class Decoder:
    """D(noisy) = outputs[k] for noisy parts from edges[k] to edges[k + 1] - 1.

    Answers go from `first` to `last`. Beyond the edges the output stays the same at an end where answers have
    one, and is the noisy number itself where they have none (None). All outputs are in steps of the grid.
    """

    parts: int
    edges: tuple[int, ...]
    outputs: tuple[int, ...]
    first: int | None
    last: int | None
    _edges: Index = field(init=False, repr=False, compare=False)
    _outputs: Index = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        ends = [end for end in (self.first, self.last) if end is not None]
        numbers = (self.parts, *self.edges, *self.outputs, *ends)
        if set(map(type, numbers)) != {int} or not _are_near(numbers):
            raise InputError("decoder", "a table of whole numbers", "something else")
        if not 1 <= self.parts <= MOST_PARTS or self.parts & (self.parts - 1):
            raise InputError("decoder", f"of 1 to {MOST_PARTS} parts, a power of two", self.parts)
        if not 1 <= len(self.outputs) <= MOST_OUTPUTS or len(self.edges) != len(self.outputs) + 1:
            raise InputError("decoder", f"a table of 1 to {MOST_OUTPUTS} outputs", len(self.outputs))
        object.__setattr__(self, "_edges", np.array(self.edges, dtype=np.int64))
        object.__setattr__(self, "_outputs", np.array(self.outputs, dtype=np.int64))
        rises = bool(np.all(np.diff(self._edges) > 0) and np.all(np.diff(self._outputs) > 0))
        low = self.first is not None or (self.edges[0] - 1) // self.parts <= self.outputs[0]
        high = self.last is not None or self.outputs[-1] <= self.edges[-1] // self.parts
        if not (rises and low and high and (len(ends) < 2 or ends[0] <= ends[1])):
            raise InputError("decoder", "a map that never falls", "one that does")

    @classmethod
    def constant(cls, output: int, parts: int, first: int | None, last: int | None) -> Decoder:
        """One output; where answers have no end, all other noisy numbers are published as they are."""
        edges = (output * parts, (output + 1) * parts)
        return cls(parts=parts, edges=edges, outputs=(output,), first=first, last=last)

    @property
    def is_constant(self) -> bool:
        """Whether the same number is published whatever the answer is."""
        return self.first is not None and self.last is not None and len(self.outputs) == 1

    def output_of(self, noisy: Index) -> Index:
        """The output of each noisy part."""
        place = np.searchsorted(self._edges, noisy, side="right") - 1
        found = self._outputs[np.minimum(np.maximum(place, 0), len(self.outputs) - 1)]
        if self.first is None:
            found = np.where(noisy < self.edges[0], noisy // self.parts, found)
        if self.last is None:
            found = np.where(noisy >= self.edges[-1], noisy // self.parts, found)
        return np.asarray(found)

    def first_noisy(self, outputs: Index) -> Index:
        """For each output y the first noisy part whose output is no less; -FAR if all are, FAR if none is."""
        place = np.searchsorted(self._outputs, outputs)
        itself, found = outputs * self.parts, self._edges.take(place)
        low = np.minimum(itself, self.edges[0]) if self.first is None else -FAR
        high = np.maximum(itself, self.edges[-1]) if self.last is None else FAR
        np.copyto(found, low, where=place == 0)
        np.copyto(found, high, where=place == len(self.outputs))
        return found

    def noisy_range(self, output: int) -> tuple[int, int]:
        """The first and the last noisy part with this output; the last comes first where there is none."""
        first, stop = self.first_noisy(np.array([output, output + 1], dtype=np.int64)).tolist()
        return first, stop - 1

    def law(self, table: WeightTable, answer: int) -> Index:
        """The weight of each output for an answer, where answers have ends."""
        edges = self.first_noisy(self._outputs)[1:] - answer * self.parts - table.start
        ends = np.concatenate(([0], np.clip(edges, 0, len(table.weights)), [len(table.weights)]))
        sums = np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(table.weights)))
        return np.diff(sums[ends])

    def weights(self, table: WeightTable, region: Region) -> tuple[Index, Index]:
        """Answers, and the weight of what is acceptable for each: all others have as much as one of these.

        `table` is the law of the noise in parts, `region` the requirement in steps.
        """
        low, high = self._looked_at(table, region)
        if high - low >= MOST_ANSWERS:
            raise CannotCertifyError(
                "A decoder for so many answers takes too long to check. Use a coarser step."
            )
        answers = np.arange(low, high + 1, dtype=np.int64)
        lowest, highest = acceptable(region, answers)
        sums = np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(table.weights)))
        origin = answers * self.parts + table.start

        def before(noisy: Index) -> Index:
            return np.asarray(sums.take(noisy - origin, mode="clip"))

        found = before(self.first_noisy(highest + 1)) - before(self.first_noisy(lowest))
        # the whole part of noise in parts is the noise in steps
        for end, beyond, place in ((self.first, (-np.inf, low), 0), (self.last, (high, np.inf), -1)):
            if end is None:
                offsets = region.offset_range(*(np.array([float(edge)]) for edge in beyond))
                below, above = (np.floor(least[0]) for least in (offsets.below_least, offsets.above_least))
                inside = table.weight_within(below * self.parts, (above + 1) * self.parts - 1)
                found[place] = min(int(found[place]), inside)
        return answers, found

    def _looked_at(self, table: WeightTable, region: Region) -> tuple[int, int]:
        """The answers beyond which nothing but the noise itself is published that is acceptable."""
        reach = max(-table.start, table.stop) // self.parts + 2
        first, last = self.edges[0] // self.parts, -(-self.edges[-1] // self.parts)
        low, high = first - reach, last + reach
        accepting = region.inverse(np.array([first, last], dtype=np.float64))
        if accepting is not None:
            low = max(low, math.floor(accepting[0][0]) - 1)
            high = min(high, math.ceil(accepting[1][1]) + 1)
        return low if self.first is None else self.first, high if self.last is None else self.last

    def record(self) -> dict[str, Any]:
        """The decoder as JSON."""
        tables = {"edges": list(self.edges), "outputs": list(self.outputs)}
        return {"parts": self.parts, "first": self.first, "last": self.last, **tables}

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Decoder:
        """The decoder of its record."""
        own = {name: record[name] for name in ("parts", "first", "last")}
        return cls(**own, edges=tuple(record["edges"]), outputs=tuple(record["outputs"]))


def _are_near(numbers: tuple[int, ...]) -> bool:
    """Whether all are steps that a decoder may be told of."""
    try:
        sizes = np.array(numbers, dtype=np.int64)
    except OverflowError:
        return False
    return bool(sizes.max() <= _FURTHEST and sizes.min() >= -_FURTHEST)


def acceptable(region: Region, answers: Index) -> tuple[Index, Index]:
    """The lowest and the highest output step that is acceptable for each answer step."""
    below, above = region.offsets(answers.astype(np.float64))
    reach = [np.floor(np.minimum(offset, float(_FURTHEST))).astype(np.int64) for offset in (below, above)]
    return answers - reach[0], answers + reach[1]
