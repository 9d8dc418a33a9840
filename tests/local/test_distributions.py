"""Distributions of ordered values: figures on real ages, honest intervals, and bias where it is said."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from pbdp.errors import CannotCertifyError, InputError
from pbdp.local import (
    LeastMeanError,
    LeastShapeError,
    LocalMechanism,
    count_reports,
    distribution,
    estimate,
    in_blocks,
    plan_local,
    without_categories,
)
from pbdp.local.distributions import distance, quantiles
from pbdp.local.local_hashing import local_hashing
from pbdp.local.mean_response import mean_response
from pbdp.local.square_wave import square_wave
from pbdp.local.subset_selection import subset_selection
from pbdp.release.keystream import InsecureTestKeystream
from reproduction.age_errors import adult_truth

AGES = in_blocks(range(10, 101), 10)
TRUTH = adult_truth(AGES)
CODES = np.repeat(np.arange(91), TRUTH)
SHARES = TRUTH / TRUTH.sum()
NUMBERS = np.arange(10.0, 101.0)


def counts_of(mechanism: LocalMechanism, seed: int, codes: npt.NDArray[np.int64] = CODES):  # type: ignore[no-untyped-def]
    internal = mechanism.drawn(codes, InsecureTestKeystream(seed))
    return count_reports(mechanism, mechanism.published(internal, np.empty(0, dtype=object)))


def test_the_square_wave_on_real_ages() -> None:
    """Wasserstein distance and mean squared error at epsilon 1; local hashing, cut at zero, beside them."""
    wave, hashed = square_wave(AGES, 1.0), local_hashing(AGES, 1.0)
    found = {"wave": [], "hashed": []}  # type: ignore[var-annotated]
    for seed in range(6):
        for name, mechanism in (("wave", wave), ("hashed", hashed)):
            made = distribution(mechanism, counts_of(mechanism, seed))
            assert made.share.sum() == pytest.approx(1)
            assert made.share.min() >= 0
            off = distance(NUMBERS, SHARES, made.share), float(((made.share - SHARES) ** 2).mean())
            found[name].append(off)
    wasserstein, squared = np.mean(found["wave"], axis=0)
    assert wasserstein < 1.0
    assert squared < 9e-6
    others = np.mean(found["hashed"], axis=0)
    assert others[0] > 3 * wasserstein
    assert others[1] > 4 * squared


def test_the_mean_on_real_ages() -> None:
    """0.42 years at epsilon 1 where the ages are expected, and 0.44 whatever they are."""
    expected = plan_local(AGES, LeastMeanError(expected=TRUTH.astype(float)), epsilon=1.0)
    assert expected.chosen.name in ("mean response", "square wave")
    error = np.sqrt(expected.mechanism.variances("mean").at(TRUTH.astype(float))[0]) / TRUTH.sum()
    assert error < 0.425
    worst = plan_local(AGES, LeastMeanError(), epsilon=1.0)
    assert worst.chosen.name == "mean response"
    assert worst.chosen.errors["mean"] / np.sqrt(TRUTH.sum()) < 0.44
    made = estimate(worst.mechanism, counts_of(worst.mechanism, 1), "mean")
    assert abs(made.share[0] - float(NUMBERS @ SHARES)) < 5 * 0.44
    assert made.low[0] / made.users < made.share[0] < made.high[0] / made.users


@pytest.mark.parametrize("method", ["score", "guaranteed"])
def test_intervals_of_the_curve_and_of_quantiles_hold_the_truth(method: str) -> None:
    mechanism = square_wave(without_categories(range(30)), 2.0)
    truth = np.random.default_rng(5).integers(0, 30, 3000) ** 2 // 30
    curve = np.cumsum(np.bincount(truth, minlength=30)) / 3000
    levels = (0.1, 0.5, 0.9)
    true = quantiles(np.arange(30.0), np.bincount(truth, minlength=30) / 3000, np.array(levels))
    held, kept = [], []
    for seed in range(60):
        made = distribution(mechanism, counts_of(mechanism, seed, truth), confidence=0.9, method=method)
        held.append((made.low <= curve + 1e-12) & (curve <= made.high + 1e-12))
        kept += [
            low <= at <= high for at, (_, _, low, high) in zip(true, made.quantiles(levels), strict=True)
        ]
    assert np.mean(held) > (0.88 if method == "score" else 0.97)
    assert np.mean(kept) > 0.85


def test_smoothing_is_biased_at_a_peak_and_the_intervals_are_not() -> None:
    mechanism = square_wave(without_categories(range(40)), 2.0)
    codes = np.repeat([10, 30], [15_000, 5_000])
    share, inside = [], []
    for seed in range(10):
        made = distribution(mechanism, counts_of(mechanism, seed, codes))
        share.append(made.share[10])
        inside.append(made.low[10] <= 0.75 <= made.high[10])
    assert np.mean(share) < 0.5
    assert np.mean(inside) > 0.6


def test_plans_for_shapes_take_the_wave_and_never_a_formula() -> None:
    for kind in ("distribution", "quantile"):
        plan = plan_local(AGES, LeastShapeError(kind=kind, users=45_222), epsilon=1.0)
        assert plan.chosen.name == "square wave"
        assert plan.limit is None
        assert plan.chosen.cost < 0.5 * min(entry.cost for entry in plan.others)
    expected = LeastShapeError(kind="distribution", users=45_222, expected=TRUTH.astype(float))
    plan = plan_local(AGES, expected, epsilon=1.0)
    assert plan.chosen.cost < 0.95
    # the same surveys are simulated every time
    assert expected.cost(plan.mechanism) == plan.chosen.cost


def test_many_values_have_a_distribution_without_intervals() -> None:
    mechanism = square_wave(without_categories(range(3000)), 3.0)
    codes = np.random.default_rng(1).binomial(2999, 0.4, 20_000)
    made = distribution(mechanism, counts_of(mechanism, 1, codes))
    truth = np.bincount(codes, minlength=3000) / 20_000
    assert distance(np.arange(3000.0), truth, made.share) < 60
    assert made.quantile(0.5)[1:] == (0, 2999)
    with pytest.raises(CannotCertifyError, match="--of distribution"):
        estimate(mechanism, counts_of(mechanism, 1, codes))


def test_quantiles_of_a_known_distribution() -> None:
    shares = np.array([0.2, 0.3, 0.5])
    assert quantiles(np.array([5.0, 6.0, 9.0]), shares, np.array([0.1, 0.2, 0.21, 0.5, 0.51])).tolist() == [
        5,
        5,
        6,
        6,
        9,
    ]
    assert distance(np.array([5.0, 6.0, 9.0]), shares, np.array([0.0, 0.5, 0.5])) == pytest.approx(0.2)


def test_what_has_no_order_or_no_numbers_is_refused() -> None:
    wrong = subset_selection(without_categories([3, 1, 2]), 1.0)
    with pytest.raises(InputError, match="rising order"):
        distribution(wrong, counts_of(wrong, 1, np.zeros(50, dtype=np.int64)))
    words = subset_selection(without_categories(["a", "b", "c"]), 1.0)
    with pytest.raises(InputError, match="mean"):
        estimate(words, counts_of(words, 1, np.zeros(50, dtype=np.int64)), "mean")
    made = mean_response(without_categories(range(5)), 1.0)
    with pytest.raises(CannotCertifyError, match="--of mean"):
        distribution(made, counts_of(made, 1, np.zeros(50, dtype=np.int64)))
    wave = square_wave(without_categories(range(5)), 1.0)
    found = distribution(wave, counts_of(wave, 1, np.zeros(50, dtype=np.int64)))
    with pytest.raises(InputError, match="level"):
        found.quantile(1.0)


@pytest.mark.parametrize("name", ["square wave", "plain randomized response"])
def test_what_one_false_report_moves_of_the_curve_at_most(name: str) -> None:
    """Every report in the place of what its sender should add, one by one; the worst of them is the bound."""
    goal = LeastShapeError(kind="distribution", users=1000)
    plan = plan_local(without_categories(range(12)), goal, epsilon=1.0, use=name)
    mechanism, moved = plan.mechanism, 0.0
    for report in range(mechanism.cells):
        curve = np.cumsum(mechanism.estimates("value", np.eye(mechanism.cells, dtype=np.int64)[report], 1)[0])
        for true in range(12):
            moved = max(moved, float(np.abs(curve - (np.arange(12) >= true))[:-1].max()))
    assert moved <= plan.false_report["cumulative"] * (1 + 1e-9)
    assert moved >= plan.false_report["cumulative"] * (1 - 1e-6)
