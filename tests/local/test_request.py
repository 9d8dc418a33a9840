"""A survey is asked for with the same settings in Python and on the command line."""

from __future__ import annotations

from typing import Any

import pytest

from pbdp.errors import ContradictionError, InputError, ParameterError
from pbdp.local import LeastError, Within, in_blocks, plan_local, plan_survey, without_categories

AGES = in_blocks(range(10, 60), 10)


def test_settings_state_the_goals_of_the_library() -> None:
    made = plan_survey(AGES, epsilon=2, goal=0.5)
    same = plan_local(AGES, LeastError(category=0.5), epsilon=2)
    assert made.mechanism.fingerprint == same.mechanism.fingerprint
    near = plan_survey(AGES, within=0.01, users=50_000)
    wanted = plan_local(AGES, Within(category=0.01, users=50_000))
    assert near.epsilon == wanted.epsilon


def test_what_a_report_costs_after_shuffling_is_minimized() -> None:
    made = plan_survey(AGES, within=0.05, users=20_000, shuffled=True)
    assert made.chosen.central is not None
    assert made.chosen.central.epsilon < made.epsilon


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "epsilon or within must be given, one of the two; got neither"),
        ({"epsilon": 1, "within": 0.1, "users": 9}, "got both"),
        ({"epsilon": "1"}, "epsilon must be a finite number above 0; got '1'"),
        ({"epsilon": 1, "expected": "many"}, "expected must be shares or counts"),
        ({"epsilon": 1, "expected": []}, "expected must be shares or counts"),
        ({"epsilon": 1, "goal": "median"}, "goal must be category, value, mean"),
        ({"epsilon": 1, "joint": 1}, "joint must be True or False; got 1"),
        ({"epsilon": 1, "of": "value"}, "of must be used with within"),
        ({"epsilon": 1, "delta": 1e-6}, "delta must be used with shuffled"),
        ({"within": 0.1}, "users must be given with within"),
        ({"within": 2, "users": 9}, "within must be a share of all people"),
        ({"report_within": 1.5, "confidence": 0.7}, "report_within must be a whole number"),
        ({"report_within": 3, "confidence": 0.7, "goal": "value"}, "goal must be used without report_within"),
    ],
)
def test_what_does_not_go_together_is_refused(given: dict[str, Any], said: str) -> None:
    with pytest.raises((InputError, ContradictionError), match=said):
        plan_survey(AGES, **given)


def test_names_are_checked_and_goals_need_what_they_are_about() -> None:
    with pytest.raises(ParameterError, match=r"plan_survey\(\) has no parameter epsilon1"):
        plan_survey(AGES, epsilon1=3)  # type: ignore[call-arg]
    with pytest.raises(ParameterError, match="needs domain, what people may answer"):
        plan_survey(epsilon=3)  # type: ignore[call-arg]
    with pytest.raises(ContradictionError, match="asked for where there are categories"):
        plan_survey(without_categories(range(9)), epsilon=1, goal="category")
