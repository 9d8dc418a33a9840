"""The formulas in a manifest are the laws that are drawn from."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np
import pytest

from pbdp.mechanism.log_grid import LogGrid
from pbdp.noise.family import kernel_from, known_families
from pbdp.tables import Count, Sum
from pbdp.tables.manifest import laws_record
from tests.tables.asking import query

EXAMPLES: dict[str, dict[str, Any]] = {
    "laplace": {"scale": 3.2},
    "rounded gaussian": {"sigma": 7.5},
    "gaussian": {"sigma": 4.5},
    "staircase": {"loss": 0.4, "width": 3, "center": 2},
    "huber": {"sigma": 3.0, "knee": 4.0},
    "cut staircase": {"loss": 0.5, "width": 3, "plateau": 4, "levels": 2, "end": 0.1},
}
NAMES = ("exp", "ceil", "maximum", "minimum", "where")


def weights(formula: str, k: Any) -> Any:
    """A formula, as the page in the docs evaluates it."""
    return eval(formula, {name: getattr(np, name) for name in NAMES} | {"k": k, "abs": np.abs})  # noqa: S307


def test_every_family_with_parameters_has_a_formula() -> None:
    named = {name for name, known in known_families().items() if fields(known.law)}  # type: ignore[arg-type]
    written = {name for name, known in known_families().items() if known.formula is not None}
    # these have their probabilities listed, and tables never have those of `pbdp.boosted`
    assert named - written == {"free form", "binomial", "table"}
    assert written == EXAMPLES.keys()


@pytest.mark.parametrize("family", EXAMPLES)
def test_a_formula_gives_the_masses_of_its_family(family: str) -> None:
    kernel = kernel_from(family, EXAMPLES[family])
    k = np.arange(-400, 401)
    formula = known_families()[family].formula
    assert formula is not None
    found = weights(formula(**EXAMPLES[family]), k)
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


def test_noise_on_a_log_scale_has_a_formula_too() -> None:
    one_row = {"unit": None, "groups_per_person": None, "rows_per_group": None}
    plan = query([Sum(column="x", low=0, high=10, within="10%+1")], **one_row).plan()
    part = plan.noise.parts[0]
    grid = part.design.grid
    assert isinstance(grid, LogGrid)
    (law,) = laws_record(plan.noise)
    table = part.design.table_at(0.0)
    found = weights(law["formula"], table.values())
    assert found / found.sum() == pytest.approx(table.probabilities(), rel=1e-6, abs=1e-12)
    # one person moves an answer by 10: no two answers are further apart in steps than the law says
    x = np.concatenate([np.linspace(0, 30, 500), 10.0 ** np.arange(2, 9)])
    names = {name: getattr(np, name) for name in ("sign", "log1p", "abs")}
    steps, further = (np.rint(eval(law["scale"], names | {"x": y})) for y in (x, x + 10))  # noqa: S307
    assert steps.tolist() == grid.steps_of_floats(x).tolist()
    assert np.max(further - steps) <= law["shift_in_steps"]
