"""Picks, drawn. Permute and flip: one coin for each option, then one of those that show heads.

The first of those that show heads in a random order is any of them with the same chance, so no order is
needed: one is taken at random, exactly evenly. A coin shows heads if 62 random bits are below its weight. The
first eight of them decide for all but one option in 256, whatever its weight; the others get their 54 bits
then. Every option is looked at for every pick, all steps are the same for all scores, and how many need more
bits is a matter of luck alone: the time tells how many options there are, and nothing else. The exponential
mechanism adds up all weights and takes the first option whose sum is above a random number below the last.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from pbdp.mechanism.weights import BITS
from pbdp.noise.kernel import Index
from pbdp.release.keystream import SLACK, WORD, Keystream, Stream

if TYPE_CHECKING:
    from pbdp.choosing.permute_and_flip import Coins

# Bits that are looked at first, and those after them.
_FIRST = 8
_REST = BITS - _FIRST
# Options are counted in rows of so many.
_ROW = 1 << 10
# Sums of weights are kept in two parts, the lower of so many bits.
_LOW_BITS = 31
_LOW = 2**_LOW_BITS - 1
# Below every score, and without a chance.
_TAKEN = np.int64(-(2**62))

Bits = npt.NDArray[np.uint8]
Words = npt.NDArray[np.uint64]
Mask = npt.NDArray[np.bool_]


def chosen(steps: Index, top: int, coins: Coins, keystream: Keystream) -> Index:
    """The places of the options that are chosen, one after the other; the last one left is no choice."""
    drawing = _Drawing(steps, coins, keystream.stream())
    return np.array([drawing.take() for _ in range(top)], dtype=np.int64)


def weighed(steps: Index, top: int, coins: Coins, keystream: Keystream) -> Index:
    """The same by the exponential mechanism: each with a chance in proportion to its weight."""
    drawing = _Drawing(steps, coins, keystream.stream())
    return np.array([drawing.take_weighed(coins.weights) for _ in range(top)], dtype=np.int64)


class _Drawing:
    """Scores of which some are taken, the coins in two parts, and a source of random bits."""

    def __init__(self, steps: Index, coins: Coins, stream: Stream) -> None:
        rows = -(-len(steps) // _ROW)
        # up to a whole number of rows nobody is there
        self.steps: Index = np.full(rows * _ROW, _TAKEN)
        self.steps[: len(steps)] = steps
        self.open: Mask = np.arange(rows * _ROW) < len(steps)
        weights = coins.weights
        # a coin that always shows heads has 2^62: the last of the first parts, and all of what follows it
        first = np.minimum(weights >> _REST, 2**_FIRST - 1)
        self.first: Bits = first.astype(np.uint8)
        self.rest: Words = (weights - (first << _REST)).astype(np.uint64)
        self.stream = stream

    def take(self) -> int:
        """Choose one, and take it away."""
        gaps = self.steps.max() - self.steps
        bits = self._random(len(gaps), 1, np.uint8)
        # beyond the last coin all are the same
        needed = self.first.take(gaps, mode="clip")
        heads: Mask = bits < needed
        tied = np.flatnonzero(bits == needed)
        more = self._random(len(tied), WORD, np.dtype("<u8")) >> np.uint64(64 - _REST)
        heads[tied] = more < self.rest.take(gaps[tied], mode="clip")
        heads &= self.open
        return self._taken(self._any(heads))

    def take_weighed(self, weights: Index) -> int:
        """Choose one by its weight, and take it away: the first whose running sum is above a random number.

        Sums have more than 64 bits, so they are in two parts, the lower one of 31 bits.
        """
        each = np.where(self.open, weights.take(self.steps.max() - self.steps, mode="clip"), 0)
        low = np.cumsum(each & _LOW)
        high, low = np.cumsum(each >> _LOW_BITS) + (low >> _LOW_BITS), low & _LOW
        number = self._below(int(high[-1]) << _LOW_BITS | int(low[-1]), words=2)
        above, rest = number >> _LOW_BITS, number & _LOW
        return self._taken(int(np.argmax((high > above) | (high == above) & (low > rest))))

    def _taken(self, place: int) -> int:
        self.steps[place], self.open[place] = _TAKEN, False
        return place

    def _any(self, heads: Mask) -> int:
        """One of them, each with the same chance."""
        rows = heads.reshape(-1, _ROW).sum(axis=1)
        before = np.cumsum(rows)
        number = self._below(int(before[-1]))
        row = int(np.searchsorted(before, number, side="right"))
        inside = number - int(before[row] - rows[row])
        return row * _ROW + int(np.flatnonzero(heads[row * _ROW : (row + 1) * _ROW])[inside])

    def _below(self, count: int, words: int = 1) -> int:
        """A whole number below `count`, evenly: numbers beyond the last multiple of it are drawn again."""
        limit = 2 ** (64 * words) - 2 ** (64 * words) % count
        while True:
            number = int.from_bytes(self._random(words, WORD, np.dtype("<u8")).tobytes(), "little")
            if number < limit:
                return number % count

    def _random(self, count: int, size: int, kind: npt.DTypeLike) -> npt.NDArray[np.unsignedinteger]:
        buffer = bytearray(count * size + SLACK)
        self.stream.fill(buffer, memoryview(bytes(count * size)))
        return np.frombuffer(buffer, dtype=kind, count=count)
