"""Plans for choosing: any two of width, confidence and epsilon; files; words; refusals.

What no mechanism can go below, against a linear program over all mechanisms on small scores.
"""

from __future__ import annotations

import json
import math
from itertools import product
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy.optimize import linprog

import pbdp
from pbdp.choosing.limit import _growing, _pairs, limit_of_one, limit_of_several
from pbdp.choosing.plan import ChoicePlan
from pbdp.choosing.request import Asked
from pbdp.choosing.search import plan_choice, plan_picks, plans_for
from pbdp.digits import rounded_down, rounded_up
from pbdp.errors import CannotCertifyError, ContradictionError, InputError, PbdpError, PlanFileError
from tests.choosing.coins import coins_right

USUAL: dict[str, Any] = {"options": 1000, "sensitivity": 1, "integer": True}


def test_a_thousand_options() -> None:
    plan = plan_choice(**USUAL, within=50, confidence=0.95)
    assert plan.epsilon <= 0.367
    assert plan.confidence >= 0.95
    assert plan.limit is not None
    assert plan.limit < plan.epsilon < 1.03 * plan.limit
    assert plan.alternatives == ()
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
    assert three.epsilon_each is not None
    assert three.epsilon == pytest.approx(3 * three.epsilon_each)
    asked = Asked(**USUAL, top=100, delta=1e-6)
    picks = plan_picks(asked, 500, 0.95)
    assert picks.epsilon_each is not None
    assert picks.epsilon < 0.7 * 100 * picks.epsilon_each
    assert picks.limit is None
    # the last option that is left is no choice
    four: dict[str, Any] = USUAL | {"options": 4, "within": 5, "confidence": 0.9}
    every = plan_choice(**four, top=4)
    assert every.epsilon == plan_choice(**four, top=3).epsilon
    assert every.choose({"a": 100, "b": 300, "c": 200, "d": 0}) == ["b", "c", "a", "d"]


# What each law is the best for, and what picks by permute and flip cost.
ORDERING: dict[str, Any] = {"options": 20, "top": 20, "within": 50, "confidence": 0.9}
SEVERAL: list[tuple[dict[str, Any], str, float, float]] = [
    (ORDERING, "uniform noise of a random width", 0.9648, 4.632),
    (ORDERING | {"delta": 1e-6}, "uniform noise of a random width", 0.9648, 4.571),
    (ORDERING | {"rising": True}, "uniform noise of a random width", 0.4824, 2.316),
    ({"options": 1000, "top": 10, "within": 50, "confidence": 0.95}, "permute and flip", 4.2153, 4.2153),
    (
        {"options": 1000, "top": 10, "within": 50, "confidence": 0.95, "delta": 1e-6},
        "exponential mechanism, pick by pick",
        3.0472,
        4.2153,
    ),
    (
        {"options": 1000, "top": 1000, "within": 500, "confidence": 0.9, "delta": 1e-6},
        "exponential mechanism, pick by pick",
        3.4548,
        7.172,
    ),
    (
        {"options": 300, "top": 300, "within": 200, "confidence": 0.9, "delta": 1e-6},
        "uniform noise of a random width",
        3.2009,
        8.7373,
    ),
]


@pytest.mark.parametrize(("asked", "law", "epsilon", "before"), SEVERAL)
def test_several_are_chosen_by_the_law_that_loses_least(
    asked: dict[str, Any], law: str, epsilon: float, before: float, tmp_path: Path
) -> None:
    plan = plan_choice(**asked, sensitivity=1, integer=True)
    assert plan.law == law
    assert plan.confidence >= asked["confidence"]
    assert plan.epsilon == pytest.approx(epsilon, rel=1e-3)
    assert plan.epsilon <= epsilon
    costs = {plan.law: plan.epsilon} | {rival.name: rival.epsilon for rival in plan.alternatives}
    assert costs["permute and flip"] == pytest.approx(before, rel=1e-3)
    assert plan.epsilon == min(costs.values())
    assert len(costs) == (3 if plan.delta else 2)
    plan.save(tmp_path / "plan.json")
    again = ChoicePlan.load(tmp_path / "plan.json")
    assert again.record() == plan.record()
    scores = [1000 * place for place in range(plan.asked.options)]
    assert again.choose(scores) == list(range(plan.asked.options))[::-1][: plan.asked.top]


@pytest.mark.parametrize("asked", [SEVERAL[0][0], SEVERAL[4][0]])
def test_any_two_give_the_third_for_several(asked: dict[str, Any]) -> None:
    plan = plan_choice(**asked, sensitivity=1, integer=True)
    rest = {name: value for name, value in asked.items() if name not in ("within", "confidence")}
    given: dict[str, Any] = rest | {"sensitivity": 1, "integer": True, "epsilon": plan.epsilon * (1 + 1e-6)}
    confident = plan_choice(**given, within=50)
    assert (confident.law, confident.within) == (plan.law, 50)
    assert confident.epsilon <= plan.epsilon * (1 + 1e-6)
    assert confident.confidence == pytest.approx(plan.confidence, abs=1e-3)
    narrow = plan_choice(**given, confidence=asked["confidence"])
    assert (narrow.law, narrow.within) == (plan.law, 50)


def test_real_scores_and_very_wide_widths_are_ordered_too() -> None:
    for within in (0.02, 300.0, 1e6):
        for integer in (False, True):
            if integer and within < 1:
                continue
            plan = plan_choice(
                options=9, top=9, within=within, confidence=0.9, sensitivity=within / 40, integer=integer
            )
            assert plan.law == "uniform noise of a random width"
            scores = [within * 50 * place for place in range(9)]
            assert plan.choose(scores) == list(range(9))[::-1]


def test_one_option_is_free() -> None:
    plan = plan_choice(options=1, within=5, confidence=0.9, sensitivity=1)
    assert plan.epsilon == 0
    assert plan.confidence == pytest.approx(1)
    assert plan.choose({"only": 3}) == "only"


def test_files_come_back_and_are_not_believed(tmp_path: Path) -> None:
    file = tmp_path / "choice.json"
    for plan in (
        plan_choice(**USUAL, within=50, confidence=0.95),
        plan_picks(Asked(**USUAL, top=9), 50, 0.95),
        plan_picks(Asked(options=7, sensitivity=0.1, top=3, delta=1e-6), 2, 0.8),
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
        {"law": record["law"] | {"fall": record["law"]["fall"] / 2}},
        {"law": record["law"] | {"step": 1.0}},
        {"law": {}},
        {"law": record["law"] | {"last": 10**12}},
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


def test_files_of_other_laws_are_not_believed(tmp_path: Path) -> None:
    file = tmp_path / "choice.json"
    plan_choice(**SEVERAL[0][0], sensitivity=1, integer=True).save(file)
    record = json.loads(file.read_text())
    tampered: tuple[dict[str, Any], ...] = (
        {"epsilon": record["epsilon"] * 0.99},
        {"confidence": 0.99},
        {"top": 3},
        {"law": record["law"] | {"fall": record["law"]["fall"] / 2}},
        {"law": record["law"] | {"last": 60}},
        {"law": record["law"] | {"step": 0.5}},
        {"law": record["law"] | {"kind": "permute and flip"}},
        {"law": record["law"] | {"kind": "of tomorrow"}},
        {"law": {}},
    )
    for change in tampered:
        file.write_text(json.dumps(record | change))
        with pytest.raises(PbdpError):
            ChoicePlan.load(file)


def test_words() -> None:
    plan = plan_choice(**USUAL, within=50, confidence=0.95)
    assert plan.describe() == (
        "one of 1,000 options, within 50 of the best, with confidence 95 %; epsilon 0.3599"
    )
    assert repr(plan).startswith("<ChoicePlan: one of 1,000 options")
    assert "guesses right at most" in plan.risk_words()


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"confidence": None}, "within, confidence and epsilon must be given two at a time; got within"),
        ({"epsilon": 1}, "must be given two at a time; got within, confidence, epsilon"),
        ({"confidence": 95}, "0.95 for 95 %"),
        ({"within": -1}, "within must be"),
        ({"options": 0}, "options must be a whole number"),
        ({"options": 10**9}, "options must be at most"),
        ({"top": 1001}, "top must be at most 1000"),
        ({"sensitivity": 0}, "sensitivity must be"),
        ({"sensitivity": 1e30}, r"sensitivity must be 1e-15 to 1e\+15; got 1e\+30"),
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


def best_confidence(epsilon: float, options: int, gap: int, moved: int, furthest: int) -> float:
    """The largest confidence of any mechanism whose scores are 0 to `furthest`; every score by itself."""
    states = list(product(range(furthest + 1), repeat=options))
    place = {state: index for index, state in enumerate(states)}
    size = len(states) * options + 1
    rows, limit = [], []
    for state in states:
        row = np.zeros(size)
        row[-1] = 1
        for option in range(options):
            if max(state) - state[option] < gap:
                row[place[state] * options + option] = -1
        rows.append(row)
        limit.append(0.0)
        for move in product((0, 1) if moved == 1 else (-1, 0, 1), repeat=options):
            other = tuple(score + step for score, step in zip(state, move, strict=True))
            if other == state or other not in place:
                continue
            for option in range(options):
                for one, two in ((state, other), (other, state)):
                    row = np.zeros(size)
                    row[place[one] * options + option] = 1
                    row[place[two] * options + option] = -math.exp(epsilon)
                    rows.append(row)
                    limit.append(0.0)
    sums = np.zeros((len(states), size))
    for index in range(len(states)):
        sums[index, index * options : (index + 1) * options] = 1
    target = np.zeros(size)
    target[-1] = -1
    found = linprog(target, np.array(rows), limit, sums, np.ones(len(states)), method="highs")
    return -float(found.fun or 0.0)


@pytest.mark.parametrize(
    ("options", "gap", "moved", "furthest"),
    [(2, 2, 2, 4), (2, 3, 2, 4), (2, 4, 1, 4), (3, 2, 2, 3), (3, 2, 1, 3), (3, 1, 2, 2)],
)
def test_no_mechanism_beats_the_limit_and_ours_lies_between(
    options: int, gap: int, moved: int, furthest: int
) -> None:
    for confidence in (0.6, 0.9):
        below = limit_of_one(options, confidence, gap, moved)
        ours = coins_right(options, confidence, gap, moved).epsilon(moved)
        assert below <= ours
        # what the program finds with less than the limit is less than was asked
        assert best_confidence(0.99 * below, options, gap, moved, furthest) < confidence
        assert best_confidence(ours, options, gap, moved, furthest) >= confidence - 1e-7


def test_of_two_options_permute_and_flip_is_the_best_there_is() -> None:
    for gap in (2, 10, 50):
        ours = coins_right(2, 0.95, gap, 2).epsilon(2)
        assert ours == pytest.approx(limit_of_one(2, 0.95, gap, 2), rel=1e-3)


def test_of_many_options_it_is_within_three_per_cent() -> None:
    for options, gap, moved in [(1000, 51, 2), (1000, 51, 1), (20, 50, 2), (10**6, 200, 1)]:
        ours = coins_right(options, 0.95, gap, moved).epsilon(moved)
        assert (
            limit_of_one(options, 0.95, gap, moved) <= ours <= 1.03 * limit_of_one(options, 0.95, gap, moved)
        )


def test_growth_step_by_step() -> None:
    for options, confidence, gap in [(1000, 0.95, 51), (5, 0.5, 7), (3, 0.99, 2)]:
        epsilon = _growing(math.log(options), confidence, gap, 2)

        def grown(epsilon: float, options: int = options, gap: int = gap) -> float:
            p = 1 / options
            for _ in range(math.ceil(gap / 2)):
                p = min(math.exp(epsilon) * p, 1 - math.exp(-epsilon) * (1 - p))
            return p

        assert grown(epsilon * (1 + 1e-9)) >= confidence > grown(epsilon * (1 - 1e-9))


def test_a_loser_that_becomes_the_best_proves_more_where_neighbors_do_not_divide_the_gap() -> None:
    simple = max(_growing(math.log(2), 0.9, 3, 2), _pairs(2, 0.9, 3, 2))
    assert limit_of_one(2, 0.9, 3, 2) > 1.1 * simple


def test_a_blind_choice_needs_nothing() -> None:
    assert limit_of_one(4, 0.2, 3, 2) == 0.0


def test_sets_of_options_take_the_place_of_options() -> None:
    """From 1/C(k, h) to the confidence in m neighbors, one by one."""
    for options, top, confidence, gap in ((20, 20, 0.9, 51), (1000, 10, 0.95, 51), (6, 2, 0.6, 3)):
        epsilon = limit_of_several(options, top, confidence, gap, 2)
        half = min(top, options // 2)

        def gets(epsilon: float, start: float, steps: int) -> float:
            chance = start
            for _ in range(steps):
                chance = min(math.exp(epsilon) * chance, 1 - math.exp(-epsilon) * (1 - chance))
            return chance

        start, steps = 1 / math.comb(options, half), -(-gap // 2)
        assert gets(epsilon, start, steps) <= confidence
        assert gets(epsilon * 1.001, start, steps) > confidence or epsilon == limit_of_one(
            options, confidence, gap, 2
        )


def test_no_law_goes_below_the_limit_of_several() -> None:
    for options in (2, 3, 5, 30):
        for top in {2, options // 2, options} - {0, 1}:
            for within in (0, 1, 4, 40):
                for rising in (False, True):
                    asked = Asked(options=options, sensitivity=1, integer=True, rising=rising, top=top)
                    plans = plans_for(asked, within, 0.9)
                    assert all(plan.limit is None or plan.limit <= plan.epsilon for plan in plans)
                    assert all(plan.limit for plan in plans)


def test_very_many_sets_are_counted_by_logarithms() -> None:
    assert 0 < limit_of_several(10**8, 10**7, 0.9, 10**6, 2) < 100


def test_a_median_is_a_choice() -> None:
    """Grid values scored by how far their rank is from the middle: whole numbers after doubling."""
    plan = plan_choice(options=1000, within=100, confidence=0.95, sensitivity=1, integer=True)
    assert plan.epsilon == pytest.approx(0.1818, rel=1e-3)
    grid = np.arange(1000)
    values = np.sort(np.concatenate([np.full(300, 17), np.arange(250, 950), np.full(400, 990)]))
    below, up_to = (np.searchsorted(values, grid, side=side) for side in ("left", "right"))
    scores = np.minimum(len(values) - 2 * below, 2 * up_to - len(values))
    assert scores.max() >= 0
    started = process_time()
    drawn = [int(plan.choose(scores)) for _ in range(500)]  # type: ignore[call-overload]
    assert process_time() - started < 1.0
    assert np.mean(scores[drawn] >= -100) >= 0.92
