"""Every call to the operating system that a release makes fails once: a sentence, and nothing unpaid."""

from __future__ import annotations

import errno
import fcntl
import os
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from pbdp.errors import PbdpError
from pbdp.ledger import Ledger
from tests.effort import combined
from tests.ledger.asking import ledger_with_visits, request

# What can fail, where pbdp calls it, and why.
CALLS: list[tuple[Any, str]] = [
    (os, "open"),
    (os, "fsync"),
    (os, "write"),
    (os, "link"),
    (os, "replace"),
    (os, "mkdir"),
    (os, "unlink"),
    (os, "stat"),
    (os, "chmod"),
    (fcntl, "flock"),
    (secrets, "token_bytes"),
    (Path, "read_bytes"),
    (Path, "stat"),
    (Path, "replace"),
    (Path, "unlink"),
    (Path, "chmod"),
    (Path, "mkdir"),
    (Path, "is_file"),
]
REASONS = [errno.EIO, errno.ENOSPC, errno.EACCES, errno.EROFS, errno.ENOLCK, errno.EMFILE, errno.ESTALE]


@contextmanager
def failing(call: tuple[Any, str], reason: int, at: int) -> Iterator[list[int]]:
    """The call of this number fails; how many there were."""
    owner, name = call
    original: Callable[..., Any] = getattr(owner, name)
    count = [0]

    def fails(*args: Any, **named: Any) -> Any:
        count[0] += 1
        if count[0] == at:
            raise OSError(reason, os.strerror(reason))
        return original(*args, **named)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(owner, name, fails)
        yield count


@pytest.mark.parametrize(("call", "reason"), combined(CALLS, REASONS))
def test_a_call_that_fails_ends_in_a_sentence_and_is_paid_at_most_once(
    call: tuple[Any, str], reason: int, tmp_path: Path
) -> None:
    at, count = 0, [0]
    while at <= count[0]:
        at += 1
        url = str(tmp_path / f"{at}.db")
        drawn: list[bytes] = []

        def draw(drawn: list[bytes] = drawn) -> bytes:
            drawn.append(b"answer %d" % len(drawn))
            return drawn[-1]

        got, said = set(), [""]
        try:
            with failing(call, reason, at) as count:
                with ledger_with_visits(url) as ledger:
                    got.add(ledger.release(request(key="k"), draw))
                with Ledger.open(url) as ledger:
                    ledger.rotate_key()
                    ledger.verify()
        except PbdpError as refusal:
            said.append(str(refusal))
        try:
            ledger = Ledger.open(url)
        except PbdpError:
            ledger = Ledger.create(url, trust=True)
        assert "Errno" not in said[-1]
        with ledger:
            if not ledger.datasets():
                ledger.create_dataset("visits", {"renyi": 100}, {}, "add/remove")
            got.add(ledger.release(request(key="k"), draw))
            # one that could not be kept here has left nowhere, and another one is drawn
            assert len(got) == 1
            assert got == {drawn[-1]}
            assert ledger.dataset("visits").spent == {"renyi": 10}
            assert ledger.verify().sound
    assert at > 1  # else nothing was tried
