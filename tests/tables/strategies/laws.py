"""Noise for strategies, and what two laws of many independent numbers differ by, summed up atom by atom."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from pbdp.accounting.composition.loss_distribution import cell_sums
from pbdp.mechanism.absolute import AbsoluteRegion
from pbdp.mechanism.design import Design
from pbdp.mechanism.grid import whole_numbers
from pbdp.mechanism.weights import WeightTable
from pbdp.noise.family import kernel_from
from pbdp.noise.kernel import Array, Index


def design(family: str, **parameters: float) -> Design:
    return Design(
        grid=whole_numbers(), kernel=kernel_from(family, parameters), region=AbsoluteRegion.even(1.0)
    )


def drawn(design: Design, count: int, rng: np.random.Generator) -> Index:
    """Noise, by numpy's own generator."""
    table = design.table_at(0.0)
    shares = table.probabilities()
    return rng.choice(table.values(), p=shares / shares.sum(), size=count)


def moved_pair(table: WeightTable, by: int) -> tuple[Array, Array]:
    """The probabilities of all outputs of a number, and of the same number moved."""
    shares, far = table.weights / 2.0**62, abs(by)
    one = np.concatenate([shares, np.zeros(far)])
    other = np.concatenate([np.zeros(far), shares])
    return (one, other) if by >= 0 else (other, one)


def largest_delta(pairs: Sequence[tuple[Array, Array]], epsilon: float) -> float:
    """The hockey-stick divergence of products, from all combinations of outputs.

    Outputs with the same ratio are put together, which changes nothing; those with next to no probability,
    whose weights are a few units, count as such that the other law does not have, which is never too little.
    """
    losses: Array = np.zeros(1)
    masses: Array = np.ones(1)
    never = 0.0
    for one, other in pairs:
        both = (one > 1e-12) & (other > 1e-12)
        never += float(one[~both].sum())
        ratio = np.log(one[both] / other[both])
        sums = (losses[:, None] + ratio[None, :]).ravel()
        shares = (masses[:, None] * one[both][None, :]).ravel()
        # those that are a hair's breadth apart are the same, the larger one
        keys, where = np.unique(np.ceil(sums * 1e6) / 1e6, return_inverse=True)
        losses, masses = keys, cell_sums(where.reshape(-1), shares)
    over = losses > epsilon
    return never + float(np.sum(masses[over] * -np.expm1(epsilon - losses[over])))


def worst_delta(designs: Mapping[str, Design], moves: Iterable[Mapping[str, Index]], epsilon: float) -> float:
    """The most that any of these changes of the rows of all parts reveals.

    Tables are symmetric, so neither the direction of a row nor which row it is makes a difference.
    """
    kinds = {
        tuple((name, tuple(sorted(np.abs(rows[rows != 0]).tolist()))) for name, rows in change.items())
        for change in moves
    }
    found = [0.0]
    for kind in kinds:
        pairs = [moved_pair(designs[name].table_at(0.0), by) for name, rows in kind for by in rows]
        found.append(largest_delta(pairs, epsilon) if pairs else 0.0)
    return max(found)
