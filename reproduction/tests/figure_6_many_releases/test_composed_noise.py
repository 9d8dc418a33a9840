from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest

from pbdp.accounting.exact.accountant import ExactAccountant, plain_accountant
from pbdp.errors import InputError
from pbdp.mechanism.absolute import AbsoluteRegion
from pbdp.mechanism.design import Boosted
from pbdp.mechanism.relative import RelativeRegion
from pbdp.noise.gaussian import Gaussian
from pbdp.noise.laplace import Laplace
from reproduction.figure_6_many_releases import composed_noise
from reproduction.figure_6_many_releases.composed_noise import composed_at_least, composed_epsilon
from reproduction.tests import boosted_law as brute

SIGMA, BOOST = 4.5, 0.7
EVEN = AbsoluteRegion.even(5.0)
BOOSTED = Boosted(kernel=Gaussian(sigma=SIGMA), region=EVEN, boost=BOOST)


@pytest.mark.parametrize("releases", [1, 2, 30, 1000])
def test_plain_gaussians_compose_to_a_wider_one(releases: int) -> None:
    bounds = composed_epsilon(
        Boosted(kernel=Gaussian(sigma=3.0), region=EVEN, boost=0.0), 3.0, releases, 1e-5
    )
    exact = plain_accountant(Gaussian(sigma=3.0), 3 * math.sqrt(releases)).epsilon_at(1e-5)

    assert bounds.lower <= exact.upper
    assert exact.lower <= bounds.upper
    assert bounds.upper <= bounds.lower * 1.002


def test_one_boosted_release_is_what_the_accountant_says() -> None:
    bounds = composed_epsilon(BOOSTED, 3.0, 1, 1e-5)
    exact = ExactAccountant(mechanism=BOOSTED, sensitivity=3.0).epsilon_at(1e-5)

    assert bounds.lower <= exact.upper
    assert exact.lower <= bounds.upper <= exact.upper * (1 + 1e-5)


def test_three_boosted_releases_are_what_convolution_of_their_losses_finds() -> None:
    one, two = (brute.absolute(SIGMA, BOOST, answer, 5.0) for answer in (0.0, 3.0))
    y, width = brute.grid(one, two, points=60_000)
    p, q = one.density(y), two.density(y)
    step = 2e-4
    cells = np.rint(np.log(p / q) / step).astype(int)
    first = cells.min()
    law = np.bincount(cells - first, weights=p * width)
    size = 1 << (3 * len(law)).bit_length()
    total = np.fft.irfft(np.fft.rfft(law, size) ** 3, size)
    losses = (np.arange(size) + 3 * first) * step
    bounds = composed_epsilon(BOOSTED, 3.0, 3, 1e-5)

    def delta(epsilon: float) -> float:
        gains = np.where(losses > epsilon, -np.expm1(np.minimum(epsilon - losses, 0.0)), 0.0)
        return float(gains @ np.maximum(total, 0.0))

    assert delta(bounds.upper * 1.001) < 1e-5 < delta(bounds.lower * 0.999)


def test_laplace_losses_never_exceed_the_pure_total() -> None:
    laplace = Boosted(kernel=Laplace(scale=5 / math.log(10)), region=EVEN, boost=0.0)
    pure = 3 * math.log(10) / 5
    one, many = (composed_epsilon(laplace, 3.0, count, 1e-5) for count in (1, 5))

    assert one.upper == pytest.approx(pure + 2 * math.log1p(-1e-5), rel=1e-6)
    assert one.upper < many.lower <= many.upper <= 5 * pure


def test_epsilon_rises_with_the_number_of_releases_and_with_one_over_delta() -> None:
    by_count = [composed_epsilon(BOOSTED, 3.0, count, 1e-5) for count in (1, 2, 10, 100, 1000)]
    strict = composed_epsilon(BOOSTED, 3.0, 10, 1e-7)

    assert all(a.upper < b.lower for a, b in pairwise(by_count))
    assert strict.lower > by_count[2].upper


def test_one_pair_of_a_relative_region_gives_a_lower_value() -> None:
    region = RelativeRegion(theta=0.05, tau=5.0)
    mechanism = Boosted(kernel=Gaussian(sigma=SIGMA), region=region, boost=BOOST)
    exact = ExactAccountant(mechanism=mechanism, sensitivity=3.0).epsilon_at(1e-5)
    one, ten = (composed_at_least(mechanism, (3.0, 0.0), count, 1e-5) for count in (1, 10))

    assert 0 < one <= exact.upper
    assert one < ten < 10 * exact.upper


def test_noise_that_changes_with_the_answer_has_no_single_worst_pair() -> None:
    region = RelativeRegion(theta=0.05, tau=5.0)
    with pytest.raises(InputError, match="only moves with the answer"):
        composed_epsilon(Boosted(kernel=Gaussian(sigma=SIGMA), region=region, boost=0.5), 3.0, 2, 1e-5)


def test_a_coarse_cut_bounds_from_both_sides_and_keeps_both_laws(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    exact = ExactAccountant(mechanism=BOOSTED, sensitivity=3.0).epsilon_at(1e-3)
    monkeypatch.setattr(composed_noise, "CELLS", 60)
    cut = composed_noise.cut_pair(BOOSTED, 0.0, 3.0)
    (law,) = cut.above().covered
    bounds = composed_epsilon(BOOSTED, 3.0, 1, 1e-3)

    assert float(law.masses.sum()) == pytest.approx(1, abs=1e-9)
    assert float(law.masses @ np.exp(-law.losses)) == pytest.approx(1, abs=1e-9)
    assert bounds.lower * 1.01 < exact.lower
    assert exact.upper * 1.01 < bounds.upper
