"""Alarms: silent for honest reports as often as they say, loud for false ones."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from pbdp.local import Counts, LocalMechanism, alarms, count_reports, in_blocks, without_categories
from pbdp.local import false_reports as module
from pbdp.local.boosted_response import boosted_response
from pbdp.local.false_reports import Alarm, Repeating, Repeats
from pbdp.local.local_hashing import local_hashing
from pbdp.local.mean_response import mean_response
from pbdp.local.square_wave import square_wave
from pbdp.local.subset_selection import subset_selection
from pbdp.local.user_split import user_split
from pbdp.release.keystream import InsecureTestKeystream
from tests.local.setups import some_truth

AGES = in_blocks(range(10, 101), 10)
MECHANISMS: dict[str, LocalMechanism] = {
    "boosted": boosted_response(AGES, 3.0, 1.5),
    "hashing": local_hashing(AGES, 2.0),
    "subsets": subset_selection(AGES, 1.0),
    "sets": subset_selection(AGES, 5.0, 3, by_category=True),
    "split": user_split(AGES, 1.0, 0.45),
    "wave": square_wave(AGES, 1.0),
    "mean": mean_response(AGES, 1.0),
}


def sent(mechanism: LocalMechanism, users: int, seed: int, truth: int = 3) -> npt.NDArray[Any]:
    codes = some_truth(mechanism.domain, users, truth)
    internal = mechanism.drawn(codes, InsecureTestKeystream(seed))
    return mechanism.published(internal, np.empty(0, dtype=object))


def kinds(found: tuple[Alarm, ...]) -> set[str]:
    return {alarm.kind for alarm in found}


@pytest.mark.parametrize("name", MECHANISMS)
def test_honest_reports_are_odd_as_rarely_as_the_p_values_say(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With every p-value shown, one below 5 % occurs in at most 5 % of surveys (each of a few kinds)."""
    monkeypatch.setattr(module, "ALARMING", 2.0)
    mechanism = MECHANISMS[name]
    found: dict[str, list[float]] = {}
    for seed in range(60):
        parts = [(f"part {k}", count_reports(mechanism, sent(mechanism, 400, 2 * seed + k))) for k in (0, 1)]
        least: dict[str, float] = {}
        for alarm in alarms(mechanism, parts):
            least[alarm.kind] = min(least.get(alarm.kind, 1.0), alarm.p_value)
        for kind, p in least.items():
            found.setdefault(kind, []).append(p)
    assert "drift" in found
    for kind, values in found.items():
        assert np.mean(np.array(values) < 0.05) < 0.17, kind  # 60 surveys: 3 sigma above 5 %
        assert min(values) > 1e-5, kind


def test_counts_that_no_people_can_make() -> None:
    mechanism = MECHANISMS["boosted"]
    counts = count_reports(mechanism, sent(mechanism, 20_000, 4))
    tally = counts.tally.copy()
    tally[0] += tally[7] - 2
    tally[7] = 2
    found = alarms(mechanism, [("all", replace(counts, tally=tally))])
    assert kinds(found) == {"cells"}
    assert "reports for 17, where at least" in found[0].words
    everyone = np.zeros(91, dtype=np.int64)
    everyone[5] = 20_000
    found = alarms(mechanism, [("all", replace(counts, tally=everyone))])
    assert found[0].p_value == 1e-300  # less than that is not said


@pytest.mark.parametrize(
    ("name", "false", "kind"),
    [
        ("hashing", 5, "marks"),
        ("mean", 1, "marks"),
        ("split", "ce000", "marks"),
        ("subsets", "ffffff" + "0" * 18, "repeats"),
    ],
)
def test_the_same_report_sent_again_and_again(name: str, false: object, kind: str) -> None:
    mechanism = MECHANISMS[name]
    reports = sent(mechanism, 10_000, 5)
    reports[:1500] = false
    counts = count_reports(mechanism, reports)
    noted = Repeating(mechanism=mechanism)
    noted.add(reports, None)
    assert counts.users == 10_000
    assert kind in kinds(alarms(mechanism, [("all", counts)], noted.found()))


def test_repeats_are_found_where_reports_are_counted_already() -> None:
    mechanism = MECHANISMS["subsets"]
    reports = sent(mechanism, 50, 6)
    noted = Repeating(mechanism=mechanism)
    noted.add(reports, np.array([3, 2] + [1] * 48))
    assert noted.found() == Repeats(pairs=4, most=3)
    none = Repeating(mechanism=MECHANISMS["boosted"])
    none.add(reports, None)
    assert none.found() is None


def test_repeats_among_more_reports_than_a_float_can_count() -> None:
    mechanism = subset_selection(without_categories(range(6000)), 1.0)
    reports = sent(mechanism, 200, 8)
    reports[:2] = reports[2]
    noted = Repeating(mechanism=mechanism)
    noted.add(reports, None)
    found = alarms(mechanism, [("all", count_reports(mechanism, reports))], noted.found())
    assert "repeats" in kinds(found)


def test_parts_that_differ_are_named() -> None:
    mechanism = MECHANISMS["boosted"]
    parts: list[tuple[str, Counts]] = [
        (name, count_reports(mechanism, sent(mechanism, 5_000, seed, truth)))
        for name, seed, truth in (("north", 1, 3), ("south", 2, 3), ("east", 3, 9))
    ]
    found = alarms(mechanism, parts)
    assert kinds(found) == {"drift"}
    assert found[0].words.startswith("east differs from the rest in")
    assert alarms(mechanism, parts[:2]) == ()
    few = count_reports(mechanism, sent(mechanism, 50, 1, 9))
    assert alarms(mechanism, [parts[0], ("few", few)]) == ()
