"""Grids: multiples of a step are exact, answers round half up, and neighbors are as near as it says."""

from __future__ import annotations

import math
import random
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pbdp.errors import InputError
from pbdp.mechanism.absolute import AbsoluteRegion
from pbdp.mechanism.fixed_range import FixedRegion
from pbdp.mechanism.grid import (
    STEPS_IN_WIDTH,
    LinearGrid,
    binary_grid_for,
    coarse_whole_grid_for,
    grid_for,
    grid_of_step,
    step_of_at_least,
    whole_grid_for,
    whole_numbers,
)
from pbdp.mechanism.relative import RelativeRegion


@pytest.mark.parametrize("step", [2.0**-40, 0.25, 0.5, 1, 8, 2.0**60, 3, 0.75, 1000, 1023 * 2.0**-70])
def test_small_multiples_of_powers_of_two_are_steps(step: float) -> None:
    assert LinearGrid(step=step, rounded=True).step == step


@pytest.mark.parametrize("step", [0.1, 0.3, 8193, 1 + 2**-52, 8001.5])
def test_other_numbers_are_no_steps(step: float) -> None:
    with pytest.raises(
        InputError, match=r"step must be a power of two, or a whole number below 8192 times one"
    ):
        LinearGrid(step=step, rounded=True)


@pytest.mark.parametrize("step", [0, -1, math.nan, math.inf, "1", True, None, 2.0**-1070])
def test_what_is_no_size_is_no_step(step: float) -> None:
    with pytest.raises(InputError, match="step must be"):
        LinearGrid(step=step, rounded=True)


@pytest.mark.parametrize(
    ("answer", "steps"),
    [
        (Fraction(0), 0),
        (Fraction(1, 8), 1),  # half a step rounds up
        (Fraction(1, 8) - Fraction(1, 10**30), 0),
        (Fraction(-1, 8), 0),
        (Fraction(-1, 8) - Fraction(1, 10**30), -1),
        (Fraction(1, 3), 1),
        (Fraction(2**40) + Fraction(3, 8), 2**42 + 2),
    ],
)
def test_answers_round_half_up_exactly(answer: Fraction, steps: int) -> None:
    assert LinearGrid(step=0.25, rounded=True).steps_of(answer) == steps


@pytest.mark.parametrize("step", [0.25, 1.0, 3.0, 0.75, 2.0**-30])
def test_answers_are_rounded_down_exactly(step: float) -> None:
    """Around every kind of edge, zero among them, as fractions, floats and whole numbers."""
    grid = LinearGrid(step=step, rounded=True, down=True)
    edges = [k * step for k in (-(2**20), -8, -1, 0, 1, 7, 2**20)]
    beside = [math.nextafter(edge, end) for edge in edges for end in (-math.inf, math.inf)]
    answers = [*edges, *beside, -0.0, 5e-324, -5e-324, step * 2.0**-61, -step * 2.0**-61, 0.4 * step]
    exact = [grid.steps_of(Fraction(answer)) for answer in answers]
    assert exact == [math.floor(Fraction(answer) / Fraction(step)) for answer in answers]
    assert grid.steps_of_floats(np.array(answers)).tolist() == exact
    whole = np.array([-(2**20), -7, -3, -1, 0, 1, 2, 3, 8, 2**20])
    listed = [math.floor(Fraction(int(n)) / Fraction(step)) for n in whole]
    assert grid.steps_of_integers(whole).tolist() == listed
    assert grid.steps_of_integers(whole[4:].astype(np.uint64)).tolist() == listed[4:]
    assert grid.answers_around(-2, 3) == (-2 * step, 4 * step)


def test_rounding_down_keeps_one_output_more_of_every_width() -> None:
    down, near = (LinearGrid(step=0.25, rounded=True, down=flag) for flag in (True, False))
    region = AbsoluteRegion.even(5)
    assert down.region_in_steps(region) == AbsoluteRegion(below=19.0, above=20.0)
    assert near.region_in_steps(region) == AbsoluteRegion.even(19.0)
    # every truth of a cell accepts these outputs, and no other output is accepted by all
    for truth in (0.0, 0.125, math.nextafter(0.25, 0.0)):
        assert all(abs(output * 0.25 - truth) <= 5 for output in (-19, 20))
    assert abs(21 * 0.25 - 0.0) > 5
    assert abs(-20 * 0.25 - math.nextafter(0.25, 0.0)) > 5


def test_whole_numbers_are_not_rounded_and_others_to_them() -> None:
    assert whole_numbers().steps_of(Fraction(-7)) == -7
    assert whole_numbers().steps_of(Fraction(12345678, 1000)) == 12346
    assert whole_numbers().steps_of_floats(np.array([1.5, -1.5, 0.49999999999999994])).tolist() == [2, -1, 0]


def test_grids_say_whether_what_they_publish_is_whole() -> None:
    assert whole_numbers().whole_outputs
    assert grid_of_step(1.0, integer=True) == whole_numbers()
    tens = grid_of_step(10.0, integer=True)
    assert tens == LinearGrid(step=10.0, rounded=True, whole=True)
    assert tens.whole_outputs
    assert grid_of_step(15.0, integer=True).step == 15
    assert grid_of_step(1.0, integer=False) == LinearGrid(step=1.0, rounded=True)
    assert not grid_of_step(1.0, integer=False).whole_outputs


@pytest.mark.parametrize(("step", "rounded"), [(0.5, True), (2.5, True), (2.0, False)])
def test_whole_answers_are_rounded_to_multiples_of_whole_numbers_only(step: float, rounded: bool) -> None:
    with pytest.raises(InputError, match="a whole number to round whole answers to"):
        LinearGrid(step=step, rounded=rounded, whole=True)


@pytest.mark.parametrize(
    ("width", "sensitivity", "step"), [(10_000.0, 60.0, 6.0), (10_000.0, 61.0, 1.0), (100.0, 60.0, 1.0)]
)
def test_the_coarse_grid_of_whole_answers_divides_the_sensitivity(
    width: float, sensitivity: float, step: float
) -> None:
    grid = coarse_whole_grid_for(width, sensitivity)
    assert sensitivity % grid.step == 0
    assert grid.step <= max(1.0, width / (2 * STEPS_IN_WIDTH))
    assert grid.step == step


def test_whole_answers_over_wide_ranges_are_rounded_to_whole_multiples() -> None:
    assert whole_grid_for(1000.0, 1.0) == whole_numbers()
    wide = whole_grid_for(1e9, 1e7)
    assert wide.whole_outputs
    assert wide.step > 1
    assert wide.step == math.floor(wide.step)


def test_answers_whose_outputs_would_be_inexact_count_as_the_furthest() -> None:
    grid = LinearGrid(step=0.5, rounded=True)
    assert grid.steps_of(Fraction(2**51)) == 2**52
    assert grid.steps_of(Fraction(2**51 + 1)) == 2**52
    assert grid.steps_of(Fraction(-(10**400))) == -(2**52)
    far = np.array([2.0**51 + 1, 1.7e308, np.inf, -np.inf, -(2.0**51) - 0.5])
    assert grid.steps_of_floats(far).tolist() == [2**52] * 3 + [-(2**52)] * 2
    assert grid.steps_of_integers(np.array([2**63 - 1, -(2**63)])).tolist() == [2**52, -(2**52)]
    assert grid.steps_of_integers(np.array([2**64 - 1], dtype=np.uint64)).tolist() == [2**52]


FLOATS = st.one_of(
    st.floats(),
    st.floats(-100, 100),
    # on a rounding boundary, or beside it
    st.builds(
        lambda steps, power, away: math.nextafter((steps + 0.5) * 2.0**power, away),
        st.integers(-(2**40), 2**40),
        st.integers(-362, 332),
        st.sampled_from([-math.inf, 0.0, math.inf]),
    ),
)
POWERS = st.one_of(st.integers(-4, 70), st.integers(-362, 320))
FACTORS = st.one_of(st.just(1), st.sampled_from([3, 125, 1023]), st.integers(1, 1023))


@given(FLOATS, POWERS, FACTORS)
@example(math.nan, 0, 1)
@example(5e-324, -362, 1)
@example(-5e-324, 320, 7)
def test_every_float_is_rounded_as_the_exact_number_it_is(answer: float, power: int, factor: int) -> None:
    grid = LinearGrid(step=factor * 2.0**power, rounded=True)
    if math.isnan(answer):
        expected = 0
    elif math.isinf(answer):
        expected = grid.steps_of(Fraction(10) ** 400 * int(math.copysign(1, answer)))
    else:
        expected = grid.steps_of(Fraction(answer))
    with np.errstate(all="raise"):
        assert grid.steps_of_floats(np.array([answer])).tolist() == [expected]


@given(st.integers(-(2**63), 2**64 - 1), POWERS, FACTORS)
@example(2**62, 70, 1)
@example(-(2**62) - 1, 63, 1)
@example(2**54 + 2, 2, 1)
@example(2**64 - 1, 64, 1)
@example(2**64 - 1, 65, 1)
@example(-(2**63), 0, 3)
@example(375, 1, 125)
def test_every_machine_word_is_rounded_as_the_exact_number_it_is(
    answer: int, power: int, factor: int
) -> None:
    grid = LinearGrid(step=factor * 2.0**power, rounded=True)
    expected = [grid.steps_of(Fraction(answer))]
    if answer < 2**63:
        assert grid.steps_of_integers(np.array([answer], dtype=np.int64)).tolist() == expected
    if answer >= 0:
        assert grid.steps_of_integers(np.array([answer], dtype=np.uint64)).tolist() == expected


@given(st.integers(-(2**52), 2**52), st.integers(-60, 60), FACTORS, st.integers(-(2**25), 2**25))
def test_the_outputs_of_every_answer_are_exact(steps: int, power: int, factor: int, noise: int) -> None:
    grid = LinearGrid(step=factor * 2.0**power, rounded=True)
    output = grid.steps_of(steps * Fraction(grid.step)) + noise
    assert Fraction(float(grid.values_of(np.array([output]))[0])) == output * Fraction(grid.step)


def test_outputs_are_exact_multiples_of_the_step() -> None:
    grid = LinearGrid(step=0.125, rounded=True)
    assert grid.values_of(np.array([-3, 0, 5])).tolist() == [-0.375, 0.0, 0.625]


@pytest.mark.parametrize(
    ("sensitivity", "step", "steps"),
    [
        (1, 1, 1),
        (1, 0.25, 4),
        (0.1, 0.25, 1),
        (0.26, 0.25, 2),
        (math.nextafter(0.25, 1), 0.25, 2),
        (1e-300, 1024, 1),
    ],
)
def test_the_sensitivity_in_steps_is_rounded_up(sensitivity: float, step: float, steps: int) -> None:
    assert LinearGrid(step=step, rounded=True).sensitivity_in_steps(sensitivity) == steps


def test_no_two_neighbors_are_further_apart_than_the_sensitivity_in_steps() -> None:
    chance = random.Random(1)
    for _ in range(2000):
        rounded = chance.random() < 0.8
        factor = chance.choice([1, 1, 3, 125, 1023])
        step = factor * 2.0 ** chance.randint(-9, 2)
        grid = LinearGrid(step=step, rounded=True) if rounded else whole_numbers()
        sensitivity = chance.uniform(0.01, 5)
        answer = Fraction(chance.uniform(-9, 9))
        other = answer + Fraction(sensitivity) * chance.choice([Fraction(1), Fraction(chance.random())])
        moved = abs(grid.steps_of(other) - grid.steps_of(answer))
        assert moved <= grid.sensitivity_in_steps(sensitivity)


@pytest.mark.parametrize("region", [AbsoluteRegion.even(2.3), AbsoluteRegion(below=1.1, above=4.75)])
def test_an_absolute_region_in_steps_allows_for_rounding(region: AbsoluteRegion) -> None:
    chance = random.Random(2)
    for step in (0.25, 1.0, 2.0):
        grid = LinearGrid(step=step, rounded=True)
        inside = grid.region_in_steps(region)
        assert isinstance(inside, AbsoluteRegion)
        ends = [Fraction(step) * (Fraction(1, 2) - Fraction(1, 10**18)), -Fraction(step) / 2]
        for answer in [*ends, *(Fraction(chance.uniform(-9, 9)) for _ in range(200))]:
            steps = grid.steps_of(answer)
            assert Fraction(step) * (steps - int(inside.below)) >= answer - Fraction(region.below)
            assert Fraction(step) * (steps + int(inside.above)) <= answer + Fraction(region.above)


def test_a_region_narrower_than_half_a_step_is_refused() -> None:
    with pytest.raises(InputError, match=r"within must be at least half a step .*finer step"):
        LinearGrid(step=4, rounded=True).region_in_steps(AbsoluteRegion.even(1))
    with pytest.raises(InputError, match=r"within must be at least .*finer step"):
        LinearGrid(step=4, rounded=True).region_in_steps(RelativeRegion(theta=0.1, tau=1))
    with pytest.raises(InputError, match=r"range must be at least two steps .*finer step"):
        LinearGrid(step=4, rounded=True).region_in_steps(FixedRegion(low=1, high=7))


def test_the_grid_that_is_found_is_fine_against_the_width_and_within_limits() -> None:
    chance = random.Random(3)
    for _ in range(3000):
        width, sensitivity = 10 ** chance.uniform(-40, 40), 10 ** chance.uniform(-40, 40)
        grid = grid_for(width, sensitivity)
        assert grid.rounded
        steps = grid.sensitivity_in_steps(sensitivity)
        assert steps <= 1 << 20
        assert width / grid.step <= 1 << 21
        if 1e-6 * width < sensitivity < 1e2 * width:
            assert width / grid.step >= 510
            assert steps * grid.step <= 1.002 * sensitivity
        if 1e-5 * width < sensitivity:
            binary = binary_grid_for(width, sensitivity).step
            assert math.frexp(binary)[0] == 0.5
            assert grid.step / 512 <= binary <= grid.step


def test_the_step_that_is_found_makes_up_the_sensitivity() -> None:
    chance = random.Random(4)
    for _ in range(500):
        sensitivity, steps = 10 ** chance.uniform(-40, 40), chance.randint(1, 1000)
        step = Fraction(step_of_at_least(sensitivity, steps))
        assert math.ceil(Fraction(sensitivity) / step) <= steps
        assert step <= Fraction(sensitivity) / steps * (1 + Fraction(1, 512))


@pytest.mark.parametrize("width", [5e-324, 1e-200, 1e200])
def test_a_width_that_no_grid_fits_is_refused(width: float) -> None:
    with pytest.raises(InputError, match=r"within must be a width of .*another unit"):
        grid_for(width, 1.0)


# ------------------------------------------------------------------------------------------ logarithmic grids


@pytest.mark.parametrize(
    ("grid", "least"),
    [
        (whole_numbers(), 1),
        (LinearGrid(step=0.75, rounded=True), 0),
        (LinearGrid(step=0.75, rounded=True, down=True), 0),
        (LinearGrid(step=12.0, rounded=True, whole=True), 1),
    ],
)
def test_rounding_loses_what_is_said_and_no_less(grid: LinearGrid, least: int) -> None:
    """Answers a hundredth of a step apart (or whole ones): how far each is from its grid point."""
    spaced = [Fraction(n) if least else Fraction(n, 100) * Fraction(grid.step) for n in range(-250, 251)]
    off = [answer / Fraction(grid.step) - grid.steps_of(answer) for answer in spaced]
    below, above = grid.around
    assert -below <= min(off) <= max(off) <= above
    # the upper end is left out, as answers round half up
    assert max(off) >= above - Fraction(1, 12 if least else 100)
    assert min(off) == -below
    assert grid.lost == max(below, above)


@pytest.mark.parametrize("region", [AbsoluteRegion(below=4.3, above=2.6), RelativeRegion(theta=0.2, tau=3.3)])
@pytest.mark.parametrize("down", [False, True])
def test_a_region_on_a_grid_serves_all_answers_of_a_grid_point(
    region: AbsoluteRegion | RelativeRegion, down: bool
) -> None:
    """Outputs inside it are inside the user's own region, whatever was rounded away."""
    grid = LinearGrid(step=0.5, rounded=True, down=down)
    inside = grid.region_in_steps(region)
    for answer in (Fraction(n, 64) for n in range(-2000, 2000, 7)):
        point = grid.steps_of(answer)
        below, above = (int(side) for side in inside.offsets(float(point)))
        least, most = (Fraction(float(side)) for side in region.offsets(float(answer)))
        assert (point - below) * Fraction(grid.step) >= answer - least
        assert (point + above) * Fraction(grid.step) <= answer + most
