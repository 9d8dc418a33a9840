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

import numpy as np
import numpy.typing as npt

from pbdp.mechanism.decoder import FAR, Decoder, acceptable
from pbdp.mechanism.grid import Grid, LinearGrid
from pbdp.mechanism.region import Region
from pbdp.mechanism.requirement import Requirement
from pbdp.mechanism.weights import TOTAL, WeightTable
from pbdp.noise.kernel import Index

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


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Law:
    """Noise in parts: sums[k] is the weight of what is below start + k; `wanted` is the confidence as one."""

    sums: npt.NDArray[np.float64] | Index
    start: int
    wanted: float | int

    @classmethod
    def of(cls, table: WeightTable, confidence: float) -> Law:
        """The law of integer weights, in whole numbers."""
        sums = np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(table.weights)))
        wanted = math.ceil(math.ldexp(confidence, 62)) if confidence < 1 else TOTAL
        return cls(sums=sums, start=table.start, wanted=wanted)

    def before(self, noise: Index) -> npt.NDArray[np.float64] | Index:
        """The weight of noise below this."""
        return self.sums.take(noise - self.start, mode="clip")

    def mirrored(self) -> Law:
        """The law of -1 - noise."""
        size = len(self.sums) - 1
        return Law(sums=self.sums[-1] - self.sums[::-1], start=-self.start - size, wanted=self.wanted)

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

    def exists(self, law: Law) -> bool:
        runs = _Runs.of(self, law)
        return runs is not None and runs.least(law) is not None

    def decoder(self, law: Law) -> Decoder | None:
        """The decoder for a law, or None if there is none."""
        runs = _Runs.of(self, law)
        if runs is None or runs.least(law) is None:
            return None
        opposite = runs.mirrored().least(law.mirrored())
        thresholds = None if opposite is None else runs.nearest(law, -opposite[::-1])
        return None if thresholds is None else runs.decoder(thresholds)


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
    def of(cls, origin: Index, lowest: Index, highest: Index) -> tuple[_Run, ...]:
        """All answers, which come with their highest outputs in order; one run more than are worked on."""
        zero = int(lowest.min())
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
    answers: Index
    lowest: Index
    highest: Index
    floor: int | None
    ceiling: int | None
    low: int | None
    high: int | None
    runs: tuple[_Run, ...]

    @classmethod
    def of(cls, line: Line, law: Law) -> _Runs | None:
        """The answers whose thresholds are open; None if they are too many."""
        if line.first is not None and line.last is not None:
            return cls._up_to(line, 0)
        region = line.region
        tau = float(min(region.offsets(0.0)))
        settled = region.settled_from(tau + 3 * max(0.0, law.half_width / line.parts + 1 - tau))
        room = min(ROOM * line.points, max(LONG, LEAST_ROOM * line.points))
        settled = max(settled, min(room, MOST_ANSWERS // 4))
        if settled > MOST_ANSWERS:
            return None
        return cls._up_to(line, (math.ceil(settled / line.block) + 1) * line.block)

    @classmethod
    @lru_cache(maxsize=4)
    def _up_to(cls, line: Line, end: int) -> _Runs | None:
        """The same where noisy numbers are published as they are from `end` on; kept, as scales share it."""
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
        order = np.argsort(highest, kind="stable")
        answers, lowest, highest = answers[order], lowest[order], highest[order]
        return cls(
            parts=line.parts,
            block=line.block,
            answers=answers,
            lowest=lowest,
            highest=highest,
            floor=line.lowest,
            ceiling=line.highest,
            low=low,
            high=high,
            runs=_Run.of(answers * line.parts, lowest, highest),
        )

    def mirrored(self) -> _Runs:
        """The same line seen from the other end: noisy z is -1 - z, output y is -1 - y, answer Q is -Q."""
        order = np.argsort(-1 - self.lowest, kind="stable")
        answers, lowest, highest = -self.answers[order], -1 - self.highest[order], -1 - self.lowest[order]
        return _Runs(
            parts=self.parts,
            block=self.block,
            answers=answers,
            lowest=lowest,
            highest=highest,
            floor=None if self.ceiling is None else -1 - self.ceiling,
            ceiling=None if self.floor is None else -1 - self.floor,
            low=None if self.high is None else -self.high,
            high=None if self.low is None else -self.low,
            runs=_Run.of(answers * self.parts, lowest, highest),
        )

    @property
    def _zero(self) -> int:
        return int(self.lowest.min())

    @property
    def _outputs(self) -> Index:
        """The outputs that thresholds are told of."""
        return np.arange(self._zero, int(self.highest.max()) + 2)

    def least(self, law: Law) -> Index | None:
        """The least solution, or None if there is none."""
        outputs = self._outputs
        itself, free = outputs * self.parts, np.full(len(outputs), -FAR)
        if self.low is not None:
            free = np.where(outputs <= self.low, itself, self.low * self.parts)
        found = self._upwards(law, free, np.full(len(outputs), FAR))
        if found is None or self.high is None:
            return found
        return found if bool(np.all((found <= itself) | (outputs < self.high))) else None

    def nearest(self, law: Law, greatest: Index) -> Index | None:
        """The solution that is nearest to publishing the noisy number itself."""
        itself = self._outputs * self.parts
        rounded = -(-(itself - self.block // 2) // self.block) * self.block
        return self._upwards(law, np.where(greatest == itself, itself, rounded), greatest)

    def _upwards(self, law: Law, wished: Index, greatest: Index) -> Index | None:
        """Thresholds as near to the wished ones as the greatest and those below allow."""
        zero, total = self._zero, law.sums[-1]
        found = np.minimum(wished, greatest)
        if self.floor is not None:
            found[: self.floor - zero + 1] = -FAR
        if len(self.runs) > MOST_RUNS:
            return None
        for run in self.runs:
            needed = law.before(found[run.lowest] - run.origin) + law.wanted
            if needed.max() > total:
                return None
            least = run.origin + (law.start + law.sums.searchsorted(needed))
            if self.block > 1:
                least = -(-least // self.block) * self.block
            raised = np.full(run.end - run.first + 1, found[run.first - 1])
            raised[run.places] = np.maximum(np.maximum.reduceat(least, run.groups), raised[0])
            raised = np.maximum.accumulate(raised)[1:]
            decided = slice(run.first, run.end)
            found[decided] = np.minimum(np.maximum(raised, wished[decided]), greatest[decided])
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
