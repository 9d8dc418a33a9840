"""All epsilons of one requirement, side by side: the points of the curves in Figures 2 and 3.

The kinds of epsilon, each a row:

- "as published": what Propositions 1 and 2 give the Gaussian they choose; never a guarantee;
- "exact": of that very Gaussian and boost, over all neighbors;
- "exact best": the boosted Gaussian whose σ was chosen by exact accounting, certified;
- "plain gaussian", "plain laplace", "staircase": continuous noise without a boost, the widest that will do;
- "planner": the choice of `pbdp.plan` for real answers, on its own grid; "limit": what nothing can go below;
- for a fixed range, where a kernel's scale is given: "clamped" and "truncated" at that scale, and "as
  published, any kernel": what Algorithm 2 finds if it may widen the kernel.
"""

from __future__ import annotations

import math

from pbdp.accounting.exact.tables import Bounds
from pbdp.errors import CannotCertifyError
from pbdp.noise.gaussian import Gaussian
from pbdp.planning.candidates import BOOSTED
from pbdp.planning.limit.closed_form import Limit, limit_of
from pbdp.planning.plan import Plan
from pbdp.planning.planner import all_families, plan_for
from reproduction.experiment import Row, Settings, number
from reproduction.figures_2_and_3_accuracy.noise import (
    SAFE,
    BoostedGaussian,
    best_boosted_gaussian,
    boosted_gaussian,
    plain_epsilon,
    plain_kernels,
    staircase,
)
from reproduction.figures_2_and_3_accuracy.range_noise import clamped, truncated
from reproduction.figures_2_and_3_accuracy.requirements import Aligned, aligned_of
from reproduction.published.measure import AtDelta
from reproduction.witness import Witness, best_witness, intervals_of, pair_at

PUBLISHED, EXACT, BEST = "as published", "exact", "exact best"
ANY_KERNEL = "as published, any kernel"
# Cases that vary what the paper leaves out; the reading of a formula concerns the first two kinds only.
MAIN, VARIED, READ = "main", "varied", "reading"
# Share of what a pair of answers shows that it must keep when it is rounded to few decimals.
ENOUGH = 0.97

EMPTY: Row = dict.fromkeys(
    (
        *("region", "sensitivity", "delta", "order", "width", "confidence", "theta", "spread", "reading"),
        *("part", "kind", "epsilon", "epsilon_lower", "family", "sigma", "boost"),
        *("answer", "other", "set", "probability", "other_probability", "witnessed"),
    )
)


def rows_at(settings: Settings) -> list[Row]:
    """The rows of one requirement; `part` says whether it belongs to a curve or to what is varied."""
    aligned, part = aligned_of(settings), str(settings["part"])
    chosen = published_choice(aligned)
    epsilon = aligned.published.epsilon_of(chosen.sigma)
    rows = [
        {"kind": PUBLISHED, "epsilon": epsilon, **kernel_part(chosen)},
        {"kind": EXACT, **_exact(chosen, epsilon), **kernel_part(chosen)},
    ]
    if part != READ:
        rows += _fixed_rows(aligned) if aligned.region == "fixed" else _moving_rows(aligned, chosen)
    shared = aligned.settings() | {"part": part}
    return [EMPTY | shared | row for row in rows]


def published_choice(aligned: Aligned) -> BoostedGaussian:
    """Algorithm 2's choice, first valley; for a fixed range the kernel is given, as none is the best."""
    sigma = aligned.given_sigma if aligned.region == "fixed" else aligned.published.by_scan().sigma
    boost = aligned.case.boost(Gaussian(sigma=sigma), aligned.confidence)
    return BoostedGaussian(aligned=aligned, sigma=sigma, boost=boost)


def _exact(chosen: BoostedGaussian, published: float) -> Row:
    """The exact epsilon of the same mechanism; where it exceeds the published one, a pair that shows it."""
    bounds = chosen.epsilon()
    if bounds.lower <= published:
        return bounds_part(bounds)
    witness = witness_above(chosen, published)
    first, second = witness.probabilities
    return bounds_part(bounds) | {
        "answer": witness.pair.answer,
        "other": witness.pair.other,
        "set": witness.text(),
        "probability": first,
        "other_probability": second,
        "witnessed": witness.value(chosen.aligned.measure, published),
    }


def witness_above(chosen: BoostedGaussian, published: float) -> Witness:
    """What shows that a mechanism loses more than a claimed epsilon.

    The worst pair of a fine sample, its answers rounded to as few decimals as show nearly as much.
    """
    aligned = chosen.aligned
    worst, neighbor = chosen.bad_pair(published)

    def shown(answer: float) -> tuple[float, Witness]:
        pair = pair_at(
            aligned.preferred,
            sigma=chosen.sigma,
            boost=chosen.boost,
            answer=answer,
            other=answer + math.copysign(aligned.sensitivity, neighbor - worst),
        )
        found = best_witness(pair, aligned.measure, published)
        return found.value(aligned.measure, published), found

    most, best = shown(worst)
    for decimals in range(4):
        value, found = shown(round(worst, decimals))
        if value >= ENOUGH * most:
            return found
    return best


def _moving_rows(aligned: Aligned, chosen: BoostedGaussian) -> list[Row]:
    """What else meets a requirement whose region moves with the answer."""
    best, bounds = _best(aligned, chosen)
    rows: list[Row] = [{"kind": BEST, **bounds_part(bounds), **kernel_part(best)}]
    for kind, kernel in plain_kernels(aligned).items():
        found = plain_epsilon(kernel, aligned)
        rows.append({"kind": kind, **bounds_part(found), "family": kernel.family})
    steps = staircase(aligned.half_width, aligned.confidence, aligned.sensitivity).epsilon(aligned.measure)
    rows.append({"kind": "staircase", "epsilon": steps, "epsilon_lower": steps, "family": "staircase"})
    return rows + _planned(aligned, all_families())


def _best(aligned: Aligned, chosen: BoostedGaussian) -> tuple[BoostedGaussian, Bounds]:
    """The least certified epsilon among the best σ of a search, the plain σ and the published choice."""
    tried = [
        best_boosted_gaussian(aligned),
        BoostedGaussian(aligned=aligned, sigma=aligned.plain_sigma * SAFE, boost=0.0),
        boosted_gaussian(aligned, chosen.sigma),
    ]
    # a figure over some neighbors is never too large, so what is worse there need not be certified
    tried.sort(key=BoostedGaussian.looked_at)
    winner, least = tried[0], tried[0].epsilon()
    for other in tried[1:]:
        if other.looked_at() < least.upper:
            bounds = other.epsilon()
            if bounds.upper < least.upper:
                winner, least = other, bounds
    return winner, least


def _fixed_rows(aligned: Aligned) -> list[Row]:
    """Other ways to keep the given noise inside a fixed range."""
    widest = aligned.published.by_scan()
    rows: list[Row] = [{"kind": ANY_KERNEL, "epsilon": widest.epsilon, "sigma": widest.sigma}]
    kernel = Gaussian(sigma=aligned.given_sigma)
    plain = plain_epsilon(kernel, aligned)
    rows.append({"kind": "plain gaussian", **bounds_part(plain), "family": "gaussian", "sigma": kernel.sigma})
    for kind, way in (("clamped", clamped), ("truncated", truncated)):
        found = way(kernel.sigma, aligned.half_width, aligned.sensitivity).epsilon(aligned.measure)
        rows.append({"kind": kind, **bounds_part(found), "family": f"{kind} gaussian", "sigma": kernel.sigma})
    if isinstance(aligned.measure, AtDelta):
        rows += _planned(aligned, ("gaussian",))
    return rows


def _planned(aligned: Aligned, families: tuple[str, ...]) -> list[Row]:
    """The planner's choice and the limit, where one is proved.

    Laws that change with the answer are left out of the plan: "exact best" is the same search for them.
    """
    requirement = aligned.asked()
    if requirement.region.per_answer:
        families = tuple(name for name in families if not name.startswith(BOOSTED))
    try:
        plan = plan_for(requirement, families)
    except CannotCertifyError:
        return []
    return planned_rows(plan, limit_of(requirement))


def witness_of(row: Row) -> Witness:
    """The witness that an "exact" row of `rows_at` holds."""
    aligned = aligned_of(row)
    numbers = {name: number(row, name) for name in ("sigma", "boost", "answer", "other")}
    return Witness(pair=pair_at(aligned.preferred, **numbers), intervals=intervals_of(str(row["set"])))


def bounds_part(bounds: Bounds) -> Row:
    """A certified epsilon, and what is reached."""
    return {"epsilon": bounds.upper, "epsilon_lower": bounds.lower}


def kernel_part(gaussian: BoostedGaussian) -> Row:
    """The Gaussian behind it."""
    name = "boosted gaussian" if gaussian.boost > 0 else "gaussian"
    return {"family": name, "sigma": gaussian.sigma, "boost": gaussian.boost}


def planned_rows(plan: Plan, limit: Limit | None) -> list[Row]:
    """The planner's choice and the limit, where one is proved."""
    rows: list[Row] = [
        {
            "kind": "planner",
            "epsilon": plan.epsilon,
            "epsilon_lower": plan.chosen.certificate.epsilon_lower,
            "family": plan.mechanism.name,
            "boost": plan.design.boost,
        }
    ]
    if limit is not None:
        rows.append({"kind": "limit", "epsilon": limit.epsilon, "family": f"any {limit.subject}"})
    return rows
