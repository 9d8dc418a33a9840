from __future__ import annotations

import pytest

from pbdp.errors import InputError
from pbdp.tables.bounded import BoundedAggregation
from pbdp.tables.engines.dialects import DUCKDB, POSTGRES, SPARK, Dialect
from pbdp.tables.engines.interface import ColumnKind
from pbdp.tables.engines.sql import aggregation_sql, found_kinds, key_tables, name_parts
from pbdp.tables.keys import KeyTable, key_column
from tests.tables.engines.asking import asking, value

DIALECTS = pytest.mark.parametrize("dialect", [DUCKDB, POSTGRES, SPARK], ids=lambda one: one.engine)
KINDS: dict[str, ColumnKind] = {"user": "integer", "city": "text", "spend": "number", "file": "untyped"}


def _text(asked: BoundedAggregation, dialect: Dialect = DUCKDB) -> str:
    names = [f"keys{number}" for number in range(len(key_tables(asked)))]
    return aggregation_sql(asked, dialect, choice_key=7, data="data", keys=names, kinds=KINDS)


@pytest.mark.parametrize(
    ("written", "parts"),
    [
        ("visits", ("visits",)),
        ("shop.visits", ("shop", "visits")),
        ('"my.shop"."the ""visits"""', ("my.shop", 'the "visits"')),
        ("Größe; DROP TABLE x", ("Größe; DROP TABLE x",)),
    ],
)
def test_a_table_name_has_parts(written: str, parts: tuple[str, ...]) -> None:
    assert name_parts(written) == parts


@pytest.mark.parametrize("written", ["", ".", "a.", ".a", "a..b", '"a', 'a"b', '""', '"a"b'])
def test_a_broken_table_name_is_refused(written: str) -> None:
    with pytest.raises(InputError, match="table must be a name"):
        name_parts(written)


@DIALECTS
def test_an_identifier_ends_where_it_should(dialect: Dialect) -> None:
    for name in ("plain", f"a{dialect.quote}b", 2 * dialect.quote, "x'; --"):
        written = dialect.name(name)
        inside = written[1:-1]
        assert written[0] == written[-1] == dialect.quote
        assert dialect.quote not in inside.replace(2 * dialect.quote, "")
        assert inside.replace(2 * dialect.quote, dialect.quote) == name


@DIALECTS
def test_numbers_are_written_with_all_their_digits(dialect: Dialect) -> None:
    for number in (0.1, 1 / 3, 5e-324, 1.7976931348623157e308, -(2.0**-40)):
        assert float(dialect.literal(number).split("'")[1]) == number


@DIALECTS
def test_people_are_ranked_only_where_somebody_may_be_in_too_many_groups(dialect: Dialect) -> None:
    cities = {"city": ["Paris", "Rome"]}
    assert "dense_rank" in _text(asking(cities, unit="user", groups=1), dialect)
    assert "dense_rank" not in _text(asking(cities, unit="user"), dialect)
    assert "dense_rank" not in _text(asking({}, unit="user", groups=1), dialect)
    assert "dense_rank" not in _text(asking(cities, groups=1), dialect)


@DIALECTS
def test_without_a_unit_nothing_is_aggregated_per_person(dialect: Dialect) -> None:
    asked = asking({"city": ["Paris"]}, values=[value("spend", 0, 1)])
    assert _text(asked, dialect).count("GROUP BY") == 1


def test_key_columns_are_named_by_their_place() -> None:
    keys = {"file": key_column("file", ["x"]), "city": key_column("city", ["Rome"])}
    asked = BoundedAggregation(unit=None, by=("city", "file"), keys=KeyTable(columns=keys))
    (table,) = key_tables(asked)
    assert {name: column.values.tolist() for name, column in table.columns.items()} == {
        "k1": ["x"],
        "k0": ["Rome"],
    }
    assert key_tables(asking({})) == ()


def test_untyped_columns_are_read_as_their_keys_are() -> None:
    only = KeyTable(columns={"file": key_column("file", [1, 2])})
    assert found_kinds(asking({"file": [1]}), KINDS) == {"file": "integer"}
    asked = BoundedAggregation(unit=None, by=("file", "city"), keys=None, only=(only,))
    assert found_kinds(asked, KINDS) == {"file": "integer", "city": "text"}
    assert found_kinds(BoundedAggregation(unit=None, by=("file",), keys=None), KINDS) == {"file": "text"}
