"""Requirements for the tests of joint plans."""

from __future__ import annotations

from typing import Any

from pbdp.mechanism.requirement import Requirement
from pbdp.mechanism.within import region_within

FEW = ("laplace", "gaussian", "huber")


def count(within: float | str | tuple[float, float] = 20, **asked: Any) -> Requirement:
    """A requirement for counts."""
    nonnegative = asked.pop("nonnegative", False)
    usual = {"confidence": 0.9, "sensitivity": 1, "delta": 1e-6, "integer": True}
    return Requirement(region=region_within(within, nonnegative), **(usual | asked))
