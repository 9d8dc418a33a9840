"""One record: its hash is of everything in it."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, fields

import pytest

from pbdp.ledger.keys import Key
from pbdp.ledger.record import FIELDS, LATER, BrokenRecordError, Record, content_of
from pbdp.ledger.request import Request
from tests.ledger.asking import ledger_with_visits, plan_number, request


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Purposeful(Request):
    """A request that says more than those of today."""

    purpose: str | None = None


def test_a_field_can_be_added_to_records(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Records without it stay as they are, byte for byte, and both are read from then on."""
    with ledger_with_visits(url, limit=30) as ledger:
        ledger.reserve(request(key="before"))
        usual = {field.name: getattr(request(), field.name) for field in fields(Request)}
        monkeypatch.setitem(LATER, "spend", {"purpose": str})
        ledger.reserve(Purposeful(**usual | {"key": "nothing said", "plan": plan_number(1)}))
        ledger.reserve(Purposeful(**usual | {"key": "said", "plan": plan_number(2), "purpose": "report"}))
        spends = [json.loads(line)["payload"] for line in list(ledger.export())[3:-1]]

        assert [json.loads(spend).get("purpose") for spend in spends] == [None, None, "report"]
        assert json.loads(spends[0]).keys() == json.loads(spends[1]).keys() == FIELDS["spend"].keys()
        assert [entry.key for entry in ledger.history()] == [None, "before", "nothing said", "said"]
        assert ledger.verify(everything=True).sound


@pytest.mark.parametrize("more", [{"purpose": None}, {"purpose": 5}, {"other": "text"}])
def test_what_is_no_field_of_a_record_is_refused(
    more: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(LATER, "answer", {"purpose": str})
    answer = {"spend": 3, "bytes": 5, "sha256": "0" * 64}
    assert content_of("answer", json.dumps(answer)) == answer
    assert content_of("answer", json.dumps(answer | {"purpose": "text"}))["purpose"] == "text"
    with pytest.raises(BrokenRecordError, match="no ledger writes"):
        content_of("answer", json.dumps(answer | more))
