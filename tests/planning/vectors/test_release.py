"""Releasing vectors: forms, refusals, the grid, and the laws that were accounted."""

from __future__ import annotations

import math
import os
import warnings
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import polars as pl
import pytest
from scipy.stats import beta, chi, chi2, gamma, norm

from pbdp.errors import InputError
from pbdp.planning.plan import Plan, plan_of
from pbdp.planning.vectors.ask import plan_vector, vector_plan
from pbdp.planning.vectors.euclidean import spherical_designs
from pbdp.planning.vectors.product_laplace import ProductLaplace
from pbdp.planning.vectors.spherical_gaussian import SphericalGaussian
from pbdp.planning.vectors.spherical_laplace import SphericalLaplace
from pbdp.release.keystream import InsecureTestKeystream, InsecureTestSeedWarning, SecureKeystream
from pbdp.release.publisher import read_answers
from pbdp.release.releaser import Released
from pbdp.release.sampler import MovingSampler

Array = npt.NDArray[np.float64]
# A true fit is rejected once in a thousand million runs.
LEVEL = 1e-9
SECURE = SecureKeystream()
DELTA = 1e-6
NORMS = ["linf", "l2", "l1"]


@cache
def plan(norm: str, dimensions: int = 4, within: float = 20.0, family: str | None = None) -> Plan:
    made = plan_vector(
        within=within,
        confidence=0.9,
        dimensions=dimensions,
        norm=norm,
        sensitivity=1.0,
        delta=DELTA,
        step=None if norm == "l2" else 0.25,
        touches=None if norm == "l2" else 2,
    )
    if family is None:
        return made
    if norm == "l2":
        made = vector_plan(made.requirement, spherical_designs)
    chosen = next(entry for entry in (made.chosen, *made.others) if entry.design.name == family)
    return plan_of(made.requirement, chosen)


def step_of(made: Plan) -> float:
    match made.mechanism:
        case SphericalGaussian(rounding=rounding) | SphericalLaplace(rounding=rounding):
            return rounding.step
    return 0.25


@pytest.mark.parametrize("norm", NORMS)
def test_the_result_has_the_form_of_the_answer(norm: str) -> None:
    made = plan(norm)
    values = [1.5, -20.0, 3e6, 0.1]
    for answer in (values, tuple(values)):
        found = made.release(answer)
        assert type(found) is type(answer)
        assert all(type(number) is float for number in found)
    array = made.release(np.array(values, dtype=np.float32))
    assert isinstance(array, np.ndarray)
    assert str(array.dtype) == "float64"
    assert made.release(np.array([[1, 2], [3, 4]])).shape == (2, 2)
    series = pd.Series(values, index=list("abcd"), name="visits")
    published = made.release(series)
    assert list(published.index) == list("abcd")
    assert published.name == "visits"
    assert made.release(pl.Series("visits", values)).name == "visits"
    exact = made.release([Fraction(1, 3), Decimal("0.1"), 7, 2.5])
    assert [type(number) for number in exact] == [Fraction, Decimal, float, float]
    for number in (*made.release(values), *published, *exact):
        assert Fraction(number) % Fraction(step_of(made)) == 0


@pytest.mark.parametrize("norm", ["linf", "l1"])
def test_whole_numbers_stay_whole_where_the_plan_says_so(norm: str) -> None:
    made = plan_vector(
        within=30, confidence=0.9, dimensions=3, norm=norm, sensitivity=1, delta=1e-6, integer=True
    )

    assert all(type(number) is int for number in made.release([5, 6, 7]))
    assert made.release(np.array([5, 6, 7], dtype=np.int16)).dtype == np.int64


@pytest.mark.parametrize("answer", [[1, 2, 3.0], np.zeros(3), [Decimal(1), 2, 3], pd.Series([1, None, 2])])
def test_whole_numbers_in_l1_are_whole_by_their_type(answer: Any) -> None:
    """Rounding would make a change of 0.01 in each of 100 coordinates one of 100, not of 1."""
    made = plan_vector(
        within=30, confidence=0.9, dimensions=3, norm="l1", sensitivity=1, delta=1e-6, integer=True
    )
    with pytest.raises(InputError, match="whole numbers by their type"):
        made.prepared(answer)
    made.release([1, None, np.uint64(2**64 - 1)])
    made.release(pd.Series([1, None, 2], dtype="Int64"))
    real = plan_vector(
        within=30, confidence=0.9, dimensions=3, norm="linf", sensitivity=1, delta=1e-6, integer=True
    )
    real.release(answer)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize(
    "answer",
    [
        [1.0, 2.0, 3.0],
        [1.0] * 5,
        [],
        np.zeros((2, 3)),
        [1.0, "7531", 2.0, 3.0],
        [True, 2.0, 2.0, 3.0],
        np.array(["a", "b", "c", "d"]),
        7531.0,
        "7531",
        None,
    ],
    ids=repr,
)
def test_what_is_no_vector_of_the_plan_is_refused_without_saying_what_it_was(norm: str, answer: Any) -> None:
    with pytest.raises(InputError) as caught:
        plan(norm).prepared(answer)

    assert "7531" not in str(caught.value)
    assert caught.value.name in {"answer", "answers"}


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize(
    ("answer", "counted"),
    [
        ([1.0, math.nan, 2.0, 3.0], [1.0, 0.0, 2.0, 3.0]),
        ([1.0, None, 2.0, 3.0], [1.0, 0.0, 2.0, 3.0]),
        ([Decimal("sNaN"), 1, 2, 3], [0, 1, 2, 3]),
        (np.array([1, 2, 3, np.nan]), [1, 2, 3, 0]),
        (pd.Series([1.0, None, 2.0, 3.0]), [1.0, 0, 2.0, 3.0]),
        (pl.Series([1.0, None, 2.0, 3.0]), [1.0, 0, 2.0, 3.0]),
        ([1e300, -math.inf, 10**400, 0.0], [math.inf, -1e300, 1e300, 0.0]),
    ],
    ids=repr,
)
def test_every_vector_is_taken_number_by_number(norm: str, answer: Any, counted: list[float]) -> None:
    publisher = plan(norm).releaser.publisher

    steps = read_answers(answer, publisher).steps().tolist()

    assert steps == [publisher.exact_steps(number) for number in counted]
    assert max(map(abs, steps)) <= 2**52
    published = np.array(plan(norm).release(answer), dtype=np.float64)
    assert np.all(np.isfinite(published))


def test_the_refusal_of_a_length_says_both() -> None:
    with pytest.raises(InputError, match=r"of 4 numbers.*got 3"):
        plan("l2").release([1.0, 2.0, 3.0])


@pytest.mark.parametrize("norm", NORMS)
def test_a_test_seed_repeats_and_marks_the_result(norm: str) -> None:
    made = plan(norm)
    with pytest.warns(InsecureTestSeedWarning) as caught:
        first = made.release([1.0, 2.0, 3.0, 4.0], insecure_test_seed=3)
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        again = made.release([1.0, 2.0, 3.0, 4.0], insecure_test_seed=3)
        other = made.release([1.0, 2.0, 3.0, 4.0], insecure_test_seed=4)

    assert isinstance(first, Released)
    assert first.insecure_test_seed == 3
    assert [high - value for high, value in zip(first.high, first.value, strict=True)] == [20.0] * 4
    assert first.confidence == made.confidence
    assert first.value == again.value != other.value
    with pytest.raises(InputError):
        made.release([1.0, 2.0, 3.0, 4.0], insecure_test_seed=-1)


@pytest.mark.parametrize("norm", NORMS)
def test_threads_and_forks_do_not_repeat_noise(norm: str) -> None:
    made = plan(norm, 64, 640.0)
    zeros = [0.0] * 64
    made.release(zeros)
    read, write = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        os.write(write, repr(made.release(zeros)).encode())
        os._exit(0)
    os.waitpid(child, 0)
    drawn = [repr(made.release(zeros)), os.read(read, 1 << 16).decode()]
    with ThreadPoolExecutor(4) as pool:
        drawn += [repr(found) for found in pool.map(lambda _: made.release(zeros), range(8))]

    assert len(set(drawn)) == 10


def test_l1_draws_the_very_table_that_was_accounted() -> None:
    made = plan("l1")
    design = made.mechanism
    assert isinstance(design, ProductLaplace)
    sampler = design.sampler(made.requirement)
    assert isinstance(sampler, MovingSampler)
    table = design.table

    assert sampler.table.weights() == {
        int(n): int(w) for n, w in zip(table.values(), table.weights, strict=True) if w
    }
    answer = np.array([0.124, 0.125, -0.125, -7.4])
    noise = sampler.table.draw(4, InsecureTestKeystream(9))
    with pytest.warns(InsecureTestSeedWarning):
        found = made.release(answer, insecure_test_seed=9).value
    # floor(x / 0.25 + 1/2)
    assert np.array_equal(found, (np.array([0, 1, 0, -30]) + noise) * 0.25)


def test_linf_draws_the_table_of_the_scalar_plan_for_every_coordinate() -> None:
    made = plan("linf", 6)
    assert made.requirement.each.releases == 2, "the other coordinates are not counted, but released"
    releaser = made.releaser
    steps = np.array([0, 4, -8, 1, 2, 3])
    outputs = releaser.output_steps(steps, InsecureTestKeystream(1))
    with pytest.warns(InsecureTestSeedWarning):
        found = made.release((steps * 0.25).tolist(), insecure_test_seed=1).value

    assert found == (outputs * 0.25).tolist()


def fit(shares: Array) -> float:
    """Chi-square of places in a continuous law, in 20 equal parts."""
    counts = np.bincount(np.clip((shares * 20).astype(int), 0, 19), minlength=20)
    hoped = len(shares) / 20
    return float(chi2.sf(np.sum((counts - hoped) ** 2 / hoped), 19))


def errors(made: Plan, count: int) -> Array:
    """What many releases of one vector differ by from it."""
    answer = np.random.default_rng(0).normal(size=made.requirement.dimensions) * 1e5
    return np.array([made.release(answer) - answer for _ in range(count)])


def test_plain_gaussian_coordinates_fit_and_do_not_fit_two_per_cent_off() -> None:
    made = plan("l2", 100_000, 3000.0, "gaussian")
    design = made.mechanism
    assert isinstance(design, SphericalGaussian)
    drawn = errors(made, 5).ravel()

    assert fit(norm.cdf(drawn / design.sigma)) > LEVEL
    for off in (0.98, 1.02):
        assert fit(norm.cdf(drawn / (design.sigma * off))) < LEVEL


def boosted_shares(design: SphericalGaussian, made: Plan, lengths: Array, off: float) -> Array:
    kernel = chi(made.requirement.dimensions, scale=design.sigma * off)
    edge = design.rounding.room(made.requirement)
    inside = kernel.cdf(edge)
    place = kernel.cdf(lengths)
    below = np.where(lengths <= edge, place, inside + design.kept * (place - inside))
    return np.asarray(below / (inside + design.kept * (1 - inside)))


def test_boosted_lengths_fit_and_do_not_fit_two_per_cent_off() -> None:
    made = plan("l2", 100, 5.0, "boosted gaussian")
    design = made.mechanism
    assert isinstance(design, SphericalGaussian)
    assert design.kept < 0.7
    drawn = errors(made, 4000)
    lengths = np.linalg.norm(drawn, axis=1)

    assert fit(boosted_shares(design, made, lengths, 1.0)) > LEVEL
    for off in (0.98, 1.02):
        assert fit(boosted_shares(design, made, lengths, off)) < LEVEL
    # a squared coordinate of a uniform direction has the Beta(1/2, (d-1)/2) law
    assert fit(beta(0.5, 49.5).cdf((drawn[:, 3] / lengths) ** 2)) > LEVEL
    inside = int(np.sum(lengths <= made.requirement.half_width))
    spread = math.sqrt(4000 * 0.09)
    # rounding is allowed for at its worst, which costs a little
    assert 3600 - 6 * spread <= inside <= 3600 + 6 * spread + 0.02 * 4000


def test_laplace_lengths_fit_and_do_not_fit_two_per_cent_off() -> None:
    made = plan("l2", 400, 900.0, "laplace")
    design = made.mechanism
    assert isinstance(design, SphericalLaplace)
    drawn = errors(made, 2500)
    lengths = np.linalg.norm(drawn, axis=1)

    assert fit(gamma(400, scale=design.scale).cdf(lengths)) > LEVEL
    for off in (0.98, 1.02):
        assert fit(gamma(400, scale=design.scale * off).cdf(lengths)) < LEVEL
    assert fit(beta(0.5, 199.5).cdf((drawn[:, 7] / lengths) ** 2)) > LEVEL


def hockey_stick(first: Array, second: Array, epsilon: float) -> float:
    return float(np.sum(np.maximum(first - math.exp(epsilon) * second, 0.0)))


@pytest.mark.parametrize("family", ["gaussian", "boosted gaussian", "laplace"])
def test_published_numbers_keep_epsilon_and_delta_one_by_one(family: str) -> None:
    """One dimension, every output of two rounded answers, the sampler's distance added on top."""
    made = plan("l2", 1, 4.0, family)
    design = made.mechanism
    assert isinstance(design, SphericalGaussian | SphericalLaplace)
    rounding = design.rounding
    apart = math.floor(rounding.sensitivity(made.requirement) / rounding.answer_step)
    reach = math.ceil(60 / rounding.step)
    edges = (np.arange(-reach, reach + 2) - 0.5) * rounding.step

    def law(answer: int) -> Array:
        y = edges - answer * rounding.answer_step
        if isinstance(design, SphericalLaplace):
            below = np.where(y < 0, np.exp(-np.abs(y) / design.scale) / 2, 0.5)
            above = np.where(y > 0, np.exp(-np.abs(y) / design.scale) / 2, 0.5)
        else:
            edge, kept = rounding.room(made.requirement), design.kept
            center = 2 * norm.cdf(edge / design.sigma) - 1
            constant = center + kept * (1 - center)
            tail = norm.cdf(-np.abs(y) / design.sigma)
            outer = norm.cdf(-edge / design.sigma)
            small = np.where(np.abs(y) >= edge, kept * tail, kept * outer + tail - outer) / constant
            below, above = np.where(y < 0, small, 0.5), np.where(y > 0, small, 0.5)
        masses = np.where(edges[1:] - answer * rounding.answer_step <= 0, np.diff(below), -np.diff(above))
        straddles = (y[:-1] < 0) & (y[1:] > 0)
        masses[straddles] = (1 - below[:-1] - above[1:])[straddles]
        return np.asarray(masses)

    charge = (1 + math.exp(made.epsilon)) * made.certificate.table_error
    worst = max(
        hockey_stick(*pair, made.epsilon)
        for remainder in (0, 1, 17, 2**rounding.halvings // 2)
        for pair in (
            (law(remainder), law(remainder + apart)),
            (law(remainder + apart), law(remainder)),
        )
    )
    assert float(np.sum(law(3))) == pytest.approx(1, abs=1e-12)
    assert worst + charge <= DELTA * (1 + 1e-9)
    if family != "laplace":
        # epsilon is not far larger than it needs to be: 1 % less does not hold
        assert hockey_stick(law(0), law(apart), 0.99 * made.epsilon) > DELTA


def test_the_confidence_holds_with_rounding_for_every_remainder() -> None:
    """P(|published - answer| <= within) in one dimension, from the CDF, for all answers on the grid."""
    made = plan("l2", 1, 4.0, "gaussian")
    design = made.mechanism
    assert isinstance(design, SphericalGaussian)
    step, fine = design.rounding.step, design.rounding.answer_step
    for steps in range(0, 2**design.rounding.halvings, 3):
        # the true answer may be anything that is rounded to this
        for answer in ((steps - 0.5) * fine, steps * fine, (steps + 0.4999) * fine):
            first, last = math.ceil((answer - 4.0) / step), math.floor((answer + 4.0) / step)
            ends = (np.array([first - 0.5, last + 0.5]) * step - steps * fine) / design.sigma
            held = float(np.diff(norm.cdf(ends))[0])
            assert held >= made.confidence
            assert held < made.confidence + 2e-3
