"""How records are spelled: the canonical text and its digest, which files hold, and the words of before."""

from __future__ import annotations

import math

import pytest

from pbdp.spelling import as_before, canonical, digest, names_now, read_now


def test_names_are_sorted_and_nothing_is_spaced() -> None:
    assert canonical({"b": [1, 2.5], "a": {"d": None, "c": True}}) == '{"a":{"c":true,"d":null},"b":[1,2.5]}'


def test_texts_are_ascii() -> None:
    assert canonical("R\u00e9nyi") == '"R\\u00e9nyi"'


def test_whole_numbers_of_any_length_are_exact() -> None:
    assert canonical(2**200) == str(2**200)


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_what_json_cannot_hold_is_refused(number: float) -> None:
    with pytest.raises(ValueError, match="JSON"):
        canonical({"figure": number})


def test_the_digest_is_that_of_the_text() -> None:
    assert digest({}) == "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"


def test_records_are_read_as_of_today_and_hashed_as_before() -> None:
    before = {"neighbours": "replace", "noise": [{"family": "generalised normal", "centre": 2.0}]}
    now = {"neighbors": "replace", "noise": [{"family": "generalized normal", "center": 2.0}]}
    assert read_now(before) == now
    assert as_before(now) == before
    assert read_now(now) == now


def test_what_belongs_to_the_user_is_left_alone() -> None:
    record = {"label": "neighbour of the centre", "values": ["randomised"]}
    assert read_now(record) == record
    assert names_now({"neighbours": "replace", "centre": {"values": [1]}}) == {
        "neighbors": "replace",
        "centre": {"values": [1]},
    }
