"""The public keys that a query in SQL joins, and for each which groups of other tables it is in.

People of another table are counted by bits: one for each of its groups, put together per person. Tables of
more groups than there are bits for have the row of the group instead.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from pbdp.tables.bounded import BoundedAggregation
from pbdp.tables.keys import KeyTable, arrow_array

if TYPE_CHECKING:
    import pyarrow as pa

# Groups of other tables that one number has bits for, and that there are bits for at all: each is one more
# number to add up per person.
_BITS = 62
_MOST_BITS = 2 * _BITS


def key_tables(asked: BoundedAggregation) -> tuple[KeyTable, ...]:
    """The public tables that the query joins: the groups, or else the restrictions of single columns.

    Their columns are called k0, k1, ... by their place in `asked.by`; the public groups also need the columns
    of `key_arrow`.
    """
    places = {name: f"k{place}" for place, name in enumerate(asked.by)}
    return tuple(
        KeyTable(columns={places[name]: column for name, column in table.columns.items()})
        for table in public_tables(asked)
    )


def key_arrow(table: KeyTable, asked: BoundedAggregation) -> pa.Table:
    """A key table with the row numbers g, and for the groups which they are in other tables.

    That is a bit of b1_0, b1_1, ... for table 1, or its row m1 where there are too many.
    """
    made = table.arrow()
    for name, numbers in {"g": np.arange(len(table), dtype=np.int32), **_in_others(asked)}.items():
        made = made.append_column(name, arrow_array(numbers))
    return made


def _in_others(asked: BoundedAggregation) -> dict[str, npt.NDArray[np.int32 | np.int64]]:
    """For each group, which one it is in those other tables whose people are counted anew."""
    made: dict[str, npt.NDArray[np.int32 | np.int64]] = {
        name: np.zeros(len(asked.tables[0]), dtype=np.int64) for name in masks(asked)
    }
    by_bits = bits_of(asked)
    for at, table in asked.counted_anew.items():
        if at not in by_bits:
            made[f"m{at}"] = table.astype(np.int32)
        for group, (name, bit) in by_bits.get(at, {}).items():
            if name:
                made[name][table == group] = bit
    return made


def masks(asked: BoundedAggregation) -> list[str]:
    """The columns of the keys whose bits say which groups of other tables they are in."""
    return list(dict.fromkeys(name for bits in bits_of(asked).values() for name, _ in bits.values() if name))


def bits_of(asked: BoundedAggregation) -> dict[int, dict[int, tuple[str, int]]]:
    """By other table and group, the number and the bit that say who is in it; none for tables of too many.

    Everybody is in a group that is all there are, which needs no bit.
    """
    made: dict[int, dict[int, tuple[str, int]]] = {}
    left = _MOST_BITS
    for at, table in asked.counted_anew.items():
        groups = int(table.max()) + 1
        if groups == 1:
            made[at] = {0: ("", 0)}
        elif groups <= left:
            made[at] = {group: (f"b{at}_{group // _BITS}", 1 << group % _BITS) for group in range(groups)}
            left -= groups
    return made


def public_tables(asked: BoundedAggregation) -> list[KeyTable]:
    """The tables to join; one without columns joins nothing."""
    return [table for table in ([asked.keys] if asked.keys is not None else asked.only) if table.columns]
