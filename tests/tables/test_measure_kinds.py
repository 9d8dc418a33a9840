"""Words of measures go with the measures there are."""

from __future__ import annotations

from dataclasses import fields

import pytest

import pbdp
from pbdp import tables
from pbdp.tables.measure_kinds import MEASURES, NAMED, TEXTS, class_names, kind_names
from pbdp.tables.query_record import KINDS


def test_every_kind_is_where_its_words_say() -> None:
    for kind, made in KINDS.items():
        assert made.kind == kind
        assert made is getattr(tables, MEASURES[kind].made)
        assert MEASURES[kind].made in tables.__all__


def test_all_names_of_tables_are_known_before_they_are_loaded() -> None:
    """Whoever asks for one of them in `pbdp` is told where it is."""
    assert {words.made for words in MEASURES.values()} <= set(tables.__all__) == set(tables._LATER)
    for name in tables.__all__:
        with pytest.raises(AttributeError, match=f"no attribute '{name}'. It is in pbdp.tables."):
            getattr(pbdp, name)


def test_kinds_are_listed() -> None:
    assert kind_names() == "count, people, sum, mean or ratio"


@pytest.mark.parametrize("kind", MEASURES)
def test_every_setting_can_be_given_as_a_flag(kind: str) -> None:
    """The leading settings are those of the class, and all others have names."""
    leading = MEASURES[kind].leading
    settings = [field.name for field in fields(KINDS[kind])]  # type: ignore[arg-type]  # dataclasses all
    assert set(leading) <= set(settings) <= {*leading, *NAMED}
    assert MEASURES[kind].needed <= len(leading)
    assert len(MEASURES[kind].metavar.split()) == len(leading)


def test_named_settings_and_texts_are_settings_of_some_kind() -> None:
    known = {field.name for made in KINDS.values() for field in fields(made)}  # type: ignore[arg-type]  # dataclasses all
    assert {*NAMED, *TEXTS} <= known


def test_classes_are_named_as_they_are() -> None:
    assert class_names() == "Count, People, Sum, Mean or Ratio"
    assert class_names().replace(" or ", ", ").split(", ") == [made.__name__ for made in KINDS.values()]
