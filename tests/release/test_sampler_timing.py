"""How long a release takes says nothing of the answer: Welch's t as in dudect (Reparaz et al. 2017)."""

from __future__ import annotations

import gc
import math
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from pbdp.release.keystream import SecureKeystream
from pbdp.release.sampler import ReweightedSampler, sampler_of
from tests.release.plans import FAR, plan_of
from tests.release.test_sampler import wide

# A difference shows with the square root of the number of calls; `make soak` takes a million.
CALLS = int(os.environ.get("PBDP_CALLS", "20000"))
# Above dudect's own limit of 4.5: by chance it is passed once in a hundred million comparisons.
SIGNIFICANT = 6.0
# Python keeps whole numbers in digits of 30 bits, and reading one more of them takes 1 or 2 ns. What was
# mended took 10 to 20 ns, and t was 9 to 38 in so many calls.
DIGIT = 10.0
# A leak shows again and again; a machine that is busy with something else is busy now and then.
TRIES = 6

Copy = Callable[[Any], Any]


def _int(number: int) -> int:
    """Another object, but for the small numbers, of which Python has one each."""
    return int(str(number))


def _float(number: float) -> float:
    return float(repr(number))


# Answers in the types that people use, and which differences in ns are put up with: neighbors, and numbers
# that are kept differently (small ones, digits of 30 bits, signs, powers of two, how many bits are set).
PAIRS: list[tuple[str, Any, Any, Copy, float]] = [
    ("whole", 1000, 1001, _int, DIGIT),
    ("whole", 256, 257, _int, DIGIT),
    ("whole", 2**30 - 1, 2**30, _int, DIGIT),
    ("whole", -1000, 1000, _int, DIGIT),
    ("real", 2**30 - 1, 2**30, _int, DIGIT),
    ("whole", np.int64(256), np.int64(257), np.int64, 0),
    ("whole", np.int64(2**30 - 1), np.int64(2**30), np.int64, 0),
    ("whole", np.int32(-1), np.int32(1), np.int32, 0),
    ("whole", np.uint64(255), np.uint64(2**63), np.uint64, 0),
    ("whole", np.float64(0.5), np.float64(1e9), np.float64, 0),
    ("real", np.float32(0.5), np.float32(-1e9), np.float32, 0),
    ("real", 0.5, 1.4999999999999998, _float, 0),
    ("real", 0.0, -1.0, _float, 0),
    ("real", 5e-324, math.inf, _float, 0),
    ("relative", 100.0, 104.0, _float, 0),
    ("relative per answer", 500, 502, _int, DIGIT),
    (FAR, 1039, 1040, _int, DIGIT),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """The largest |t| over several cut-offs, and the difference of the means there, in ns."""

    t: float
    difference: float

    def is_fault(self, tolerated: float) -> bool:
        return self.t > SIGNIFICANT and self.difference > tolerated


def compared(release: Callable[[Any], object], first: Any, second: Any, copy: Copy = _int) -> Found:
    """Two answers in random turns, so that whatever else the machine does falls on both of them.

    The slowest calls (interrupts) are left out.
    """
    which = np.random.default_rng().integers(0, 2, CALLS)
    taken = np.empty(CALLS)
    clock = time.perf_counter_ns
    # a new object for every call: where an object lies in memory tells one from another as well
    answers = [copy((first, second)[chosen]) for chosen in which.tolist()]
    gc.disable()
    try:
        for call, answer in enumerate(answers):
            start = clock()
            release(answer)
            taken[call] = clock() - start
    finally:
        gc.enable()
    found = []
    for share in (0.1, 0.5, 0.9, 0.99):
        kept = taken <= np.quantile(taken, share)
        one, two = taken[kept & (which == 0)], taken[kept & (which == 1)]
        spread = math.sqrt(one.var() / len(one) + two.var() / len(two))
        difference = abs(float(one.mean() - two.mean()))
        found.append(Found(t=difference / spread, difference=difference))
    return max(found, key=lambda each: each.t)


@pytest.mark.parametrize(("kind", "first", "second", "copy", "tolerated"), PAIRS)
def test_answers_take_the_same_time(kind: str, first: Any, second: Any, copy: Copy, tolerated: float) -> None:
    """Up to the published number as a row. Giving it back in a type depends on it, and on nothing else."""
    published = plan_of(kind).releaser.published
    published(first)
    assert not all(compared(published, first, second, copy).is_fault(tolerated) for _ in range(TRIES))


def test_a_search_takes_the_same_time_for_neighboring_answers() -> None:
    sampler, keystream = sampler_of(wide()), SecureKeystream()
    assert isinstance(sampler, ReweightedSampler)

    def draw(answer: object) -> None:
        sampler.row(np.array([answer], dtype=np.int64), keystream)

    draw(3)
    assert not all(compared(draw, 19_999, 20_000).is_fault(DIGIT) for _ in range(TRIES))


@pytest.mark.parametrize("kind", ["whole", "real", "relative"])
def test_a_gap_takes_no_time(kind: str) -> None:
    """NaN among a thousand numbers: what sets a flag of the processor is looked at by numpy."""
    steps_of = plan_of(kind).releaser.publisher.steps_of
    numbers, gap = np.zeros(1000), np.zeros(1000)
    gap[500] = math.nan
    steps_of(numbers)
    assert not all(compared(steps_of, numbers, gap, np.copy).is_fault(DIGIT) for _ in range(TRIES))


def test_a_release_that_looks_at_the_answer_is_found_out() -> None:
    published = plan_of("whole").releaser.published

    def leaks(answer: int) -> None:
        published(answer)
        if answer == 1001:
            # several times what was mended: it shows on a busy machine as well
            str(answer)

    published(1000)
    assert any(compared(leaks, 1000, 1001).is_fault(DIGIT) for _ in range(5 * TRIES))
