"""Manifests: every column of the file, in order; the source's name; nothing is left out or flattered."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pbdp import Budget, Ledger
from pbdp.digits import rounded_up
from pbdp.errors import InputError
from pbdp.tables import Count, Mean, verify_manifest
from pbdp.tables.table import confidence_shown
from tests.tables.asking import query

Record = dict[str, Any]
DATA = {"who": [1, 2, 3], "city": ["a", "b", "c"], "x": [0.5, 1.0, None]}


MEASURES = [Count(within=20), Mean(column="x", low=0, high=1, count_within=20, name="m")]


def test_every_column_of_the_file_is_described_in_order(tmp_path: Path) -> None:
    plan = query(MEASURES, quality=True).plan()
    plan.release(DATA, source="Museums", version="3").save(tmp_path / "t.csv")
    header = next(csv.reader((tmp_path / "t.csv").read_text().splitlines()))
    manifest = json.loads((tmp_path / "t.csv.manifest.json").read_text())
    assert list(manifest["table"]["columns"]) == header
    assert manifest["source"] == {"name": "Museums", "version": "3"}
    assert verify_manifest(tmp_path / "t.csv.manifest.json").holds


def _without(record: Record, *names: str) -> None:
    for name in names[:-1]:
        record = record[name]
    del record[names[-1]]


def _rounded_to_nearest(record: Record) -> None:
    """The statement with an epsilon of six digits that is below the certified one."""
    claim = record["certificate"]
    up, nearest = rounded_up(claim["epsilon"], digits=6), f"{claim['epsilon']:.6g}"
    assert up != nearest
    claim["statement"] = claim["statement"].replace(up, nearest)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda record: _without(record, "plan", "laws"), "the formulas are not those of the noise"),
        (lambda record: record["plan"]["laws"][0].update(formula=None), "the formulas are not those"),
        (_rounded_to_nearest, "the statement says something else than the certificate"),
        (
            lambda record: record["query"].update(most_rows=2**36),
            "query has fields that no such file has: most_rows",
        ),
        (lambda record: record.update(version=2), None),
    ],
)
def test_what_every_manifest_says_may_not_be_left_out_or_flattered(
    change: Callable[[Record], None], told: str | None, tmp_path: Path
) -> None:
    # 0.834084..., which is 0.834085 rounded up and 0.834084 to the nearest
    query([Count(within=21)]).plan().release(DATA).save(tmp_path / "t.csv")
    place = tmp_path / "t.csv.manifest.json"
    assert verify_manifest(place).holds
    record = json.loads(place.read_text())
    change(record)
    place.write_text(json.dumps(record))
    if told is None:
        with pytest.raises(InputError, match="version of the manifest must be 1; got 2"):
            verify_manifest(place)
        return
    (wrong,) = (check for check in verify_manifest(place).checks if check.holds is False)
    assert (wrong.name, wrong.words[: len(told)]) == ("certificate", told)


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
