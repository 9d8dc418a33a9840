"""An export can be checked elsewhere, without the store."""

from __future__ import annotations

import base64
import hashlib
import json
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from pbdp.ledger import Ledger, verify_export
from tests.ledger.asking import ledger_with_visits, request


@pytest.fixture
def lines(filled_file: Path) -> list[str]:
    with Ledger.open(filled_file) as ledger:
        return list(ledger.export())


def test_an_export_verifies_as_the_ledger_does(filled: str) -> None:
    with Ledger.open(filled) as ledger:
        outcome, told = verify_export(ledger.export()), ledger.verify()
    assert outcome.sound
    assert (outcome.records, outcome.spends, outcome.answers) == (told.records, told.spends, told.answers)
    assert (outcome.ledger, outcome.head) == (told.ledger, told.head)


def test_a_hash_can_be_recomputed_by_hand(lines: list[str]) -> None:
    previous = "0" * 64
    for line in lines[1:-1]:
        record = json.loads(line)
        parts = ["pbdp ledger 1", str(record["sequence"]), record["time"], record["kind"], record["payload"]]
        text = "".join(f"{len(part)}:{part}," for part in [*parts, previous])
        previous = hashlib.sha256(text.encode()).hexdigest()
        assert record["hash"] == previous


def test_an_export_holds_every_answer(lines: list[str]) -> None:
    answers = [json.loads(line) for line in lines if '"answer"' in line]
    assert [base64.b64decode(one["answer"]) for one in answers] == [b"answer %d" % n for n in range(6)]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda lines: lines[:-1], "cut short"),
        (lambda lines: lines[:5], "cut short"),
        (lambda lines: lines[:5] + lines[6:], "records are missing"),
        (lambda lines: [*lines[:5], lines[6], lines[5], *lines[7:]], "records are missing"),
        (lambda lines: [*lines[:-3], lines[-1]], "cut short"),
        (lambda lines: [*lines, lines[-1]], "more after its last line"),
        (lambda lines: [line.replace(r"renyi\":10", r"renyi\":1") for line in lines], "does not match"),
        (lambda lines: ["{}", *lines[1:]], "line 1 cannot be read"),
        (lambda lines: [lines[0].replace("ledger 1", "ledger 2"), *lines[1:]], "it is not one that"),
        (lambda lines: [lines[0][:-4] + 'f"}', *lines[1:]], "names another ledger"),
        (lambda lines: [*lines[:6], "garbage", *lines[6:]], "line 7 cannot be read"),
        (lambda _: [], "cut short"),
    ],
)  # fmt: skip
def test_a_changed_export_is_found(
    lines: list[str], change: Callable[[list[str]], list[str]], words: str
) -> None:
    outcome = verify_export(change(lines))
    assert outcome.fault is not None
    assert words in outcome.fault


def test_any_changed_character_is_found(lines: list[str]) -> None:
    rng = random.Random(1)
    for _ in range(300):
        number = rng.randrange(len(lines))
        place = rng.randrange(len(lines[number]))
        new = rng.choice('0a"}9Z')
        line = lines[number][:place] + new + lines[number][place + 1 :]
        if line != lines[number]:
            assert not verify_export([*lines[:number], line, *lines[number + 1 :]]).sound, (number, place)


def test_nothing_but_released_numbers_and_what_was_said_is_kept(url: str) -> None:
    with ledger_with_visits(url) as ledger:
        ledger.release(request(key="k", query="count of visits"), lambda: b"released")
        text = "\n".join(ledger.export())
    payloads = [json.loads(json.loads(line)["payload"]) for line in text.splitlines()[1:-1]]
    assert set(payloads[2]) == {
        "dataset", "plan", "plan_label", "query", "key", "fingerprint", "neighbours", "values", "disjoint",
        "units", "package", "bought", "used", "cost", "spent", "releases",
    }  # fmt: skip
    assert set(payloads[3]) == {"spend", "bytes", "sha256"}
