"""Estimators: unbiased and with the exact variance, by algebra and by simulation; intervals that cover."""

from __future__ import annotations

from functools import cache

import numpy as np
import numpy.typing as npt
import pytest
from scipy import stats

from pbdp.errors import CannotCertifyError, InputError
from pbdp.local import LocalMechanism, count_reports, estimate, in_blocks, on_scale
from pbdp.local.boosted_response import boosted_response
from pbdp.local.estimates import histogram, projected
from pbdp.local.intervals import score_interval
from pbdp.local.local_hashing import local_hashing
from pbdp.local.subset_selection import subset_selection
from pbdp.release.keystream import InsecureTestKeystream
from tests.local.setups import DOMAINS, SETUPS, is_near, matrix, response, some_truth

Floats = npt.NDArray[np.float64]


def groups_of(name: str) -> Floats:
    """Row for each group, 1 for its values, from the definitions."""
    domain = DOMAINS[name]
    near = np.array(
        [[is_near(domain, name, x, y) for y in range(domain.count)] for x in range(domain.count)], dtype=float
    )
    if len(domain.groups) == domain.count and not hasattr(domain, "sizes"):
        return near
    return np.unique(near, axis=0)[::-1]


@pytest.mark.parametrize("setup", [s for s in SETUPS if s[1] < 15])
@pytest.mark.parametrize("kind", ["value", "category"])
def test_unbiased_with_the_exact_variance(setup: tuple[str, float, float], kind: str) -> None:
    name, _, epsilon0 = setup
    mechanism = response(setup)
    domain, rows = mechanism.domain, matrix(mechanism, name)
    if epsilon0 == 0 and (kind == "value" or not hasattr(domain, "sizes")) and name != "plain":
        if name == "ring":  # its neighborhoods differ enough to be told apart even so
            return
        with pytest.raises(CannotCertifyError, match="epsilon0"):
            mechanism.estimates(kind, np.ones(domain.count, dtype=np.int64), domain.count)
        assert np.all(np.isinf(mechanism.variances(kind).worst))
        return
    members = np.eye(domain.count) if kind == "value" else groups_of(name)
    # the estimator is linear: its coefficients are what single reports give
    units = np.eye(domain.count, dtype=np.int64)
    coefficients = np.stack([mechanism.estimates(kind, unit, 1)[0] for unit in units], axis=1)
    size = np.abs(coefficients).max()
    assert coefficients @ rows.T == pytest.approx(members, abs=1e-9 * size)
    truth = np.bincount(some_truth(domain, 5000), minlength=domain.count).astype(float)
    first, second = coefficients @ rows.T, coefficients**2 @ rows.T
    variance = (second - first**2) @ truth
    spread = mechanism.variances(kind)
    assert spread.at(truth) == pytest.approx(variance, rel=1e-6)
    per_person = second - first**2
    assert spread.mean == pytest.approx(per_person.mean(axis=0), rel=1e-6)
    assert spread.worst == pytest.approx(per_person.max(axis=1), rel=1e-6)
    assert np.all(spread.reach >= np.abs(coefficients).max(axis=1))
    # the estimate of the variance is unbiased too: it is linear in the counts, and right for mean counts
    means = np.rint(rows.T @ truth * 1e8).astype(np.int64)
    assert mechanism.estimates(kind, means, int(means.sum()))[1] / 1e8 == pytest.approx(variance, rel=1e-5)


MECHANISMS: dict[str, LocalMechanism] = {
    "ages": boosted_response(DOMAINS["ages"], 2.0, 1.4),
    "line": boosted_response(DOMAINS["line"], 2.0, 1.6),
    "sets of ages": subset_selection(in_blocks(range(30), 7), 1.0),
    "sets on a line": subset_selection(DOMAINS["line"], 1.0),
    "hashed, two digits": local_hashing(in_blocks(range(30), 7), 2.0),
    "hashed, one digit": local_hashing(DOMAINS["alternating"], 3.0),
    "hashed, five digits": local_hashing(in_blocks(range(40), 9), 0.7),
    "hashed line": local_hashing(DOMAINS["line"], 1.0),
}
# Users of a survey, and surveys: enough for counts to be near normal, and to see five per cent.
EFFORTS = {"ages": (5000, 1500), "line": (1000, 4000)}
USUAL = (1000, 1500)


Simulation = tuple[Floats, Floats, Floats, Floats]


@cache
def tallies(name: str) -> tuple[npt.NDArray[np.int64], list[npt.NDArray[np.int64]]]:
    """The truth by value, and the tally of each survey."""
    mechanism, (users, repeats) = MECHANISMS[name], EFFORTS.get(name, USUAL)
    codes = some_truth(mechanism.domain, users)
    internal = mechanism.drawn(np.tile(codes, repeats), InsecureTestKeystream(11))
    reports = mechanism.published(internal, np.empty(0, dtype=np.int64))
    surveys = np.split(reports, repeats)
    counted = [mechanism.tally(survey, mechanism.report_codes(survey), None) for survey in surveys]
    return np.bincount(codes, minlength=mechanism.domain.count), counted


@cache
def simulated(name: str, kind: str) -> Simulation:
    """Truth by group, estimates (one row a survey), their estimated variances and the exact variances."""
    mechanism, (by_value, counted) = MECHANISMS[name], tallies(name)
    users, people = int(by_value.sum()), by_value.astype(float)
    found, variances = zip(*(mechanism.estimates(kind, tally, users) for tally in counted), strict=True)
    truth = people if kind == "value" else mechanism.domain.group_sums(people)
    return truth, np.array(found), np.array(variances), mechanism.variances(kind).at(people)


@pytest.mark.parametrize("kind", ["value", "category"])
@pytest.mark.parametrize("name", MECHANISMS)
def test_simulation_agrees_and_would_reject_five_per_cent(name: str, kind: str) -> None:
    truth, found, variances, exact = simulated(name, kind)
    groups = len(truth)
    # the error of a mean of estimates is known, so a factor of 1.05 on the larger groups would be seen
    scores = (found.mean(axis=0) - truth) / np.sqrt(exact / len(found))
    assert stats.chi2.sf(np.sum(scores**2), groups) > 1e-4
    wrong = (1.05 * found.mean(axis=0) - truth) / np.sqrt(exact / len(found))
    assert stats.chi2.sf(np.sum(wrong**2), groups) < 1e-4 or truth.max() * 0.05 < 3 * np.sqrt(
        exact.max() / len(found)
    )
    # squared errors over exact variances: one on average, with an error known from the surveys themselves
    ratios = ((found - truth) ** 2 / exact).mean(axis=1)
    error = ratios.std() / np.sqrt(len(found))
    assert abs(ratios.mean() - 1) < 4 * error
    error = variances.std(axis=0) / np.sqrt(len(found))
    assert np.all(np.abs(variances.mean(axis=0) - exact) < 4.5 * error + 1e-9 * exact)


@pytest.mark.parametrize("name", ["ages", "line", "sets of ages", "hashed, two digits"])
def test_a_variance_five_per_cent_off_is_rejected(name: str) -> None:
    truth, found, _, exact = simulated(name, "value")
    for factor in (1 / 1.05, 1.05):
        ratios = ((found - truth) ** 2 / (exact * factor)).mean(axis=1)
        assert abs(ratios.mean() - 1) > 4 * ratios.std() / np.sqrt(len(found))


@pytest.mark.parametrize("kind", ["value", "category"])
@pytest.mark.parametrize("name", MECHANISMS)
def test_normal_intervals_cover(name: str, kind: str) -> None:
    truth, found, variances, _ = simulated(name, kind)
    for confidence in (0.8, 0.95, 0.99):
        half = stats.norm.ppf((1 + confidence) / 2) * np.sqrt(variances)
        covered = (np.abs(found - truth) <= half).mean(axis=1)
        assert abs(covered.mean() - confidence) < 0.004 + 4 * covered.std() / np.sqrt(len(found))


def test_the_intervals_are_those_of_the_estimate_function() -> None:
    mechanism = MECHANISMS["ages"]
    codes = some_truth(mechanism.domain, 1000)
    with pytest.warns(UserWarning, match="tests only"):
        reports = mechanism.randomize(np.array(mechanism.domain.values)[codes], insecure_test_seed=5)
    counts = count_reports(mechanism, reports)
    made = estimate(mechanism, counts, "category", confidence=0.9)
    people, variance = mechanism.estimates("category", counts.tally, 1000)
    assert made.people == pytest.approx(people)
    assert made.variance == pytest.approx(variance)
    assert made.share.sum() == pytest.approx(1.0)
    pure = mechanism.pure("category", counts.tally)
    assert pure is not None
    joint = estimate(mechanism, counts, "category", confidence=0.9, joint=True)
    for shown, miss in ((made, 0.1), (joint, 0.1 / len(people))):
        low, high = score_interval(pure, 1000, miss)
        assert shown.low == pytest.approx(low)
        assert shown.high == pytest.approx(high)
    assert made.insecure_test


@pytest.mark.parametrize("users", [1, 5, 200])
def test_guaranteed_intervals_cover_even_a_few_users(users: int) -> None:
    mechanism = boosted_response(in_blocks(range(6), 3), 1.0, 0.8)
    codes = some_truth(mechanism.domain, users)
    truth = np.bincount(codes, minlength=6)
    drawn = np.split(mechanism.drawn(np.tile(codes, 400), InsecureTestKeystream(4)), 400)
    missed = 0
    for reports in drawn:
        made = estimate(mechanism, count_reports(mechanism, reports), confidence=0.9, method="guaranteed")
        missed += int(np.count_nonzero((truth < made.low) | (truth > made.high)))
    assert missed / (6 * 400) < 0.1


def test_a_projection_is_the_nearest_histogram() -> None:
    from scipy.optimize import minimize

    people = np.array([-3.0, 11.0, 24.0, -8.0, 17.0, 22.0, 5.0, -4.0])
    nearest = minimize(  # type: ignore[call-overload]
        lambda x: np.sum((x - people) ** 2),
        np.full(8, 60 / 8),
        bounds=[(0, None)] * 8,
        constraints={"type": "eq", "fun": lambda x: x.sum() - 60},
        options={"ftol": 1e-12},
    ).x
    assert projected(people, 60) == pytest.approx(nearest, abs=1e-3)


def cut_and_rescaled(people: Floats) -> Floats:
    """What multi-freq-ldpy does to estimates of shares."""
    cut = np.maximum(people, 0.0)
    return np.asarray(cut / cut.sum())


SHAPES: dict[str, Floats] = {
    "even": np.ones(74),
    "hill": np.exp(-(((np.arange(74) - 30) / 11) ** 2) / 2),
    "falling": np.exp(-np.arange(74) / 15),
    "half of them empty": np.repeat([1.0, 0.0], 37),
    "long tail": 1 / np.arange(1.0, 75),
    "one value": np.eye(74)[0],
    "ten": np.arange(1.0, 11),
}


@pytest.mark.parametrize("noise", [0.1, 1.0, 3.0, 10.0])
@pytest.mark.parametrize("shape", SHAPES)
def test_a_histogram_is_no_worse_than_cut_and_rescaled_shares(shape: str, noise: float) -> None:
    """Of the mean share; subtracting what is too much has 1.2 to 2.1 times the error where noise is more."""
    truth = SHAPES[shape] / SHAPES[shape].sum()
    sd, generator = noise / len(truth), np.random.default_rng(5)
    found = truth + sd * generator.standard_normal((60, len(truth)))
    found += (1 - found.sum(axis=1, keepdims=True)) / len(truth)
    ours = [histogram(row, np.full(len(row), sd**2), 1.0) for row in found]
    for row in ours:
        assert row.sum() == pytest.approx(1)
        assert row.min() >= 0
    error, other, nearest = (
        np.sqrt(np.mean((np.array(rows) - truth) ** 2))
        for rows in (
            ours,
            [cut_and_rescaled(row) for row in found],
            [projected(row, 1.0) for row in found],
        )
    )
    assert error < 1.12 * other
    assert error < 1.12 * nearest
    if noise == 3 and shape != "long tail":
        assert error < 0.95 * other


def test_estimates_without_noise_stay_as_they_are() -> None:
    people = np.array([7.0, 0.0, 2.0, 1.0])
    assert histogram(people, np.zeros(4), 10.0) == pytest.approx(people)
    assert histogram(-people, np.ones(4), 10.0).sum() == pytest.approx(10)


def test_a_histogram_says_that_it_is_biased_and_keeps_intervals_that_hold() -> None:
    mechanism = boosted_response(in_blocks(range(8), 2), 1.0, 0.8)
    codes = some_truth(mechanism.domain, 60)
    made = estimate(mechanism, count_reports(mechanism, mechanism.drawn(codes, InsecureTestKeystream(2))))
    assert made.people.min() < 0
    assert not made.biased
    valid = made.projected()
    assert valid.biased
    assert valid.people.min() >= 0
    assert valid.people.sum() == pytest.approx(60)
    assert np.array_equal(valid.low, made.low)
    assert np.array_equal(valid.high, made.high)


def test_neighborhoods_overlap_and_are_not_projected() -> None:
    mechanism = boosted_response(on_scale(range(8), 3), 1.0, 0.9)
    counts = count_reports(mechanism, np.arange(8))
    with pytest.raises(InputError, match="do not overlap"):
        estimate(mechanism, counts, "category").projected()


def test_questions_that_make_no_sense() -> None:
    mechanism = MECHANISMS["ages"]
    counts = count_reports(mechanism, np.arange(10, 20))
    with pytest.raises(InputError, match="kind"):
        estimate(mechanism, counts, "values")
    with pytest.raises(InputError, match="method"):
        estimate(mechanism, counts, method="exact")
    with pytest.raises(InputError, match="confidence"):
        estimate(mechanism, counts, confidence=1.0)
    with pytest.raises(InputError, match="of configuration"):
        estimate(MECHANISMS["line"], counts)
    with pytest.raises(InputError, match="at least one good report"):
        estimate(mechanism, count_reports(mechanism, ["nobody"]))
