"""What no mechanism can go below, whatever its law for each answer: for relative widths and ranges.

**The proof.** Take some answers, any two neighbors among them, and outputs y. For weights w_a >= 0 on the
answers, which add up to 1, and l_ab(y) >= 0 on ordered pairs of neighbors put

    n_a = max over y of  w_a · 1[y is acceptable for a] - sum_b l_ab(y) + e^eps · sum_b l_ba(y).

Then the least confidence over the answers of every (eps, delta)-DP mechanism is at most

    sum_a n_a + delta · sum_ab max over y of l_ab(y).

Let p_a be its laws. The least confidence is at most sum_a w_a · p_a(acceptable for a). For each pair
sum_y l_ab(y) (p_a(y) - e^eps p_b(y)) <= delta · max_y l_ab(y), as l_ab over its largest value lies in [0, 1].
Take the second from the first for all pairs: what is left is a sum over a and y of p_a(y) times the terms
in n_a, and p_a adds up to 1. A bound below the confidence that is asked for proves that epsilon impossible,
and so everything below it.

**Fewer answers** are fewer constraints, so a bound from some of them holds for all. Answers that are g
sensitivities apart have g - 1 others between them, so that (eps, delta)-DP says of them that they are
(g·eps, delta·(e^{g·eps} - 1) / (e^eps - 1))-DP. **Outputs** count by the answers that they are acceptable
for: to publish one that is acceptable for more of them instead is free. The best are where a region begins.

**The weights** are the dual solution of the linear program for delta = 0, whose variables are the laws; where
answers and outputs have a mirror image, so have the best laws. The solver is not believed: `Weights.bound`
does the sums above in floats and adds what they may be off by.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from pbdp.mechanism.requirement import Requirement
from pbdp.noise.kernel import Array, Index
from pbdp.planning.limit.certificate import LARGEST_EPSILON, ULP
from pbdp.planning.limit.of_plan import ANY_MECHANISM, WHOLE_OUTPUTS

Accepted = npt.NDArray[np.bool_]

# Constraints that a program may have (a few seconds), and answers.
MOST_ROWS, MOST_ANSWERS = 12_500, 240
# How far answers go, in the half-width of the narrowest region: far, where there is room; far enough for most
# percentages; and else as far as there is room for.
FURTHEST, ENOUGH, LEAST = (24, 16), (8,), (6,)
# Answers are so many to a sensitivity at most.
FINEST = 6
# Answers that are farther apart than this part of a region prove next to nothing.
COARSEST = 0.5
# Regions are made a little wider than floats say, which only weakens a limit.
WIDER = 1e-9
# The first look is this far below the plan; then so many, each this far below where the limit seems to be.
FIRST, LOOKS, STEP_BACK = 1e-3, 3, 1e-4


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitOfAnyLaw:
    """No `subject` has a smaller epsilon, not even with a law of its own for every answer.

    It is proved by so many of the `answers`.
    """

    epsilon: float
    subject: str
    answers: int


def limit_of_any_law(requirement: Requirement, reached: float) -> LimitOfAnyLaw | None:
    """The limit for a requirement that a plan meets at epsilon `reached`, rounded down; takes seconds.

    None where a law of its own for every answer cannot gain, for several releases, and for what is too large.
    """
    if _is_plain(requirement) or not 0 < reached <= LARGEST_EPSILON or requirement.delta is None:
        return None
    settings = _settings(requirement)
    proved, setting = max(
        ((_proved(setting, requirement, reached), setting) for setting in settings),
        key=lambda entry: entry[0],
        default=(0.0, None),
    )
    if setting is None or proved == 0:
        return None
    return LimitOfAnyLaw(
        epsilon=proved,
        subject=WHOLE_OUTPUTS if requirement.integer else ANY_MECHANISM,
        answers=len(setting.accepted),
    )


def _proved(setting: _Setting, requirement: Requirement, reached: float) -> float:
    """The largest epsilon that some answers are seen to prove impossible; 0 where they prove nothing."""
    if requirement.delta is None:
        raise AssertionError("there is no proof of this kind without a delta")
    wanted, epsilon, proved = requirement.confidence, reached * (1 - FIRST), 0.0
    for _ in range(LOOKS):
        if setting.group * epsilon > LARGEST_EPSILON:
            break
        solution = _solve(setting, epsilon)
        if solution is None:
            break
        if solution.weights.proves(wanted, epsilon, requirement.delta):
            proved = max(proved, epsilon)
        miss = max(1 - solution.weights.confidence(epsilon, requirement.delta), ULP)
        step = (math.log(miss) - math.log1p(-wanted)) * miss / solution.slope if solution.slope > 0 else 0.0
        following = min((epsilon + step) * (1 - STEP_BACK), reached * (1 - STEP_BACK))
        if following <= max(proved * (1 + STEP_BACK), 0.0):
            break
        epsilon = following
    return proved


def _is_plain(requirement: Requirement) -> bool:
    """Whether this proves nothing: one law for all answers is the best, or there is no proof of this kind."""
    region = requirement.region
    alike = region.follows_answer and requirement.bounds is None
    several = requirement.releases > 1 or requirement.coordinates is not None
    unknown = region.stands_still or requirement.scale is not None or requirement.delta is None
    return alike or several or unknown or (region.only_whole_answers and not requirement.integer)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Setting:
    """Some answers in a row, and for which of them each output is acceptable.

    Those at most `reach` places apart are neighbors; or, with a `group` of more than one, those next to each
    other are so many sensitivities apart.
    """

    accepted: Accepted
    reach: int
    group: int

    @property
    def pairs(self) -> tuple[Index, Index]:
        """All ordered pairs of neighbors."""
        size = len(self.accepted)
        first, second = np.divmod(np.arange(size * size), size)
        near = (first != second) & (np.abs(first - second) <= self.reach)
        return first[near], second[near]

    @property
    def mirror(self) -> Index | None:
        """For each output the one that the mirror image of the answers accepts; None if there is not."""
        columns = {column.tobytes(): place for place, column in enumerate(self.accepted.T)}
        found = [columns.get(column.tobytes(), -1) for column in self.accepted[::-1].T]
        return None if min(found) < 0 else np.array(found)


def _settings(requirement: Requirement) -> list[_Setting]:
    """Answers that there is room for, few or far: how far they go counts for more than how fine they are."""
    found = [next(_settings_to(requirement, extents), None) for extents in (FURTHEST, ENOUGH)]
    kept = [setting for setting in found if setting is not None]
    if len(kept) == 2 and kept[0].reach >= kept[1].reach:
        kept = kept[:1]  # those that go less far are no finer
    return kept or list(islice(_settings_to(requirement, LEAST), 1))


def _settings_to(requirement: Requirement, extents: tuple[int, ...]) -> Iterator[_Setting]:
    """The finest answers first, and of those the ones that go furthest."""
    ends = requirement.region.answers
    if requirement.bounds is not None:
        low, high = requirement.bounds.answers
        ends = max(ends[0], low), min(ends[1], high)
    known = [end for end in ends if math.isfinite(end)]
    narrow = sum(float(offset) for offset in requirement.region.offsets(known[0] if known else 0.0))
    sensitivity = math.floor(requirement.sensitivity) if requirement.integer else requirement.sensitivity
    ends_above_only = math.isinf(ends[0]) and math.isfinite(ends[1])
    if not 0 < narrow < math.inf or sensitivity == 0 or ends_above_only:
        return
    coarsest = math.floor(COARSEST * narrow / sensitivity) if extents is not FURTHEST else 1
    finest = min(FINEST, math.floor(sensitivity)) if requirement.integer else FINEST
    finer, coarser = range(finest, 0, -1), range(2, coarsest + 1)
    for parts, group in [*((parts, 1) for parts in finer), *((1, group) for group in coarser)]:
        places = np.arange(MOST_ANSWERS + 1) * group * sensitivity
        steps = np.asarray(places // parts if requirement.integer else places / parts, dtype=np.float64)
        for extent in (math.inf,) if len(known) == 2 else extents:
            answers = _answers(requirement.integer, ends, steps, extent * narrow / 2)
            if not 2 <= len(answers) <= MOST_ANSWERS:
                continue
            accepted = _accepted(requirement, answers)
            setting = _Setting(accepted=accepted, reach=parts, group=group)
            rows = len(setting.pairs[0]) * accepted.shape[1]
            if 0 < rows <= MOST_ROWS * (1 if setting.mirror is None else 2):
                yield setting


def _answers(whole: bool, ends: tuple[float, float], steps: Array, furthest: float) -> Array:
    """Answers so far above the low end, or to both sides of 0.

    Whole steps are rounded down, so that answers `reach` places apart differ by a sensitivity at most.
    """
    origin = 0.0 if math.isinf(ends[0]) else float(math.ceil(ends[0])) if whole else ends[0]
    steps = steps[steps <= min(furthest, ends[1] - origin)]
    return origin + (np.concatenate((-steps[:0:-1], steps)) if math.isinf(ends[0]) else steps)


def _accepted(requirement: Requirement, answers: Array) -> Accepted:
    """For each answer the outputs that are acceptable; only those that no other output is better than."""
    below, above = (np.asarray(offset, dtype=np.float64) for offset in requirement.region.offsets(answers))
    spare = WIDER * (1 + np.abs(answers) + below + above)
    low, high = answers - below - spare, answers + above + spare
    if requirement.bounds is not None:
        least, most = requirement.bounds.answers
        low, high = np.maximum(low, least), np.minimum(high, most)
    if requirement.integer:
        low, high = np.ceil(low), np.floor(high)
    outputs = np.unique(low)
    accepted = np.unique((low[:, None] <= outputs) & (outputs <= high[:, None]), axis=1)
    counts = accepted.astype(np.int64)
    shared, size = counts.T @ counts, counts.sum(axis=0)
    worse = (shared == size[:, None]) & (size[None, :] > size[:, None])
    return np.asarray(accepted[:, ~worse.any(axis=1)])


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Weights:
    """Weights of answers, and of pairs of neighbors (rows) at each output: whatever they are, they prove."""

    accepted: Accepted
    group: int
    answers: Array
    first: Index
    second: Index
    pairs: Array

    def proves(self, confidence: float, epsilon: float, delta: float) -> bool:
        """Whether no (epsilon, delta)-DP mechanism keeps the confidence for all of the answers."""
        return self.confidence(epsilon, delta) < confidence

    def confidence(self, epsilon: float, delta: float) -> float:
        """What no such mechanism has more of for all of the answers."""
        total = math.fsum(self.answers)
        return self.bound(epsilon, delta) / total * (1 + 4 * ULP) if total > 0 else math.inf

    def bound(self, epsilon: float, delta: float) -> float:
        """The least confidence times the sum of the weights is at most this, rounding included."""
        # both grow with rounding, and a larger epsilon or delta only weakens the bound
        growth = math.exp(self.group * epsilon) * (1 + 8 * (1 + self.group * epsilon) * ULP)
        among = 1.0 if self.group == 1 else math.expm1(self.group * epsilon) / math.expm1(epsilon)
        spread = delta * among * (1 + 16 * (1 + self.group * epsilon) * ULP)
        terms = self.answers[:, None] * self.accepted
        size = terms.copy()
        np.subtract.at(terms, self.first, self.pairs)
        np.add.at(terms, self.second, growth * self.pairs)
        np.add.at(size, self.first, self.pairs)
        np.add.at(size, self.second, growth * self.pairs)
        # each is a sum of so many terms, and each sum is off by less than as many units of its size
        count = 2 * int(np.bincount(self.second).max(initial=0)) + 8
        lost = math.fsum(size.max(axis=1)) * count * ULP
        paid = spread * math.fsum(self.pairs.max(axis=1)) * (1 + 4 * ULP)
        total = math.fsum(terms.max(axis=1))
        return total + lost + paid + 4 * ULP * (abs(total) + lost + paid)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Solution:
    """Weights, and how fast what they allow grows with epsilon."""

    slope: float
    weights: Weights


def _solve(setting: _Setting, epsilon: float) -> _Solution | None:
    """The program at one epsilon, or None if the solver gave up.

    Variables: p_a(y), one for two that are each other's mirror image, and the confidence. Constraints:
    p_a(y) <= e^eps p_b(y) for neighbors, p_a adds up to 1, the confidence is at most that of each answer.
    """
    from scipy.optimize import linprog
    from scipy.sparse import coo_array, csc_array

    accepted, mirror, growth = setting.accepted, setting.mirror, math.exp(setting.group * epsilon)
    size, outputs = accepted.shape
    own = np.arange(size * outputs).reshape(size, outputs)
    answers = np.arange(size)
    first, second = setting.pairs
    if mirror is not None:
        _, folded = np.unique(np.minimum(own, own[::-1][:, mirror]), return_inverse=True)
        own = folded.reshape(size, outputs)
        kept = first * size + second < (size - 1 - first) * size + size - 1 - second
        first, second, answers = first[kept], second[kept], answers[: (size + 1) // 2]
    count, last = len(first) * outputs, int(own.max()) + 1
    row = np.arange(count)
    place, output = np.nonzero(accepted[answers])
    columns = (
        own[first].ravel(),
        own[second].ravel(),
        own[answers[place], output],
        np.full(len(answers), last),
    )
    rows = (row, row, count + place, count + np.arange(len(answers)))
    values = (np.ones(count), np.full(count, -growth), -np.ones(len(place)), np.ones(len(answers)))
    shape = (count + len(answers), last + 1)
    matrix = coo_array((np.concatenate(values), (np.concatenate(rows), np.concatenate(columns))), shape=shape)
    sums = coo_array(
        (
            np.ones(len(answers) * outputs),
            (np.repeat(np.arange(len(answers)), outputs), own[answers].ravel()),
        ),
        shape=(len(answers), last + 1),
    )
    result = linprog(
        np.append(np.zeros(last), -1.0),
        A_ub=cast(Any, csc_array(matrix)),
        b_ub=np.zeros(shape[0]),
        A_eq=cast(Any, csc_array(sums)),
        b_eq=np.ones(len(answers)),
        method="highs-ipm",
    )
    if result.status != 0 or result.x is None:
        return None
    prices = np.maximum(-np.asarray(result.ineqlin.marginals, dtype=np.float64), 0.0)
    pairs, own_weight = prices[:count].reshape(-1, outputs), np.zeros(size)
    own_weight[answers] = prices[count:]
    slope = setting.group * growth * float(pairs.ravel() @ result.x[own[second].ravel()])
    if mirror is not None:
        # what a mirror image stands for is shared by the two
        own_weight = (own_weight + own_weight[::-1]) / 2
        first, second = np.append(first, size - 1 - first), np.append(second, size - 1 - second)
        pairs = np.concatenate((pairs, pairs[:, mirror])) / 2
    weights = Weights(
        accepted=accepted,
        group=setting.group,
        answers=own_weight,
        first=first,
        second=second,
        pairs=pairs,
    )
    return _Solution(slope=slope, weights=weights)
