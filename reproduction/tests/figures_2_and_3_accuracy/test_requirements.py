from __future__ import annotations

import json

import pytest

from pbdp.errors import InputError
from pbdp.mechanism.fixed_range import FixedRegion
from reproduction.figures_2_and_3_accuracy.requirements import (
    MEASURES,
    REGIONS,
    Aligned,
    aligned_of,
    measure_in_words,
)
from reproduction.published.measure import AtDelta, Measure
from reproduction.published.special_cases import Reading


def aligned(region: str, measure: Measure = MEASURES[0]) -> Aligned:
    return Aligned(region=region, size=10.0, confidence=0.8, sensitivity=4.0, measure=measure)


@pytest.mark.parametrize("region", REGIONS)
def test_the_smallest_region_has_the_size_asked_for(region: str) -> None:
    below, above = aligned(region).preferred.offsets(0.0)
    pair = aligned(region).case.pair(4.0)

    assert float(below) + float(above) == 10.0
    assert pair.high - pair.low == 10.0


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("region", REGIONS)
def test_settings_are_plain_json_and_read_back(region: str, measure: Measure) -> None:
    point = aligned(region, measure)

    assert aligned_of(json.loads(json.dumps(point.settings()))) == point


def test_what_is_varied_reads_back_too() -> None:
    point = Aligned(
        region="relative",
        size=5.0,
        confidence=0.9,
        sensitivity=1.0,
        measure=AtDelta(delta=1e-7),
        theta=0.5,
        reading=Reading.MENDED,
    )

    assert aligned_of(point.settings()) == point


def test_the_planner_is_asked_for_the_same_thing() -> None:
    fixed = aligned("fixed").asked()

    assert fixed.region == FixedRegion(low=-5.0, high=5.0)
    assert fixed.scale == pytest.approx(5 / 1.2815515655446004)  # Φ⁻¹(0.9)
    assert aligned("absolute", MEASURES[2]).asked(7).releases == 7
    assert aligned("absolute", MEASURES[2]).asked().rdp_order == 2.0


def test_an_unknown_region_is_refused() -> None:
    with pytest.raises(InputError, match="region must be among absolute, relative, fixed"):
        aligned("round")


def test_measures_in_words() -> None:
    assert measure_in_words(1e-5, None) == "δ = 1e-5"
    assert measure_in_words(None, 100.0) == "Rényi, α = 100"
