"""Packages against their composition, written out."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from pbdp.accounting.composition.loss_law import LossLaw
from pbdp.accounting.filters.package import _Centered, package_law
from pbdp.noise.kernel import Array
from tests.accounting.filters.games import Mechanism, Package, bell, random_mechanism, response

EPSILONS = np.linspace(-3, 5, 65)


def composed(parts: list[tuple[Mechanism, int]], directions: list[int]) -> Array:
    """delta at EPSILONS of all releases together, each part in one direction."""
    losses, masses = np.zeros(1), np.ones(1)
    for (noise, count), direction in zip(parts, directions, strict=True):
        gained, p = noise.draws()
        kept = p[direction] > 0
        for _ in range(count):
            sums = np.add.outer(losses, gained[direction][kept]).ravel()
            products = np.outer(masses, p[direction][kept]).ravel()
            losses, where = np.unique(np.round(sums, 14), return_inverse=True)
            masses = np.asarray(np.bincount(where, products), dtype=np.float64)
    with np.errstate(over="ignore"):
        gains = np.where(np.isinf(losses), 1.0, -np.expm1(np.minimum(EPSILONS[:, None] - losses, 0.0)))
    return np.asarray(gains @ masses)


def curve_of(law: LossLaw) -> Array:
    gains = -np.expm1(np.minimum(EPSILONS[:, None] - law.losses, 0.0))
    return np.asarray(law.infinite_above + gains @ law.masses)


@pytest.mark.parametrize("seed", range(12))
def test_a_package_dominates_its_composition_in_every_direction(seed: int) -> None:
    rng = np.random.default_rng(seed)
    parts = [
        (random_mechanism(rng, float(rng.uniform(0.05, 1.0)), 1e-3), int(rng.integers(1, 7)))
        for _ in range(int(rng.integers(1, 3)))
    ]
    aside = float(rng.choice([0.0, 1e-9, 1e-3]))
    law, reach = Package(tuple(parts)).priced(aside)
    curve = curve_of(law)
    for directions in np.ndindex(*(2 for _ in parts)):
        truth = composed(parts, list(directions))
        assert np.all(curve >= truth - 1e-12)
    finite = [np.abs(np.log(p.first / p.second)) for p, _ in quiet(parts)]
    if aside == 0:
        largest = sum(float(np.max(f[np.isfinite(f)])) * n for f, (_, n) in zip(finite, parts, strict=True))
        assert float(reach) >= largest * (1 - 1e-12)
        assert float(reach) == pytest.approx(largest, rel=1e-9)


def test_products_and_what_is_cut_off_are_rounded_up_and_hardly() -> None:
    """In fractions, of the masses as they are."""
    rng = np.random.default_rng(4)
    shorter = 0
    for _ in range(30):
        masses = [rng.exponential(size=2 * int(rng.integers(1, 9)) + 1) * 1e-3 for _ in range(2)]
        one, two = (_Centered(0.1, row, bad) for row, bad in zip(masses, (1e-9, 3e-7), strict=True))
        exact = [Fraction(0)] * (len(masses[0]) + len(masses[1]) - 1)
        for i, p in enumerate(masses[0].tolist()):
            for j, q in enumerate(masses[1].tolist()):
                exact[i + j] += Fraction(p) * Fraction(q)
        whole, cut = one.times(two, 0.0), one.times(two, 1e-5)
        assert all(Fraction(m) >= e for m, e in zip(whole.masses.tolist(), exact, strict=True))
        assert whole.masses == pytest.approx([float(e) for e in exact], rel=1e-13, abs=0)
        kept, gap = cut.masses.tolist(), whole.points - cut.points
        shorter += gap > 0
        assert kept == whole.masses.tolist()[gap : gap + len(kept)]
        lost = sum(map(Fraction, whole.masses.tolist())) - sum(map(Fraction, kept))
        assert Fraction(cut.bad) >= Fraction(whole.bad) + lost
        assert cut.bad - whole.bad <= 1.001e-5
    assert shorter > 15


def quiet(parts: list[tuple[Mechanism, int]]) -> list[tuple[Mechanism, int]]:
    tiny = 1e-300
    return [
        (Mechanism(np.where(p.second > 0, p.first, 0) + tiny, np.where(p.first > 0, p.second, 0) + tiny), n)
        for p, n in parts
    ]


def test_a_package_is_close_to_its_composition() -> None:
    noise = response(0.1)
    law, reach = Package(((noise, 100),)).priced(1e-12)
    truth = composed([(noise, 100)], [0])
    seen = truth > 1e-6
    assert curve_of(law)[seen] == pytest.approx(truth[seen], rel=2e-3)
    assert float(reach) == pytest.approx(10, rel=1e-9)


def test_a_package_of_one_release_is_the_worse_of_its_directions() -> None:
    noise = Mechanism(np.array([0.55, 0.3, 0.15]), np.array([0.2, 0.38, 0.42]))
    law, _ = Package(((noise, 1),)).priced(1e-12)
    worse = np.maximum(*(composed([(noise, 1)], [direction]) for direction in (0, 1)))
    assert curve_of(law) == pytest.approx(worse, rel=2e-3, abs=1e-9)


def test_what_a_package_sets_aside_is_at_most_what_it_may() -> None:
    noise = bell(0.05, 0.03)
    for aside in (1e-15, 1e-9, 1e-4):
        law, _ = Package(((noise, 40), (response(0.2, 1e-6), 3))).priced(aside)
        assert law.infinite <= 3e-6 + aside * 1.01
        assert float(np.sum(law.masses)) + law.infinite >= 1 - 1e-12


def test_the_reach_of_a_package_is_no_less_than_its_parts() -> None:
    law, reach = Package(((response(1.0), 20),)).priced(0.01)
    assert float(reach) >= 20 * (1 - 1e-3)
    assert float(np.max(np.abs(law.losses))) <= 21


def test_parts_of_very_different_sizes_share_a_grid() -> None:
    small, large = response(1e-4), response(3.0)
    law, _ = Package(((small, 5), (large, 1))).priced(1e-12)
    truth = composed([(small, 5), (large, 1)], [0, 0])
    curve = curve_of(law)
    assert np.all(curve >= truth - 1e-13)
    assert curve == pytest.approx(truth, abs=1e-3)


def test_a_part_that_reveals_everything_or_nothing() -> None:
    everything = Mechanism(np.array([1.0, 0.0]), np.array([0.0, 1.0]))
    nothing = Mechanism(np.array([0.5, 0.5]), np.array([0.5, 0.5]))
    law, _ = package_law([(everything.laws, 1), (nothing.laws, 2)], 1e-9)
    assert law.infinite == 1
    law, reach = package_law([(nothing.laws, 3)], 1e-9)
    assert law.infinite <= 1e-9
    assert float(reach) < 1e-12
