"""`pbdp.boosted`: Eq. 2 and 3, and its privacy figures against quadrature in 50 digits."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import mpmath as mp
import numpy as np
import pytest

import pbdp
from pbdp.planning.boosted import LAW, TABLE, BoostedMechanism
from tests.effort import cases, combined
from tests.planning import boosted_force as force

# the claims may lie this far above the truth
CLOSE = 1e-6
# or so far where all real answers are searched, and so is the truth
SEARCHED = 2e-5

Kernel = tuple[Any, force.Law]


def kernels(rng: np.random.Generator) -> dict[str, Callable[[], Kernel]]:
    """A kernel of each family with its law by force; its scale is random."""
    scale = float(rng.uniform(1.5, 9.0))
    trials = 2 * int(rng.integers(8, 60))
    loss, width, center = float(rng.uniform(0.1, 0.6)), int(rng.integers(1, 5)), int(rng.integers(0, 5))
    row = rng.dirichlet(np.full(9, 3.0)).tolist()
    row = [share / math.fsum(row) for share in row]
    return {
        "gaussian": lambda: (pbdp.Gaussian(scale), force.gaussian(scale, whole=False)),
        "laplace": lambda: (pbdp.Laplace(scale), force.laplace(scale, whole=False)),
        "discrete gaussian": lambda: (pbdp.DiscreteGaussian(scale), force.gaussian(scale, whole=True)),
        "discrete laplace": lambda: (pbdp.DiscreteLaplace(scale), force.laplace(scale, whole=True)),
        "binomial": lambda: (pbdp.Binomial(trials), force.binomial(trials)),
        "staircase": lambda: (pbdp.Staircase(loss, width, center), force.staircase(loss, width, center)),
        "table": lambda: (pbdp.TableKernel(row, -4), force.table(row, -4)),
    }


def regions(rng: np.random.Generator, whole: bool) -> dict[str, tuple[dict[str, Any], dict[str, Any]]]:
    """Each kind of region: how pbdp is asked for it, and the interval by hand."""

    def number(low: int, high: int) -> float:
        return float(rng.integers(low, high)) if whole else float(rng.uniform(low, high))

    a, b, theta, length = number(1, 6), number(2, 9), float(rng.integers(15, 45)) / 100, number(12, 25)
    percent = f"{theta * 100:g}%+{a}"
    theta = float(f"{theta * 100:g}") / 100

    def relative(q: float) -> tuple[float, float]:
        return q - theta * abs(q) - a, q + theta * abs(q) + a

    def function(q: float) -> tuple[float, float]:
        return q - 2 - q // 5, q + 1 + q // 3

    # beyond, the region holds all of a binomial kernel, and next to all of others
    beyond = 420.0 if whole else 120.0
    return {
        "absolute": (
            {"within": a},
            {"interval": lambda q: (q - a, q + a), "answers": (0.0, 0.0), "moves_along": True},
        ),
        "lopsided": (
            {"within": (a, b)},
            {"interval": lambda q: (q - a, q + b), "answers": (0.0, 0.0), "moves_along": True},
        ),
        "one-sided": (
            {"within": (a, math.inf)},
            {"interval": lambda q: (q - a, force.FAR), "answers": (0.0, 0.0), "moves_along": True},
        ),
        "relative": (
            {"within": percent},
            {"interval": relative, "answers": (-beyond, beyond), "moves_along": False},
        ),
        "relative, nonnegative": (
            {"within": percent, "nonnegative": True},
            {"interval": relative, "answers": (0.0, beyond), "moves_along": False},
        ),
        "range": (
            {"range": (0.0, length)},
            {"interval": lambda _: (0.0, length), "answers": (0.0, length), "moves_along": False},
        ),
        "function": (
            {"region": function, "answers": (0, 15)},
            {"interval": function, "answers": (0.0, 15.0), "moves_along": False, "only_whole": True},
        ),
    }


KERNELS, REGIONS = list(kernels(np.random.default_rng(0))), list(regions(np.random.default_rng(0), True))


def setting(kernel: str, region: str, seed: int) -> tuple[BoostedMechanism, force.Setting]:
    rng = np.random.default_rng([seed, KERNELS.index(kernel), REGIONS.index(region)])
    made, law = kernels(rng)[kernel]()
    asked, by_hand = regions(rng, law.whole)[region]
    whole = law.whole or region == "function"
    sensitivity = float(rng.integers(1, 4)) if whole else float(rng.uniform(0.5, 3.0))
    # hard bounds too, which have outputs that a neighbor lacks
    boost = 1.0 if rng.random() < 0.15 else float(rng.uniform(0.05, 0.97))
    found = pbdp.boosted(made, **asked, boost=boost, sensitivity=sensitivity)
    assert isinstance(found, BoostedMechanism)
    return found, force.Setting(law=law, boost=boost, sensitivity=sensitivity, **by_hand)


@pytest.mark.parametrize("seed", range(cases(60)))
@pytest.mark.parametrize(("kernel", "region"), combined(KERNELS, REGIONS))
def test_figures_are_the_truth_or_just_above_it(kernel: str, region: str, seed: int) -> None:
    made, truth = setting(kernel, region, seed)
    rng = np.random.default_rng(seed)
    epsilon, order = float(rng.uniform(0.05, 2.0)), float(rng.choice([1.5, 2.0, 5.0]))
    dense = made.kernel.family in ("gaussian", "laplace") and not truth.law.whole
    searched = dense and not truth.moves_along and not truth.only_whole

    exact = truth.worst("delta", epsilon)
    claimed = made.delta(epsilon)
    assert claimed >= exact - 1e-30, (claimed, float(exact), float(exact - claimed))
    assert claimed <= exact + (SEARCHED if searched else CLOSE)

    claimed = made.epsilon(0.01)
    if math.isfinite(claimed):
        assert truth.worst("delta", claimed) <= 0.01
        if claimed > 2 * CLOSE and not searched:
            assert truth.worst("delta", claimed - CLOSE) > 0.01 * (1 - 1e-9), claimed

    claimed = made.renyi(order)
    exact = truth.worst("renyi", order)
    assert claimed >= exact, (claimed, float(exact))
    close = SEARCHED * max(1.0, float(exact)) if searched else CLOSE
    # of hard bounds for real answers none is claimed
    nothing = searched and made.boost == 1 and claimed == math.inf
    assert nothing or claimed == exact or claimed <= exact + close, (claimed, float(exact))


@pytest.mark.parametrize(("kernel", "region"), combined(KERNELS, REGIONS))
def test_density_and_coverage_are_those_of_the_paper(kernel: str, region: str) -> None:
    made, truth = setting(kernel, region, 7)
    answer = 3.0
    for y in (-4.0, 0.0, 2.0, 5.0, 11.0):
        assert made.density(y, answer) == pytest.approx(float(truth.density(mp.mpf(y), answer)), rel=1e-9)
    kept = truth.inside(answer)
    boosted = kept / (kept + (1 - mp.mpf(made.boost)) * (1 - kept))
    assert float(boosted) * (1 - 1e-10) <= made.coverage(answer) <= float(boosted) * (1 + 1e-15)
    assert made.coverage() <= made.coverage(answer)


@pytest.mark.parametrize("region", REGIONS)
def test_the_boost_of_a_confidence_is_that_of_eq_3(region: str) -> None:
    rng = np.random.default_rng(3)
    asked, by_hand = regions(rng, True)[region]
    made = pbdp.boosted(pbdp.DiscreteGaussian(11.0), **asked, confidence=0.9, sensitivity=1)
    truth = force.Setting(law=force.gaussian(11.0, whole=True), boost=made.boost, sensitivity=1.0, **by_hand)
    low, high = by_hand["answers"]
    p = min(truth.inside(float(answer)) for answer in range(int(low), int(high) + 1))
    rho = mp.mpf("0.9")
    assert made.boost == pytest.approx(float(1 / rho + 1 / (1 - p) - 1 / (rho * (1 - p))), rel=1e-9)
    assert made.coverage() >= 0.9 * (1 - 1e-10)


@pytest.mark.parametrize(("kernel", "region"), combined(KERNELS, REGIONS))
def test_a_loss_distribution_has_the_delta_of_the_truth(kernel: str, region: str) -> None:
    made, truth = setting(kernel, region, 11)
    found = made.loss_distribution()
    for at in (3, len(found.losses()) // 2 + 2):
        epsilon = abs(float(found.losses()[at]))
        exact, claimed = truth.worst("delta", epsilon), found.delta_at(epsilon)
        assert claimed >= exact - 1e-30
        assert made.delta(epsilon) * (1 + 1e-5) + CLOSE >= claimed


def test_a_composition_is_a_convolution() -> None:
    """Of the losses of all pairs of outputs, without a grid."""
    made = pbdp.boosted(pbdp.DiscreteLaplace(1.5), within=1, boost=0.6, sensitivity=1)
    y = np.arange(-60.0, 62.0)
    first, second = made.density(y, 0), made.density(y, 1)
    mass, loss = first, np.asarray(np.log(first / second), dtype=np.float64)
    for _ in range(3):
        mass, loss = np.outer(mass, first).ravel(), np.add.outer(loss, np.log(first / second)).ravel()
        loss, where = np.unique(np.round(loss, 11), return_inverse=True)
        mass = np.bincount(where, weights=mass).astype(np.float64)
    for epsilon in (0.5, 1.5, 3.0):
        exact = float(np.sum(mass * np.maximum(0, -np.expm1(epsilon - loss))))
        assert exact * (1 - 1e-9) <= made.compose(4).delta(epsilon) <= exact * (1 + 1e-3)


def test_the_table_that_is_drawn_has_figures_of_its_own() -> None:
    made = pbdp.boosted(pbdp.Gaussian(3.0), within=5, confidence=0.95, sensitivity=1)
    assert (made.figures_for, made.drawn.figures_for) == (LAW, TABLE)
    plan = made.plan(delta=1e-6)
    assert plan.epsilon == pytest.approx(made.drawn.epsilon(1e-6), rel=1e-9)
    # rounding to a fine grid costs a little
    assert made.epsilon(1e-6) == pytest.approx(plan.epsilon, rel=1e-2)
    assert made.drawn.renyi(2) == math.inf
    assert plan.confidence >= 0.9499
    assert made.plan(delta=1e-6, releases=10).epsilon == pytest.approx(
        made.drawn.compose(10).epsilon(1e-6), rel=1e-3
    )


def test_a_plan_of_it_is_like_any_other(tmp_path: Any) -> None:
    for kernel in (pbdp.Binomial(60), pbdp.TableKernel([0.1, 0.2, 0.4, 0.2, 0.1], -2), pbdp.Laplace(2.0)):
        plan = pbdp.boosted(kernel, within=1, boost=0.3, sensitivity=1).plan(delta=0.3)
        plan.save(tmp_path / "plan.json")
        read = pbdp.Plan.load(tmp_path / "plan.json")
        assert (read.epsilon, read.confidence) == (plan.epsilon, plan.confidence)
        assert abs(read.release(10.0) - 10) < 100


def test_releases_fall_into_the_region_as_often_as_is_said() -> None:
    made = pbdp.boosted(pbdp.DiscreteGaussian(9.0), within=(2, 5), confidence=0.8, sensitivity=1)
    drawn = np.array([made.release(100) for _ in range(4000)])
    kept = np.mean((drawn >= 98) & (drawn <= 105))
    assert 0.77 < kept < 0.83


@pytest.mark.parametrize(
    "family", [pbdp.Gaussian, pbdp.Laplace, pbdp.DiscreteGaussian, pbdp.DiscreteLaplace, pbdp.Staircase]
)
def test_the_best_scale_is_better_than_others(family: Any) -> None:
    open_scale = pbdp.boosted(family, within=2, confidence=0.9, sensitivity=2)
    found = open_scale.best(delta=1e-5).epsilon(1e-5)
    others = [open_scale.at(scale).epsilon(1e-5) for scale in np.geomspace(0.3, 40, 25)]
    assert found <= min(others) * (1 + 1e-3)
    order = open_scale.best(order=8).renyi(8)
    assert order <= min(open_scale.at(scale).renyi(8) for scale in np.geomspace(0.6, 40, 25)) * (1 + 1e-3)


def test_a_box_keeps_all_coordinates_in_their_regions() -> None:
    made = pbdp.boosted_box(
        pbdp.DiscreteLaplace(2.0), [2, (1, 4), "5%+3"], confidence=0.9, sensitivity=1, nonnegative=True
    )
    assert made.confidence >= 0.9 * (1 - 1e-12)
    assert made.coverage([0, 5, 7]) >= made.coverage() >= 0.9 * (1 - 1e-10)
    assert float(made.density([0, 5, 8], [0, 5, 7])) == pytest.approx(
        math.prod(
            float(each.density(y, a))
            for each, y, a in zip(made.coordinates, (0, 5, 8), (0, 5, 7), strict=True)
        )
    )
    assert made.epsilon(1e-3) > max(each.epsilon(1e-3) for each in made.coordinates)
    assert made.renyi(3) == pytest.approx(sum(each.renyi(3) for each in made.coordinates))
    assert len(made.release([1, 2, 3])) == 3
    assert made.plan(1e-3).epsilon >= made.epsilon(1e-3) * 0.999


def test_a_confidence_of_one_bounds_the_error() -> None:
    made = pbdp.boosted(pbdp.DiscreteLaplace(0.55), within=8, confidence=1, sensitivity=1)
    assert (made.boost, made.coverage()) == (1.0, 1.0)
    assert made.density(9, 0) == 0
    assert made.epsilon(0) == math.inf
    assert 1.68 < made.epsilon(1e-6) < 2


@pytest.mark.parametrize(
    "asked",
    [
        {"within": 5},
        {"within": 5, "confidence": 0.9, "boost": 0.5},
        {"confidence": 0.9},
        {"within": 5, "range": (0, 1), "confidence": 0.9},
        {"within": 5, "boost": 1.5},
        {"within": 5, "confidence": 1.2},
        {"region": lambda q: (q, q), "boost": 0.5},
        {"within": 5, "boost": 0.5, "sensitivity": 0.5},
    ],
)
def test_bad_settings_are_refused(asked: dict[str, Any]) -> None:
    with pytest.raises(pbdp.PbdpError, match="must be"):
        pbdp.boosted(pbdp.DiscreteGaussian(3.0), **{"sensitivity": 1, **asked})
    with pytest.raises(pbdp.PbdpError, match="kernel must be"):
        pbdp.boosted(3.0, within=5, boost=0.5, sensitivity=1)  # type: ignore[call-overload]
