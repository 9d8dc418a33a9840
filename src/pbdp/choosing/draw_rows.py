"""One pick for each of many groups at once, by permute and flip: a row of scores per group.

As in `draw`: every option's coin is flipped with 62 random bits, of which the first eight decide for all
but one in 256, and one of those that show heads is taken, each with exactly the same chance. How many words
are drawn depends on the number of options and on luck alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from pbdp.mechanism.weights import BITS
from pbdp.noise.kernel import Index
from pbdp.release.keystream import SLACK, Keystream, Stream

if TYPE_CHECKING:
    from pbdp.choosing.permute_and_flip import Coins

_FIRST = 8
_REST = BITS - _FIRST
_WORD = np.dtype("<u8")
# Groups are drawn so many scores at a time, for memory.
_AT_ONCE = 1 << 21


def chosen_by_row(scores: Index, coins: Coins, keystream: Keystream) -> Index:
    """The place of the option that is chosen in each row of `scores`."""
    groups, options = scores.shape
    stream = keystream.stream()
    rows = max(_AT_ONCE // options, 1)
    picked = [_picked(scores[at : at + rows], coins.weights, stream) for at in range(0, groups, rows)]
    return np.concatenate([np.zeros(0, dtype=np.int64), *picked])


def _picked(scores: Index, weights: Index, stream: Stream) -> Index:
    gaps = (scores.max(axis=1, keepdims=True) - scores).ravel()
    # a coin that always shows heads has 2^62: the last of the first parts, and all of what follows it
    first = np.minimum(weights >> _REST, 2**_FIRST - 1)
    rest = (weights - (first << _REST)).astype(np.uint64)
    needed = first.astype(np.uint8).take(gaps, mode="clip")
    bits = _random(stream, len(gaps), np.dtype(np.uint8))
    heads = bits < needed
    tied = np.flatnonzero(bits == needed)
    more = _random(stream, len(tied), _WORD) >> np.uint64(64 - _REST)
    heads[tied] = more < rest.take(gaps[tied], mode="clip")
    running = np.cumsum(heads.reshape(scores.shape), axis=1, dtype=np.int64)
    which = _below(running[:, -1], stream)
    return np.asarray((running <= which[:, None]).sum(axis=1), dtype=np.int64)


def _below(counts: Index, stream: Stream) -> Index:
    """A whole number below each count, evenly: numbers beyond the last multiple of it are drawn again."""
    wanted = counts.astype(np.uint64)
    # 2^64 mod count, without 2^64
    beyond = (np.uint64(2**64 - 1) % wanted + np.uint64(1)) % wanted
    most = np.uint64(2**64 - 1) - beyond
    found = _random(stream, len(counts), _WORD)
    while len(again := np.flatnonzero(found > most)):
        found[again] = _random(stream, len(again), _WORD)
    return np.asarray(found % wanted, dtype=np.int64)


def _random(stream: Stream, count: int, kind: np.dtype[np.generic]) -> npt.NDArray[np.unsignedinteger]:
    buffer = bytearray(count * kind.itemsize + SLACK)
    stream.fill(buffer, memoryview(bytes(count * kind.itemsize)))
    return np.frombuffer(buffer, dtype=kind, count=count).copy()
