"""Plan files of pbdp 0.1.0: each is read, claims, costs and publishes what it did, saved again too."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.frozen import reading
from tests.frozen.kept import SAME_MACHINE, assert_kept, assert_ordered

INDEX = reading.index()
FOLDER = reading.HERE

every_plan = pytest.mark.parametrize("name", INDEX["plans"])
every_vector = pytest.mark.parametrize("name", INDEX["vectors"])
every_joint = pytest.mark.parametrize("name", INDEX["joint"])
same_machine = pytest.mark.skipif(not SAME_MACHINE, reason="other floats round a few weights otherwise")


@every_plan
def test_a_plan_claims_costs_and_publishes_the_same(name: str) -> None:
    known = INDEX["plans"][name]
    now = reading.plan_facts(FOLDER / "plans" / name, known["answers"])
    if "%" in str(now["within"]):
        _take_longer_ends(known["facts"], now)
    assert_kept(known["facts"], now)


def _take_longer_ends(old: dict[str, Any], new: dict[str, Any]) -> None:
    """Intervals of relative widths follow the noise now: within those of before, which are put back."""
    pairs = [(old["released"][kind], new["released"][kind]) for kind in ("one", "several")]
    ends = [(before[end], after[end]) for before, after in pairs for end in ("low", "high")]
    for (low, lower), (high, higher) in zip(ends[::2], ends[1::2], strict=True):
        assert_ordered(low, lower, higher, high)
    for before, after in pairs:
        after |= {"low": before["low"], "high": before["high"]}
    for before, after in zip(old["intervals"], new["intervals"], strict=True):
        assert_ordered(before["own"][0], *after["own"], before["own"][1])
        after["own"] = before["own"]


@every_plan
@same_machine
def test_a_plan_has_the_same_weights(name: str) -> None:
    known = INDEX["plans"][name]
    assert reading.plan_weights(FOLDER / "plans" / name, known["answers"]) == known["weights"]


@every_plan
def test_a_plan_is_saved_as_it_was(name: str, tmp_path: Path) -> None:
    path = FOLDER / "plans" / name
    assert_kept(reading.json_in(path), reading.plan_saved_again(path, tmp_path))


@every_vector
def test_a_vector_plan_claims_costs_and_publishes_the_same(name: str) -> None:
    assert_kept(INDEX["vectors"][name]["facts"], reading.vector_facts(FOLDER / "vectors" / name))


@every_vector
def test_a_vector_plan_that_is_saved_now_claims_the_same(name: str, tmp_path: Path) -> None:
    path = FOLDER / "vectors" / name
    assert_kept(INDEX["vectors"][name]["facts"], reading.vector_saved_again(path, tmp_path))


@every_joint
def test_a_joint_plan_claims_and_costs_the_same(name: str) -> None:
    assert_kept(INDEX["joint"][name]["facts"], reading.joint_facts(FOLDER / "joint" / name))


@every_joint
@same_machine
def test_a_joint_plan_has_the_same_weights(name: str) -> None:
    assert reading.joint_weights(FOLDER / "joint" / name) == INDEX["joint"][name]["weights"]


@every_joint
def test_a_joint_plan_that_is_saved_now_claims_the_same(name: str, tmp_path: Path) -> None:
    path = FOLDER / "joint" / name
    assert_kept(INDEX["joint"][name]["facts"], reading.joint_saved_again(path, tmp_path))
