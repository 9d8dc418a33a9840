"""Releases against numpy's insecure normal generator and OpenDP's discrete Laplace, in the same run."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import opendp.prelude as dp

import pbdp
from pbdp.planning.certification import plan_of

DRAWS = 1_000_000
OPENDP_DRAWS = 20_000


def best(run: Callable[[], object], repeats: int) -> float:
    """Shortest time of several runs, in seconds."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return min(times)


def numpy_normal() -> float:
    generator = np.random.default_rng()
    return best(lambda: generator.normal(size=DRAWS), 15)


def opendp_laplace() -> float:
    """Seconds a draw of OpenDP's vector discrete Laplace."""
    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T=int)), dp.l1_distance(T=int)
    measurement = dp.m.make_laplace(*space, scale=10.0)
    answers = [0] * OPENDP_DRAWS
    return best(lambda: measurement(answers), 3) / OPENDP_DRAWS


def widths(normal: float, rival: float) -> None:
    print(
        f"a million numbers: numpy Generator.normal {1e3 * normal:.1f} ms; OpenDP {1e6 * rival:.1f} us a draw"
    )
    answers = np.arange(DRAWS)
    for within, sensitivity in ((2, 4), (5, 1), (20, 8), (100, 1), (1000, 1), (10_000, 1)):
        plan = pbdp.plan(
            within=within,
            confidence=0.8,
            sensitivity=sensitivity,
            delta=1e-5,
            integer=True,
            families=("gaussian",),
        )
        plan.release(answers, disjoint=True)
        taken = best(lambda plan=plan: plan.release(answers, disjoint=True), 9)  # type: ignore[misc]
        print(
            f"  within {within:>6}, {plan.mechanism.name:<17} {1e3 * taken:6.1f} ms  {taken / normal:.2f} of "
            f"numpy's normal   {rival * DRAWS / taken:,.0f} times OpenDP's throughput"
        )


def others() -> None:
    print("other plans, a million numbers and one number:")
    questions: dict[str, dict[str, object]] = {
        "whole numbers": {"within": 5, "integer": True},
        "real numbers": {"within": 2.5},
        "relative, log scale": {
            "within": "50%+2.5",
            "nonnegative": True,
            "sensitivity": 4,
            "confidence": 0.8,
        },
        "clamped to a range": {"range": (0, 100), "scale": 3, "integer": True},
    }
    for name, question in questions.items():
        asked: dict[str, object] = {"confidence": 0.9, "sensitivity": 1, "delta": 1e-6, **question}
        show(name, pbdp.plan(**asked))  # type: ignore[arg-type]
    ranged = pbdp.plan(range=(0, 100), scale=3, integer=True, confidence=0.9, sensitivity=1, delta=1e-6)
    entry = next(e for e in ranged.others if e.design.name == "boosted gaussian")
    show("boosted in a range", plan_of(ranged.requirement, entry))


def show(name: str, plan: pbdp.Plan) -> None:
    whole = plan.requirement.integer
    answers = np.arange(DRAWS) % 100 if whole else np.arange(DRAWS) / 7
    one = 50 if whole else 50.3
    plan.release(one)
    many = best(lambda: plan.release(answers, disjoint=True), 3)
    single = best(lambda: [plan.release(one) for _ in range(200)], 20) / 200
    print(f"  {name:<20} {plan.mechanism.name:<22} {1e3 * many:7.1f} ms   {1e6 * single:6.1f} us")


if __name__ == "__main__":
    widths(numpy_normal(), opendp_laplace())
    others()
