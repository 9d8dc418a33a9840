"""How long a release takes says nothing of the answer: Welch's t as in dudect (Reparaz et al. 2017)."""

from __future__ import annotations

import gc
import math
import os
import time
from collections.abc import Callable

import numpy as np
import pytest

from pbdp.release.keystream import SecureKeystream
from pbdp.release.sampler import ReweightedSampler, sampler_of
from tests.release.plans import FAR, plan_of
from tests.release.test_sampler import wide

# A difference shows with the square root of the number of calls; `make soak` takes a million.
CALLS = int(os.environ.get("PBDP_CALLS", "40000"))
# dudect's own limit; by chance it is passed once in a hundred thousand comparisons.
SIGNIFICANT = 4.5

# Two neighboring answers, in the types that people use; floats differ in how many digits they have.
PAIRS = [
    ("whole", 1000, 1001),
    ("real", 0.5, 1.4999999999999998),
    ("relative", 100.0, 104.0),
    ("relative per answer", 500, 502),
    (FAR, 1039, 1040),
]


def largest_t(release: Callable[[object], object], first: object, second: object) -> float:
    """Largest |t| over several cut-offs, the slowest calls (interrupts) being left out."""
    rng = np.random.default_rng(int(time.time()))
    which = rng.integers(0, 2, CALLS)
    taken = np.empty(CALLS)
    clock = time.perf_counter_ns
    # a new object for every call: where an object lies in memory tells one from another as well
    answers = [type(first)(str((first, second)[chosen])) for chosen in which.tolist()]  # type: ignore[call-arg]
    gc.disable()
    try:
        for call, answer in enumerate(answers):
            start = clock()
            release(answer)
            taken[call] = clock() - start
    finally:
        gc.enable()
    found = []
    for share in (0.5, 0.9, 0.99):
        kept = taken <= np.quantile(taken, share)
        one, two = taken[kept & (which == 0)], taken[kept & (which == 1)]
        spread = math.sqrt(one.var() / len(one) + two.var() / len(two))
        found.append(abs(float(one.mean() - two.mean())) / spread)
    return max(found)


@pytest.mark.parametrize(("kind", "first", "second"), PAIRS)
def test_neighboring_answers_take_the_same_time(kind: str, first: object, second: object) -> None:
    release = plan_of(kind).release
    release(first)
    assert largest_t(release, first, second) < SIGNIFICANT


def test_a_search_takes_the_same_time_for_neighboring_answers() -> None:
    sampler, keystream = sampler_of(wide()), SecureKeystream()
    assert isinstance(sampler, ReweightedSampler)

    def draw(answer: object) -> None:
        sampler.row(np.array([answer], dtype=np.int64), keystream)

    draw(3)
    assert largest_t(draw, 19_999, 20_000) < SIGNIFICANT


def test_a_release_that_looks_at_the_answer_is_found_out() -> None:
    plan = plan_of("whole")

    def leaks(answer: object) -> None:
        plan.release(answer)
        if answer == 1001:
            sum(range(20))

    assert largest_t(leaks, 1000, 1001) > SIGNIFICANT
