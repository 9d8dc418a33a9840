"""Tables by clicking: what is priced is the query file that is taken away, and no value is read."""

from __future__ import annotations

import json
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest

import pbdp
from pbdp.cli.tables.asked import asked_of
from pbdp.cli.tables.query_file import settings_in
from pbdp.studio import tables
from pbdp.studio.code_to_copy import toml_text
from pbdp.studio.opened import Opened
from pbdp.studio.query_form import MOST_GROUPS, Base, asked_in
from pbdp.studio.table_code_to_copy import python_lines
from pbdp.studio.views import answer_to
from pbdp.tables.engines.duckdb import DuckDBSource
from pbdp.tables.query_record import query_text
from tests.studio.conftest import VISITS
from tests.studio.running import PBDP

FORM: dict[str, Any] = {
    "unit": "user_id",
    "groups_per_person": "1",
    "rows_per_group": "3",
    "delta": "1e-8",
    "by": [{"column": "city", "keys": "Paris, Rome"}, {"column": "month", "keys": "1..3"}],
    "measures": [
        {"kind": "count", "name": "visits", "within": "50"},
        {"kind": "sum", "name": "spend", "column": "spend", "low": "0", "high": "100", "within": "3000"},
    ],
}


@pytest.fixture
def base(visits: Path, monkeypatch: pytest.MonkeyPatch) -> Base:
    """A builder for data that was named on the command line."""
    monkeypatch.chdir(visits)
    return Base(Opened(asked="visits.csv"))


def of_file(path: Path) -> Any:
    return asked_of(settings_in(path), path.parent).query


def test_columns_come_from_the_header_and_nothing_else_is_read(
    visits: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for way in ("aggregate", "digest", "unreadable"):
        monkeypatch.setattr(DuckDBSource, way, None)
    opened = Opened(asked=str(visits / "visits.csv"))
    view = tables.builder_view(opened)
    assert view["columns"] == [
        {"name": name, "kind": "untyped"} for name in ("user_id", "city", "month", "spend")
    ]
    assert view["data"] == "visits.csv"
    told = f"{view} {tables.table_view(Base(opened), FORM)}"
    people, spend = ({row.split(",")[place] for row in VISITS.splitlines()[1:]} for place in (0, 3))
    assert not [value for value in people | spend if value in told]


def test_types_of_parquet_are_told(tmp_path: Path) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    parquet.write_table(pa.table({"who": ["a"], "age": [3], "ok": [True]}), tmp_path / "x.parquet")
    view = tables.builder_view(Opened(asked=str(tmp_path / "x.parquet")))
    assert {column["name"]: column["kind"] for column in view["columns"]} == {
        "who": "text",
        "age": "integer",
        "ok": "boolean",
    }


def test_the_price_is_that_of_the_query_file(base: Base, visits: Path) -> None:
    view = tables.table_view(base, FORM)
    (visits / "taken.toml").write_text(view["query_file"], encoding="utf-8")
    query = of_file(visits / "taken.toml")
    plan = query.plan()
    assert view["epsilon"] == plan.epsilon
    assert [number["number"] for number in view["numbers"]] == ["visits", "spend"]
    # the same question, whichever way it is asked: a ledger knows it again
    assert query_text(query) == query_text(of_file(visits / "visits.toml"))


def test_the_command_and_the_python_are_the_same_request(base: Base, visits: Path) -> None:
    view = tables.table_view(base, FORM)
    (visits / "query.toml").write_text(view["query_file"], encoding="utf-8")
    done = subprocess.run([PBDP, *view["command"].split()[1:]], cwd=visits, check=False, capture_output=True)
    assert done.returncode == 0, done.stderr
    assert (visits / "table.csv").exists()
    scope: dict[str, Any] = {}
    code = view["python"].replace("table.save", "str").replace("print(", "str(")
    exec(code, scope)  # noqa: S102  # that is what people do with it
    assert query_text(scope["query"]) == query_text(of_file(visits / "query.toml"))
    assert scope["plan"].epsilon == view["epsilon"]
    assert len(scope["table"]) == 6


@pytest.mark.parametrize(
    "changes",
    [
        {"by": [{"column": "month", "keys": "1..3"}], "measures": [{"kind": "people", "within": "5%+40"}]},
        {"by": [{"column": "city", "keys": 'Paris,"Washington, DC"', "rest": "elsewhere"}]},
        {
            "by": [{"column": "spend", "keys": "0..50 by 10"}],
            "where": "spend > 0",
            "measures": FORM["measures"][:1],
        },
        {"by": [{"column": "city", "keys": "?"}], "select": {"people": "50", "confidence": "0.9"}},
        {"by": [{"column": "day", "keys": "2024-01-01, 2024-01-05"}]},
        {"by": [{"column": "member", "keys": "true, false"}], "neighbors": "replace"},
        {"measures": [{"kind": "count", "within": "20 / 80"}]},
        {"by": [], "quality": True, "bounds_touched": True, "confidence": "0.9"},
        {"measures": [{"kind": "count"}, {"kind": "people", "name": "by"}], "epsilon": "1"},
        {
            "one_row_per_person": True,
            "measures": [
                {
                    "kind": "mean",
                    "column": "spend",
                    "low": "0",
                    "high": "50",
                    "within": "5",
                    "at_least": "200",
                },
                {
                    "kind": "ratio",
                    "of": "spend",
                    "of_low": "0",
                    "of_high": "9",
                    "over": "month",
                    "over_low": "0",
                    "over_high": "12",
                },
            ],
            "epsilon": "2",
        },
        {
            "measures": [
                {"kind": "sum", "column": "spend", "low": "-5", "high": "9", "within": "90", "per": "person"},
                {"kind": "sum", "column": "month", "low": "0", "high": "12", "within": "90", "whole": True},
            ]
        },
    ],
)
def test_every_kind_of_query_reads_the_same_in_every_form(base: Base, changes: dict[str, Any]) -> None:
    """Form to TOML to form again; and the Python has the same words for a ledger."""
    text = base.text(FORM | changes)
    settings, asked = asked_in(text, base.folder, base.data)
    path = base.folder / "again.toml"
    path.write_text(text, encoding="utf-8")
    again = Base(Opened(asked="again.toml"))
    assert tomllib.loads(again.text(again.form)) == tomllib.loads(text)
    scope: dict[str, Any] = {}
    exec(python_lines(base, settings, asked).partition("plan = ")[0], scope)  # noqa: S102
    assert query_text(scope["query"]) == query_text(asked.query)


def test_what_a_query_file_keeps_stays(visits: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(visits)
    (visits / "keys.csv").write_text("city\nParis\nRome\n", encoding="utf-8")
    (visits / "kept.toml").write_text(
        'data = "visits.csv"\nunit = "user_id"\nkeys = "keys.csv"\ngroups_per_person = 1\n'
        'rows_per_group = 1\ndelta = 1e-8\nmost_rows = 1000000\n[derive]\nrate = "spend / month"\n'
        '[source]\nname = "Visits"\n'
        '[rates]\nkind = "sum"\ncolumn = "rate"\nlow = 0\nhigh = 9\nwithin = 100\n',
        encoding="utf-8",
    )
    base = Base(Opened(asked="kept.toml"))
    assert {"name": "rate", "kind": "number"} in tables.builder_view(base.opened)["columns"]
    found = tables.planned(base, base.form)
    assert query_text(found.asked.query) == query_text(of_file(visits / "kept.toml"))
    scope: dict[str, Any] = {}
    exec(python_lines(base, found.settings, found.asked).partition("plan = ")[0], scope)  # noqa: S102
    assert query_text(scope["query"]) == query_text(found.asked.query)
    for forbidden in ("data", "keys", "derive", "csv", "table"):
        with pytest.raises(pbdp.InputError, match="names of fields must be among"):
            base.text({**base.form, forbidden: "/etc/passwd"})


def test_how_csv_is_written_is_in_the_python_too(visits: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(visits)
    text = (visits / "visits.toml").read_text() + '[csv]\nnull = ["NA"]\ndecimal = "."\n'
    (visits / "visits.toml").write_text(text)
    base = Base(Opened(asked="visits.toml"))
    settings, asked = asked_in(base.text(base.form), base.folder, base.data)
    code = python_lines(base, settings, asked)
    scope: dict[str, Any] = {}
    exec(code.partition("query = ")[0], scope)  # noqa: S102
    written = code.partition("csv=")[2].partition(")\n")[0]
    assert eval(written, scope) == asked.csv  # noqa: S307


def test_a_query_file_with_mistakes_is_told_of_and_breaks_nothing(visits: Path) -> None:
    for text in ("select = 5\ndelta = 1e-6\n", "by = 3\n", "delta = true\n[x]\nkind = 3\n"):
        (visits / "odd.toml").write_text(text)
        opened = Opened(asked=str(visits / "odd.toml"))
        form = tables.builder_view(opened)["form"]
        assert answer_to(opened, "table", {"table": form}).status == 422


def test_a_password_is_in_nothing_that_is_taken_away() -> None:
    opened = Opened(
        asked="postgresql://me:secret@db/shop", table="visits", ledger="postgresql://me:secret@db/x"
    )
    view = tables.table_view(Base(opened), FORM)
    assert "secret" not in json.dumps(view)
    assert "--data ADDRESS" in view["command"]


@pytest.mark.parametrize("place", [0, 1])
def test_what_a_measure_adds(base: Base, place: int) -> None:
    added = tables.added_view(base, FORM, place)
    whole = tables.table_view(base, FORM)["epsilon"]
    others = [measure for at, measure in enumerate(FORM["measures"]) if at != place]
    assert added["adds"] == pytest.approx(
        whole - tables.table_view(base, FORM | {"measures": others})["epsilon"]
    )
    assert float(added["adds_text"]) >= added["adds"]


def test_the_only_measure_adds_everything(base: Base) -> None:
    one = FORM | {"measures": FORM["measures"][:1]}
    assert tables.added_view(base, one, 0)["adds"] == tables.table_view(base, one)["epsilon"]


@pytest.mark.parametrize(
    ("changes", "field", "words"),
    [
        ({"delta": ""}, "delta", "delta must be given"),
        ({"delta": "x"}, "delta", "must be a number"),
        ({"unit": ""}, "unit", "unit must be given"),
        ({"groups_per_person": "0"}, "groups_per_person", "at least 1"),
        ({"rows_per_group": ""}, "rows_per_group", "How many rows of one person"),
        ({"confidence": "95"}, "confidence", "Write 0.95 for 95 %."),
        ({"by": [{"column": "city", "keys": "Paris,,Rome"}]}, "by.0.keys", "between the commas"),
        ({"by": [{"column": "city", "keys": ""}]}, "by.0.keys", "listed, or left to a private selection"),
        ({"by": [{"column": "month", "keys": "1-3"}]}, "by.0.keys", "1..3"),
        (
            {
                "by": [
                    {"column": "other", "keys": "1"},
                    {"column": "month", "keys": ""},
                    {"column": "city", "keys": ""},
                ]
            },
            "by.1.keys",
            "keys of month, city must be listed",
        ),
        ({"by": [{"column": "city", "keys": "Rome", "rest": "Rome"}]}, "by.0.rest", "no key"),
        ({"measures": []}, None, "measures must be given"),
        ({"measures": [{"kind": "count", "within": "-5"}]}, "measures.0.within", "above 0"),
        ({"measures": [{"kind": "count", "within": "", "name": "n"}]}, "measures.0.within", "within of n"),
        (
            {"measures": [{"kind": "sum", "name": "s", "low": "", "within": "5"}]},
            "measures.0.column",
            "given",
        ),
        (
            {
                "measures": [
                    {"kind": "sum", "name": "s", "column": "x", "low": "a", "high": "3", "within": "5"}
                ]
            },
            "measures.0.low",
            "low of s must be a number",
        ),
        (
            {
                "measures": [
                    {"kind": "mean", "name": "m", "column": "x", "low": "0", "high": "3", "within": "1"}
                ]
            },
            "measures.0.at_least",
            "at_least of m",
        ),
        ({"measures": [{"kind": "sun"}]}, "measures.0.kind", "count or people or sum"),
        ({"where": "spend >"}, "where", "where"),
        ({"by": [{"column": "city", "keys": "Rome"}] * 2}, "by.0.keys", "given once"),
        ({"by": [{"column": "town", "keys": "Rome"}]}, None, "columns must be among those of the table"),
        ({"measures": [{"kind": "count", "within": "9", "name": "city"}]}, "measures.0.name", "different"),
        ({"select": {"people": "1"}, "by": [{"column": "city", "keys": ""}]}, "select.people", "at least 2"),
        # bounded work
        ({"by": [{"column": "n", "keys": f"1..{MOST_GROUPS + 1}"}]}, None, "at most 100,000 groups"),
        ({"measures": [{"kind": "count", "within": "1e9"}]}, "measures.0.within", "100,000 steps"),
        ({"measures": [{"kind": "count"}] * 21}, None, "at most 20"),
        ({"where": "x" * 10_001}, "where", "characters"),
    ],
)
def test_mistakes_stand_beside_their_fields(
    visits: Path, changes: dict[str, Any], field: str | None, words: str
) -> None:
    answer = answer_to(Opened(asked=str(visits / "visits.csv")), "table", {"table": FORM | changes})
    assert answer.status == 422
    (told,) = json.loads(answer.content)["errors"]
    assert (told["field"], words in told["message"]) == (field, True), told


@pytest.mark.parametrize(
    "form",
    [
        {"by": 3},
        {"by": [3]},
        {"by": [{"column": 3}]},
        {"measures": [{"kind": "count", "name": 3}]},
        {"measures": {}},
        {"select": 5},
        {"unit": 7},
        {"quality": 1},
    ],
)
def test_what_is_no_form_is_refused(base: Base, form: dict[str, Any]) -> None:
    with pytest.raises(pbdp.InputError):
        base.text(form)


def test_toml_is_read_as_it_was_written() -> None:
    record = {
        "a b": 'x"y\\z\n\x7f é',
        "n": -3,
        "x": 1e-6,
        "t": True,
        "list": ["a", "b, c"],
        "by": {"city": {"keys": ["Paris"], "rest": "other"}, "day": tomllib.loads("d = 2024-01-01")["d"]},
    }
    assert tomllib.loads(toml_text(record)) == record


def test_data_that_is_missing_is_told(visits: Path) -> None:
    (visits / "visits.csv").unlink()
    view = tables.builder_view(Opened(asked=str(visits / "visits.toml")))
    assert view["columns"] == []
    assert "visits.csv" in view["trouble"]
    assert view["form"]["measures"][0]["name"] == "visits"
