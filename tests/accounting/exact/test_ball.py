"""Gaussian noise boosted in a ball: the bounds against sums and quadratures written apart from them."""

from __future__ import annotations

import functools
import math
from itertools import pairwise

import mpmath
import numpy as np
import numpy.typing as npt
import pytest
from scipy.stats import chi, chi2

from pbdp.accounting.exact.accountant import ExactAccountant
from pbdp.accounting.exact.ball import BallAccountant, BoostedBall
from pbdp.errors import InputError
from pbdp.mechanism.absolute import AbsoluteRegion
from pbdp.mechanism.design import Boosted
from pbdp.noise.gaussian import Gaussian

Array = npt.NDArray[np.float64]

# dimensions, sigma, radius, boost, sensitivity, epsilon
CASES = [
    (2, 1.0, 1.5, 0.3, 1.0, 1.0),
    (2, 2.0, 5.0, 0.6, 1.0, 0.5),
    (2, 3.0, 2.0, 0.9, 4.0, 2.0),
    (2, 1.0, 0.3, 0.95, 1.0, 0.5),
    (2, 1.0, 2.0, 0.8, 0.2, 1.7),
    (3, 1.0, 2.0, 0.5, 0.7, 0.2),
    (3, 1.5, 3.0, 0.2, 2.0, 3.0),
    (3, 1.0, 6.0, 0.99, 8.0, 4.0),
    (4, 1.0, 2.5, 0.7, 1.0, 0.0),
    (5, 1.0, 2.0, 0.4, 0.5, 1.0),
    (6, 2.0, 5.0, 0.9, 3.0, 2.5),
    (11, 1.0, 3.5, 0.5, 0.8, 1.0),
    (100, 1.0, 11.0, 0.6, 0.9, 2.0),
    (10_000, 1.0, 100.5, 0.4, 0.7, 1.5),
    (30, 1.0, 11.2, 0.99, 0.2, 1.0),
]


def accountant(
    dimensions: int, sigma: float, radius: float, boost: float, sensitivity: float
) -> BallAccountant:
    ball = BoostedBall(dimensions=dimensions, sigma=sigma, radius=radius, kept=1 - boost)
    return BallAccountant(mechanism=ball, sensitivity=sensitivity)


def gauss(cuts: Array, nodes: int) -> tuple[Array, Array]:
    """Places and weights of a Gauss sum on every stretch between cuts (last axis)."""
    x, w = np.polynomial.legendre.leggauss(nodes)
    half, middle = np.diff(cuts)[..., None] / 2, (cuts[..., 1:] + cuts[..., :-1])[..., None] / 2
    shape = (*cuts.shape[:-1], -1)
    return (middle + half * x).reshape(shape), (half * w).reshape(shape)


Case = tuple[int, float, float, float, float, float]


def by_quadrature(case: Case) -> float:
    """Hockey-stick divergence over (place along the shift, distance from its line), density by density."""
    dimensions, sigma, radius, boost, shift, epsilon = case
    edges = np.array([-radius, radius, shift - radius, shift + radius, shift / 2])
    start, stop = -12 * sigma, shift + 12 * sigma
    cuts = np.unique(np.clip(np.concatenate([np.linspace(start, stop, 4800), edges]), start, stop))
    x, wx = gauss(cuts, 4)
    # the distances at which the two balls end, for every x
    ends = [np.sqrt(np.maximum(radius**2 - (x - c) ** 2, 0.0)) for c in (0.0, shift)]
    law = chi(dimensions - 1, scale=sigma)
    first, last = law.ppf(1e-15), law.isf(1e-15)
    levels = np.linspace(first, last, 6)[None, :].repeat(len(x), axis=0)
    rho, wr = gauss(np.sort(np.clip(np.stack([*levels.T, *ends]), first, last), axis=0).T, 8)
    mass = law.pdf(rho) * wr * wx[:, None] / (sigma * math.sqrt(2 * math.pi))

    def weighed(center: float) -> Array:
        away = (x - center)[:, None]
        weight = np.where(away**2 + rho**2 <= radius**2, 1.0, 1 - boost)
        return np.asarray(weight * np.exp(-((away / sigma) ** 2) / 2))

    inside = chi2(dimensions).cdf((radius / sigma) ** 2)
    constant = inside + (1 - boost) * (1 - inside)
    gain = np.maximum(weighed(0.0) - math.exp(epsilon) * weighed(shift), 0.0)
    return float(np.sum(gain * mass)) / constant


def on_a_grid(radius: float, boost: float, shift: tuple[float, ...], epsilon: float) -> float:
    """The same as a sum over the cells of a cube, sigma = 1, the shift in any direction."""
    cells = {2: 2400, 3: 220}[len(shift)]
    axis = (np.arange(cells) + 0.5) / cells * 14 - 7
    near, far = (
        functools.reduce(np.add.outer, [(axis - c) ** 2 for c in center])
        for center in ((0.0,) * len(shift), shift)
    )
    first, second = (
        np.exp(-square / 2) * np.where(square <= radius**2, 1.0, 1 - boost) for square in (near, far)
    )
    return float(np.sum(np.maximum(first - math.exp(epsilon) * second, 0.0)) / np.sum(first))


@pytest.mark.parametrize("case", CASES)
def test_bounds_hold_the_quadrature(case: Case) -> None:
    found = accountant(*case[:5]).delta_at(case[5])
    truth = by_quadrature(case)

    assert found.lower * (1 - 3e-6) <= truth <= found.upper * (1 + 3e-6)
    assert found.upper - found.lower <= 1e-6 * found.upper


def to_twenty_digits(case: Case) -> mpmath.mpf:
    """The same with both laws given the place along the shift: four cases of which ball the output is in."""
    dimensions, sigma, radius, boost, shift, epsilon = case
    R, s, k = mpmath.mpf(radius) / sigma, mpmath.mpf(shift) / sigma, 1 - mpmath.mpf(boost)
    grown = mpmath.exp(epsilon)

    def inside(nu: int, room: mpmath.mpf) -> mpmath.mpf:
        if room < 0:
            return mpmath.mpf(0)
        return mpmath.gammainc(mpmath.mpf(nu) / 2, 0, room / 2, regularized=True) if nu else mpmath.mpf(1)

    def gain(x: mpmath.mpf) -> mpmath.mpf:
        f1, f2 = inside(dimensions - 1, R * R - x * x), inside(dimensions - 1, R * R - (x - s) ** 2)
        p1, p2 = mpmath.npdf(x), grown * mpmath.npdf(x - s)
        return (
            min(f1, f2) * max(p1 - p2, 0)
            + max(f1 - f2, 0) * max(p1 - k * p2, 0)
            + max(f2 - f1, 0) * max(k * p1 - p2, 0)
            + (1 - max(f1, f2)) * k * max(p1 - p2, 0)
        )

    crossing = s / 2 - epsilon / s
    places = [
        -14,
        -R,
        R,
        s - R,
        s + R,
        s / 2,
        0,
        crossing,
        crossing - mpmath.log(k) / s,
        crossing + mpmath.log(k) / s,
    ]
    cuts = sorted({min(max(mpmath.mpf(p), -14), s + 14) for p in places} | {s + 14})
    whole = inside(dimensions, R * R)
    return mpmath.quad(gain, cuts) / (whole + k * (1 - whole))


@pytest.mark.parametrize(
    "case", [(1, 1.0, 1.5, 0.6, 1.0, 0.7), *(CASES[i] for i in (0, 2, 3, 4, 5, 8, 9, 11))]
)
def test_bounds_hold_twenty_digits(case: Case) -> None:
    found = accountant(*case[:5]).delta_at(case[5])
    with mpmath.workdps(20):
        truth = to_twenty_digits(case)

    assert found.lower <= truth <= found.upper


@pytest.mark.parametrize("case", CASES[::3])
def test_a_shift_that_is_a_tenth_shorter_is_told_apart(case: Case) -> None:
    dimensions, sigma, radius, boost, shift, epsilon = case

    assert by_quadrature((dimensions, sigma, radius, boost, 0.9 * shift, epsilon)) < accountant(
        *case[:5]
    ).delta_at(epsilon).lower * (1 - 1e-4)


@pytest.mark.parametrize(
    ("radius", "boost", "shift", "epsilon"),
    [
        (1.5, 0.5, (0.6, 0.8), 0.5),
        (0.7, 0.9, (-0.8, 0.6), 1.0),
        (2.0, 0.6, (0.48, -0.6, 0.64), 0.5),
    ],
)
def test_bounds_hold_a_sum_over_cells_in_any_direction(
    radius: float, boost: float, shift: tuple[float, ...], epsilon: float
) -> None:
    found = accountant(len(shift), 1.0, radius, boost, math.hypot(*shift)).delta_at(epsilon)
    error = {2: 2e-4, 3: 5e-3}[len(shift)]

    assert on_a_grid(radius, boost, shift, epsilon) == pytest.approx(found.upper, rel=error)


@pytest.mark.parametrize("seed", range(12))
def test_one_dimension_is_the_boosted_gaussian_of_the_line(seed: int) -> None:
    draw = np.random.default_rng(seed)
    sigma, radius, shift = (float(x) for x in np.exp(draw.uniform(-1, 1, 3)))
    boost = float(draw.choice([draw.uniform(0, 1), 0.0, 0.999, 1.0], p=[0.7, 0.1, 0.1, 0.1]))
    epsilon = float(draw.uniform(0, 3))
    line = ExactAccountant(
        mechanism=Boosted(kernel=Gaussian(sigma=sigma), region=AbsoluteRegion.even(radius), boost=boost),
        sensitivity=shift,
    ).delta_at(epsilon)

    found = accountant(1, sigma, radius, boost, shift).delta_at(epsilon)

    assert found.lower <= line.upper
    assert line.lower <= found.upper
    assert found.upper - found.lower <= 1e-6 * found.upper + 1e-280


@pytest.mark.parametrize("dimensions", [1, 2, 3, 17])
def test_the_longest_shift_is_the_worst(dimensions: int) -> None:
    radius = 1.2 * math.sqrt(dimensions)
    for epsilon in (0.0, 0.9):
        deltas = [
            accountant(dimensions, 1.0, radius, 0.7, s).delta_at(epsilon) for s in np.linspace(0.05, 1.5, 7)
        ]

        assert all(a.lower <= b.upper for a, b in pairwise(deltas))


def test_without_a_boost_dimensions_do_not_matter() -> None:
    """Balle and Wang (2018), theorem 8: Φ(s/2 - eps/s) - e^eps Φ(-s/2 - eps/s)."""
    for s, epsilon in [(1.0, 1.0), (0.01, 0.05), (5.0, 2.0), (3.0, 0.0), (0.2, 3.0)]:
        with mpmath.workdps(40):
            a, b = (
                mpmath.ncdf(x)
                for x in (
                    mpmath.mpf(s) / 2 - epsilon / mpmath.mpf(s),
                    -mpmath.mpf(s) / 2 - epsilon / mpmath.mpf(s),
                )
            )
            truth = a - mpmath.e ** mpmath.mpf(epsilon) * b
        for dimensions in (1, 7, 1000):
            found = accountant(dimensions, 2.0, 1.0, 0.0, 2 * s).delta_at(epsilon)

            assert found.lower <= truth <= found.upper
            assert found.upper - found.lower < 1e-8 * found.upper


@pytest.mark.parametrize("dimensions", [1, 2, 10, 10_000, 100_000])
@pytest.mark.parametrize("delta", [1e-3, 1e-9])
def test_epsilon_ends_on_the_safe_side_and_close(dimensions: int, delta: float) -> None:
    radius = math.sqrt(chi2(dimensions).isf(0.2))
    mechanism = accountant(dimensions, 1.0, radius, 0.6, 0.5)
    epsilon = mechanism.epsilon_at(delta)

    assert mechanism.delta_at(epsilon.upper).upper <= delta < mechanism.delta_at(epsilon.lower).lower
    assert epsilon.upper - epsilon.lower < 1e-6 * epsilon.upper


def test_no_finite_epsilon_is_said() -> None:
    assert accountant(3, 0.01, 1.0, 0.5, 1.0).epsilon_at(1e-6).upper == math.inf


def test_a_delta_that_is_met_without_noise_needs_no_epsilon() -> None:
    assert accountant(3, 1.0, 1.0, 0.5, 1e-9).epsilon_at(0.1).upper == 0.0


def test_a_delta_between_its_bounds_at_zero_is_not_said_to_be_met() -> None:
    mechanism = accountant(3, 1.0, 1.0, 0.5, 0.4)
    at_zero = mechanism.delta_at(0.0)
    for delta in np.linspace(at_zero.lower, at_zero.upper, 5).tolist():
        assert mechanism.delta_at(mechanism.epsilon_at(delta).upper).upper <= delta


def test_tiny_and_huge_figures_do_not_break_the_bounds() -> None:
    for sigma, sensitivity in [(1e90, 1e-90), (1e-60, 1e60), (1.0, 1e-150)]:
        found = accountant(4, sigma, 2 * sigma, 0.5, sensitivity).delta_at(0.5)

        assert 0 <= found.lower <= found.upper <= 1


@pytest.mark.parametrize("dimensions", [1, 2, 3, 10, 500, 10_000])
def test_confidence_is_that_of_chi(dimensions: int) -> None:
    for quantile in (1e-6, 0.2, 0.9, 0.999):
        radius = float(chi(dimensions).ppf(quantile))
        with mpmath.workdps(30):
            half, room = mpmath.mpf(dimensions) / 2, mpmath.mpf(radius) ** 2 / 2
            inside = mpmath.gammainc(half, 0, room, regularized=True)
            truth = inside / (inside + mpmath.mpf(0.25) * (1 - inside))
        found = BoostedBall(dimensions=dimensions, sigma=1.0, radius=radius, kept=0.25).confidence

        assert found.lower <= truth <= found.upper
        assert found.upper - found.lower < 1e-9 * found.upper


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({"dimensions": 0}, "dimensions"),
        ({"dimensions": 200_000}, "dimensions"),
        ({"sigma": 0.0}, "sigma"),
        ({"radius": math.nan}, "radius"),
        ({"kept": 1.5}, "kept"),
        ({"kept": -0.1}, "kept"),
    ],
)
def test_a_ball_checks_itself(change: dict[str, float], name: str) -> None:
    values = {"dimensions": 2, "sigma": 1.0, "radius": 1.0, "kept": 0.5} | change

    with pytest.raises(InputError, match=name):
        BoostedBall(**values)  # type: ignore[arg-type]


def test_an_estimate_above_the_most_that_counts_is_infinite() -> None:
    ours = accountant(dimensions=3, sigma=2.0, radius=3.0, boost=0.5, sensitivity=1.0)
    found = ours.estimated_epsilon(1e-6)
    assert 0 < found < math.inf
    assert ours.estimated_epsilon(1e-6, found * (1 + 1e-9)) == found
    assert ours.estimated_epsilon(1e-6, found * (1 - 1e-9)) == math.inf
