"""Vectors planned together with numbers: all combinations of outputs, separate plans, files and releases."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pbdp
from pbdp.audit.audit import audit_plan
from pbdp.cli.main import main
from pbdp.errors import InputError, PlanFileError
from pbdp.planning.inverse import narrowest
from pbdp.planning.plan import Plan
from pbdp.planning.plan_file import plan_from_record, plan_record
from pbdp.planning.pricing.priced import compose_plans
from pbdp.planning.together.search import plan_together
from tests.effort import combined
from tests.planning.together.enumeration import hockey_stick, pair_of, product_of
from tests.planning.together.requirements import FEW

NUMBER: dict[str, Any] = {"within": 2, "confidence": 0.8, "sensitivity": 1, "integer": True}
PAIR: dict[str, Any] = {"within": 3, "confidence": 0.8, "sensitivity": 1, "integer": True, "dimensions": 2}
BOTH = list(product((-1, 0, 1), (-1, 0, 1)))
# a vector of two coordinates, and all changes that one person may cause
VECTORS: dict[str, tuple[dict[str, Any], list[tuple[int, int]]]] = {
    "length, both": ({"error_norm": "l2"}, BOTH),
    "length, one": ({"error_norm": "l2", "touches": 1}, [(1, 0), (-1, 0), (0, 1), (0, -1)]),
    "percentage": ({"error_norm": "l2", "touches": 1, "within": "5%+3"}, [(1, 0), (-1, 0), (0, 1)]),
    "sum": ({"error_norm": "l1"}, BOTH),
    "each": ({"error_norm": "linf", "touches": 1}, [(1, 0), (-1, 0), (0, 1), (0, -1)]),
    "changes in sum": ({"norm": "l1", "sensitivity": 2}, [(2, 0), (1, 1), (1, -1), (0, -2), (1, 0)]),
}


@cache
def joint(form: str, delta: float = 1e-3) -> Plan:
    return plan_together({"number": NUMBER, "pair": PAIR | VECTORS[form][0]}, FEW, delta=delta)


def worst(made: Plan, epsilon: float, changes: list[tuple[int, int]]) -> float:
    """The largest delta over all changes of the pair and of the number, by all combinations of outputs."""
    number, pair = made.parts
    return max(
        hockey_stick(
            *product_of([pair_of(number, move), *(pair_of(pair, each) for each in change if each)]), epsilon
        )
        for move in (-1, 1)
        for change in changes
    )


@pytest.mark.parametrize("form", VECTORS)
def test_the_joint_epsilon_is_that_of_all_combinations(form: str) -> None:
    made = joint(form)
    changes = VECTORS[form][1]
    assert worst(made, made.epsilon, changes) <= 1e-3 * (1 + 1e-9)
    if form != "changes in sum":
        # composed as it is; losses in a sum count by their largest
        assert worst(made, made.epsilon * 0.999, changes) > 1e-3


@pytest.mark.parametrize("form", VECTORS)
def test_the_vector_keeps_its_confidence_by_all_outputs(form: str) -> None:
    part = joint(form).part("pair")
    table, coordinates = part.design.table_at(0.0), part.requirement.coordinates
    assert coordinates is not None
    one, two = np.meshgrid(table.values(), table.values())
    sizes = {"l1": abs(one) + abs(two), "l2": np.hypot(one, two), "linf": np.maximum(abs(one), abs(two))}
    masses = np.multiply.outer(table.weights / 2.0**62, table.weights / 2.0**62)
    inside = float(np.sum(masses[sizes[coordinates.norm] <= 3]))
    assert inside >= part.confidence - 1e-12
    assert part.confidence >= 0.8


def separate(words: dict[str, Any], delta: float) -> float:
    if "dimensions" in words:
        return pbdp.plan(**words, delta=delta).epsilon
    return pbdp.plan(**words, delta=delta).epsilon


REAL: dict[str, dict[str, Any]] = {
    "histogram": {"within": 30, "error_norm": "l2", "dimensions": 20, "touches": 1, "integer": True},
    "means": {"within": 150, "error_norm": "l2", "dimensions": 30},
    "two means": {"within": 4, "error_norm": "l2", "dimensions": 2},
    "changes in sum": {"within": 30, "norm": "l1", "dimensions": 5, "integer": True},
    "each": {"within": 15, "error_norm": "linf", "dimensions": 4, "touches": 1, "integer": True},
}


@pytest.mark.parametrize(
    ("name", "within"), dict.fromkeys([*combined(list(REAL), [20, 2000]), ("means", 20)])
)
def test_it_costs_no_more_than_separate_plans(name: str, within: int) -> None:
    """Beside a number that counts, and beside one that hardly does."""
    vector = {"confidence": 0.9, "sensitivity": 1, **REAL[name]}
    number = {"within": within, "confidence": 0.9, "sensitivity": 1, "integer": True}
    made = plan_together({"vector": vector, "number": number}, delta=1e-6)
    apart = sum(separate(words, 5e-7) for words in (vector, number))
    # alone, Laplace noise of one number is certified by a formula: composing takes a grid of losses
    assert made.epsilon <= apart * (1 + 3e-5)
    if name == "means":
        # losses of Gaussian noise average out, those of Laplace noise add up
        assert made.epsilon < (0.95 if within == 20 else 1.0) * apart


@cache
def three() -> Plan:
    return plan_together(
        {
            "visits": {"within": 20, "confidence": 0.9, "sensitivity": 1, "integer": True},
            "ages": {"confidence": 0.9, "sensitivity": 1, **REAL["histogram"]},
            "means": {"confidence": 0.9, "sensitivity": 1, **REAL["means"]},
        },
        delta=1e-6,
    )


def test_files_and_parts_by_themselves() -> None:
    made = three()
    record = json.loads(json.dumps(plan_record(made)))
    assert record["parts"][1]["norm"] == "l2"
    assert record["parts"][1]["dimensions"] == 20
    assert plan_from_record(record) == made
    assert made.alone("ages").requirement.dimensions == 20
    record["parts"][2]["mechanism"]["grid"]["step"] *= 2
    with pytest.raises(PlanFileError):
        plan_from_record(record)


def test_releases_intervals_and_audits() -> None:
    made = three()
    answers = {"visits": 120, "ages": list(range(20)), "means": np.zeros(30)}
    drawn: dict[str, Any] = made.release(answers)
    assert isinstance(drawn["visits"], int)
    assert len(drawn["ages"]) == 20
    assert drawn["means"].shape == (30,)
    low, high = made.interval(drawn)["ages"]
    assert np.all(high - low == 60)
    with pytest.raises(InputError, match="20 numbers"):
        made.release(answers | {"ages": [1, 2]})
    audit = audit_plan(made, draws=1000)
    assert audit.passed
    assert [part.name for part in audit.parts] == ["visits", "ages", "means"]


def test_a_ledger_counts_it_once_for_all_parts(tmp_path: Path) -> None:
    made = three()
    with pbdp.Ledger.create(tmp_path / "ledger.db") as ledger:
        budget = pbdp.Budget.create(ledger, "people", epsilon=2, delta=1e-5)
        answers = {"visits": 120, "ages": [1] * 20, "means": [0.5] * 30}
        first = budget.release(made, answers, key="march")
        assert budget.release(made, answers, key="march") == first
    # the whole is composed as its certificate is
    composed = compose_plans([(made, 1)]).epsilon_at(1e-6)
    assert composed.upper == pytest.approx(made.epsilon, rel=1e-6)


def test_the_narrowest_widths_for_an_epsilon() -> None:
    def wider(factor: float) -> dict[str, Any]:
        vector = {"confidence": 0.9, "sensitivity": 1, **REAL["two means"]} | {"within": 30 * factor}
        return {"vector": vector, "number": {"within": 20 * factor, "confidence": 0.9, "sensitivity": 1}}

    made = narrowest(wider, lambda asked: plan_together(asked, ("laplace",), delta=1e-6), 0.5)
    assert 0.49 < made.epsilon <= 0.5
    ratio = made.part("vector").requirement.half_width / made.part("number").requirement.half_width
    assert ratio == pytest.approx(1.5)


def test_the_command_line_takes_vectors(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, saved = tmp_path / "both.toml", str(tmp_path / "plan.json")
    file.write_text(
        "delta = 1e-6\n[requirements.visits]\nwithin = 20\n"
        "confidence = 0.9\nsensitivity = 1\ninteger = true\n"
        '[requirements.ages]\nwithin = "5%+30"\nerror_norm = "l2"\ndimensions = 3\ntouches = 1\n'
        "confidence = 0.9\nsensitivity = 1\ninteger = true\n",
        encoding="utf-8",
    )
    assert main(["plan", str(file), "-o", saved]) == 0
    told = capsys.readouterr().out
    assert "within 5 % plus 30 of the truth in Euclidean length" in told
    assert "noise for ages keeps to its floor" in told
    numbers = ["visits=120", "ages=1", "ages=2", "ages=3"]
    assert main(["release", saved, *numbers, "--interval", "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["released"]["ages"]) == 3
    assert main(["release", saved, *numbers[:2]]) == 2
    assert "3 numbers" in capsys.readouterr().err
    assert main(["verify", saved]) == 0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"error_norm": "l2"}, "dimensions of part 1 must be given beside error_norm"),
        ({"dimensions": 2}, "error_norm of part 1 must be given; got nothing"),
        ({"dimensions": 2, "norm": "l1", "releases": 2, "integer": False}, "releases and simultaneous"),
        ({"dimension": 2}, "dimensions"),
    ],
)
def test_words_that_do_not_belong_together_are_named(words: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        plan_together([NUMBER | words], delta=1e-6)


def test_one_part_by_itself_costs_what_its_plan_costs() -> None:
    words = {"confidence": 0.9, "sensitivity": 1, **REAL["two means"]}
    alone = pbdp.plan(**words, delta=1e-6)
    made = plan_together([words], delta=1e-6)
    # a little of delta is left beside what drawing takes
    assert alone.epsilon * (1 - 1e-5) < made.epsilon <= alone.epsilon
    assert made.parts == (replace(alone.only, name="part 1"),)


def test_pictures_and_certificates_name_the_parts(tmp_path: Path) -> None:
    made, saved, page = three(), tmp_path / "plan.json", tmp_path / "page.html"
    titles = [panel.get_title() for panel in made.plot().axes]
    assert [title.split(":")[0] for title in titles[:3]] == ["visits", "ages", "means"]
    family = made.part("means").design.name
    assert f"means: independent {family} noise in each of 30 coordinates" in made.summary()
    made.save(saved)
    assert main(["certificate", str(saved), "-o", str(page)]) == 0
    assert "Each published number, or vector, is as near" in page.read_text(encoding="utf-8")
