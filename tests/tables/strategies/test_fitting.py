"""What the numbers of a part are planned for."""

from __future__ import annotations

import pytest

from pbdp.planning.grids import grids_of
from pbdp.tables import Count, Query
from pbdp.tables.strategies.fitting import Fitting
from pbdp.tables.strategies.kinds import strategies_of
from pbdp.tables.strategies.planning import asked_of


@pytest.mark.parametrize("within", [50, 100_000])
def test_numbers_are_planned_in_the_steps_of_their_strategy(within: float) -> None:
    """A single count within 100,000 is a multiple of 2; rows that are added up are not rounded like that."""
    query = Query(
        unit="who",
        by={"zone": ["a", "b"], "hour": range(3)},
        tables=[["zone", "hour"], ["zone"], []],
        measures=[Count(within=within, name="n")],
        groups_per_person=2,
        rows_per_group=2,
        delta=1e-6,
    )
    (asked,) = asked_of(query, None)
    for strategy in strategies_of(query, asked):
        fitting = Fitting(query=query, asked=asked, strategy=strategy)
        for name in strategy.parts:
            requirement = fitting.requirement(name, within)
            assert [grid.step for grid in grids_of(requirement)] == [strategy.change.step] == [1.0]
