"""One record: its hash is of everything in it."""

from __future__ import annotations

import hashlib
import json

import pytest

from pbdp.ledger.record import Record


def test_a_record_cannot_be_made_with_a_wrong_hash() -> None:
    genuine = Record.after(None, "genesis", {"ledger": "a"})
    parts = {
        name: getattr(genuine, name) for name in ("sequence", "time", "kind", "payload", "previous", "hash")
    }
    assert Record(**parts) == genuine
    for name, wrong in (
        ("sequence", 1),
        ("time", ""),
        ("kind", "spend"),
        ("payload", "{}"),
        ("previous", ""),
    ):
        with pytest.raises(Exception, match="does not match its hash"):
            Record(**{**parts, name: wrong})


def test_a_hash_can_be_recomputed_by_hand(lines: list[str]) -> None:
    previous = "0" * 64
    for line in lines[1:-1]:
        record = json.loads(line)
        parts = ["pbdp ledger 1", str(record["sequence"]), record["time"], record["kind"], record["payload"]]
        text = "".join(f"{len(part)}:{part}," for part in [*parts, previous])
        previous = hashlib.sha256(text.encode()).hexdigest()
        assert record["hash"] == previous
