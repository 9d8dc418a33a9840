"""The paper's rejection sampler draws the boosted law, and its rounds tell the answer."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import chi2, norm

from pbdp.mechanism.absolute import AbsoluteRegion
from pbdp.mechanism.design import Boosted
from pbdp.mechanism.fixed_range import FixedRegion
from pbdp.mechanism.region import Region
from pbdp.mechanism.relative import RelativeRegion
from pbdp.noise.gaussian import Gaussian
from pbdp.noise.laplace import Laplace
from reproduction import figure_4_runtime as runtime
from reproduction.figure_4_inverse import InverseSampler
from reproduction.figure_4_runtime import rejection_sample

DRAWS = 200_000
REGIONS: dict[str, tuple[Region, float]] = {
    "absolute": (AbsoluteRegion.even(3.0), 7.0),
    "relative": (RelativeRegion(theta=0.2, tau=2.0), -6.0),
    "fixed": (FixedRegion(low=0.0, high=10.0), 2.0),
}


def expected(
    edges: np.ndarray, ends: tuple[float, float], answer: float, sigma: float, boost: float
) -> np.ndarray:
    """Probabilities between edges, written down again: kernel masses inside and outside, weighted."""

    def weighted(y: np.ndarray) -> np.ndarray:
        plain = norm.cdf(y, answer, sigma)
        inside = norm.cdf(np.clip(y, *ends), answer, sigma) - norm.cdf(ends[0], answer, sigma)
        return np.asarray(inside + (1 - boost) * (plain - inside))

    total = weighted(np.array([np.inf]))[0]
    return np.asarray(np.diff(weighted(edges)) / total)


def distance(drawn: np.ndarray, edges: np.ndarray, law: np.ndarray) -> float:
    """The p-value of a chi-square test."""
    seen, _ = np.histogram(drawn, edges)
    wanted = law * len(drawn)
    return float(chi2.sf(np.sum((seen - wanted) ** 2 / wanted), len(law) - 1))


@pytest.mark.parametrize("name", REGIONS)
def test_it_draws_the_boosted_law_and_no_other(name: str) -> None:
    region, answer = REGIONS[name]
    sigma, boost = 4.0, 0.8
    mechanism = Boosted(kernel=Gaussian(sigma=sigma), region=region, boost=boost)
    drawn = rejection_sample(mechanism, answer, DRAWS, np.random.default_rng(5))
    below, above = (float(reach) for reach in region.offsets(answer))
    ends = (answer - below, answer + above)
    inner = np.linspace(answer - 9, answer + 9, 31)
    edges = np.array([-np.inf, *sorted({*inner.tolist(), *ends}), np.inf])
    assert distance(drawn.outputs, edges, expected(edges, ends, answer, sigma, boost)) > 1e-3
    for near_sigma, near_boost in ((1.03 * sigma, boost), (sigma, boost + 0.02), (sigma, boost - 0.02)):
        assert distance(drawn.outputs, edges, expected(edges, ends, answer, near_sigma, near_boost)) < 1e-5


def test_rounds_are_geometric_with_the_mean_that_the_answer_gives() -> None:
    region = FixedRegion(low=0.0, high=10.0)
    mechanism = Boosted(kernel=Gaussian(sigma=4.0), region=region, boost=0.9)
    means = []
    for answer in (0.0, 5.0):
        rounds = rejection_sample(mechanism, answer, DRAWS, np.random.default_rng(6)).rounds
        inside = norm.cdf(10, answer, 4) - norm.cdf(0, answer, 4)
        accepted = inside + 0.1 * (1 - inside)
        assert rounds.min() == 1
        assert rounds.mean() == pytest.approx(1 / accepted, abs=5 * rounds.std() / np.sqrt(DRAWS))
        assert np.mean(rounds == 1) == pytest.approx(accepted, abs=0.005)
        means.append(rounds.mean())
    # an observer of the time tells the end of the range from its middle
    assert means[0] > 1.4 * means[1]


def test_only_gaussians_are_drawn() -> None:
    mechanism = Boosted(kernel=Laplace(scale=1.0), region=AbsoluteRegion.even(1.0), boost=0.5)
    with pytest.raises(TypeError, match="Gaussian kernels only"):
        rejection_sample(mechanism, 0.0, 1, np.random.default_rng(1))


def test_the_runtime_figure_from_its_quick_cases() -> None:
    rows = [row for case in runtime.cases(True) for row in runtime.compute(case)]
    times = [row for row in rows if row["kind"] == "time"]
    assert {row["method"] for row in times} == set(runtime.METHODS)
    for row in times:
        assert 0 < float(str(row["ns_low"])) <= float(str(row["ns_median"])) <= float(str(row["ns_high"]))
        assert row["processor"]
    found = runtime.findings(rows)
    # fewer proposals for wider regions, because of the choice of the kernel only
    assert found[0].holds is True
    narrow, wide = (found[1].figures[f"twice the plain sigma, {end}"] for end in ("narrow", "wide"))
    assert narrow == pytest.approx(wide, rel=1e-9)
    inside = norm.cdf(norm.isf(0.05) / 2) - norm.cdf(-norm.isf(0.05) / 2)
    # C = p / rho where the boost meets the confidence rho exactly
    assert narrow == pytest.approx(0.9 / inside, rel=1e-9)
    leak, inverse = found[-2].figures, found[-1].figures
    assert inverse["impossible_share"] > 0.5
    assert inverse["impossible_where_drawn"] == 0
    assert leak["relative_most"] > 2 * leak["relative_least"]
    assert leak["fixed_most"] > 1.5 * leak["fixed_least"]
    assert leak["absolute_most"] == leak["absolute_least"]
    for row in rows:
        if row["kind"] == "answer":
            off = abs(float(str(row["rounds_measured"])) - float(str(row["rounds"])))
            assert off < 6 * float(str(row["rounds_error"])) + 1e-12


def test_the_inverse_sampler_has_the_boosted_law() -> None:
    sampler = InverseSampler(sigma=3.0, boost=0.4, half_width=5.0)
    u = np.linspace(1e-6, 1 - 1e-6, 2001)
    edges = np.array([-np.inf, *np.linspace(-12, 12, 25), np.inf])
    law = expected(edges, (-5.0, 5.0), 0.0, 3.0, 0.4)
    assert np.diff(sampler.cdf(edges)) == pytest.approx(law, abs=1e-14)
    assert sampler.cdf(sampler.quantile(u)) == pytest.approx(u, abs=1e-14)


def test_what_an_answer_gives_is_possible_there() -> None:
    sampler = InverseSampler(sigma=3.0, boost=0.4, half_width=5.0)
    u = np.random.default_rng(3).integers(1, 1 << 53, 300).astype(float) / 2.0**53
    for answer in (0.0, 1.0, -7.25):
        assert sampler.impossible(answer + sampler.quantile(u), answer) == 0
    # a double between two outputs is none: 1 + G(u) never has more bits than 1 has
    assert sampler.impossible(np.array([2.0**-60]), 1.0) == 1
