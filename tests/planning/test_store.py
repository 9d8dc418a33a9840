"""A saved plan is checked when it is read: what was edited or damaged is refused, always in the same way."""

from __future__ import annotations

import copy
import json
import math
import random
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pbdp
from pbdp.errors import InputError, PlanFileError
from pbdp.mechanism.absolute import AbsoluteRegion
from pbdp.mechanism.custom import CustomRegion
from pbdp.planning.limit import of_plan
from pbdp.planning.plan import Plan

Record = dict[str, Any]
Place = tuple[str | int, ...]

ASKED: dict[str, dict[str, Any]] = {
    "width": {"within": 3, "integer": True, "families": ("laplace", "gaussian")},
    "staircase": {"within": 3, "integer": True, "sensitivity": 2, "families": ("staircase", "huber")},
    "lopsided": {"within": (2, 7), "integer": True, "families": ("laplace", "gaussian")},
    "real": {"within": 2.5, "step": 0.5, "families": ("laplace", "generalized normal")},
    "percentage": {"within": "40%+3", "integer": True, "families": ("gaussian",)},
    "range": {"range": (0, 20), "scale": 5, "integer": True, "families": ("laplace",)},
    "bounds": {"within": 3, "range": (0, 20), "integer": True, "families": ("laplace",)},
    "order": {"within": 3, "integer": True, "rdp_order": 8, "delta": None, "families": ("gaussian",)},
}
# Kinds that take a while to check.
SLOW = {"percentage", "range", "order"}
# What a value may be replaced by when nobody looks.
ODD: list[Any] = [
    None,
    True,
    False,
    0,
    1,
    -1,
    2,
    0.5,
    1e-300,
    1e300,
    10**400,
    math.nan,
    math.inf,
    -math.inf,
    "",
    "x",
    "1",
    [],
    [1],
    {},
    {"kind": "fixed"},
    {"kind": "absolute", "below": 1e300, "above": 0},
]


@pytest.fixture(scope="module")
def plans() -> dict[str, Plan]:
    usual: dict[str, Any] = {"confidence": 0.8, "sensitivity": 1, "delta": 1e-5}
    return {name: pbdp.plan(**(usual | asked)) for name, asked in ASKED.items()}


def record_of(plan: Plan, folder: Path) -> Record:
    file = folder / "original.json"
    plan.save(file)
    record: Record = json.loads(file.read_text(encoding="utf-8"))
    return record


def written(record: object, folder: Path) -> Path:
    file = folder / "edited.json"
    file.write_text(json.dumps(record), encoding="utf-8")
    return file


# ------------------------------------------------------------------------------------------ round trip


@pytest.mark.parametrize("kind", ASKED)
def test_a_plan_comes_back_equal(kind: str, plans: dict[str, Plan], tmp_path: Path) -> None:
    file = tmp_path / "plan.json"
    plans[kind].save(file)
    loaded = Plan.load(file)
    assert loaded == plans[kind]
    assert loaded.alternatives == plans[kind].alternatives
    assert loaded.law_at(3).probability.tolist() == plans[kind].law_at(3).probability.tolist()


def test_a_plan_asked_for_in_other_kinds_of_number_comes_back_equal(tmp_path: Path) -> None:
    asked: dict[str, Any] = {
        "within": np.float32(3),
        "confidence": Fraction(4, 5),
        "sensitivity": np.int64(1),
        "delta": np.float64(1e-5),
    }
    plan = pbdp.plan(**asked, integer=True, families=("laplace",))
    plan.save(tmp_path / "plan.json")
    assert Plan.load(str(tmp_path / "plan.json")) == plan


def test_the_relation_that_is_relied_on_is_compared(plans: dict[str, Plan], tmp_path: Path) -> None:
    record = record_of(plans["width"], tmp_path)
    assert Plan.load(written(record, tmp_path), neighbors="add/remove") == plans["width"]
    with pytest.raises(PlanFileError, match=r"replace neighbors; got add/remove\. .*make a plan"):
        Plan.load(written(record, tmp_path), neighbors="replace")
    record["neighbors"] = "replace"
    with pytest.raises(PlanFileError, match="add/remove neighbors; got replace"):
        Plan.load(written(record, tmp_path), neighbors="add/remove")


def test_a_plan_with_a_function_cannot_be_saved(tmp_path: Path) -> None:
    region = CustomRegion(interval=lambda answer: (answer - 2, answer + 2), low=0, high=9)
    plan = pbdp.plan(
        region=region, confidence=0.8, sensitivity=1, delta=1e-4, integer=True, families=("laplace",)
    )
    with pytest.raises(InputError, match="plan must be free of functions"):
        plan.save(tmp_path / "plan.json")
    assert not list(tmp_path.iterdir())


def test_a_one_sided_plan_comes_back_equal(tmp_path: Path) -> None:
    plan = pbdp.plan(
        region=AbsoluteRegion(below=math.inf, above=4),
        confidence=0.8,
        sensitivity=1,
        delta=1e-4,
        integer=True,
        families=("laplace",),
    )
    file = tmp_path / "plan.json"
    plan.save(file)
    assert Plan.load(file) == plan
    assert json.loads(file.read_text(encoding="utf-8"))["within"] == [None, 4]


PROVED: dict[str, dict[str, Any]] = {
    "closed form": {"within": 3, "integer": True},
    "linear program": {"within": 2, "integer": True, "sensitivity": 4, "delta": 0.05, "confidence": 0.6},
    "median": {"within": 3, "integer": True, "releases": 4, "families": ("laplace",)},
    "whole outputs": {"within": 2.5, "integer": True},
    "real": {"within": 2.5, "families": ("laplace",)},
}


def _without_search(*_: object, **__: object) -> None:
    raise AssertionError("nothing is searched for")


@pytest.mark.parametrize("kind", PROVED)
def test_a_limit_is_checked_by_its_proof_without_a_search(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = pbdp.plan(**{"confidence": 0.9, "sensitivity": 1, "delta": 1e-6, **PROVED[kind]})
    record = record_of(plan, tmp_path)
    monkeypatch.setattr(of_plan, "least_epsilon", _without_search)

    assert plan.limit is not None
    assert Plan.load(written(record, tmp_path)).limit == plan.limit

    def proof_with(**changes: object) -> Record:
        return {"proof": {**record["limit"]["proof"], **changes}}

    forged = [
        {"epsilon": plan.epsilon * (1 - 1e-7), **proof_with(epsilon=plan.epsilon * (1 - 1e-7))},
        {"epsilon": plan.epsilon * (1 - 1e-7)},
        {"epsilon": plan.epsilon * 1.1, **proof_with(epsilon=plan.epsilon * 1.1)},
        proof_with(releases=9),
        proof_with(points_in_sensitivity=0 if kind == "real" else 3),
        proof_with(block=7),
        proof_with(weights=[{"shift": 1, "first": 0, "endless": False, "weights": "0.1 0.1"}]),
    ]
    for changes in forged:
        edited = {**record, "limit": {**record["limit"], **changes}}
        with pytest.raises(PlanFileError):
            _ = Plan.load(written(edited, tmp_path)).limit


def test_a_limit_of_before_is_proved_again_and_never_shown_larger(tmp_path: Path) -> None:
    plan = pbdp.plan(within=3, integer=True, confidence=0.9, sensitivity=1, delta=1e-6)
    record = record_of(plan, tmp_path)
    assert plan.limit is not None
    for claimed, shown in (
        (plan.limit.epsilon, plan.limit.epsilon),
        (0.1, 0.1),
        (plan.epsilon, plan.limit.epsilon),
    ):
        record["limit"] = {"epsilon": claimed, "kind": plan.limit.kind}
        read = Plan.load(written(record, tmp_path)).limit
        assert read is not None
        assert read.epsilon == shown


def test_a_place_that_cannot_be_written_is_named(plans: dict[str, Plan], tmp_path: Path) -> None:
    for place in (tmp_path, tmp_path / "missing" / "plan.json"):
        with pytest.raises(InputError, match="plan file must be a path that can be written"):
            plans["width"].save(place)


# ------------------------------------------------------------------------------------------ edited by hand


def _set(*place: str | int, value: Callable[[Any], Any]) -> Callable[[Record], None]:
    def edit(record: Record) -> None:
        inner: Any = record
        for key in place[:-1]:
            inner = inner[key]
        inner[place[-1]] = value(inner[place[-1]])

    return edit


def _drop(*place: str | int) -> Callable[[Record], None]:
    def edit(record: Record) -> None:
        inner: Any = record
        for key in place[:-1]:
            inner = inner[key]
        del inner[place[-1]]

    return edit


EDITS: dict[str, tuple[str, Callable[[Record], None]]] = {
    "epsilon lowered": ("width", _set("epsilon", value=lambda x: x * 0.99)),
    "epsilon lowered by a hair": ("width", _set("epsilon", value=lambda x: x * (1 - 1e-8))),
    "epsilon of a Rényi plan lowered": ("order", _set("epsilon", value=lambda x: x * 0.99)),
    "epsilon of a comparison lowered": ("width", _set("compared", 0, "epsilon", value=lambda x: x * 0.5)),
    "confidence raised": ("width", _set("confidence", value=lambda x: x + 0.05)),
    "confidence raised by a hair": ("width", _set("confidence", value=lambda x: x * (1 + 1e-8))),
    "confidence asked for raised": ("width", _set("requirement", "confidence", value=lambda _: 0.95)),
    "sensitivity lowered": ("staircase", _set("sensitivity", value=lambda _: 1)),
    "sensitivity raised": ("width", _set("sensitivity", value=lambda _: 2)),
    "sensitivity of real numbers raised": ("real", _set("sensitivity", value=lambda _: 1.25)),
    "delta lowered": ("width", _set("delta", value=lambda x: x / 10)),
    "delta raised": ("width", _set("delta", value=lambda x: x * 10)),
    "delta and order": ("order", _set("delta", value=lambda _: 1e-5)),
    "delta instead of an order": ("order", lambda r: r.update(delta=1e-5, rdp_order=None)),
    "order lowered": ("order", _set("rdp_order", value=lambda _: 2)),
    "within narrowed": ("width", _set("within", value=lambda _: 2)),
    "within as a percentage": ("width", _set("within", value=lambda _: "5%+3")),
    "region widened": ("width", _set("requirement", "region", "above", value=lambda _: 9.0)),
    "region narrowed": ("width", _set("requirement", "region", "below", value=lambda _: 2.0)),
    "region of another kind": (
        "width",
        _set("requirement", "region", value=lambda _: {"kind": "fixed", "low": 0, "high": 5}),
    ),
    "region unknown": ("width", _set("requirement", "region", "kind", value=lambda _: "function")),
    "percentage lowered": ("percentage", _set("requirement", "region", "theta", value=lambda x: x / 2)),
    "boosted region of a percentage widened": ("percentage", lambda r: _edit_per_answer(r, "theta", 0.9)),
    "boosted region of a percentage narrowed": ("percentage", lambda r: _edit_per_answer(r, "theta", 0.1)),
    "range widened": ("range", _set("requirement", "region", "high", value=lambda _: 30)),
    "clamped elsewhere": ("range", _set("mechanism", "region_in_steps", "high", value=lambda _: 1000)),
    "clamped to less": ("range", _set("mechanism", "region_in_steps", "low", value=lambda _: 19)),
    "clamp dropped": ("range", _set("mechanism", "clamp", value=lambda _: False)),
    "clamp added": (
        "width",
        lambda r: r["mechanism"].update(
            clamp=True, region_in_steps={"kind": "fixed", "low": 0.0, "high": 1.0}, family="laplace, clamped"
        ),
    ),
    "boost added": ("width", _set("mechanism", "boost", value=lambda _: 0.3)),
    "boost and name": ("width", lambda r: r["mechanism"].update(boost=0.3, family="boosted laplace")),
    "scale lowered": ("width", _set("mechanism", "parameters_in_steps", "scale", value=lambda x: x * 0.9)),
    "scale raised": ("width", _set("mechanism", "parameters_in_steps", "scale", value=lambda x: x * 1.1)),
    "scale of a Rényi plan raised": (
        "order",
        _set("mechanism", "parameters_in_steps", "sigma", value=lambda x: x * 1.1),
    ),
    "steps of a staircase": (
        "staircase",
        _set("mechanism", "parameters_in_steps", "width", value=lambda _: 3),
    ),
    "kernel renamed": ("width", _set("mechanism", "kernel", value=lambda _: "gaussian")),
    "kernel unknown": ("width", _set("mechanism", "kernel", value=lambda _: "uniform")),
    "family renamed": ("width", _set("mechanism", "family", value=lambda _: "gaussian")),
    "offset moved": ("lopsided", _set("mechanism", "offset_in_steps", value=lambda x: x + 2)),
    "offset a fraction": ("lopsided", _set("mechanism", "offset_in_steps", value=lambda x: x + 0.5)),
    "step halved": ("real", _set("step", value=lambda x: x / 2)),
    "step of the grid halved": ("real", _set("mechanism", "grid", "step", value=lambda x: x / 2)),
    "step no power of two": ("real", _set("mechanism", "grid", "step", value=lambda _: 0.3)),
    "step asked for": ("real", _set("requirement", "step", value=lambda _: 0.25)),
    "whole answers claimed": ("real", _set("requirement", "integer", value=lambda _: True)),
    "whole answers dropped": ("width", _set("requirement", "integer", value=lambda _: False)),
    "rounding dropped": ("real", _set("mechanism", "grid", "rounded", value=lambda _: False)),
    "two releases": ("width", _set("releases", value=lambda _: 2)),
    "neighbors unknown": ("width", _set("neighbors", value=lambda _: "friends")),
    "version later": ("width", _set("version", value=lambda _: 3)),
    "version in letters": ("width", _set("version", value=lambda _: "x")),
    "version missing": ("width", _drop("version")),
    "format missing": ("width", _drop("format")),
    "epsilon missing": ("width", _drop("epsilon")),
    "mechanism missing": ("width", _drop("mechanism")),
    "requirement missing": ("width", _drop("requirement")),
    "region missing": ("width", _drop("requirement", "region")),
    "scale missing": ("width", _drop("mechanism", "parameters_in_steps", "scale")),
    "grid missing": ("width", _drop("mechanism", "grid")),
    "comparison missing a field": ("width", _drop("compared", 0, "kernel")),
    "epsilon in letters": ("width", _set("epsilon", value=str)),
    "epsilon null": ("width", _set("epsilon", value=lambda _: None)),
    "epsilon a list": ("width", _set("epsilon", value=lambda x: [x])),
    "epsilon not a number": ("width", _set("epsilon", value=lambda _: math.nan)),
    "epsilon infinite": ("width", _set("epsilon", value=lambda _: math.inf)),
    "confidence not a number": ("width", _set("confidence", value=lambda _: math.nan)),
    "delta in letters": ("width", _set("delta", value=str)),
    "delta nested": ("width", _set("delta", value=lambda x: {"delta": x})),
    "sensitivity in letters": ("width", _set("sensitivity", value=str)),
    "boost in letters": ("width", _set("mechanism", "boost", value=lambda _: "0")),
    "requirement a list": ("width", _set("requirement", value=lambda x: [x])),
    "mechanism a list": ("width", _set("mechanism", value=lambda x: [x])),
    "comparison null": ("width", _set("compared", value=lambda _: None)),
    "clamp a number": ("width", _set("mechanism", "clamp", value=lambda _: 0)),
}


def _edit_per_answer(record: Record, name: str, value: float) -> None:
    """Edit the boosted region of the laws that change with the answer, wherever they were ranked."""
    every = [record["mechanism"], *record["compared"]]
    edited = [claim for claim in every if "per answer" in claim["family"]]
    assert edited
    for claim in edited:
        claim["region_in_steps"][name] = value


@pytest.mark.parametrize("edit", EDITS)
def test_an_edited_plan_is_refused(edit: str, plans: dict[str, Plan], tmp_path: Path) -> None:
    kind, change = EDITS[edit]
    record = record_of(plans[kind], tmp_path)
    before = copy.deepcopy(record)
    change(record)
    assert json.dumps(record) != json.dumps(before)
    # what else was compared is certified when somebody asks for it
    with pytest.raises(PlanFileError):
        assert Plan.load(written(record, tmp_path)).alternatives


def test_a_forged_plan_with_a_matching_epsilon_is_refused(plans: dict[str, Plan], tmp_path: Path) -> None:
    """Noise boosted around the wrong outputs: an honest epsilon, but a confidence at an answer of 0 only."""
    record = record_of(plans["width"], tmp_path)
    kernel = record["mechanism"]["parameters_in_steps"]
    kernel["scale"] *= 3
    record["mechanism"].update(
        boost=0.9,
        family="boosted laplace, per answer",
        region_in_steps={"kind": "relative", "theta": 0.5, "tau": 3.0, "nonnegative": False},
    )
    record["compared"] = []
    for _ in range(3):  # take the figures from the refusals, as a forger would
        try:
            Plan.load(written(record, tmp_path))
        except PlanFileError as refused:
            if refused.name == "epsilon of the plan":
                record["epsilon"] = float(refused.rule.split(",")[0])
            elif refused.name == "confidence of the plan":
                record["confidence"] = float(refused.rule.split(",")[0])
    with pytest.raises(PlanFileError, match="region of the mechanism must be"):
        Plan.load(written(record, tmp_path))


def test_messages_say_what_to_do(plans: dict[str, Plan], tmp_path: Path) -> None:
    record = record_of(plans["width"], tmp_path)
    with pytest.raises(PlanFileError, match=r"version of .* must be 2; got 3\. .*later pbdp; upgrade"):
        Plan.load(written(record | {"version": 3}, tmp_path))
    with pytest.raises(PlanFileError, match=r"version of .* must be 2; got x\. Make the plan again"):
        Plan.load(written(record | {"version": "x"}, tmp_path))
    with pytest.raises(PlanFileError, match=r"epsilon of the plan must be .* edited.*make the plan again"):
        Plan.load(written(record | {"epsilon": record["epsilon"] / 2}, tmp_path))


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


def test_a_plan_cut_short_is_refused(plans: dict[str, Plan], tmp_path: Path) -> None:
    file = tmp_path / "plan.json"
    plans["width"].save(file)
    content = file.read_bytes()
    for length in range(0, len(content.rstrip()), 97):
        file.write_bytes(content[:length])
        with pytest.raises(PlanFileError):
            Plan.load(file)


def test_a_place_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    for place in (tmp_path, tmp_path / "missing.json", tmp_path / ("x" * 300)):
        with pytest.raises(PlanFileError, match="plan file must be readable"):
            Plan.load(place)
    locked = tmp_path / "locked.json"
    locked.write_text("{}", encoding="utf-8")
    locked.chmod(0)
    with pytest.raises(PlanFileError):  # not readable, or (to an administrator) not a plan
        Plan.load(locked)


# ------------------------------------------------------------------------------------------ random damage


def _leaves(value: object, place: Place = ()) -> Iterator[Place]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _leaves(inner, (*place, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _leaves(inner, (*place, index))
    else:
        yield place


def _mutated(value: object, chance: random.Random) -> object:
    if isinstance(value, float | int) and not isinstance(value, bool) and chance.random() < 0.5:
        factor = chance.choice([-1, 0.5, 0.9, 1 - 1e-7, 1 + 1e-7, 1.1, 2, 3, 17])
        return value * factor if chance.random() < 0.7 else int(value * factor)
    return chance.choice(ODD)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # absurd figures overflow on their way to a refusal
@pytest.mark.parametrize("kind", ASKED)
def test_any_changed_leaf_is_refused_or_changes_nothing(
    kind: str, plans: dict[str, Plan], tmp_path: Path
) -> None:
    plan = plans[kind]
    record = record_of(plan, tmp_path)
    chance = random.Random(kind)
    places = [place for place in _leaves(record) if place[0] not in {"alternatives", "assumptions"}]
    refused = 0
    for _ in range(25 if kind in SLOW else 50):
        place, damaged = chance.choice(places), copy.deepcopy(record)
        _set(*place, value=lambda x: _mutated(x, chance))(damaged)
        try:
            loaded = Plan.load(written(damaged, tmp_path))
        except PlanFileError:
            refused += 1
            continue
        assert loaded.epsilon == pytest.approx(plan.epsilon, rel=1e-12), place
        assert loaded.confidence == pytest.approx(plan.confidence, rel=1e-12), place
        assert _stated(loaded) == _stated(plan), place
        # epsilon and confidence are the same inside any bounds, and with any map that loses no answer
        if place[:2] != ("requirement", "bounds") and place[:3] != ("mechanism", "decoder", "outputs"):
            ours, theirs = plan.law_at(3), loaded.law_at(3)
            assert np.array_equal(ours.output, theirs.output), place
            assert np.allclose(ours.probability, theirs.probability, rtol=1e-9, atol=1e-17), place
    assert refused


def _stated(plan: Plan) -> tuple[object, ...]:
    requirement = plan.requirement
    return (plan.delta, plan.rdp_order, requirement.sensitivity, requirement.region, requirement.releases)
