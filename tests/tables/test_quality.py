"""Marks of quality and of small groups follow from what is published, and `verify` finds others."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from pbdp.errors import InputError
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
    asked = query([People(within=10), COUNTS], quality=True, minimum_size=50)
    assert query_from_record(query_record(asked)).minimum_size == 50
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
