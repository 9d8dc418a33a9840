"""Thresholds of a decoder, found upwards: the least ones, those nearest to the noisy number, what is spare.

See `thresholds` for what they are; there are about as many runs as the range of answers is times as long as
the region.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from pbdp.mechanism.decoder import FAR, Decoder
from pbdp.mechanism.weights import TOTAL, WeightTable
from pbdp.noise.kernel import Index
from pbdp.planning.sketch import Sketch, SketchedHalf

# Beyond this many runs of answers the middle of them decides, and a decoder gains less than 1 %.
MOST_RUNS = 128
# Of how many lines what is known is kept, as scales share them.
KEPT = 6


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Law:
    """Noise in parts: sums[k] is the weight of what is below start + k; `wanted` is the confidence as one.

    That of `symmetric` noise is the same seen from the other end.
    """

    sums: npt.NDArray[np.float64] | Index
    start: int
    wanted: float | int
    symmetric: bool = False

    @classmethod
    def of(cls, table: WeightTable, confidence: float) -> Law:
        """The law of integer weights, in whole numbers."""
        sums = np.zeros(len(table.weights) + 1, dtype=np.int64)
        np.cumsum(table.weights, out=sums[1:])
        wanted = math.ceil(math.ldexp(confidence, 62)) if confidence < 1 else TOTAL
        return cls(sums=sums, start=table.start, wanted=wanted, symmetric=table.is_symmetric)

    def before(self, noise: Index) -> npt.NDArray[np.float64] | Index:
        """The weight of noise below this."""
        return self.sums.take(noise - self.start, mode="clip")

    def mirrored(self) -> Law:
        """The law of -1 - noise."""
        sums = self.sums if self.symmetric else self.sums[-1] - self.sums[::-1]
        return replace(self, sums=sums, start=1 - self.start - len(sums))

    @property
    def half_width(self) -> int:
        """The least half-width that the noise keeps with the confidence by itself."""
        middle = -self.start

        def inside(reach: int) -> float:
            return float(self.sums[middle + 1 + reach] - self.sums[middle - reach])

        return bisect_left(range(min(middle, len(self.sums) - 1 - middle)), self.wanted, key=inside)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Run:
    """Answers that are worked on at once: where they lie in parts, and their lowest outputs.

    They decide the thresholds from `first` up to `end`, those in the same one of the `groups` (each told by
    its first answer) the same one, at `places` after the threshold before. Outputs count from the lowest.
    """

    origin: Index
    lowest: Index
    first: int
    end: int
    groups: Index
    places: Index

    @classmethod
    def of(cls, origin: Index, lowest: Index, above: Index, first: int, end: int) -> _Run:
        """The answers that decide these thresholds, in the order of what is above their highest outputs."""
        groups = np.flatnonzero(np.diff(above, prepend=first - 1))
        places = above[groups] - first + 1
        return cls(origin=origin, lowest=lowest, first=first, end=end, groups=groups, places=places)


def _stops(lowest: Index, above: Index) -> tuple[int, ...]:
    """Where the runs of answers end that are worked on at once; one more than are worked on at most."""
    known = np.maximum.accumulate(lowest)
    stops = [0]
    while stops[-1] < len(above) and len(stops) <= MOST_RUNS + 1:
        # all answers whose lowest output has its threshold already, but for those that share the next
        stop = int(np.searchsorted(known, above[stops[-1]]))
        stops.append(int(np.searchsorted(above, above[stop])) if stop < len(above) else stop)
    return tuple(stops)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Runs:
    """The answers that matter for a law, in runs; thresholds are rows of t(y) for y = zero, zero + 1, ...

    Outputs go from `floor` to `ceiling`, where they have ends. Where they have none, from `low` down and from
    `high` on the noisy number itself is published.
    """

    parts: int
    block: int
    zero: int
    answers: Index
    lowest: Index
    highest: Index
    floor: int | None
    ceiling: int | None
    low: int | None
    high: int | None
    stops: tuple[int, ...]

    @classmethod
    def of(
        cls, answers: Index, lowest: Index, highest: Index, *, zero: int | None = None, **others: Any
    ) -> Runs:
        """The answers in order of their highest outputs, and in runs."""
        if bool(np.any(highest[1:] < highest[:-1])):
            order = np.argsort(highest, kind="stable")
            answers, lowest, highest = answers[order], lowest[order], highest[order]
        zero = int(lowest.min()) if zero is None else zero
        stops = _stops(lowest, highest + 1)
        return cls(zero=zero, answers=answers, lowest=lowest, highest=highest, stops=stops, **others)

    @property
    def are_too_many(self) -> bool:
        """Whether there are more runs than are worked on."""
        return len(self.stops) > MOST_RUNS + 1

    @lru_cache(maxsize=2 * KEPT)  # noqa: B019 - the few that are kept are let go with the next ones
    def _worked_on(self) -> tuple[_Run, ...]:
        """The runs themselves."""
        origin, lowest, above = (
            self.answers * self.parts,
            self.lowest - self.zero,
            self.highest + 1 - self.zero,
        )
        firsts = [int(above[start]) for start in self.stops[:-1]]
        ends = [*firsts[1:], int(above[-1]) + 1] if firsts else []
        return tuple(
            _Run.of(origin[start:stop], lowest[start:stop], above[start:stop], first, end)
            for start, stop, first, end in zip(self.stops[:-1], self.stops[1:], firsts, ends, strict=True)
        )

    @lru_cache(maxsize=KEPT)  # noqa: B019 - see above
    def mirrored(self) -> Runs:
        """The same line seen from the other end: noisy z is -1 - z, output y is -1 - y, answer Q is -Q."""
        return self.of(
            -self.answers[::-1],
            -1 - self.highest[::-1],
            -1 - self.lowest[::-1],
            parts=self.parts,
            block=self.block,
            floor=None if self.ceiling is None else -1 - self.ceiling,
            ceiling=None if self.floor is None else -1 - self.floor,
            low=None if self.high is None else -self.high,
            high=None if self.low is None else -self.low,
        )

    def below(self, cut: int) -> Runs:
        """Only the answers that decide thresholds up to the cut, and only those thresholds."""
        few = int(np.searchsorted(self.highest, cut))
        answers, lowest, highest = self.answers[:few], self.lowest[:few], self.highest[:few]
        ends = {"floor": self.floor, "ceiling": None, "low": self.low, "high": None}
        return self.of(answers, lowest, highest, zero=self.zero, parts=self.parts, block=self.block, **ends)

    @property
    def _outputs(self) -> Index:
        """The outputs that thresholds are told of."""
        return np.arange(self.zero, int(self.highest[-1]) + 2 if len(self.highest) else self.zero + 1)

    @lru_cache(maxsize=2 * KEPT)  # noqa: B019 - see above
    def _ends(self) -> tuple[Index, Index]:
        """Thresholds that nothing decides, and the most that those may be from `high` on."""
        itself = self._outputs * self.parts
        free = np.full(len(itself), -FAR) if self.low is None else np.minimum(itself, self.low * self.parts)
        return free, itself[len(itself) if self.high is None else max(self.high - self.zero, 0) :]

    def least(self, law: Law) -> Index | None:
        """The least solution, or None if there is none."""
        free, most = self._ends()
        found = self._upwards(law, free)
        return None if found is None or bool(np.any(found[len(found) - len(most) :] > most)) else found

    def sketch(self, stride: int) -> SketchedHalf:
        """The same at every so many outputs."""
        outputs = self._outputs[::stride].astype(np.float64)
        free = np.full(len(outputs), -float(FAR))
        if self.low is not None:
            free = np.minimum(outputs, self.low) * self.parts
        answers = (self.answers * self.parts, self.lowest, self.highest)
        return SketchedHalf.of(self.zero, stride, self.block, free, answers)

    def nearest(self, law: Law, greatest: Index) -> Index | None:
        """The solution that is nearest to publishing the noisy number itself."""
        itself = self._outputs * self.parts
        rounded = -(-(itself - self.block // 2) // self.block) * self.block
        return self._upwards(law, np.where(greatest == itself, itself, rounded), greatest)

    def _upwards(self, law: Law, wished: Index, greatest: Index | None = None) -> Index | None:
        """Thresholds as near to the wished ones as the greatest, if there are, and those below allow."""
        zero = self.zero
        found = wished.copy() if greatest is None else np.minimum(wished, greatest)
        if self.floor is not None:
            found[: max(self.floor - zero + 1, 0)] = -FAR
        if self.are_too_many:
            return None
        for run in self._worked_on():
            needed = law.before(found[run.lowest] - run.origin) + law.wanted
            ends = law.sums.searchsorted((needed.min(), needed.max()))
            if ends[1] == len(law.sums):
                return None
            # the sums that are looked at are few against all of them
            least = law.sums[ends[0] : ends[1]].searchsorted(needed)
            least += run.origin
            least += law.start + int(ends[0])
            if self.block > 1:
                least = (least + (self.block - 1)) & -self.block  # rounded up, as blocks are powers of two
            raised = np.full(run.end - run.first + 1, found[run.first - 1])
            raised[run.places] = np.maximum(np.maximum.reduceat(least, run.groups), raised[0])
            raised = np.maximum.accumulate(raised)[1:]
            decided = slice(run.first, run.end)
            raised = np.maximum(raised, wished[decided])
            found[decided] = raised if greatest is None else np.minimum(raised, greatest[decided])
        if self.ceiling is not None:
            found[self.ceiling + 1 - zero :] = FAR
        return found

    def decoder(self, thresholds: Index) -> Decoder:
        """The table of the map with these thresholds."""
        outputs, itself = self._outputs, self._outputs * self.parts
        # the outputs that are published at all, each with the noisy numbers from its edge to the next
        kept = np.append(np.diff(thresholds) > 0, False)
        edges, above = thresholds[kept], thresholds[np.flatnonzero(kept) + 1]
        if self.low is not None or self.high is not None:
            # what is published as it is needs no entry
            plain = (edges == itself[kept]) & (above == itself[kept] + self.parts)
            changed = np.flatnonzero(~plain)
            first = 0 if self.low is None or not len(changed) else int(changed[0])
            last = len(edges) if self.high is None or not len(changed) else int(changed[-1]) + 1
            kept, edges, above = np.flatnonzero(kept)[first:last], edges[first:last], above[first:last]
        ends = np.append(edges, above[-1])
        # an end that nothing lies beyond may be anywhere
        ends[0] = ends[0] if ends[0] > -FAR else (ends[1] if ends[1] < FAR else self.parts) - 1
        ends[-1] = ends[-1] if ends[-1] < FAR else ends[-2] + 1
        return Decoder(
            parts=self.parts,
            edges=tuple(ends.tolist()),
            outputs=tuple(outputs[kept].tolist()),
            first=int(self.answers.min()) if self.low is None else None,
            last=int(self.answers.max()) if self.high is None else None,
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Cut:
    """The line cut in two where regions are narrowest, with the answers between: see `thresholds`."""

    lower: Runs
    upper: Runs
    origin: Index
    lowest: Index
    above: Index

    @classmethod
    def of(cls, runs: Runs, cut: int) -> Cut:
        """The line cut at an output."""
        between = (runs.lowest <= cut) & (runs.highest >= cut)
        return cls(
            lower=runs.below(cut),
            upper=runs.mirrored().below(-1 - cut),
            origin=runs.answers[between] * runs.parts,
            lowest=runs.lowest[between] - runs.zero,
            above=-1 - runs.highest[between] - runs.mirrored().zero,
        )

    def sketch(self, stride: int) -> Sketch:
        """The same at every so many outputs."""
        few = slice(None, None, stride)
        return Sketch(
            lower=self.lower.sketch(stride),
            upper=self.upper.sketch(stride),
            origin=self.origin[few].astype(np.float64),
            lowest=self.lowest[few] / stride,
            above=self.above[few] / stride,
        )

    def spare(self, law: Law) -> float:
        """The least weight of what is acceptable beyond what is wanted; -infinity if a part has none."""
        least = self.lower.least(law)
        greatest = None if least is None else self.upper.least(law.mirrored())
        if least is None or greatest is None or least[-1] > -greatest[-1]:
            return -math.inf
        # beyond the last threshold that a part decides they stay the same up to the cut
        low = least[np.minimum(self.lowest, len(least) - 1)]
        high = -greatest[np.minimum(self.above, len(greatest) - 1)]
        inside = law.before(high - self.origin) - law.before(low - self.origin)
        return float(inside.min() - law.wanted)
