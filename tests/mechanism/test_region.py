"""What every kind of region says of itself, checked against its offsets alone."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

import pbdp
from pbdp.errors import InputError, PlanFileError
from pbdp.mechanism.absolute import AbsoluteRegion
from pbdp.mechanism.custom import CustomRegion
from pbdp.mechanism.design import Design, region_masses
from pbdp.mechanism.fixed_range import FixedRegion
from pbdp.mechanism.grid import whole_numbers
from pbdp.mechanism.log_grid import log_grid_for
from pbdp.mechanism.region import Region
from pbdp.mechanism.relative import RelativeRegion
from pbdp.noise.gaussian import DiscreteGaussian, Gaussian
from pbdp.noise.kernel import Array
from pbdp.noise.laplace import DiscreteLaplace
from pbdp.planning.plan_file import region_from_record

FUNCTION = CustomRegion(interval=lambda answer: (answer - 2 - answer % 3, answer + 3), low=-6, high=9)
REGIONS: list[Region] = [
    AbsoluteRegion.even(4.0),
    AbsoluteRegion(below=2.0, above=7.0),
    AbsoluteRegion(below=3.0, above=math.inf),
    RelativeRegion(theta=0.1, tau=3.5),
    RelativeRegion(theta=0.5, tau=2.0, nonnegative=True),
    RelativeRegion(theta=0.0, tau=5.0),
    FixedRegion(low=-3.0, high=11.0),
    FUNCTION,
]
each = pytest.mark.parametrize("region", REGIONS, ids=lambda region: region.describe())


def answers_of(region: Region) -> Array:
    low, high = region.answers
    return np.arange(max(low, -300.0), min(high, 300.0) + 1)


@each
def test_the_tightest_region_lies_inside_the_region_of_every_answer_and_could_not_be_wider(
    region: Region,
) -> None:
    below, above = region.offsets(answers_of(region))
    tight = region.tightest()
    assert tight.below == np.floor(below.min())
    assert tight.above == np.floor(above.min())


@each
@pytest.mark.parametrize("kernel", [DiscreteLaplace(scale=2.0), DiscreteGaussian(sigma=4.0)])
def test_no_answer_is_harder_than_the_hardest(
    region: Region, kernel: DiscreteLaplace | DiscreteGaussian
) -> None:
    inside, _ = region_masses(kernel, *region.offsets(answers_of(region)))
    hardest, _ = region_masses(kernel, *region.offsets(region.hardest_answers(kernel)))
    assert hardest.min() == inside.min()


def test_any_answer_of_a_function_may_be_the_hardest() -> None:
    assert FUNCTION.hardest_answers(Gaussian(sigma=1.0)).tolist() == list(range(-6, 10))


@each
@pytest.mark.parametrize("reach", [1.0, 6.0, 25.5])
def test_laws_of_settled_answers_are_alike(region: Region, reach: float) -> None:
    """Beyond, the noise that the region holds no longer depends on the answer."""
    settled = region.settled_from(reach)
    beyond = answers_of(region)[np.abs(answers_of(region)) > settled]
    assert beyond.size or math.isinf(settled)
    below, above = (np.minimum(offsets, reach) for offsets in region.offsets(beyond))
    assert np.unique(below).size <= 1
    assert np.unique(above).size <= 1


@each
def test_an_inverse_holds_every_answer_that_the_output_meets_and_no_others(region: Region) -> None:
    outputs, answers = np.linspace(-40.0, 40.0, 161), np.linspace(*_ends(region), 1201)
    ends = region.inverse(outputs)
    if region.within is None:
        assert ends is None
        return
    assert ends is not None
    below, above = region.offsets(answers)
    meets = (outputs[:, None] >= answers - below) & (outputs[:, None] <= answers + above)
    inside = (answers >= ends[0][:, None]) & (answers <= ends[1][:, None])
    near = np.minimum(np.abs(answers - ends[0][:, None]), np.abs(answers - ends[1][:, None])) < 1e-9
    assert np.all(inside | ~meets)
    assert np.all(meets | ~inside | near)


def _ends(region: Region) -> tuple[float, float]:
    low, high = region.answers
    return max(low, -60.0), min(high, 60.0)


@each
def test_all_offsets_of_a_scaled_region_grow_by_the_factor(region: Region) -> None:
    wider = region.scaled(1.5, whole=False)
    if region.within is None:
        assert wider is None
        return
    assert wider is not None
    assert wider.kind == region.kind
    assert wider.answers == region.answers
    for one, other in zip(region.offsets(20.0), wider.offsets(20.0), strict=True):
        assert float(other) == pytest.approx(1.5 * float(one))


def test_scaled_widths_of_whole_answers_are_whole_and_at_least_one() -> None:
    assert AbsoluteRegion(below=1, above=7).scaled(0.4, whole=True) == AbsoluteRegion(below=1, above=3)
    assert AbsoluteRegion(below=5, above=math.inf).scaled(2, whole=True) == AbsoluteRegion(
        below=10, above=math.inf
    )


def test_a_relative_width_is_not_scaled_to_a_hundred_percent() -> None:
    assert RelativeRegion(theta=0.5, tau=1).scaled(2.0, whole=False) is None


@each
def test_a_record_is_read_back_as_the_same_region(region: Region) -> None:
    if region is FUNCTION:
        with pytest.raises(InputError, match=r"^plan must be free of functions to be saved, .*; got inside"):
            region.record()
        return
    assert region_from_record(json.loads(json.dumps(region.record(), allow_nan=False))) == region


@pytest.mark.parametrize("kind", ["round", "function", None, [], 1, True])
def test_a_record_of_no_known_kind_is_refused(kind: object) -> None:
    with pytest.raises(PlanFileError, match="region must be absolute, relative or fixed"):
        region_from_record({"kind": kind, "low": 0, "high": 1})


def test_a_flag_in_a_record_is_a_flag() -> None:
    with pytest.raises(TypeError):
        region_from_record({"kind": "relative", "theta": 0.1, "tau": 1, "nonnegative": 1})


def test_regions_say_what_they_take_for_granted() -> None:
    assert FixedRegion(low=0, high=1).assumptions == ("The true answer is clamped into the range first.",)
    assert RelativeRegion(theta=0.1, tau=1, nonnegative=True).assumptions == (
        "The true answer is 0 or more in every dataset.",
    )
    assert not RelativeRegion(theta=0.1, tau=1).assumptions
    assert not AbsoluteRegion.even(1).assumptions


def test_laws_for_each_answer_are_for_widths_that_change_with_it() -> None:
    assert [region.per_answer for region in REGIONS] == [False, False, False, True, True, False, False, True]


@each
def test_logarithmic_grids_are_for_relative_widths(region: Region) -> None:
    relative = isinstance(region, RelativeRegion) and region.theta > 0
    assert (log_grid_for(region) is not None) == relative


def test_outputs_are_clamped_into_a_fixed_range_only() -> None:
    with pytest.raises(InputError, match="clamp must be left out unless the region is a fixed range"):
        Design(
            grid=whole_numbers(), kernel=DiscreteLaplace(scale=1.0), region=AbsoluteRegion.even(3), clamp=True
        )


@pytest.mark.parametrize("integer", [True, False])
def test_a_relative_width_of_zero_percent_is_planned_like_an_absolute_one(integer: bool) -> None:
    asked = {"confidence": 0.9, "sensitivity": 1, "delta": 1e-6, "integer": integer}
    none = pbdp.plan(region=RelativeRegion(theta=0.0, tau=5.0), **asked)  # type: ignore[arg-type]
    assert none.epsilon == pbdp.plan(within=5, **asked).epsilon  # type: ignore[arg-type]
