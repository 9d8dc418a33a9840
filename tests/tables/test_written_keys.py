"""Values as people write them: taken for what they look like, and never for something else."""

from __future__ import annotations

import datetime
from typing import Any

import pytest

from pbdp.errors import InputError
from pbdp.tables.written_keys import keys_in_range, listed, looked_at, typed, whole_range

DAY = datetime.date(2024, 2, 29)


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("Paris,Rome", ["Paris", "Rome"]),
        (" Paris , Rome ", ["Paris", "Rome"]),
        ('"Washington, DC",Rome', ["Washington, DC", "Rome"]),
        ('"say ""so""",x', ['say "so"', "x"]),
        ('" x "', [" x "]),
        ('""', [""]),
        ("1,-2,30", [1, -2, 30]),
        ('"1",2', ["1", "2"]),
        ("01,2", ["01", "2"]),
        ("-0,2", ["-0", "2"]),
        ("1.5,2", ["1.5", "2"]),
        ("9223372036854775807,1", [2**63 - 1, 1]),
        ("9223372036854775808,1", ["9223372036854775808", "1"]),
        ("true,false", [True, False]),
        ("true,no", ["true", "no"]),
        ("2024-02-29", [DAY]),
        ("2023-02-29", ["2023-02-29"]),
        ("2024-02-29,x", ["2024-02-29", "x"]),
        ("1..3", [1, 2, 3]),
        ("-2..0", [-2, -1, 0]),
        ("2024-02-28..2024-03-01", [DAY - datetime.timedelta(1), DAY, DAY + datetime.timedelta(1)]),
        ("a..b", ["a..b"]),
        ('"1..3"', ["1..3"]),
        ("1..3,x", ["1..3", "x"]),
        ("x=y", ["x=y"]),
    ],
)
def test_keys_are_what_they_look_like(text: str, keys: list[Any]) -> None:
    found = typed("c", listed("c", text))
    assert list(found) == keys
    assert [type(key) for key in found] == [type(key) for key in keys]


def test_keys_in_quotes_are_text() -> None:
    assert typed("c", listed("c", '"1..3",2')) == ["1..3", "2"]


def test_ranges_of_whole_numbers_alone() -> None:
    assert whole_range("values", " -1 .. 2 ", 10) == range(-1, 3)
    assert whole_range("values", "2024-01-01..2024-01-02", 10) is None
    with pytest.raises(InputError, match="values must be at most 3"):
        whole_range("values", "1..4", 3)


@pytest.mark.parametrize("text", ["", ",", "a,", ",a", "a,,b", 'a"b', '"a', '"a"b'])
def test_lists_with_holes_are_refused(text: str) -> None:
    with pytest.raises(InputError, match="keys of c"):
        listed("c", text)


def test_ranges_beyond_reason_are_refused() -> None:
    for text in (
        "1..99999999999",
        "5..4",
        "2024-01-02..2024-01-01",
        "9223372036854775807..9223372036854775807",
        "01..12",
    ):
        with pytest.raises(InputError, match="keys of c"):
            keys_in_range("c", text)
    assert keys_in_range("c", "x") is None
    assert looked_at(["9" * 30]) == ["9" * 30]
