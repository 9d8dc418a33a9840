"""An alias table: any law of integer weights as equally likely buckets of two values each.

Walker (1977), in whole numbers: 2^k buckets of capacity 2^(62-k), so that every weight is kept exactly. The
first k bits of a random word choose the bucket and the others one of its two values; there is nothing to
reject, and the time is the same for every word.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pbdp.mechanism.weights import BITS, TOTAL, WeightTable
from pbdp.noise.kernel import Index, Words
from pbdp.release.keystream import SLACK, WORD, Keystream

# Words looked up at a time: their intermediate values stay in the processor's cache.
CHUNK = 1 << 15
_ZEROS = memoryview(bytes(CHUNK * WORD))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AliasTable:
    """Bucket i holds values[2i] where the rest of the word is below thresholds[i], else values[2i + 1].

    The rest of the word is taken as a fraction of 2^64. A bucket with one value has the threshold 0.
    """

    bits: int
    thresholds: Words
    # 32 bits, so that large tables stay in the processor's cache
    values: npt.NDArray[np.int32]

    def value_of(self, word: int) -> int:
        """The value that one word stands for."""
        bucket = word >> (64 - self.bits)
        rest = (word << self.bits) & 0xFFFF_FFFF_FFFF_FFFF
        return int(self.values.item(2 * bucket + (rest >= self.thresholds.item(bucket))))

    def weights(self) -> dict[int, int]:
        """The weight of every value, added up over the buckets: what the table really draws."""
        capacity = 1 << (BITS - self.bits)
        found: dict[int, int] = {}
        for bucket, threshold in enumerate(self.thresholds.tolist()):
            first = threshold >> (64 - BITS + self.bits)
            for value, weight in ((2 * bucket, first), (2 * bucket + 1, capacity - first)):
                key = int(self.values[value])
                found[key] = found.get(key, 0) + weight
        return {value: weight for value, weight in found.items() if weight}

    def draw(self, count: int, keystream: Keystream) -> Index:
        """That many values."""
        drawn = np.empty(count, dtype=np.int64)
        stream = keystream.stream()
        room = min(count, CHUNK)
        buffer = bytearray(room * WORD + SLACK)
        words = np.frombuffer(buffer, dtype="<u8", count=room)
        places = np.empty(room, dtype=np.int64)
        limits = np.empty(room, dtype=np.uint64)
        second = np.empty(room, dtype=np.bool_)
        values = np.empty(room, dtype=np.int32)
        bits, rest = np.uint64(self.bits), np.uint64(64 - self.bits)
        for start in range(0, count, CHUNK):
            size = min(CHUNK, count - start)
            word, place, limit = words[:size], places[:size], limits[:size]
            is_second, value = second[:size], values[:size]
            stream.fill(buffer, _ZEROS[: size * WORD])
            np.right_shift(word, rest, out=place.view(np.uint64))
            # places are below 2^bits, so `clip` never clips: it only spares the check
            np.take(self.thresholds, place, out=limit, mode="clip")
            np.left_shift(word, bits, out=word)
            np.greater_equal(word, limit, out=is_second)
            np.left_shift(place, 1, out=place)
            np.add(place, is_second, out=place)
            np.take(self.values, place, out=value, mode="clip")
            drawn[start : start + size] = value
        return drawn


def bits_for(cells: int) -> int:
    """The logarithm of the number of buckets that so many cells need."""
    return max(1, (cells - 1).bit_length())


def alias_table(table: WeightTable, bits: int | None = None) -> AliasTable:
    """The alias table of a table of weights, without a loop (Hübschle-Schneider and Sanders 2022, sweeping).

    Light cells (weight below the capacity c) are topped up by heavy ones, both in order. With D the running
    sum of what the light ones lack and E that of what the heavy ones have beyond c, light cell i takes from
    the first heavy cell whose E is above D(i-1). Heavy cell j is left with c + E(j) - D(i) <= c after the
    first light cell i with D(i) >= E(j), and is topped up by heavy cell j + 1.
    """
    weights = table.weights
    bits = bits_for(len(weights)) if bits is None else bits
    capacity = TOTAL >> bits
    padded = np.zeros(1 << bits, dtype=np.int64)
    padded[: len(weights)] = weights
    heavy = np.flatnonzero(padded > capacity)
    light = np.flatnonzero(padded <= capacity)
    kept, partner = padded, np.arange(len(padded))
    if heavy.size:
        lacking = np.cumsum(capacity - padded[light])
        beyond = np.cumsum(padded[heavy] - capacity)
        before = np.concatenate(([0], lacking[:-1]))
        giver = np.minimum(np.searchsorted(beyond, before, side="right"), len(heavy) - 1)
        partner[light] = heavy[giver]
        last = np.searchsorted(lacking, beyond, side="left")
        kept[heavy] = capacity + beyond - lacking[last]
        partner[heavy[:-1]] = heavy[1:]
    full = kept == capacity
    partner[full] = np.flatnonzero(full)
    thresholds = np.where(full, 0, kept).astype(np.uint64) << np.uint64(64 - BITS + bits)
    values = np.empty(2 * len(padded), dtype=np.int32)
    values[0::2] = np.arange(len(padded)) + table.start
    values[1::2] = partner + table.start
    return AliasTable(bits=bits, thresholds=thresholds, values=values)
