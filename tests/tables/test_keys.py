"""Public keys: what is taken, what is refused and how it is said, and that a million of them are quick."""

from __future__ import annotations

import datetime
import enum
import hashlib
import itertools
import time
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pbdp.errors import InputError
from pbdp.tables import Count, Keys, Query, Selection
from pbdp.tables.keys import (
    MOST_GROUPS,
    KeyColumn,
    KeyTable,
    Kind,
    arrow_array,
    crossed,
    key_column,
    key_table,
)

DAY = datetime.date(2024, 2, 29)
NOON = datetime.datetime(2024, 2, 29, 12, tzinfo=datetime.UTC)


class Color(str, enum.Enum):  # noqa: UP042  # whose str() is not its text
    RED = "red"


class Size(enum.IntEnum):
    LARGE = 3


@pytest.mark.parametrize(
    ("keys", "kind", "held"),
    [
        (["b", "a"], "text", ["b", "a"]),
        (("",), "text", [""]),
        (["nul\0", "nul\0\0", "nul"], "text", ["nul\0", "nul\0\0", "nul"]),
        ([Color.RED, np.str_("x")], "text", ["red", "x"]),
        ({"b", "a", "c"}, "text", ["a", "b", "c"]),
        ([3, -1], "integer", [3, -1]),
        ([Size.LARGE, np.int8(-4), np.uint64(5)], "integer", [3, -4, 5]),
        ([2**63 - 1, -(2**63)], "integer", [2**63 - 1, -(2**63)]),
        (range(10, 0, -3), "integer", [10, 7, 4, 1]),
        (range(-(2**63), 2**63, 2**63 + 2), "integer", [-(2**63), 2]),
        (range(2**63 - 1, 2**63), "integer", [2**63 - 1]),
        ([np.uint16(1), np.int64(2)], "integer", [1, 2]),
        ([True, False], "boolean", [True, False]),
        ([np.True_], "boolean", [True]),
        ([DAY], "date", [DAY]),
        ([datetime.date.min, datetime.date.max], "date", [datetime.date.min, datetime.date.max]),
    ],
)
def test_keys_are_held_as_what_they_are(keys: Any, kind: str, held: list[object]) -> None:
    column = key_column("city", keys)
    assert (column.kind, column.values.tolist()) == (kind, held)
    assert [type(key) for key in column.values.tolist()] == [type(key) for key in held]


@pytest.mark.parametrize(
    ("keys", "told"),
    [
        ("Paris", "must be a list or a range; got 'Paris'. Write"),
        (b"Paris", "must be a list or a range; got something of type bytes"),
        (7, "must be a list or a range; got 7"),
        (None, "must be a list or a range; got None"),
        ({"Paris": 1}, "must be a list or a range; got something of type"),
        ({f"key {i}": 1 for i in range(1000)}, "must be a list or a range; got something of type dict"),
        ([], "must be at least one; got none"),
        (set(), "must be at least one; got none"),
        (range(3, 3), "must be at least one; got an empty range"),
        (["a", 1], "must be of one kind; got integer and text"),
        ([1, True], "must be of one kind; got boolean and integer"),
        ({1, "a"}, "must be of one kind; got integer and text"),
        ([DAY, "2024-02-29"], "must be of one kind; got date and text"),
        (["a", None], "got nothing (null)"),
        ([1.0, 2.0], "got a number that may have a fraction, or NaN"),
        ([1, float("nan")], "got a number that may have a fraction, or NaN"),
        ([NOON], "got a time"),
        ([DAY, NOON], "got a time"),
        ([Decimal(1)], "got something of type Decimal"),
        ([(1, 2)], "got something of type tuple"),
        ([b"x"], "got something of type bytes"),
        (["half \ud83d"], "must be text; got half a character"),
        ([2**63], "must be 64-bit whole numbers; got a larger one"),
        ([-(2**70)], "must be 64-bit whole numbers; got a larger one"),
        (range(2**63, 2**63 + 2), "must be 64-bit whole numbers; got larger ones"),
        (range(10**30), "must be at most 50,000,000 groups"),
    ],
)
def test_other_keys_are_refused(keys: Any, told: str) -> None:
    with pytest.raises(InputError, match=r"^keys") as refused:
        key_column("city", keys)
    assert told in str(refused.value)


@given(st.lists(st.tuples(st.text(max_size=2), st.integers(-2, 2), st.booleans()), min_size=1, max_size=30))
def test_a_table_is_refused_exactly_if_two_rows_are_the_same(rows: list[tuple[str, int, bool]]) -> None:
    texts, numbers, truths = zip(*rows, strict=True)
    table = {"a": list(texts), "b": list(numbers), "c": list(truths)}
    if any("\ud800" <= character <= "\udfff" for text in texts for character in text):
        return
    if len(set(rows)) < len(rows):
        with pytest.raises(
            InputError, match=r"keys must be different from each other; got some twice\. List"
        ):
            key_table(("a", "b", "c"), table)
    else:
        assert len(key_table(("a", "b", "c"), table)) == len(rows)


def test_keys_with_the_same_hash_are_not_taken_for_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pbdp.tables.keys._mixed", lambda words: words * 0)
    assert len(key_table(("a",), {"a": ["x", "y", "z"]})) == 3
    with pytest.raises(InputError, match="some twice"):
        key_table(("a",), {"a": ["x", "y", "x"]})


def test_text_of_python_hashes_that_are_equal_is_told_apart() -> None:
    # hash(-1) == hash(-2), and hash(2^61 - 1) == 0: keys are numbers themselves
    assert len(key_table(("a",), {"a": [-1, -2, 0, 2**61 - 1]})) == 4


# Columns as they come out of data, in every library, and a generator over one.
FROM_DATA = [
    pd.Series(["Rome", "Paris"]),
    pd.Index(["Rome", "Paris"]),
    pd.Categorical(["Rome", "Paris"]),
    pl.Series(["Rome", "Paris"]),
    pa.array(["Rome", "Paris"]),
    pa.chunked_array([["Rome", "Paris"]]),
    np.array(["Rome", "Paris"]),
    (city for city in ("Rome", "Paris")),
]


@pytest.mark.parametrize("column", FROM_DATA, ids=lambda column: type(column).__name__)
def test_columns_of_data_are_refused_with_the_reason(column: Any) -> None:
    for keys in (column, Keys(column, "elsewhere")):
        with pytest.raises(InputError, match="which groups exist there is private") as refused:
            asked(by={"city": keys})
        assert "Rome" not in str(refused.value)
    with pytest.raises(InputError, match="which groups exist there is private"):
        key_table(("city",), {"city": column})


@pytest.mark.parametrize("form", [pd.DataFrame, pl.DataFrame, pl.LazyFrame, pa.table])
def test_tables_of_data_are_refused_with_the_reason(form: Any) -> None:
    with pytest.raises(InputError, match=r"must be lists by column.*which groups exist there is private"):
        key_table(("city",), form({"city": ["Rome", "Paris"]}))


def test_a_table_of_keys_is_lists_by_column() -> None:
    columns = {"city": ["Rome", "Paris"], "month": [1, 2], "day": [DAY, DAY], "other": [0.5, None]}
    table = key_table(("day", "city", "month"), columns)
    assert list(table.columns) == ["day", "city", "month"]
    assert [column.kind for column in table.columns.values()] == ["date", "text", "integer"]
    assert table.columns["city"].values.tolist() == ["Rome", "Paris"]
    with pytest.raises(InputError, match=r"keys must be a table with the columns city, town; got no town\."):
        key_table(("city", "town"), columns)
    with pytest.raises(InputError, match="some twice"):
        key_table(("day",), columns)
    assert key_table(("city",), table).digest() == key_table(("city",), columns).digest()


def test_every_plan_says_what_is_assumed_of_keys() -> None:
    public = asked(by={"city": ["Rome"]})
    assert public.keys_assumed == "Keys: assumed public."
    assert "\nPUBLIC KEYS: the listed groups count as public" in public.plan().describe()
    selected = asked(by={"city": None, "month": [1, 2]}, select=Selection(people=100))
    assert selected.keys_assumed == (
        "Keys: selected from the data with noise. Listed keys of single columns: assumed public."
    )
    assert "PUBLIC KEYS" not in asked(by={}).plan().describe()


@pytest.mark.parametrize(
    ("table", "got"), [(["Paris"], "type list"), ("keys.csv", "'keys.csv'"), (7, "7"), (None, "None")]
)
def test_what_is_no_table_is_refused(table: object, got: str) -> None:
    with pytest.raises(InputError, match=rf"keys must be lists by column; got .*{got}. Write"):
        key_table(("city",), table)


def asked(**said: Any) -> Query:
    return Query(unit=None, measures=[Count(within=50)], delta=1e-6, **said)


def test_columns_of_different_lengths_are_refused() -> None:
    with pytest.raises(InputError, match="columns of one length"):
        key_table(("a", "b"), {"a": [1, 2], "b": [1]})


def test_a_column_holds_its_kind_only() -> None:
    with pytest.raises(AssertionError, match="kind text"):
        KeyColumn(kind="text", values=np.array(["x"]))
    with pytest.raises(AssertionError, match="kind date"):
        KeyColumn(kind="date", values=np.array(["2024-02-29"], dtype="M8[ns]"))


def test_crossed_keys_are_all_combinations_the_last_column_fastest() -> None:
    listed: dict[str, list[Any]] = {"a": ["x", "y"], "b": [3, 1, 2], "c": [False, True]}
    table = crossed({name: key_column(name, keys) for name, keys in listed.items()})
    rows = list(zip(*(column.values.tolist() for column in table.columns.values()), strict=True))
    assert rows == list(itertools.product(*listed.values()))


def test_no_columns_are_one_group() -> None:
    assert len(crossed({})) == len(key_table((), {})) == 1


def test_too_many_combinations_are_refused_before_they_are_made() -> None:
    many = key_column("a", range(10_000))
    with pytest.raises(InputError, match=r"at most 50,000,000 groups; got 1,000,000,000,000\."):
        crossed({"a": many, "b": many, "c": many})
    with pytest.raises(InputError, match="some twice"):
        crossed({"a": many, "b": key_column("b", [1, 1])})
    assert MOST_GROUPS < 10_000**2


def test_the_digest_tells_names_kinds_keys_and_their_order() -> None:
    tables: list[dict[str, Any]] = [
        {"a": ["1", "2"]},
        {"a": ["2", "1"]},
        {"b": ["1", "2"]},
        {"a": [1, 2]},
        {"a": [False, True]},
        {"a": ["12", ""]},
        {"a": ["1\n2", ""]},
        {"a": ["1", "2"], "b": ["1", "2"]},
        {"b": ["1", "2"], "a": ["1", "2"]},
        {"a": [datetime.date(1970, 1, 2), datetime.date(1970, 1, 3)]},
    ]
    digests = [key_table(tuple(table), table).digest() for table in tables]
    assert len(set(digests)) == len(tables)
    # it is written into manifests, so it must stay what it is: lengths of eight bytes, then the texts
    written = b"'a' text 2\n" + (1).to_bytes(8, "little") * 2 + b"12"
    assert digests[0] == hashlib.sha256(written).hexdigest()


def test_taken_keys_come_in_the_order_asked_for() -> None:
    table = crossed({"a": key_column("a", ["x", "y"]), "b": key_column("b", range(3))})
    few = table.taken(np.array([5, 0]))
    assert few.columns["a"].values.tolist() == ["y", "x"]
    assert few.columns["b"].values.tolist() == [2, 0]


def test_arrow_has_the_types_of_the_kinds() -> None:
    table = key_table(("a", "b", "c", "d"), {"a": ["x\0"], "b": [1], "c": [True], "d": [DAY]})
    arrow = table.arrow()
    assert [str(field.type) for field in arrow.schema] == ["string", "int64", "bool", "date32[day]"]
    assert arrow.to_pylist() == [{"a": "x\0", "b": 1, "c": True, "d": DAY}]


def test_arrow_arrays_are_those_of_pyarrow() -> None:
    rng = np.random.default_rng(1)
    texts = np.array(["", "Zürich", "☃\0", *map(str, range(30))], dtype=object)
    columns: list[np.ndarray[Any, Any]] = [
        texts,
        rng.random(33) < 0.5,
        rng.integers(-(2**63), 2**63 - 1, 33),
        rng.integers(0, 9, 66).astype(np.int32)[::2],
        rng.normal(size=33),
        np.datetime64("1582-10-04") + np.arange(33),
        np.full(33, 2**64 - 1, dtype=np.uint64),
    ]
    for column in columns:
        for missing in (None, rng.random(33) < 0.3):
            found = arrow_array(column, missing)
            found.validate(full=True)
            assert found.equals(pa.array(column, mask=missing)), column.dtype


def test_a_million_keys_take_less_than_a_second() -> None:
    words = [f"key number {number}" for number in range(1_000_000)]
    took = []
    for _ in range(2):
        start = time.process_time()
        key_table(("word",), {"word": words}).digest()
        took.append(time.process_time() - start)
    assert min(took) < 1


@pytest.mark.parametrize("kind", ["text", "integer", "boolean", "date"])
def test_groups_that_were_found_may_be_none(kind: Kind) -> None:
    types = {"text": "O", "integer": "i8", "boolean": "?", "date": "M8[D]"}
    table = KeyTable(columns={"a": KeyColumn(kind=kind, values=np.empty(0, dtype=types[kind]))})
    assert len(table) == table.arrow().num_rows == len(table.taken(np.arange(0))) == 0
    assert table.digest() != KeyTable(columns={}).digest()
    assert len(crossed({"a": table.columns["a"], "b": key_column("b", range(3))})) == 0
    assert len(KeyTable(columns={})) == 1
