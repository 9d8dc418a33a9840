"""Spherical noise: places and products against whole numbers of any size, probabilities against mpmath."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import partial

import mpmath
import numpy as np
import pytest
from scipy.stats import chi2, norm

from pbdp.errors import CannotCertifyError
from pbdp.mechanism.weights import TOTAL
from pbdp.release.keystream import InsecureTestKeystream, Keystream, SecureKeystream
from pbdp.release.spherical import (
    CELLS,
    COORDINATE_ERROR,
    LENGTH_BITS,
    PER_SIGMA,
    GaussianPlaces,
    Length,
    Scale,
    SphericalNoise,
    boundary_error,
    gaussian_places,
    magnitudes,
    rejection,
)

# A true fit is rejected once in a thousand million runs.
LEVEL = 1e-9
SECURE = SecureKeystream()


class Fixed(Length):
    """Always the same length."""

    def __init__(self, steps: Fraction) -> None:
        self.steps = steps

    def draw(self, keystream: Keystream) -> int:  # noqa: ARG002 - fixed
        return math.floor(self.steps * (1 << LENGTH_BITS))

    @property
    def error(self) -> float:
        return 0.0

    @property
    def spacing(self) -> float:
        return 2.0**-LENGTH_BITS

    @property
    def longest(self) -> float:
        return float(self.steps)


def exact_rejection(cell: int, part: int, scale: mpmath.mpf, weight: int) -> mpmath.mpf:
    """1 - K f(c + u) / W from the density itself."""
    t = (cell + mpmath.mpf(part) / 2**64) / PER_SIGMA
    return 1 - scale * mpmath.exp(-t * t / 2) / weight


def exact_scale() -> mpmath.mpf:
    return (TOTAL - 2 * CELLS) / mpmath.fsum(mpmath.exp(-(mpmath.mpf(c) ** 2) / 2**17) for c in range(CELLS))


@pytest.fixture(scope="module")
def weights() -> dict[int, int]:
    return magnitudes().table.weights()


def test_rejection_is_that_of_the_density_on_random_words(weights: dict[int, int]) -> None:
    draw = np.random.default_rng(1)
    cells = np.concatenate([np.arange(CELLS), draw.integers(0, 1200, 1500), np.zeros(200, np.int64)])
    parts = draw.integers(0, 2**64, len(cells), dtype=np.uint64)
    parts[:40] = draw.integers(0, 2**20, 40, dtype=np.uint64)
    parts[40:80] = np.uint64(2**64 - 1)
    law = magnitudes()
    found = rejection(cells, parts, law.short[cells])
    with mpmath.workdps(60):
        scale = exact_scale()
        for cell, part, p in zip(cells.tolist(), parts.tolist(), found.tolist(), strict=True):
            exact = exact_rejection(cell, part, scale, weights[cell])
            assert abs(p - exact) <= 2.0**-49 * exact
            # nothing is accepted without a look that could be rejected
            assert law.most[cell] >= p * 2.0**63


def test_the_mean_rejection_and_the_tail_are_what_the_proof_says(weights: dict[int, int]) -> None:
    with mpmath.workdps(40):
        accepted = exact_scale() * PER_SIGMA * mpmath.quad(lambda t: mpmath.exp(-t * t / 2), [0, 3, 6, 9])
        mean = 1 - accepted / TOTAL
        tail = mpmath.erfc(9 / mpmath.sqrt(2))

        assert sum(weights.values()) == TOTAL
        assert 0 < mean < mpmath.mpf(1) / 500
        assert (mean * mpmath.mpf(2) ** -49 + mpmath.mpf(2) ** -62) / (1 - mean) + tail < COORDINATE_ERROR


def test_places_are_made_of_the_words_and_the_rejected_are_drawn_again() -> None:
    count, law = 60_000, magnitudes()
    found = gaussian_places(count, InsecureTestKeystream(8))
    # the first round, word by word
    stream = InsecureTestKeystream(8)
    cells = law.table.draw(count, stream)
    buffer = bytearray(2 * count * 8 + 15)
    stream.stream().fill(buffer, memoryview(bytes(2 * count * 8)))
    words = np.frombuffer(buffer, dtype="<u8", count=2 * count)
    parts, chances = words[:count], words[count:]
    u = parts * 2.0**-64
    rejected = 1 - (1 - law.short[cells]) * np.exp(-(2 * cells + u) * u / 2**17)
    again = (chances >> np.uint64(1)) * 2.0**-63 < rejected

    assert 40 < np.sum(again) < 160
    assert np.array_equal(found.cells[~again], cells[~again])
    assert np.array_equal(found.parts[~again], parts[~again])
    assert np.array_equal(found.signs[~again] < 0, (chances[~again] & np.uint64(1)) == 1)
    assert not np.any(found.parts[again] == parts[again])


@pytest.mark.parametrize("size", [2.0**-40, 2.0**-31, 0.01, 1.0, 2.7, 1e4, 2.0**28])
def test_products_are_exact(size: float) -> None:
    draw = np.random.default_rng(7)
    exact = Fraction(size) * Fraction(math.pi) / 3
    scale = Scale.of_ratio(exact.numerator, exact.denominator)
    value = Fraction(scale.whole, 1 << scale.exponent)
    assert 0 <= exact - value <= max(exact / (1 << 62), Fraction(1, 1 << 94))

    cells = draw.integers(0, CELLS, 400)
    parts = draw.integers(0, 2**64, 400, dtype=np.uint64)
    cells[:3], parts[:3] = CELLS - 1, np.uint64(2**64 - 1)
    cells[3:6], parts[3:6] = 0, np.uint64(0)
    whole, rest = scale.steps(cells, parts)
    unit = max(Fraction(1, 1 << 62), Fraction(1, 1 << scale.exponent))
    for c, w, i, r in zip(cells.tolist(), parts.tolist(), whole.tolist(), rest.tolist(), strict=True):
        lost = (c + Fraction(w, 1 << 64)) * value - (i + Fraction(r, 1 << 62))
        assert 0 <= r < 1 << 62
        assert 0 <= lost < 2 * unit


def test_the_sum_of_squares_is_exact() -> None:
    draw = np.random.default_rng(3)
    cells = draw.integers(0, CELLS, 1000)
    parts = draw.integers(0, 2**64, 1000, dtype=np.uint64)
    places = GaussianPlaces(cells=cells, parts=parts, signs=np.ones(1000, np.int64))

    assert places.square_sum() == sum(
        ((c << 64) + w) ** 2 for c, w in zip(cells.tolist(), parts.tolist(), strict=True)
    )


def exact_noise(places: GaussianPlaces) -> list[Fraction]:
    return [
        sign * (cell + Fraction(part, 1 << 64))
        for cell, part, sign in zip(
            places.cells.tolist(), places.parts.tolist(), places.signs.tolist(), strict=True
        )
    ]


@pytest.mark.parametrize("finer", [1, 7, 52])
@pytest.mark.parametrize("length", [None, Fraction(51237, 7)])
def test_the_rounded_sum_is_that_of_exact_numbers(finer: int, length: Fraction | None) -> None:
    """Except where a boundary is within the error that the proof allows for."""
    d, sigma = 500, 313.7
    noise = SphericalNoise(
        dimensions=d, finer=finer, sigma=sigma, length=None if length is None else Fixed(length)
    )
    answers = np.random.default_rng(finer).integers(-(2**52), 2**52, d)
    seen = 0
    for seed in range(4):
        found = noise.published_steps(answers, InsecureTestKeystream(seed))
        exact = exact_noise(gaussian_places(d, InsecureTestKeystream(seed)))
        if length is None:
            exact = [y * Fraction(sigma) / PER_SIGMA for y in exact]
        else:
            with mpmath.workdps(60):
                root = mpmath.sqrt(mpmath.mpf(int(sum(y * y for y in exact) * (1 << 128)))) / 2**64
                factor = Fraction(str(mpmath.mpf(length.numerator) / length.denominator / root))
            exact = [y * factor for y in exact]
        for steps, answer, y in zip(found.tolist(), answers.tolist(), exact, strict=True):
            place = Fraction(answer, 1 << finer) + y + Fraction(1, 2)
            allowed = Fraction(1, 1 << 59) + abs(y) / (1 << 61)
            if abs(place - round(place)) > allowed:
                assert steps == math.floor(place)
                seen += 1
    assert seen == 4 * d


def test_the_noise_does_not_depend_on_the_answer() -> None:
    """With whole answers the outputs differ by just as much, so the same words were used in the same way."""
    noise = SphericalNoise(dimensions=300, finer=9, sigma=77.0, length=Fixed(Fraction(1000)))
    first = np.zeros(300, dtype=np.int64)
    second = np.random.default_rng(2).integers(-(2**40), 2**40, 300) << 9
    outputs = [noise.published_steps(answers, InsecureTestKeystream(5)) for answers in (first, second)]

    assert np.array_equal(outputs[1] - outputs[0], second >> 9)


def coordinates(sigma: float, remainder: int, count: int) -> np.ndarray:
    noise = SphericalNoise(dimensions=count, finer=4, sigma=sigma)
    return noise.published_steps(np.full(count, remainder, dtype=np.int64), SECURE)


def fit(drawn: np.ndarray, sigma: float, offset: float) -> float:
    """Chi-square of rounded Gaussian outputs, tails pooled."""
    first, last = math.floor(-5 * sigma), math.ceil(5 * sigma)
    counts = np.bincount(np.clip(drawn, first, last) - first, minlength=last - first + 1)
    edges = np.arange(first, last) + 0.5
    law = norm(offset, sigma)
    masses = np.diff(np.concatenate([[0.0], law.cdf(edges), [1.0]]))
    expected = masses * len(drawn)
    cell = np.unique(np.floor(np.cumsum(expected) / 1000), return_inverse=True)[1]
    observed, hoped = np.bincount(cell, weights=counts), np.bincount(cell, weights=expected)
    return float(chi2.sf(np.sum((observed - hoped) ** 2 / hoped), len(hoped) - 1))


@pytest.mark.parametrize(("sigma", "remainder"), [(0.8, 3), (6.3, 13), (311.0, -5)])
def test_coordinates_fit_the_law_and_not_one_that_is_two_per_cent_off(sigma: float, remainder: int) -> None:
    drawn = coordinates(sigma, remainder, 2_000_000)

    assert fit(drawn, sigma, remainder / 16) > LEVEL
    assert fit(drawn, 0.98 * sigma, remainder / 16) < LEVEL
    assert fit(drawn, 1.02 * sigma, remainder / 16) < LEVEL


def test_the_remainder_of_the_answer_counts() -> None:
    """A sixteenth of a step less is another law, and is told from it."""
    drawn = coordinates(2.0, 3, 2_000_000)

    assert fit(drawn, 2.0, 3 / 16) > LEVEL
    assert fit(drawn, 2.0, 2 / 16) < LEVEL


def test_directions_are_uniform_on_the_sphere() -> None:
    """In three dimensions a coordinate of a uniform direction is uniform (Archimedes)."""
    noise = SphericalNoise(dimensions=3, finer=1, sigma=1.0, length=Fixed(Fraction(2**20)))
    zeros = np.zeros(3, dtype=np.int64)
    drawn = np.array([noise.published_steps(zeros, SECURE) for _ in range(3000)]) / 2.0**20

    assert np.allclose(np.sum(drawn**2, axis=1), 1, atol=1e-5)
    for place in range(3):
        counts = np.histogram(drawn[:, place], bins=30, range=(-1, 1))[0]
        assert chi2.sf(np.sum((counts - 100) ** 2 / 100), 29) > LEVEL
    octant = np.bincount((drawn > 0) @ [1, 2, 4], minlength=8)
    assert chi2.sf(np.sum((octant - 375) ** 2 / 375), 7) > LEVEL


@pytest.mark.parametrize("offset", [0.0, 0.2, 0.5])
@pytest.mark.parametrize(("scale", "a", "b"), [(0.3, 1e-3, 0.0), (4.0, 1e-3, 2e-4), (40.0, 0.0, 1e-4)])
def test_the_boundary_bound_holds_and_is_not_far_off(scale: float, a: float, b: float, offset: float) -> None:
    """Gaussian noise, every boundary's neighborhood integrated by itself."""
    boundaries = np.arange(-400, 401) + offset
    low, high = boundaries - a, boundaries + a
    size = np.abs(boundaries)
    low, high = low - b * size / (1 + b), high + b * size / (1 - b)
    # within a + b|y| of a boundary, y itself a little further out or in
    actual = float(np.sum(norm(0, scale).cdf(high) - norm(0, scale).cdf(low)))
    bound = boundary_error(a, b, 1 / (scale * math.sqrt(2 * math.pi)), scale * math.sqrt(2 / math.pi))

    assert actual <= bound <= 6 * actual


@pytest.mark.parametrize("dimensions", [2, 300])
def test_every_coordinate_counts_in_the_distance_from_the_ideal_law(dimensions: int) -> None:
    """2^-57 for each; four times as much where short vectors are taken out."""
    made = partial(SphericalNoise, dimensions=dimensions, finer=1, sigma=3.0)
    for noise, factor in ((made(), 1), (made(length=Fixed(Fraction(10))), 4)):
        found = noise.error(peak=0.2, mean=2.5)
        assert factor * dimensions * 2.0**-57 <= found <= 3 * factor * dimensions * 2.0**-57


def test_noise_that_leaves_no_bits_for_fractions_is_refused() -> None:
    with pytest.raises(CannotCertifyError, match="step"):
        SphericalNoise(dimensions=2, finer=1, sigma=2.0**40)


def test_every_call_draws_anew() -> None:
    zeros = np.zeros(50, dtype=np.int64)
    noise = SphericalNoise(dimensions=50, finer=1, sigma=1e6)

    assert not np.any(noise.published_steps(zeros, SECURE) == noise.published_steps(zeros, SECURE))
