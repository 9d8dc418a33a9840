"""A plan of every kind, with answers for it; each is made once."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Any

import pbdp
from pbdp.mechanism.requirement import Requirement
from pbdp.mechanism.within import region_within

_number = partial(pbdp.plan, confidence=0.9, sensitivity=1, delta=1e-6, families=("laplace", "gaussian"))
_vector = partial(
    pbdp.plan, within=30, confidence=0.9, dimensions=3, sensitivity=1, delta=1e-6, integer=False
)


def _together() -> pbdp.Plan:
    asked = partial(Requirement, confidence=0.9, sensitivity=1, delta=1e-6, integer=True)
    return pbdp.plan(
        {"visits": asked(region=region_within(20)), "nights": asked(region=region_within(50), releases=2)},
        families=("laplace", "gaussian"),
    )


_MADE: dict[str, tuple[Callable[[], pbdp.Plan], Any]] = {
    "whole": (partial(_number, within=5, integer=True), 12),
    "real": (partial(_number, within=2.5), 1.5),
    "relative": (partial(_number, within="50%+10", nonnegative=True, integer=True), 30),
    "range": (partial(_number, range=(0, 100), scale=3), 12.0),
    "laws per answer": (
        partial(_number, range=(0, 9), within=1, sensitivity=2, integer=True, families=("linear program",)),
        5,
    ),
    "rdp": (partial(_number, within=5, integer=True, delta=None, rdp_order=10), 12),
    "several": (partial(_number, within=20, integer=True, releases=3), [120, 45, 3]),
    "linf": (partial(_vector, norm="linf", step=0.25), [1.5, 20.0, -3.25]),
    "linf touched": (partial(_vector, norm="linf", step=0.25, touches=1), [1.5, 20.0, -3.25]),
    "l1": (partial(_vector, norm="l1", step=0.25), [1.5, 20.0, -3.25]),
    "l2": (partial(_vector, error_norm="l2", step=0.25), [1.5, 20.0, -3.25]),
    "joint": (_together, {"visits": 120, "nights": [300, 7]}),
}
KINDS = tuple(_MADE)
VECTORS = ("linf", "linf touched", "l1", "l2")


@cache
def plan_of(kind: str) -> pbdp.Plan:
    """The plan of this kind."""
    return _MADE[kind][0]()


def answers_of(kind: str) -> Any:
    """True answers, in the form that `plan.release` takes."""
    return _MADE[kind][1]
