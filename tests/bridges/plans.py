"""Plans used by several tests, each made once."""

from __future__ import annotations

from functools import cache

import pbdp
from pbdp.planning.plan import plan_of


@cache
def count() -> pbdp.Plan:
    """One whole number that moves by one."""
    return pbdp.plan(within=5, confidence=0.9, sensitivity=1, delta=1e-6, integer=True)


@cache
def two_counts(neighbors: str = "add/remove") -> pbdp.Plan:
    """Two whole numbers that move by up to two each."""
    return pbdp.plan(
        within=3, confidence=0.9, sensitivity=2, delta=1e-5, integer=True, releases=2, neighbors=neighbors
    )


@cache
def real() -> pbdp.Plan:
    """One real number."""
    return pbdp.plan(within=0.8, confidence=0.9, sensitivity=0.3, delta=1e-6)


@cache
def renyi() -> pbdp.Plan:
    """One whole number, planned in Rényi terms."""
    return pbdp.plan(within=5, confidence=0.9, sensitivity=1, rdp_order=8, integer=True)


@cache
def ranged(family: str) -> pbdp.Plan:
    """One whole number in 0..20, by a law of its own for every answer."""
    if family.startswith("boosted"):
        law = pbdp.DiscreteLaplace(3)
        return pbdp.boosted(law, range=(0, 20), confidence=0.8, sensitivity=1).plan(delta=1e-3)
    made = pbdp.plan(range=(0, 20), scale=3, confidence=0.8, sensitivity=1, delta=1e-3, integer=True)
    entry = next(entry for entry in (made.chosen, *made.others) if entry.design.name == family)
    assert not entry.design.follows_answer
    return plan_of(made.requirement, entry)


@cache
def relative() -> pbdp.Plan:
    """One number of zero or more, on a logarithmic scale."""
    return pbdp.plan(within="20%+5", confidence=0.9, sensitivity=1, delta=1e-5, nonnegative=True)
