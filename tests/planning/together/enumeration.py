"""A joint plan worked out again by going through all combinations of outputs, from the tables alone."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from pbdp.planning.plan import Part, Plan

Masses = npt.NDArray[np.float64]


def pair_of(part: Part, shift: int) -> tuple[Masses, Masses]:
    """The probabilities of a part's outputs for an answer of 0 and for one of `shift`, side by side."""
    weights = part.design.table_at(0.0).weights / 2.0**62
    length = len(weights) + abs(shift)
    first, second = np.zeros(length), np.zeros(length)
    at = max(-shift, 0)
    first[at : at + len(weights)] = weights
    second[at + shift : at + shift + len(weights)] = weights
    return first, second


def product_of(pairs: Sequence[tuple[Masses, Masses]]) -> tuple[Masses, Masses]:
    """The probabilities of every combination of outputs."""
    first, second = np.ones(1), np.ones(1)
    for p, q in pairs:
        first, second = np.multiply.outer(first, p).ravel(), np.multiply.outer(second, q).ravel()
    return first, second


def neighbors_of(joint: Plan) -> Iterator[tuple[Masses, Masses]]:
    """All combinations of outputs of a plan, for all shifts that one person can cause in every number."""
    every = [part for part in joint.parts for _ in range(int(part.requirement.releases))]
    limits = [int(part.requirement.sensitivity) for part in every]
    ranges = [[*range(-limit, 0), *range(1, limit + 1)] for limit in limits]
    for shifts in itertools.product(*ranges):
        yield product_of([pair_of(part, shift) for part, shift in zip(every, shifts, strict=True)])


def hockey_stick(first: Masses, second: Masses, epsilon: float) -> float:
    """Sum over all outputs of what the first law has beyond e^epsilon times the second."""
    return float(np.sum(np.maximum(first - np.exp(epsilon) * second, 0.0)))


def worst(joint: Plan, epsilon: float) -> float:
    """The largest delta at epsilon over all shifts."""
    return max(hockey_stick(first, second, epsilon) for first, second in neighbors_of(joint))
