"""A vector plan survives JSON, and one that was tampered with does not."""

from __future__ import annotations

import copy
import json
import math
from pathlib import Path
from typing import Any

import pytest

from pbdp.errors import InputError, PlanFileError
from pbdp.planning.plan import Plan
from pbdp.planning.records import plan_record
from pbdp.planning.store import plan_from_record
from pbdp.planning.vectors.ask import plan_vector


def made(norm: str) -> Plan:
    return plan_vector(
        within=6.0,
        confidence=0.9,
        dimensions=3,
        norm=norm,
        sensitivity=2.0 if norm == "l1" else 1.0,
        delta=1e-6,
        integer=norm != "l2",
        neighbors="replace",
        touches=None if norm == "l2" else 2,
    )


@pytest.fixture(scope="module")
def records() -> dict[str, str]:
    return {norm: json.dumps(plan_record(made(norm)), allow_nan=False) for norm in ("linf", "l2", "l1")}


@pytest.mark.parametrize("norm", ["linf", "l2", "l1"])
def test_a_plan_comes_back(norm: str, records: dict[str, str]) -> None:
    plan = plan_from_record(json.loads(records[norm]))

    assert plan == made(norm)
    assert json.dumps(plan_record(plan)) == records[norm]


def test_a_record_says_what_users_look_for(records: dict[str, str]) -> None:
    record = json.loads(records["l2"])

    assert {"epsilon", "delta", "confidence", "norm", "dimensions", "within", "sensitivity"} < set(record)
    assert {"family", "kernel"} < set(record["mechanism"])
    assert [set(a) for a in record["alternatives"]] == [{"family", "epsilon", "confidence", "guaranteed"}] * 2
    assert record["assumptions"]


TAMPERED: list[tuple[str, tuple[str | int, ...], object]] = [
    ("l2", ("epsilon",), 0.1),
    ("l2", ("confidence",), 0.99),
    ("l2", ("requirement", "confidence"), 0.95),
    ("l2", ("delta",), 1e-9),
    ("l2", ("delta",), 0),
    ("l2", ("requirement", "region", "above"), 5.0),
    ("l2", ("requirement", "region", "below"), math.nan),
    ("l2", ("requirement", "coordinates", "dimensions"), 4),
    ("l2", ("requirement", "coordinates", "dimensions"), "3"),
    ("l2", ("requirement", "coordinates", "dimensions"), 10**9),
    ("l2", ("sensitivity",), 0.5),
    ("l2", ("requirement", "coordinates", "norm"), "l1"),
    ("l2", ("requirement", "coordinates", "norm"), "l3"),
    ("l2", ("neighbors",), "twins"),
    ("l2", ("mechanism", "kernel"), "cosine"),
    ("l2", ("mechanism", "scale"), 100.0),
    ("l2", ("mechanism", "scale"), None),
    ("l2", ("mechanism", "family"), "gaussian"),
    ("l2", ("compared", 0, "kept"), 0.99),
    ("l2", ("compared", 0, "kept"), -3.0),
    ("l2", ("compared", 0, "sigma"), "wide"),
    ("l2", ("compared", 1, "epsilon"), 0.01),
    ("l2", ("compared",), []),
    ("l2", ("alternatives", 0, "epsilon"), 0.01),
    ("l2", ("alternatives", 0, "guaranteed"), False),
    ("l2", ("within",), 5.0),
    ("l2", ("step",), 5.0),
    ("l2", ("alternatives",), []),
    ("l2", ("version",), 3),
    ("l2", ("version",), True),
    ("l2", ("mechanism", "step"), 0.5),
    ("l2", ("mechanism", "step"), 0.3),
    ("l2", ("mechanism", "answer_step"), 2.0**-9),
    ("l2", ("mechanism", "answer_step"), 1e-300),
    ("l2", ("mechanism", "answer_step"), None),
    ("l2", ("compared", 1, "step"), 8.0),
    ("l2", ("mechanism", "scale"), 1e300),
    ("l2", ("mechanism", "scale"), 1e-300),
    ("l2", ("compared", 0, "sigma"), 1e300),
    ("l2", ("compared", 0, "sigma"), 1e-300),
    ("l2", ("compared", 0, "kept"), 5e-324),
    ("l2", ("version",), None),
    ("l2", ("format",), "pbdp-vector-plan"),
    ("l2", ("requirement",), None),
    ("l1", ("epsilon",), 0.1),
    ("l1", ("mechanism", "scale_in_steps"), 50.0),
    ("l1", ("mechanism", "scale_in_steps"), 1e-300),
    ("l1", ("mechanism", "step"), 0.5),
    ("l1", ("requirement", "integer"), False),
    ("l1", ("requirement", "coordinates", "touches"), 7),
    ("l1", ("delta",), 1e-17),
    ("linf", ("epsilon",), 0.1),
    ("linf", ("confidence",), 0.99),
    ("linf", ("requirement", "coordinates", "touches"), 1),
    ("linf", ("requirement", "region", "above"), 5.0),
    ("linf", ("releases",), 2),
    ("linf", ("mechanism", "parameters_in_steps"), None),
    ("linf", ("mechanism", "boost"), 0.1),
    ("linf", ("alternatives", 0, "epsilon"), 0.01),
]


@pytest.mark.parametrize(("norm", "path", "value"), TAMPERED)
def test_a_record_that_was_changed_is_refused(
    norm: str, path: tuple[str | int, ...], value: object, records: dict[str, str]
) -> None:
    record: Any = json.loads(records[norm])
    place = record
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value

    # what else was compared is certified when somebody asks for it
    with pytest.raises(PlanFileError):
        assert plan_from_record(record).alternatives


@pytest.mark.parametrize("key", ["epsilon", "mechanism", "compared", "requirement", "delta", "limit"])
def test_a_record_with_a_field_missing_is_refused(key: str, records: dict[str, str]) -> None:
    record = copy.deepcopy(json.loads(records["l2"]))
    del record[key]

    with pytest.raises(PlanFileError):
        plan_from_record(record)


@pytest.mark.parametrize("record", [None, [], "plan", 3, {}, {"format": 1}])
def test_something_else_is_refused(record: object) -> None:
    with pytest.raises(PlanFileError):
        plan_from_record(record)


@pytest.mark.parametrize("norm", ["linf", "l2", "l1"])
def test_a_saved_plan_is_loaded_checked_and_released_from(norm: str, tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    made(norm).save(path)
    plan = Plan.load(str(path), neighbors="replace")

    assert plan == made(norm)
    assert len(plan.release([1, 2, 3])) == 3
    with pytest.raises(PlanFileError, match="add/remove"):
        Plan.load(path, neighbors="add/remove")
    record = json.loads(path.read_text())
    record["epsilon"] *= 0.99
    path.write_text(json.dumps(record))
    with pytest.raises(PlanFileError, match="epsilon"):
        Plan.load(path)


@pytest.mark.parametrize("text", ["", "{", "[1", "\x00", "3"])
def test_a_file_that_holds_something_else_is_refused(text: str, tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    path.write_text(text)
    with pytest.raises(PlanFileError):
        Plan.load(path)


def test_a_path_that_cannot_be_used_is_named(tmp_path: Path) -> None:
    with pytest.raises(PlanFileError, match="missing"):
        Plan.load(tmp_path / "missing.json")
    with pytest.raises(InputError, match="folder"):
        made("l1").save(tmp_path / "folder" / "plan.json")


def test_the_record_says_how_far_the_sampler_is_from_the_law(records: dict[str, str]) -> None:
    for norm in ("linf", "l2", "l1"):
        assert 0 < json.loads(records[norm])["certificate"]["table_error"] < 1e-11
