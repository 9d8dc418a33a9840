"""Plans of every kind that is drawn from, made once a process."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial

import pbdp
from pbdp.mechanism.custom import CustomRegion
from pbdp.planning.plan import Plan
from pbdp.planning.plan import plan_of as certified_plan

_whole = partial(pbdp.plan, integer=True, delta=1e-5)
_gaussian = partial(_whole, families=("gaussian",), confidence=0.8)


def _custom() -> Plan:
    region = CustomRegion(interval=lambda q: (q - 2 - q // 7, q + 3 + q // 5), low=0, high=40)
    return _gaussian(region=region, sensitivity=1)


@cache
def _range() -> Plan:
    return _whole(range=(0, 40), scale=4, confidence=0.9, sensitivity=1)


def _soft_range(low: int, high: int) -> Plan:
    """The paper's soft boundary, which outputs may cross."""
    made = pbdp.boosted(pbdp.DiscreteGaussian(4), range=(low, high), confidence=0.9, sensitivity=1)
    return made.plan(delta=1e-6)


FAR = "far range boosted"
# how it is made, and the design to choose where it is not the best one
_MAKERS: dict[str, tuple[Callable[[], Plan], str | None]] = {
    "whole": (partial(_whole, within=5, confidence=0.9, sensitivity=1), None),
    "real": (partial(pbdp.plan, within=2.5, confidence=0.9, sensitivity=1, delta=1e-6), None),
    "boosted": (partial(_gaussian, within=2, sensitivity=4), None),
    "lopsided": (partial(_whole, within=(2, 7), confidence=0.9, sensitivity=1), None),
    "relative": (
        partial(
            pbdp.plan,
            within="50%+2.5",
            confidence=0.8,
            sensitivity=4,
            delta=1e-5,
            nonnegative=True,
            families=("staircase",),
        ),
        "staircase, log scale",
    ),
    "whole relative": (
        partial(
            _whole, within="50%+4", confidence=0.8, sensitivity=1.5, nonnegative=True, families=("staircase",)
        ),
        "staircase, log scale",
    ),
    "decoded": (partial(_whole, within="50%+4", confidence=0.8, sensitivity=1.5, nonnegative=True), None),
    "decoded real": (partial(pbdp.plan, within="20%+2", confidence=0.8, sensitivity=1, delta=1e-5), None),
    "decoded range": (partial(_whole, within=5, confidence=0.9, sensitivity=1, range=(0, 30)), None),
    "nonnegative per answer": (
        partial(_gaussian, within="10%+3", sensitivity=2, nonnegative=True),
        "boosted gaussian, per answer",
    ),
    "relative per answer": (
        partial(_gaussian, within="10%+3", sensitivity=2),
        "boosted gaussian, per answer",
    ),
    # for comparing times: away from the small integers, which Python keeps
    FAR: (partial(_soft_range, 1000, 1040), None),
    "range clamped": (_range, "gaussian, clamped"),
    "range boosted": (partial(_soft_range, 0, 40), None),
    "range truncated": (_range, "truncated gaussian"),
    "bounded": (partial(_whole, within=5, confidence=0.9, sensitivity=1, range=(0, 30)), "laplace"),
    "custom": (_custom, "boosted gaussian, per answer"),
    "renyi": (
        partial(pbdp.plan, within=5, confidence=0.9, sensitivity=1, rdp_order=10, integer=True),
        None,
    ),
}
KINDS = tuple(kind for kind in _MAKERS if kind != FAR)


@cache
def plan_of(kind: str) -> Plan:
    """A plan of this kind."""
    maker, name = _MAKERS[kind]
    made = maker()
    entries = (made.chosen, *made.others)
    chosen = made.chosen if name is None else next(e for e in entries if e.design.name == name)
    return certified_plan(made.requirement, chosen)
