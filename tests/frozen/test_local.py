"""Configurations of the local model of pbdp 0.1.0: the same fingerprints, reports and estimates."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.frozen import reading
from tests.frozen.kept import assert_kept

INDEX = reading.index()
LOCAL = reading.HERE / "local"

every_configuration = pytest.mark.parametrize("name", INDEX["local"])


@every_configuration
def test_a_configuration_claims_reports_and_estimates_the_same(name: str) -> None:
    old, new = INDEX["local"][name]["facts"], reading.local_facts(LOCAL / name)
    assert_kept(without_proved(old), without_proved(new))
    # proved intervals are narrower than they were, or as wide but for what the variance takes of a miss
    for kind, before in old["estimates"].items():
        if "guaranteed" in kind and not isinstance(before, str):
            people, low, high = before
            after = new["estimates"][kind]
            assert after[0] == pytest.approx(people, rel=1e-9)
            for one, least, most, now_least, now_most in zip(people, low, high, *after[1:], strict=True):
                assert now_least >= one - 1.01 * (one - least)
                assert now_most <= one + 1.01 * (most - one)


def without_proved(facts: dict[str, Any]) -> dict[str, Any]:
    kept = {
        kind: made
        for kind, made in facts["estimates"].items()
        if "guaranteed" not in kind or isinstance(made, str)
    }
    return facts | {"estimates": kept}


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
