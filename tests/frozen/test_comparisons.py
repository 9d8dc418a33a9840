"""Comparisons as earlier versions wrote them: read, claimed, paid for and said as before."""

from __future__ import annotations

import pytest

from tests.frozen import reading
from tests.frozen.kept import SAME_MACHINE, assert_kept

INDEX = reading.index()
# Widths and p-values come from searches, which end this near.
SEARCHED = 1e-5


@pytest.mark.parametrize("name", INDEX["comparisons"])
def test_a_comparison_claims_costs_and_says_the_same(name: str) -> None:
    known = INDEX["comparisons"][name]
    now = reading.comparison_facts(reading.HERE / "comparisons" / name)
    # other floats round the last digit of a weight otherwise, and a fingerprint has all of them
    claims = {claim: value for claim, value in known["claims"].items() if SAME_MACHINE or claim != "noise"}
    assert_kept(claims, now["claims"])
    length = known["found"]["high"] - known["found"]["low"]
    for figure, before in known["found"].items():
        room = SEARCHED * length if figure in ("low", "high", "estimate") else 0.0
        assert now["found"][figure] == pytest.approx(before, rel=SEARCHED, abs=room), figure
