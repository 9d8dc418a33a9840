"""Means are as near as promised and in their intervals as often as said, by the laws of both errors."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from pbdp.mechanism.absolute import AbsoluteRegion
from pbdp.mechanism.design import Design
from pbdp.mechanism.grid import LinearGrid
from pbdp.noise.family import kernel_from
from pbdp.noise.kernel import Array
from pbdp.planning.plan import number_design
from pbdp.tables import Mean, Query
from pbdp.tables.plan import TablePlan
from pbdp.tables.quotient_error import ends_of_means, is_proved_for, sum_width, width_at
from pbdp.tables.verify import verify_manifest

CONFIDENCE = 0.9


def design(family: str, step: float, **lengths: float) -> Design:
    grid = LinearGrid(step=step, rounded=step != 1)
    return Design(grid=grid, kernel=kernel_from(family, lengths), region=AbsoluteRegion.even(step))


PAIRS = [
    (design("laplace", 0.5, scale=9.0), design("laplace", 1.0, scale=2.0)),
    (design("gaussian", 0.25, sigma=31.0), design("laplace", 1.0, scale=1.5)),
    (design("gaussian", 1.0, sigma=2.5), design("gaussian", 1.0, sigma=1.2)),
]


def errors(one: Design) -> tuple[Array, Array]:
    """What a released number may be off by, and how likely each is."""
    table = one.table_at(0.0)
    return table.values().astype(np.float64) * one.grid.step, table.probabilities()


@pytest.mark.parametrize("pair", PAIRS)
def test_errors_of_both_are_within_the_width_for_every_mean_up_to_a_size(pair: tuple[Design, Design]) -> None:
    (e, p), (f, q) = map(errors, pair)
    half = pair[0].grid.step / 2
    for most in (0.0, 0.7, 5.0):
        width = width_at(*pair, most, CONFIDENCE)
        for m in np.linspace(-most, most, 9):
            off = np.abs(e[:, None] - m * f[None, :])
            # the answer may have been rounded by half a step as well
            assert np.sum(p[:, None] * q[None, :] * (off + half <= width)) >= CONFIDENCE
        # and no more than needed: at the largest mean, two steps less are not enough
        off = np.abs(e[:, None] - most * f[None, :])
        assert np.sum(p[:, None] * q[None, :] * (off <= width - 5 * half - 0.02 * width)) < CONFIDENCE


def coarse(step: float, scale: float) -> Design:
    """Whole answers on multiples of a whole number, as wide ones are."""
    return Design(
        grid=LinearGrid(step=step, rounded=step != 1, whole=step != 1),
        kernel=kernel_from("laplace", {"scale": scale}),
        region=AbsoluteRegion.even(step),
    )


@pytest.mark.parametrize("steps", [(1.0, 1.0), (50.0, 1.0), (1.0, 10.0), (50.0, 10.0)])
@pytest.mark.parametrize("middle", [0.0, 5.0, 25.0])
def test_whole_sums_and_means_allow_for_what_coarse_steps_lose(
    steps: tuple[float, float], middle: float
) -> None:
    """Rounded by half a step either way, of which the worst is tried."""
    pair = coarse(steps[0], 7.0), coarse(steps[1], 3.0)
    (e, p), (f, q) = map(errors, pair)
    rounded = [(step != 1) * step / 2 for step in steps]
    both = p[:, None] * q[None, :]
    width = sum_width(*pair, middle, 0.0, CONFIDENCE)
    for s, n in ((rounded[0], rounded[1]), (rounded[0], -rounded[1])):
        off = e[:, None] + s + middle * (f[None, :] + n)
        assert np.sum(both * (np.abs(off) <= width)) >= CONFIDENCE
    # nothing is added where nothing is lost
    exact = np.abs(e[:, None] + middle * f[None, :])
    least = next(far for far in np.unique(exact) if np.sum(both * (exact <= far)) >= CONFIDENCE)
    assert width == pytest.approx(least + rounded[0] + middle * rounded[1], rel=1e-9)
    for m in (-middle, middle):
        mean = np.abs(e[:, None] - m * f[None, :]) + rounded[0] + abs(m) * rounded[1]
        assert np.sum(both * (mean <= width_at(*pair, middle, CONFIDENCE))) >= CONFIDENCE


def test_noise_that_rises_or_is_lopsided_is_not_what_this_is_about() -> None:
    lopsided = Design(
        grid=LinearGrid(step=1.0, rounded=False),
        kernel=kernel_from("laplace", {"scale": 2.0}),
        region=AbsoluteRegion(below=1.0, above=3.0),
        offset=1,
    )
    assert is_proved_for(*PAIRS[0])
    assert not is_proved_for(lopsided, PAIRS[0][1])
    assert not is_proved_for(PAIRS[0][0], lopsided)


@pytest.mark.parametrize("pair", PAIRS)
def test_intervals_hold_means_of_groups_of_any_size(pair: tuple[Design, Design]) -> None:
    rng, draws, most = np.random.default_rng(6), 40_000, 5.0
    (e, p), (f, q) = map(errors, pair)
    for n in (0, 1, 4, 30, 1000):
        for m in (-5.0, -2.4, 0.0, 1.3, 4.2) if n else (0.0,):
            sums = n * m + rng.choice(e, draws, p=p / p.sum())
            counts = n + rng.choice(f, draws, p=q / q.sum())
            low, high = ends_of_means(*pair, most, CONFIDENCE, (sums, counts))
            held = np.mean((low <= m) & (m <= high))
            # four standard deviations of so many draws
            assert held >= CONFIDENCE - 4 * 0.0015
            if n == 1000 and m == 4.2 and pair[0].grid.step < 1:
                assert held <= CONFIDENCE + 0.04


def planned(**changes: Any) -> TablePlan:
    settings: dict[str, Any] = {
        "unit": "who",
        "by": {"zone": ("a", "b")},
        "groups_per_person": 2,
        "rows_per_group": 2,
        "delta": 1e-6,
        "bounds_touched": False,
        "confidence": CONFIDENCE,
    }
    settings["measures"] = (Mean(column="x", low=0, high=10, within=0.5, at_least=300),)
    return Query(**(settings | changes)).plan()


def test_a_promise_holds_at_the_worst_means_and_sizes() -> None:
    plan = planned()
    (mean,) = plan.query.measures
    promised = mean.promised(plan)
    assert promised is not None
    assert 0.48 < promised <= 0.5
    total, count = (number_design(plan.part(label).design) for label in mean.labels)
    (e, p), (f, q) = errors(total), errors(count)
    assert np.all(np.diff(e) > 0)
    upto = np.concatenate(([0.0], np.cumsum(p)))
    for n in (300, 301, 400):
        for m in (-5.0, -1.0, 0.0, 5.0):
            for rounded in (-total.grid.step / 2, total.grid.step / 2):
                # |(nm + r + e) / (n + f) - m| <= 1/2, solved for e
                size = (n + f)[n + f > 0]
                low, high = (m * size - n * m - rounded + way * size / 2 for way in (-1, 1))
                held = upto[np.searchsorted(e, high, "right")] - upto[np.searchsorted(e, low, "left")]
                assert np.sum(q[n + f > 0] * held) >= CONFIDENCE
    # each number by itself would be too far off
    a, b = (float(plan.part(label).requirement.region.offsets(0.0)[0]) for label in mean.labels)
    assert (a + 5 * b) / (300 - b) > 0.6


def test_published_means_are_verified_and_wider_noise_is_found_out(tmp_path: Path) -> None:
    plan, rng = planned(), np.random.default_rng(1)
    data = pa.table(
        {
            "who": np.arange(2000) // 2,
            "zone": rng.choice(["a", "b"], 2000),
            "x": rng.uniform(0, 10, 2000),
        }
    )
    place, manifest = tmp_path / "t.csv", tmp_path / "t.csv.manifest.json"
    table = plan.release(data)
    assert np.all(table.columns["mean_x_bounded_within"] < 0.5)
    table.save(place)
    assert verify_manifest(manifest).holds
    record = json.loads(manifest.read_text())
    record["query"]["measures"][0]["within"] = 0.4
    manifest.write_text(json.dumps(record))
    wrong = [check.name for check in verify_manifest(manifest).checks if check.holds is False]
    assert wrong


def test_many_rows_a_person_cost_what_gaussian_noise_on_both_needs() -> None:
    """30 groups of 5 rows each, within 1 in groups of 2,000: 28.5 with both at their worst."""
    plan = planned(
        by={"zone": tuple(range(300))},
        groups_per_person=30,
        rows_per_group=5,
        confidence=0.95,
        measures=(Mean(column="x", low=0, high=100, within=1, at_least=2000),),
    )
    assert plan.epsilon <= 15.82
