"""The canonical text: one for each content, and its digest, which files and ledgers hold."""

from __future__ import annotations

import math

import pytest

from pbdp.canonical import canonical, digest


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
