"""The theorems on neighbors that the search rests on: which shift is the worst, and where."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest

from pbdp.accounting.exact.accountant import ExactAccountant, delta_of_pair, plain_accountant
from pbdp.accounting.exact.tables import table_delta, table_epsilon
from pbdp.errors import CannotCertifyError
from pbdp.mechanism.absolute import AbsoluteRegion
from pbdp.mechanism.design import Boosted
from pbdp.mechanism.relative import RelativeRegion
from pbdp.mechanism.weights import TOTAL, WeightTable
from pbdp.noise.gaussian import Gaussian
from pbdp.noise.laplace import Laplace
from pbdp.noise.table import TableKernel
from tests.accounting.exact.laws import exact_delta, unimodal
from tests.brute import designs, force
from tests.effort import cases


def test_a_larger_shift_of_a_unimodal_law_is_never_better() -> None:
    rng = np.random.default_rng(40)
    for _ in range(cases(3000)):
        weights, _ = unimodal(rng)
        growth = 1 + Fraction(int(rng.integers(0, 60)), 20)
        for sign in (1, -1):
            deltas = [exact_delta(weights, sign * shift, growth) for shift in range(1, 8)]
            assert deltas == sorted(deltas), (weights, sign, growth)


def test_a_smaller_shift_of_another_law_can_be_worse() -> None:
    comb = [1, 0, 2, 0, 3, 0, 2, 0, 1]
    growth = Fraction(3, 2)

    assert exact_delta(comb, 1, growth) == 1
    assert exact_delta(comb, 2, growth) < Fraction(1, 2)
    kernel = TableKernel(probabilities=[w / 9 for w in comb], start=-4)
    assert plain_accountant(kernel, 2).delta_at(math.log(1.5)).upper == pytest.approx(1, abs=1e-11)
    table = WeightTable(start=-4, weights=np.array([w * (TOTAL // 16) for w in [1, 0, 4, 0, 6, 0, 4, 0, 1]]))
    assert table_delta(table, 2, math.log(1.5)).upper == pytest.approx(1, abs=1e-15)
    assert table_epsilon(table, 2, 0.9).lower == math.inf


@pytest.mark.parametrize("boost", [0.0, 0.6])
def test_delta_of_a_pair_grows_with_the_shift(boost: float) -> None:
    region = AbsoluteRegion(below=1.5, above=4.0)
    epsilons = np.linspace(0, 3, 7)
    for kernel in (Gaussian(sigma=2.0), Laplace(scale=1.5)):
        mechanism = Boosted(kernel=kernel, region=region, boost=boost)
        for sign in (1, -1):
            uppers = [delta_of_pair(mechanism, 0.0, sign * s, epsilons)[1] for s in np.linspace(0.25, 5, 20)]
            assert np.all(np.diff(uppers, axis=0) >= -1e-11)


@pytest.mark.parametrize("sensitivity", [1, 2, 3, 5])
def test_tables_of_probabilities_are_accounted_over_all_shifts(sensitivity: int) -> None:
    rng = np.random.default_rng([41, sensitivity])
    for _ in range(100):
        weights = rng.integers(0, 6, int(rng.integers(2, 10))).tolist()
        weights[0] += 1
        epsilon = float(rng.uniform(0, 2))
        shifts = [s for size in range(1, sensitivity + 1) for s in (size, -size)]
        with mp.workdps(40):
            growth = Fraction(str(mp.exp(mp.mpf(epsilon))))
        exact = max(exact_delta(weights, s, growth) for s in shifts)
        kernel = TableKernel(
            probabilities=[w / sum(weights) for w in weights], start=-int(rng.integers(0, len(weights)))
        )

        claim = plain_accountant(kernel, sensitivity).delta_at(epsilon)

        assert claim.upper >= exact - Fraction(1, 10**15)
        assert claim.upper == pytest.approx(float(exact), rel=1e-10, abs=1e-11)


@pytest.mark.parametrize("family", [designs.gaussian, designs.laplace, designs.huber])
def test_on_a_fixed_range_neighbors_further_apart_are_never_better(family: designs.Maker) -> None:
    """delta(Q, Q') against delta(P, P') for all P <= Q < Q' <= P', inside the range and past its ends."""
    rng = np.random.default_rng(42)
    for _ in range(25):
        noise = family(rng)
        low, high = 0, int(rng.integers(1, 6))
        answers = np.arange(low - 2, high + 3)
        n = force.noise_values(noise.reach)
        boost = float(rng.uniform(0, 1))
        laws = np.exp(force.boosted(noise.log_masses(n), n, answers - low, high - answers, boost))
        figure = force.hockey_stick(float(rng.uniform(0, 2)))
        count = len(answers)
        for sign in (1, -1):
            delta = np.zeros((count, count))
            for i in range(count):
                for j in range(i + 1, min(count, i + force.PAD + 1)):
                    one, two = (i, j)[::sign]
                    delta[i, j] = float(
                        figure(force.counted(laws[one], 0), force.counted(laws[two], two - one))
                    )
            for i in range(count):
                for j in range(i + 2, min(count, i + force.PAD + 1)):
                    assert delta[i, j] >= max(delta[i + 1, j], delta[i, j - 1]) - force.ROUNDING


class _Ungrown(RelativeRegion):
    """A region that does not say how it grows."""

    growth = None  # type: ignore[assignment]


class _Lopsided(RelativeRegion):
    """A region that grows, but not alike on both sides of 0."""

    mirror_symmetric = False


@pytest.mark.parametrize("kind", [_Ungrown, _Lopsided])
def test_answers_without_end_are_searched_only_where_mirror_images_stand_for_each_other(
    kind: type[RelativeRegion],
) -> None:
    searched, refused = (
        Boosted(kernel=Gaussian(sigma=2.0), region=made(theta=0.1, tau=3.0), boost=1.0)
        for made in (RelativeRegion, kind)
    )

    assert ExactAccountant(mechanism=searched, sensitivity=1.0).delta_at(0.5).upper < 1
    with pytest.raises(CannotCertifyError, match="No search over answers is known"):
        ExactAccountant(mechanism=refused, sensitivity=1.0).delta_at(0.5)
