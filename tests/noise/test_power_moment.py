from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from pbdp.noise.power_moment import PowerMoment


@pytest.mark.parametrize("shape", [1.3, 1.9, 2.4, 5.0])
@pytest.mark.parametrize("order", [1.2, 6.0])
def test_the_exponent_is_convex_or_concave_between_its_cuts(shape: float, order: float) -> None:
    moment = PowerMoment(shift=np.array([1.5]), order=order, shape=shape)
    inflections = np.concatenate(moment._inflections())
    cuts = np.unique([-30.0, 0.0, 1.5, *np.clip(inflections, -30.0, 30.0), 30.0])
    signs = []
    for low, high in pairwise(cuts):
        inside = np.linspace(low, high, 202)[1:-1]
        bends = np.sign(np.diff(moment._slope(inside[None, :])[0]))
        assert np.all(bends == bends[0])
        signs.append(bends[0])
    for inflection in inflections[np.abs(inflections) < 30]:
        place = int(np.searchsorted(cuts, inflection))
        assert signs[place - 1] == -signs[place]


def test_the_exponent_rises_to_its_peak_and_falls_beyond() -> None:
    moment = PowerMoment(shift=np.array([1.5]), order=6.0, shape=2.6)
    peak = float(moment._peak()[0])
    around = moment._slope(np.array([[peak - 1e-6, peak + 1e-6]]))[0]
    assert around[0] > 0 > around[1]
