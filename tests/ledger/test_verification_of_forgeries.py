"""A forger who computes all hashes anew still has to make the records add up; these do not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pbdp.json_records import canonical
from pbdp.ledger import Ledger, Purchase, verify_export
from pbdp.ledger.export import _row
from pbdp.ledger.verification import Walk
from tests.ledger.asking import PLAN, fill, ledger_with_visits, plan_number, request
from tests.ledger.tampering import forged, take_back

SECOND_GENESIS = '{"format":"pbdp ledger 2","ledger":"00"}'
FIRST_DATASET = canonical(
    {
        "dataset": "free",
        "limits": {"renyi": 1},
        "rule": {},
        "neighbors": "replace",
        "note": None,
        "spent": {"renyi": 0},
        "releases": 0,
    }
)


@pytest.fixture(scope="module")
def recovered(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The filled ledger up to record 9, a recovery (10), a spend (11) and its answer (12)."""
    folder = tmp_path_factory.mktemp("recovered")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PBDP_STATE", str(folder / "state"))
        place = str(folder / "budget.db")
        fill(place)
        take_back(place, 9)
        with Ledger.recover(place, "known") as ledger:
            ledger.release(request(package=100, key="after"), lambda: b"x")
            return list(ledger.export())


def fault(lines: list[str]) -> str:
    outcome = verify_export(lines)
    assert outcome.fault is not None
    return outcome.fault


def test_a_forgery_that_adds_up_is_sound_in_itself(lines: list[str], recovered: list[str]) -> None:
    """So that the faults below are those that are meant, and not the forger's clumsiness."""
    for genuine in (lines, recovered):
        assert forged(genuine, {}) == genuine
        assert verify_export(forged(genuine, {6: {"plan_label": "another"}})).sound


@pytest.mark.parametrize(
    ("edits", "words"),
    [
        ({0: {"payload": FIRST_DATASET, "kind": "dataset"}}, "record 0 is of a kind that cannot stand there"),
        (
            {2: {"payload": SECOND_GENESIS, "kind": "genesis"}},
            "record 2 is of a kind that cannot stand there",
        ),
        ({1: {"payload": "[]"}}, "record 1 has a payload that no ledger writes"),
        ({1: {"payload": "{"}}, "record 1 has a payload that no ledger writes"),
        ({1: {"payload": "{}"}}, "record 1 has a payload that no ledger writes"),
        ({1: {"spent": {"renyi": -50}}}, "record 1 starts with something spent"),
        ({1: {"releases": -1}}, "record 1 starts with something spent"),
        ({1: {"spent": {}}}, "record 1 starts with the wrong amounts"),
        ({2: {"dataset": "visits"}}, "record 2 gives a second budget to a dataset"),
        ({1: {"limits": {"renyi": 9}}}, "record 3 spends more than the limit"),
        ({3: {"dataset": "nowhere"}}, "record 3 spends on a dataset that does not exist"),
        ({3: {"cost": {"renyi": 0}}}, "record 3 carries a wrong total of what is spent"),
        ({3: {"spent": {"renyi": 5}}}, "record 3 carries a wrong total of what is spent"),
        ({3: {"cost": {"renyi": 10, "more": 1}}}, "record 3 is paid in the wrong amounts"),
        ({3: {"cost": {"renyi": -10}}}, "record 3 has a payload that no ledger writes"),
        ({3: {"cost": {"renyi": 10.0}}}, "record 3 has a payload that no ledger writes"),
        ({3: {"package": 0}}, "record 3 has a payload that no ledger writes"),
        ({4: {"key": "waiting"}}, "record 4 uses a request key a second time"),
        ({4: {"used": 1}}, "record 4 carries a wrong number of paid releases"),
        ({4: {"bought": 400}}, "record 4 carries a wrong number of paid releases"),
        (
            {4: {"cost": {"renyi": 10}, "spent": {"renyi": 20}}},
            "record 4 pays for releases that were paid for",
        ),
        ({4: {"neighbors": "replace"}}, "record 4 mixes neighboring relations"),
        ({4: {"query": "another"}}, "record 4 does not match its fingerprint"),
        ({4: {"releases": 1}}, "record 4 carries a wrong number of releases"),
        ({4: {"units": 1}}, "record 4 counts its releases wrongly"),
        ({4: {"answer": "eA=="}}, "record 4 has an answer that does not belong to it"),
        ({5: {"sha256": "0" * 64}}, "record 5 has an answer that was changed"),
        ({5: {"bytes": 3}}, "record 5 has an answer that was changed"),
        ({5: {"answer": None}}, "record 5 has lost its answer"),
        ({5: {"spend": 1}}, "record 5 answers what is not waiting for an answer"),
        ({7: {"spend": 4}}, "record 7 answers what is not waiting for an answer"),
    ],
)
def test_records_that_do_not_add_up_are_found(
    lines: list[str], edits: dict[int, dict[str, Any]], words: str
) -> None:
    assert words in fault(forged(lines, edits))


def test_a_spend_of_another_plan_has_to_be_paid(lines: list[str]) -> None:
    """Its units would come from no package; the totals of the record say that nothing was bought."""
    other = plan_number(1)
    print_of_it = request(package=100, values=2, plan=other).fingerprint("k0")
    assert other != PLAN
    words = "record 4 carries a wrong number of paid releases"
    assert words in fault(forged(lines, {4: {"plan": other, "fingerprint": print_of_it}}))


def test_a_payload_has_one_way_to_be_written(lines: list[str]) -> None:
    ledger = json.loads(lines[0])["ledger"]
    payload = canonical({"format": "pbdp ledger 2", "ledger": ledger})
    assert verify_export(forged(lines, {0: {"payload": payload}})).sound
    spaced = payload.replace(",", ", ")
    assert "one way that JSON is" in fault(forged(lines, {0: {"payload": spaced}}))


@pytest.mark.parametrize(
    ("edits", "words"),
    [
        ({10: {"gap": "some"}}, "record 10 counts the gap in an unknown way"),
        ({10: {"spent": {"visits": {"renyi": 10}}}}, "record 10 does not recover every dataset"),
        (
            {10: {"charged": {"visits": {"renyi": -5}, "stays": {"renyi": 0}}}},
            "record 10 gives back what was spent",
        ),
        (
            {10: {"spent": {"visits": {"renyi": 0}, "stays": {"renyi": 0}}}},
            "record 10 carries a wrong total of what is spent",
        ),
        ({10: {"gap": "all"}}, "record 10 does not count everything as spent"),
        ({11: {"bought": 100, "used": 8}}, "record 11 carries a wrong number of paid releases"),
        ({12: {"spend": 3}}, "record 12 answers what is not waiting for an answer"),
    ],
)
def test_recoveries_that_do_not_add_up_are_found(
    recovered: list[str], edits: dict[int, dict[str, Any]], words: str
) -> None:
    assert words in fault(forged(recovered, edits))


@pytest.mark.parametrize(
    ("edit", "words"),
    [
        ({"before": "0" * 16}, "record 2 names a wrong key"),
        ({"change": "mended"}, "record 2 changes the key in an unknown way"),
        ({"change": "replaced", "export": {}}, "record 2 is under another key than those before it"),
        ({"export": {}}, "record 2 replaces a key without an export"),
        ({"key": "0" * 16}, "record 3 is under another key than those before it"),
    ],
)
def test_changes_of_the_key_that_cannot_be_are_found(file: Path, edit: dict[str, Any], words: str) -> None:
    with ledger_with_visits(str(file)) as ledger:
        ledger.rotate_key()
        ledger.reserve(request())
        lines = list(ledger.export())
    assert verify_export(forged(lines, {})).sound
    assert words in fault(forged(lines, {2: edit}))
    before = json.loads(json.loads(lines[3])["payload"])["before"]
    assert "record 2 names a wrong key" in fault(forged(lines, {2: {"key": before}}))


def test_releases_are_not_had_for_nothing_beside_a_purchase(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A record without key and cost belongs to the purchase before it, or to none."""
    monkeypatch.setenv("PBDP_STATE", str(tmp_path / "state"))
    plans = tuple((plan_number(number), "weekly", 52) for number in range(2))
    with ledger_with_visits(str(tmp_path / "budget.db")) as ledger:
        cost = {"renyi": 10}
        ledger.buy(Purchase(dataset="visits", plans=plans, cost=cost, neighbors="add/remove", key="year"))
        ledger.reserve(request(key="other"))
        ledger.reserve(request(key="another", plan=plan_number(3)))
        bought = list(ledger.export())
    assert verify_export(bought).sound
    part = next(json.loads(line) for line in bought if '"kind":"purchase"' in line and '"key\\":null' in line)
    content = json.loads(part["payload"])
    again = canonical({**content, "bought": 104, "releases": 1, "spent": {"renyi": 20}})
    found = fault(forged(bought, {5: {"payload": again, "kind": "purchase"}}))
    assert found == "record 5 belongs to no purchase that was paid for"


def test_records_taken_together_are_judged_like_one_by_one(lines: list[str]) -> None:
    """Payloads are compared in batches: the first fault is named, whatever is wrong after it."""
    genuine = {json.loads(line)["sequence"]: json.loads(line) for line in lines[1:-1]}
    spaced = {number: record["payload"].replace(",", ", ") for number, record in genuine.items()}
    twice = {number: '{"bytes":1,' + record["payload"][1:] for number, record in genuine.items()}
    for edits, words in (
        ({}, None),
        ({5: {"payload": spaced[5]}}, "record 5 is not written in the one way"),
        ({5: {"payload": twice[5]}}, "record 5 is not written in the one way"),
        ({6: {"payload": spaced[6]}, 8: {"used": 1}}, "record 6 is not written in the one way"),
        ({6: {"used": 1}, 8: {"payload": spaced[8]}}, "record 6 carries a wrong number of paid releases"),
        ({6: {"payload": spaced[6]}, 4: {"units": 1}}, "record 4 counts its releases wrongly"),
        ({6: {"payload": "[" * 100_000}}, "record 6 has a payload that no ledger writes"),
    ):
        walk, forgery = Walk(), forged(lines, edits)
        walk.take([_row(json.loads(line)) for line in forgery[1:-1]])
        assert (words or "None") in str(walk.fault)
        assert verify_export(forgery).fault == walk.fault
