"""One record: its hash is of everything in it."""

from __future__ import annotations

import hashlib
import json
from dataclasses import fields

import pytest

from pbdp.ledger.keys import Key
from pbdp.ledger.record import Record


def test_a_record_cannot_be_made_with_a_wrong_hash() -> None:
    genuine = Record.after(None, "genesis", {"ledger": "a"}, Key.fresh())
    parts = {field.name: getattr(genuine, field.name) for field in fields(genuine)}
    assert Record(**parts) == genuine
    for name, wrong in (
        ("sequence", 1),
        ("time", ""),
        ("kind", "spend"),
        ("payload", "{}"),
        ("previous", ""),
        ("key_id", "0" * 16),
    ):
        with pytest.raises(Exception, match="does not match its hash"):
            Record(**{**parts, name: wrong})


def test_a_hash_can_be_recomputed_by_hand(lines: list[str]) -> None:
    previous = "0" * 64
    for line in lines[1:-1]:
        record = json.loads(line)
        texts = (record[name] for name in ("time", "kind", "key_id", "payload"))
        parts = ["pbdp ledger 2", str(record["sequence"]), *texts, previous]
        text = "".join(f"{len(part)}:{part}," for part in parts)
        previous = hashlib.sha256(text.encode()).hexdigest()
        assert record["hash"] == previous
