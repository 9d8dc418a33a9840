"""Every request that cannot be used is refused with the name of the parameter, its rule and what to do."""

from __future__ import annotations

import math
import resource
import subprocess
import sys
from typing import Any

import pytest

import pbdp
from pbdp.errors import CannotCertifyError, ContradictionError, InputError, PbdpError
from pbdp.mechanism.absolute import AbsoluteRegion
from pbdp.mechanism.custom import CustomRegion
from pbdp.mechanism.fixed_range import FixedRegion
from pbdp.mechanism.requirement import Requirement

USUAL: dict[str, Any] = {
    "within": 5,
    "confidence": 0.9,
    "sensitivity": 1,
    "delta": 1e-5,
    "integer": True,
    "families": ("laplace",),
}
NOT_NUMBERS: list[Any] = [True, "1", [1], 1j, b"1"]


def refused(message: str, **changed: Any) -> InputError:
    """The refusal of the usual request with some of it changed."""
    with pytest.raises(InputError, match=message) as caught:
        pbdp.plan(**(USUAL | changed))
    assert caught.value.name
    assert caught.value.rule
    return caught.value


def test_the_usual_request_is_planned() -> None:
    assert pbdp.plan(**USUAL).epsilon == pytest.approx(0.41475, abs=1e-4)


@pytest.mark.parametrize("confidence", [0, -0.1, 1.5, 90, math.nan, math.inf, *NOT_NUMBERS], ids=repr)
def test_confidence_lies_between_0_and_1(confidence: object) -> None:
    refused(
        r"^confidence must be strictly between 0 and 1; got .*\. Write 0\.9 for 90 %", confidence=confidence
    )


@pytest.mark.parametrize("sensitivity", [0, -1, math.nan, math.inf, *NOT_NUMBERS], ids=repr)
def test_sensitivity_is_a_finite_number_above_0(sensitivity: object) -> None:
    refused(
        r"^sensitivity must be a finite number above 0; got .*\. It is the most that one person",
        sensitivity=sensitivity,
    )


@pytest.mark.parametrize("sensitivity", [5e-324, 1e-200, 1e200])
def test_sensitivity_leaves_room_for_steps(sensitivity: float) -> None:
    refused("^sensitivity must be .*another unit", sensitivity=sensitivity)


@pytest.mark.parametrize("within", [0, -1, math.nan, math.inf, True, [1], 1j, "x"], ids=repr)
def test_within_is_a_finite_number_above_0(within: object) -> None:
    refused(r"^within must be .*Write 5", within=within)


@pytest.mark.parametrize("delta", [1, 1.5, -1e-6, math.nan, math.inf, *NOT_NUMBERS], ids=repr)
def test_delta_lies_between_0_and_1(delta: object) -> None:
    refused(r"^delta must be at least 0 and below 1; got .*one over the number of people", delta=delta)


def test_a_delta_of_0_is_explained() -> None:
    refused(r"^delta must be above 0; got 0\. .*no pure epsilon; use 1e-9", delta=0)


@pytest.mark.parametrize("order", [1, 0.5, -2, math.nan, math.inf, *NOT_NUMBERS], ids=repr)
def test_an_order_is_above_1(order: object) -> None:
    refused(r"^rdp_order must be a finite number above 1; got", delta=None, rdp_order=order)


def test_an_order_stays_within_what_can_be_summed() -> None:
    refused(r"^rdp_order must be at most 100000; got 1e\+300", delta=None, rdp_order=1e300)


def test_one_of_delta_and_order_is_given() -> None:
    both = refused(r"^delta and rdp_order must be given one at a time; got both\. Use", rdp_order=10)
    neither = refused(r"^delta must be given; got nothing\. .*delta=1e-6.*rdp_order=10", delta=None)
    assert isinstance(both, ContradictionError)
    assert isinstance(neither, ContradictionError)


@pytest.mark.parametrize("releases", [0, -1, 1.5, math.nan, *NOT_NUMBERS], ids=repr)
def test_releases_are_counted(releases: object) -> None:
    refused("^releases must be", releases=releases)


@pytest.mark.parametrize("neighbors", ["", "friends", 1, [], True], ids=repr)
def test_neighbors_are_one_of_two_relations(neighbors: object) -> None:
    refused("^neighbors must be add/remove or replace; got", neighbors=neighbors)


@pytest.mark.parametrize("integer", ["yes", 1, None], ids=repr)
def test_integer_is_a_flag(integer: object) -> None:
    refused("^integer must be True or False", integer=integer)


@pytest.mark.parametrize("step", [0.1, (1 << 40) + 1, 0, -1, math.nan, math.inf, "1", True], ids=repr)
def test_a_step_is_nearly_a_power_of_two(step: object) -> None:
    refused("^step must be (a finite number above 0|.*power of two)", integer=False, step=step)


@pytest.mark.parametrize("step", [0.5, 2.5])
def test_whole_numbers_have_whole_steps(step: float) -> None:
    refused(r"^step must be a whole number \(or left out\).*Drop `integer`", step=step)


@pytest.mark.parametrize("families", [("uniform",), ("laplace", "uniform"), (), "uniform"], ids=repr)
def test_families_are_known_ones(families: object) -> None:
    refused("^families must be (among laplace, gaussian|a list of names)", families=families)


# ------------------------------------------------------------------------------------------ ranges


@pytest.mark.parametrize("ends", [(5, 5), (10, 0), (0, -1)])
def test_a_range_has_its_lower_end_first(ends: tuple[float, float]) -> None:
    refused("^range must be low end first", within=None, range=ends, scale=3)


@pytest.mark.parametrize("ends", [(0, math.inf), (math.nan, 1), ("0", 1), (True, 5), (None, 5)], ids=repr)
def test_a_range_has_finite_ends(ends: object) -> None:
    refused("^range must be a finite number", within=None, range=ends, scale=3)


@pytest.mark.parametrize("ends", [5, (1,), (1, 2, 3), []], ids=repr)
def test_a_range_has_two_ends(ends: object) -> None:
    refused("^range must be two numbers, the lower first", within=None, range=ends, scale=3)


def test_a_range_alone_is_degenerate() -> None:
    refused(
        r"^scale must be given with a fixed range.*epsilon 0.*scale=3.*within=5", within=None, range=(0, 100)
    )


@pytest.mark.parametrize("scale", [0, -1, math.nan, math.inf, *NOT_NUMBERS], ids=repr)
def test_a_scale_is_a_size(scale: object) -> None:
    refused("^scale must be a finite number above 0; got", within=None, range=(0, 100), scale=scale)


def test_a_scale_belongs_to_a_range() -> None:
    refused("^scale must be left out unless a range is given.*planner finds", scale=3)


def test_a_range_without_two_steps_is_refused() -> None:
    refused("^range must be at least two steps", within=None, range=(0.2, 0.9), scale=3)


# ------------------------------------------------------------------------------------------ combinations


@pytest.mark.parametrize("within", [5, "5", (2, 3)])
def test_nonnegative_belongs_to_a_relative_width(within: object) -> None:
    refused("^nonnegative must be left out unless the width is relative", within=within, nonnegative=True)


@pytest.mark.parametrize(
    "changed",
    [
        {"confidence": None},
        {"within": None},
        {"within": None, "confidence": None, "epsilon": 1},
        {"epsilon": 1},
    ],
    ids=repr,
)
def test_two_of_width_confidence_and_epsilon_are_given(changed: dict[str, Any]) -> None:
    refused(
        r"^within, confidence and epsilon must be given two at a time; got .*The third is found", **changed
    )


@pytest.mark.parametrize("epsilon", [0, -1, math.nan, math.inf, *NOT_NUMBERS], ids=repr)
def test_an_epsilon_that_is_afforded_is_a_size(epsilon: object) -> None:
    refused("^epsilon must be a finite number of at least 1e-15; got", confidence=None, epsilon=epsilon)


def test_a_width_and_a_region_exclude_each_other() -> None:
    refused("^within and region must be given one at a time", region=AbsoluteRegion.even(5))


def test_a_region_is_a_region() -> None:
    refused("^region must be a region", within=None, region="5")


# ------------------------------------------------------------------------------------------ regions


def test_a_function_needs_whole_answers() -> None:
    region = CustomRegion(interval=lambda answer: (answer - 1, answer + 1), low=0, high=5)
    refused(
        "^integer must be true for a region given as a function", within=None, region=region, integer=False
    )


@pytest.mark.parametrize(
    ("interval", "message"),
    [
        (
            lambda answer: (answer + 1, answer + 2),
            "interval must be around its own answer; got one that misses 0",
        ),
        (lambda _: (math.nan, 1), "interval must be a function that returns two numbers"),
        (
            lambda answer: (answer - 1, answer, answer + 1),
            "interval must be a function that returns two numbers",
        ),
    ],
    ids=["beside", "nan", "three"],
)
def test_a_function_gives_an_interval_around_its_answer(interval: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        CustomRegion(interval=interval, low=0, high=5)


@pytest.mark.parametrize(("low", "high"), [(5, 5), (5, 0), (0, 1 << 21), (0, math.inf), (0.5, 3)])
def test_a_function_has_finitely_many_answers(low: int, high: int) -> None:
    with pytest.raises(InputError, match="must be"):
        CustomRegion(interval=lambda answer: (answer - 1, answer + 1), low=low, high=high)


@pytest.mark.parametrize(
    "region",
    [
        AbsoluteRegion(below=-1, above=3),
        AbsoluteRegion(below=3, above=-1),
        AbsoluteRegion(below=0, above=math.inf),
    ],
)
def test_a_region_holds_the_truth_and_has_room_on_the_side_that_counts(region: AbsoluteRegion) -> None:
    refused("^within must be .* sides?", within=None, region=region)


def test_a_region_open_on_both_sides_is_refused() -> None:
    with pytest.raises(InputError, match="within must be finite on at least one side"):
        AbsoluteRegion(below=math.inf, above=math.inf)


def test_numbers_of_other_kinds_become_floats() -> None:
    requirement = Requirement(
        region=FixedRegion(low=0, high=9), confidence=0.5, sensitivity=2, rdp_order=3, scale=4, integer=True
    )
    assert type(requirement.sensitivity) is float
    assert type(requirement.rdp_order) is float
    assert type(requirement.scale) is float


# ------------------------------------------------------------------------------------------ extremes

HEAVY: dict[str, dict[str, Any]] = {
    "very wide": {"within": 1e9, "sensitivity": 1e-3, "integer": False},
    "very wide, whole": {"within": 1e9, "sensitivity": 1e-3},
    "very narrow": {"within": 1e-3, "sensitivity": 1e9, "integer": False},
    "almost never": {"confidence": 0.001},
}
EXTREME: dict[str, dict[str, Any]] = {
    "almost sure": {"confidence": 1 - 1e-13},
    "very small delta": {"delta": 1e-300},
    "large order": {"delta": None, "rdp_order": 1e4},
    "order near 1": {"delta": None, "rdp_order": 1 + 1e-7},
    "noise far wider than the range": {"within": None, "range": (0, 10), "scale": 1e9},
    "noise far narrower than a step": {"within": None, "range": (0, 10), "scale": 1e-9},
}


@pytest.mark.parametrize("name", HEAVY)
def test_heavy_requests_are_planned_or_refused_in_time_and_memory(name: str) -> None:
    """In a process of its own, with 3 GB: a request must not bring down whoever asks."""
    script = f"import pbdp\ntry: pbdp.plan(**{USUAL | HEAVY[name]!r})\nexcept pbdp.PbdpError as e: print(e)"
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30)),
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", EXTREME)
def test_extreme_requests_are_planned_or_refused(name: str) -> None:
    try:
        epsilon = pbdp.plan(**(USUAL | EXTREME[name])).epsilon
    except PbdpError as error:
        assert "must be" in str(error) or "certified" in str(error)  # noqa: PT017 - both outcomes are fine
    else:
        assert 0 <= epsilon < math.inf


def test_a_request_that_nothing_can_be_proved_for_says_so() -> None:
    with pytest.raises(CannotCertifyError, match="No noise could be certified"):
        pbdp.plan(**(USUAL | {"delta": 1e-300}))


def test_every_refusal_is_one_kind_of_error() -> None:
    assert issubclass(ContradictionError, InputError)
    assert issubclass(InputError, PbdpError)
    assert issubclass(CannotCertifyError, PbdpError)
