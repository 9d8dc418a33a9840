"""The best decoder for a law of noise: thresholds, found upwards.

A decoder that never falls is told by its thresholds: t(y) is the first noisy number whose output is y or
more. With L(Q) and U(Q) the lowest and highest acceptable output, the answer Q keeps the confidence rho iff

    P(t(L(Q)) <= Q + noise < t(U(Q) + 1)) >= rho,   that is   t(U(Q) + 1) >= G_Q(t(L(Q))),

where G_Q(s) is the least s' with P(s <= Q + noise < s') >= rho, infinite if there is none. G_Q never falls.

**The least solution decides.** L(Q) < U(Q) + 1, so working upwards and taking each threshold as low as the
answers with this U(Q) + 1 allow gives thresholds that are nowhere above those of any other solution: if t is
one, t(U(Q) + 1) >= G_Q(t(L(Q))) >= G_Q(least(L(Q))). A decoder exists iff none of them is infinite. Working
downwards from the top gives the greatest solution in the same way; seen in a mirror, it is the least.

**What is spare.** For two parts of the line, cut where regions are narrowest, take the least solution of the
lower one and the greatest of the upper one. A decoder exists iff these leave enough to the answers between,
those with acceptable outputs in both parts: any other solution leaves them less. The least weight that they
have beyond rho falls steadily as noise grows, as both parts come from where there is room into where there is
least, and so tells how much wider noise may be; a single way up is soon lost beyond the narrowest place.

**The one that is taken.** Between the two there is room. Working upwards again, each threshold is put as near
to y itself (the noisy number is published as it is) as the greatest solution and the thresholds below allow.
That succeeds: if all below are at most the greatest, then G_Q of them is at most G_Q of the greatest, which
is at most the greatest at U(Q) + 1.

Thresholds depend only on those of lower outputs, so a whole run of answers, from one whose U(Q) + 1 is y up
to the first whose L(Q) is y or more, is worked on at once (`runs`).

**No end of answers.** Where a relative region is wide enough, noisy numbers are published as they are (see
`pbdp.mechanism.decoder` for the proof that covers all answers beyond). That is asked from three times as far
out as the noise alone would need it, and from many regions on, which leaves the least solution room to come
back there: with less room noise that is hardly wider than a region has no decoder, where wider noise has one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from pbdp.mechanism.decoder import Decoder, acceptable
from pbdp.mechanism.grid import Grid, LinearGrid
from pbdp.mechanism.region import Region
from pbdp.mechanism.requirement import Requirement
from pbdp.noise.kernel import Index
from pbdp.planning.runs import KEPT, MOST_RUNS, Cut, Law, Runs
from pbdp.planning.sketch import OUTPUTS, Sketch, SketchedLaw

# A region is split into about this many parts, each point into at most so many. Where noise is wide they are
# fewer, which costs less than 0.5 %.
PARTS_IN_REGION, FEW_PARTS_IN_REGION = 1280, 160
MOST_PARTS, MOST_IF_FEW = 128, 32
# Thresholds are rounded to blocks, of which a region has at least this many.
BLOCKS_IN_REGION = 512
# Where all regions are alike, the middle of the answers decides beyond fewer runs than elsewhere.
FEW_RUNS = 16
# A region without ends is to have grown so much after these runs.
WORTH = 1.02
MOST_ANSWERS = 1 << 18
# Noisy numbers are published as they are from so many regions on, fewer where those are long, or further out.
ROOM, LEAST_ROOM, LONG = 16, 4, 1 << 13
# How many sizes of such a range there are from one to twice as far; more where that takes too many runs.
SIZES = (4, 32)


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
        """What the answer that has least has beyond the confidence, at best; below 0 without a decoder.

        It falls as noise grows, and is -infinity where thresholds already fail on one side of the cut.
        """
        end = self._end(law.half_width)
        cut = None if end is None else _cut(self, end)
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
        runs = None if end is None else _runs(self, end)
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
        for sizes in SIZES if settled > room else ():
            # in few sizes, as all scales of one size share what is known of the answers, unless that takes
            # too many runs
            size = room * 2 ** (math.ceil(sizes * math.log2(settled / room)) / sizes)
            inverse = self.region.inverse(np.array([size]))
            furthest = size if inverse is None else float(inverse[1][0])
            if furthest <= MOST_ANSWERS // 2 and _cut(self, self._whole_blocks(size)) is not None:
                return self._whole_blocks(size)
        return self._whole_blocks(max(settled, room))

    def _whole_blocks(self, end: float) -> int:
        return (math.ceil(end / self.block) + 1) * self.block


def _parts(points: float, wanted: int, most: int) -> int:
    """Into how many parts a point is split for so many parts in a region."""
    parts = 1
    while parts < most and parts * points < wanted:
        parts *= 2
    return parts


@lru_cache(maxsize=KEPT)
def _runs(line: Line, end: int) -> Runs | None:
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
    return Runs.of(answers, lowest, highest, parts=line.parts, block=line.block, **ends)


@lru_cache(maxsize=KEPT)
def _cut(line: Line, end: int) -> Cut | None:
    """The same, cut where regions are narrowest; None where there are too many runs."""
    runs = _runs(line, end)
    if runs is None or runs.are_too_many:
        return None
    below, above = line.region.offsets(runs.answers.astype(np.float64))
    narrowest = np.sort(runs.answers[below + above == (below + above).min()])
    return Cut.of(runs, int(narrowest[len(narrowest) // 2]))


@lru_cache(maxsize=KEPT)
def _sketch(line: Line, end: int) -> Sketch | None:
    """The same, at few outputs."""
    cut = _cut(line, end)
    return None if cut is None else cut.sketch(line.stride)
