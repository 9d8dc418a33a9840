"""Requirements in the words of `pbdp.plan`: the plans that requirements have, and mistakes told by part."""

from __future__ import annotations

from typing import Any

import pytest

import pbdp
from pbdp.errors import ContradictionError, InputError
from pbdp.mechanism.requirement import Requirement
from pbdp.mechanism.within import region_within
from pbdp.planning.together.words import named_requirements

VISITS: dict[str, Any] = {"within": 20, "confidence": 0.9, "sensitivity": 1, "integer": True}
NIGHTS: dict[str, Any] = VISITS | {"within": 50, "sensitivity": 3}


def test_words_plan_what_requirements_plan() -> None:
    made = {
        name: Requirement(
            region=region_within(words["within"]),
            confidence=0.9,
            sensitivity=words["sensitivity"],
            delta=1e-6,
            integer=True,
        )
        for name, words in (("visits", VISITS), ("nights", NIGHTS))
    }
    told = pbdp.plan({"visits": VISITS, "nights": NIGHTS}, families=("laplace",), delta=1e-6)
    assert told == pbdp.plan(made, families=("laplace",))
    each = [VISITS | {"delta": 1e-6}, NIGHTS | {"delta": 1e-6}]
    assert [part.name for part in pbdp.plan(each, families=("laplace",)).parts] == ["part 1", "part 2"]


@pytest.mark.parametrize(
    "more",
    [
        {"within": "5%+10", "nonnegative": True},
        {"range": (0, 15)},
        {"within": (2, 8), "releases": 3, "simultaneous": True},
        {"neighbors": "replace"},
        {"within": None, "range": (0, 100), "scale": 3.0, "integer": False},
        {"within": None, "region": region_within((1, 4))},
        {"integer": False, "step": 0.5},
    ],
)
def test_each_word_means_what_it_means_in_a_plan(more: dict[str, Any]) -> None:
    words = VISITS | more
    asked = named_requirements([words], 1e-6)["part 1"]
    assert asked == pbdp.plan(**words, delta=1e-6, families=("laplace",)).requirement


def test_the_narrowest_widths_are_found_for_words_too() -> None:
    narrow = pbdp.plan({"visits": VISITS}, epsilon=0.5, families=("laplace",), delta=1e-6)
    assert narrow.epsilon <= 0.5
    assert narrow.part("visits").requirement.half_width == 5  # within 4 costs 0.5047


@pytest.mark.parametrize(
    ("within", "shrunk"),
    [
        ("10%+20", lambda region: region.tau / region.theta == pytest.approx(200)),
        ((20, 10), lambda region: region.above == pytest.approx(region.below / 2)),
        (20.0, lambda region: region.above == region.below),
    ],
)
def test_widths_of_every_kind_shrink_in_proportion(within: Any, shrunk: Any) -> None:
    asked = {"within": within, "confidence": 0.9, "sensitivity": 1, "step": 0.25}
    made = pbdp.plan([asked], epsilon=0.5, families=("laplace",), delta=1e-6)
    assert 0.49 < made.epsilon <= 0.5
    assert shrunk(made.parts[0].requirement.region)


def test_what_does_not_go_with_several_requirements_is_refused() -> None:
    beside: tuple[tuple[str, Any], ...] = (
        *(("within", 5), ("confidence", 0.9), ("sensitivity", 1), ("integer", True), ("releases", 2)),
        *(("dimensions", 3), ("touches", 1), ("range", (0, 9)), ("step", 0.5), ("rdp_order", 3)),
    )
    for name, value in beside:
        with pytest.raises(ContradictionError, match=f"^{name} must be left out beside several requirements"):
            pbdp.plan([VISITS, NIGHTS], delta=1e-6, **{name: value})
    ranged = VISITS | {"within": None, "range": (0, 100), "scale": 3.0}
    with pytest.raises(ContradictionError, match="epsilon must be left out where a requirement has no width"):
        pbdp.plan([VISITS, ranged], epsilon=1, delta=1e-6)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (VISITS, "one set of settings per part; got int for within"),
        (5, "a list, or a mapping from names; got int"),
        ("visits", "a list, or a mapping from names; got str"),
        ([VISITS, 5], "got int for part 2"),
        ({"visits": VISITS | {"confidense": 0.9}}, "names in visits .* Did you mean confidence"),
        ([VISITS | {"epsilon": 1}], "epsilon of part 1 must be left out"),
        ([VISITS | {"families": "laplace"}], "families of part 1 must be left out"),
        ([{"within": 5, "confidence": 0.9}], "sensitivity of part 1 must be given; got nothing"),
        ([{"confidence": 0.9, "sensitivity": 1}], "within of part 1 must be given; got nothing"),
        ([VISITS, VISITS | {"delta": 1e-5}], "delta of part 2 must be 1e-06 as for all; got 1e-05"),
        ([VISITS | {"within": -1}], "within of part 1 must be"),
        ([], "at least one; got none"),
    ],
)
def test_mistakes_are_told_by_part(given: Any, said: str) -> None:
    with pytest.raises((InputError, ContradictionError), match=said):
        pbdp.plan(given, delta=1e-6)


def test_a_delta_is_needed_and_families_are_known() -> None:
    with pytest.raises(ContradictionError, match="delta"):
        pbdp.plan([VISITS, NIGHTS])
    with pytest.raises(InputError, match="Did you mean laplace"):
        pbdp.plan([VISITS], families=("laplac",), delta=1e-6)
