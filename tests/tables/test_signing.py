"""Signed manifests: whatever is changed in manifest or table is found, and so is another signer."""

from __future__ import annotations

import json
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pbdp.errors import InputError
from pbdp.tables import Count, verify_manifest
from pbdp.tables.manifest import FIELDS
from pbdp.tables.signing import SIGNATURE, create_pair, is_signed, public_key_at, signer_at
from tests.tables.asking import query

DATA = {"who": [1, 2, 3], "city": ["a", "b", "c"]}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A signed table, with two pairs of keys."""
    folder = tmp_path_factory.mktemp("signed")
    for name in ("office", "other"):
        create_pair(folder / "keys" / name)
    table = query([Count(within=50)], bounds_touched=True).plan().release(DATA)
    table.save(folder / "t.csv", sign=folder / "keys" / "office")
    return folder


def verdict(folder: Path, key: str | None = "office", name: str = "t.csv.manifest.json") -> bool | None:
    signed_by = None if key is None else folder / "keys" / f"{key}.pub"
    found = verify_manifest(folder / name, signed_by=signed_by)
    return next(check.holds for check in found.checks if check.name == "signature")


def test_the_private_key_is_for_its_owner_alone(made: Path) -> None:
    assert stat.S_IMODE((made / "keys" / "office").stat().st_mode) == 0o600
    with pytest.raises(InputError, match="a new file"):
        create_pair(made / "keys" / "office")


def test_the_signer_is_pinned(made: Path) -> None:
    assert verdict(made) is True
    assert verdict(made, "other") is False
    assert verdict(made, None) is None
    assert verify_manifest(made / "t.csv.manifest.json").holds


def places(record: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The way to every value in a record."""
    parts = record.items() if isinstance(record, dict) else enumerate(record)
    for name, value in parts:
        yield (*path, name)
        if isinstance(value, dict | list):
            yield from places(value, (*path, name))


def test_every_change_is_found(made: Path) -> None:
    record = json.loads((made / "t.csv.manifest.json").read_text())
    assert record.keys() <= FIELDS
    tried = 0
    for path in places(record):
        changed = json.loads(json.dumps(record))
        inside = changed
        for part in path[:-1]:
            inside = inside[part]
        inside[path[-1]] = "changed" if inside[path[-1]] != "changed" else None
        assert is_signed(changed) is None, path
        del inside[path[-1]]
        assert path == (SIGNATURE,) or is_signed(changed) is None, path
        tried += 1
    assert tried > 60
    assert is_signed(record | {"note": "approved"}) is None
    assert is_signed(record) == public_key_at(made / "keys" / "office.pub")


def test_fields_that_no_manifest_has_are_found_without_a_signature(made: Path) -> None:
    record = json.loads((made / "t.csv.manifest.json").read_text())
    del record[SIGNATURE]
    (made / "more.json").write_text(json.dumps(record | {"approved": True}))
    (made / "bare.json").write_text(json.dumps(record))
    assert not verify_manifest(made / "more.json").holds
    assert verify_manifest(made / "bare.json").holds
    assert verdict(made, name="bare.json") is False


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("certificate", "approved"), True),
        (("table", "approved"), True),
        (("query", "by", "groups"), 1000),
        (("query", "by", "checked"), "by the office"),
        (("plan", "noise", "assumptions"), ["none"]),
        (("plan", "noise", "certificate", "table_error"), 0.5),
        (("plan", "noise", "parts", 0, "mechanism", "checked"), "yes"),
        (("plan", "numbers", 0), "another"),
    ],
    ids=lambda part: ".".join(map(str, part)) if isinstance(part, tuple) else "",
)
def test_query_and_plan_say_nothing_else_without_a_signature(
    made: Path, place: tuple[str | int, ...], value: object
) -> None:
    record = json.loads((made / "t.csv.manifest.json").read_text())
    del record[SIGNATURE]
    part = record
    for name in place[:-1]:
        part = part[name]
    part[place[-1]] = value
    (made / "said.json").write_text(json.dumps(record))
    assert not verify_manifest(made / "said.json").holds


def test_no_name_stands_twice_in_what_is_signed(made: Path) -> None:
    written = (made / "t.csv.manifest.json").read_text()
    (made / "twice.json").write_text(written.replace('"epsilon": ', '"epsilon": 0.001, "epsilon": ', 1))
    with pytest.raises(InputError, match="twice, under one name"):
        verdict(made, name="twice.json")


def test_a_key_beside_data_or_table_or_open_to_others_is_refused(
    made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    signer = signer_at(made / "keys" / "office")
    with pytest.raises(InputError, match="another folder"):
        signer.check_apart([made / "keys" / "data.csv"])
    for where in (".", "keys", "keys/*.csv", "*/2024/*.csv", "k[e]ys/**/*.csv"):
        with pytest.raises(InputError, match="another folder"):
            signer.check_apart([made / where])
    (made / "data").mkdir(exist_ok=True)
    signer.check_apart([made / "data", made / "*.csv", made / "data/**/*.csv"])
    monkeypatch.setenv("HOME", str(made))
    with pytest.raises(InputError, match="another folder"):
        signer.check_apart(["~/keys/data.csv"])
    signer.check_apart([made / "data.csv", "postgresql://somewhere/x"])
    loose = tmp_path / "loose"
    loose.write_bytes((made / "keys" / "office").read_bytes())
    loose.chmod(0o644)
    with pytest.raises(InputError, match="chmod"):
        signer_at(loose)
    loose.write_text("no key")
    loose.chmod(0o600)
    with pytest.raises(InputError, match="keys create"):
        signer_at(loose)
    with pytest.raises(InputError, match="keys create"):
        public_key_at(made / "keys" / "office")
