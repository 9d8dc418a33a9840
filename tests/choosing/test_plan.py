"""Plans for choosing: any two of width, confidence and epsilon; files; words; refusals."""

from __future__ import annotations

import json
from pathlib import Path
from time import process_time
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import pbdp
from pbdp.choosing.plan import ChoicePlan, plan_choice
from pbdp.digits import rounded_down, rounded_up
from pbdp.errors import CannotCertifyError, ContradictionError, InputError, PlanFileError

USUAL: dict[str, Any] = {"options": 1000, "sensitivity": 1, "integer": True}


def test_a_thousand_options() -> None:
    plan = plan_choice(**USUAL, within=50, confidence=0.95)
    assert plan.epsilon <= 0.367
    assert plan.confidence >= 0.95
    assert plan.limit is not None
    assert plan.limit < plan.epsilon < 1.03 * plan.limit
    assert all(rival.epsilon > plan.epsilon for rival in plan.alternatives)
    assert plan_choice(**USUAL, within=50, confidence=0.95, rising=True).epsilon <= 0.184
    real = plan_choice(options=1000, sensitivity=1, within=50, confidence=0.95)
    assert real.epsilon == pytest.approx(0.3671, abs=1e-4)


def test_any_two_give_the_third() -> None:
    plan = plan_choice(**USUAL, within=50, confidence=0.95)
    confident = plan_choice(**USUAL, within=50, epsilon=plan.epsilon)
    assert confident.epsilon <= plan.epsilon
    assert confident.confidence == pytest.approx(0.95, abs=1e-6)
    narrow = plan_choice(**USUAL, confidence=0.95, epsilon=plan.epsilon)
    assert narrow.epsilon <= plan.epsilon
    assert narrow.within == 50
    assert plan_choice(**USUAL, confidence=0.95, epsilon=plan.epsilon * 0.999).within == 51
    real = plan_choice(options=1000, sensitivity=0.3, confidence=0.95, epsilon=0.2)
    assert 0.1998 <= real.epsilon <= 0.2
    few = plan_choice(**USUAL, within=50, epsilon=1e-5)
    assert few.epsilon <= 1e-5
    assert few.confidence >= 0.0009


def test_several_picks_are_composed() -> None:
    three = plan_choice(**USUAL, within=50, confidence=0.95, top=3)
    assert three.epsilon == pytest.approx(3 * three.epsilon_each)
    many = plan_choice(**USUAL, within=500, confidence=0.95, top=100, delta=1e-6)
    assert many.epsilon < 0.7 * 100 * many.epsilon_each
    again = plan_choice(**USUAL, within=500, epsilon=many.epsilon, top=100, delta=1e-6)
    assert again.epsilon <= many.epsilon
    assert again.confidence == pytest.approx(0.95, abs=1e-3)
    assert many.limit is None
    assert many.alternatives == ()
    # the last option that is left is no choice
    four: dict[str, Any] = USUAL | {"options": 4, "within": 5, "confidence": 0.9}
    every = plan_choice(**four, top=4)
    assert every.epsilon == plan_choice(**four, top=3).epsilon
    assert every.choose({"a": 100, "b": 300, "c": 200, "d": 0}) == ["b", "c", "a", "d"]


def test_one_option_is_free() -> None:
    plan = plan_choice(options=1, within=5, confidence=0.9, sensitivity=1)
    assert plan.epsilon == 0
    assert plan.confidence == pytest.approx(1)
    assert plan.choose({"only": 3}) == "only"


def test_files_come_back_and_are_not_believed(tmp_path: Path) -> None:
    file = tmp_path / "choice.json"
    for plan in (
        plan_choice(**USUAL, within=50, confidence=0.95),
        plan_choice(options=7, sensitivity=0.1, within=2, confidence=0.8, top=3, delta=1e-6),
    ):
        plan.save(file)
        loaded = ChoicePlan.load(file)
        assert loaded.record() == plan.record()
    record = json.loads(file.read_text())
    tampered: list[dict[str, Any]] = [
        {"epsilon": record["epsilon"] * 0.99},
        {"confidence": 0.99},
        {"sensitivity": 0.05},
        {"rising": True},
        {"coins": record["coins"] | {"fall": record["coins"]["fall"] / 2}},
        {"coins": record["coins"] | {"step": 1.0}},
        {"coins": {}},
        {"coins": record["coins"] | {"last": 10**12}},
        {"options": 8},
        {"options": "many"},
        {"version": 2},
        {"format": "pbdp-plan"},
    ]
    for change in tampered:
        file.write_text(json.dumps(record | change))
        with pytest.raises(InputError):
            ChoicePlan.load(file)
    file.write_text("[]")
    with pytest.raises(PlanFileError, match="pbdp choose"):
        ChoicePlan.load(file)


def test_words() -> None:
    plan = plan_choice(**USUAL, within=50, confidence=0.95)
    assert plan.describe() == (
        "the option of 1,000 within 50 of the best, with confidence 95 %; epsilon 0.3599"
    )
    assert repr(plan).startswith("<ChoicePlan: the option of 1,000")
    assert "guesses right at most" in plan.risk_words()


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"confidence": None}, "within, confidence and epsilon must be two; got within"),
        ({"epsilon": 1}, "must be two; got within, confidence, epsilon"),
        ({"confidence": 95}, "0.95 for 95 %"),
        ({"within": -1}, "within must be"),
        ({"options": 0}, "options must be a whole number"),
        ({"options": 10**9}, "options must be at most"),
        ({"top": 1001}, "top must be at most 1000"),
        ({"sensitivity": 0}, "sensitivity must be"),
        ({"rising": True, "neighbors": "replace"}, "rising must be used with add/remove"),
        ({"neighbors": "twins"}, "neighbors must be"),
        ({"delta": 1}, "delta must be"),
    ],
)
def test_bad_requests_say_what_to_do(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        plan_choice(**(USUAL | {"within": 50, "confidence": 0.95} | changes))


def test_coins_that_cannot_be_drawn_are_refused() -> None:
    with pytest.raises(CannotCertifyError, match="lower confidence"):
        plan_choice(options=10**8, within=50, confidence=1 - 1e-12, sensitivity=1, integer=True)


def test_at_once_in_python() -> None:
    scores = {"north": 1200, "south": 9000, "west": 700}
    assert pbdp.choose(scores, within=500, confidence=0.999999, sensitivity=1, integer=True) == "south"
    ranking = pbdp.choose(scores, within=100, confidence=0.999999, sensitivity=1, integer=True, top=3)
    assert ranking == ["south", "north", "west"]
    with pytest.raises(ContradictionError):
        pbdp.choose(scores, sensitivity=1)
    with pytest.raises(InputError, match="of the 1,000 options"):
        plan_choice(**USUAL, within=50, confidence=0.95).choose(scores)


@pytest.mark.parametrize("made", [pd.DataFrame, pl.DataFrame, pa.table])
def test_frames_have_their_options_in_a_column(made: Any) -> None:
    frame = made({"region": ["north", "south", "west"], "visits": [1200, 9000, 700]})
    asked: dict[str, Any] = {"within": 500, "confidence": 0.999999, "sensitivity": 1, "integer": True}
    assert pbdp.choose(frame, column="visits", names="region", **asked) == "south"
    assert pbdp.choose(frame, column="visits", **asked) == 1
    plan = plan_choice(options=3, **asked)
    assert plan.choose(frame, column="visits", names="region") == "south"
    refused: list[tuple[dict[str, Any], str]] = [
        ({}, "column must be given for a frame"),
        ({"column": "visit"}, "Did you mean visits"),
        ({"column": "visits", "names": "visits"}, "another column"),
        ({"column": "region"}, "numbers"),
    ]
    for given, words in refused:
        with pytest.raises(InputError, match=words):
            pbdp.choose(frame, **given, **asked)
    twice = made({"region": ["north", "north"], "visits": [1200, 9000]})
    with pytest.raises(InputError, match="every option stands once"):
        pbdp.choose(twice, column="visits", names="region", **asked)
    with pytest.raises(ContradictionError, match="used with a frame"):
        pbdp.choose([1, 2], column="visits", **asked)


def test_a_plan_shows_itself(tmp_path: Path) -> None:
    plan = plan_choice(**USUAL, within=50, confidence=0.95)
    card = plan._repr_html_()
    assert "<svg" in card
    assert "proven limit" in card
    assert "An attacker who starts at 50 : 50" in card
    plan.plot(tmp_path / "choice.png")
    assert (tmp_path / "choice.png").stat().st_size > 1000


def test_the_figures_of_the_page_are_those_of_the_code() -> None:
    page = (Path(__file__).resolve().parents[2] / "docs" / "choosing.md").read_text(encoding="utf-8")
    rows = {}
    for line in page.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) == 3 and cells[0]:
            rows[cells[0]] = cells[1:]
    for column, rising in enumerate((False, True)):
        plan = plan_choice(**USUAL, within=50, confidence=0.95, rising=rising)
        assert plan.limit is not None
        assert rows["permute and flip"][column] == rounded_up(plan.epsilon)
        assert rows["no mechanism can do with less"][column] == rounded_down(plan.limit)
        for rival in plan.alternatives:
            assert rows[rival.name][column] == rounded_up(rival.epsilon)


@pytest.mark.parametrize(
    "asked",
    [
        {"within": 1e-6, "sensitivity": 1},
        {"within": 5, "sensitivity": 1e9, "integer": True},
        {"within": 10**6, "sensitivity": 1, "integer": True, "rising": True},
    ],
)
def test_widths_far_from_the_sensitivity_are_planned_at_once(asked: dict[str, Any]) -> None:
    started = process_time()
    plan = plan_choice(options=1000, confidence=0.95, **asked)
    assert plan.confidence >= 0.95
    assert plan.limit is not None
    assert plan.limit <= plan.epsilon
    assert process_time() - started < 2
