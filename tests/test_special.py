"""SciPy's functions under their own names, and the logarithm of the gamma function without SciPy."""

from __future__ import annotations

import random

import mpmath
import pytest
import scipy.special

from pbdp import special


@pytest.mark.parametrize("name", ["erfcx", "gammaincinv", "ndtri"])
def test_a_function_of_scipy_is_found_by_its_name(name: str) -> None:
    assert getattr(special, name) is getattr(scipy.special, name)


@pytest.mark.parametrize("name", ["no_such_function", "_private"])
def test_other_names_are_refused(name: str) -> None:
    with pytest.raises(AttributeError, match=name):
        getattr(special, name)


def arguments() -> list[float]:
    shapes = [1.0, 1.2, 1.5, 1.8, 2.0, 2.5, 10.0, 1e6, 1e17]
    chance = random.Random(1)
    return [1 + 1 / shape for shape in shapes] + [chance.uniform(1, 2) for _ in range(2000)]


def test_log_gamma_is_that_of_scipy() -> None:
    """To the last bit where both round every step; by one bit where a compiler joined two steps in one."""
    differences = [abs(special.log_gamma(x) - special.gammaln(x)) for x in arguments()]
    assert max(differences) <= 2.0**-52


def test_log_gamma_is_within_its_error() -> None:
    with mpmath.workdps(30):
        errors = [abs(special.log_gamma(x) - mpmath.loggamma(mpmath.mpf(x))) for x in arguments()]
    assert max(errors) < 4e-16
