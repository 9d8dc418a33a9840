"""Damage to the SQLite file: it is refused, or found by `verify`, or changes nothing that the ledger says."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from pbdp.errors import PbdpError
from pbdp.ledger import Ledger, verify_ledger
from tests.ledger.asking import fill, plan_number, request

FLIPS = 200


def test_every_flipped_bit_is_found_or_changes_nothing(file: Path) -> None:
    fill(str(file), releases=30)
    with Ledger.open(file) as ledger:
        before = list(ledger.export())
    content = file.read_bytes()
    rng = random.Random(7)
    found = harmless = 0
    for _ in range(FLIPS):
        damaged = bytearray(content)
        damaged[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
        file.write_bytes(damaged)
        if verify_ledger(file).sound:
            with Ledger.open(file) as ledger:
                assert list(ledger.export()) == before
            harmless += 1
        else:
            found += 1
    assert found > FLIPS / 5
    assert harmless + found == FLIPS


def test_every_flipped_bit_of_the_header_and_of_a_record_is_found_or_changes_nothing(file: Path) -> None:
    fill(str(file), releases=1)
    with Ledger.open(file) as ledger:
        before = list(ledger.export())
    content = file.read_bytes()
    # the 100 bytes that say what the file is, and a record's payload, which has no byte to spare
    payload = content.index(b'{"bought"')
    for place in [*range(100), *range(payload, payload + 200)]:
        damaged = bytearray(content)
        damaged[place] ^= 1 << (place % 8)
        file.write_bytes(damaged)
        outcome = verify_ledger(file)
        if place >= payload:
            assert not outcome.sound
        elif outcome.sound:
            with Ledger.open(file) as ledger:
                assert list(ledger.export()) == before


def test_a_truncated_file_is_found(file: Path) -> None:
    fill(str(file), releases=30)
    content = file.read_bytes()
    for kept in (0, 50, 100, 4096, 5000, len(content) // 2, len(content) - 4096, len(content) - 1):
        file.write_bytes(content[:kept])
        assert not verify_ledger(file).sound, kept
        with pytest.raises(PbdpError), Ledger.open(file) as ledger:
            ledger.release(request(plan=plan_number(1)), lambda: b"x")
