"""Estimates of how far sums are off are near what is certified, and noise is as wide as that allows."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from pbdp.mechanism.design import Design
from pbdp.tables import Count, Query, Sum
from pbdp.tables.estimates import near_width, spread_of
from pbdp.tables.strategies.cells import near_room_of_sum, room_of_sum
from pbdp.tables.strategies.fitting import Fitting, can_be_scaled
from pbdp.tables.strategies.planning import asked_of, designs_of
from pbdp.tables.strategies.separate import width_of
from tests.tables.strategies.laws import design

LAWS: list[tuple[str, dict[str, float]]] = [
    ("laplace", {"scale": 30.0}),
    ("laplace", {"scale": 900.0}),
    ("gaussian", {"sigma": 400.0}),
    ("huber", {"sigma": 150.0, "knee": 200.0}),
]


@pytest.mark.parametrize("law", LAWS, ids=str)
@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.999])
def test_an_estimate_is_near_the_certified_width(
    law: tuple[str, dict[str, float]], confidence: float
) -> None:
    fine, coarse = design(law[0], **law[1]), design("laplace", scale=250.0)
    share = Fraction(1, 24)
    noises: tuple[tuple[Design, Fraction, int], ...] = (
        (fine, 1 - share, 1),
        (fine, -share, 23),
        (coarse, share, 1),
    )
    exact = float(width_of(noises, confidence))
    assert near_width(noises, confidence) == pytest.approx(exact, rel=4e-3, abs=1.0)
    assert near_width(((fine, Fraction(1), 500),), confidence) == pytest.approx(
        float(width_of(((fine, Fraction(1), 500),), confidence)), rel=4e-3
    )
    assert spread_of(((fine.stretched(3.0), Fraction(2), 4),)) == pytest.approx(
        12 * spread_of(((fine, Fraction(1), 1),)), rel=2e-3
    )


@pytest.mark.parametrize("count", [1, 24])
def test_room_says_exactly_whether_a_sum_is_within(count: int) -> None:
    noise = design("laplace", scale=16.0)
    for width in range(30, 400, 7):
        within = float(width_of(((noise, Fraction(1), count),), 0.95)) <= width
        room = room_of_sum(noise, count, 0.95, width)
        assert (room >= 1) == within
        if width < 256:
            assert near_room_of_sum(noise, count, 0.95, width) == room


@pytest.mark.parametrize(
    "measure",
    [
        Count(within={"zone, hour": 20, "zone": 40, "total": 60}),
        Sum(column="fare", low=0, high=10, within={"zone, hour": 200, "zone": 300, "total": 500}),
    ],
    ids=["count", "sum"],
)
def test_noise_is_as_wide_as_the_tables_allow(measure: Any) -> None:
    query = Query(
        unit="who",
        by={"zone": range(6), "hour": range(4)},
        tables=[["zone", "hour"], ["zone"], []],
        groups_per_person=12,
        rows_per_group=1,
        measures=[measure],
        delta=1e-6,
        bounds_touched=False,
    )
    plan = query.plan()
    (asked,) = asked_of(query, None)
    strategy = plan.strategies[asked.label]
    for table, width in asked.widths.items():
        assert plan.widths(asked.label, table)[0].max() <= width
    fitting = Fitting(query=query, asked=asked, strategy=strategy)
    designs = designs_of(plan.noise, strategy)
    assert all(map(can_be_scaled, designs.values()))
    assert fitting.room(designs) >= 1
    # a little wider is too wide
    assert fitting.room({name: one.stretched(1.005) for name, one in designs.items()}) < 1
