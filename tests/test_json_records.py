"""Records as JSON: the canonical text and its digest, which files hold, and the words of before."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path

import pytest

from pbdp import Plan
from pbdp.cli.files import toml_in
from pbdp.errors import InputError
from pbdp.json_records import (
    DEEPEST,
    NotJsonError,
    canonical,
    digest,
    json_of,
)
from pbdp.local import load_configuration
from pbdp.tables.verify import read_manifest


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


READERS: dict[str, Callable[[Path], object]] = {
    "plan": Plan.load,
    "configuration": load_configuration,
    "manifest": read_manifest,
    "query": lambda path: toml_in("query file", path),
}
every_reader = pytest.mark.parametrize("read", READERS.values(), ids=READERS)


@every_reader
def test_a_file_beyond_the_limit_is_refused_before_it_is_understood(
    read: Callable[[Path], object], tmp_path: Path
) -> None:
    path = tmp_path / "large"
    with path.open("wb") as file:
        file.truncate(2**40)  # a terabyte of nothing
    with pytest.raises(InputError, match=r"at most \d+ MiB large"):
        read(path)


@every_reader
@pytest.mark.parametrize(
    "content",
    [
        b"[" * 100_000,
        b"[" * 900 + b"]" * 900,
        b'{"format":' * 500 + b"1" + b"}" * 500,
        b"9" * 100_000,
        b'{"a": ' + b"9" * 100_000 + b"}",
        b"a = " + b"[" * 10_000 + b"]" * 10_000,
        b"a = " + b"9" * 100_000,
        b"\xff\xfe",
        b"",
        b"\0",
    ],
    ids=lambda content: repr(content[:12]),
)
def test_no_content_ends_in_an_error_of_python(
    read: Callable[[Path], object], tmp_path: Path, content: bytes
) -> None:
    path = tmp_path / "file"
    path.write_bytes(content)
    if read is READERS["query"] and not content:
        assert read(path) == {}
        return
    with pytest.raises(InputError):
        read(path)


@every_reader
@pytest.mark.parametrize(
    ("name", "rule"),
    [("missing", "readable"), (".", "readable"), ("a\0b", "the name of a file"), ("\ud800", "the name of a")],
)
def test_what_cannot_be_read_is_refused(
    read: Callable[[Path], object], tmp_path: Path, name: str, rule: str
) -> None:
    with pytest.raises(InputError, match=f"must be {rule}"):
        read(tmp_path / name)


def test_depth_is_counted_in_lists_and_objects() -> None:
    def nested(levels: int) -> bytes:
        return (b'{"a":[' * (levels // 2)) + (b"]}" * (levels // 2))

    assert json_of(nested(DEEPEST)) == json.loads(nested(DEEPEST))
    with pytest.raises(NotJsonError):
        json_of(nested(DEEPEST + 2))
    assert json_of(b"[1, {}, []]") == [1, {}, []]
    assert json_of(b"1") == 1


def test_a_name_stands_once_in_an_object() -> None:
    assert json_of(b'[{"a": 1}, {"a": {"a": 2}}]') == [{"a": 1}, {"a": {"a": 2}}]
    for text in (b'{"a": 1, "a": 1}', b'[{"b": {"a": 1, "c": 2, "\\u0061": 3}}]'):
        with pytest.raises(NotJsonError, match="twice"):
            json_of(text)
