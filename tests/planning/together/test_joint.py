"""What a joint plan promises, against all combinations of outputs; what it refuses."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given as examples
from hypothesis import strategies as st

import pbdp
from pbdp.errors import CannotCertifyError, ContradictionError, InputError
from pbdp.mechanism.design import Design
from pbdp.mechanism.requirement import Requirement
from pbdp.planning.certificate import ADDED, noise_delta
from pbdp.planning.plan import Plan, number_design
from pbdp.planning.together.search import fitted, plan_together
from tests.planning.together.enumeration import hockey_stick, pair_of, product_of, worst
from tests.planning.together.requirements import FEW, count

Option = tuple[Requirement, Design]


@lru_cache(maxsize=16)
def small(delta: float = 1e-6, missing: float = 0.0) -> Plan:
    """Three numbers with short tables; the last may move by two steps."""
    asked = [
        count(1, confidence=0.8, delta=delta, releases=2),
        count(2, confidence=0.7, sensitivity=2, delta=delta),
    ]
    return plan_together(asked, FEW, missing=missing)


def options_of(*asked: Requirement, families: tuple[str, ...] = FEW) -> list[list[Option]]:
    joint = plan_together(asked, families)
    return [[(part.requirement, number_design(part.design))] for part in joint.parts]


# -------------------------------------------------------------------------------------------- the epsilon


@pytest.mark.parametrize("delta", [1e-6, 1e-2])
def test_the_joint_epsilon_is_that_of_all_combinations(delta: float) -> None:
    joint = small(delta)
    assert worst(joint, joint.epsilon) <= delta * (1 + 1e-9)
    # nothing much below it would do: an epsilon smaller by 0.1 % has a larger delta
    assert worst(joint, joint.epsilon * 0.999) > delta
    assert worst(joint, joint.certificate.epsilon_lower * (1 - 1e-9)) >= delta
    assert joint.certificate.epsilon_lower >= joint.epsilon * 0.999


def test_two_different_families_are_composed_as_they_are() -> None:
    """A pair of designs that no search would choose; both ends of the sum are looked at."""
    one, two = count(1, confidence=0.8, delta=1e-3), count(3, confidence=0.7, sensitivity=2, delta=1e-3)
    rows = [*options_of(one, families=("gaussian",)), *options_of(two, families=("laplace",))]
    joint = plan_together((), given=rows)
    assert [number_design(part.design).kernel.family for part in joint.parts] == ["gaussian", "laplace"]
    assert worst(joint, joint.epsilon) <= 1e-3 * (1 + 1e-9) < worst(joint, joint.epsilon * 0.998)


def test_a_single_number_costs_what_its_plan_costs() -> None:
    plan = pbdp.plan(within=5, confidence=0.9, sensitivity=1, delta=1e-6, integer=True)
    joint = plan_together([count(5)])
    # ties go to the simpler family there
    assert plan.epsilon * (1 - 1e-4) <= joint.epsilon <= plan.epsilon * (1 + 1e-12)
    assert plan_together([count(5)], ("laplace",)).epsilon == pytest.approx(plan.epsilon, rel=1e-12)


def test_tiny_deltas_are_added_up_where_the_composition_says_little() -> None:
    joint = plan_together([count(5, delta=2e-18), count(7, delta=2e-18)], ("laplace",))
    assert joint.certificate.method == ADDED
    single = [plan_together([count(w, delta=1e-18)], ("laplace",)).epsilon for w in (5, 7)]
    assert joint.epsilon == pytest.approx(sum(single), rel=1e-9)


def test_confidence_is_joint_where_it_was_asked_to_be() -> None:
    joint = plan_together([count(20, releases=10, simultaneous=True)], FEW)
    each = joint.parts[0].design.table_at(0.0).weight_within(20, 20) / 2**62
    assert 0.9 <= joint.parts[0].confidence <= each**10
    assert joint.parts[0].confidence == pytest.approx(each**10, rel=1e-9)


# ------------------------------------------------------------------------------------- set aside: missing


@examples(st.floats(1e-300, 0.99), st.floats(0, 1, exclude_max=True))
def test_what_is_left_for_the_noise_is_the_largest_float(delta: float, share: float) -> None:
    missing = delta * share
    if missing >= delta:
        return
    left = noise_delta(delta, missing)
    assert 0 < Fraction(left) <= Fraction(delta) - Fraction(missing)
    assert Fraction(math.nextafter(left, 1.0)) > Fraction(delta) - Fraction(missing)


def selection(delta: float) -> tuple[Requirement, Design]:
    return options_of(count(3, confidence=0.8, delta=delta), families=("laplace",))[0][0]


def test_groups_that_one_neighbor_lacks_are_paid_for() -> None:
    """All outputs of a private selection: one group in both datasets, one in the larger one only.

    A group is published with a noisy count if noise of its own lifts it over the threshold.
    """
    delta = 1e-2
    asked, design = selection(delta)
    table = design.table_at(0.0)
    tails = np.cumsum(table.weights[::-1])[::-1] / 2.0**62
    # the chance that noise lifts a count of one over a threshold
    passes = float(max(tails[tails < 0.8 * delta]))
    assert passes > 0.2 * delta
    measure = count(2, confidence=0.7, delta=delta)
    joint = plan_together([measure], FEW, given=[[(asked, design)]], missing=passes)
    assert joint.missing == passes
    assert noise_delta(1e-2, joint.missing) == pytest.approx(delta - passes)
    plain = plan_together([measure], FEW, given=[[(asked, design)]])

    def largest(epsilon: float) -> float:
        found = []
        for shifts in ((1, 1), (-1, 1), (1, -1), (-1, -1)):
            pairs = [pair_of(part, shift) for part, shift in zip(joint.parts, shifts, strict=True)]
            p, q = product_of(pairs)
            # the group in question is not published in the smaller dataset, whatever else is
            found.append(passes + hockey_stick(p * (1 - passes), q, epsilon))
            found.append(hockey_stick(q, p * (1 - passes), epsilon))
        return max(found)

    assert largest(joint.epsilon) <= delta
    assert largest(joint.epsilon * 0.98) > delta
    assert plain.epsilon < joint.epsilon
    assert largest(plain.epsilon) > delta


def test_the_lower_bound_is_for_the_noise_at_the_whole_delta() -> None:
    joint = small(1e-2, 9e-3)

    def without(delta: float) -> Plan:
        rows = [
            [(replace(part.requirement, delta=delta), number_design(part.design))] for part in joint.parts
        ]
        return plan_together((), given=rows)

    assert (
        joint.certificate.epsilon_lower
        == without(1e-2).certificate.epsilon_lower
        < without(1e-2).epsilon
        < joint.epsilon
    )
    assert joint.epsilon == without(noise_delta(1e-2, joint.missing)).epsilon


@pytest.mark.parametrize("missing", [1e-6, 1.0, -1e-9, math.nan])
def test_all_of_delta_cannot_be_set_aside(missing: float) -> None:
    with pytest.raises(InputError, match="missing"):
        plan_together([count()], FEW, missing=missing)


# ------------------------------------------------------------------------------------------ given designs


def test_the_best_of_the_given_designs_is_taken_and_comes_last() -> None:
    asked = count(9, releases=3)
    laplace = options_of(asked, families=("laplace",))[0][0]
    tight = options_of(count(4, releases=3), families=("laplace",))[0][0][1]
    joint = plan_together([count(20)], FEW, given=[[(asked, tight), laplace]])
    assert len(joint.parts) == 2
    assert joint.parts[0].requirement == count(20)
    assert (joint.parts[1].requirement, joint.parts[1].design) == laplace
    assert joint.epsilon < plan_together([count(20)], FEW, given=[[(asked, tight)]]).epsilon


def test_given_designs_may_replace_requirements() -> None:
    asked = [count(20), count(9, releases=3)]
    joint = plan_together(asked, FEW)
    again = plan_together(
        (), given=[[(part.requirement, number_design(part.design))] for part in joint.parts]
    )
    assert again.certificate == joint.certificate
    assert [part.design for part in again.parts] == [part.design for part in joint.parts]


def test_options_of_one_part_may_have_different_releases() -> None:
    once, thrice = options_of(count(9), count(9, releases=3), families=("laplace",))
    joint = plan_together((), given=[[thrice[0], once[0]]])
    assert joint.releases == 1


def test_what_does_not_fit_is_refused() -> None:
    asked, design = options_of(count(9))[0][0]
    with pytest.raises(InputError, match="given must be designs that keep"):
        plan_together((), given=[[(count(5), design)]])
    with pytest.raises(InputError, match="at least one design"):
        plan_together([count()], given=[[]])
    with pytest.raises(ContradictionError, match="delta"):
        plan_together([count(delta=1e-7)], given=[[(asked, design)]])
    with pytest.raises(ContradictionError, match="neighbors"):
        plan_together([count(neighbors="replace")], given=[[(asked, design)]])
    with pytest.raises(InputError, match="at least one"):
        plan_together(())


def test_noise_without_an_epsilon_is_refused() -> None:
    cut = pbdp.plan(
        within=5, confidence=0.9, sensitivity=1, delta=1e-2, integer=True, families=("cut staircase",)
    )
    with pytest.raises(CannotCertifyError, match="no finite epsilon"):
        plan_together([count()], FEW, given=[[(count(5), cut.design)]])


def test_alike_requirements_are_fitted_once() -> None:
    fitted.cache_clear()
    joint = plan_together([count(30), count(30.5), count(30, releases=2), count(31)], ("laplace",))
    # three different ones, each at an equal share of delta
    assert fitted.cache_info().misses == 3
    assert joint.parts[0].design == joint.parts[1].design == joint.parts[2].design != joint.parts[3].design


# -------------------------------------------------------------------------------------------- the object


def test_a_joint_plan_checks_itself() -> None:
    joint = small()
    assert (joint.neighbors, joint.releases) == ("add/remove", 3)
    for wrong in (
        {"missing": 1e-6},
        {"parts": ()},
        {"parts": (joint.parts[0], joint.parts[0])},
        {"parts": (joint.parts[0], replace(joint.parts[1], requirement=count(20, neighbors="replace")))},
    ):
        with pytest.raises(InputError):
            replace(joint, **wrong)
    wrong_figures: tuple[dict[str, Any], ...] = (
        {"delta": 1e-7},
        {"epsilon": math.inf},
        {"epsilon_lower": joint.epsilon * 1.01},
    )
    for figures in wrong_figures:
        with pytest.raises(InputError):
            replace(joint, certificate=replace(joint.certificate, **figures))
