"""Counts: columns of every form, group-bys, chunks, collectors; bad reports are counted and not used."""

from __future__ import annotations

import sqlite3
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from pbdp.errors import InputError
from pbdp.local import (
    Counts,
    LocalMechanism,
    count_groups,
    count_reports,
    estimate,
    in_categories,
)
from pbdp.local.boosted_response import boosted_response
from pbdp.local.counts import no_counts
from pbdp.local.local_hashing import local_hashing
from pbdp.local.mechanism import Reports
from pbdp.local.subset_selection import subset_selection
from pbdp.release.keystream import InsecureTestSeedWarning
from tests.local.setups import DOMAINS

AGES = boosted_response(DOMAINS["ages"], 3.0, 1.5)
WORDS = boosted_response(DOMAINS["words"], 3.0, 1.5)
GAPS = boosted_response(in_categories([[100, -4], [7]]), 3.0, 1.5)
SETS = subset_selection(DOMAINS["ages"], 1.0)
HASHED = local_hashing(DOMAINS["ages"], 1.0)
ALL = {"ages": AGES, "words": WORDS, "gaps": GAPS, "sets": SETS, "hashed": HASHED}


def some(mechanism: LocalMechanism, users: int) -> list[Any]:
    values = mechanism.domain.values
    return [values[(7 * k) % len(values)] for k in range(users)]


FORMS: dict[str, Any] = {
    "list": list,
    "tuple": tuple,
    "numpy": np.array,
    "objects": lambda x: np.array(x, dtype=object),
    "square": lambda x: np.array(x).reshape(10, -1),
    "pandas": lambda x: pd.Series(x, name="a", index=np.arange(len(x)) * 3),
    "pandas nullable": lambda x: pd.Series(x, dtype="Int64" if isinstance(x[0], int) else "string"),
    "pandas categories": lambda x: pd.Series(x).astype("category"),
    "polars": lambda x: pl.Series("a", x),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", ALL)
def test_reports_come_in_the_form_of_the_values_and_are_counted(name: str, form: str) -> None:
    mechanism = ALL[name]
    column = FORMS[form](some(mechanism, 100))
    reports = mechanism.randomize(column)
    assert type(reports.values) is type(column)
    assert reports.fingerprint == mechanism.fingerprint
    if isinstance(column, pd.Series):
        assert reports.values.index.equals(column.index)
        assert reports.values.name == column.name
    if isinstance(column, pl.Series):
        assert reports.values.name == "a"
    if isinstance(column, np.ndarray):
        assert reports.values.shape == column.shape
    counts = count_reports(mechanism, reports)
    assert counts.users == 100
    assert not counts.refused
    if name in ("ages", "words", "gaps"):
        assert set(np.ravel(np.array(reports.values)).tolist()) <= set(mechanism.domain.values)
        assert counts.tally.sum() == 100


@pytest.mark.parametrize("name", ALL)
def test_one_person(name: str) -> None:
    value = ALL[name].domain.values[0]
    report = ALL[name].randomize(value).values
    assert isinstance(report, int | str)
    assert count_reports(ALL[name], report).users == 1


@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.int16, np.int32, np.uint64])
def test_whole_numbers_keep_their_type(kind: type) -> None:
    values: Any = np.array(some(AGES, 50)).astype(kind)
    reports = AGES.randomize(values).values
    assert reports.dtype == kind
    assert count_reports(AGES, reports).users == 50
    assert pl.Series(AGES.randomize(pl.Series(values)).values).dtype == pl.Series(values).dtype


def test_numbers_that_int64_cannot_hold_are_unknown() -> None:
    huge = np.array([2**64 - 1, 2**63, 20], dtype=np.uint64)
    for mechanism in (AGES, HASHED, GAPS):
        assert count_reports(mechanism, huge).refused["unknown value"] >= 2
    assert count_reports(AGES, np.array([2**63 - 1, -(2**63), 20])).refused == {"unknown value": 2}


def test_a_seed_gives_the_same_reports_and_marks_them() -> None:
    values = some(AGES, 100)
    with pytest.warns(InsecureTestSeedWarning):
        first, second = (AGES.randomize(values, insecure_test_seed=3) for _ in range(2))
    assert first == second
    assert first.insecure_test_seed == 3
    assert count_reports(AGES, first).insecure_test
    secure = AGES.randomize(values)
    assert secure.insecure_test_seed is None
    assert secure.values != AGES.randomize(values).values
    assert not count_reports(AGES, secure).insecure_test


@pytest.mark.parametrize(
    "values",
    [
        [20, 101],
        [20, None],
        [20, "21"],
        [20, True],
        [20, 21.0],
        np.array([20.0, 21.0]),
        np.array([20, 9]),
        np.array([20, -(2**63)]),
        np.array([True, False]),
        pd.Series([20, None]),
        pd.Series([20, None], dtype="Int64"),
        pl.Series([20, None]),
        pl.Series(["20"]),
        {"a": 1},
        pd.DataFrame({"a": [20]}),
        pl.DataFrame({"a": [20]}),
        None,
        20.0,
    ],
    ids=str,
)
def test_true_values_outside_the_domain_are_refused_without_being_shown(values: Any) -> None:
    with pytest.raises(InputError) as caught:
        AGES.randomize(values)
    for secret in ("101", "20", "21", "-922"):
        assert secret not in str(caught.value)


def test_an_empty_column() -> None:
    for mechanism in ALL.values():
        assert mechanism.randomize([]).values == []
        assert count_reports(mechanism, []).users == 0


@pytest.mark.parametrize(
    ("reports", "refused"),
    [
        ([20, 20, 101, 9, None, "20", 20.0, True, float("nan")], (2, 2, 3)),
        (np.array([20, 20, 101, 9]), (2, 0, 0)),
        (np.array([20.0, np.nan]), (0, 1, 1)),
        (pd.Series([20, 20, None]), (0, 1, 2)),
        (pd.Series([20, 20, 5, None], dtype="Int64"), (1, 1, 0)),
        (pl.Series([20, 20, 5, None]), (1, 1, 0)),
        (np.array(["20", "x"]), (0, 0, 2)),
    ],
    ids=str,
)
def test_bad_reports_are_counted_and_not_used(reports: Any, refused: tuple[int, int, int]) -> None:
    counts = count_reports(AGES, reports)
    reasons = ("unknown value", "null", "wrong type")
    assert counts.refused == {why: n for why, n in zip(reasons, refused, strict=True) if n}
    assert counts.refused_reports == sum(refused)
    assert counts.users == len(reports) - sum(refused) == counts.tally.sum()
    assert counts.users == counts.tally[10]


def test_bad_encoded_reports_are_counted_and_not_used() -> None:
    good = SETS.report_of(20, [5] * SETS.words_per_user)
    bad = [good, good.upper() + "0", "g" * 24, good[:-1] + "f", None, 7, "é" * 24, good.replace(good[0], " ")]
    assert count_reports(SETS, bad).refused == {"unknown value": 5, "wrong type": 1, "null": 1}
    assert count_reports(SETS, ["0" * 24, "g" * 24, "0" * 23 + "f"]).refused == {"unknown value": 3}
    most = HASHED.g ** (HASHED.digits + 1)
    counts = count_reports(HASHED, [0, most - 1, most, -1, None, "1", True])
    assert counts.refused == {"unknown value": 2, "wrong type": 2, "null": 1}
    assert counts.users == 2
    assert count_reports(HASHED, np.array([0, most])).refused == {"unknown value": 1}
    assert count_reports(HASHED, np.array([0.0, np.nan])).refused == {"wrong type": 1, "null": 1}


def test_reports_of_another_configuration_are_refused() -> None:
    other = boosted_response(DOMAINS["ages"], 3.0, 1.4)
    reports = other.randomize(some(AGES, 30))
    assert count_reports(AGES, reports).refused == {"another configuration": 30}
    assert count_reports(AGES, reports).users == 0
    assert count_reports(AGES, [20, 30], fingerprint=other.fingerprint).refused_reports == 2
    assert count_groups(AGES, {20: 5}, fingerprint=other.fingerprint).refused_reports == 5
    assert count_groups(AGES, {20: 5}, fingerprint=AGES.fingerprint).users == 5
    with pytest.raises(InputError, match="one configuration"):
        _ = no_counts(AGES) + no_counts(other)


def same(first: Counts, second: Counts) -> bool:
    return (
        first.tally.tolist() == second.tally.tolist()
        and first.users == second.users
        and first.refused == second.refused
    )


@pytest.mark.parametrize("name", ALL)
def test_chunks_and_collectors_and_databases_give_the_same_counts(name: str) -> None:
    mechanism = ALL[name]
    reports = mechanism.randomize(some(mechanism, 3000)).values
    bad = [*reports, None, None, -77 if isinstance(reports[0], int) else "??"]
    whole = count_reports(mechanism, bad)
    assert whole.refused == {"null": 2, "unknown value": 1}
    parts = [count_reports(mechanism, bad[k : k + 700]) for k in range(0, len(bad), 700)]
    assert same(sum(parts, no_counts(mechanism)), whole)
    assert same(count_reports(mechanism, bad[:500]) + count_reports(mechanism, bad[500:]), whole)

    with sqlite3.connect(":memory:") as database:
        database.execute("create table reports (report)")
        database.executemany("insert into reports values (?)", [(report,) for report in bad])
        rows = database.execute("select report, count(*) from reports group by report").fetchall()
    database.close()
    assert same(count_groups(mechanism, dict(rows)), whole)
    columns = [list(column) for column in zip(*rows, strict=True)]
    assert same(count_groups(mechanism, *columns), whole)
    frame = pl.DataFrame({"report": bad}).group_by("report").len()
    assert same(count_groups(mechanism, frame["report"], frame["len"]), whole)


@pytest.mark.parametrize(
    "groups",
    [
        ({20: -1},),
        ({20: 1.5},),
        ({20: None},),
        ({20: True},),
        ({20: 2**53},),
        ({20: 2**70},),
        ([20, 30], [1]),
        ([20], ["1"]),
        ([20],),
        ({20: 1}, [1]),
    ],
)
def test_counts_that_are_none_are_refused(groups: Any) -> None:
    with pytest.raises(InputError, match="counts"):
        count_groups(AGES, *groups)


def test_estimates_say_what_was_refused() -> None:
    made = estimate(AGES, count_reports(AGES, [*some(AGES, 100), 7, None]))
    assert made.users == 100
    assert made.refused == {"unknown value": 1, "null": 1}


def test_reports_stay_unmarked_without_a_seed(recwarn: pytest.WarningsRecorder) -> None:
    Reports(values=[1], fingerprint="x")
    assert not recwarn.list
