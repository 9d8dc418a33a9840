"""One plan of every kind that an audit has to deal with, made once."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import pbdp
from pbdp.mechanism.absolute import AbsoluteRegion
from pbdp.mechanism.custom import CustomRegion
from pbdp.planning.plan import plan_of

_ASKED: dict[str, dict[str, Any]] = {
    "whole": {"within": 5, "confidence": 0.9, "delta": 1e-6, "integer": True},
    "real": {"within": 2.5, "confidence": 0.9, "delta": 1e-6, "step": 2.0**-8},
    "relative": {"within": "5%+10", "nonnegative": True, "confidence": 0.9, "delta": 1e-6, "integer": True},
    "range": {"range": (0, 100), "scale": 3, "confidence": 0.8, "delta": 1e-6},
    "bounded": {"range": (0, 100), "within": 5, "confidence": 0.9, "delta": 1e-6, "integer": True},
    "renyi": {"within": 5, "confidence": 0.9, "rdp_order": 10, "integer": True},
    "ten": {
        "within": 20, "confidence": 0.9, "delta": 1e-6, "integer": True, "releases": 10,
        "families": ("huber", "gaussian"),
    },
    "ten renyi": {"within": 20, "confidence": 0.9, "rdp_order": 4, "integer": True, "releases": 10},
    "joint": {
        "within": 20, "confidence": 0.9, "delta": 1e-6, "integer": True, "releases": 5, "simultaneous": True,
        "families": ("huber", "gaussian"),
    },
    "table": {
        "within": 5,
        "confidence": 0.9,
        "sensitivity": 4,
        "delta": 1e-2,
        "integer": True,
        "families": ("cut staircase",),
    },
    "uneven": {"within": 2.5, "confidence": 0.9, "sensitivity": 1.3, "delta": 1e-6, "step": 0.25},
    "lopsided": {"within": (2, 8), "confidence": 0.9, "delta": 1e-6, "integer": True},
    "one-sided": {
        "region": AbsoluteRegion(below=3, above=math.inf),
        "confidence": 0.9,
        "delta": 1e-6,
        "integer": True,
    },
    "custom": {
        "region": CustomRegion(interval=lambda q: (q - 3, q + 4 + q // 20), low=0, high=60),
        "confidence": 0.8,
        "delta": 1e-5,
        "integer": True,
    },
    "log": {
        "within": "50%+2.5", "nonnegative": True, "confidence": 0.8, "sensitivity": 4, "delta": 1e-5,
        "families": ("laplace",),
    },
    "log in range": {
        "within": "50%+2.5", "nonnegative": True, "confidence": 0.8, "sensitivity": 4, "delta": 1e-5,
        "families": ("laplace",), "range": (100, 1000),
    },
    "decoded range": {"range": (0, 10.5), "within": 4, "confidence": 0.8, "delta": 1e-6},
    "constant": {"range": (0, 10), "within": 5, "confidence": 0.9, "delta": 1e-6, "integer": True},
}  # fmt: skip
# Not the best plans, but among those that were certified.
_OTHERS = {
    "log": "laplace, log scale",
    "log in range": "laplace, log scale",
    "per answer": "boosted laplace, per answer",
}
_SAME = {"per answer": "log"}

NAMES = (*_ASKED, *_SAME, "boosted range")


@cache
def plan_named(name: str) -> pbdp.Plan:
    """The plan of that name."""
    if name == "boosted range":
        law = pbdp.DiscreteLaplace(3)
        return pbdp.boosted(law, range=(0, 10), confidence=0.9, sensitivity=1).plan(delta=1e-5)
    plan = pbdp.plan(**{"sensitivity": 1, **_ASKED[_SAME.get(name, name)]})
    if name not in _OTHERS:
        return plan
    other = next(other for other in (plan.chosen, *plan.others) if other.design.name == _OTHERS[name])
    return plan_of(plan.requirement, other)
