"""Releases as files: what is in them is checked, not believed."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pbdp.errors import InputError
from pbdp.report.certificates.release_file import ReleaseFile, read_release
from pbdp.report.verify import verify
from tests.planning.kinds import plan_of


def release() -> ReleaseFile:
    return ReleaseFile(plan=plan_of("whole"), numbers={"": [12.0]}, created="2026-01-31T12:00:00+00:00")


def test_it_comes_back_as_it_was(tmp_path: Path) -> None:
    release().save(tmp_path / "release.json")
    back = read_release(tmp_path / "release.json")
    assert (back.numbers, back.created, back.plan.epsilon) == (
        {"": [12.0]},
        release().created,
        release().plan.epsilon,
    )
    found = verify(tmp_path / "release.json")
    assert [(check.name, check.holds) for check in found.checks] == [
        ("certificate", True),
        ("numbers", True),
        ("fields", True),
        ("ledger", None),
        ("signature", None),
    ]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"epsilon": 0.1}, "epsilon of the release"),
        ({"released": {"visits": [1]}}, "every part"),
        ({"released": 5}, "broken fields"),
        ({"format": "other"}, "must be a release"),
        ({"version": 2}, "Use the pbdp that wrote it"),
        ({"plan": {}}, "plan"),
    ],
)
def test_a_changed_file_is_refused(change: dict[str, Any], words: str, tmp_path: Path) -> None:
    record = json.loads(release().content()) | change
    (tmp_path / "release.json").write_text(json.dumps(record), encoding="utf-8")
    with pytest.raises(InputError, match=words):
        read_release(tmp_path / "release.json")


def wrong(made: ReleaseFile, folder: Path) -> list[str]:
    made.save(folder / "release.json")
    return [check.name for check in verify(folder / "release.json").checks if check.holds is False]


def test_numbers_that_the_plan_cannot_publish_do_not_hold(tmp_path: Path) -> None:
    for numbers in ([12.5], [1.0, 2.0]):
        assert wrong(replace(release(), numbers={"": numbers}), tmp_path) == ["numbers"]


def test_a_test_seed_does_not_hold(tmp_path: Path) -> None:
    assert wrong(replace(release(), insecure_test_seed=1), tmp_path) == ["noise"]
