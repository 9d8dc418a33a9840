"""Settings: one line declares one for Python, options, TOML, JSON, its schema, and forms."""

from __future__ import annotations

import copy
import json
import pydoc
import tomllib
from inspect import signature
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest

from pbdp import choose
from pbdp.cli.parser import Parser
from pbdp.cli.requests import add_options, request_of
from pbdp.errors import InputError, ParameterError
from pbdp.kinds import ANYTHING, CONFIDENCE, FLAG, NAMES, POSITIVE, TEXT, WHOLE, one_of, pair
from pbdp.planning.ask import plan_of
from pbdp.planning.request import PlanRequest
from pbdp.settings import NotGivenError, Request, request, setting
from pbdp.signatures import takes

ASKED: dict[str, Any] = {"within": 5, "confidence": 0.9, "sensitivity": 1, "delta": 1e-6}


@request("plan")
class Scratched(PlanRequest):
    """A plan with one setting more, in one line."""

    scratch: int = setting(WHOLE, "a number that nobody needs", default=3)


class TestOneLineMore:
    """Everywhere that a plan is asked for."""

    def test_in_python(self) -> None:
        plan = takes(Scratched)(plan_of)
        shown = signature(plan).parameters["scratch"]
        assert (shown.annotation, shown.default) == ("int", 3)
        assert "`scratch`: a number that nobody needs" in pydoc.plain(pydoc.render_doc(plan))
        assert plan(**ASKED, scratch=5).epsilon > 0
        with pytest.raises(InputError, match=r"scratch must be a whole number of at least 1; got 0\.5"):
            plan(**ASKED, scratch=0.5)  # type: ignore[arg-type]

    def test_on_the_command_line(self) -> None:
        parser = Parser(prog="pbdp plan")
        add_options(Scratched, parser)
        words = ["--within", "5", "--confidence", "90%", "--sensitivity", "1", "--scratch", "7"]
        options = parser.parse_args(words)
        assert options.scratch == "7"
        asked = request_of(Scratched, options)
        assert (asked.scratch, asked.confidence) == (7, 0.9)
        assert "a number that nobody needs" in parser.format_help()

    def test_in_a_file(self) -> None:
        text = "within = 5\nconfidence = 0.9\nsensitivity = 1\nscratch = 7\n"
        assert Scratched.read(tomllib.loads(text)).scratch == 7

    def test_on_the_page(self, monkeypatch: pytest.MonkeyPatch) -> None:
        from pbdp.studio import form

        assert form.more_fields() == []
        monkeypatch.setattr(form, "PlanRequest", Scratched)
        (own,) = form.more_fields()
        assert (own["name"], own["kind"], own["default"]) == ("scratch", "number", 3)
        typed = {name: str(value) for name, value in ASKED.items()}
        assert form.read_form({**typed, "scratch": "7"}).parameters["scratch"] == 7
        assert "scratch" not in form.read_form({**typed, "scratch": "3"}).parameters
        with pytest.raises(form.FormError, match="scratch must be a number"):
            form.read_form({**typed, "scratch": "1,5"})

    def test_in_a_record_and_its_schema(self) -> None:
        asked = Scratched(**ASKED, scratch=7)
        record = json.loads(json.dumps(asked.record()))
        assert record == {"within": 5.0, "confidence": 0.9, "sensitivity": 1.0, "delta": 1e-6, "scratch": 7}
        assert Scratched.read(record) == asked
        jsonschema.validate(record, Scratched.schema())
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(record | {"scratch": "seven"}, Scratched.schema())
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(record | {"scrtch": 7}, Scratched.schema())


@request("ask")
class Sample(Request):
    """One setting of each kind."""

    answer: object = setting(ANYTHING, "the true answer", private=True, kw_only=False, default=None)
    sensitivity: float = setting(POSITIVE, "the most that one person can change the answer", metavar="D")
    confidence: float = setting(CONFIDENCE, "how often it must hold", default=0.95, group="accuracy")
    integer: bool = setting(FLAG, "answers are whole numbers", default=False)
    rounded: bool = setting(FLAG, "answers are rounded", default=True)
    norm: str | None = setting(one_of(("linf", "l2")), "how errors are measured", default=None)
    expect: tuple[float, float] | None = setting(pair(), "where answers are expected", default=None)
    families: tuple[str, ...] = setting(NAMES, "kinds of noise", default=("laplace",))
    note: str = setting(TEXT, "a public remark", default="")
    secret: float | None = setting(POSITIVE, "a private number", default=None, private=True)

    def agree(self) -> None:
        """A remark needs whole numbers, for the tests."""
        if self.note and not self.integer:
            raise InputError("note", "left out without integer", "one")


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "one for true": ({"integer": 1}, "integer must be True or False; got 1"),
    "a list for true": ({"integer": []}, "integer must be True or False; got something of type list"),
    "a text for a number": ({"sensitivity": "1"}, "sensitivity must be a finite number above 0; got '1'"),
    "true for a number": ({"sensitivity": True}, "sensitivity must be a finite number above 0; got True"),
    "an array": (
        {"sensitivity": np.array([777.0])},
        "sensitivity must be a finite number above 0; got something of type ndarray",
    ),
    "per cent": ({"confidence": 90}, "Write 0.9 for 90 %"),
    "none of the choices": ({"norm": "l3"}, "norm must be linf or l2; got 'l3'"),
    "a number for a text": ({"note": 10**40}, "note must be a text; got 1000"),
    "three for two": (
        {"expect": (1, 2, 3)},
        "expect must be two numbers, the lower first; got something of type tuple",
    ),
    "a text among two": ({"expect": (1, "x")}, "expect must be a finite number; got 'x'"),
    "names of numbers": ({"families": [5]}, "families must be a list of names; got one with 5"),
    "no names": ({"families": []}, "families must be a list of names; got something of type list"),
    "nothing": ({"confidence": None}, "confidence must be strictly between 0 and 1; got None"),
    "rules between": ({"note": "x"}, "note must be left out without integer"),
    "a huge number": ({"sensitivity": 10**400}, "got a number beyond all floats"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_is_said_and_shown_only_where_it_is_a_number_or_a_text(case: str) -> None:
    given, said = WRONG[case]
    with pytest.raises(InputError) as refused:
        Sample(**({"sensitivity": 1} | given))
    assert said in str(refused.value)


def test_numbers_and_truths_of_numpy_are_what_they_are() -> None:
    asked = Sample(sensitivity=np.float32(2), integer=np.True_, expect=np.array([1, 2]).tolist())  # type: ignore[arg-type]
    assert (asked.sensitivity, asked.integer, asked.expect) == (2.0, True, (1.0, 2.0))
    assert (type(asked.sensitivity), type(asked.integer)) == (float, bool)


@pytest.mark.parametrize("budget", [5, "visits", [], np.array([777.0])])
def test_what_is_no_budget_is_refused_as_one(budget: Any) -> None:
    with pytest.raises(InputError, match="budget must be one, such as") as refused:
        choose({"a": 1}, within=1, confidence=0.9, sensitivity=1, budget=budget)
    assert "777" not in str(refused.value)


def test_a_private_setting_never_stands_in_a_message() -> None:
    with pytest.raises(InputError) as refused:
        Sample(sensitivity=1, secret=-777.0)
    assert "777" not in f"{refused.value} {refused.value.value}"
    assert "answer" not in Sample.schema()["properties"]
    assert Sample(5, sensitivity=1, secret=3).record() == {"sensitivity": 1.0}
    with pytest.raises(InputError) as unread:
        Sample.typed({"sensitivity": "777,5"}, private=True)
    assert "777" not in str(unread.value)


def test_names_are_checked_and_missing_ones_told_with_their_help() -> None:
    with pytest.raises(ParameterError, match=r"ask\(\) has no parameter sens\. Did you mean sensitivity\?"):
        Sample(sens=1)  # type: ignore[call-arg]
    with pytest.raises(NotGivenError, match="needs sensitivity, the most that one person can change"):
        Sample()  # type: ignore[call-arg]
    with pytest.raises(ParameterError, match="takes its parameters by name"):
        Sample(1, 2, sensitivity=1)  # type: ignore[misc]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"sensitivit": 1}, "names in visits must be among .* Did you mean sensitivity"),
        ({"answer": 1, "sensitivity": 1}, "names in visits must be among"),
        ({}, "sensitivity of visits must be given"),
        ({"sensitivity": "1"}, "sensitivity of visits must be a finite number"),
        ([1], "visits must be names with their settings; got something of type list"),
    ],
)
def test_files_are_read_strictly(given: Any, said: str) -> None:
    with pytest.raises(InputError, match=said):
        Sample.read(given, "visits")


def test_a_record_holds_what_differs_and_is_read_again() -> None:
    asked = Sample(sensitivity=2, integer=True, rounded=False, expect=(1, 2), families="huber", norm="l2")  # type: ignore[arg-type]
    record = json.loads(json.dumps(asked.record()))
    assert record.keys() == {"sensitivity", "integer", "rounded", "expect", "families", "norm"}
    assert Sample.read(record) == asked
    jsonschema.validate(record, Sample.schema())
    assert copy.deepcopy(asked) == asked


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (
            ["--sensitivity", "1e1", "--integer", "--no-rounded"],
            {"sensitivity": 10.0, "integer": True, "rounded": False},
        ),
        (["--sensitivity", "1/4", "--confidence", "99.9%"], {"sensitivity": 0.25, "confidence": 0.999}),
        (["--sensitivity", "1", "--expect", "-5..1e3"], {"expect": (-5.0, 1000.0)}),
        (
            ["--sensitivity", "1", "--families", "laplace, boosted gaussian"],
            {"families": ("laplace", "boosted gaussian")},
        ),
    ],
)
def test_options_are_read_by_their_settings(words: list[str], found: dict[str, Any]) -> None:
    parser = Parser(prog="pbdp ask")
    add_options(Sample, parser)
    asked = request_of(Sample, parser.parse_args(words))
    assert {name: getattr(asked, name) for name in found} == found


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--sensitivity", "1,5"], "sensitivity must be a number; got '1,5'. Write 1.5 with a point."),
        (["--sensitivity", "1e99999"], "sensitivity must be a finite number above 0; got inf"),
        (["--sensitivity", "1/0"], "sensitivity must be a number"),
        (["--sensitivity", "1", "--confidence", "x%"], "confidence must be 0.9 or 90%, say; got 'x%'"),
        (["--sensitivity", "1", "--expect", "5"], "expect must be two numbers such as 0..100; got '5'"),
        ([], "ask() needs sensitivity"),
    ],
)
def test_options_that_cannot_be_read_are_refused(words: list[str], said: str) -> None:
    parser = Parser(prog="pbdp ask")
    add_options(Sample, parser)
    with pytest.raises((InputError, NotGivenError)) as refused:
        request_of(Sample, parser.parse_args(words))
    assert said in str(refused.value)


def test_a_file_of_settings_twice_or_too_deep_is_refused(tmp_path: Path) -> None:
    from pbdp.cli.files import settings_in

    for text in ('{"within": 5, "within": 6}', "[" * 200 + "]" * 200, "5"):
        (tmp_path / "asked.json").write_text(text, encoding="utf-8")
        with pytest.raises(InputError, match="file must be settings by name"):
            settings_in(tmp_path / "asked.json")
    (tmp_path / "asked.toml").write_text("within = 5\nwithin = 6\n", encoding="utf-8")
    with pytest.raises(InputError, match="valid TOML"):
        settings_in(tmp_path / "asked.toml")
