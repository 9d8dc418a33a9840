"""Random words: AES in counter mode under fresh keys, never the same twice."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from pbdp.errors import InputError
from pbdp.release.keystream import (
    SLACK,
    WORD,
    InsecureTestKeystream,
    InsecureTestSeedWarning,
    SecureKeystream,
    Stream,
    keystream_from,
)
from tests.release.plans import plan_of


def words(stream: Stream, count: int) -> list[int]:
    buffer = bytearray(count * WORD + SLACK)
    stream.fill(buffer, memoryview(bytes(count * WORD)))
    return [int(word) for word in np.frombuffer(buffer, dtype="<u8", count=count)]


def test_the_stream_is_the_cipher_of_a_counter() -> None:
    key = bytes(range(32))
    encrypt = Cipher(algorithms.AES256(key), modes.ECB()).encryptor()  # noqa: S305 - one block at a time
    blocks = b"".join(encrypt.update(counter.to_bytes(16, "big")) for counter in range(8))

    assert words(Stream(key), 16) == np.frombuffer(blocks, dtype="<u8").tolist()


def test_a_stream_goes_on_where_it_stopped() -> None:
    whole, parts = Stream(bytes(32)), Stream(bytes(32))
    assert words(whole, 12) == words(parts, 5) + words(parts, 4) + words(parts, 3)


def test_every_stream_and_word_has_a_key_of_its_own() -> None:
    source = SecureKeystream()
    drawn = [word for _ in range(50) for word in words(source.stream(), 4)]
    drawn += [source.word() for _ in range(200)]
    assert len(set(drawn)) == len(drawn)


def test_threads_do_not_share_words() -> None:
    source = SecureKeystream()
    with ThreadPoolExecutor(8) as pool:
        drawn = [word for part in pool.map(lambda _: words(source.stream(), 100), range(64)) for word in part]
    assert len(set(drawn)) == len(drawn)


def test_forked_processes_do_not_repeat_noise(tmp_path: Path) -> None:
    plan = plan_of("real")
    answers = np.zeros(20)
    plan.release(answers, disjoint=True)  # everything that is kept between releases exists before the fork
    plan.release(0.0)
    children = []
    for child in range(6):
        pid = os.fork()
        if pid == 0:
            one = [plan.release(0.0) for _ in range(20)]
            np.save(tmp_path / f"{child}.npy", np.concatenate((plan.release(answers, disjoint=True), one)))
            os._exit(0)
        children.append(pid)
    here = np.concatenate((plan.release(answers, disjoint=True), [plan.release(0.0) for _ in range(20)]))
    for pid in children:
        assert os.waitpid(pid, 0)[1] == 0

    rows = [tuple(here)] + [tuple(np.load(tmp_path / f"{child}.npy")) for child in range(6)]
    assert len({row[:20] for row in rows}) == len(rows)
    assert len({row[20:] for row in rows}) == len(rows)


def test_a_test_seed_repeats_its_words_and_every_call_has_others() -> None:
    first, second = InsecureTestKeystream(5), InsecureTestKeystream(5)
    drawn = [words(first.stream(), 3), [first.word()], words(first.stream(), 3)]
    assert drawn == [words(second.stream(), 3), [second.word()], words(second.stream(), 3)]
    assert drawn[0] != drawn[2]
    assert words(InsecureTestKeystream(6).stream(), 3) != drawn[0]


@pytest.mark.parametrize("seed", [-1, 1.5, "7", None, 1 << 64])
def test_a_seed_is_a_whole_number(seed: object) -> None:
    with pytest.raises(InputError, match="insecure_test_seed"):
        InsecureTestKeystream(seed)  # type: ignore[arg-type]


def test_a_seed_warns_where_pbdp_was_called_and_nothing_else_does() -> None:
    assert isinstance(keystream_from(None), SecureKeystream)
    with pytest.warns(InsecureTestSeedWarning, match="never publish") as caught:
        plan_of("whole").release(9, insecure_test_seed=5)
    assert [warning.filename for warning in caught] == [__file__]
