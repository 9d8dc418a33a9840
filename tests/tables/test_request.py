"""A setting of a query is one line: in Python, options, query files, records, their schema and pages."""

from __future__ import annotations

import json
import pydoc
import tomllib
from inspect import signature
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from pbdp.cli.parser import Parser
from pbdp.cli.tables.asked import asked_of
from pbdp.cli.tables.flags import add_flags, settings_of
from pbdp.cli.tables.query_file import settings_from
from pbdp.errors import InputError
from pbdp.kinds import WHOLE
from pbdp.settings import request, setting
from pbdp.tables import Count, Mean, People, Query, Ratio, Selection, Sum, Top
from pbdp.tables.measures import KINDS
from pbdp.tables.query_record import measure_from_record, query_record
from pbdp.tables.request import PEOPLE, QueryRequest

ASKED: dict[str, Any] = {
    "unit": None,
    "by": {"city": ["Rome"]},
    "measures": [Count(within=50)],
    "delta": 1e-6,
}


@request("Query", eq=False)
class Scratched(Query):
    """A query with one setting more, in one line."""

    scratch: int = setting(WHOLE, "a number that nobody needs", default=3, group=PEOPLE)


class TestOneLineMore:
    """Everywhere that a query is asked for."""

    def test_in_python(self) -> None:
        shown = signature(Scratched).parameters["scratch"]
        assert (shown.annotation, shown.default) == ("int", 3)
        assert "`scratch`: a number that nobody needs" in pydoc.plain(pydoc.render_doc(Scratched))
        assert Scratched(**ASKED, scratch=7).scratch == 7
        with pytest.raises(InputError, match=r"scratch must be a whole number of at least 1; got 0\.5"):
            Scratched(**ASKED, scratch=0.5)  # type: ignore[arg-type]

    def test_on_the_command_line(self) -> None:
        parser = Parser(prog="pbdp tables")
        add_flags(parser, Scratched)
        words = ["--one-row-per-person", "--by", "city=Rome", "--count", "50", "--delta", "1e-6"]
        options = parser.parse_args([*words, "--scratch", "7"])
        made = asked_of(settings_of(options, Scratched), Path(), kind=Scratched).query
        assert isinstance(made, Scratched)
        assert made.scratch == 7
        assert "a number that nobody needs" in parser.format_help()

    def test_in_a_query_file(self) -> None:
        text = """
            one_row_per_person = true
            delta = 1e-6
            scratch = 7
            by.city = ["Rome"]
            [visits]
            kind = "count"
            within = 50
        """
        made = asked_of(settings_from(tomllib.loads(text), Scratched), Path(), kind=Scratched).query
        assert isinstance(made, Scratched)
        assert made.scratch == 7

    def test_on_a_page(self) -> None:
        (own,) = [one for one in Scratched.form() if one["name"] == "scratch"]
        assert (own["kind"], own["default"], own["help"]) == ("number", 3, "a number that nobody needs")

    def test_in_a_record_and_its_schema(self) -> None:
        record = json.loads(json.dumps(query_record(Scratched(**ASKED, scratch=7))))
        assert record["scratch"] == 7
        assert "scratch" not in query_record(Scratched(**ASKED))
        jsonschema.validate(record, Scratched.schema())
        for wrong in ({"scratch": "seven"}, {"scrtch": 7}):
            with pytest.raises(jsonschema.ValidationError):
                jsonschema.validate(record | wrong, Scratched.schema())


@pytest.mark.parametrize("made", [Query, Count, People, Sum, Mean, Ratio, Selection, Top])
def test_every_setting_has_a_line_of_help(made: Any) -> None:
    assert made.settings()
    for name, own in made.settings().items():
        assert own.help
        assert f"- `{name}`:" in made.__doc__


def test_every_setting_of_a_query_is_an_option_or_belongs_to_one() -> None:
    parser = Parser(prog="pbdp tables")
    add_flags(parser)
    options = {action.dest for action in parser._actions}
    assert set(QueryRequest.settings()) - options == {"bins", "rest"}


@pytest.mark.parametrize(
    ("kind", "near"), [("mode", ""), ("meen", "Did you mean mean?"), (3, ""), (None, "")]
)
def test_other_kinds_of_measures_are_told_which_there_are(kind: object, near: str) -> None:
    with pytest.raises(
        InputError,
        match="kind of spend must be count or people or sum or mean or ratio or variance or "
        "standard-deviation or median or quantile or distribution or bounds",
    ) as told:
        measure_from_record({"kind": kind, "name": "spend"})
    assert str(told.value).endswith(near)
    numbers = {"count", "people", "sum", "mean", "ratio", "variance", "standard-deviation"}
    assert set(KINDS) == numbers | {"median", "quantile", "distribution", "bounds"}


class Column:
    """Like a column of data: what it holds is private."""

    def __repr__(self) -> str:
        return "zq-private-zq"

    __str__ = __repr__

    def __gt__(self, other: object) -> Column:
        return self


MISPLACED: dict[str, Any] = {
    "by": lambda column: Query(**ASKED | {"by": column}),
    "keys by column": lambda column: Query(**ASKED | {"by": {"city": column}}),
    "keys": lambda column: Query(**ASKED | {"by": ["city"], "keys": column}),
    "where": lambda column: Query(**ASKED, where=column > 0),
    "derive": lambda column: Query(**ASKED, derive={"y": column}),
    "unit": lambda column: Query(**ASKED | {"unit": column}),
    "measures": lambda column: Query(**ASKED | {"measures": column}),
    "column": lambda column: Sum(column=column, low=0, high=1),
    "low": lambda column: Sum(column="x", low=column, high=1),
    "within": lambda column: Count(within=column),
    "name": lambda column: Count(within=5, name=column),
    "top": lambda column: Query(**ASKED, top=column),
    "select": lambda column: Query(**ASKED | {"by": ["city"]}, select=column),
    "tables": lambda column: Query(**ASKED, tables=column),
    "running": lambda column: Query(**ASKED, running=column),
    "through": lambda column: Query(**ASKED, through=column),
}


@pytest.mark.parametrize("place", MISPLACED)
def test_columns_of_data_stand_in_no_message(place: str) -> None:
    with pytest.raises(InputError) as refused:
        MISPLACED[place](Column())
    assert "zq-private-zq" not in f"{refused.value} {vars(refused.value)}"
    assert "something of type Column" in str(refused.value)
