"""One record: its hash is of everything in it."""

from __future__ import annotations

import hashlib
import json

import pytest

from pbdp.ledger.keys import Key
from pbdp.ledger.record import FORMAT, NO_PREVIOUS, BrokenRecordError, Record, content_of


def test_a_record_with_a_wrong_hash_is_not_read() -> None:
    content = {"ledger": "a", "format": FORMAT}
    genuine = Record.after(-1, NO_PREVIOUS, "genesis", content, Key.fresh())
    assert Record.read(genuine.row()) == genuine
    for place, wrong in ((0, 1), (1, ""), (2, "spend"), (3, "{}"), (4, ""), (6, "0" * 16)):
        row = [*genuine.row()]
        row[place] = wrong
        with pytest.raises(BrokenRecordError, match="does not match its hash"):
            Record.read(tuple(row))
    for place in range(8):
        with pytest.raises(BrokenRecordError, match="a value of the wrong type"):
            Record.read((*genuine.row()[:place], None, *genuine.row()[place + 1 :]))


def test_a_hash_can_be_recomputed_by_hand(lines: list[str]) -> None:
    previous = "0" * 64
    for line in lines[1:-1]:
        record = json.loads(line)
        texts = (record[name] for name in ("time", "kind", "key_id", "payload"))
        parts = ["pbdp ledger 1", str(record["sequence"]), *texts, previous]
        text = "".join(f"{len(part)}:{part}," for part in parts)
        previous = hashlib.sha256(text.encode()).hexdigest()
        assert record["hash"] == previous


@pytest.mark.parametrize("more", [{"purpose": None}, {"other": "text"}])
def test_what_is_no_field_of_a_record_is_refused(more: dict[str, object]) -> None:
    answer = {"spend": 3, "key": "k", "bytes": 5, "sha256": "0" * 64}
    assert content_of("answer", json.dumps(answer)) == answer
    with pytest.raises(BrokenRecordError, match="no ledger writes"):
        content_of("answer", json.dumps(answer | more))
