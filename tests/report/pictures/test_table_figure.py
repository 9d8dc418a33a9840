"""Pictures of tables: the facts in them, not the pixels."""

from __future__ import annotations

import datetime
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure

from pbdp.digits import rounded_up
from pbdp.errors import InputError
from pbdp.report.pictures.canvas import save
from pbdp.report.pictures.table_figure import MOST_ROWS, draw_table
from pbdp.tables import Count, People, Query, ReleasedTable


def released(groups: list[Any], **rest: Any) -> ReleasedTable:
    """A table with made-up numbers: 10 for the first group, 20 for the second, and so on."""
    query = Query(
        unit=None,
        by={"city": groups},
        measures=[Count(within=5, name="visits"), People(within=9)],
        delta=1e-6,
    )
    numbers = 10 * np.arange(1, len(groups) + 1)
    values = {"visits": numbers, "people": numbers + 1}
    assert query.groups is not None
    return ReleasedTable(plan=query.plan(), groups=query.groups, values=values, engine="none", **rest)


def text_of(figure: Figure, folder: Path) -> str:
    save(figure, folder / "f.svg")
    return (folder / "f.svg").read_text(encoding="utf-8")


def test_dots_and_intervals_are_those_of_the_table(tmp_path: Path) -> None:
    table = released(["Paris", "Rome", "$5 and $6"])
    figure = draw_table(table)
    visits, people = figure.axes
    low, high, dots = visits.lines
    assert np.asarray(dots.get_xdata()).tolist() == [10, 20, 30]
    # the first group is on top
    assert np.asarray(dots.get_ydata()).tolist() == [2, 1, 0]
    assert np.asarray(low.get_xdata()).tolist() == [5, 15, 25]
    assert np.asarray(high.get_xdata()).tolist() == [15, 25, 35]
    assert np.asarray(people.lines[-1].get_xdata()).tolist() == [11, 21, 31]
    text = text_of(figure, tmp_path)
    for words in (
        "3 groups",
        f"epsilon {rounded_up(table.plan.epsilon)}",
        "95 % interval",
        "Paris",
        "$5 and $6",
        "visits",
    ):
        assert words in text


def test_counts_stand_beside_their_dots(tmp_path: Path) -> None:
    text = text_of(draw_table(released(["Paris", "Rome"])), tmp_path)
    assert "10 ± 5" in text
    assert "21 ± 9" in text


def test_every_group_is_drawn_and_as_many_are_named_as_can_be_read(tmp_path: Path) -> None:
    names = [f"place {number} with a name that is far too long" for number in range(MOST_ROWS + 5)]
    figure = draw_table(released(names))
    assert len(np.asarray(figure.axes[0].lines[-1].get_xdata())) == len(names)
    text = text_of(figure, tmp_path)
    assert f"{len(names)} groups" in text
    assert "place 0 with" in text
    assert "place 1 with" not in text
    assert "far too long" not in text


def test_groups_may_be_drawn_in_the_order_of_a_measure(tmp_path: Path) -> None:
    figure = draw_table(released(["Paris", "Rome", "Oslo"]), "visits")
    assert np.asarray(figure.axes[0].lines[-1].get_xdata()).tolist() == [30, 20, 10]
    # 10 may be off by half, which is not reliable
    assert np.asarray(figure.axes[0].collections[-1].get_offsets()).tolist() == [[10, 0]]
    assert "hollow" in text_of(figure, tmp_path)
    with pytest.raises(InputError, match="order"):
        draw_table(released(["Paris"]), "spend")


def test_dates_are_a_line(tmp_path: Path) -> None:
    days = [datetime.date(2024, 1, day) for day in range(1, 9)]
    figure = draw_table(released(days))
    (line,) = figure.axes[0].lines
    assert np.asarray(line.get_ydata()).tolist() == [10, 20, 30, 40, 50, 60, 70, 80]
    assert "band: 95 %" in text_of(figure, tmp_path)


def test_dates_are_a_line_for_each_of_a_few_other_groups(tmp_path: Path) -> None:
    days = [datetime.date(2024, 1, day) for day in range(1, 4)]
    cities = ["Paris", "Rome", "Oslo", "Bern", "Bonn", "Trier"]

    def drawn(*columns: str) -> Figure:
        by = {name: {"day": days, "city": cities[:2], "town": cities}[name] for name in columns}
        query = Query(unit=None, by=by, measures=[Count(within=5, name="visits")], delta=1e-6)
        assert query.groups is not None
        numbers = {"visits": np.arange(len(query.groups))}
        return draw_table(
            ReleasedTable(plan=query.plan(), groups=query.groups, values=numbers, engine="none")
        )

    for columns, expected in (
        (("day", "city"), [[0, 2, 4], [1, 3, 5]]),
        (("city", "day"), [[0, 1, 2], [3, 4, 5]]),
    ):
        figure = drawn(*columns)
        assert [np.asarray(line.get_ydata()).tolist() for line in figure.axes[0].lines] == expected
        text = text_of(figure, tmp_path)
        assert "Paris" in text
        assert "Rome" in text
    # six lines are not told apart: every group has a row of its own
    assert len(np.asarray(drawn("day", "town").axes[0].lines[-1].get_xdata())) == 18


def test_a_test_seed_is_marked(tmp_path: Path) -> None:
    table = released(["a"], insecure_test_seed=1)
    assert "from a test seed, not private" in text_of(draw_table(table), tmp_path)


def test_a_table_without_groups_has_no_picture() -> None:
    table = released(["a"])
    empty = {name: values[:0] for name, values in table.values.items()}
    with pytest.raises(InputError, match="None had enough people"):
        draw_table(replace(table, values=empty, groups=table.groups.taken(np.arange(0))))
