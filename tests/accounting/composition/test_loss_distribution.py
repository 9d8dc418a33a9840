from __future__ import annotations

import math

import numpy as np
import pytest

from pbdp.accounting.composition.loss_distribution import (
    dominating,
    profile_distribution,
    shortened,
    split,
)
from pbdp.accounting.composition.loss_law import LossLaw, law_delta, loss_law, table_release
from pbdp.errors import InputError
from tests.accounting.composition.laws import LAWS, delta_of, gaussian_table

EPSILONS = np.concatenate([np.linspace(-2, 2, 81), [5.0, 20.0]])


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("step", [0.5, 0.01, 1e-4])
def test_splitting_dominates_everywhere(law: LossLaw, step: float) -> None:
    distribution = split(law, step)
    for epsilon in EPSILONS:
        assert delta_of(distribution, float(epsilon)) >= law_delta(law, float(epsilon)).lower


@pytest.mark.parametrize("law", LAWS)
def test_splitting_is_exact_at_grid_points(law: LossLaw) -> None:
    distribution = split(law, 0.05)
    for k in range(-20, 21):
        assert delta_of(distribution, k * 0.05) == pytest.approx(
            law_delta(law, k * 0.05).upper, rel=1e-9, abs=1e-14
        )


def test_splitting_between_grid_points_is_a_chord_and_no_more() -> None:
    law, step = LAWS[0], 0.2
    distribution = split(law, step)
    ends = [law_delta(law, epsilon).upper for epsilon in (0.2, 0.4)]
    share = (math.exp(0.4) - math.exp(0.3)) / (math.exp(0.4) - math.exp(0.2))
    assert delta_of(distribution, 0.3) == pytest.approx(share * ends[0] + (1 - share) * ends[1], rel=1e-9)


def test_a_maximum_dominates_every_pair_and_touches_one_at_grid_points() -> None:
    laws = [loss_law([0.9, 0.1], [0.6, 0.4]), loss_law([0.6, 0.4], [0.9, 0.1])]
    distribution = dominating(laws, 0.03)
    for epsilon in EPSILONS:
        assert delta_of(distribution, float(epsilon)) >= max(
            law_delta(law, float(epsilon)).lower for law in laws
        )
    for k in range(-40, 41):
        largest = max(law_delta(law, k * 0.03).upper for law in laws)
        assert delta_of(distribution, k * 0.03) == pytest.approx(largest, rel=1e-9, abs=1e-13)


def test_a_profile_becomes_the_distribution_it_came_from() -> None:
    law, step = LAWS[0], 0.01
    points = np.arange(-300, 301)
    deltas = [law_delta(law, float(k) * step).upper for k in points]
    distribution = profile_distribution(-300, step, deltas)
    for k in (-200, -17, 0, 5, 60, 150):
        assert delta_of(distribution, k * step) == pytest.approx(
            law_delta(law, k * step).upper, rel=1e-8, abs=1e-12
        )
    assert distribution.masses.sum() + distribution.infinity == pytest.approx(1, abs=1e-9)


def test_a_profile_that_is_not_convex_is_raised_and_never_lowered() -> None:
    deltas = [0.9, 0.5, 0.49, 0.2, 0.01]
    distribution = profile_distribution(0, 0.5, deltas)
    for k, delta in enumerate(deltas):
        assert delta_of(distribution, 0.5 * k) >= delta
    assert deltas[-1] <= distribution.infinity <= deltas[-1] * (1 + 1e-12)


@pytest.mark.parametrize("first", [-620, 500])
def test_a_profile_of_losses_too_large_for_numbers_is_refused(first: int) -> None:
    with pytest.raises(InputError, match="epsilon"):
        profile_distribution(first, 1.0, np.full(110, 0.5))


def test_a_profile_outside_zero_to_one_is_refused() -> None:
    with pytest.raises(InputError, match="deltas"):
        profile_distribution(0, 0.1, [0.5, -0.1])


def test_a_shortened_release_reveals_no_less_and_hardly_more() -> None:
    long = table_release(gaussian_table(3000.0), 1500)
    short = shortened(long, 1e-12)
    assert len(short.covered[0].losses) < len(long.covered[0].losses) / 2
    for epsilon in (0.0, 0.5, 1.0, 2.0):
        below, above = (law_delta(one.covered[0], epsilon) for one in (long, short))
        assert below.lower <= above.upper <= below.upper * (1 + 1e-4) + 3e-12
    few = table_release(gaussian_table(30.0), 15)
    assert shortened(few, 1e-12) is few
