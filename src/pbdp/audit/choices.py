"""Draws of a plan that chooses, at made-up scores: one option ahead of all others by some lead, or behind.

All other options have the same score, so what tells neighbors apart is whether the first option is picked
before all others; that is the number looked at, 1 if it is and 0 if not. One person moves the first score
and the others apart by as much as gaps move together (D of `choosing.permute_and_flip`). The law of a pick
is written down here once more: with k options, the first one ahead by g, and with c the coins (permute and
flip) or weights (exponential mechanism) of the law,

    P(first) = (1 - (1 - c(g))^k)/(k·c(g)) if g >= 0, else c(-g)/k        (permute and flip)
    P(first) = c(max(-g, 0))/(c(max(-g, 0)) + (k - 1)·c(max(g, 0)))       (exponential mechanism)
    P(first) = sum of q(R)/(R + 1)^k · min(max(n + g + 1, 0), R + 1)^(k-1) over R and 0 <= n <= R  (uniform)

where the first option stands first among equals. Right is a first pick within the width; where the others
are just further behind than that, it is the first option.
"""

from __future__ import annotations

import math

import numpy as np

from pbdp.audit.accuracy import accuracy_finding
from pbdp.audit.answers import AnswerPair, most_telling
from pbdp.audit.claim import Claim
from pbdp.audit.fit import fit_finding
from pbdp.audit.loss import compared, loss_finding
from pbdp.audit.part import PartAudit
from pbdp.audit.samples import Draw, Progress, counted, telling
from pbdp.choosing.exponential_mechanism import ExponentialMechanism
from pbdp.choosing.permute_and_flip import PermuteAndFlip
from pbdp.choosing.plan import ChoicePlan
from pbdp.choosing.uniform import UniformNoise
from pbdp.errors import CannotCertifyError
from pbdp.mechanism.weights import TOTAL
from pbdp.noise.kernel import Array
from pbdp.release.keystream import SECURE
from pbdp.release.law import OutputLaw

LINE: Array = np.array([0.0, 1.0])
# Leads that are looked at for the one that tells most.
_LEADS = 40
SEEN = (
    "An answer is by how much the score of the first option is above those of all others, which are equal; "
    "the number drawn is 1 if the first option is picked first, else 0."
)


def audit_choice(
    plan: ChoicePlan, draw: Draw | None, *, draws: int, error: float, progress: Progress | None
) -> PartAudit:
    """The audit of a plan that chooses; each finding may be wrong with the probability `error`."""
    asked, scale = plan.asked, plan.scale
    if not asked.picks:
        raise CannotCertifyError("One option alone is always chosen: there is nothing to audit.")
    whole = isinstance(plan.way, UniformNoise)
    claim = Claim(
        epsilon=plan.epsilon if whole else _each(plan),
        total=plan.epsilon,
        delta=0.0,
        order=None,
        table_error=0.0,
        releases=1 if whole else asked.picks,
    )

    def law_at(lead: float) -> OutputLaw:
        first = first_is_picked(plan, round(lead / scale.step))
        return OutputLaw(output=LINE, probability=np.array([1 - first, first]), missing_mass=0.0)

    leads = np.unique(np.linspace(-2 * scale.gap, 2 * scale.gap + scale.moved, _LEADS).astype(np.int64))
    pairs = [
        AnswerPair(first=lead * scale.step, second=(lead - scale.moved) * scale.step)
        for lead in leads.tolist()
    ]
    pair = most_telling(law_at, claim, pairs, draws)
    hardest = scale.gap * scale.step
    leads_drawn = tuple(dict.fromkeys((pair.first, pair.second, hardest)))
    told = telling(progress, draws * len(leads_drawn))
    samples = {
        lead: counted(
            _sampler(plan) if draw is None else draw,
            lead,
            law_at(lead),
            (lambda values: values == 1) if lead >= hardest else (lambda values: values >= 0),
            line=LINE,
            draws=draws,
            told=told,
        )
        for lead in leads_drawn
    }
    requirement = f"within {plan.within:g} of the best"
    right = [samples[hardest]]
    return PartAudit(
        name="",
        requirement=requirement,
        mechanism=plan.law,
        draws=draws,
        drawn="times",
        checked=(SEEN,),
        answers=tuple(samples),
        samples=tuple(samples.values()),
        loss=loss_finding(claim, [compared(pair, samples, LINE)], error),
        accuracy=accuracy_finding(requirement, plan.confidence, hardest, right, error, of="first picks"),
        fit=fit_finding(list(samples.values()), error),
    )


def first_is_picked(plan: ChoicePlan, lead: int) -> float:
    """How likely the first option is picked before all others, if it is ahead of them by so many steps."""
    way, k = plan.way, plan.asked.options
    if isinstance(way, UniformNoise):
        return _uniform(way, k, lead)
    if not isinstance(way, PermuteAndFlip | ExponentialMechanism):
        raise CannotCertifyError("This law has no audit.")
    ahead, behind = (way.coins.coin(gap) for gap in (max(lead, 0), max(-lead, 0)))
    if isinstance(way, ExponentialMechanism):
        return behind / (behind + (k - 1) * ahead)
    return behind / k if ahead >= 1 else -math.expm1(k * math.log1p(-ahead)) / (k * ahead)


def _uniform(way: UniformNoise, k: int, lead: int) -> float:
    widths = np.arange(way.last + 1)
    below = (k - 1) * np.log(np.arange(1.0, way.last + 2))
    sums = np.concatenate([[-np.inf], np.logaddexp.accumulate(below)])
    # n + lead + 1 from max(lead + 1, 1) on, up to R + 1; and all of the noise beyond
    with np.errstate(divide="ignore", invalid="ignore"):
        start = np.minimum(max(lead, 0), widths + 1)
        end = np.clip(widths + 1 + lead, 0, widths + 1)
        inside = sums[end] + np.log1p(-np.exp(np.minimum(sums[start] - sums[end], 0.0)))
        inside = np.where(end > start, inside, -np.inf) - k * np.log(widths + 1.0)
    sure = start / (widths + 1.0)
    return float(way.weights[:-1] / TOTAL @ (np.exp(inside) + sure))


def _each(plan: ChoicePlan) -> float:
    """The loss of the first pick, at delta 0."""
    if isinstance(plan.way, ExponentialMechanism):
        return plan.way.coins.epsilon(plan.scale.moved)
    return plan.epsilon_each or 0.0


def _sampler(plan: ChoicePlan) -> Draw:
    def draw(lead: float, count: int) -> Array:
        scores = np.zeros(plan.asked.options)
        scores[0] = lead
        steps = plan.scale.steps(scores)
        picked = [plan.way.places(steps, plan.asked, plan.scale, SECURE)[0] for _ in range(count)]
        return np.array([place == 0 for place in picked], dtype=np.float64)

    return draw
