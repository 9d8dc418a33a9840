"""A forger who computes all hashes anew still has to make the records add up; these do not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pbdp.json_records import canonical
from pbdp.ledger import Ledger, verify_export
from tests.ledger.asking import PLAN, fill, ledger_with_visits, plan_number, request
from tests.ledger.tampering import forged, take_back

SECOND_GENESIS = '{"format":"pbdp ledger 1","ledger":"00"}'
FIRST_DATASET = canonical(
    {
        "dataset": "free",
        "limits": {"renyi": 1},
        "rule": {},
        "neighbors": "replace",
        "note": None,
        "spent": {"renyi": 0},
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
        with Ledger.repair(place, "known") as ledger:
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
        assert verify_export(forged(genuine, {6: {"plans": [[PLAN, "another", 100]]}})).sound


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
        ({1: {"spent": {}}}, "record 1 starts with the wrong amounts"),
        ({2: {"dataset": "visits"}}, "record 2 gives a second budget to a dataset"),
        ({1: {"limits": {"renyi": 9}}}, "record 3 spends more than the limit"),
        ({3: {"dataset": "nowhere"}}, "record 3 spends on a dataset that does not exist"),
        ({3: {"cost": {"renyi": 0}}}, "record 3 carries a wrong total of what is spent"),
        ({3: {"spent": {"renyi": 5}}}, "record 3 carries a wrong total of what is spent"),
        ({3: {"cost": {"renyi": 10, "more": 1}}}, "record 3 is paid in the wrong amounts"),
        ({3: {"cost": {"renyi": -10}}}, "record 3 has a payload that no ledger writes"),
        ({3: {"cost": {"renyi": 10.0}}}, "record 3 has a payload that no ledger writes"),
        ({3: {"plans": [[PLAN, "laplace", 0]]}}, "record 3 has a payload that no ledger writes"),
        ({4: {"key": "waiting"}}, "record 4 uses a request key a second time"),
        ({4: {"units_left": 1}}, "record 4 carries a wrong number of paid releases"),
        (
            {4: {"cost": {"renyi": 10}, "spent": {"renyi": 20}}},
            "record 4 pays for releases that were paid for",
        ),
        ({4: {"neighbors": "replace"}}, "record 4 mixes neighboring relations"),
        ({4: {"disjoint": 1}}, "record 4 has a payload that no ledger writes"),
        ({5: {"sha256": "0" * 64}}, "the answer of record 5 is missing or was changed"),
        ({5: {"bytes": 3}}, "the answer of record 5 is missing or was changed"),
        ({5: {"answer": None}}, "the answer of record 5 is missing or was changed"),
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
    assert other != PLAN
    words = "record 4 carries a wrong number of paid releases"
    assert words in fault(forged(lines, {4: {"plans": [[other, "laplace", 100]]}}))


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
        ({11: {"units_left": 92}}, "record 11 carries a wrong number of paid releases"),
        ({12: {"spend": 3, "key": "waiting"}}, "record 12 answers what is not waiting for an answer"),
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


@pytest.mark.parametrize(
    ("edit", "words"),
    [
        ({"plans": []}, "has a payload that no ledger writes"),
        ({"plans": [[PLAN, "weekly", 52], [PLAN, "weekly", 52]]}, "has a payload that no ledger writes"),
        ({"cost": {"renyi": 0}}, "carries a wrong total of what is spent"),
    ],
)
def test_purchases_that_do_not_add_up_are_found(file: Path, edit: dict[str, Any], words: str) -> None:
    plans = tuple((plan_number(number), "weekly", 52) for number in range(2))
    with ledger_with_visits(str(file)) as ledger:
        ledger.reserve(request(plans=plans, values=0, key="year"))
        ledger.reserve(request(key="from it", plan=plan_number(1), package=52))
        bought = list(ledger.export())
    assert verify_export(bought).sound
    assert fault(forged(bought, {2: edit})) == f"record 2 {words}"
