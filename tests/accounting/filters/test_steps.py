"""What a filter is told of a step: laws without their extremes, on a grid, and one for a curve."""

from __future__ import annotations

import math

import mpmath as mp
import numpy as np
import pytest

from pbdp.accounting.composition.loss_law import LARGEST_LOSS, LossLaw, loss_law, table_release
from pbdp.accounting.filters.steps import Step, design_release, gaussian_law, step_of, symmetric_law
from pbdp.mechanism.absolute import AbsoluteRegion
from pbdp.mechanism.design import Design
from pbdp.mechanism.grid import whole_numbers
from pbdp.mechanism.weights import integer_weights
from pbdp.noise.kernel import Array
from pbdp.noise.rounded_gaussian import RoundedGaussian
from tests.accounting.filters.games import Mechanism, bell, random_mechanism, response

EPSILONS = np.concatenate([np.linspace(-4, 4, 81), [-30.0, 30.0]])


def curve(losses: Array, masses: Array, infinite: float) -> Array:
    """delta at every epsilon of EPSILONS."""
    gains = -np.expm1(np.minimum(EPSILONS[:, None] - losses, 0.0))
    return np.asarray(infinite + gains @ masses)


def curve_of(law: LossLaw) -> Array:
    return curve(law.losses, law.masses, law.infinite_above)


def laplace_laws(epsilon: float) -> tuple[LossLaw, ...]:
    reach = int(45 / epsilon)
    masses = np.exp(-epsilon * np.abs(np.arange(-reach, reach + 1)))
    return table_release(integer_weights(masses / masses.sum(), -reach), 1).covered


def test_the_ends_of_a_table_do_not_set_the_reach() -> None:
    laws = laplace_laws(0.4148)
    whole, trimmed = step_of(laws, 0.0), step_of(laws, 1e-13)
    assert whole.reach > 0.6
    assert trimmed.reach == pytest.approx(0.4148, rel=1e-3)
    assert trimmed.missing <= 1e-13 + whole.missing
    assert np.all(curve_of(trimmed.laws[0]) >= curve_of(laws[0]))


def test_what_is_left_out_is_paid_for() -> None:
    rng = np.random.default_rng(3)
    for _ in range(50):
        noise = random_mechanism(rng, 1.0, 0.01)
        aside = float(rng.uniform(0, 0.2))
        step = step_of(noise.laws, aside)
        for law, trimmed in zip(noise.laws, step.laws, strict=True):
            assert (
                np.sum(trimmed.masses) + trimmed.infinite_above >= np.sum(law.masses) + law.infinite - 1e-15
            )
            assert trimmed.infinite_above <= (law.infinite + aside) * (1 + 1e-12)
            assert np.all(curve_of(trimmed) >= curve_of(law) - 1e-15)
            assert np.all(np.abs(trimmed.losses) <= step.reach)
        assert step.missing == max(law.infinite_above for law in step.laws)


def test_a_pair_and_its_reverse_are_limited_alike() -> None:
    """Written out: an output with p > e^R·q is one with e^R·q and q, and one that only the first can have."""
    noise = bell(0.3, 0.17)
    for aside in 10.0 ** -np.arange(2.0, 10.0):
        step = step_of(noise.laws, float(aside))
        most = math.exp(step.reach)
        p, q = np.minimum(noise.first, most * noise.second), np.minimum(noise.second, most * noise.first)
        assert math.fsum(noise.first - p) <= step.missing <= aside * (1 + 1e-9)
        assert math.fsum(noise.second - q) <= step.missing
        for law, (there, back) in zip(step.laws, ((p, q), (q, p)), strict=True):
            expected = loss_law(np.append(there, 1 - there.sum()), np.append(back, 0.0))
            assert np.all(curve_of(law) >= curve_of(expected) - 1e-15)
            assert curve_of(law) == pytest.approx(curve_of(expected), abs=1e-11)


@pytest.mark.parametrize("width", [1e-3, 0.05, 0.4, 10.0])
def test_a_grid_only_raises_the_curve(width: float) -> None:
    rng = np.random.default_rng(4)
    for _ in range(20):
        noise = random_mechanism(rng, 1.0, 0.01)
        step = step_of(noise.laws, 0.0)
        for number, law in enumerate(step.laws):
            found = step.on_grid(number, width)
            losses = found.step * (found.first + np.arange(len(found.masses), dtype=np.float64))
            assert np.all(curve(losses, found.masses, law.infinite_above) >= curve_of(law) - 1e-15)
            assert len(losses) <= 2 * step.reach / width + 4 or width < step.reach / (1 << 14)


def test_a_law_without_losses_has_an_empty_grid() -> None:
    step = step_of(Mechanism(np.array([1.0, 0.0]), np.array([0.0, 1.0])).laws, 0.0)
    assert step.missing >= 1
    assert step.reach == 0
    assert np.sum(step.on_grid(0, 0.1).masses) == 0


# One symmetric pair for a curve.


def curves(*pairs: Mechanism, step: float, points: int) -> Array:
    """The largest delta of these pairs, both ways, at 0, step, 2·step, ..."""
    x = np.exp(step * np.arange(points))[:, None]
    both = [(pair.first, pair.second) for pair in pairs] + [(pair.second, pair.first) for pair in pairs]
    return np.asarray(np.max([np.maximum(p - x * q, 0.0).sum(axis=1) for p, q in both], axis=0))


def true_curve(p: Array, q: Array) -> Array:
    return np.asarray(np.maximum(p - np.exp(EPSILONS)[:, None] * q, 0.0).sum(axis=1))


@pytest.mark.parametrize("seed", range(10))
def test_the_symmetric_pair_dominates_every_pair_and_its_reverse(seed: int) -> None:
    rng = np.random.default_rng(seed)
    pairs = [random_mechanism(rng, float(rng.uniform(0.2, 1.5)), 0.02) for _ in range(3)]
    bounds = curves(*pairs, step=0.07, points=60)
    # also with bounds that are anything but convex
    for rough in (bounds, np.minimum(bounds * (1 + rng.uniform(0, 0.3, 60)), 1.0)):
        law = symmetric_law(0.07, rough)
        for pair in pairs:
            for p, q in ((pair.first, pair.second), (pair.second, pair.first)):
                assert np.all(curve_of(law) >= true_curve(p, q) - 1e-14)
        # it is a pair: both of its laws have the mass one, and it is its own reverse
        assert np.sum(law.masses) + law.infinite == pytest.approx(1, abs=1e-11)
        assert law.losses == pytest.approx(-law.losses[::-1])
        assert law.masses * np.exp(-law.losses) == pytest.approx(law.masses[::-1], rel=1e-12)


def test_the_symmetric_pair_of_a_symmetric_pair_is_itself() -> None:
    noise = response(0.5, 0.01)
    law = symmetric_law(0.1, curves(noise, step=0.1, points=6))
    expected = loss_law(noise.first, noise.second)
    kept = law.masses > 1e-12
    assert law.losses[kept] == pytest.approx(expected.losses)
    assert law.masses[kept] == pytest.approx(expected.masses)
    assert law.infinite == pytest.approx(0.01)


def test_bounds_of_nothing_make_nothing() -> None:
    law = symmetric_law(0.5, np.zeros(4))
    assert law.infinite == 0
    assert float(law.masses @ np.abs(law.losses)) <= 1e-12
    assert math.isclose(float(np.sum(law.masses)), 1.0, rel_tol=1e-12)


def test_a_curve_of_huge_losses_ends_at_the_largest_that_counts() -> None:
    """Beyond it delta stays what it is there: no number overflows, and nothing is left out."""
    deltas = np.exp(-np.linspace(0.0, 20.0, 1001))
    law = symmetric_law(2.0, deltas)
    assert np.max(np.abs(law.losses)) <= LARGEST_LOSS
    assert np.all(np.isfinite(law.masses))
    assert law.infinite >= deltas[math.floor(LARGEST_LOSS / 2.0)]
    at = np.array([2.0, 4.0, 30.0])
    places = [int(np.flatnonzero(np.isclose(EPSILONS, one))[0]) for one in at]
    assert np.all(curve_of(law)[places] >= deltas[(at / 2).astype(int)] * (1 - 1e-9))


@pytest.mark.parametrize("mu", [0.03, 0.4, 1.0, 3.0, 9.0])
def test_the_law_of_a_gaussian_pair_lies_on_its_curve(mu: float) -> None:
    """Balle and Wang's formula in 40 digits, which also says what happens at negative epsilons."""
    law = gaussian_law(mu)
    with mp.workdps(40):
        for epsilon in np.linspace(-4 * mu, 4 * mu + mu * mu / 2, 17).tolist():
            e, m = mp.mpf(epsilon), mp.mpf(mu)
            exact = float(mp.ncdf(m / 2 - e / m) - mp.exp(e) * mp.ncdf(-m / 2 - e / m))
            gains = -np.expm1(np.minimum(epsilon - law.losses, 0.0))
            found = law.infinite_above + math.fsum(gains * law.masses)
            assert exact * (1 - 1e-14) <= found <= exact * (1 + 1e-4) + 1e-13


def test_rounded_gaussian_noise_is_that_of_its_shift_in_standard_deviations() -> None:
    region, kernel = AbsoluteRegion.even(8), RoundedGaussian(sigma=5.0)
    design = Design(grid=whole_numbers(), kernel=kernel, region=region)
    (law,), (same,) = design_release(design, 3).covered, (gaussian_law(3 / 5.0),)
    assert law.losses == pytest.approx(same.losses, rel=1e-12)
    assert law.masses == pytest.approx(same.masses, rel=1e-8, abs=1e-14)


def test_losses_without_mass_do_not_move_the_others_on_a_grid() -> None:
    law = LossLaw(losses=np.array([-1.0, 0.0, 1.0]), masses=np.array([0.0, 0.4, 0.6]), infinite=0.0)
    grid = Step(laws=(law,), missing=0.0, reach=1.0).on_grid(0, 0.125)
    losses = grid.step * (grid.first + np.arange(len(grid.masses)))
    assert float(np.sum(grid.masses)) == pytest.approx(1.0, rel=1e-13)
    assert float(np.sum(grid.masses * losses)) == pytest.approx(0.6, rel=1e-12)
