"""What is drawn has the law that was certified."""

from __future__ import annotations

from fractions import Fraction
from time import process_time

import numpy as np
import pytest
from scipy.stats import chisquare

from pbdp.choosing.draw import _flipped, chosen
from pbdp.choosing.permute_and_flip import Coins, coins_for
from pbdp.mechanism.weights import TOTAL
from pbdp.release.keystream import InsecureTestKeystream, SecureKeystream, Stream
from tests.choosing import brute_force


def test_draws_have_the_law_of_every_order_and_every_coin() -> None:
    coins = coins_for(0.05, 4, 2)
    scores = [3, 5, 5, 1]
    law = brute_force.chosen(scores, [Fraction(int(weight), TOTAL) for weight in coins.weights])
    keystream = InsecureTestKeystream(3)
    draws = [int(chosen(np.array(scores), 1, coins, keystream)[0]) for _ in range(20_000)]
    counts = np.bincount(draws, minlength=4)
    assert chisquare(counts, [float(p) * len(draws) for p in law]).pvalue > 1e-4
    # a law that is a tenth off for one option is told apart
    wrong = np.array([float(p) for p in law]) * [1, 1.1, 1, 1]
    assert chisquare(counts, wrong / wrong.sum() * len(draws)).pvalue < 1e-4


def test_a_ranking_holds_every_option_once() -> None:
    places = chosen(np.array([5, 1, 9, 7]), 4, coins_for(1e-9, 1, 2), SecureKeystream())
    assert places.tolist() == [2, 3, 0, 1]


def test_a_million_options() -> None:
    steps = np.zeros(1_000_000, dtype=np.int64)
    steps[123_456] = 1_000
    assert chosen(steps, 1, coins_for(1e-11, 1_000, 2), SecureKeystream()).tolist() == [123_456]


def test_hundreds_of_a_million_take_seconds() -> None:
    scores = np.random.default_rng(1).integers(0, 1000, 1_000_000)
    started = process_time()
    places = chosen(scores, 300, coins_for(1e-9, 51, 2), SecureKeystream())
    assert process_time() - started < 6
    assert len(set(places.tolist())) == 300
    assert scores[places].min() > 900


class Scripted(Stream):
    """Random bytes that were written beforehand."""

    def __init__(self, *pieces: bytes) -> None:
        self.pieces = list(pieces)

    def __post_init__(self) -> None: ...

    def fill(self, buffer: bytearray, zeros: memoryview) -> None:
        piece = self.pieces.pop(0)
        buffer[: len(zeros)] = piece.ljust(len(zeros), b"\xff")[: len(zeros)]


def word(bits: int) -> bytes:
    """54 bits at the upper end of a word."""
    return (bits << 10).to_bytes(8, "little")


@pytest.mark.parametrize("weight", [2**62 - 1, 2**61, 2**61 + 5, 3 * 2**54, 3 * 2**54 + 1, 2**20, 1])
def test_a_coin_shows_heads_for_exactly_as_many_words_as_it_weighs(weight: int) -> None:
    """The loser is taken if its 62 bits are below its weight: at the edge bit by bit."""

    class One(Coins):
        @property
        def weights(self) -> np.ndarray:
            return np.array([TOTAL, weight])

    coins = One(fall=1.0, stride=1, last=1)
    for bits in {0, weight - 1, weight, min(weight + 1, 2**62 - 1), 2**62 - 1}:
        first, rest = bits >> 54, bits & (2**54 - 1)
        prefix = min(weight >> 54, 255)
        ties = word(rest) if first == prefix else b""
        # the best one's coin always shows heads, whatever its bits are (0 here); then the last of those wins
        stream = Scripted(bytes([0, first]), ties, b"\x01" + bytes(7))
        taken = _flipped(np.array([[5, 4]]), coins.weights, stream)
        assert taken.tolist() == [1 if bits < weight else 0], bits


def test_certain_coins_show_heads_whatever_the_bits() -> None:
    coins = coins_for(0.5, 3, 2)
    for first, more in ((0, b""), (254, b""), (255, word(0)), (255, word(2**54 - 1))):
        stream = Scripted(bytes([first]), more, bytes(8))
        assert _flipped(np.array([[7]]), coins.weights, stream).tolist() == [0]


def test_one_of_those_with_heads_is_taken_evenly() -> None:
    coins = coins_for(1.0, 3, 2)  # all coins show heads
    keystream = InsecureTestKeystream(9)
    draws = [int(chosen(np.zeros(1500, dtype=np.int64), 1, coins, keystream)[0]) for _ in range(6000)]
    counts = np.bincount(np.array(draws) // 100, minlength=15)
    assert chisquare(counts).pvalue > 1e-4
