"""What a published number says of the true answer: intervals that hold for every answer.

**The requirement, inverted.** The output meets the requirement with at least the plan's confidence, whatever
the answer; so the answers for which the published number would meet it hold the truth as often. Noise for a
whole vector keeps to the floor of a percentage, which is the shorter one to invert.

**A relative width and noise that is the same everywhere.** For each answer some outputs are chosen that have
the confidence together, and the answers among whose outputs the published number is are kept. Up to some
answer these are the outputs that meet the requirement; beyond it, where those would be more, the ones that
the shortest run of noise with this weight leads to. The choice depends on the plan only.

**Any other confidence.** An answer is kept unless the published number, or one further out, has at most
half of (1 - confidence) probability under it, on either side (Neyman 1937): the true answer is dropped at
most that often. At confidence 1 all answers are kept that the number can come from. The probabilities are
sums of the very weights that are sampled. A vector whose coordinates have noise of their own holds with the
product of what each has.

Ends are rounded outwards. They speak of the answer as the plan takes it: after clamping into a range.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from pbdp.errors import InputError, shown
from pbdp.mechanism.absolute import moved_down
from pbdp.mechanism.decoder import acceptable
from pbdp.mechanism.grid import FURTHEST_STEP, LinearGrid
from pbdp.mechanism.region import Region
from pbdp.mechanism.relative import RelativeRegion
from pbdp.mechanism.weights import TOTAL, WeightTable
from pbdp.noise.kernel import Array, Index
from pbdp.parameters import promised_level
from pbdp.release.law import Weights
from pbdp.release.publisher import Publisher


@dataclass(frozen=True, slots=True, kw_only=True)
class Intervals:
    """low <= true answer <= high, each with at least this confidence."""

    low: Array
    high: Array
    confidence: float


def requirement_intervals(publisher: Publisher, published: Array, confidence: float) -> Intervals | None:
    """The requirement inverted, or None where it has no inverse in closed form that tells anything."""
    ends = publisher.requirement.kept_region.inverse(published)
    return None if ends is None else _answers(publisher, *ends, confidence)


# Answers for which the requirement is the shorter choice, at most.
MOST_ANSWERS = 1 << 20


def relative_intervals(publisher: Publisher, published: Array, confidence: float) -> Intervals | None:
    """The shorter intervals of a relative width; None for other requirements and noise."""
    asked, design, grid = publisher.requirement, publisher.design, publisher.grid
    plain = design.follows_answer and isinstance(grid, LinearGrid) and not design.clamp
    if not isinstance(asked.region, RelativeRegion) or not plain or asked.bounds is not None:
        return None
    if asked.simultaneous or asked.coordinates is not None:
        return None
    below, above = _shortest_run(design.drawn_table(), confidence)
    region = grid.region_in_steps(asked.region)
    first, last = asked.answers_on(grid)
    near = _up_to_width(region, (below + above) / design.parts + 1)
    if near > MOST_ANSWERS:
        return None
    answers = np.arange(max(-near, first), min(near, last) + 1).astype(np.int64)
    lowest, highest = acceptable(region, answers)
    values, where = np.unique(published, return_inverse=True)
    ends = np.empty((len(values), 2))
    for row, value in enumerate(values.tolist()):
        start, stop = (end - design.offset for end in output_steps(publisher, value))
        output = grid.nearest_step(value)
        # answers from which the noise comes here, but for those that the requirement decides
        low = max(-((above - start) // design.parts), first)
        high = min((stop + below) // design.parts, last)
        ends_beyond = [end for end in (low, -near - 1, near + 1, high) if low <= end <= high]
        kept = [end for end in ends_beyond if abs(end) > near]
        inside = answers[np.searchsorted(highest, output) : np.searchsorted(lowest, output, side="right")]
        kept += [int(inside[0]), int(inside[-1])] if len(inside) else []
        kept = kept or [low, high]  # no answer is among them; the likeliest ones are named
        ends[row] = answers_between(publisher, int(min(kept)), int(max(kept)))
    found = ends[where.reshape(-1)]
    return Intervals(low=found[:, 0], high=found[:, 1], confidence=confidence)


def _shortest_run(table: WeightTable, confidence: float) -> tuple[int, int]:
    """How far below and above zero the shortest run of noise with this weight goes, the middle one."""
    sums = np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(table.weights)))
    wanted = math.ceil(Fraction(confidence) * TOTAL)
    start = np.arange(np.searchsorted(sums, TOTAL - wanted, side="right"))
    stop = np.searchsorted(sums, sums[start] + wanted)
    length = stop - start
    shortest = np.flatnonzero(length == length.min())
    at = int(shortest[np.argmin(np.abs(start[shortest] + stop[shortest] - 1 + 2 * table.start))])
    return -(int(start[at]) + table.start), int(stop[at]) - 1 + table.start


def _up_to_width(region: Region, width: float) -> int:
    """The last answer, counted from zero, whose region has fewer outputs than this."""

    def narrow(answer: int) -> bool:
        lowest, highest = acceptable(region, np.array([answer]))
        return int(highest[0] - lowest[0]) + 1 < width

    if not narrow(0):
        return -1
    near, far = 0, 1
    while narrow(far) and far <= MOST_ANSWERS:
        near, far = far, 2 * far
    while far - near > 1:
        middle = (near + far) // 2
        near, far = (middle, far) if narrow(middle) else (near, middle)
    return near


def _answers(publisher: Publisher, low: Array, high: Array, confidence: float) -> Intervals:
    """The ends moved inwards to answers that can occur."""
    requirement, region = publisher.requirement, publisher.requirement.region
    if requirement.integer:
        low, high = np.ceil(low) + 0.0, np.floor(high)  # without negative zeros
    for possible in (region, requirement.bounds or region):
        first, last = possible.answers
        low, high = np.clip(low, first, last), np.clip(high, first, last)
    return Intervals(low=low, high=np.maximum(low, high), confidence=confidence)


def output_steps(publisher: Publisher, published: float) -> tuple[int, int]:
    """First and last output step, or noisy number in parts, that is published as this; refused if none is."""
    if not math.isfinite(published):
        raise InputError("published number", "finite", shown(published))
    grid, decoder, reach = publisher.design.grid, publisher.design.decoder, 0
    near = grid.nearest_step(published)
    if abs(near) > 2 * FURTHEST_STEP:
        raise _unpublished(publisher, published)
    if decoder is not None:
        first, last = decoder.noisy_range(near)
        if first > last or float(grid.values_of(np.array([near], dtype=np.int64))[0]) != published:
            raise _unpublished(publisher, published)
        return first, last
    if not (isinstance(grid, LinearGrid) and publisher.is_unclamped):
        # several steps may be published as this number
        reach = publisher.design.reach + abs(publisher.design.offset) + 2
        beside = np.arange(near - 2, near + 3)
        values = publisher.values_of(beside)
        if values[0] < published < values[-1]:  # outputs never fall, so all these steps are here
            found = beside[values == published].tolist()
            if not found:
                raise _unpublished(publisher, published)
            return found[0], found[-1]
    window = range(near - reach, near + reach + 1)

    def value(step: int) -> float:
        return float(publisher.values_of(np.array([step], dtype=np.int64))[0])

    first, stop = (
        bisect_left(window, published, key=value),
        bisect_right(window, published, key=value),
    )
    if first == stop:
        raise _unpublished(publisher, published)
    # a number at the end of a range stands for everything beyond it
    return window[first], window[stop - 1]


def _unpublished(publisher: Publisher, published: float) -> InputError:
    rule = f"one that the plan can publish ({publisher.design.grid.describe()})"
    return InputError("published number", rule, f"{published:g}", "Give it with all its digits.")


def confidence_intervals(weights: Weights, published: Array, confidence: float) -> Intervals:
    """The answers that a two-sided test at 1 - confidence keeps, as one interval for each number."""
    publisher, grid = weights.publisher, weights.publisher.grid
    # whole weights: above the tail means at least the next whole number
    least = math.floor((1 - Fraction(promised_level("confidence", confidence))) / 2 * TOTAL) + 1
    moves = publisher.design.follows_answer and publisher.design.decoder is None
    moved = weights.kept_range(least) if moves else None
    if moved is not None and isinstance(grid, LinearGrid) and publisher.is_unclamped:
        below, above = map(float, grid.around)
        low = moved_down(published, (below - moved[0]) * grid.step)
        high = -moved_down(-published, (above + moved[1]) * grid.step)
        return _answers(publisher, low, high, confidence)
    values, where = np.unique(published, return_inverse=True)
    ends = np.array([_interval(weights, value, least, moved) for value in values.tolist()])
    found = ends.reshape(-1, 2)[where]
    return Intervals(low=found[:, 0], high=found[:, 1], confidence=confidence)


def _interval(
    weights: Weights, published: float, least: int, moved: tuple[int, int] | None
) -> tuple[float, float]:
    """Answers under which what was published, or further out, has at least this weight on both sides."""
    publisher = weights.publisher
    first, last = output_steps(publisher, published)
    candidates = candidate_steps(weights, first, last)
    if moved is not None:
        low, high = max(first + moved[0], candidates[0]), min(last + moved[1], candidates[-1])
        return answers_between(publisher, int(min(low, high)), int(max(low, high)))
    answers = np.arange(candidates.start, candidates.stop)
    up_to = weights.up_to(answers, last)
    from_on = TOTAL - weights.up_to(answers, first - 1)
    kept = answers[(up_to >= least) & (from_on >= least)]
    if not kept.size:
        # every answer is implausible at so low a confidence; the likeliest one is named
        kept = answers[[int(np.argmax(np.minimum(up_to, from_on)))]]
    return answers_between(publisher, int(kept[0]), int(kept[-1]))


def candidate_steps(weights: Weights, first: int, last: int) -> range:
    """Every answer step from which these outputs can come."""
    publisher = weights.publisher
    design = publisher.design
    low = -((weights.start + weights.cells - 1 + design.offset - first) // design.parts)
    high = (last - design.offset - weights.start) // design.parts
    least, most = publisher.grid.region_in_steps(publisher.requirement.region).answers
    if design.decoder is not None or publisher.requirement.bounds is not None:
        least, most = publisher.requirement.answers_on(publisher.grid)
    return range(int(max(low, least)), int(min(high, most)) + 1)


def likelihoods(weights: Weights, published: float, answer_steps: Index) -> Array:
    """P(this number is published | answer) for answers on the grid."""
    first, last = output_steps(weights.publisher, published)
    weight = weights.up_to(answer_steps, last) - weights.up_to(answer_steps, first - 1)
    return np.asarray(weight / float(TOTAL))


def answers_between(publisher: Publisher, first: int, last: int) -> tuple[float, float]:
    """The interval of answers that are rounded to these grid points, or moved to them from an end."""
    low, high = publisher.grid.answers_around(first, last)
    least, most = publisher.requirement.answers_on(publisher.grid)
    low, high = (-math.inf if first <= least else low), (math.inf if last >= most else high)
    found = _answers(publisher, np.array([low]), np.array([high]), 0.0)
    return float(found.low[0]), float(found.high[0])
