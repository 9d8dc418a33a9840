"""The two neighboring relations, and a third one: whatever needs to know it asks it, or refuses it."""

from __future__ import annotations

import copy
import json
from itertools import product
from typing import Any

import pytest

from pbdp.cli.main import main
from pbdp.comparing.means import Means
from pbdp.comparing.rates import Rates
from pbdp.errors import InputError
from pbdp.mechanism.neighbors import Neighbors
from pbdp.planning.ask import plan
from pbdp.report.certificates.statement import of_plan
from pbdp.tables import Count, People, Query, Sum
from pbdp.tables.numbers import numbers_of
from pbdp.tables.strategies.strategy import Change


def test_a_relation_is_read_from_its_text_and_is_its_text() -> None:
    for text in ("add/remove", "replace"):
        relation = Neighbors(text)
        assert relation == text == str(relation)
        assert hash(relation) == hash(text)
        assert Neighbors(relation) is relation


def test_it_is_written_as_its_text() -> None:
    relation = Neighbors.ADD_REMOVE
    assert json.dumps({"neighbors": relation}) == '{"neighbors": "add/remove"}'
    assert json.JSONEncoder(sort_keys=True).encode([relation]) == '["add/remove"]'
    assert (repr(relation), f"{relation}", ascii([relation])) == (
        "'add/remove'",
        "add/remove",
        "['add/remove']",
    )
    assert copy.deepcopy(relation) is relation


@pytest.mark.parametrize("other", ["", "Replace", "add", None, 1, True, [], {}, b"replace"], ids=repr)
def test_anything_else_is_refused(other: Any) -> None:
    with pytest.raises(InputError, match=r"^neighbors must be add/remove or replace; got "):
        Neighbors(other)


def test_neighbors_differ_in_one_person_or_in_two() -> None:
    assert (Neighbors.ADD_REMOVE.people, Neighbors.REPLACE.people) == (1, 2)
    assert "added or removed" in Neighbors.ADD_REMOVE.description
    assert "replaced" in Neighbors.REPLACE.description


@pytest.mark.parametrize(("low", "high"), [(0, 4), (-3, 2), (-5, -1), (2, 5), (0, 0)])
def test_a_sum_differs_by_no_more_than_is_said_and_reaches_it(low: int, high: int) -> None:
    """All that a person may contribute, tried: one comes or goes, or one stands in the place of another."""
    may_be = [0, *range(low, high + 1)]
    assert Neighbors.ADD_REMOVE.most_change(low, high) == max(map(abs, may_be))
    assert Neighbors.REPLACE.most_change(low, high) == max(abs(a - b) for a, b in product(may_be, repeat=2))


# ---- a third one: two people come or go together


@pytest.fixture(name="couple")
def _couple(monkeypatch: pytest.MonkeyPatch) -> Neighbors:
    own = {
        "description": "a couple is added or removed",
        "label": "added or removed with another",
        "question": "whether you two are in the data",
        "without": "without the data of any couple",
        "people": 2,
        "most_change": lambda low, high: 2 * max(abs(low), abs(high)),
        "other_names": ("pair",),
    }
    made: Neighbors = Neighbors._new_member_(Neighbors, "couple", own)  # type: ignore[attr-defined]  # as the class makes its own
    made._name_ = "COUPLE"
    monkeypatch.setitem(Neighbors._member_map_, "COUPLE", made)
    monkeypatch.setitem(Neighbors._value2member_map_, "couple", made)
    monkeypatch.setattr(Neighbors, "_member_names_", [*Neighbors._member_names_, "COUPLE"])
    return made


def test_a_new_relation_is_read_and_named(couple: Neighbors) -> None:
    assert Neighbors("couple") is couple
    with pytest.raises(
        InputError, match=r"^neighbors must be add/remove or replace or couple; got .* couple"
    ):
        Neighbors("pair")


def test_every_relation_is_explained_where_one_is_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["plan", "--help"])
    told = " ".join(capsys.readouterr().out.split())
    assert all(f"{each}: {each.description}" in told for each in Neighbors)


def test_a_table_is_planned_for_what_the_new_relation_changes(couple: Neighbors) -> None:
    """Two people of up to 4 rows each: all that both may contribute, in one group, which costs them most."""
    measures = [
        Count(within=50),
        People(within=50),
        Sum(column="x", low=-3, high=2, whole=True, within=50),
        Sum(column="y", low=-3, high=2, whole=True, within=50, per="person"),
    ]
    query = Query(
        unit="who", by={"city": ["Rome", "Oslo", "Bonn"]}, measures=measures, groups_per_person=1,
        rows_per_group=4, delta=1e-6, neighbors="couple", bounds_touched=False,
    )  # fmt: skip
    both = {"count": range(5), "people": range(2), "sum_x": range(-12, 9), "sum_y": range(-3, 3)}
    for number in numbers_of(query):
        one = both[number.label]
        assert number.requirement.sensitivity == max(abs(a + b) for a, b in product(one, repeat=2))
        assert number.requirement.releases == 1
        assert number.requirement.neighbors is couple


def test_a_certificate_tells_the_new_relation(couple: Neighbors) -> None:
    made = plan(within=5, confidence=0.9, sensitivity=2, delta=1e-6, integer=True, neighbors="couple")
    claims = " ".join(of_plan(made, "plan.json").claims)
    assert couple.without in claims
    assert couple.question in claims


def test_what_is_proved_for_other_relations_refuses_the_new_one(couple: Neighbors) -> None:
    only = "neighbors must be add/remove or replace for a comparison"
    with pytest.raises(InputError, match=only):
        Means(users=(300, 200), bounds=(0.0, 99.0), spread=12.0, wider=0.1, neighbors=couple)
    with pytest.raises(InputError, match=only):
        Rates(users=(300, 200), rate=0.5, wider=0.1, neighbors=couple)
    with pytest.raises(InputError, match="one person or two"):
        Change(cells=1, steps=1, people=3)
