"""Figure 1: densities written down again, and a law for every setting."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm

from reproduction import figure_1_noise_shapes as noise_shapes
from reproduction.experiment import Row
from reproduction.tests.boosted_reference import density, printed_rate

LEAST_MASS = {
    "relative": norm.cdf(2 / 4) - norm.cdf(-2 / 4),
    "fixed": norm.cdf(20 / 4) - 0.5,
    "absolute": norm.cdf(3 / 4) - norm.cdf(-3 / 4),
}


@pytest.fixture(scope="module")
def rows() -> list[Row]:
    return [row for case in noise_shapes.cases(True) for row in noise_shapes.compute(case)]


@pytest.mark.parametrize("region", LEAST_MASS)
def test_curves_are_the_boosted_density(region: str, rows: list[Row]) -> None:
    ends = {
        "relative": {5.0: (2.0, 8.0), 9.0: (5.2, 12.8)},
        "fixed": {5.0: (0.0, 20.0), 9.0: (0.0, 20.0)},
        "absolute": {5.0: (2.0, 8.0), 9.0: (6.0, 12.0)},
    }[region]
    boost = printed_rate(0.9, LEAST_MASS[region])
    for answer, (low, high) in ends.items():
        curve = [r for r in rows if (r["kind"], r["region"], r["answer"]) == ("curve", region, answer)]
        assert len(curve) == 341
        y = np.array([float(str(row["y"])) for row in curve])
        apart = (np.abs(y - low) > 1e-9) & (
            np.abs(y - high) > 1e-9
        )  # the ends themselves are a matter of rounding
        boosted = np.array([float(str(row["boosted"])) for row in curve])
        wanted = density(y, answer, (low, high), 4.0, boost)
        assert boosted[apart] == pytest.approx(wanted[apart], rel=1e-9)
        assert curve[0]["low"] == pytest.approx(low)
        assert curve[0]["high"] == pytest.approx(high)


def test_every_setting_is_a_law_that_keeps_its_confidence(rows: list[Row]) -> None:
    checks = [row for row in rows if row["kind"] == "check"]
    assert len(checks) == 27
    for row in checks:
        assert float(str(row["total_mass"])) == pytest.approx(1, abs=1e-9)
        assert float(str(row["least_confidence"])) >= float(str(row["asked"])) - 1e-12
    assert noise_shapes.findings(rows)[0].holds is True
    # a density that does not integrate to one is found out
    spoilt = [row | {"total_mass": 1.001} if row["kind"] == "check" else row for row in rows]
    assert noise_shapes.findings(spoilt)[0].holds is False
