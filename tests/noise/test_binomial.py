"""Binomial noise: its own corners; digits are in test_lattice_golden."""

from __future__ import annotations

import math

import numpy as np
import pytest

from pbdp.errors import InputError
from pbdp.noise.binomial import Binomial
from pbdp.noise.discrete_gaussian import DiscreteGaussian


@pytest.mark.parametrize("trials", [2, 4, 30, 32, 34, 60])
def test_masses_are_binomial_coefficients(trials: int) -> None:
    expected = [math.comb(trials, k) / 2**trials for k in range(trials + 1)]

    np.testing.assert_allclose(Binomial(trials=trials).masses(trials // 2), expected, rtol=1e-13)


def test_nothing_lies_outside_the_support() -> None:
    kernel = Binomial(trials=4)

    assert kernel.support == (-2.0, 2.0)
    assert kernel.density([-3, 3, 100]).tolist() == [0, 0, 0]
    assert kernel.survival([2, 3]).tolist() == [0, 0]
    assert kernel.reach(1e-300) == 2


def test_many_trials_are_nearly_gaussian() -> None:
    kernel, gaussian = Binomial(trials=10**8), DiscreteGaussian(sigma=5000.0)

    assert float(kernel.survival(20000)) == pytest.approx(float(gaussian.survival(20000)), rel=1e-6)
    assert kernel.reach(1e-6) == pytest.approx(gaussian.reach(1e-6), abs=1)


def test_it_says_what_it_is() -> None:
    kernel = Binomial(trials=4)

    assert (kernel.family, kernel.is_log_concave, kernel.is_symmetric, kernel.is_unimodal) == (
        "binomial",
        True,
        True,
        True,
    )
    assert kernel.largest_loss(1) == math.inf


@pytest.mark.parametrize(
    ("trials", "rule"),
    [
        (0, "a whole number of at least 2"),
        (3, "even"),
        (2.5, "a whole number"),
        (2**40, "at most 68719476736"),
    ],
)
def test_trials_must_be_an_even_number_that_fits(trials: float, rule: str) -> None:
    with pytest.raises(InputError, match=f"trials must be {rule}"):
        Binomial(trials=trials)  # type: ignore[arg-type]
