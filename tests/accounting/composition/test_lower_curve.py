"""The two lemmas behind lower values, checked by direct sums."""

from __future__ import annotations

import math

import numpy as np
import pytest

from pbdp.accounting.composition.convolution import composed_curve
from pbdp.accounting.composition.loss_distribution import split
from pbdp.accounting.composition.loss_law import LossLaw, law_delta, loss_law, table_loss_law
from pbdp.accounting.composition.lower_curve import LowerCurve
from pbdp.accounting.composition.window import Window
from pbdp.noise.kernel import Array
from tests.accounting.composition.laws import delta_of, gaussian_table


def spread_law(step: float) -> tuple[Array, Array]:
    """Midpoints and masses of the density e^(r/2) / (4 sinh(h/2)) on [-h, h]."""
    edges = np.linspace(-step, step, 4001)
    masses = np.diff(np.exp(edges / 2)) / (2 * math.sinh(step / 2))
    return (edges[1:] + edges[:-1]) / 2, masses


@pytest.mark.parametrize("step", [0.9, 0.2])
def test_the_spread_has_the_stated_moments(step: float) -> None:
    points, masses = spread_law(step)
    assert masses.sum() == pytest.approx(1)
    assert masses @ np.exp(-points) == pytest.approx(1, rel=1e-6)
    assert masses @ points <= step**2 / 6
    assert masses @ points**2 - (masses @ points) ** 2 <= step**2 / 3
    for power in (-5.0, -1.0, 0.5, 3.0, 20.0):
        assert math.log(masses @ np.exp(power * points)) <= (power**2 + power) * step**2 / 6 + 1e-6


@pytest.mark.parametrize("position", np.linspace(0, 1, 9))
def test_a_split_atom_lies_below_the_spread_atom(position: float) -> None:
    step = 0.4
    points, masses = spread_law(step)
    # The first of three outputs has its loss `position` of the way between two grid points.
    p = 0.5
    first = np.array([p, 1 - p])
    second = np.array([p * math.exp(-position * step), 1 - p])
    atom = split(loss_law(first, second), step)
    for epsilon in np.linspace(-1, 1.5, 26):
        spread = p * float(masses @ np.maximum(-np.expm1(epsilon - position * step - points), 0))
        spread += (1 - p) * float(masses @ np.maximum(-np.expm1(epsilon - points), 0))
        assert delta_of(atom, float(epsilon)) <= spread + 1e-6


@pytest.mark.parametrize("law", [table_loss_law(gaussian_table(5.0), 1), loss_law([0.7, 0.3], [0.4, 0.6])])
def test_the_lower_curve_of_one_release_lies_below_its_exact_curve(law: LossLaw) -> None:
    step = 2e-3
    part = split(law, step)
    grid = Window(tilt=2.0, step=step, first=-(1 << 11), cells=1 << 12, center=50)
    below = LowerCurve(
        curve=composed_curve([(part, 1)], grid), releases=1, excess=part.excess, raised=part.raised
    )
    for epsilon in np.linspace(0, 0.6, 31):
        exact = law_delta(law, float(epsilon))
        assert below.value(float(epsilon)) <= exact.upper
        assert below.curve.upper(float(epsilon)) + law.infinite_above >= exact.lower
    assert below.value(0.1) >= 0.98 * law_delta(law, 0.1).lower
