"""Query files, and tables with their manifests, of pbdp 0.1.0."""

from __future__ import annotations

import pytest

from tests.frozen import reading
from tests.frozen.kept import assert_kept

INDEX = reading.index()
TABLES = reading.HERE / "tables"


@pytest.mark.parametrize("name", INDEX["queries"])
def test_a_query_file_asks_the_same(name: str) -> None:
    known = INDEX["queries"][name]
    found = reading.query_facts(TABLES / name)
    assert_kept(known, found)
    # a ledger knows the request by these texts
    assert (found["text"], found["key"]) == (known["text"], known["key"])


@pytest.mark.parametrize("name", INDEX["queries"])
def test_the_record_of_a_query_is_read_as_it_was(name: str) -> None:
    record = INDEX["queries"][name]["record"]
    assert_kept(record, reading.query_read_again(record))


@pytest.mark.parametrize("name", INDEX["tables"])
def test_a_manifest_is_verified_as_it_was(name: str) -> None:
    manifest = TABLES / f"{name}.manifest.json"
    assert_kept(INDEX["tables"][name]["alone"], reading.table_facts(manifest))


def test_a_table_from_a_seed_is_drawn_again() -> None:
    drawn = reading.table_drawn_again(TABLES / "seeded.csv.manifest.json", TABLES / "data.csv")
    assert drawn == (TABLES / "seeded.csv").read_bytes()
