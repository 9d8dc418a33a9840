"""The formulas in a manifest are the laws that are drawn from."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np
import pytest

from pbdp.noise.family import kernel_from, known_families
from pbdp.tables import Count, Sum
from pbdp.tables.laws import FORMULAS, laws_record
from tests.tables.asking import query

EXAMPLES: dict[str, dict[str, Any]] = {
    "laplace": {"scale": 3.2},
    "gaussian": {"sigma": 4.5},
    "staircase": {"loss": 0.4, "width": 3, "center": 2},
    "huber": {"sigma": 3.0, "knee": 4.0},
    "generalized normal": {"scale": 5.0, "shape": 1.7},
    "cosine": {"knee": 6.0, "angle": 0.8},
    "cut staircase": {"loss": 0.5, "width": 3, "plateau": 4, "levels": 2, "end": 0.1},
}
NAMES = ("exp", "cos", "tan", "ceil", "maximum", "minimum", "where")


def weights(formula: str, k: Any) -> Any:
    """A formula, as the page in the docs evaluates it."""
    return eval(formula, {name: getattr(np, name) for name in NAMES} | {"k": k, "abs": np.abs})  # noqa: S307


def test_every_family_with_parameters_has_a_formula() -> None:
    named = {name for name, known in known_families().items() if fields(known.law)}  # type: ignore[arg-type]
    # these have their probabilities listed
    assert named - FORMULAS.keys() == {"linear program", "free form"}
    assert FORMULAS.keys() == EXAMPLES.keys()


@pytest.mark.parametrize("family", EXAMPLES)
def test_a_formula_gives_the_masses_of_its_family(family: str) -> None:
    kernel = kernel_from(family, EXAMPLES[family])
    k = np.arange(-400, 401)
    found = weights(FORMULAS[family].format(**EXAMPLES[family]), k)
    masses = np.asarray(kernel.mass(k, k))
    assert found / found.sum() == pytest.approx(masses, rel=1e-9, abs=1e-30)


def test_the_laws_of_a_plan_are_those_that_are_drawn() -> None:
    measures = [Count(within=20), Sum(column="x", low=0, high=10, within=300.0)]
    plan = query(measures, bounds_touched=True).plan()
    for law, part in zip(laws_record(plan.noise), plan.noise.parts, strict=True):
        table = part.design.table_at(0.0)
        k = table.values()
        assert law["formula"] is not None
        found = weights(law["formula"], k)
        if "boost" in law:
            low, high = law["boosted"]
            found = np.where((k >= low) & (k <= high), found, (1 - law["boost"]) * found)
        assert found / found.sum() == pytest.approx(table.probabilities(), rel=1e-6, abs=1e-12)
