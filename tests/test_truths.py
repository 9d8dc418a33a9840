"""Nothing costs more than the record says: some requests in every run, all of them in `make soak`."""

from __future__ import annotations

from typing import Any

import pytest

from tests.effort import FULL, SHARE
from tests.truths import ALLOWED, answer, dearer, got_dearer, recorded

ENTRIES = recorded()[:: 1 if FULL else SHARE]


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: f"{entry['kind']}-{entry['request']}"[:80])
def test_a_recorded_request_gets_no_dearer(entry: dict[str, Any]) -> None:
    now = answer(entry["kind"], entry["request"])
    assert got_dearer(entry, now) <= ALLOWED


def test_a_dearer_epsilon_a_wider_width_and_a_lower_confidence_are_noticed() -> None:
    before = {"epsilon": 1.0, "within": 5.0, "confidence": 0.9}
    for worse in ({"epsilon": 1.03}, {"within": 5.2}, {"confidence": 0.897}):
        assert dearer(before, before | worse) > ALLOWED
    assert dearer(before, before | {"epsilon": 0.9, "within": 4.0, "confidence": 0.95}) < 0


def test_a_wider_number_of_a_table_is_noticed() -> None:
    assert dearer({"within": {"a": 1.0, "b": 2.0}}, {"within": {"a": 1.0, "b": 2.1}}) > ALLOWED
