"""The printed formulas of a mechanism of `pbdp.boosted`."""

from __future__ import annotations

import math
from typing import Any

import pytest

import pbdp
from pbdp.errors import InputError
from reproduction.published import LABEL, Reading, published, published_epsilon

REGIONS: list[dict[str, Any]] = [{"within": 5}, {"within": "10%+5"}, {"range": (0, 20)}]


@pytest.mark.parametrize("region", REGIONS, ids=str)
@pytest.mark.parametrize("releases", [1, 10])
def test_figures_are_those_beside_a_plan(region: dict[str, Any], releases: int) -> None:
    made = pbdp.boosted(pbdp.Gaussian(4.0), **region, boost=0.5, sensitivity=1)
    printed = published(made).compose(releases)
    shared: dict[str, Any] = {"boost": 0.5, "sensitivity": 1, "releases": releases}
    assert printed.label == LABEL
    assert printed.epsilon(1e-6) == published_epsilon(made.kernel, made.region, delta=1e-6, **shared)
    assert printed.renyi(10) == published_epsilon(made.kernel, made.region, order=10, **shared)
    assert printed.delta(printed.epsilon(1e-6)) == pytest.approx(1e-6, rel=1e-6)


def test_the_losses_and_weights_of_absolute_error() -> None:
    made = pbdp.boosted(pbdp.Gaussian(3.0), within=5, confidence=0.95, sensitivity=1)
    printed = published(made)
    assert printed.added_losses.step == pytest.approx(made.added_losses[1])
    inside = (math.erf(-4 / 3 / math.sqrt(2)) - math.erf(-5 / 3 / math.sqrt(2))) / 2
    assert printed.weights.plus == printed.weights.minus == pytest.approx(inside)
    # what design calls unsound: less than the truth here
    assert printed.delta(1.0) < made.delta(1.0)


def test_a_reading_may_be_chosen() -> None:
    made = pbdp.boosted(pbdp.Gaussian(3.0), within=5, boost=0.5, sensitivity=1)
    assert published(made, Reading.EQUATION_6).weights.plus != published(made).weights.plus


@pytest.mark.parametrize(
    ("kernel", "region", "name"),
    [
        (pbdp.Binomial(60), {"within": 5}, "kernel"),
        (pbdp.Gaussian(3.0), {"within": (2, 5)}, "region"),
        (pbdp.Gaussian(0.1), {"within": 0.5, "sensitivity": 9}, "mechanism"),
    ],
)
def test_what_the_paper_has_no_formula_for_is_refused(kernel: Any, region: dict[str, Any], name: str) -> None:
    made = pbdp.boosted(kernel, **{"boost": 0.5, "sensitivity": 1, **region})
    with pytest.raises(InputError, match=f"^{name} must be"):
        published(made)
