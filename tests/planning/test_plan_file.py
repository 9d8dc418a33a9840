"""A saved plan of any kind is checked when it is read: what was edited or damaged is refused, in one way."""

from __future__ import annotations

import copy
import json
import math
import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pbdp
from pbdp.errors import InputError, PlanFileError
from pbdp.mechanism.absolute import AbsoluteRegion
from pbdp.mechanism.custom import CustomRegion
from pbdp.planning.plan import Part, Plan, plan_of
from pbdp.planning.plan_file import plan_from_record, plan_record
from pbdp.planning.pricing import fingerprint
from pbdp.planning.together.search import plan_together
from tests.effort import FULL
from tests.planning.together.requirements import FEW, count

Record = dict[str, Any]
Place = tuple[str | int, ...]

USUAL: dict[str, Any] = {"confidence": 0.8, "sensitivity": 1, "delta": 1e-5}
VECTOR: dict[str, Any] = {
    "within": 6.0,
    "dimensions": 3,
    "touches": 2,
    "integer": True,
    "neighbors": "replace",
}
ASKED: dict[str, dict[str, Any]] = {
    "width": {"within": 3, "integer": True, "families": ("laplace", "gaussian")},
    "staircase": {"within": 3, "integer": True, "sensitivity": 2, "families": ("staircase", "huber")},
    "lopsided": {"within": (2, 7), "integer": True, "families": ("laplace", "gaussian")},
    "one side": {
        "region": AbsoluteRegion(below=math.inf, above=4),
        "integer": True,
        "families": ("laplace",),
    },
    "real": {"within": 2.5, "step": 0.5, "families": ("laplace", "huber")},
    "percentage": {"within": "40%+3", "integer": True, "families": ("gaussian",)},
    "range": {"range": (0, 20), "scale": 5, "integer": True, "families": ("laplace",)},
    "bounds": {"within": 3, "range": (0, 20), "integer": True, "families": ("laplace",)},
    "order": {"within": 3, "integer": True, "rdp_order": 8, "delta": None, "families": ("gaussian",)},
    "linf": {**VECTOR, "error_norm": "linf"},
    "l2": {**VECTOR, "error_norm": "l2", "integer": False},
    "l1": {**VECTOR, "error_norm": "l1", "change_norm": "l1", "sensitivity": 2.0},
}
JOINT = ("joint", "mixed", "noise that changes")
# Kinds that take a while to check.
SLOW = {"percentage", "range", "order", *JOINT}
# What a value may be replaced by when nobody looks.
ODD: list[Any] = [
    *(None, True, False, 0, 1, -1, 2, 0.5, 1e-300, 1e300, 10**400, math.nan, math.inf, -math.inf),
    *("", "x", "1", [], [1], {}, {"kind": "fixed"}, {"kind": "absolute", "below": 1e300, "above": 0}),
]
MADE: dict[str, Plan] = {}


def plan_of_kind(kind: str) -> Plan:
    """A plan of each kind, made once."""
    if kind not in MADE:
        MADE[kind] = joint(kind) if kind in JOINT else pbdp.plan(**(USUAL | ASKED[kind]))
    return MADE[kind]


def joint(kind: str) -> Plan:
    if kind == "joint":
        return plan_together([count(5), count(9, sensitivity=2, releases=3)], FEW, missing=1e-8)
    if kind == "mixed":
        asked = [
            count("20%+10", nonnegative=True),
            count(6.0, integer=False, step=0.5),
            count((2, 7), sensitivity=2),
            count(20, releases=4, simultaneous=True),
        ]
        return plan_together(asked, ("laplace", "staircase", "gaussian"))
    made = pbdp.boosted(pbdp.DiscreteGaussian(3), range=(0, 30), confidence=0.9, sensitivity=1)
    plan = made.plan(delta=1e-5)
    given = [[(plan.requirement, plan.design)]]
    return plan_together([count(9, delta=1e-5)], FEW, given=given)


def record_of(plan: Plan) -> Record:
    """The record as it comes out of a file."""
    record: Record = json.loads(json.dumps(plan_record(plan), allow_nan=False))
    return record


def saved(plan: Plan, folder: Path) -> Path:
    file = folder / "plan.json"
    plan.save(file)
    return file


# ------------------------------------------------------------------------------------------ round trip


@pytest.mark.parametrize("kind", [*ASKED, *JOINT])
def test_a_plan_comes_back_equal(kind: str, tmp_path: Path) -> None:
    plan = plan_of_kind(kind)
    loaded = Plan.load(saved(plan, tmp_path))
    assert loaded == plan
    assert record_of(loaded) == record_of(plan)
    assert fingerprint(loaded) == fingerprint(plan)
    answer = [3] * plan.requirement.dimensions if kind in ("linf", "l1", "l2") else 3
    if kind not in JOINT:
        assert np.shape(loaded.release(answer)) == np.shape(answer)


def test_a_plan_that_was_read_finds_its_alternatives_when_asked(tmp_path: Path) -> None:
    plan = pbdp.plan(within=3, integer=True, confidence=0.8, sensitivity=1, delta=1e-5)
    assert plan.alternatives
    assert Plan.load(saved(plan, tmp_path)).alternatives == plan.alternatives


def test_a_plan_asked_for_in_other_kinds_of_number_comes_back_equal(tmp_path: Path) -> None:
    asked: dict[str, Any] = {
        "within": np.float32(3),
        "confidence": Fraction(4, 5),
        "sensitivity": np.int64(1),
        "delta": np.float64(1e-5),
    }
    plan = pbdp.plan(**asked, integer=True, families=("laplace",))
    assert Plan.load(str(saved(plan, tmp_path))) == plan


def test_the_relation_that_is_relied_on_is_compared(tmp_path: Path) -> None:
    for kind, own, other in (("width", "add/remove", "replace"), ("l2", "replace", "add/remove")):
        file = saved(plan_of_kind(kind), tmp_path)
        assert Plan.load(file, neighbors=own) == plan_of_kind(kind)
        with pytest.raises(PlanFileError, match=rf"{other} neighbors; got {own}\. .*make a plan"):
            Plan.load(file, neighbors=other)


def test_a_plan_with_a_function_cannot_be_saved(tmp_path: Path) -> None:
    region = CustomRegion(interval=lambda answer: (answer - 2, answer + 2), low=0, high=9)
    one = pbdp.plan(**USUAL, region=region, integer=True, families=("laplace",))
    for plan in (one, plan_together([replace(count(), region=region)], ("laplace",))):
        with pytest.raises(InputError, match="plan must be free of functions"):
            plan.save(tmp_path / "plan.json")
    assert not list(tmp_path.iterdir())


PROVED: dict[str, dict[str, Any]] = {
    "closed form": {"within": 3, "integer": True},
    "large delta": {"within": 2, "integer": True, "sensitivity": 4, "delta": 0.05, "confidence": 0.6},
    "median": {"within": 3, "integer": True, "releases": 4, "families": ("laplace",)},
    "whole outputs": {"within": 2.5, "integer": True},
    "real": {"within": 2.5, "families": ("laplace",)},
}


@pytest.mark.parametrize("kind", PROVED)
def test_a_plan_that_was_read_proves_its_limit_when_asked(kind: str, tmp_path: Path) -> None:
    plan = pbdp.plan(**{"confidence": 0.9, "sensitivity": 1, "delta": 1e-6, **PROVED[kind]})
    read = Plan.load(saved(plan, tmp_path)).limit
    assert plan.limit is not None
    assert read is not None
    stated = (plan.limit.epsilon, plan.limit.kind, plan.limit.subject)
    assert (read.epsilon, read.kind, read.subject) == stated


@pytest.mark.parametrize("kind", [*ASKED, *JOINT])
def test_a_file_holds_request_noise_and_certificate_only(kind: str) -> None:
    record = record_of(plan_of_kind(kind))
    assert not {"alternatives", "compared", "limit"} & record.keys()
    assert {"epsilon", "delta", "neighbors", "assumptions", "certificate"} <= record.keys()
    if kind in JOINT:
        assert [part["releases"] for part in record["parts"]] == [
            part.requirement.releases for part in plan_of_kind(kind).parts
        ]
    if kind in ("linf", "l1", "l2"):
        assert 0 < record["certificate"]["table_error"] < 1e-11
        assert {"norm", "dimensions", "within", "sensitivity"} <= record.keys()
    if kind == "one side":
        assert record["within"] == [None, 4]


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    for place in (tmp_path, tmp_path / "missing" / "plan.json"):
        with pytest.raises(InputError, match="plan file must be a path that can be written"):
            plan_of_kind("width").save(place)


# ------------------------------------------------------------------------------------------ edited by hand

GONE = object()


def times(factor: float) -> Callable[[Any], Any]:
    return lambda value: value * factor


def plus(more: float) -> Callable[[Any], Any]:
    return lambda value: value + more


def at(record: Any, place: Place) -> Any:
    for key in place:
        record = record[key]
    return record


def edit(record: Record, place: Place, new: object) -> None:
    """Replace what is at a place: by a value, by what a function makes of the old one, or by nothing."""
    inner = at(record, place[:-1])
    if new is GONE:
        del inner[place[-1]]
    else:
        inner[place[-1]] = new(inner[place[-1]]) if callable(new) else new


# What is put in each place of a plan of each kind: parts of a place are separated by a space.
EDITS: dict[str, dict[str, list[object]]] = {
    "width": {
        "assumptions": [lambda x: x[1:]],
        "certificate epsilon_lower": [times(0.9)],
        "certificate method": ["believed"],
        "certificate table_error": [times(2)],
        "epsilon": [times(0.99), times(1 - 1e-8), str, None, lambda x: [x], math.nan, math.inf, GONE],
        "confidence": [plus(0.05), times(1 + 1e-8), math.nan],
        "delta": [times(0.1), times(10), str, lambda x: {"delta": x}],
        "sensitivity": [2, str],
        "releases": [2],
        "neighbors": ["friends", "replace"],
        "within": [2, "5%+3"],
        "version": [2, "x", True, GONE],
        "format": ["pbdp-choice", GONE],
        "requirement": [lambda x: [x], None, GONE],
        "requirement confidence": [0.95],
        "requirement integer": [False],
        "requirement region": [{"kind": "fixed", "low": 0, "high": 5}, GONE],
        "requirement region above": [9.0],
        "requirement region below": [2.0],
        "requirement region kind": ["function"],
        "mechanism": [
            lambda x: [x],
            GONE,
            lambda x: x | {"boost": 0.3, "family": "boosted laplace"},
            lambda x: (
                x
                | {"clamp": True, "family": "laplace, clamped"}
                | {"region_in_steps": {"kind": "fixed", "low": 0.0, "high": 1.0}}
            ),
        ],
        "mechanism boost": [0.3, "0"],
        "mechanism clamp": [0],
        "mechanism family": ["gaussian"],
        "mechanism grid": [GONE],
        "mechanism kernel": ["gaussian", "uniform"],
        "mechanism parameters_in_steps scale": [times(0.9), times(1.1), GONE],
    },
    "staircase": {"sensitivity": [1], "mechanism parameters_in_steps width": [3]},
    "lopsided": {"mechanism offset_in_steps": [plus(2), plus(0.5)]},
    "real": {
        "sensitivity": [1.25],
        "step": [times(0.5)],
        "requirement step": [0.25],
        "requirement integer": [True],
        "mechanism grid step": [times(0.5), 0.3],
        "mechanism grid rounded": [False],
    },
    "percentage": {"requirement region theta": [times(0.5)]},
    "range": {
        "requirement region high": [30],
        "mechanism region_in_steps high": [1000],
        "mechanism region_in_steps low": [19],
        "mechanism clamp": [False],
    },
    "order": {
        "epsilon": [times(0.99)],
        "delta": [1e-5],
        "rdp_order": [2, None],
        "mechanism parameters_in_steps sigma": [times(1.1)],
    },
    "l2": {
        "norm": ["l1"],
        "dimensions": [2],
        "epsilon": [0.1],
        "confidence": [0.99],
        "delta": [1e-9, 0],
        "within": [5.0],
        "step": [5.0],
        "sensitivity": [0.5],
        "requirement confidence": [0.95],
        "requirement region above": [5.0],
        "requirement region below": [math.nan],
        "requirement coordinates dimensions": [4, "3", 10**9],
        "requirement coordinates norm": ["l1", "l3"],
        "mechanism kernel": ["gaussian"],
        "mechanism family": ["gaussian"],
        "mechanism grid step": [0.5, 0.3],
        "mechanism parameters_in_steps loss": [0.5, None, 1e300, 1e-300],
    },
    "l1": {
        "epsilon": [0.1],
        "delta": [1e-17],
        "requirement integer": [False],
        "requirement coordinates touches": [7],
        "mechanism scale_in_steps": [50.0, 1e-300],
        "mechanism step": [0.5],
    },
    "linf": {
        "epsilon": [0.1],
        "confidence": [0.99],
        "releases": [2],
        "requirement coordinates touches": [1],
        "requirement region above": [5.0],
        "mechanism parameters_in_steps": [None],
        "mechanism boost": [0.1],
    },
    "joint": {
        "epsilon": [times(0.99), times(1 - 1e-8), times(1.01)],
        "delta": [times(0.1), times(10)],
        "missing": [times(50), times(-1), 1e-6, 0.0],
        "neighbors": ["nobody"],
        "certificate epsilon_lower": [times(1.00001)],
        "certificate method": ["believed"],
        "parts": [[], lambda parts: parts[:1], lambda parts: [*parts, parts[0]]],
        "parts 0 sensitivity": [2],
        "parts 0 confidence": [plus(0.01), times(1 + 1e-8)],
        "parts 0 requirement confidence": [0.99],
        "parts 0 requirement integer": [False],
        "parts 0 requirement region below": [4.0, 6.0],
        "parts 0 mechanism family": ["best"],
        "parts 0 mechanism kernel": ["best"],
        "parts 0 mechanism offset_in_steps": [2],
        "parts 0 mechanism boost": [0.5],
        "parts 0 mechanism parameters_in_steps": [lambda x: {name: 0.9 * x[name] for name in x}],
        "parts 1 mechanism parameters_in_steps": [lambda x: {name: 0.9 * x[name] for name in x}],
        "parts 1 releases": [4, 2, 0],
        "parts 1 sensitivity": [1],
        "parts 1 name": ["part 1"],
    },
}


@pytest.mark.parametrize(
    ("kind", "place"), [(kind, place) for kind, places in EDITS.items() for place in places]
)
def test_an_edited_plan_is_refused(kind: str, place: str) -> None:
    original = record_of(plan_of_kind(kind))
    keys = tuple(int(key) if key.isdigit() else key for key in place.split())
    for new in EDITS[kind][place]:
        record = copy.deepcopy(original)
        edit(record, keys, new)
        assert json.dumps(record) != json.dumps(original)
        with pytest.raises(PlanFileError):
            plan_from_record(record)


def test_a_delta_in_place_of_an_order_is_refused() -> None:
    record = record_of(plan_of_kind("order")) | {"delta": 1e-5, "rdp_order": None}
    with pytest.raises(PlanFileError):
        plan_from_record(record)


@pytest.mark.parametrize("theta", [0.1, 0.9])
def test_an_edited_region_of_a_law_per_answer_is_refused(theta: float) -> None:
    plan = plan_of_kind("percentage")
    entry = next(one for one in (plan.chosen, *plan.others) if "per answer" in one.design.name)
    record = record_of(plan_of(plan.requirement, entry))
    record["mechanism"]["region_in_steps"]["theta"] = theta
    with pytest.raises(PlanFileError):
        plan_from_record(record)


def test_a_forged_plan_with_a_matching_epsilon_is_refused() -> None:
    """Noise boosted around the wrong outputs: an honest epsilon, but a confidence at an answer of 0 only."""
    record = record_of(plan_of_kind("width"))
    record["mechanism"]["parameters_in_steps"]["scale"] *= 3
    record["mechanism"].update(
        boost=0.9,
        family="boosted laplace, per answer",
        region_in_steps={"kind": "relative", "theta": 0.5, "tau": 3.0, "nonnegative": False},
    )
    for _ in range(3):  # take the figures from the refusals, as a forger would
        try:
            plan_from_record(record)
        except PlanFileError as refused:
            if refused.name == "epsilon of the plan":
                record["epsilon"] = float(refused.rule.split(",")[0])
            elif refused.name == "confidence of the plan":
                record["confidence"] = float(refused.rule.split(",")[0])
    with pytest.raises(PlanFileError, match="region of the mechanism must be"):
        plan_from_record(record)


def test_messages_say_what_to_do() -> None:
    record = record_of(plan_of_kind("width"))
    with pytest.raises(PlanFileError, match=r"version of .* must be 1; got 2\. .*Use the pbdp that wrote it"):
        plan_from_record(record | {"version": 2})
    with pytest.raises(PlanFileError, match=r"version of .* must be 1; got .x.\. Use the pbdp"):
        plan_from_record(record | {"version": "x"})
    with pytest.raises(PlanFileError, match=r"epsilon of the plan must be .* edited.*Make it again"):
        plan_from_record(record | {"epsilon": record["epsilon"] / 2})


# ------------------------------------------------------------------------------------------ damaged files


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b" \n",
        b"{",
        b"null",
        b"[]",
        b"[1, 2]",
        b'"pbdp-plan"',
        b"{}",
        b'{"format": "pbdp-plan"}',
        b'{"format": "pbdp-plan", "version": 1}',
        b'{"format": ["pbdp-plan"], "version": 1}',
        b"NaN",
        b"\x00\x01\x02\xff\xfe",
        '{"format": "pbdp-plan"}'.encode("utf-16"),
        b"[" * 100_000,
        b'{"format": "pbdp-plan", "version": ' + b"9" * 5000 + b"}",
    ],
    ids=lambda content: content[:24].decode("latin-1"),
)
def test_a_file_that_is_no_plan_is_refused(content: bytes, tmp_path: Path) -> None:
    file = tmp_path / "plan.json"
    file.write_bytes(content)
    with pytest.raises(PlanFileError):
        Plan.load(file)


def test_a_plan_cut_short_is_refused(tmp_path: Path) -> None:
    file = saved(plan_of_kind("width"), tmp_path)
    content = file.read_bytes()
    for length in range(0, len(content.rstrip()), 97):
        file.write_bytes(content[:length])
        with pytest.raises(PlanFileError):
            Plan.load(file)


def test_a_place_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    for place in (tmp_path, tmp_path / "missing.json"):
        with pytest.raises(PlanFileError, match="plan file must be readable"):
            Plan.load(place)
    with pytest.raises(PlanFileError, match="plan file must be the name of a file"):
        Plan.load(tmp_path / ("x" * 300))
    locked = tmp_path / "locked.json"
    locked.write_text("{}", encoding="utf-8")
    locked.chmod(0)
    with pytest.raises(PlanFileError):  # not readable, or (to an administrator) not a plan
        Plan.load(locked)


# ------------------------------------------------------------------------------------------ random damage


def places(value: Any, place: Place = ()) -> Iterator[Place]:
    """Every place in a record, inner ones too."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield (*place, key)
        yield from places(inner, (*place, key))


@pytest.mark.parametrize("kind", ["width", "l2", "joint"])
def test_a_field_that_is_missing_is_refused(kind: str) -> None:
    original = record_of(plan_of_kind(kind))
    for place in places(original):
        if isinstance(at(original, place[:-1]), list):
            continue
        record = copy.deepcopy(original)
        edit(record, place, GONE)
        with pytest.raises(PlanFileError):
            plan_from_record(record)


def mutated(value: object, chance: random.Random) -> object:
    if isinstance(value, float | int) and not isinstance(value, bool) and chance.random() < 0.5:
        factor = chance.choice([-1, 0.5, 0.9, 1 - 1e-7, 1 + 1e-7, 1.1, 2, 3, 17])
        return value * factor if chance.random() < 0.7 else int(value * factor)
    return chance.choice(ODD)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # absurd figures overflow on their way to a refusal
@pytest.mark.parametrize("kind", [*ASKED, *JOINT])
def test_any_change_is_refused_or_changes_nothing(kind: str) -> None:
    """What is believed in spite of a change claims no more than holds, and draws the same noise."""
    plan = plan_of_kind(kind)
    record = record_of(plan)
    chance = random.Random(kind)
    every = list(places(record))
    refused = 0
    for _ in range(400 if FULL else 20 if kind in SLOW else 50):
        place, damaged = chance.choice(every), copy.deepcopy(record)
        edit(damaged, place, mutated(at(record, place), chance))
        try:
            loaded = plan_from_record(damaged)
        except PlanFileError:
            refused += 1
            continue
        assert loaded.epsilon == pytest.approx(plan.epsilon, rel=1e-12), place
        assert [stated(part) for part in loaded.parts] == [stated(part) for part in plan.parts], place
        # epsilon and confidence are the same inside any bounds, and with any map that loses no answer
        if "bounds" not in place and "outputs" not in place:
            for own, other in zip(plan.parts, loaded.parts, strict=True):
                assert same_law(own, other), place
    assert refused


def stated(part: Part) -> tuple[object, ...]:
    asked, grid = part.requirement, part.design.grid
    # whole answers that move by half a step at most move by one
    steps = grid.sensitivity_in_steps(asked.sensitivity)
    confidence = pytest.approx(part.confidence, rel=1e-12)
    return (confidence, asked.delta, asked.rdp_order, steps, asked.region, asked.releases)


def same_law(one: Part, other: Part) -> bool:
    first, second = one.law_at(3), other.law_at(3)
    return np.array_equal(first.output, second.output) and np.allclose(
        first.probability, second.probability, rtol=1e-9, atol=1e-17
    )
