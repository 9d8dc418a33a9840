"""The two neighboring relations."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest

from pbdp.errors import InputError
from pbdp.mechanism.neighbors import Neighbors


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
