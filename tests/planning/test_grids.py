from __future__ import annotations

import pytest

import pbdp
from pbdp.mechanism.grid import grid_for
from pbdp.planning.limit.of_plan import limit_from_record


@pytest.mark.parametrize("missed", [1e-4, 1e-7])
@pytest.mark.parametrize("width", [1.0001, 1.0005, 1.0019, 2.0005])
def test_a_width_just_above_a_whole_number_of_sensitivities_keeps_what_it_has_beyond(
    width: float, missed: float
) -> None:
    """Half a step of the usual grid is most of that, and costs up to 40 %."""
    plan = pbdp.plan(within=width, sensitivity=1.0, confidence=1 - missed, delta=1e-13)
    assert plan.limit is not None
    assert plan.epsilon <= 1.005 * plan.limit.epsilon
    answer = 0.123456
    law = plan.law_at(answer)
    inside = law.probability[abs(law.output - answer) <= width].sum()
    assert inside >= 1 - missed * (1 + 1e-9)


@pytest.mark.parametrize(("width", "sensitivity"), [(5.0, 1.0), (1.0, 1.0), (0.7, 1.0), (20.003, 1.0)])
def test_other_widths_have_the_usual_grid(width: float, sensitivity: float) -> None:
    plan = pbdp.plan(
        within=width, sensitivity=sensitivity, confidence=0.9, delta=1e-6, families=("staircase",)
    )
    assert plan.grid == grid_for(width, sensitivity)


@pytest.mark.parametrize("confidence", [0.99, 0.9999])
def test_the_limit_of_a_width_of_one_sensitivity_is_close(confidence: float) -> None:
    """On the usual lattice, which adds a point to the region, it was 2 and 16 % too low."""
    plan = pbdp.plan(within=1.0, sensitivity=1.0, confidence=confidence, delta=1e-12)
    assert plan.limit is not None
    assert plan.epsilon <= 1.005 * plan.limit.epsilon
    record = {"epsilon": plan.limit.epsilon, "kind": plan.limit.kind, "proof": plan.limit.proof}
    assert limit_from_record(record, plan.requirement) == plan.limit
