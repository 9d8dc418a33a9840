"""Several group-bys of one table: groups, cells and names."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pbdp.errors import ContradictionError, InputError
from pbdp.tables import Count, People, Query, Selection, Sum
from pbdp.tables.keys import crossed, key_column, key_table
from pbdp.tables.margins import Margins

GRID = crossed({"zone": key_column("zone", ["b", "a"]), "hour": key_column("hour", range(3))})


def test_groups_come_in_the_order_of_their_cells_and_add_them_up() -> None:
    margins = Margins(cells=GRID, asked=(("zone", "hour"), ("hour",), ("zone",), ()))
    assert margins.labels == ["zone, hour", "hour", "zone", "total"]
    assert margins.is_grid
    cells = np.array([1, 2, 3, 10, 20, 30])
    sums = [table.sums(cells).tolist() for table in margins.tables]
    assert sums == [cells.tolist(), [11, 22, 33], [6, 60], [66]]
    zones = margins.tables[2]
    assert zones.groups.columns["zone"].values.tolist() == ["b", "a"]
    assert zones.sizes.tolist() == [3, 3]
    assert margins.chain is None
    assert Margins(cells=GRID, asked=(("zone", "hour"), (), ("zone",))).chain == [1, 2, 0]


def test_towns_of_regions_are_no_grid() -> None:
    towns = key_table(["region", "town"], {"region": ["n", "n", "s"], "town": ["x", "y", "z"]})
    margins = Margins(cells=towns, asked=(("region", "town"), ("region",)))
    assert not margins.is_grid
    assert margins.tables[1].sizes.tolist() == [2, 1]


def asked(**changes: Any) -> Query:
    settings: dict[str, Any] = {
        "unit": None,
        "by": {"zone": ["a", "b"], "hour": range(3)},
        "tables": [["zone", "hour"], ["zone"], []],
        "measures": [Count(within=20)],
        "delta": 1e-6,
    }
    return Query(**(settings | changes))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"tables": "zone"}, "a list of tables"),
        ({"tables": []}, "a list of tables"),
        ({"tables": ["zone"]}, "a list of columns"),
        ({"tables": [["zone"], ["day"]]}, "among those of by"),
        ({"tables": [["zone", "zone"], ["hour"]]}, "different"),
        ({"tables": [["zone", "hour"], ["hour", "zone"]]}, "different from each other"),
        ({"tables": [["zone"], []]}, "used by a table"),
        ({"measures": [Count(within={"zone": 5, "town": 3})]}, "by the tables"),
        ({"measures": [Count(within="5%+10")]}, "plain numbers"),
        ({"measures": [Sum(column="x", low=0, high=1, within=(3, 4))]}, "plain numbers"),
    ],
)
def test_what_cannot_be_asked_is_told(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        asked(**changes)


def test_widths_by_table_need_tables_and_tables_public_keys() -> None:
    with pytest.raises(ContradictionError, match="one width"):
        asked(tables=None, measures=[Count(within={"zone": 5})])
    with pytest.raises(ContradictionError, match="public keys"):
        asked(
            by=["zone", "hour"],
            unit="who",
            groups_per_person=1,
            select=Selection(people=50),
            measures=[People(within=20)],
        )
    with pytest.raises(InputError, match="one table or more"):
        Count(within={})


def test_one_table_by_all_columns_is_a_plain_query() -> None:
    assert asked(tables=[["hour", "zone"]]).margins is None


def test_exact_sums_are_those_of_any_cells_and_stay_where_doubles_hold_them() -> None:
    total = Margins(cells=GRID, asked=(("zone", "hour"), ())).tables[1]
    for scale in (5, 1 << 30, 1 << 49, 1 << 53):
        for cells in np.random.default_rng(3).integers(-scale, scale, (50, 6), endpoint=True):
            exact = sum(cells.tolist())
            assert total.exact_sums(cells).tolist() == [min(max(exact, -(1 << 52)), 1 << 52)]
    everything = np.full(6, 1 << 53)
    assert total.exact_sums(everything).tolist() == [1 << 52]
    assert total.exact_sums(-everything).tolist() == [-(1 << 52)]
