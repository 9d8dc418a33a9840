"""Surveys, audited: every randomizer passes, and reports that tell more are caught."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pbdp.audit.audit import audit_plan
from pbdp.local.boosted_response import boosted_response
from pbdp.local.domain import without_categories
from tests.local.test_configuration import MECHANISMS

FEW: dict[str, Any] = {"draws": 20_000, "confidence": 0.999999}


@pytest.mark.parametrize("name", MECHANISMS)
def test_true_reports_pass(name: str) -> None:
    mechanism = MECHANISMS[name]
    found = audit_plan(mechanism, **FEW)
    assert found.passed
    loss = found.only.loss
    assert 0 <= loss.epsilon_lower <= loss.reachable <= mechanism.epsilon
    assert found.record()["accuracy"] is None
    assert "reports that count in cell" in found.describe()


def test_reports_that_tell_more_are_caught() -> None:
    domain = without_categories(range(4))
    asked, used = (boosted_response(domain, epsilon, epsilon) for epsilon in (1.0, 1.3))

    def draw(answer: int, count: int) -> object:
        return used.randomize(np.full(count, answer)).values

    found = audit_plan(asked, draw, draws=100_000)  # type: ignore[arg-type]  # reports, not floats
    assert {"privacy", "fit"} <= set(found.failures)


def test_reports_that_are_none_are_caught() -> None:
    mechanism = boosted_response(without_categories(range(4)), 1.0, 1.0)

    def draw(answer: int, count: int) -> object:
        reports = mechanism.randomize(np.full(count, answer)).values
        reports[0] = 17
        return reports

    found = audit_plan(mechanism, draw, **FEW)  # type: ignore[arg-type]  # reports, not floats
    assert found.failures == ("outputs",)
