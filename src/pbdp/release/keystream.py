"""Random 64-bit words: from the operating system for a few, from AES-256 in counter mode for many.

Every call takes a new key from the operating system. There is no generator that lives between calls, hence
nothing that two threads could share, that a forked process could repeat, or that could be read afterwards.
"""

from __future__ import annotations

import os
import sys
import warnings
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pbdp.errors import InputError
from pbdp.parameters import whole

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers import CipherContext


WORD = 8
KEY_BYTES = 32
COUNTER_START = bytes(16)
# update_into asks for one block, less a byte, of room beyond the data.
SLACK = 15


class InsecureTestSeedWarning(UserWarning):
    """Numbers were drawn from a test seed: anyone who knows it can take the noise off again."""


class Keystream(ABC):
    """A source of uniform words."""

    __slots__ = ()

    @abstractmethod
    def word(self) -> int:
        """One word."""

    @abstractmethod
    def stream(self) -> Stream:
        """A source of many words for one call."""


@dataclass(slots=True)
class Stream:
    """One AES-256-CTR key stream, handed out in pieces."""

    key: bytes
    _cipher: CipherContext = field(init=False)

    def __post_init__(self) -> None:
        from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

        self._cipher = Cipher(algorithms.AES256(self.key), modes.CTR(COUNTER_START)).encryptor()

    def fill(self, buffer: bytearray, zeros: memoryview) -> None:
        """Write as many random bytes to the start of `buffer` as `zeros` has; its last 15 are scratch."""
        self._cipher.update_into(zeros, buffer)


@dataclass(frozen=True, slots=True)
class SecureKeystream(Keystream):
    """Keys from the operating system."""

    def word(self) -> int:
        return int.from_bytes(os.urandom(WORD), "little")

    def stream(self) -> Stream:
        return Stream(os.urandom(KEY_BYTES))


@dataclass(slots=True)
class InsecureTestKeystream(Keystream):
    """The same words for the same seed, for tests. Whoever knows the seed can take the noise off again."""

    seed: int
    _calls: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        self.seed = whole("insecure_test_seed", self.seed, least=0)
        if self.seed >= 1 << 64:
            raise InputError("insecure_test_seed", "below 2^64", "a larger one")

    def word(self) -> int:
        buffer = bytearray(WORD + SLACK)
        self.stream().fill(buffer, memoryview(bytes(WORD)))
        return int.from_bytes(buffer[:WORD], "little")

    def stream(self) -> Stream:
        self._calls += 1
        return Stream(self.seed.to_bytes(16, "little") + self._calls.to_bytes(16, "little"))


SECURE = SecureKeystream()


def keystream_from(insecure_test_seed: int | None) -> Keystream:
    """Secure words; with a test seed its own, and a warning at the line that asked pbdp for them."""
    if insecure_test_seed is None:
        return SECURE
    keystream = InsecureTestKeystream(insecure_test_seed)
    caller, level = sys._getframe(1), 2
    while caller.f_back is not None and caller.f_globals["__name__"].startswith("pbdp."):
        caller, level = caller.f_back, level + 1
    text = "Drawn from insecure_test_seed: for tests only, never publish or collect it."
    warnings.warn(text, InsecureTestSeedWarning, stacklevel=level)
    return keystream
