from __future__ import annotations

import math

import numpy as np
import pytest

from pbdp.accounting.exact.accountant import plain_accountant
from pbdp.published.measure import AtDelta
from reproduction.accuracy.plain_noise import plain_kernels, staircase
from reproduction.accuracy.requirements import Aligned


@pytest.mark.parametrize(("size", "rho", "sensitivity"), [(5.0, 0.9, 1.0), (5.0, 0.8, 4.0), (40.0, 0.6, 4.0)])
def test_plain_noise_just_keeps_the_confidence(size: float, rho: float, sensitivity: float) -> None:
    aligned = Aligned(
        region="absolute", size=size, confidence=rho, sensitivity=sensitivity, measure=AtDelta(delta=1e-5)
    )
    for kernel in plain_kernels(aligned).values():
        kept = float(kernel.mass(-size / 2, size / 2))

        assert kept >= rho
        assert kept == pytest.approx(rho, abs=1e-9)


@pytest.mark.parametrize(("tau", "sensitivity"), [(2.5, 1.0), (2.5, 4.0), (10.0, 4.0), (8.0, 4.0)])
def test_an_edge_of_the_staircase_lies_on_the_edge_of_the_region(tau: float, sensitivity: float) -> None:
    law = staircase(tau, 0.8, sensitivity)
    inside, outside = law.log_density(np.array([tau * (1 - 1e-6), tau * (1 + 1e-6)]))

    assert inside - outside == pytest.approx(law.loss, rel=1e-9)
    assert law.largest_loss(sensitivity) == pytest.approx(law.loss)


def test_the_staircase_loses_less_than_laplace_noise() -> None:
    aligned = Aligned(
        region="absolute", size=5.0, confidence=0.8, sensitivity=4.0, measure=AtDelta(delta=1e-5)
    )
    kernels = plain_kernels(aligned)
    least = {kind: plain_accountant(kernel, 4.0).epsilon_at(1e-5).upper for kind, kernel in kernels.items()}

    # Laplace: the pure loss is Δ/b, and delta takes 2 log(1 - delta) off it
    assert least["plain laplace"] == pytest.approx(4 * math.log(5) / 2.5 + 2 * math.log1p(-1e-5), rel=1e-9)
    assert least["staircase"] < least["plain laplace"] < least["plain gaussian"]
