"""Free-form noise for several releases: the law of least Rényi divergence, at the order that serves best.

**The shape** is a staircase with free levels, one edge on each edge of the region. It is symmetric about the
middle of the region and falls away from it. Its steps are as wide as the sensitivity d, counted from both
edges of the region; what is left in the middle is one plateau of c points:

    ... 2  2  1  1 | 0  0  0 | 1  1  2  2 ...        levels 1..J fill the region, d points a side each

Nothing is lost by that. With a falling table the shift d is the worst one. It pairs only points d apart, and
a divergence is convex, so averaging over points that are paired alike cannot raise it. Beyond the region
every point weighs the same in the requirement, so the levels there fall by one ratio r for ever: p(J+k) =
p(J) r^k. With the outside mass to each point of a step, w = (1 - confidence) / 2d, given, r = w / (p(J) + w),
and the losses of the whole tail are those of one pair of masses, p(J) + w against w. A law is thus J + 1
numbers. (The tests check, point by point, that no falling table has a smaller moment.)

**The order.** With the law of the other releases fixed, the composed delta is a divergence of one release,
the sum of q f(p/q) with f convex and close to a power. So the law of least moment is within 0.1 % of the
best, if the order is the right one; orders are compared by the epsilon of all releases composed.

**The levels** of least moment are unique and found by Newton's method. In relative changes x of the levels
the second derivative of q f(p/q) is q u² f''(u) (x_p - x_q)² with u = p/q. Levels pair only with the next
one, so the matrix is that of a chain of springs: the force on a spring is the sum of the loads on one side of
it, and a Newton step is two running sums. One multiplier keeps the mass of the region.

**Wide regions.** With J levels a loss is about 1/J of what a whole width would lose, and where that is
little, (1 - e^(eps-L))+ is about (eps - L)+: what counts is the losses times J, at delta times J. So more
than `MOST_LEVELS` levels lie on a curve through as many, found for a region of so many sensitivities.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from pbdp.accounting.composition.composed import compose
from pbdp.accounting.composition.loss_law import pair_release
from pbdp.errors import CannotCertifyError, InputError
from pbdp.noise.free_form import NEGLIGIBLE, FreeForm
from pbdp.noise.kernel import Array
from pbdp.parameters import whole
from pbdp.planning.limit.closed_form import Question
from pbdp.planning.limit.cut_staircase import staircase_epsilon

# Levels that are found one by one: a loss is then a hundredth or so of what a whole width would lose.
MOST_LEVELS = 256
# Exponents larger than this are not taken: e^700 is the largest double, and moments are products of two.
LARGEST_EXPONENT = 300.0
# Newton's method ends with changes of the levels that are below the digits of their moment.
CLOSE, MOST_STEPS = 1e-11, 60
# A moment is a sum of doubles: changes below this part of it are rounding.
ROUNDING = 1e-12
# Orders less one are looked at in units of the one that Gaussian noise would call for: powers of 2 to this
# part, of which so many lie on either side. Near the best the composed epsilon is flat.
PARTS, FURTHEST = 8, 48
# A tail that falls so fast has no step.
ENDED = 1 - math.log(NEGLIGIBLE)


@dataclass(frozen=True, slots=True)
class Layout:
    """Where the steps of a law lie that keeps a question's confidence; levels are logs of masses.

    With an `end` the law ends after one more step of this mass on either side, in place of the tail.
    """

    question: Question
    end: float = 0.0

    def __post_init__(self) -> None:
        points, sensitivity = self.question.points, self.question.sensitivity
        if points < sensitivity:
            raise InputError("sensitivity", f"at most the {points} values of the region", sensitivity)

    @property
    def beyond(self) -> float:
        """w, the outside mass to each point of a step."""
        if self.end:
            return self.end / self.question.sensitivity
        return (1 - self.question.confidence) / (2 * self.question.sensitivity)

    @property
    def counts(self) -> Array:
        """How many points have each of the levels 0..J."""
        counts = np.full(self.question.whole_steps + 1, 2.0 * self.question.sensitivity)
        counts[0] = self.question.central_points
        return counts

    @property
    def pairs(self) -> Array:
        """How many points of level j have their neighbor on level j + 1 further out, for j < J."""
        pairs = np.full(self.question.whole_steps, float(self.question.sensitivity))
        pairs[:1] = min(self.question.central_points, self.question.sensitivity)
        return pairs

    def normalized(self, levels: Array) -> Array:
        """The levels with the mass of the region brought to the confidence."""
        return levels + math.log(self.question.confidence / float(self.counts @ np.exp(levels)))

    def even_levels(self) -> Array:
        """Levels that fall by one ratio inside the region as well: the law of least bounded loss."""
        loss = staircase_epsilon(self.question)
        return self.normalized(-loss * np.arange(self.question.whole_steps + 1.0))

    def neighbors(self, levels: Array) -> tuple[Array, Array]:
        """Masses of all outputs, those of equal loss lumped, under an answer and one that is d less."""
        p, d, plateau = np.exp(levels), self.question.sensitivity, self.question.central_points
        near, far = self.pairs * p[:-1], self.pairs * p[1:]
        # points of the plateau, or of the first steps, whose neighbor is on the same level
        count = abs(d - plateau)
        still = [count * p[int(plateau < d)]] if count else []
        inner, outer = d * (p[-1] + self.tail), d * self.beyond
        first = np.concatenate([near, far, [inner, outer, *still]])
        second = np.concatenate([far, near, [outer, inner, *still]])
        return first / (math.fsum(first) + self.end), second / (math.fsum(second) + self.end)

    @property
    def tail(self) -> float:
        """What the last level is summed up with, where its neighbor is the first step beyond."""
        return 0.0 if self.end else self.beyond

    def law(self, levels: Array) -> FreeForm:
        """The noise with these levels, or with a curve through them where the question has more."""
        steps = self.question.whole_steps
        curve = self.normalized(
            np.interp(np.arange(steps + 1.0), np.linspace(0.0, steps, len(levels)), levels)
        )
        if self.end:
            heights = (*(curve[1:] - curve[0]).tolist(), math.log(self.beyond) - float(curve[0]))
            plateau, width = self.question.central_points, self.question.sensitivity
            return FreeForm(plateau=plateau, width=width, steps=steps + 1, heights=heights, fall=ENDED)
        last = math.exp(float(curve[-1]))
        return FreeForm(
            plateau=self.question.central_points,
            width=self.question.sensitivity,
            steps=steps,
            heights=tuple((levels[1:] - levels[0]).tolist()),
            fall=math.log1p(last / self.beyond),
        )


def moment(layout: Layout, order: float, levels: Array) -> float:
    """The sum of p^order q^(1 - order) over all outputs."""
    first, second = layout.neighbors(levels)
    return float(first @ np.exp((order - 1) * np.log(first / second)))


def least_moment(layout: Layout, order: float, start: Array) -> Array:
    """The levels of least moment; the problem is convex."""
    levels = layout.normalized(start)
    value = moment(layout, order, levels)
    for _ in range(MOST_STEPS):
        change = _newton_step(layout, order, levels)
        size = float(np.max(np.abs(change)))
        if not CLOSE < size < math.inf:
            break
        # no farther than the second derivative, which grows with the differences of levels, is right for
        bend = float(np.max(np.abs(np.diff(change)), initial=0.0)) * (order - 1)
        change /= max(1.0, bend, size)
        trial = layout.normalized(levels + change)
        while (reached := moment(layout, order, trial)) > value * (1 + ROUNDING):
            change /= 2
            if np.max(np.abs(change)) < CLOSE:
                return levels
            trial = layout.normalized(levels + change)
        levels, value = trial, reached
    return levels


def _newton_step(layout: Layout, order: float, levels: Array) -> Array:
    """Relative changes of the levels."""
    p, d, plateau = np.exp(levels), layout.question.sensitivity, layout.question.central_points
    # springs between levels, and the last one between the sum of a tail and the tail less its first point
    near = np.concatenate([layout.pairs * p[:-1], [d * (p[-1] + layout.tail)]])
    far = np.concatenate([layout.pairs * p[1:], [d * layout.beyond]])
    rise = np.log(near / far)
    # f(u) = u^order at u = near/far and far/near: each end's part of the moment, and how it pulls
    out, back = far * np.exp(order * rise), near * np.exp(-order * rise)
    pull_near, pull_far = order * out + (1 - order) * back, (1 - order) * out + order * back
    stiffness = np.maximum(order * (order - 1) * (out + back), np.finfo(np.float64).tiny)
    # the last level is only a share of its tail's sum
    share = p[-1] / (p[-1] + layout.tail)
    gradient = pull_near * np.append(np.ones(len(p) - 1), share)
    gradient[1:] += pull_far[:-1]
    still = int(plateau < d)
    gradient[still] += abs(d - plateau) * p[still]
    stiffness[-1] *= share**2

    def displaced(load: Array) -> Array:
        return np.asarray(np.cumsum((np.cumsum(load) / stiffness)[::-1])[::-1])

    mass = layout.counts * p
    by_gradient, by_mass = displaced(-gradient), displaced(mass)
    missing = layout.question.confidence - float(np.sum(mass))
    multiplier = (missing - float(mass @ by_gradient)) / float(mass @ by_mass)
    return by_gradient + multiplier * by_mass


def free_form_law(question: Question, releases: int) -> FreeForm:
    """The law with the least total epsilon that was found, symmetric about the middle of the region."""
    whole("releases", releases)
    if question.delta <= 0:
        raise CannotCertifyError("A finite table has no epsilon at delta 0. Use a delta above 0.")
    return _law(Layout(question), releases)


def ended_law(question: Question, releases: int) -> FreeForm:
    """The same for the confidence 1: half of delta pays for the last step in the region, which ends the law.

    The other levels keep to what is left of the region, as they do for less confidence.
    """
    end = question.delta / (2 * releases)
    inner = question.points - 2 * question.sensitivity
    return _law(Layout(replace(question, points=inner, confidence=1 - 2 * end), end), releases)


def _law(layout: Layout, releases: int) -> FreeForm:
    question, steps = layout.question, layout.question.whole_steps
    if steps <= MOST_LEVELS:
        return layout.law(_best_levels(layout, releases))
    alike = replace(
        question,
        points=2 * MOST_LEVELS + 1,
        sensitivity=1,
        delta=min(question.delta * steps / MOST_LEVELS, 0.5),
    )
    return layout.law(_best_levels(Layout(alike, layout.end), releases))


def _best_levels(layout: Layout, releases: int) -> Array:
    """The best levels among those of least moment and the even staircase, which is the limit of large orders.

    Epsilon falls and rises once with the order: the distances that are looked at from the best are halved.
    """
    delta, even = layout.question.delta, layout.even_levels()
    release = partial(pair_release, one_way=True)

    def epsilon_of(levels: Array) -> float:
        """Total epsilon of all releases; infinite for levels that rise outwards, which are of no use."""
        if np.any(np.diff(levels) > 0):
            return math.inf
        first, second = layout.neighbors(levels)
        if layout.end:
            first, second = np.append(first, [layout.end, 0.0]), np.append(second, [0.0, layout.end])
        return compose([(release(first, second), releases)]).upper_epsilon_at(delta)

    least = epsilon_of(even)
    if len(even) == 1 or least == 0:
        return even
    loss = float(even[0] - even[1])
    guess = math.sqrt(2 * math.log(1 / delta) / releases) / loss
    found = {FURTHEST + 1: (least, even)}

    def epsilon_at(place: int) -> float:
        if place not in found:
            order = 1 + min(guess * 2 ** (place / PARTS), LARGEST_EXPONENT / loss)
            nearest = min(found, key=lambda known: abs(known - place))
            levels = least_moment(layout, order, found[nearest][1])
            found[place] = epsilon_of(levels), levels
        return found[place][0]

    center, step = 0, PARTS
    while step:
        best = min((center, center - step, center + step), key=epsilon_at)
        center, step = best, step // 2 if best == center or abs(best) > FURTHEST else step
    return min(found.values(), key=lambda entry: entry[0])[1]
