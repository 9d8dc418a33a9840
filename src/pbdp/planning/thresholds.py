"""The best decoder for a law of noise: thresholds, found upwards.

A decoder that never falls is told by its thresholds: t(y) is the first noisy number whose output is y or
more. With L(Q) and U(Q) the lowest and highest acceptable output, the answer Q keeps the confidence rho iff

    P(t(L(Q)) <= Q + noise < t(U(Q) + 1)) >= rho,   that is   t(U(Q) + 1) >= G_Q(t(L(Q))),

where G_Q(s) is the least s' with P(s <= Q + noise < s') >= rho, infinite if there is none. G_Q never falls.

**The least solution decides.** L(Q) < U(Q) + 1, so working upwards and taking each threshold as low as the
answers with this U(Q) + 1 allow gives thresholds that are nowhere above those of any other solution: if t is
one, t(U(Q) + 1) >= G_Q(t(L(Q))) >= G_Q(least(L(Q))). A decoder exists iff none of them is infinite. Working
downwards from the top gives the greatest solution in the same way; seen in a mirror, it is the least.

**The one that is taken.** Between the two there is room. Working upwards again, each threshold is put as near
to y itself (the noisy number is published as it is) as the greatest solution and the thresholds below allow.
That succeeds: if all below are at most the greatest, then G_Q of them is at most G_Q of the greatest, which
is at most the greatest at U(Q) + 1.

Thresholds depend only on those of lower outputs, so a whole run of answers, from one whose U(Q) + 1 is y up
to the first whose L(Q) is y or more, is worked on at once: there are about as many runs as the range is times
as long as the region.

**No end of answers.** Where a relative region is wide enough, noisy numbers are published as they are (see
`pbdp.mechanism.decoder` for the proof that covers all answers beyond). That is asked from three times as far
out as the noise alone would need it, and from many regions on, which leaves the least solution room to come
back there: with less room noise that is hardly wider than a region has no decoder, where wider noise has one.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from pbdp.mechanism.decoder import FAR, Decoder, acceptable
from pbdp.mechanism.grid import Grid, LinearGrid
from pbdp.mechanism.region import Region
from pbdp.mechanism.requirement import Requirement
from pbdp.mechanism.weights import TOTAL, WeightTable
from pbdp.noise.kernel import Index
from pbdp.planning.sketch import OUTPUTS, Sketch, SketchedHalf, SketchedLaw

# A region is split into about this many parts, each point into at most so many. Where noise is wide they are
# fewer, which costs less than 0.5 %.
PARTS_IN_REGION, FEW_PARTS_IN_REGION = 1280, 160
MOST_PARTS, MOST_IF_FEW = 128, 32
# Thresholds are rounded to blocks, of which a region has at least this many.
BLOCKS_IN_REGION = 512
# Beyond this many runs of answers the middle of them decides, and a decoder gains less than 1 %: few runs
# where all regions are alike, more where they grow.
FEW_RUNS, MOST_RUNS = 16, 128
# A region without ends is to have grown so much after these runs.
WORTH = 1.02
MOST_ANSWERS = 1 << 18
# Noisy numbers are published as they are from so many regions on, fewer where those are long, or further out.
ROOM, LEAST_ROOM, LONG = 16, 4, 1 << 13
# How many sizes of such a range there are from one to twice as far.
SIZES = 4


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
class Line:
    """A requirement on a grid: its region in steps, the answers, and the outputs that may be published.

    `points` is how many outputs are acceptable for an answer, at least.
    """

    region: Region
    confidence: float
    points: float
    parts: int
    block: int
    first: int | None
    last: int | None
    lowest: int | None
    highest: int | None

    @classmethod
    def of(cls, grid: Grid, requirement: Requirement, confidence: float) -> Line | None:
        """None where a decoder gains nothing or next to nothing."""
        asked, bounds = requirement.region, requirement.bounds
        if not isinstance(grid, LinearGrid) or not (asked.per_answer or bounds is not None):
            return None
        region = grid.region_in_steps(asked)
        inner = region.tightest()
        first, last = (int(end) if math.isfinite(end) else None for end in requirement.answers_on(grid))
        lowest, highest = first, last
        if bounds is not None:
            ends = [end / grid.step for end in requirement.output_limits(grid)]
            # the last cell of answers that are rounded down has two ends
            lowest = max(math.ceil(ends[0]), first or 0)
            highest = min(math.floor(ends[1]), (last or 0) + grid.down)
        points = inner.below + inner.above + 1
        if first is not None and last is not None:
            least, most = acceptable(region, np.arange(first, min(last, first + MOST_ANSWERS) + 1))
            points = float((most - least).min() + 1)
            if bounds is None:
                lowest, highest = int(least.min()), int(most.max())
            runs = FEW_RUNS if asked.follows_answer else MOST_RUNS
            if last - first >= min(runs * points, MOST_ANSWERS):
                return None
        elif region.settled_from(WORTH * points / 2) > MOST_RUNS * points:
            return None
        if lowest is not None and highest is not None and lowest > highest:
            return None
        block = 1
        while 2 * block * BLOCKS_IN_REGION <= points:
            block *= 2
        return cls(
            region=region,
            confidence=confidence,
            points=points,
            parts=1 if grid.rounded else _parts(points, PARTS_IN_REGION, MOST_PARTS),
            block=block,
            first=first,
            last=last,
            lowest=lowest,
            highest=highest,
        )

    @property
    def in_few_parts(self) -> Line:
        """The same with fewer parts."""
        return replace(self, parts=min(self.parts, _parts(self.points, FEW_PARTS_IN_REGION, MOST_IF_FEW)))

    @property
    def plain(self) -> Decoder:
        """Only the parts; what is published is still to be decided."""
        return Decoder.constant(0, self.parts, self.first, self.last)

    @property
    def constant(self) -> Decoder | None:
        """One number that is acceptable for every answer, if there is one: no noise is needed then."""
        if self.first is None or self.last is None:
            return None
        lowest, highest = self.acceptable(np.arange(self.first, self.last + 1))
        least, most = int(lowest.max()), int(highest.min())
        return None if least > most else Decoder.constant((least + most) // 2, 1, self.first, self.last)

    def acceptable(self, answers: Index) -> tuple[Index, Index]:
        """The lowest and the highest output for each answer that is acceptable and may be published."""
        lowest, highest = acceptable(self.region, answers)
        return (
            lowest if self.lowest is None else np.maximum(lowest, self.lowest),
            highest if self.highest is None else np.minimum(highest, self.highest),
        )

    def spare(self, law: Law) -> float:
        """What the answer that has least is sure of beyond the confidence, at best; below 0 without a decoder.

        It falls as noise grows, and is -infinity where thresholds already fail on one side of the cut.
        """
        end = self._end(law.half_width)
        cut = None if end is None else _Cut.of(self, end)
        return -math.inf if cut is None else cut.spare(law)

    @property
    def stride(self) -> int:
        """Of how many outputs a sketch takes one."""
        return int(self.points) // OUTPUTS if self.parts == 1 else 1

    def sketched_spare(self, law: SketchedLaw) -> float:
        """About the same of a law that is sketched at every `stride` values."""
        width = float(np.interp((1 + self.confidence) / 2, law.sums, law.places))
        end = self._end(math.ceil(width))
        sketch = None if end is None else _sketch(self, end)
        return -math.inf if sketch is None else sketch.spare(law, self.confidence)

    def decoder(self, law: Law) -> Decoder | None:
        """The decoder for a law, or None if there is none."""
        end = self._end(law.half_width)
        runs = None if end is None else _Runs.up_to(self, end)
        opposite = None if runs is None else runs.mirrored().least(law.mirrored())
        if runs is None or opposite is None:
            return None
        thresholds = runs.nearest(law, -opposite[::-1])
        return None if thresholds is None else runs.decoder(thresholds)

    def _end(self, half_width: int) -> int | None:
        """From where on noisy numbers are published as they are, 0 if nowhere; None if that is too far.

        `half_width` is the least one, in parts, that the noise keeps with the confidence by itself.
        """
        if self.first is not None and self.last is not None:
            return 0
        tau = float(min(self.region.offsets(0.0)))
        settled = self.region.settled_from(tau + 3 * max(0.0, half_width / self.parts + 1 - tau))
        room = min(ROOM * self.points, max(LONG, LEAST_ROOM * self.points), MOST_ANSWERS // 4)
        if settled > MOST_ANSWERS:
            return None
        if settled > room:
            # in few sizes, as all scales of one size share what is known of the answers
            settled = room * 2 ** (math.ceil(SIZES * math.log2(settled / room)) / SIZES)
        return (math.ceil(max(settled, room) / self.block) + 1) * self.block


def _parts(points: float, wanted: int, most: int) -> int:
    """Into how many parts a point is split for so many parts in a region."""
    parts = 1
    while parts < most and parts * points < wanted:
        parts *= 2
    return parts


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
    def of(cls, zero: int, origin: Index, lowest: Index, highest: Index) -> tuple[_Run, ...]:
        """All answers, which come with their highest outputs in order; one run more than are worked on."""
        lowest, above = lowest - zero, highest + 1 - zero
        known, start = np.maximum.accumulate(lowest), 0
        runs: list[_Run] = []
        while start < len(above) and len(runs) <= MOST_RUNS:
            # all answers whose lowest output has its threshold already, but for those that share the next
            stop = int(np.searchsorted(known, above[start]))
            first, end = int(above[start]), int(above[stop]) if stop < len(above) else int(above[-1]) + 1
            stop = int(np.searchsorted(above, end))
            decided = above[start:stop]
            groups = np.flatnonzero(np.diff(decided, prepend=first - 1))
            runs.append(
                cls(
                    origin=origin[start:stop],
                    lowest=lowest[start:stop],
                    first=first,
                    end=end,
                    groups=groups,
                    places=decided[groups] - first + 1,
                )
            )
            start = stop
        return tuple(runs)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Runs:
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
    runs: tuple[_Run, ...]

    @classmethod
    @lru_cache(maxsize=4)
    def up_to(cls, line: Line, end: int) -> _Runs | None:
        """The answers whose thresholds are open where noisy numbers are published as they are from `end` on.

        None if they are too many. Kept, as scales share them.
        """
        region, first, last = line.region, line.first, line.last
        low = high = None
        if first is None or last is None:
            inverse = region.inverse(np.array([float(end)]))
            furthest = end if inverse is None else math.ceil(float(inverse[1][0])) + 1
            low, high = (-end if first is None else None), (end if last is None else None)
            first, last = (-furthest if first is None else first), (furthest if last is None else last)
        if last - first > 2 * MOST_ANSWERS:
            return None
        answers = np.arange(first, last + 1)
        lowest, highest = line.acceptable(answers)
        if bool(np.any(lowest > highest)):
            return None
        ends = {"floor": line.lowest, "ceiling": line.highest, "low": low, "high": high}
        return cls._of(answers, lowest, highest, parts=line.parts, block=line.block, **ends)

    @classmethod
    def _of(
        cls, answers: Index, lowest: Index, highest: Index, *, zero: int | None = None, **others: Any
    ) -> _Runs:
        """The answers in order of their highest outputs, and in runs."""
        order = np.argsort(highest, kind="stable")
        answers, lowest, highest = answers[order], lowest[order], highest[order]
        zero = int(lowest.min()) if zero is None else zero
        runs = _Run.of(zero, answers * others["parts"], lowest, highest)
        return cls(zero=zero, answers=answers, lowest=lowest, highest=highest, runs=runs, **others)

    @lru_cache(maxsize=4)  # noqa: B019 - the few that are kept are let go with the next ones
    def mirrored(self) -> _Runs:
        """The same line seen from the other end: noisy z is -1 - z, output y is -1 - y, answer Q is -Q."""
        return self._of(
            -self.answers,
            -1 - self.highest,
            -1 - self.lowest,
            parts=self.parts,
            block=self.block,
            floor=None if self.ceiling is None else -1 - self.ceiling,
            ceiling=None if self.floor is None else -1 - self.floor,
            low=None if self.high is None else -self.high,
            high=None if self.low is None else -self.low,
        )

    def below(self, cut: int) -> _Runs:
        """Only the answers that decide thresholds up to the cut, and only those thresholds."""
        few = int(np.searchsorted(self.highest, cut))
        answers, lowest, highest = self.answers[:few], self.lowest[:few], self.highest[:few]
        ends = {"floor": self.floor, "ceiling": None, "low": self.low, "high": None}
        return self._of(
            answers, lowest, highest, zero=self.zero, parts=self.parts, block=self.block, **ends
        )

    @property
    def _outputs(self) -> Index:
        """The outputs that thresholds are told of."""
        return np.arange(self.zero, int(self.highest[-1]) + 2 if len(self.highest) else self.zero + 1)

    def least(self, law: Law) -> Index | None:
        """The least solution, or None if there is none."""
        outputs = self._outputs
        itself, free = outputs * self.parts, np.full(len(outputs), -FAR)
        if self.low is not None:
            free = np.minimum(itself, self.low * self.parts)
        found = self._upwards(law, free)
        if found is None or self.high is None:
            return found
        return found if bool(np.all((found <= itself) | (outputs < self.high))) else None

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
        if len(self.runs) > MOST_RUNS:
            return None
        for run in self.runs:
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
class _Cut:
    """The line cut in two where regions are narrowest, which tells how far noise is from having no decoder.

    Working upwards from below and downwards from above ends at the cut. A decoder exists iff the least
    solution of the lower part and the greatest one of the upper part suit the answers between, those with
    acceptable outputs in both: any other solution leaves these less. Both parts come from where there is room
    into where there is least, so what is spare there changes little with the noise, where a single way up
    through the whole line would soon be lost beyond the cut.
    """

    lower: _Runs
    upper: _Runs
    origin: Index
    lowest: Index
    above: Index

    @classmethod
    @lru_cache(maxsize=4)
    def of(cls, line: Line, end: int) -> _Cut | None:
        """Kept, as scales share it; None where there are too many answers."""
        runs = _Runs.up_to(line, end)
        if runs is None:
            return None
        below, above = line.region.offsets(runs.answers.astype(np.float64))
        narrowest = np.sort(runs.answers[below + above == (below + above).min()])
        cut = int(narrowest[len(narrowest) // 2])
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


@lru_cache(maxsize=4)
def _sketch(line: Line, end: int) -> Sketch | None:
    """Kept, as scales share it."""
    cut = _Cut.of(line, end)
    return None if cut is None else cut.sketch(line.stride)
