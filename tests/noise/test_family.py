"""The registry of families: who is in it, in which order, and what files keep of a kernel."""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import pbdp
import pbdp.noise
from pbdp.accounting.exact.accountant import plain_accountant
from pbdp.noise.family import Goal, Problem, kernel_from, kernel_record, known_families
from pbdp.noise.kernel import LatticeKernel
from pbdp.planning.candidates import shapes_for
from pbdp.report.explanation import explanation

# What plan files have held since their first version: the names must not change.
PARAMETERS: dict[str, dict[str, object]] = {
    "laplace": {"scale": 2.5},
    "gaussian": {"sigma": 3.25},
    "staircase": {"loss": 0.5, "width": 3, "center": 1},
    "cut staircase": {"loss": 0.5, "width": 2, "plateau": 4, "levels": 3, "end": 0.125},
    "huber": {"sigma": 2.0, "knee": 1.5},
    "free form": {"plateau": 2, "width": 3, "steps": 4, "heights": (-0.5, -2.0), "fall": 0.75},
    "binomial": {"trials": 12},
    "table": {"probabilities": (0.25, 0.5, 0.25), "start": -1},
}


def test_the_simplest_family_comes_first() -> None:
    assert [name for name in known_families() if name in PARAMETERS] == list(PARAMETERS)


def test_families_of_a_scale_are_the_simplest() -> None:
    assert [name for name, family in known_families().items() if family.of_scale] == ["laplace", "gaussian"]


@pytest.mark.parametrize("name", PARAMETERS)
def test_lengths_are_parameters(name: str) -> None:
    assert set(known_families()[name].lengths) <= set(PARAMETERS[name])


def test_a_staircase_with_steps_of_one_point_is_left_to_laplace() -> None:
    def shapes(sensitivity: int, *families: str) -> int:
        goal = Goal(confidence=0.9, sensitivity=sensitivity, delta=1e-6, order=None)
        return len(shapes_for(Problem(below=5, above=5, goal=goal), families))

    assert shapes(1, "laplace", "staircase") == 1
    assert shapes(2, "laplace", "staircase") == 2
    assert shapes(1, "staircase") == 1
    assert shapes(1, "laplace", "cut staircase", "free form") == 1


def test_ranks_differ_so_that_every_tie_has_one_end() -> None:
    ranks = [family.rank for family in known_families().values()]
    assert len(set(ranks)) == len(ranks)


@pytest.mark.parametrize("name", PARAMETERS)
def test_a_kernel_comes_back_from_its_record(name: str) -> None:
    kernel = kernel_from(name, PARAMETERS[name])
    assert isinstance(kernel, LatticeKernel)
    assert kernel.family == name
    record = kernel_record(kernel)
    assert record == {"kernel": name, "parameters_in_steps": PARAMETERS[name]}
    read = json.loads(json.dumps(record))
    assert kernel_from(read["kernel"], read["parameters_in_steps"]) == kernel


def test_other_fields_of_a_record_are_left_out() -> None:
    assert kernel_from("laplace", {"scale": 2.5, "note": "x"}) == kernel_from("laplace", {"scale": 2.5})


def test_a_kernel_of_no_family_has_no_record() -> None:
    with pytest.raises(KeyError):
        kernel_from("cauchy", {"scale": 1.0})


# -------------------------------------------------------------------------------------- one more family


@pytest.fixture
def with_logistic(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """One more file lies in the folder of families; nothing else is told of it."""
    # what the planner tries by itself is settled when it is loaded, and other tests go on with it
    importlib.import_module("pbdp.planning.planner")
    added = str(Path(__file__).parent / "added")
    monkeypatch.setattr(pbdp.noise, "__path__", [*pbdp.noise.__path__, added])
    known_families.cache_clear()
    yield
    known_families.cache_clear()
    del sys.modules["pbdp.noise.logistic"]


@pytest.mark.usefixtures("with_logistic")
def test_a_family_that_is_added_as_one_file_is_planned_stored_and_described(tmp_path: Path) -> None:
    plan = pbdp.plan(
        within=8, confidence=0.9, sensitivity=1, delta=1e-6, releases=10, integer=True, families=("logistic",)
    )
    plan.save(tmp_path / "plan.json")

    assert plan.design.kernel.family == "logistic"
    assert pbdp.Plan.load(tmp_path / "plan.json").epsilon == plan.epsilon
    assert "logistic is round in the center and exponential in the tails" in explanation(plan)[0]


@pytest.mark.usefixtures("with_logistic")
def test_a_family_that_is_added_as_one_file_is_accounted_exactly() -> None:
    kernel = kernel_from("logistic", {"scale": 3.0})
    n = np.arange(-400, 401)
    first, second = kernel.density(n), kernel.density(n - 2)
    accountant = plain_accountant(kernel, 2.0)

    truth = float(np.sum(np.maximum(first - np.exp(0.3) * second, 0.0)))
    delta = accountant.delta_at(0.3)
    assert delta.lower - 1e-15 <= truth <= delta.upper
    moment = float(np.log(np.sum(first**4 * second**-3)) / 3)
    renyi = accountant.renyi_at(4.0)
    assert renyi.lower - 1e-12 <= moment <= renyi.upper + 1e-12
    assert accountant.pure_epsilon().upper == pytest.approx(2 / 3)
