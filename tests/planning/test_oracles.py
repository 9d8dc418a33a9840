"""Random plans judged by their printed laws, limits by a linear program: a sample of the soak run."""

from __future__ import annotations

import pytest

from tests.effort import cases
from tests.soak.planner_oracles import faults_of, limit_faults_of


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", range(cases(80)))
def test_what_a_plan_says_holds_for_its_printed_laws(seed: int) -> None:
    _, found = faults_of(seed)

    assert not found


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", range(cases(40)))
def test_no_noise_costs_less_than_a_limit(seed: int) -> None:
    assert not limit_faults_of(seed)
