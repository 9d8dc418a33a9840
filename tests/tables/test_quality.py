"""Marks of quality and of small groups follow from what is published, and `verify` finds others."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from pbdp import Budget, Ledger
from pbdp.errors import ContradictionError, InputError
from pbdp.tables import Count, Mean, People, Sum, verify_manifest
from pbdp.tables.quality import quality_marks, quality_names
from pbdp.tables.query_record import query_from_record, query_record
from pbdp.tables.table import digest_of
from tests.tables.asking import query

COUNTS = Count(within=10)
DATA = {"who": list(range(300)), "city": ["a"] * 200 + ["b"] * 60 + ["c"] * 40, "x": [1.0] * 300}


def test_marks_say_how_wide_and_how_small() -> None:
    asked = query([COUNTS], quality=True, minimum_size=20)
    columns = {
        "count": np.array([100, 99, 34, 33, 19, -500]),
        "count_bounded_within": np.array([10, 10, 10, 10, 1, 10]),
    }
    assert quality_names(asked) == ["count_quality"]
    assert quality_marks(asked, columns)["count_quality"].tolist() == [
        "good", "fair", "fair", "poor", "small", "small",
    ]  # fmt: skip
    assert quality_names(query([COUNTS])) == []


def test_a_mean_of_nothing_is_poor() -> None:
    asked = query([Mean(column="x", low=0, high=1, count_within=5, name="m")], quality=True)
    columns = {"m": np.array([np.nan]), "m_bounded_within": np.array([np.nan])}
    assert quality_marks(asked, columns)["m_quality"].tolist() == ["poor"]


def test_a_minimum_size_needs_a_size() -> None:
    with pytest.raises(InputError, match="minimum_size"):
        query([Sum(column="x", low=0, high=1, within=5.0)], minimum_size=5)
    with pytest.raises(InputError, match="quality"):
        query([COUNTS], quality="yes")


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_marks_are_published_and_verified(tmp_path: Path, ending: str) -> None:
    asked = query([People(within=10), COUNTS], quality=True, minimum_size=100)
    assert query_from_record(query_record(asked)).minimum_size == 100
    path = tmp_path / f"t.{ending}"
    asked.plan().release(DATA).save(path)
    manifest = tmp_path / f"t.{ending}.manifest.json"
    assert verify_manifest(manifest).holds
    if ending == "csv":
        changed = path.read_bytes().replace(b"small", b"good")
        path.write_bytes(changed)
        record = json.loads(manifest.read_text())
        record["table"]["sha256"] = digest_of(changed)
        manifest.write_text(json.dumps(record))
        assert not verify_manifest(manifest).holds


def test_small_groups_are_withheld_on_request(tmp_path: Path) -> None:
    plan = query([People(within=10), COUNTS], minimum_size=100, withhold=True).plan()
    assert query_from_record(query_record(plan.query)).withhold
    with Ledger.create(tmp_path / "ledger.db") as ledger:
        budget = Budget.create(ledger, "shop", epsilon=20, delta=1e-4)
        table = plan.release(DATA, budget=budget, key="one")
    assert table.withheld.tolist() == [False, True, True]
    assert np.isnan(table.columns["count"]).tolist() == [False, True, True]
    assert table.to_arrow()["people_bounded_low"].null_count == 2
    assert table.to_arrow()["count"].type == "int64"
    table.save(tmp_path / "t.csv")
    manifest = tmp_path / "t.csv.manifest.json"
    found = verify_manifest(manifest, ledger=str(tmp_path / "ledger.db"))
    assert found.holds, [check for check in found.checks if check.holds is False]
    assert found.is_complete
    record = json.loads(manifest.read_text())
    lines = (tmp_path / "t.csv").read_text().splitlines()
    for changed in (
        # a number that should be withheld, a mark that is none of a withheld group, another group withheld
        [*lines[:2], lines[2].replace('"b",,', '"b",3,'), *lines[3:]],
        [*lines[:2], lines[2].replace("small", "poor"), *lines[3:]],
        [*lines[:1], '"a"' + lines[2].removeprefix('"b"'), *lines[2:]],
    ):
        content = "\n".join([*changed, ""]).encode()
        (tmp_path / "t.csv").write_bytes(content)
        manifest.write_text(json.dumps(record | {"table": record["table"] | {"sha256": digest_of(content)}}))
        assert not verify_manifest(manifest, ledger=str(tmp_path / "ledger.db")).holds


def test_withholding_needs_a_minimum_size() -> None:
    with pytest.raises(ContradictionError, match="minimum_size"):
        query([COUNTS], withhold=True)
    with pytest.raises(InputError, match="withhold"):
        query([COUNTS], minimum_size=5, withhold="yes")
