"""Configurations of the local model of pbdp 0.1.0: the same fingerprints, reports and estimates."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.frozen import reading
from tests.frozen.kept import assert_kept

INDEX = reading.index()
LOCAL = reading.HERE / "local"

every_configuration = pytest.mark.parametrize("name", INDEX["local"])


@every_configuration
def test_a_configuration_claims_reports_and_estimates_the_same(name: str) -> None:
    assert_kept(INDEX["local"][name]["facts"], reading.local_facts(LOCAL / name))


@every_configuration
def test_test_vectors_make_the_same_reports(name: str) -> None:
    expected = [vector["report"] for vector in reading.json_in(LOCAL / name)["test_vectors"]]
    assert len(expected) == 12
    assert reading.local_vectors(LOCAL / name) == expected


@every_configuration
def test_a_configuration_is_written_as_it_was(name: str) -> None:
    assert_kept(reading.json_in(LOCAL / name), reading.local_saved_again(LOCAL / name))


def test_a_file_of_reports_is_drawn_again(tmp_path: Path) -> None:
    drawn = reading.reports_drawn_again(
        LOCAL / "boosted-ages.json", LOCAL / "values.csv", tmp_path / "reports.csv"
    )
    assert drawn == (LOCAL / "reports.csv").read_bytes()
