"""Permute and flip, drawn: random order, one coin each, the first of those that show heads.

The order is that of random 64-bit keys, drawn again if two are equal: exactly uniform. A coin shows heads if
62 random bits are below its weight, which for the best option is always. Every option gets its key and its
coin whatever its score, and all steps are the same for all scores: the time tells how many options there are,
and nothing else.
"""

from __future__ import annotations

import numpy as np

from pbdp.choosing.coins import Coins
from pbdp.mechanism.weights import BITS
from pbdp.noise.kernel import Index, Words
from pbdp.release.keystream import SLACK, WORD, Keystream, Stream

_LAST = np.uint64(2**64 - 1)


def chosen(steps: Index, top: int, coins: Coins, keystream: Keystream) -> Index:
    """The places of the options that are chosen, one after the other; the last one left is no choice."""
    stream = keystream.stream()
    left = np.arange(len(steps))
    taken = []
    for _ in range(top):
        place = _first(steps[left], coins, stream) if len(left) > 1 else 0
        taken.append(left[place])
        left = np.delete(left, place)
    return np.array(taken, dtype=np.int64)


def _first(steps: Index, coins: Coins, stream: Stream) -> int:
    gaps = np.minimum(steps.max() - steps, coins.last)
    heads = (_words(len(steps), stream) >> np.uint64(64 - BITS)) < coins.weights[gaps].astype(np.uint64)
    keys = _order(len(steps), stream)
    # keys are below the last word, which stands for tails
    return int(np.argmin(np.where(heads, keys, _LAST)))


def _order(count: int, stream: Stream) -> Words:
    while True:
        keys = _words(count, stream)
        arranged = np.sort(keys)
        if np.all(arranged[1:] != arranged[:-1]) and arranged[-1] != _LAST:
            return keys


def _words(count: int, stream: Stream) -> Words:
    buffer = bytearray(count * WORD + SLACK)
    stream.fill(buffer, memoryview(bytes(count * WORD)))
    return np.frombuffer(buffer, dtype="<u8", count=count)
