"""The procedure that costs least at the answers people have. Nothing here is a guarantee: see `procedure`.

In units of the answer at which theta·|Q| is the floor (for answers) and of the floor (for widths) a procedure
depends on theta, the confidence and the expected answers only; its noise is taken as normal here. With
z the normal quantile of the confidence, a look within T costs T^-2 of one within the floor, and a last look
within T misses an answer q with probability 2·normal tail of z·max(q, 1)/T.

Each scout looks about `GROWTH` times as precisely as the one before, the last one with a share of the
precision that the floor needs. Which band leads where is a Bayes rule: least mean cost plus multiplier times
probability of a miss, the mean over the expected answers. Multipliers, one for each answer, grow where the
promise is missed and fall where it is kept with room (dual ascent). An answer that is clearly small needs no
last scout; only one that may be near the floor's end does. So the last few scouts have rules of their own,
and so has the first; all others share one, each on its own scale.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from pbdp import special
from pbdp.errors import InputError
from pbdp.ledger.looks.procedure import NEXT, Procedure, Scout, Target, blocks, miss_bounds, sigma_for
from pbdp.noise.kernel import Array, Index
from pbdp.root_finding import least_enough

# Answers are expected from twice to 20,000 times the floor, evenly in log, unless told.
USUAL = 2.0, 20_000.0
# The precision of a scout over that of the one before, at most; and of the last scout over that of a look at
# the floor, for a theta/z of one: uncertainty and cost then balance.
GROWTH = 4.0
LAST = 1.5
# So many of the last scouts have rules of their own.
OWN = 2
# Beyond this theta/z scouts tell little for what they cost: a smaller theta is tuned for.
LARGEST_RATIO = 0.1
# The most that all looks may cost, over one look within the floor; and what the rules are made for.
MOST, AIMED = 1.3, 1.08
# A scout serves answers up to so many times those of the next one, on a scale on which the last serves one.
REACHED = 1.1
# Answers up to so many times the one at which theta·|Q| is the floor are near it.
NEAR = 2.0
# Scouts have tables; wider ones than so many steps cost nothing to speak of anyway.
WIDEST_SIGMA = 2.0**17
# Cells of a scout's sigma, and steps in the logarithms of answers and widths.
_CELLS = 4
_ANSWERS, _WIDTHS = 0.03, 0.02
_ROUNDS = 400
# What scouts see, and the least that they lead to, in sigmas of theirs.
_SEEN, _LEAST = 22.0, 1.5
# Where a rule goes on to the next scout.
ON = -1
# The factor by which last looks are narrowed: as the most precise one costs about as much as a look at the
# floor, more than the first costs too much; how closely it is found, from a first step of the third on.
NARROWEST, CLOSE, BESIDE = MOST**0.5, 1e-3, 1.02
# Products of matrices take so many columns at a time, which are too few for threads: those cost more than
# they bring here.
_BLOCK = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """Where the bands of a scout start, and where each leads (0: to the next scout), in the units above."""

    sigma: float
    starts: tuple[float, ...]
    widths: tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Stage:
    """A scout: P(|A| in cell) for answers by cells, the widths it may lead to, what they cost and miss."""

    sigma: float
    cost: float
    starts: Array
    chances: Array
    widths: Array
    costs: Array
    missed: Array


def procedure_for(target: Target, expected: tuple[float, float] | None = None) -> Procedure:
    """The procedure for a width, tuned for answers in the expected range, and proved for all."""
    floor = target.width.floor
    low, high = (floor * USUAL[0], floor * USUAL[1]) if expected is None else expected
    if not 0 < low <= high < math.inf:
        remedy = "They are taken as spread evenly in log: for counts from 0 on start at 1."
        raise InputError(
            "expect", "two numbers above 0, the smaller one first", f"{low:g} and {high:g}", remedy
        )
    return _procedure(target, float(f"{low:.6g}"), float(f"{high:.6g}"))


@lru_cache(maxsize=64)
def _procedure(target: Target, low: float, high: float) -> Procedure:
    width, grid = target.width, target.grid
    if width.steps_at(0, grid) < 0:
        raise InputError("floor", "at least a step of the grid", f"{width.floor:g}", "Use a finer step.")
    largest = min(width.theta, LARGEST_RATIO * _quantile(width.confidence))
    # Where hardly any answer is expected near the floor, it may be served too badly: then as if some were. A
    # smaller theta asks for more than is promised, and is easier to keep.
    for theta, least in ((largest, low), (largest, 0.0), (largest / 2, 0.0)):
        kink = width.floor / theta
        # the widest scout serves answers up to so far
        furthest = WIDEST_SIGMA * grid.step / _last_sigma(theta, width.confidence) * math.sqrt(GROWTH)
        rules = shape(theta, width.confidence, (least or 0.1 * kink) / kink, min(high, furthest) / kink)
        made = _proved(target, rules, theta) if rules else _in_steps(target, (), theta, 1.0, 1.0)
        if made is not None:
            return made
    return _in_steps(target, (), largest, 1.0, 1.0)


def _proved(target: Target, rules: tuple[Rule, ...], theta: float) -> Procedure | None:
    """The rules on the grid, narrowed until the promise holds; None if that costs too much.

    Last looks for answers near the floor are what costs. So the others are narrowed first, as far as answers
    further out need it, and then those. Narrower ones never miss more often.
    """
    alpha = float(1 - np.float64(target.width.confidence))
    apart = NEAR * target.width.floor / theta / target.grid.step

    def excess(near: float, far: float, least: float, most: float) -> float:
        made = _in_steps(target, rules, theta, near, far)
        first, last = blocks(made)
        looked_at = (least < first) & (first <= most)
        return float(np.max(miss_bounds(made, first[looked_at], last[looked_at]), initial=0.0)) / alpha - 1

    def narrowed(excess: Callable[[float], float]) -> float:
        return least_enough(excess, 1.0, close=CLOSE, beside=BESIDE, most=NARROWEST)

    far = narrowed(lambda far: excess(1.0, far, apart, math.inf))
    near = max(narrowed(lambda near: excess(near, far, -1, apart)), 1.0) if math.isfinite(far) else far
    if math.isinf(near) or excess(near, far, -1, math.inf) > 0:
        return None
    made = _in_steps(target, rules, theta, near, far)
    return made if sum(sigma**-2 for sigma in made.longest()) <= MOST / made.alone**2 else None


def _in_steps(target: Target, rules: tuple[Rule, ...], theta: float, near: float, far: float) -> Procedure:
    """The rules on the grid, last looks for answers near the floor and for others divided by a factor.

    Noise within a whole number of steps, w, has the sigma of normal noise within w + 1/2; and the w of an
    answer may be all but one step less than theta times it.
    """
    least = target.width.steps_at(0, target.grid)
    alone = sigma_for(least, target.width.confidence)
    unit, shift = (least + 0.5) / theta, 0.5 / theta
    scouts = []
    for rule in rules:
        bands: list[tuple[int, float]] = []
        for start, width in zip(rule.starts, rule.widths, strict=True):
            end = NEXT if width == 0 else _digits(width * alone / (near if start < NEAR else far))
            at = math.ceil(start * unit + shift) if start else 0
            if bands and at == bands[-1][0]:
                bands.pop()
            if not bands or bands[-1][1] != end:
                bands.append((at, end))
        scouts.append(Scout(sigma=_digits(rule.sigma * unit), bands=tuple(bands)))
    return Procedure(target=target, scouts=tuple(scouts), alone=alone)


def _digits(sigma: float) -> float:
    """Sigmas are public, and need not be long."""
    return float(f"{sigma:.5g}")


@lru_cache(maxsize=64)
def shape(theta: float, confidence: float, low: float, high: float) -> tuple[Rule, ...]:
    """The rules of all scouts, widest first; none where answers are not expected to gain by them."""
    ratio = theta / _quantile(confidence)
    if high <= REACHED:
        return ()
    count = max(math.ceil(math.log(high / REACHED) / math.log(math.sqrt(GROWTH))), 1)
    apart = max((high / REACHED) ** (1 / count), 1.5)
    own = min(count, OWN + 2)
    sigmas = _last_sigma(theta, confidence) * apart ** np.arange(own - 1.0, -1.0, -1.0)
    rules = _tuned(ratio, confidence, (low, high), sigmas)
    if count == own:
        return rules
    first, middle, *last = rules
    between = [_scaled(middle, apart**power) for power in range(count - own, -1, -1)]
    return (_scaled(first, apart ** (count - own)), *between, *last)


def _scaled(rule: Rule, factor: float) -> Rule:
    """The same further out, where what is seen near zero says nothing: from there it always goes on."""
    if factor == 1:
        return rule
    on = [start for start, width in zip(rule.starts, rule.widths, strict=True) if width == 0]
    least = max(on, default=5 * rule.sigma)
    return Rule(
        sigma=rule.sigma * factor,
        starts=tuple(start * factor for start in rule.starts),
        widths=tuple(
            0.0 if start <= least else width * factor
            for start, width in zip(rule.starts, rule.widths, strict=True)
        ),
    )


def _last_sigma(theta: float, confidence: float) -> float:
    """The sigma of the last scout: its precision is a share of what the floor needs."""
    ratio = theta / _quantile(confidence)
    return ratio / math.sqrt(LAST * ratio)


def _quantile(confidence: float) -> float:
    return -float(special.ndtri((1 - confidence) / 2))


def _tuned(ratio: float, confidence: float, expected: tuple[float, float], sigmas: Array) -> tuple[Rule, ...]:
    """The Bayes rules after dual ascent; `ratio` is theta/z."""
    alpha, z = 1 - confidence, _quantile(confidence)
    apart = float(sigmas[0] / sigmas[1]) if len(sigmas) > 1 else math.sqrt(GROWTH)
    # one, where misses are most likely, is among them
    steps = math.ceil(math.log(1.5 * apart ** len(sigmas)) / _ANSWERS)
    answers = np.concatenate([np.linspace(0, 0.9, 10), np.exp(_ANSWERS * np.arange(-3, steps))])
    needed = np.maximum(answers, 1.0)
    spread = np.gradient(np.log(np.maximum(answers, 0.05)))
    inside = spread * ((answers >= expected[0]) & (answers <= expected[1]))
    prior = 0.97 * inside / max(float(np.sum(inside)), 1e-9) + 0.03 * spread / np.sum(spread)
    stages = [_stage(sigma, ratio, answers, z) for sigma in sigmas.tolist()]
    density = math.exp(-z * z / 2) / math.sqrt(2 * math.pi)
    multipliers = np.full(len(answers), 1 / (z * density))
    rules: list[Index] = [np.where(stage.starts > 5 * stage.sigma, 0, ON) for stage in stages]
    best, kept = math.inf, rules
    for number in range(_ROUNDS):
        rules, cost, miss = _round(stages, rules, prior, prior / needed**2 * multipliers)
        excess = miss / alpha - 1
        # about what it costs to narrow all widths until the promise holds
        paid = float(np.sum(prior * cost)) * (1 + max(float(np.max(excess)), 0.0) * alpha / (z * z * density))
        if paid < best:
            best, kept = paid, rules
        pace = 0.5 if number < 0.4 * _ROUNDS else 0.2 if number < 0.7 * _ROUNDS else 0.08
        multipliers = np.clip(multipliers * np.exp(pace * np.clip(excess, -0.6, 0.6)), 1e-3, 1e4)
    return tuple(
        Rule(
            sigma=stage.sigma,
            starts=tuple(stage.starts.tolist()),
            widths=tuple(np.where(rule == ON, 0.0, stage.widths[rule]).tolist()),
        )
        for stage, rule in zip(stages, kept, strict=True)
    )


def _stage(sigma: float, ratio: float, answers: Array, z: float) -> _Stage:
    widest = _SEEN * sigma
    starts = np.arange(0.0, widest, sigma / _CELLS)
    edges, column = np.append(starts, np.inf), answers[:, None]
    above = special.ndtr((column - edges) / sigma) + special.ndtr((-column - edges) / sigma)
    above[:, 0] = 1.0
    # no last look is to cost more than was aimed at
    least = max(AIMED**-0.5, _LEAST * sigma)
    widths = np.exp(np.arange(math.log(least), math.log(widest), _WIDTHS))
    widths = np.sort(np.append(widths, 1.0)) if least < 1 else widths
    return _Stage(
        sigma=sigma,
        cost=(ratio / sigma) ** 2,
        starts=starts,
        chances=above[:, :-1] - above[:, 1:],
        widths=widths,
        costs=widths**-2.0,
        missed=2 * special.ndtr(-z * np.maximum(column, 1.0) / widths),
    )


def _round(
    stages: list[_Stage], rules: list[Index], prior: Array, weights: Array
) -> tuple[list[Index], Array, Array]:
    """The best rule at every scout, the later ones first; mean cost and miss at every answer with them."""
    reached, reaches = np.ones(len(prior)), []
    for stage, rule in zip(stages, rules, strict=True):
        reaches.append(reached)
        reached = reached * (stage.chances @ (rule == ON))
    found: list[Index] = []
    cost = miss = np.zeros(len(prior))
    for stage, reach in zip(reversed(stages), reversed(reaches), strict=True):
        chances, missing = stage.chances, stage.chances * (reach * weights)[:, None]
        loss = ((reach * prior) @ chances)[:, None] * stage.costs
        for at in range(0, len(loss), _BLOCK):
            loss[at : at + _BLOCK] += missing[:, at : at + _BLOCK].T @ stage.missed
        rule = np.argmin(loss, axis=1)
        if found:
            on = (reach * (prior * cost + weights * miss)) @ chances
            rule = np.where(on < np.min(loss, axis=1), ON, rule)
        ends = rule != ON
        on_chance = chances @ ~ends
        ending, led = chances[:, ends], rule[ends]
        cost = stage.cost + ending @ stage.costs[led] + on_chance * cost
        miss = np.sum(ending * stage.missed[:, led], axis=1) + on_chance * miss
        found.insert(0, rule)
    return found, cost, miss
