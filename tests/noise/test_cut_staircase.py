"""The staircase that ends."""

from __future__ import annotations

import math

import numpy as np
import pytest

import pbdp
from pbdp.noise import cut_staircase
from pbdp.noise.cut_staircase import CutStaircase


def test_masses_follow_the_definition() -> None:
    law = CutStaircase(loss=0.5, width=2, plateau=3, levels=2, end=0.1)
    row = np.array([0.1, 0.1, math.exp(-1), math.exp(-1), math.exp(-0.5), math.exp(-0.5), 1, 1, 1])
    row = np.concatenate([row, row[:6][::-1]])
    assert np.allclose(law.density(np.arange(-7, 8)), row / row.sum(), rtol=1e-13, atol=0)
    assert law.support == (-7.0, 7.0)
    assert law.is_symmetric
    assert law.is_unimodal
    assert math.isinf(law.largest_loss(1))


def test_an_even_plateau_lies_half_a_step_below_zero() -> None:
    law = CutStaircase(loss=0.5, width=1, plateau=2, levels=1, end=0.0)
    assert law.support == (-2.0, 1.0)
    assert not law.is_symmetric
    assert float(law.cdf(-1)) == pytest.approx(0.5)


@pytest.mark.parametrize(
    "change", [{"loss": 0.0}, {"width": 0}, {"plateau": 0}, {"levels": -1}, {"end": 0.9}, {"levels": 1 << 26}]
)
def test_impossible_shapes_are_refused(change: dict[str, float]) -> None:
    good = {"loss": 0.5, "width": 1, "plateau": 3, "levels": 2, "end": 0.1}
    with pytest.raises(pbdp.InputError):
        CutStaircase(**{**good, **change})  # type: ignore[arg-type]


def test_a_long_law_is_the_same_law(monkeypatch: pytest.MonkeyPatch) -> None:
    law = CutStaircase(loss=0.3, width=7, plateau=9, levels=20, end=1e-3)
    points, reach = law.masses(law.reach(0.0)), law.reach(0.0)
    monkeypatch.setattr(cut_staircase, "EXACTLY_ADDED", 0)
    cut_staircase._tabulated.cache_clear()
    assert law.reach(2.0**-62) == reach
    assert np.allclose(law.masses(reach), points, rtol=1e-13, atol=0)
    assert law.masses(reach).sum() == pytest.approx(1.0, abs=1e-15)
