"""Releases: what counts as one, what repeats, and what is marked."""

from __future__ import annotations

import numpy as np
import pytest

import pbdp
from pbdp.errors import InputError
from pbdp.release.keystream import InsecureTestSeedWarning
from pbdp.release.releaser import Released
from tests.release.plans import KINDS, plan_of


@pytest.mark.parametrize("kind", KINDS)
def test_published_numbers_are_outputs_of_the_law(kind: str) -> None:
    plan = plan_of(kind)
    outputs = set(plan.law_at(9).output.tolist())
    assert float(plan.release(9)) in outputs
    assert {float(y) for y in plan.release([9] * 50, disjoint=True)} <= outputs


@pytest.mark.parametrize("kind", KINDS)
def test_the_requirement_is_met_as_often_as_promised(kind: str) -> None:
    plan, count = plan_of(kind), 40_000
    below, above = (float(end) for end in plan.requirement.region.offsets(9.0))
    drawn = np.asarray(plan.release(np.full(count, 9), disjoint=True), dtype=np.float64)
    met = int(np.count_nonzero((drawn >= 9 - below) & (drawn <= 9 + above)))
    # six standard deviations of a share: once in a thousand million
    assert met / count >= plan.confidence - 6 * (0.25 / count) ** 0.5


def test_more_numbers_than_the_plan_covers_are_refused_unless_disjoint() -> None:
    plan = plan_of("whole")
    with pytest.raises(InputError, match=r"one number, .*disjoint=True"):
        plan.release([1, 2])
    assert len(plan.release([1, 2], disjoint=True)) == 2
    several = pbdp.plan(within=20, confidence=0.9, sensitivity=1, delta=1e-6, integer=True, releases=3)
    assert len(several.release([1, 2, 3])) == 3
    with pytest.raises(InputError, match="at most 3"):
        several.release([1, 2, 3, 4])


def test_noise_is_fresh_every_time() -> None:
    plan = plan_of("real")
    drawn = [tuple(plan.release([0.0] * 20, disjoint=True)) for _ in range(20)]
    assert len(set(drawn)) == 20


@pytest.mark.parametrize("kind", ["whole", "relative per answer"])
def test_a_test_seed_repeats_and_marks(kind: str) -> None:
    plan = plan_of(kind)
    with pytest.warns(InsecureTestSeedWarning, match="never publish"):
        first = plan.release([9] * 30, disjoint=True, insecure_test_seed=4)
    with pytest.warns(InsecureTestSeedWarning):
        second = plan.release([9] * 30, disjoint=True, insecure_test_seed=4)
    with pytest.warns(InsecureTestSeedWarning):
        other = plan.release([9] * 30, disjoint=True, insecure_test_seed=5)
    with pytest.warns(InsecureTestSeedWarning):
        single = plan.release(9, insecure_test_seed=4)
    assert isinstance(first, Released)
    assert first.insecure_test_seed == 4
    assert "insecure_test_seed=4" in repr(single)
    assert first == second
    assert first.value != other.value


def test_secure_results_are_not_marked() -> None:
    assert plan_of("whole").release(9, interval=True).insecure_test_seed is None


def test_plans_from_files_release_as_well(tmp_path: pytest.TempPathFactory) -> None:
    path = f"{tmp_path}/plan.json"
    plan_of("whole").save(path)
    assert isinstance(pbdp.Plan.load(path).release(10), int)
