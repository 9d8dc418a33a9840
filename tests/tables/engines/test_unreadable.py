"""Entries that cannot be read are told to whoever holds the data, as counts, and never left out silently."""

from __future__ import annotations

import datetime
import math
from dataclasses import replace
from pathlib import Path

import pytest

from pbdp.errors import ContradictionError, InputError
from pbdp.tables import Count, Csv, Query, Sum
from pbdp.tables.engines.interface import UnreadableError, check_readable
from pbdp.tables.engines.sources import source_of
from pbdp.tables.expressions.reading import expression_of
from tests.tables.engines.asking import answered, asking, people, sums, value
from tests.tables.engines.holding import Holding
from tests.tables.random_tables import Case

FARES = [1.0, 2.5, None, math.nan, 3.0, math.inf]
TEXT = "who;day;paid\nann;31.12.2024;1.234,50\nbob;1.1.2025;NA\ncem;;-0,5\ndan;never;1.5\n"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "paid.csv"
    path.write_text(TEXT)
    return path


def test_fractions_under_whole_keys_are_counted(engine: tuple[str, Holding]) -> None:
    case = Case(
        rows=[{"who": number, "fare": fare} for number, fare in enumerate(FARES)],
        held={"who": "integer", "fare": "number"},
        asked=asking({"fare": [1, 2, 3]}, unit="who", groups=1),
    )
    source = engine[1](case)
    assert source.unreadable(case.asked) == {"fare": 2}
    with pytest.raises(UnreadableError, match="2 rows of fare") as refused:
        check_readable(source, case.asked)
    assert "bins" in str(refused.value)
    whole = Case(rows=[case.rows[0], *case.rows[2:5]], held=case.held, asked=case.asked)
    check_readable(engine[1](whole), case.asked)


def test_columns_that_can_hold_nothing_else_are_not_looked_at(engine: tuple[str, Holding]) -> None:
    asked = asking({"city": ["a"]}, unit="who", groups=1, values=[value("fare", 0, 1)])
    held = {"who": "integer", "city": "text", "fare": "number"}
    case = Case(rows=[], held=held, asked=asked)  # type: ignore[arg-type]
    assert engine[1](case).unreadable(asked) == {}


def test_csv_files_are_read_as_they_are_written(file: Path) -> None:
    asked = asking({}, unit="who", values=[value("paid", -10, 5000)])
    plain = source_of(file)
    assert plain.unreadable(asked) == {"paid": 3}
    german = source_of(file, csv=Csv(decimal=",", null=["NA"]))
    assert german.unreadable(asked) == {"paid": 1}
    found, step = sums(answered(german, asked))[()][0], asked.values[0].fixed
    # counted from the lower bound; 1.5 is no number there
    assert found * step.step == pytest.approx(1234.5 + 10 - 0.5 + 10)
    assert source_of(file, csv=Csv(unreadable="null")).unreadable(asked) == {}


def test_dates_are_read_by_their_format(file: Path) -> None:
    days = [datetime.date(2024, 12, 31), datetime.date(2025, 1, 1)]
    asked = asking({"day": days}, unit="who", groups=1)
    assert source_of(file).unreadable(asked) == {"day": 3}
    source = source_of(file, csv=Csv(dates={"day": "%d.%m.%Y"}))
    assert source.unreadable(asked) == {"day": 1}
    assert people(answered(source, asked)) == {(days[0],): 1, (days[1],): 1}


def test_a_column_that_is_read_in_two_ways_must_be_readable_in_both(file: Path) -> None:
    asked = asking({"paid": [1, 2]}, unit="who", groups=1)
    both = replace(asked, where=expression_of("where", "paid > 0"))
    german = source_of(file, csv=Csv(decimal=",", null=["NA"]))
    # 1.234,50 and -0,5 are numbers but not whole, and 1.5 is neither
    assert german.unreadable(both) == german.unreadable(asked) == {"paid": 3}
    assert german.unreadable(replace(both, by=(), keys=asking({}).keys)) == {"paid": 1}


def test_another_way_to_read_is_other_data(file: Path) -> None:
    asked = asking({}, unit="who")
    usual, explicit, other = (source_of(file, csv=csv) for csv in (None, Csv(), Csv(decimal=",")))
    assert usual.digest(asked) == explicit.digest(asked) != other.digest(asked)


@pytest.mark.parametrize(
    "settings",
    [
        {"decimal": ";"},
        {"null": "NA"},
        {"dates": {"day": "day"}},
        {"dates": {"day": "%q"}},
        {"unreadable": "x"},
    ],
)
def test_ways_to_write_that_nobody_has_are_refused(settings: dict[str, object]) -> None:
    with pytest.raises(InputError):
        Csv(**settings)  # type: ignore[arg-type]


def test_csv_is_for_csv_files(file: Path) -> None:
    with pytest.raises(ContradictionError):
        source_of({"who": [1]}, csv=Csv())
    with pytest.raises(InputError, match="columns of"):
        source_of(file, csv=Csv(dates={"nowhere": "%d"})).unreadable(asking({"day": ["x"]}, unit="who"))


def test_a_release_of_unreadable_data_is_refused(file: Path) -> None:
    query = Query(
        unit="who",
        by={},
        measures=[Count(within=5), Sum(column="paid", low=0, high=10, within=50.0)],
        rows_per_group=1,
        delta=1e-6,
    )
    with pytest.raises(UnreadableError, match="3 rows of paid"):
        query.plan().release(file)
