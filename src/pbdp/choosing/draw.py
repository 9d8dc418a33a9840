"""Picks, drawn. Permute and flip: one coin for each option, then one of those that show heads.

The first of those that show heads in a random order is any of them with the same chance, so no order is
needed: one is taken at random, exactly evenly. A coin shows heads if 62 random bits are below its weight. The
first eight of them decide for all but one option in 256, whatever its weight; the others get their 54 bits
then. Every option is looked at for every pick, all steps are the same for all scores, and how many need more
bits is a matter of luck alone: the time tells how many options there are, and nothing else. The exponential
mechanism adds up all weights and takes the first option whose sum is above a random number below the last.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from pbdp.mechanism.weights import BITS
from pbdp.noise.kernel import Index
from pbdp.release.keystream import SLACK, Keystream, Stream

if TYPE_CHECKING:
    from pbdp.choosing.permute_and_flip import Coins

# Bits that are looked at first, and those after them.
_FIRST = 8
_REST = BITS - _FIRST
_BYTE, _WORD = np.dtype(np.uint8), np.dtype("<u8")
# Rows are drawn so many scores at a time, for memory.
_AT_ONCE = 1 << 21
# Sums of weights are kept in two parts, the lower of so many bits.
_LOW_BITS = 31
_LOW = 2**_LOW_BITS - 1
# Below every score, and without a chance.
_TAKEN = np.int64(-(2**62))

Numbers = npt.NDArray[np.unsignedinteger]


def chosen(steps: Index, top: int, coins: Coins, keystream: Keystream) -> Index:
    """The places of the options that are chosen, one after the other; the last one left is no choice."""
    stream, left = keystream.stream(), steps.copy()
    return _one_by_one(left, top, lambda: int(_flipped(left[None], coins.weights, stream)[0]))


def chosen_by_row(scores: Index, coins: Coins, keystream: Keystream) -> Index:
    """The place of the option that is chosen in each row of `scores`: one pick for each of many groups."""
    groups, options = scores.shape
    stream, rows = keystream.stream(), max(_AT_ONCE // options, 1)
    picked = [_flipped(scores[at : at + rows], coins.weights, stream) for at in range(0, groups, rows)]
    return np.concatenate([np.zeros(0, dtype=np.int64), *picked])


def weighed(steps: Index, top: int, coins: Coins, keystream: Keystream) -> Index:
    """As `chosen`, by the exponential mechanism: each with a chance in proportion to its weight."""
    stream, left = keystream.stream(), steps.copy()
    return _one_by_one(left, top, lambda: _by_weight(left, coins.weights, stream))


def evenly_below(counts: npt.NDArray[np.uint64], stream: Stream) -> Index:
    """A whole number below each count, evenly: numbers beyond the last multiple of it are drawn again.

    Which are drawn again is a matter of luck alone.
    """
    # 2^64 mod count, without 2^64
    beyond = (np.uint64(2**64 - 1) % counts + np.uint64(1)) % counts
    found = _random(stream, len(counts), _WORD)
    while len(again := np.flatnonzero(found > np.uint64(2**64 - 1) - beyond)):
        found[again] = _random(stream, len(again), _WORD)
    return np.asarray(found % counts, dtype=np.int64)


def _one_by_one(left: Index, top: int, pick: Callable[[], int]) -> Index:
    """The places of so many picks, each of which is taken away from what is left."""
    places = np.zeros(top, dtype=np.int64)
    for number in range(top):
        places[number] = place = pick()
        left[place] = _TAKEN
    return places


def _flipped(scores: Index, weights: Index, stream: Stream) -> Index:
    """One option of each row, by permute and flip; those that were taken have no coin."""
    gaps = (scores.max(axis=1, keepdims=True) - scores).ravel()
    # a coin that always shows heads has 2^62: the last of the first parts, and all of what follows it
    first = np.minimum(weights >> _REST, 2**_FIRST - 1)
    rest = (weights - (first << _REST)).astype(np.uint64)
    # beyond the last coin all are the same
    needed = first.astype(np.uint8).take(gaps, mode="clip")
    bits = _random(stream, len(gaps), _BYTE)
    heads = bits < needed
    tied = np.flatnonzero(bits == needed)
    more = _random(stream, len(tied), _WORD) >> np.uint64(64 - _REST)
    heads[tied] = more < rest.take(gaps[tied], mode="clip")
    heads &= scores.ravel() != _TAKEN
    running = np.cumsum(heads.reshape(scores.shape), axis=1, dtype=np.int32)
    which = evenly_below(running[:, -1].astype(np.uint64), stream)
    return np.asarray((running <= which[:, None]).sum(axis=1), dtype=np.int64)


def _by_weight(left: Index, weights: Index, stream: Stream) -> int:
    """The first option whose running sum of weights is above a random number below the last.

    Sums have more than 64 bits, so they are in two parts, the lower one of 31 bits.
    """
    each = np.where(left == _TAKEN, 0, weights.take(left.max() - left, mode="clip"))
    low = np.cumsum(each & _LOW)
    high, low = np.cumsum(each >> _LOW_BITS) + (low >> _LOW_BITS), low & _LOW
    count = int(high[-1]) << _LOW_BITS | int(low[-1])
    number = limit = 2**128 - 2**128 % count
    while number >= limit:
        number = int.from_bytes(_random(stream, 2, _WORD).tobytes(), "little")
    above, rest = (number := number % count) >> _LOW_BITS, number & _LOW
    return int(np.argmax((high > above) | (high == above) & (low > rest)))


def _random(stream: Stream, count: int, kind: np.dtype[Any]) -> Numbers:
    buffer = bytearray(count * kind.itemsize + SLACK)
    stream.fill(buffer, memoryview(bytes(count * kind.itemsize)))
    return np.frombuffer(buffer, dtype=kind, count=count)
