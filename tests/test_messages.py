"""Mistakes that newcomers make in Python: each ends in a sentence that helps, in the words of Python."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import pbdp
from pbdp.errors import LargeDeltaWarning, PbdpError, did_you_mean
from pbdp.ledger import Ledger
from pbdp.ledger.budget import Budget
from pbdp.tables import Count, Query

ASKED: dict[str, Any] = {
    "within": 5,
    "confidence": 0.9,
    "sensitivity": 1,
    "delta": 1e-6,
    "integer": True,
    "families": ("laplace",),
}
TABLE: dict[str, Any] = {
    "unit": "user",
    "by": {"city": ["Rome"]},
    "groups_per_person": 1,
    "rows_per_group": 1,
    "measures": [Count(within=50)],
    "delta": 1e-6,
}


def plan(**changed: Any) -> Any:
    return pbdp.plan(**{name: value for name, value in (ASKED | changed).items() if value is not ...})


def query(**changed: Any) -> Query:
    return Query(**{name: value for name, value in (TABLE | changed).items() if value is not ...})


def paid_twice() -> None:
    with Ledger.create("twice.db") as ledger:
        budget = Budget.create(ledger, "visits", epsilon=3, delta=1e-6)
        budget.release(plan(), 5)
        budget.release(plan(), 5)


MISTAKES: dict[str, tuple[Callable[[], Any], list[str]]] = {
    "three numbers for one": (lambda: plan().release([1, 2, 3]), ["one number", "disjoint=True"]),
    "a plan used up": (paid_twice, ["one release", "again=True", "Nothing was spent"]),
    "no delta": (lambda: plan(delta=None), ["delta must be given", "delta=1e-6", "rdp_order=10"]),
    "90%": (lambda: plan(confidence="90%"), ["confidence", "Write 0.9 for 90 %"]),
    "0,9": (lambda: plan(confidence="0,9"), ["confidence", "Write 0.9"]),
    "90": (lambda: plan(confidence=90), ["confidence", "Write 0.9 for 90 %"]),
    "eps": (lambda: plan(eps=1), ["no parameter eps", "Did you mean epsilon?"]),
    "sens": (lambda: plan(sens=1), ["no parameter sens", "Did you mean sensitivity?"]),
    "no sensitivity": (lambda: plan(sensitivity=...), ["plan() needs sensitivity", "one person can change"]),
    "without names": (lambda: pbdp.plan(5, 0.9), ["by name", "within=..."]),  # type: ignore[call-arg, arg-type]
    "neighbors": (lambda: plan(neighbors="add-remove"), ["Did you mean add/remove?"]),
    "bounded": (lambda: plan(neighbors="bounded"), ["Did you mean replace?"]),
    "other neighbors": (lambda: plan(neighbors="x"), ["one person is added or removed"]),
    "1,234": (lambda: plan(within="1,234"), ["within", "1234 without the comma"]),
    "an answer as text": (lambda: plan().release("1,234"), ["a number", "int(...)"]),
    "a family": (lambda: plan(families=("laplac",)), ["Did you mean laplace?"]),
    "a measure not in a list": (lambda: query(measures=Count(within=5)), ["a list", "measures=[Count(...)]"]),
    "a kind of measure": (lambda: query(measures=Count), ["a list", "measures=[Count(...)]"]),
    "a setting of a query": (lambda: query(mesures=[]), ["no parameter mesures", "mean measures?"]),
    "a setting of a measure": (lambda: Count(witin=5), ["no parameter witin", "mean within?"]),  # type: ignore[call-arg]
    "a width without its name": (lambda: Count(5), ["Count() takes its parameters by name", "within=..."]),  # type: ignore[call-arg]
    "no measure": (lambda: query(measures=[]), ["measures=[Count(within=50)]"]),
    "confidence 95 in a table": (lambda: query(confidence=95), ["Write 0.95 for 95 %"]),
    "confidence 95 in a measure": (lambda: Count(within=5, confidence=95), ["Write 0.95 for 95 %"]),
    "no unit": (lambda: query(unit=...), ["unit must be given", "one_row_per_person=True"]),
    "assigning": (lambda: setattr(plan(), "epsilon", 1), ["A plan cannot be changed", "epsilon"]),
    "assigning something new": (lambda: setattr(plan(), "mine", 1), ["A plan cannot be changed", "mine"]),
    "deleting": (lambda: delattr(plan(), "parts"), ["A plan cannot be changed"]),
    "assigning to a query": (lambda: setattr(query(), "delta", 1e-9), ["A query cannot be changed"]),
    "interval of None": (lambda: plan().interval(None), ["published number must be", "got None"]),
    "interval of text": (lambda: plan().interval("7"), ["published number must be", "got a str"]),
    "a ledger called": (lambda: Ledger("x.db"), ["Ledger.open(place)", "Ledger.create(place)"]),  # type: ignore[arg-type]
    "no such file": (lambda: pbdp.Plan.load("nowhere.json"), ["No such file"]),
}  # fmt: skip


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_ends_in_a_sentence_that_helps(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PBDP_STATE", str(tmp_path / "state"))
    mistake, words = MISTAKES[name]
    with pytest.raises(PbdpError) as refused:
        mistake()
    for word in words:
        assert word in str(refused.value), f"{word!r} in {str(refused.value)!r}"
    assert "--" not in str(refused.value)
    assert name == "a plan used up" or not list(tmp_path.iterdir())


@pytest.mark.parametrize(("name", "words"), [("plann", "Did you mean plan?"), ("Query", "pbdp.tables")])
def test_a_name_that_pbdp_does_not_have(name: str, words: str) -> None:
    with pytest.raises(AttributeError, match=words):
        getattr(pbdp, name)


def test_other_programs_know_the_errors_for_what_they_are() -> None:
    with pytest.raises(TypeError):
        plan(eps=1)
    with pytest.raises(AttributeError):
        setattr(plan(), "epsilon", 1)  # noqa: B010 - the mistake
    assert plan().epsilon > 0


def test_intervals_of_several_numbers_come_together() -> None:
    low, high = plan().interval(7)
    for several in ([7, 7], pd.Series([7, 7]), np.array([7.0, 7.0])):
        found = plan().interval(several)
        assert [list(end) for end in found] == [[low, low], [high, high]]


def test_a_large_delta_is_told_with_what_it_means_for_people() -> None:
    for delta, people in ((1e-4, "1 in 10,000"), (0.1, "1,000 in 10,000")):
        with pytest.warns(LargeDeltaWarning, match=f"everything about {people} people") as told:
            plan(delta=delta)
        assert told[0].filename == __file__
    with pytest.warns(LargeDeltaWarning, match="10 in 10,000") as told:
        query(delta=1e-3).plan()
    assert told[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        plan(delta=9e-5)


def test_a_bridge_without_its_package_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(sys.modules):
        if name.startswith("pbdp.bridges.dp_accounting"):
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "dp_accounting.pld", None)
    with pytest.raises(PbdpError, match="pip install dp-accounting") as refused:
        __import__("pbdp.bridges.dp_accounting")
    assert isinstance(refused.value, ImportError)


def test_a_picture_without_matplotlib_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    from pbdp.report.pictures.canvas import new_figure

    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(PbdpError, match=r"needs matplotlib.*pip install 'pbdp\[plot\]'"):
        new_figure(1, 1)


@pytest.mark.parametrize(
    ("word", "known", "meant"),
    [
        ("--eps", ["--epsilon", "--delta", "--explain"], "--epsilon"),
        ("plann", ["plan", "noise"], "plan"),
        ("Visits", ["visits", "spend"], "visits"),
        ("seed", ["--insecure-test-seed"], "--insecure-test-seed"),
        ("rows_per_groups", ["rows_per_group", "groups_per_person"], "rows_per_group"),
        ("xyzzy", ["plan", "noise"], None),
        ("", ["plan"], None),
        ("--", ["--plan"], None),
    ],
)
def test_the_name_that_is_meant(word: str, known: list[str], meant: str | None) -> None:
    assert did_you_mean(word, known) == ("" if meant is None else f"Did you mean {meant}?")
