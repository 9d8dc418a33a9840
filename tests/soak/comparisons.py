"""Comparisons, simulated at length: false findings at many rates, and intervals of means.

Every figure is printed beside what is claimed; a claim that fails by more than chance ends the run.
"""

from __future__ import annotations

import math
import sys
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from pbdp.comparing.plan import ComparisonPlan, plan_comparison

TRIALS, COMPARED = 2_000, 4_000
RATES = (0.001, 0.01, 0.05, 0.2, 0.5, 0.8, 0.99)
ADULT = Path(__file__).parents[2] / "src" / "pbdp" / "examples" / "adult.parquet"


def false_findings(plan: ComparisonPlan, rate: float, rng: np.random.Generator) -> float:
    """How many trials without a difference find one."""
    table = plan.noise.design.table_at(0.0)
    counts = rng.binomial(plan.asked.users, rate, size=(TRIALS, 2))
    counts += rng.choice(table.values(), p=table.probabilities(), size=counts.shape)
    outcomes, often = np.unique(counts, axis=0, return_counts=True)
    found = [plan.say(*outcome).decided for outcome in outcomes.tolist()]
    return float(often @ np.array(found)) / TRIALS


def held(plan: ComparisonPlan, people: np.ndarray, rng: np.random.Generator) -> float:
    """How many intervals for the difference of two samples of the same people hold 0."""
    table = plan.noise.mechanism.table_at(0.0)
    found = 0
    for _ in range(COMPARED):
        groups = [rng.choice(people, n) for n in plan.asked.users]
        answers, _ = plan.asked.answers(*groups)
        noise = rng.choice(table.values(), p=table.probabilities(), size=4)
        interval = plan.say(*(int(a + b) for a, b in zip(answers, noise, strict=True))).interval
        found += interval.low <= 0 <= interval.high
    return found / COMPARED


def main() -> int:
    """Simulate, print, compare."""
    rng = np.random.default_rng(1)
    failed = False
    for users in ((2_000, 2_000), (300, 100)):
        plan = plan_comparison(users=users, rate=0.05, wider=0.2)
        for rate in RATES:
            exact = plan.power(rate, rate)
            seen = false_findings(plan, rate, rng)
            off = abs(seen - exact) > 5 * math.sqrt(exact / TRIALS) + 1e-3
            failed |= off
            print(f"{plan.asked.describe()}: at rate {rate:g} false findings {seen:.4%}, exactly {exact:.4%}")
    hours = pq.read_table(ADULT)["hours_per_week"].to_numpy().astype(float)
    for guaranteed in (False, True):
        means = plan_comparison(
            users=(300, 200), bounds=(0, 99), spread=12.4, wider=0.1, guaranteed=guaranteed
        )
        often = held(means, hours, rng)
        failed |= often < 0.95 - 4 * math.sqrt(0.05 / COMPARED) - (0.0 if guaranteed else 0.005)
        print(f"means, {'guaranteed' if guaranteed else 'normal'}: held {often:.2%} of the time")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
