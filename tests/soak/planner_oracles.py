"""Random plans of all kinds judged by their printed laws alone, and limits by a linear program of its own.

Run: PYTHONPATH=. nice python tests/soak/planner_oracles.py [plans] [limits] [first seed]

A plan is at fault if two neighboring answers have a larger delta at its epsilon than it says (of two or three
releases: the convolution of their losses), if an answer is within the width less often than it says, or if
its limit is above its epsilon. A limit is at fault if noise on a window, by a dense program, costs less.
"""

from __future__ import annotations

import math
import random
import sys
import warnings
from collections import defaultdict
from itertools import product
from typing import Any

import numpy as np

import pbdp
from pbdp.errors import PbdpError
from tests.planning.limit.dense_reference import largest_confidence

CONFIDENCES = (0.5, 0.6, 0.7, 0.8, 0.833, 0.9, 0.95, 0.99)
Law = dict[float, float]


def drawn(chance: random.Random) -> dict[str, Any]:
    """A request of any kind for one number."""
    whole, moved = chance.random() < 0.7, chance.randint(1, 5)
    asked: dict[str, Any] = {
        "confidence": chance.choice(CONFIDENCES),
        "delta": 10 ** chance.uniform(-9, -2),
        "integer": whole,
        "sensitivity": moved if whole else round(chance.uniform(0.3, 3), 3),
        "releases": chance.choice((1, 1, 1, 2, 3)),
    }
    kind = chance.choice(("even", "even", "lopsided", "one side", "relative", "range", "range", "scale"))
    width = chance.randint(1, 40) if whole else round(chance.uniform(1, 20), 2)
    if kind == "even":
        asked["within"] = width
    elif kind == "lopsided":
        asked["within"] = (width, chance.randint(0, 30))
    elif kind == "one side":
        asked["within"] = (width, math.inf)
    elif kind == "relative":
        asked |= {"within": f"{chance.randint(2, 60)}%+{width}", "nonnegative": chance.random() < 0.5}
    elif kind == "range":
        asked |= {"within": width, "range": (0, 2 * width + chance.randint(1, 60)), "releases": 1}
    else:
        asked |= {"range": (0, chance.randint(5, 60)), "scale": chance.uniform(0.5, 10), "releases": 1}
    return asked


def law_of(plan: pbdp.Plan, answer: float) -> Law:
    law = plan.law_at(answer)
    return dict(zip(law.output.tolist(), law.probability.tolist(), strict=True))


def delta_of(one: Law, other: Law, epsilon: float, releases: int) -> float:
    """The sum of P - e^eps P' over all outputs of so many releases with the same two answers."""
    pairs = [(mass, other.get(output, 0.0)) for output, mass in one.items()]
    growth = math.exp(epsilon)
    if releases == 1:
        return math.fsum(max(p - growth * q, 0.0) for p, q in pairs)
    alike: dict[float, list[tuple[float, float]]] = defaultdict(list)
    for p, q in pairs:
        alike[round(math.log(p / q), 9) if p and q else math.inf if p else -math.inf].append((p, q))
    masses = np.array([[math.fsum(side) for side in zip(*rows, strict=True)] for rows in alike.values()])
    p_all, q_all = np.ones(1), np.ones(1)
    for _ in range(releases):
        p_all, q_all = np.outer(p_all, masses[:, 0]).ravel(), np.outer(q_all, masses[:, 1]).ravel()
    return math.fsum(np.maximum(p_all - growth * q_all, 0.0))


def faults_of(seed: int) -> tuple[bool, list[str]]:
    """Whether a request was planned, and what is wrong with its plan."""
    chance = random.Random(seed)
    asked = drawn(chance)
    try:
        plan = pbdp.plan(**asked)
    except PbdpError:
        return False, []
    found, delta = [], asked["delta"]
    bounds = asked.get("range")
    places: tuple[float, ...] = (
        (0.0, 1.0, 7.0, 55.0, -20.0) if bounds is None else (bounds[0], bounds[1], sum(bounds) // 2)
    )
    if asked.get("nonnegative"):
        places = tuple(place for place in places if place >= 0)
    shifts = range(1, asked["sensitivity"] + 1) if asked["integer"] else (asked["sensitivity"],)
    for place, shift, sign in product(places, shifts, (1, -1)):
        other = place + sign * shift
        if (bounds and not bounds[0] <= other <= bounds[1]) or (asked.get("nonnegative") and other < 0):
            continue
        laws = law_of(plan, place), law_of(plan, other)
        few = asked["releases"] == 1 or max(map(len, laws)) < 200
        for one, two in (laws, laws[::-1]):
            if few and delta_of(one, two, plan.epsilon, asked["releases"]) > delta * (1 + 1e-6) + 1e-14:
                found.append(f"seed {seed}: delta of {place}, {other} in {plan}")
    if "scale" not in asked:
        for place in (*places, *(place + 0.3 for place in places if not asked["integer"])):
            if bounds and not bounds[0] <= place <= bounds[1]:
                continue
            below, above = (float(side) for side in plan.requirement.region.offsets(place))
            kept = sum(m for y, m in law_of(plan, place).items() if place - below <= y <= place + above)
            if kept < plan.requirement.confidence - 1e-12:
                found.append(f"seed {seed}: confidence {kept} at {place} in {plan}")
    if plan.limit is not None and plan.limit.epsilon > plan.epsilon * (1 + 1e-9):
        found.append(f"seed {seed}: limit {plan.limit} above {plan}")
    return True, found


def limit_faults_of(seed: int) -> list[str]:
    """Whether noise on a window costs less than a limit says is possible."""
    chance = random.Random(seed)
    width, moved = chance.randint(0, 6), chance.randint(1, 3)
    confidence, delta = chance.choice(CONFIDENCES), 10 ** chance.uniform(-7, -1.3)
    plan = pbdp.plan(
        within=(width, width + chance.randint(0, 3)) if width else 1,
        confidence=confidence, sensitivity=moved, delta=delta, integer=True,
    )  # fmt: skip
    below, above = (int(side) for side in plan.requirement.region.offsets(0.0))
    limits = [plan.limit, plan.limit_of_any_law()]
    return [
        f"seed {seed}: {limit} of {plan}: a law has {reached}"
        for limit in limits
        if limit is not None
        and (
            reached := largest_confidence(
                below, above, moved, delta, epsilon=limit.epsilon * (1 - 1e-4), reach=6 * moved
            )
        )
        > confidence + 1e-7
    ]


def main(plans: int, limits: int, first: int) -> int:
    warnings.simplefilter("ignore")
    faults, planned, seed = list[str](), 0, first
    while planned < plans:
        made, found = faults_of(seed)
        planned, seed = planned + made, seed + 1
        faults += found
    for limit in range(first, first + limits):
        faults += limit_faults_of(limit)
    print(*faults, f"{planned} plans, {limits} limits: {len(faults)} at fault", sep="\n")
    return len(faults)


if __name__ == "__main__":
    counts = [int(number) for number in sys.argv[1:]]
    raise SystemExit(main(*(counts + [500, 300, 1][len(counts) :])) > 0)
