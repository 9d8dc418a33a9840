"""Metadata beside a CSV file: every column of the file, in order, with what it holds; the source's name."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from pbdp import Budget, Ledger
from pbdp.errors import InputError
from pbdp.tables import Count, Mean, verify_manifest
from pbdp.tables.table import confidence_shown
from tests.tables.asking import query

DATA = {"who": [1, 2, 3], "city": ["a", "b", "c"], "x": [0.5, 1.0, None]}


def test_metadata_describe_the_file(tmp_path: Path) -> None:
    measures = [Count(within=20), Mean(column="x", low=0, high=1, count_within=20, name="m")]
    plan = query(measures, quality=True).plan()
    plan.release(DATA, source="Museums", version="3").save(tmp_path / "t.csv")
    record = json.loads((tmp_path / "t.csv-metadata.json").read_text())
    header = next(csv.reader((tmp_path / "t.csv").read_text().splitlines()))
    columns = {column["titles"]: column["datatype"] for column in record["tableSchema"]["columns"]}
    assert list(columns) == header
    assert (columns["city"], columns["count"], columns["m"], columns["m_quality"]) == (
        "string", "integer", "number", "string",
    )  # fmt: skip
    assert record["url"] == "t.csv"
    assert record["dc:source"] == "Museums 3"
    assert record["tableSchema"]["primaryKey"] == ["city"]
    manifest = json.loads((tmp_path / "t.csv.manifest.json").read_text())
    assert manifest["source"] == {"name": "Museums", "version": "3"}
    assert verify_manifest(tmp_path / "t.csv.manifest.json").holds


def test_the_source_has_a_digest_under_the_key_of_the_ledger(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PBDP_STATE", str(tmp_path / "state"))
    plan = query([Count(within=20)]).plan()
    with Ledger.create(tmp_path / "ledger.db") as ledger:
        budget = Budget.create(ledger, "shop", epsilon=20, delta=1e-4)
        one, two = (plan.release(DATA, budget=budget, key=key) for key in ("one", "two"))
    assert one.data_digest
    # the key of the request is in it, so that two of the same data cannot be compared
    assert one.data_digest != two.data_digest
    one.save(tmp_path / "t.csv")
    assert json.loads((tmp_path / "t.csv.manifest.json").read_text())["source"] == {
        "keyed_digest": one.data_digest
    }


def test_confidences_have_few_digits_and_promise_no_more() -> None:
    assert confidence_shown(0.9500000000038114) == 0.95
    assert confidence_shown(0.9499999999) == 0.949999
    assert confidence_shown(1.0) == 1.0
    with pytest.raises(InputError, match="source"):
        query([Count(within=20)]).plan().release(DATA, source="\n")
