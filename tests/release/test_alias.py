"""The alias table draws exactly the weights that were accounted."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from pbdp.mechanism.weights import TOTAL, WeightTable
from pbdp.release.alias import CHUNK, AliasTable, alias_table
from pbdp.release.keystream import SLACK, WORD, InsecureTestKeystream
from tests.release.plans import KINDS, plan_of

MOVING = [kind for kind in KINDS if plan_of(kind).design.follows_answer]


def enumerated(table: AliasTable) -> Counter[int]:
    """Weights of all values, from the buckets, by counting words instead of asking the table for them."""
    weights: Counter[int] = Counter()
    capacity = 1 << (62 - table.bits)
    for bucket in range(1 << table.bits):
        # the first word of the bucket that gives its second value, found by halving
        low, high = 0, 1 << (64 - table.bits)
        base = bucket << (64 - table.bits)
        second = table.value_of(base + high - 1)
        while low < high:
            middle = (low + high) // 2
            low, high = (
                (low, middle)
                if table.value_of(base + middle) == second and _is_second(table, base + middle)
                else (middle + 1, high)
            )
        assert low % 4 == 0, "a value has a whole number of units of 2^-62"
        if low:
            weights[table.value_of(base)] += low // 4
        weights[second] += capacity - low // 4
    return +weights


def _is_second(table: AliasTable, word: int) -> bool:
    bucket = word >> (64 - table.bits)
    return ((word << table.bits) % (1 << 64)) >= int(table.thresholds[bucket])


def weights_of(table: WeightTable) -> dict[int, int]:
    return {table.start + i: w for i, w in enumerate(table.weights.tolist()) if w}


def test_random_tables_are_kept_weight_by_weight() -> None:
    rng = np.random.default_rng(7)
    for trial in range(400):
        size = int(rng.integers(1, 70))
        masses = rng.dirichlet(np.full(size, rng.choice([0.03, 0.5, 5.0])))
        weights = np.floor(masses * TOTAL * (1 - 1e-9)).astype(np.int64)
        if trial % 4 == 0:
            weights = (weights >> 57) << 57  # many cells that fill a bucket exactly, many empty ones
        weights[int(rng.integers(size))] += TOTAL - int(weights.sum())
        table = WeightTable(start=int(rng.integers(-50, 50)), weights=weights)

        alias = alias_table(table)

        assert dict(enumerated(alias)) == weights_of(table)
        assert alias.weights() == weights_of(table)


@pytest.mark.parametrize("kind", MOVING)
def test_the_table_of_a_plan_is_the_one_that_was_accounted(kind: str) -> None:
    table = plan_of(kind).chosen.design.table_at(0.0)
    assert alias_table(table).weights() == weights_of(table)


@pytest.mark.parametrize("size", [1, 2, 3, 64])
def test_one_cell_and_equal_cells(size: int) -> None:
    weights = np.full(size, TOTAL // size, dtype=np.int64)
    weights[0] += TOTAL - int(weights.sum())
    table = WeightTable(start=0, weights=weights)
    assert alias_table(table).weights() == weights_of(table)


@pytest.mark.parametrize("count", [0, 1, 5, CHUNK, CHUNK + 1, 2 * CHUNK + 17])
def test_many_draws_are_single_look_ups_of_the_key_stream(count: int) -> None:
    alias = alias_table(plan_of("whole").chosen.design.table_at(0.0))

    drawn = alias.draw(count, InsecureTestKeystream(3))

    buffer = bytearray(count * WORD + SLACK)
    InsecureTestKeystream(3).stream().fill(buffer, memoryview(bytes(count * WORD)))
    words = np.frombuffer(buffer, dtype="<u8", count=count).tolist()
    assert drawn.tolist() == [alias.value_of(word) for word in words]
