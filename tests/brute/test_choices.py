"""Choices against enumeration: all scores, all neighbors, every list of picks, from the record alone."""

from __future__ import annotations

from typing import Any

import pytest

from pbdp.choosing.exponential_mechanism import ExponentialMechanism
from pbdp.choosing.law import Law
from pbdp.choosing.permute_and_flip import PermuteAndFlip
from pbdp.choosing.request import Asked
from pbdp.choosing.search import plan_by
from tests.brute import choices

DELTA = 1e-3
# options, picks, width, sensitivity, confidence
ASKED = [(2, 1, 2, 1, 0.9), (3, 1, 1, 1, 0.8), (3, 2, 1, 1, 0.8), (3, 2, 2, 2, 0.6), (4, 2, 1, 1, 0.7)]


def record_of(kind: type[Law], case: tuple[int, int, int, int, float], **more: Any) -> dict[str, Any]:
    options, top, within, sensitivity, confidence = case
    asked = Asked(options=options, sensitivity=sensitivity, integer=True, top=top, delta=DELTA, **more)
    plan = plan_by(kind, asked, within, confidence)
    assert plan is not None
    record: dict[str, Any] = plan.record()
    return record


@pytest.mark.parametrize("more", [{"neighbors": "replace"}, {"rising": True}, {}])
@pytest.mark.parametrize("kind", [PermuteAndFlip, ExponentialMechanism])
@pytest.mark.parametrize("case", ASKED)
def test_no_neighbors_and_no_scores_break_a_plan(
    kind: type[Law], case: tuple[int, int, int, int, float], more: dict[str, Any]
) -> None:
    record = record_of(kind, case, **more)
    furthest = record["within"] + 3
    # one pick by permute and flip needs no delta
    delta = 0.0 if kind is PermuteAndFlip and record["top"] == 1 else record["delta"]
    assert choices.largest_delta(record, furthest) <= delta + 1e-12
    assert choices.least_right(record, furthest) >= record["confidence"] - 1e-12


def test_the_judge_notices_what_does_not_hold() -> None:
    record = record_of(ExponentialMechanism, ASKED[2], neighbors="replace")
    assert choices.largest_delta(record | {"sensitivity": 2}, 4) > DELTA
    assert choices.largest_delta(record | {"epsilon": 0.7 * record["epsilon"]}, 4) > DELTA
    assert choices.least_right(record | {"within": 0}, 4) < record["confidence"]
