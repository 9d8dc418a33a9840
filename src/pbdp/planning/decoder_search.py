"""The widest noise that has a decoder (see `pbdp.mechanism.decoder`), for relative widths and ranges.

A decoder that never falls is told by its thresholds: t(y) is the first noisy number whose output is y or
more. With L(Q) and U(Q) the lowest and highest acceptable output, the answer Q keeps the confidence rho iff

    P(t(L(Q)) <= Q + noise < t(U(Q) + 1)) >= rho,   that is   t(U(Q) + 1) >= G_Q(t(L(Q))),

where G_Q(s) is the least s' with P(s <= Q + noise < s') >= rho, infinite if there is none. G_Q never falls.

**The least solution decides.** L(Q) < U(Q) + 1, so working upwards and taking each threshold as low as the
answers with this U(Q) + 1 allow gives thresholds that are nowhere above those of any other solution: if t is
one, t(U(Q) + 1) >= G_Q(t(L(Q))) >= G_Q(least(L(Q))). A decoder exists iff none of them is infinite. Working
downwards from the top gives the greatest solution in the same way; seen in a mirror, it is the least.
Thresholds depend only on those of lower outputs, so a whole run of answers, from one whose U(Q) + 1 is y up
to the first whose L(Q) is y or more, is worked on at once.

**The widest noise.** Noise that is wider leaves less room, so there is a decoder up to some scale. That is
found by bisection, on the very tables that are drawn from.

**The one that is taken.** Between the least and the greatest solution there is room. Working upwards again,
each threshold is put as near to y itself (the noisy number is published as it is) as the greatest solution
and the thresholds below allow. That succeeds: if all below are at most the greatest, then G_Q of them is at
most G_Q of the greatest, which is at most the greatest at U(Q) + 1.

**No end of answers.** Where a relative region is wide enough, noisy numbers are published as they are (see
`pbdp.mechanism.decoder` for the proof that covers all answers beyond). That is asked from `ROOM` regions on,
and from three times as far out as the noise alone would need it, which leaves the least solution room to come
back there: with less room noise that is hardly wider than a region has no decoder, where wider noise has one.

**Nothing is lost** with Laplace noise at sensitivity 1: whatever meets such a requirement for every answer
with pure epsilon is the geometric law and a randomized map (Gupte and Sundararajan 2010), and the parts are
such a map but for rounding.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import lru_cache

import numpy as np

from pbdp.errors import CannotCertifyError, InputError
from pbdp.mechanism.decoder import FAR, MOST_PARTS, Decoder, acceptable
from pbdp.mechanism.design import Design
from pbdp.mechanism.grid import Grid, LinearGrid
from pbdp.mechanism.region import Region
from pbdp.mechanism.requirement import Requirement
from pbdp.mechanism.weights import BITS, TOTAL, WeightTable
from pbdp.noise.family import Goal, Problem, Shape, known_families
from pbdp.noise.gaussian import GAUSSIAN
from pbdp.noise.kernel import Index, LatticeKernel
from pbdp.noise.laplace import LAPLACE
from pbdp.noise.staircase import STAIRCASE
from pbdp.planning.scales import best_shape
from pbdp.root_finding import least_enough

# Answers that are worked on: arrays of 2 MB, which take about 10 ms per look.
MOST_ANSWERS = 1 << 18
# Runs that are worked on one after the other. Where so many regions are alike, those in the middle decide, as
# if there were no end to them, and a decoder gains nothing.
MOST_RUNS = 128
# Values of the longest table; Laplace noise goes on for 2·62·ln 2 = 86 times its scale.
LONGEST_TABLE = 1 << 20
# Thresholds in the narrowest region, at least: points are split into parts, or taken together in blocks. In
# each region thresholds are rounded to the next of them, which costs about 0.1 % of a width.
IN_REGION = 1 << 10
# Relative tolerance of a scale: a tenth of what counts as a tie between two laws.
CLOSE = 1e-5
# From so many of the narrowest regions on noisy numbers may be published as they are, and from so many times
# as far out as the noise alone needs it. With half the regions up to 3 % is lost, with twice as many nothing
# is gained (80%+30 at 90 %, 60%+3 at 70 %).
ROOM, FURTHER = 16, 3

TOO_MANY_ANSWERS = "A decoder would have to tell too many answers apart. Use a coarser step."


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Law:
    """Noise in parts: sums[k] is the weight of what is below start + k; `wanted` is the confidence as one."""

    sums: Index
    start: int
    wanted: int

    @classmethod
    def of(cls, table: WeightTable, confidence: float) -> Law:
        """The law of a table."""
        sums = np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(table.weights)))
        return cls(sums=sums, start=table.start, wanted=math.ceil(math.ldexp(confidence, BITS)))

    def before(self, noise: Index) -> Index:
        """The weight of noise below this."""
        return self.sums.take(noise - self.start, mode="clip")

    def ends(self, starts: Index) -> Index | None:
        """For each start the least end with the weight that is wanted between; None if one has none."""
        before = self.before(starts)
        if int(before.max()) > TOTAL - self.wanted:
            return None
        needed = before + self.wanted
        # the sums that are looked at are few against all of them
        low, high = self.sums.searchsorted((needed.min(), needed.max()))
        return self.sums[low:high].searchsorted(needed) + (self.start + int(low))

    def mirrored(self) -> Law:
        """The law of -1 - noise."""
        return replace(self, sums=TOTAL - self.sums[::-1], start=1 - self.start - len(self.sums))

    @property
    def half_width(self) -> int:
        """The least half-width that the noise keeps with the confidence by itself."""
        middle = -self.start

        def inside(reach: int) -> int:
            return int(self.sums[middle + 1 + reach] - self.sums[middle - reach])

        return bisect_left(range(min(middle, len(self.sums) - 1 - middle)), self.wanted, key=inside)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Answers:
    """Answers in the order of their highest outputs; thresholds are rows of t(y) for y = zero, zero + 1, ...

    Outputs go from `floor` to `ceiling`, where they have ends. Where they have none, from `low` down and from
    `high` on the noisy number itself is published. Each of the `runs` is the answers that are worked on at
    once and the thresholds that they decide, and `deciding` the last answer that counts for each threshold.
    Thresholds are rounded up to multiples of `block`, a power of two.
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
    runs: tuple[tuple[slice, slice], ...] = field(init=False)
    deciding: Index = field(init=False)

    def __post_init__(self) -> None:
        order = np.argsort(self.highest, kind="stable")
        for name in ("answers", "lowest", "highest"):
            object.__setattr__(self, name, getattr(self, name)[order])
        above, known = self.highest + 1 - self.zero, np.maximum.accumulate(self.lowest - self.zero)
        stops = [0]
        while stops[-1] < len(above):
            if len(stops) > MOST_RUNS:
                raise CannotCertifyError(TOO_MANY_ANSWERS)
            # all answers whose lowest output has its threshold already, but for those that share the next
            stop = int(known.searchsorted(above[stops[-1]]))
            stops.append(int(above.searchsorted(above[stop])) if stop < len(above) else stop)
        count = int(above[-1]) + 1 if len(above) else 1
        firsts = [*above[stops[:-1]].tolist(), count]
        runs = zip(map(slice, stops, stops[1:]), map(slice, firsts, firsts[1:]), strict=True)
        object.__setattr__(self, "runs", tuple(runs))
        object.__setattr__(self, "deciding", above.searchsorted(np.arange(count), side="right") - 1)

    def mirrored(self) -> Answers:
        """The same line seen from the other end: noisy z is -1 - z, output y is -1 - y, answer Q is -Q."""
        return replace(
            self,
            zero=-1 - int(self.highest[-1]),
            answers=-self.answers,
            lowest=-1 - self.highest,
            highest=-1 - self.lowest,
            floor=None if self.ceiling is None else -1 - self.ceiling,
            ceiling=None if self.floor is None else -1 - self.floor,
            low=None if self.high is None else -self.high,
            high=None if self.low is None else -self.low,
        )

    @property
    def outputs(self) -> Index:
        """The outputs that thresholds are told of."""
        return np.arange(self.zero, self.zero + len(self.deciding))

    def least(self, law: Law) -> Index | None:
        """The least solution, or None if there is none."""
        itself = self.outputs * self.parts
        free = np.full(len(itself), -FAR) if self.low is None else np.minimum(itself, self.low * self.parts)
        found = self._upwards(law, free)
        if found is not None and self.high is not None:
            fixed = slice(max(self.high - self.zero, 0), None)
            return None if bool(np.any(found[fixed] > itself[fixed])) else found
        return found

    def nearest(self, law: Law, greatest: Index) -> Index | None:
        """The solution that is nearest to publishing the noisy number itself."""
        itself = self.outputs * self.parts
        rounded = -(-(itself - self.block // 2) // self.block) * self.block
        return self._upwards(law, np.where(greatest == itself, itself, rounded), greatest)

    def _upwards(self, law: Law, wished: Index, greatest: Index | None = None) -> Index | None:
        """Thresholds as near to the wished ones as the greatest, if there are, and those below allow."""
        found = wished.copy() if greatest is None else np.minimum(wished, greatest)
        if self.floor is not None:
            found[: max(self.floor - self.zero + 1, 0)] = -FAR
        for run, decided in self.runs:
            origin = self.answers[run] * self.parts
            least = law.ends(found[self.lowest[run] - self.zero] - origin)
            if least is None:
                return None
            least = (least + origin + (self.block - 1)) & -self.block
            least[0] = max(least[0], found[decided.start - 1])
            raised = np.maximum.accumulate(least)[self.deciding[decided] - run.start]
            raised = np.maximum(raised, wished[decided])
            found[decided] = raised if greatest is None else np.minimum(raised, greatest[decided])
        if self.ceiling is not None:
            found[self.ceiling + 1 - self.zero :] = FAR
        return found

    def decoder(self, law: Law) -> Decoder | None:
        """The decoder for a law that is nearest to publishing the noisy number; None if there is none."""
        opposite = self.mirrored().least(law.mirrored())
        thresholds = None if opposite is None else self.nearest(law, -opposite[::-1])
        return None if thresholds is None else self._table(thresholds)

    def _table(self, thresholds: Index) -> Decoder:
        """The table of the map with these thresholds."""
        outputs, itself = self.outputs, self.outputs * self.parts
        # the outputs that are published at all, each with the noisy numbers from its edge to the next
        kept = np.flatnonzero(np.diff(thresholds) > 0)
        edges, above = thresholds[kept], thresholds[kept + 1]
        if self.low is not None or self.high is not None:
            # what is published as it is needs no entry
            changed = np.flatnonzero((edges != itself[kept]) | (above != itself[kept] + self.parts))
            first = 0 if self.low is None or not len(changed) else int(changed[0])
            last = len(edges) if self.high is None or not len(changed) else int(changed[-1]) + 1
            kept, edges, above = kept[first:last], edges[first:last], above[first:last]
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
class Line:
    """A requirement on a grid: its region in steps, the answers, and the outputs that may be published.

    `points` is how many outputs are acceptable for an answer, at least.
    """

    grid: LinearGrid
    region: Region
    confidence: float
    points: int
    first: int | None
    last: int | None
    lowest: int | None
    highest: int | None

    @classmethod
    def of(cls, grid: Grid, requirement: Requirement, confidence: float) -> Line | None:
        """None where outputs are as good for one answer as for another, or answers are too many."""
        asked, bounds = requirement.region, requirement.bounds
        if not isinstance(grid, LinearGrid) or not (asked.per_answer or bounds is not None):
            return None
        region = grid.region_in_steps(asked)
        inner = region.tightest()
        first, last = (int(end) if math.isfinite(end) else None for end in requirement.answers_on(grid))
        lowest, highest, points = first, last, inner.below + inner.above + 1
        if first is not None and last is not None:
            if last - first >= MOST_ANSWERS:
                return None
            least, most = acceptable(region, np.arange(first, last + 1))
            points = float((most - least).min() + 1)
            lowest, highest = int(least.min()), int(most.max())
        if bounds is not None:
            ends = [end / grid.step for end in requirement.output_limits(grid)]
            # the last cell of answers that are rounded down has two ends
            lowest = max(math.ceil(ends[0]), first or 0)
            highest = min(math.floor(ends[1]), (last or 0) + grid.down)
        # noise that keeps a confidence of half by itself has a table BITS times as long as the region
        too_wide = points > LONGEST_TABLE / BITS
        if too_wide or (lowest is not None and highest is not None and lowest > highest):
            return None
        return cls(
            grid=grid,
            region=region,
            confidence=confidence,
            points=int(points),
            first=first,
            last=last,
            lowest=lowest,
            highest=highest,
        )

    @property
    def parts(self) -> int:
        """Into how many parts a point is split; grids for real answers are fine enough."""
        return 1 if self.grid.rounded else min(MOST_PARTS, _power_of_two(IN_REGION / self.points))

    @property
    def block(self) -> int:
        """How many points share a threshold."""
        return _power_of_two(self.points / IN_REGION / 2)

    def acceptable(self, answers: Index) -> tuple[Index, Index]:
        """The lowest and the highest output for each answer that is acceptable and may be published."""
        lowest, highest = acceptable(self.region, answers)
        return (
            lowest if self.lowest is None else np.maximum(lowest, self.lowest),
            highest if self.highest is None else np.minimum(highest, self.highest),
        )

    def design(self, kernel: LatticeKernel, decoder: Decoder | None = None) -> Design:
        """The kernel with a decoder, or with one that only says into how many parts noise is split."""
        decoder = decoder or Decoder.constant(0, self.parts, self.first, self.last)
        return Design(grid=self.grid, kernel=kernel, region=self.region.tightest(), decoder=decoder)

    def law(self, kernel: LatticeKernel) -> Law:
        """The law that is drawn from."""
        if 2 * kernel.reach(2.0**-BITS) * self.parts > LONGEST_TABLE:
            raise CannotCertifyError("A decoder would need too long a table. Use a coarser step.")
        return Law.of(self.design(kernel).drawn_table(), self.confidence)

    def fits(self, kernel: LatticeKernel) -> bool:
        """Whether the kernel has a decoder."""
        law = self.law(kernel)
        return self._answers_for(law).least(law) is not None

    def decoded(self, kernel: LatticeKernel) -> Design | None:
        """The kernel with its decoder, or None if there is none."""
        law = self.law(kernel)
        found = self._answers_for(law).decoder(law)
        return None if found is None else self.design(kernel, found)

    def _answers_for(self, law: Law) -> Answers:
        """The answers that matter for a law: all, or those up to where it is published as it is."""
        open_sides = (self.first is None) + (self.last is None)
        if open_sides == 0:
            return _answers(self, 0)
        tau = float(min(self.region.offsets(0.0)))
        wider = law.half_width / self.parts + 1 - tau
        settled = self.region.settled_from(tau + FURTHER * max(0.0, wider))
        last = MOST_ANSWERS // open_sides - 2
        furthest = last - float(self.region.offsets(float(last))[0])
        if settled > furthest:
            raise CannotCertifyError(TOO_MANY_ANSWERS)
        end = min(max(settled, ROOM * self.points), furthest)
        return _answers(self, math.ceil(end / self.block) * self.block)


def _power_of_two(least: float) -> int:
    """The least power of two that is at least this, and 1."""
    return 1 << max(0, math.ceil(math.log2(least)))


@lru_cache(maxsize=8)
def _answers(line: Line, end: int) -> Answers:
    """The answers whose thresholds are open where noisy numbers are published as they are from `end` on."""
    first, last = line.first, line.last
    low = high = None
    if first is None or last is None:
        inverse = line.region.inverse(np.array([float(end)]))
        furthest = end if inverse is None else math.ceil(float(inverse[1][0])) + 1
        low, high = (-end if first is None else None), (end if last is None else None)
        first, last = (-furthest if first is None else first), (furthest if last is None else last)
    if last - first >= MOST_ANSWERS:
        raise CannotCertifyError(TOO_MANY_ANSWERS)
    answers = np.arange(first, last + 1)
    lowest, highest = line.acceptable(answers)
    if bool(np.any(lowest > highest)):
        raise CannotCertifyError("No output may be published for some answer.")
    return Answers(
        parts=line.parts,
        block=line.block,
        zero=int(lowest.min()),
        answers=answers,
        lowest=lowest,
        highest=highest,
        floor=line.lowest,
        ceiling=line.highest,
        low=low,
        high=high,
    )


def widest(line: Line, shape: Shape, start: float = 0.0) -> float:
    """The largest scale of a shape that has a decoder, rounded down; 0 if none has one.

    It is looked for near `start`, where that is known.
    """

    def short(steepness: float) -> float:
        return -1.0 if _fits(line, shape, 1 / steepness) else 1.0

    if start > 0:
        return 1 / least_enough(short, 1 / start, close=CLOSE)
    return 1 / least_enough(short, 1 / shape.start, close=CLOSE, beside=1.1)


def _fits(line: Line, shape: Shape, scale: float) -> bool:
    """Whether the noise has a decoder; one that takes too long a table or too many answers is none."""
    with suppress(CannotCertifyError, InputError):
        return line.fits(shape.kernel(scale))
    return False


# What a staircase has to gain over one of another plateau: as much as thresholds lose by rounding.
BETTER = 1e-3
# The scale of noise that a constant output makes no use of, in sensitivities: whoever does not see that it is
# unused charges little for it.
UNUSED = 1 << 8
# In steps, so that its table has less than a million values.
LONGEST_UNUSED = 1 << 13


def decoded_candidates(
    grid: Grid, requirement: Requirement, goal: Goal, families: tuple[str, ...]
) -> Iterator[Design]:
    """The widest noise of each family that has a decoder for the requirement on this grid."""
    line = Line.of(grid, requirement, goal.confidence)
    if line is None:
        return
    plain = Problem(below=line.points // 2, above=line.points // 2, goal=goal)
    laplace, gaussian = (_shape(family, plain) for family in (LAPLACE.name, GAUSSIAN.name))
    scale = widest(line, laplace)
    if scale == 0:
        return
    shaped = [name for name in families if name in known_families() and known_families()[name].shapes]
    for name in shaped:
        # a family without a table of this size is left out; the others go on
        with suppress(InputError, CannotCertifyError):
            if name == LAPLACE.name:
                kernel = laplace.kernel(scale)
            elif name == STAIRCASE.name:
                kernel = _staircase(line, goal, scale if LAPLACE.name in families else 0.0)
            elif name == GAUSSIAN.name:
                kernel = gaussian.kernel(widest(line, gaussian))
            else:
                shape = _shape(name, _as_wide(goal, scale, widest(line, gaussian)))
                kernel = shape.kernel(widest(line, shape))
            decoded = line.decoded(kernel)
            if decoded is not None:
                yield decoded


def _shape(family: str, problem: Problem) -> Shape:
    """The shape of a family that is best for noise that is not decoded."""
    shapes = known_families()[family].shapes
    if shapes is None:
        raise CannotCertifyError(f"{family} noise has no scale that a decoder could be found for.")
    found = shapes(problem)
    return found.shape(0.0) if len(found.parameters) == 1 else best_shape(found, problem)[0]


def _as_wide(goal: Goal, laplace: float, gaussian: float) -> Problem:
    """The width and confidence for which Laplace and Gaussian noise have these scales without a decoder.

    Laplace noise, whose tails are heavier, gains more by one, which is like a lower confidence.
    """

    def apart(half: float) -> float:
        return math.exp(-half / laplace) - math.erfc(half / gaussian / math.sqrt(2))

    half = -laplace * math.log(1 - goal.confidence)
    share = least_enough(lambda share: apart(half / share), 2.0, most=BITS)
    if apart(half) > 0 and math.isfinite(share):
        half /= share
        goal = replace(goal, confidence=-math.expm1(-half / laplace))
    return Problem(below=round(half), above=round(half), goal=goal)


def _staircase(line: Line, goal: Goal, beside: float) -> LatticeKernel:
    """The staircase of least loss, if that is less than Laplace noise of a scale has `beside` it.

    Its loss is one over its scale, so one look tells that a plateau is no better than those before. The loss
    falls and rises once as plateaus go around a step: the distances that are tried from the best are halved.
    """
    best, scale, width = None, beside / goal.sensitivity, goal.sensitivity
    center, step = min(width // 2, line.points // 2), width // 2
    tried = {center}
    while tried:
        for plateau in sorted(tried):
            shape = _shape(STAIRCASE.name, Problem(below=plateau, above=plateau, goal=goal))
            if scale == 0 or _fits(line, shape, scale * (1 + BETTER)):
                best, center, scale = shape, plateau, widest(line, shape, scale)
        tried = {(center + step) % width, (center - step) % width} - {center}
        step //= 2
    if best is None:
        raise CannotCertifyError("No staircase does better than Laplace noise.")
    return best.kernel(scale)


def constant_candidate(
    grid: Grid, requirement: Requirement, goal: Goal, families: tuple[str, ...]
) -> Design | None:
    """One number that is published whatever the answer is, where it is acceptable for all of them."""
    line = Line.of(grid, requirement, goal.confidence)
    if line is None or line.first is None or line.last is None:
        return None
    lowest, highest = line.acceptable(np.arange(line.first, line.last + 1))
    least, most = int(lowest.max()), int(highest.min())
    if least > most:
        return None
    known = known_families()
    makers = [known[name].of_scale for name in (*families, LAPLACE.name) if name in known]
    of_scale = next(maker for maker in makers if maker is not None)
    constant = Decoder.constant((least + most) // 2, 1, line.first, line.last)
    return line.design(of_scale(float(min(UNUSED * goal.sensitivity, LONGEST_UNUSED))), constant)
