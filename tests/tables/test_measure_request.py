"""Measures are declared once, apart from what they do."""

from __future__ import annotations

from dataclasses import MISSING

import pytest

import pbdp
from pbdp import tables
from pbdp.tables.measure_request import MEASURES, class_names, kind_names
from pbdp.tables.measures import KINDS


def test_every_declaration_has_its_class() -> None:
    assert list(KINDS) == list(MEASURES)
    for kind, made in KINDS.items():
        assert made.kind == kind
        assert issubclass(made, MEASURES[kind])
        assert made is getattr(tables, MEASURES[kind].called)
        assert made.settings() == MEASURES[kind].settings()


def test_all_names_of_tables_are_known_before_they_are_loaded() -> None:
    """Whoever asks for one of them in `pbdp` is told where it is."""
    assert {made.called for made in MEASURES.values()} <= set(tables.__all__) == set(tables._LATER)
    for name in tables.__all__:
        with pytest.raises(AttributeError, match=f"no attribute '{name}'. It is in pbdp.tables."):
            getattr(pbdp, name)


def test_kinds_are_listed() -> None:
    numbers = "count, people, sum, mean, ratio, variance, standard-deviation"
    assert kind_names() == f"{numbers}, median, quantile, distribution or bounds"
    numbers = "Count, People, Sum, Mean, Ratio, Variance, StandardDeviation"
    assert class_names() == f"{numbers}, Median, Quantile, Distribution or Bounds"


@pytest.mark.parametrize("kind", MEASURES)
def test_what_is_needed_comes_first_behind_a_flag(kind: str) -> None:
    made = MEASURES[kind]
    own = made.settings()
    assert [name for name in own if own[name].default is MISSING] == list(made.leading[: made.needed()])
