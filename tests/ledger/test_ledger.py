"""A request key makes a retry safe: one payment, one answer, byte for byte."""

from __future__ import annotations

import dataclasses
import errno
import fcntl
import os
import secrets
from pathlib import Path
from typing import Any

import pytest

from pbdp.errors import InputError
from pbdp.ledger import Ledger, LedgerError
from pbdp.ledger.errors import KeyReusedError
from tests.ledger.asking import ledger_with_visits, plan_number, request


def never() -> bytes:
    raise AssertionError("noise was drawn")


def test_a_retry_returns_the_stored_answer_and_draws_no_noise(url: str) -> None:
    answer = os.urandom(1000)
    with ledger_with_visits(url, limit=10) as ledger:
        assert ledger.release(request(key="k"), lambda: answer) == answer
    with Ledger.open(url) as ledger:
        assert ledger.release(request(key="k"), never) == answer
        retried = ledger.reserve(request(key="k"))
        assert (retried.fresh, retried.answer) == (False, answer)
        assert ledger.dataset("visits").spent == {"renyi": 10}


def test_a_reserved_request_can_be_settled_by_a_retry(url: str) -> None:
    with ledger_with_visits(url, limit=10) as ledger:
        ledger.reserve(request(key="k"))
    with Ledger.open(url) as ledger:
        retried = ledger.reserve(request(key="k"))
        assert (retried.fresh, retried.answer) == (False, None)
        assert ledger.settle(retried, lambda: b"now") == b"now"
        assert ledger.dataset("visits").spent == {"renyi": 10}


def test_the_first_answer_wins(url: str) -> None:
    with ledger_with_visits(url) as one, Ledger.open(url) as other:
        first, second = one.reserve(request(key="k")), other.reserve(request(key="k"))
        assert other.settle(second, lambda: b"second was faster") == b"second was faster"
        assert one.settle(first, lambda: b"first") == b"second was faster"
        assert one.verify().answers == 1


@pytest.mark.parametrize(
    "change",
    [
        {"plan": plan_number(5)},
        {"dataset": "stays"},
        {"query": "another"},
        {"values": 2},
        {"disjoint": True},
    ],
)
def test_a_key_with_another_request_is_refused(url: str, change: dict[str, Any]) -> None:
    with ledger_with_visits(url) as ledger:
        ledger.create_dataset("stays", {"renyi": 100}, {}, "add/remove")
        usual: dict[str, Any] = {"key": "k", "query": "one", "package": 5}
        ledger.release(request(**usual), lambda: b"secret answer")
        with pytest.raises(KeyReusedError) as refused:
            ledger.release(request(**{**usual, **change}), never)
        assert "secret" not in str(refused.value)
        assert [state.spent["renyi"] for state in ledger.datasets()] == [10, 0]


def test_requests_without_a_key_are_requests_of_their_own(url: str) -> None:
    with ledger_with_visits(url) as ledger:
        keys = {ledger.reserve(request(package=5)).key for _ in range(5)}
        assert len(keys) == 5
        assert all(len(key) == 32 for key in keys)


def test_large_answers_and_empty_ones_come_back(url: str) -> None:
    large = os.urandom(3_000_000) + bytes(20_000_000)
    with ledger_with_visits(url) as ledger:
        ledger.release(request(package=5, key="large"), lambda: large)
        ledger.release(request(package=5, key="empty"), lambda: b"")
        assert ledger.release(request(package=5, key="large"), never) == large
        assert ledger.release(request(package=5, key="empty"), never) == b""
        assert ledger.verify().sound


def test_what_is_not_a_reservation_of_this_ledger_cannot_be_settled(url: str) -> None:
    with ledger_with_visits(url) as ledger:
        reservation = ledger.reserve(request())
        for wrong in ({"ledger": "0" * 32}, {"sequence": 1}, {"sequence": 99}, {"key": "other"}):
            with pytest.raises(InputError, match="reservation must be"):
                ledger.settle(dataclasses.replace(reservation, **wrong), lambda: b"x")
        with pytest.raises(InputError, match="answer must be bytes; got str"):
            ledger.settle(reservation, lambda: "x")  # type: ignore[arg-type,return-value]
        assert ledger.verify().answers == 0


def test_digests_of_data_need_the_key_of_the_ledger(url: str, tmp_path: Path) -> None:
    with ledger_with_visits(url) as ledger, ledger_with_visits(str(tmp_path / "other.db")) as other:
        digest = ledger.keyed_digest("data", b"rows")
        assert ledger.keyed_digest("data", b"rows", like=digest) == digest
        assert ledger.keyed_digest("data", b"rows") == digest
        assert ledger.keyed_digest("data", b"other rows") != digest
        assert ledger.keyed_digest("more", b"rows") != digest
        assert other.keyed_digest("data", b"rows") != digest


def test_what_the_system_refuses_ends_in_a_sentence(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """No lock (flock), no random numbers (getrandom), data that cannot be read while the answer is made."""

    def refuses(*_: object) -> Any:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    with ledger_with_visits(url) as ledger:
        with monkeypatch.context() as patch:
            patch.setattr(fcntl, "flock", refuses)
            with pytest.raises(LedgerError, match="No locks available"):
                ledger.reserve(request(key="k"))
        with monkeypatch.context() as patch:
            patch.setattr(secrets, "token_bytes", refuses)
            with pytest.raises(LedgerError, match="gives no random numbers"):
                ledger.reserve(request())
            with pytest.raises(LedgerError, match="gives no random numbers"):
                ledger.rotate_key()
        with pytest.raises(LedgerError, match="paid for: repeat the request with the key 'k'"):
            ledger.release(request(key="k"), refuses)
        assert ledger.release(request(key="k"), lambda: b"x") == b"x"
        assert ledger.dataset("visits").spent == {"renyi": 10}
        assert ledger.verify().sound
