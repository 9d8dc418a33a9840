"""What a published number says of the true answer: intervals that hold for every answer.

**The requirement, inverted.** The output meets the requirement with at least the plan's confidence, whatever
the answer; so the answers for which the published number would meet it hold the truth as often.

**Any other confidence.** An answer is kept unless the published number, or one further out, has at most
half of (1 - confidence) probability under it, on either side (Neyman 1937): the true answer is dropped at
most that often. The probabilities are sums of the very weights that are sampled. A vector whose coordinates
have noise of their own holds with the product of what each has.

Ends are rounded outwards. They speak of the answer as the plan takes it: after clamping into a range.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from pbdp.domains import probability
from pbdp.errors import InputError
from pbdp.mechanism.absolute import moved_down
from pbdp.mechanism.grid import FURTHEST_STEP, LinearGrid
from pbdp.mechanism.weights import TOTAL
from pbdp.noise.kernel import Array, Index
from pbdp.release.law import Weights
from pbdp.release.publisher import Publisher

# Where the requirement says nothing of the distance (a fixed range), intervals have this confidence.
USUAL_CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True, kw_only=True)
class Intervals:
    """low <= true answer <= high, each with at least this confidence."""

    low: Array
    high: Array
    confidence: float


def requirement_intervals(publisher: Publisher, published: Array, confidence: float) -> Intervals | None:
    """The requirement inverted, or None where it has no inverse in closed form that tells anything."""
    ends = publisher.requirement.region.inverse(published)
    return None if ends is None else _answers(publisher, *ends, confidence)


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
        raise InputError("published number", "finite", repr(published))
    grid, decoder, reach = publisher.design.output_grid, publisher.design.decoder, 0
    near = grid.nearest_step(published)
    if decoder is not None:
        first, last = decoder.noisy_range(near)
        if first > last or float(grid.values_of(np.array([near], dtype=np.int64))[0]) != published:
            raise _unpublished(publisher, published)
        return first, last
    if not (isinstance(grid, LinearGrid) and publisher.is_unclamped):
        # several steps may be published as this number
        reach = publisher.design.reach + abs(publisher.design.offset) + 2
    window = range(max(near - reach, -FURTHEST_STEP * 2), min(near + reach, FURTHEST_STEP * 2) + 1)

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
    rule = f"one that the plan can publish ({publisher.design.output_grid.describe()})"
    return InputError("published number", rule, f"{published:g}", "Give it with all its digits.")


def confidence_intervals(weights: Weights, published: Array, confidence: float) -> Intervals:
    """The answers that a two-sided test at 1 - confidence keeps, as one interval for each number."""
    publisher, grid = weights.publisher, weights.publisher.grid
    # whole weights: above the tail means at least the next whole number
    least = math.floor((1 - Fraction(probability("confidence", confidence))) / 2 * TOTAL) + 1
    moves = publisher.design.follows_answer and publisher.design.decoder is None
    moved = weights.kept_range(least) if moves else None
    if moved is not None and isinstance(grid, LinearGrid) and publisher.is_unclamped:
        half = 0.0 if grid.whole_outputs else 0.5
        low = moved_down(published, (half - moved[0]) * grid.step)
        high = -moved_down(-published, (half + moved[1]) * grid.step)
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
    if design.decoder is not None:
        least, most = publisher.requirement.answers_on(publisher.grid)
    return range(int(max(low, least)), int(min(high, most)) + 1)


def likelihoods(weights: Weights, published: float, answer_steps: Index) -> Array:
    """P(this number is published | answer) for answers on the grid."""
    first, last = output_steps(weights.publisher, published)
    weight = weights.up_to(answer_steps, last) - weights.up_to(answer_steps, first - 1)
    return np.asarray(weight / float(TOTAL))


def answers_between(publisher: Publisher, first: int, last: int) -> tuple[float, float]:
    """The interval of answers that are rounded to these grid points."""
    low, high = publisher.grid.answers_around(first, last)
    found = _answers(publisher, np.array([low]), np.array([high]), 0.0)
    return float(found.low[0]), float(found.high[0])
