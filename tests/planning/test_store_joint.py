"""A joint plan's record is checked when it is read: whatever was edited or damaged is a `PlanFileError`."""

from __future__ import annotations

import copy
import json
import math
import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest

import pbdp
from pbdp.errors import InputError, PlanFileError
from pbdp.mechanism.custom import CustomRegion
from pbdp.planning.plan import Plan, number_design
from pbdp.planning.pricing import fingerprint
from pbdp.planning.records import plan_record
from pbdp.planning.store import plan_from_record
from pbdp.planning.together import plan_together
from tests.effort import cases
from tests.planning.together.requirements import FEW, count

Record = dict[str, Any]
Place = tuple[str | int, ...]


@lru_cache(maxsize=8)
def joint(kind: str = "table") -> Plan:
    match kind:
        case "table":
            return plan_together([count(5), count(9, sensitivity=2, releases=3)], FEW, missing=1e-8)
        case "mixed":
            asked = [
                count("20%+10", nonnegative=True),
                count(6.0, integer=False, step=0.5),
                count((2, 7), sensitivity=2),
                count(20, releases=4, simultaneous=True),
            ]
            return plan_together(asked, ("laplace", "staircase", "gaussian"))
        case "noise that changes":
            plan = pbdp.plan(
                range=(0, 30),
                scale=3,
                confidence=0.9,
                sensitivity=1,
                delta=1e-6,
                integer=True,
                families=("gaussian",),
            )
            (entry,) = [entry for entry in plan.others if entry.design.name == "boosted gaussian"]
            return plan_together([count(9)], FEW, given=[[(plan.requirement, number_design(entry.design))]])
    raise AssertionError(kind)


def record_of(kind: str = "table") -> Record:
    """The record as it comes out of a file."""
    record: Record = json.loads(json.dumps(plan_record(joint(kind)), allow_nan=False))
    return record


@pytest.mark.parametrize("kind", ["table", "mixed", "noise that changes"])
def test_a_joint_plan_comes_back_equal(kind: str) -> None:
    back = plan_from_record(record_of(kind))
    assert back == joint(kind)
    assert fingerprint(back) == fingerprint(joint(kind))


def test_the_record_names_what_is_promised() -> None:
    record = record_of()
    assert record["epsilon"] == joint().epsilon
    assert (record["delta"], record["missing"], record["neighbors"]) == (1e-6, 1e-8, "add/remove")
    assert [part["releases"] for part in record["parts"]] == [1, 3]
    assert record["parts"][1]["mechanism"]["family"] == joint().parts[1].design.name


def test_a_region_given_as_a_function_cannot_be_saved(tmp_path: Path) -> None:
    region = CustomRegion(interval=lambda answer: (answer - 9, answer + 9), low=0, high=9)
    plan = plan_together([replace(count(), region=region)], ("laplace",))
    with pytest.raises(InputError, match="plan must be free of functions"):
        plan.save(tmp_path / "plan.json")


def _at(record: Any, place: Place) -> Any:
    for key in place:
        record = record[key]
    return record


def _set(*place: str | int, value: Callable[[Any], Any]) -> Callable[[Record], None]:
    def edit(record: Record) -> None:
        inner = _at(record, place[:-1])
        inner[place[-1]] = value(inner[place[-1]])

    return edit


EDITS: dict[str, Callable[[Record], None]] = {
    "epsilon lowered": _set("epsilon", value=lambda x: x * 0.99),
    "epsilon lowered by a hair": _set("epsilon", value=lambda x: x * (1 - 1e-8)),
    "epsilon raised": _set("epsilon", value=lambda x: x * 1.01),
    "lower bound raised": _set("certificate", "epsilon_lower", value=lambda x: x * 1.00001),
    "delta lowered": _set("delta", value=lambda x: x / 10),
    "delta raised": _set("delta", value=lambda x: x * 10),
    "more set aside": _set("missing", value=lambda x: x * 50),
    "all set aside": _set("missing", value=lambda _: 1e-6),
    "less than nothing set aside": _set("missing", value=lambda x: -x),
    "nothing set aside": _set("missing", value=lambda _: 0.0),
    "another proof": _set("certificate", "method", value=lambda _: "believed"),
    "another relation": _set("neighbors", value=lambda _: "nobody"),
    "a part less": _set("parts", value=lambda parts: parts[:1]),
    "no parts": _set("parts", value=lambda _: []),
    "a part twice": _set("parts", value=lambda parts: [*parts, parts[0]]),
    "more releases": _set("parts", 1, "releases", value=lambda _: 4),
    "fewer releases": _set("parts", 1, "releases", value=lambda _: 2),
    "no releases": _set("parts", 1, "releases", value=lambda _: 0),
    "sensitivity lowered": _set("parts", 1, "sensitivity", value=lambda _: 1),
    "sensitivity raised": _set("parts", 0, "sensitivity", value=lambda _: 2),
    "confidence raised": _set("parts", 0, "confidence", value=lambda x: x + 0.01),
    "confidence raised by a hair": _set("parts", 0, "confidence", value=lambda x: x * (1 + 1e-8)),
    "confidence asked for raised": _set("parts", 0, "requirement", "confidence", value=lambda _: 0.99),
    "width narrowed": _set("parts", 0, "requirement", "region", "below", value=lambda _: 4.0),
    "width widened": _set("parts", 0, "requirement", "region", "below", value=lambda _: 6.0),
    "grid of real numbers": _set("parts", 0, "requirement", "integer", value=lambda _: False),
    "family renamed": _set("parts", 0, "mechanism", "family", value=lambda _: "best"),
    "kernel unknown": _set("parts", 0, "mechanism", "kernel", value=lambda _: "best"),
    "noise moved": _set("parts", 0, "mechanism", "offset_in_steps", value=lambda _: 2),
    "boosted": _set("parts", 0, "mechanism", "boost", value=lambda _: 0.5),
    "another format": _set("format", value=lambda _: "pbdp-joint-plan"),
    "a later version": _set("version", value=lambda _: 3),
    "a name twice": _set("parts", 1, "name", value=lambda _: "part 1"),
    "a version that is a flag": _set("version", value=lambda _: True),
}


@pytest.mark.parametrize("edit", EDITS)
def test_what_was_edited_is_refused(edit: str) -> None:
    record = record_of()
    EDITS[edit](record)
    with pytest.raises(PlanFileError):
        plan_from_record(record)


def test_less_noise_is_refused() -> None:
    for at, part in enumerate(joint().parts):
        record = record_of()
        parameters = record["parts"][at]["mechanism"]["parameters_in_steps"]
        for name in parameters:
            parameters[name] *= 0.9
        with pytest.raises(PlanFileError):
            plan_from_record(record)
        assert part.design.name in record["parts"][at]["mechanism"]["family"]


@pytest.mark.parametrize("record", [None, 3, "plan", [], {}, {"format": "pbdp-joint-plan"}])
def test_something_else_is_refused(record: object) -> None:
    with pytest.raises(PlanFileError):
        plan_from_record(record)


# what stands there for people and follows from the rest; it is compared with it where it is given
FOR_READERS = {"alternatives", "assumptions", "compared", "limit", "table_error", "within", "step"}


def places(value: Any, at: Place = ()) -> Iterator[Place]:
    """Every place in a record, inner ones too."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield (*at, key)
        yield from places(inner, (*at, key))


def test_a_field_that_is_missing_is_refused() -> None:
    for place in places(record_of()):
        record = record_of()
        inner = _at(record, place[:-1])
        if isinstance(inner, list):
            continue
        if place[0] in FOR_READERS or place[-1] in FOR_READERS:
            continue
        del inner[place[-1]]
        with pytest.raises(PlanFileError):
            plan_from_record(record)


ODD: list[Any] = [
    *(None, True, False, 0, 1, -1, 2, 0.5, 1e-300, 1e300, 10**400, math.nan, math.inf, -math.inf),
    *("", "x", "1", [], [1], {}, {"kind": "fixed"}, {"kind": "absolute", "below": 1e300, "above": 0}),
]


@pytest.mark.parametrize("seed", range(cases(20)))
def test_odd_values_are_refused_or_claim_no_more_than_holds(seed: int) -> None:
    draw = random.Random(seed)
    every = list(places(record_of()))
    refused = 0
    for _ in range(40):
        record = copy.deepcopy(record_of())
        place = draw.choice(every)
        _at(record, place[:-1])[place[-1]] = draw.choice(ODD)
        try:
            back = plan_from_record(record)
        except PlanFileError:
            refused += 1
        else:
            rows = [[(part.requirement, number_design(part.design))] for part in back.parts]
            assert plan_together((), given=rows, missing=back.missing).epsilon == back.epsilon
    assert refused > 20
