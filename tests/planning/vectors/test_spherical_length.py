"""Lengths of spherical noise: the law cell by cell against mpmath, and draws against SciPy."""

from __future__ import annotations

from decimal import localcontext
from fractions import Fraction
from itertools import pairwise

import mpmath
import numpy as np
import numpy.typing as npt
import pytest
from scipy.stats import chi, chi2, gamma

from pbdp.planning.vectors.spherical_length import CELLS, LENGTH_ERROR, LengthLaw
from pbdp.release.keystream import InsecureTestKeystream, SecureKeystream
from pbdp.release.spherical import LENGTH_BITS

UNIT = 1 << LENGTH_BITS
SECURE = SecureKeystream()
# A true fit is rejected once in a thousand million runs.
LEVEL = 1e-9

LAWS = [
    LengthLaw(dimensions=1, scale=300.0, power=1),
    LengthLaw(dimensions=2, scale=41.3, power=1),
    LengthLaw(dimensions=20, scale=70.0, power=1),
    LengthLaw(dimensions=100_000, scale=2.25, power=1),
    LengthLaw(dimensions=1, scale=250.0, power=2, ball=410.5, kept=0.3),
    LengthLaw(dimensions=2, scale=250.0, power=2, ball=100.0, kept=0.01),
    LengthLaw(dimensions=10, scale=900.0, power=2, ball=1500.0, kept=2e-3),
    LengthLaw(dimensions=10, scale=9e6, power=2, ball=1500.0, kept=1e-36),
    LengthLaw(dimensions=400, scale=500.0, power=2, ball=10_000.0, kept=0.9),
    LengthLaw(dimensions=3, scale=500.0, power=2, ball=500_000.0, kept=0.5),
    LengthLaw(dimensions=100_000, scale=500.0, power=2, ball=158_000.0, kept=0.7),
]


def exact_density(law: LengthLaw, t: mpmath.mpf) -> mpmath.mpf:
    """t^(d-1) exp(-(t/b)^k/k), kept times that beyond the ball; scaled by its value at the peak."""

    def log(x: mpmath.mpf) -> mpmath.mpf:
        return (law.dimensions - 1) * mpmath.log(x) - (x / mpmath.mpf(law.scale)) ** law.power / law.power

    peak = mpmath.mpf(max(law.peak, 1e-3))
    beyond = law.ball is not None and t > law.ball
    return mpmath.exp(log(t) - log(peak)) * (mpmath.mpf(law.kept) if beyond else 1)


def places(law: LengthLaw, count: int) -> list[tuple[int, int]]:
    """Random cells of all windows, and lengths in them, ends included."""
    draw = np.random.default_rng(11)
    found = []
    for cell in draw.integers(0, CELLS * len(law._windows), count).tolist():
        window = law._windows[cell // CELLS]
        part = int(draw.choice([0, 2**64 - 1, int(draw.integers(0, 2**63)) * 2]))
        length = window.low + ((cell % CELLS << 64) + part) * window.spacing
        if length > 0:
            found.append((cell, length))
    return found


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_weight_times_acceptance_is_the_density_everywhere(law: LengthLaw) -> None:
    ratios = []
    with mpmath.workdps(60):
        for cell, length in places(law, 60):
            accepted = law.acceptance(cell, length)
            weight = mpmath.mpf(law._weights.weight_of(cell)) / mpmath.mpf(law._windows[cell // CELLS].width)
            density = exact_density(law, mpmath.mpf(length) / UNIT)
            ratios.append(mpmath.mpf(str(accepted)) * weight / density)
            assert 0 < accepted <= 1
        spread = max(ratios) / min(ratios) - 1
    assert spread < 1e-28


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_what_is_left_out_and_what_is_rejected_are_as_the_proof_says(law: LengthLaw) -> None:
    ends = [(float(w.edges[0]), float(w.edges[-1])) for w in law._windows]
    edges = [0.0, *([] if law.ball is None else [law.ball]), np.inf]
    with mpmath.workdps(50):

        def mass(start: float, stop: float, kept: float) -> mpmath.mpf:
            a = mpmath.mpf(law.dimensions) / law.power
            start_, stop_ = ((mpmath.mpf(x) / law.scale) ** law.power / law.power for x in (start, stop))
            if law.dimensions < 1000:
                return kept * mpmath.gammainc(a, start_, stop_, regularized=True)
            # the series of gammainc are slow here: Gauss sums on short pieces do
            knots = [start_ + (stop_ - start_) * i / 20 for i in range(21)]
            return kept * mpmath.quad(
                lambda x: mpmath.exp((a - 1) * mpmath.log(x) - x - mpmath.loggamma(a)), knots
            )

        drawn = [mass(*end, window.kept) for end, window in zip(ends, law._windows, strict=True)]
        if law.dimensions < 1000:
            whole = [
                mass(*pair, window.kept) for pair, window in zip(pairwise(edges), law._windows, strict=True)
            ]
            assert sum(whole) - sum(drawn) < sum(whole) * mpmath.mpf(2) ** -69
        # proposals are accepted with the mean of density/weight
        total = sum(law._weights.weight_of(c) for c in range(CELLS * len(law._windows)))
        cell, length = places(law, 40)[-1]
        density = exact_density(law, mpmath.mpf(length) / UNIT)
        factor = (
            mpmath.mpf(str(law.acceptance(cell, length)))
            * law._weights.weight_of(cell)
            / (density * law._windows[cell // CELLS].width)
        )
        peak = mpmath.mpf(max(law.peak, 1e-3))
        a = mpmath.mpf(law.dimensions) / law.power
        z = (peak / law.scale) ** law.power / law.power
        # the integral of the density, which is scaled by its value at the peak
        unit = mpmath.mpf(law.scale) ** law.dimensions * mpmath.mpf(law.power) ** (a - 1) * mpmath.gamma(a)
        unit /= mpmath.exp((law.dimensions - 1) * mpmath.log(peak) - z)
        assert 0.9 < factor * sum(drawn) * unit / total <= 1
    assert LENGTH_ERROR == 2.0**-62


@pytest.mark.parametrize("law", [law for law in LAWS if law.ball is not None], ids=str)
def test_the_ball_ends_between_two_cells(law: LengthLaw) -> None:
    assert law.ball is not None
    inner, outer = law._windows
    edge = Fraction(law.ball) * UNIT

    assert inner.low + (CELLS * inner.spacing << 64) <= edge <= outer.low
    if law.ball < 1e5:
        assert inner.low + (CELLS * inner.spacing << 64) == edge


def p_value(drawn: npt.NDArray[np.float64], shares: npt.NDArray[np.float64]) -> float:
    """Chi-square of values whose place in the law is `shares`, in 50 equal parts."""
    counts = np.bincount(np.minimum((shares * 50).astype(int), 49), minlength=50)
    hoped = len(drawn) / 50
    return float(chi2.sf(np.sum((counts - hoped) ** 2 / hoped), 49))


def test_laplace_lengths_fit_and_do_not_fit_two_per_cent_off() -> None:
    law = LengthLaw(dimensions=40, scale=70.0, power=1)
    drawn = np.array([law.draw(SECURE) / UNIT for _ in range(12_000)])

    assert p_value(drawn, gamma(40, scale=70.0).cdf(drawn)) > LEVEL
    for off in (0.98, 1.02):
        assert p_value(drawn, gamma(40, scale=70.0 * off).cdf(drawn)) < LEVEL


def test_boosted_lengths_fit_on_both_sides_of_the_ball() -> None:
    d, sigma, ball, kept = 30, 500.0, 2600.0, 0.2
    law = LengthLaw(dimensions=d, scale=sigma, power=2, ball=ball, kept=kept)
    drawn = np.array([law.draw(SECURE) / UNIT for _ in range(12_000)])

    def shares(scale: float, kept: float) -> npt.NDArray[np.float64]:
        kernel = chi(d, scale=scale)
        inside = kernel.cdf(ball)
        below = np.where(drawn <= ball, kernel.cdf(drawn), inside + kept * (kernel.cdf(drawn) - inside))
        return np.asarray(below / (inside + kept * (1 - inside)))

    assert p_value(drawn, shares(sigma, kept)) > LEVEL
    for scale, factor in ((0.98, 1.0), (1.02, 1.0), (1.0, 1.3), (1.0, 0.7)):
        assert p_value(drawn, shares(sigma * scale, kept * factor)) < LEVEL


def test_the_decimal_context_of_the_caller_does_not_matter() -> None:
    law = LAWS[6]
    expected = [law.draw(InsecureTestKeystream(seed)) for seed in range(20)]
    with localcontext() as context:
        context.prec = 3
        assert [law.draw(InsecureTestKeystream(seed)) for seed in range(20)] == expected
