"""Where a person is replaced, a number costs what their old and new rows can move together, and no more."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pbdp.tables import Count, Mean, Query, Sum, verify_manifest
from pbdp.tables.manifest import laws_record
from pbdp.tables.measure import Measure
from pbdp.tables.verify.plan import check_laws

Losses = tuple[np.ndarray[Any, Any], float]
GRID = 1e-3  # losses are rounded down to it, so that what is found is below the truth


def query(measures: list[Measure], **changes: Any) -> Query:
    settings: dict[str, Any] = {
        "unit": "who", "by": {"city": ["a", "b", "c", "d"]}, "groups_per_person": 1, "rows_per_group": 1,
        "delta": 1e-6, "neighbors": "replace", "bounds_touched": False,
    }  # fmt: skip
    return Query(measures=measures, **(settings | changes))


def signed(width: float = 200.0, **changes: Any) -> Sum:
    return Sum(column="x", low=-10, high=10, within=width, confidence=0.95, **changes)


@pytest.mark.parametrize(
    ("measures", "most"),
    [
        ([signed()], 0.2998),
        ([signed(whole=True)], 0.2990),
        ([Mean(column="x", low=-10, high=10, within=1, at_least=500, confidence=0.95)], 0.331),
    ],
)
def test_a_replaced_person_costs_twice_one_that_comes_or_goes(measures: list[Measure], most: float) -> None:
    once = query(measures, neighbors="add/remove").plan().epsilon
    found = query(measures).plan().epsilon
    assert 1.9 * once <= found <= min(2.01 * once, most)


def test_counts_and_sums_that_only_rise_are_planned_as_before() -> None:
    plan = query([Count(within=30), Sum(column="x", low=0, high=10, within=200)]).plan()
    assert not plan.paired
    assert [part.requirement.releases for part in plan.noise.parts] == [2, 2]
    # everybody is in the one group before and after
    alone = query([signed()], by={}, groups_per_person=None).plan()
    assert not alone.paired
    assert alone.noise.parts[0].requirement.sensitivity == 20


@pytest.mark.parametrize("width", [4.0, 12.0])
def test_narrow_widths_cost_no_more_than_with_noise_of_any_law(width: float) -> None:
    asked = query([signed(width, whole=True)])
    free = replace(asked, neighbors="add/remove", groups_per_person=2)
    # as 2 groups that move by 20 each, which the plan may always be
    doubled = replace(
        free, measures=[Sum(column="x", low=-20, high=20, within=width, whole=True, confidence=0.95)]
    )
    assert asked.plan().epsilon <= doubled.plan().epsilon * 1.001


def losses(weights: np.ndarray[Any, Any], shift: int) -> Losses:
    """Masses of losses on the grid, rounded down, zero in the middle; and those of infinite ones."""
    moved = np.zeros_like(weights)
    moved[shift:] = weights[: len(weights) - shift]
    both = (weights > 0) & (moved > 0)
    cells = np.floor(np.log(weights[both] / moved[both]) / GRID).astype(int)
    masses = np.zeros(2 * 20_000)
    np.add.at(masses, cells + 20_000, weights[both])
    return masses, float(weights[(weights > 0) & (moved == 0)].sum())


def delta_of(parts: list[Losses], epsilon: float) -> float:
    """delta of all of them together, from below."""
    total, finite = np.ones(1), 1.0
    for masses, infinite in parts:
        size = len(total) + len(masses)
        total = np.fft.irfft(np.fft.rfft(total, 2 * size) * np.fft.rfft(masses, 2 * size))[:size]
        total, finite = np.maximum(total, 0.0), finite * (1 - infinite)
    found = (np.arange(len(total)) - 20_000 * len(parts)) * GRID
    above = found > epsilon
    return float(np.sum(total[above] * -np.expm1(epsilon - found[above]))) + 1 - finite


@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize(
    "measures",
    [
        [Sum(column="x", low=-2, high=2, within=9, whole=True, confidence=0.9)],
        [Sum(column="x", low=-2, high=1, within=9, whole=True, confidence=0.9), Count(within=7)],
    ],
)
def test_no_way_of_sharing_groups_is_told_better_than_certified(measures: list[Measure], groups: int) -> None:
    """From what a manifest says alone: any number of groups shared, any of the values that are allowed."""
    delta = 1e-3
    asked = query(measures, groups_per_person=groups, delta=delta)
    plan = asked.plan()
    record = json.loads(json.dumps(laws_record(plan.noise, plan.paired)))
    names = {"exp": np.exp, "ceil": np.ceil, "maximum": np.maximum, "minimum": np.minimum,
             "where": np.where, "abs": np.abs}  # fmt: skip
    laws = []
    for law in record:
        k = np.arange(-2000, 2001)
        weights = eval(law["formula"], names | {"k": k})  # noqa: S307
        laws.append(weights / weights.sum())
    assert "or_two_by_half" in record[0]
    worst = {}
    for shared in range(groups + 1):
        # what each number moves by in the shared groups, and in those of one of both alone
        moves: list[tuple[list[int], list[int]]] = []
        for one in measures:
            low, high = (one.low, one.high) if isinstance(one, Sum) else (0, 1)
            swapped = int(max(high, 0) - min(low, 0))
            alone = int(max(abs(low), abs(high)))
            moves.append(([swapped] * shared, [alone] * 2 * (groups - shared)))
        parts = [
            losses(weights, shift)
            for weights, (both, alone) in zip(laws, moves, strict=True)
            for shift in (*both, *alone)
        ]
        worst[shared] = delta_of(parts, plan.epsilon)
    assert max(worst.values()) <= delta
    if len(measures) == 1:
        assert max(worst.values()) >= 0.6 * delta
    # a person in one group more is found out
    assert delta_of([losses(weights, 4) for weights in laws] * (groups + 1), plan.epsilon) > delta


def test_a_manifest_of_pairs_is_verified_and_forged_ones_are_not(tmp_path: Path) -> None:
    import pyarrow as pa

    data = pa.table({"who": [1, 2, 3], "city": ["a", "b", "c"], "x": [1.0, -2.0, 3.0]})
    plan = query([signed()]).plan()
    plan.release(data).save(tmp_path / "t.csv")
    place = tmp_path / "t.csv.manifest.json"
    assert verify_manifest(place).holds
    said = json.loads(place.read_text())
    said["plan"]["noise"]["missing"] = 0.0
    place.write_text(json.dumps(said))
    assert not verify_manifest(place).holds
    check_laws(plan)
