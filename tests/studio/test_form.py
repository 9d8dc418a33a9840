"""What is typed becomes the parameters of `pbdp.plan`, and every mistake is told beside its field."""

from __future__ import annotations

from typing import Any

import pytest

import pbdp
from pbdp.studio.explore import plan_view
from pbdp.studio.form import MOST_RELEASES, MOST_STEPS, FormError, mistakes_of, read_form
from tests.studio.running import COUNT


@pytest.mark.parametrize(
    ("changes", "parameters"),
    [
        ({}, {"within": 5.0, "confidence": 0.9}),
        ({"confidence": "90%"}, {"within": 5.0, "confidence": 0.9}),
        ({"confidence": 0.9, "within": 5}, {"within": 5.0, "confidence": 0.9}),
        ({"epsilon": "1"}, {"within": 5.0, "confidence": 0.9}),  # what is to be found is not given
        ({"solve": "confidence", "epsilon": "1"}, {"within": 5.0, "epsilon": 1.0}),
        ({"solve": "within", "epsilon": "1"}, {"confidence": 0.9, "epsilon": 1.0}),
        ({"kind": "relative", "percent": "5", "plus": "10"}, {"within": "5%+10", "confidence": 0.9}),
        (
            {"kind": "relative", "percent": "5", "plus": "10", "nonnegative": True},
            {"within": "5%+10", "confidence": 0.9, "nonnegative": True},
        ),
        (
            {"kind": "relative", "percent": "5", "plus": "10", "solve": "within", "epsilon": "1"},
            {"within": "5%+?", "confidence": 0.9, "epsilon": 1.0},
        ),
        (
            {"kind": "relative", "percent": "", "plus": "10", "solve": "within", "epsilon": "1"},
            {"within": "?%+10", "confidence": 0.9, "epsilon": 1.0},
        ),
        (
            {"kind": "range", "low": "0", "high": "100"},
            {"within": 5.0, "range": (0.0, 100.0), "confidence": 0.9},
        ),
        (
            {"kind": "range", "low": "0", "high": "100", "within": "", "scale": "3"},
            {"range": (0.0, 100.0), "scale": 3.0, "confidence": 0.9},
        ),
        ({"releases": "10", "simultaneous": True}, {"releases": 10, "simultaneous": True, "within": 5.0}),
        ({"neighbors": "replace"}, {"neighbors": "replace", "within": 5.0}),
        ({"nonnegative": True}, {"within": 5.0}),  # it belongs to relative widths
    ],
)
def test_a_form_is_the_parameters_of_a_plan(changes: dict[str, Any], parameters: dict[str, Any]) -> None:
    found = read_form(COUNT | changes).parameters
    rest = {"sensitivity": 1.0, "delta": 1e-6, "integer": True}
    assert parameters.items() <= found.items()
    assert found.keys() <= {*parameters, *rest, "confidence"}


@pytest.mark.parametrize(
    ("changes", "field", "words"),
    [
        ({"confidence": "0,9"}, "confidence", "Write 0.9 with a point."),
        ({"confidence": "90"}, "confidence", "Write 0.9 for 90 %."),
        ({"confidence": "9x%"}, "confidence", "0.9 or 90%"),
        ({"within": "1,234"}, "within", "Write 1234 without the comma"),
        ({"within": "-5"}, "within", "above 0"),
        ({"within": ""}, "within", "given; got nothing"),
        ({"within": [5]}, "within", "a number; got list"),
        ({"within": True}, "within", "a number"),
        ({"within": "9" * 200}, "within", "at most 100 characters"),
        ({"delta": "0"}, "delta", "above 0"),
        ({"delta": "2"}, "delta", "at least 0 and below 1"),
        ({"sensitivity": None}, "sensitivity", "given"),
        ({"sensitivity": "0"}, "sensitivity", "above 0"),
        ({"releases": "1.5"}, "releases", "a whole number"),
        ({"solve": "confidence", "epsilon": "-1"}, "epsilon", "at least 1e-15"),
        ({"solve": "confidence"}, "epsilon", "given"),
        ({"solve": "delta"}, "solve", "epsilon or confidence or within"),
        ({"kind": "relative", "percent": "500", "plus": "10"}, "percent", "above 0 and below 100"),
        ({"kind": "relative", "percent": "1e-9", "plus": "1"}, "percent", "a percentage of at least 1e-06"),
        ({"kind": "relative", "percent": "5", "plus": "0"}, "plus", "a percentage plus a number above 0"),
        ({"kind": "range", "low": "4", "high": "2"}, "low", "low end first"),
        ({"kind": "range", "low": "4"}, "high", "given"),
        ({"integer": False, "step": "0.3"}, "step", "a power of two"),
        ({"integer": "yes"}, "integer", "true or false"),
        ({"neighbors": "none"}, "neighbors", "add/remove or replace"),
        ({"color": "red"}, None, "among solve"),
        ({"answer": "40.5"}, "answer", "a whole number, as answers are"),
        (
            {"kind": "range", "low": "0", "high": "100", "answer": "101"},
            "answer",
            "0 to 100; got one outside",
        ),
        # bounded work
        ({"within": str(MOST_STEPS + 1)}, "within", f"at most {MOST_STEPS:,} steps"),
        ({"within": "1e6"}, "within", "got 1,000,000 steps. The studio answers while you wait"),
        ({"sensitivity": "1e300"}, "sensitivity", "steps"),
        ({"kind": "relative", "percent": "5", "plus": "1e9"}, "plus", "steps"),
        ({"kind": "range", "low": "0", "high": "1e12"}, "high", "steps"),
        ({"integer": False, "step": "0.0000001"}, "sensitivity", "steps"),
        ({"integer": False, "within": "1e-7"}, "sensitivity", "steps"),
        ({"releases": str(MOST_RELEASES + 1)}, "releases", f"at most {MOST_RELEASES:,}"),
    ],
)
def test_mistakes_stand_beside_their_fields(changes: dict[str, Any], field: str | None, words: str) -> None:
    form = COUNT | changes
    with pytest.raises(pbdp.PbdpError) as refused:
        plan_view(form)
    (told,) = mistakes_of(refused.value, form)
    assert told["field"] == field
    assert words in str(told["message"])


def test_all_mistakes_are_told_at_once() -> None:
    form = COUNT | {"confidence": "0,9", "delta": "x", "within": ""}
    with pytest.raises(FormError) as refused:
        read_form(form)
    assert {told["field"] for told in mistakes_of(refused.value, form)} == {"confidence", "delta", "within"}


def test_an_answer_that_cannot_be_read_is_not_repeated() -> None:
    with pytest.raises(FormError) as refused:
        read_form(COUNT | {"answer": "47,11 euros"})
    assert "47" not in str(refused.value)


def test_what_nothing_can_be_certified_for_belongs_to_no_field() -> None:
    form = COUNT | {"solve": "within", "kind": "relative", "percent": "", "plus": "10", "epsilon": "0.01"}
    with pytest.raises(pbdp.PbdpError) as refused:
        plan_view(form)
    assert [told["field"] for told in mistakes_of(refused.value, form)] == [None]
