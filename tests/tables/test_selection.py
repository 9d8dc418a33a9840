"""Private selection against brute force: the law of everything that is published, enumerated."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import numpy.typing as npt
import pytest

from pbdp.errors import InputError
from pbdp.planning.plan import Part
from pbdp.tables import People, Query, Selection, TablePlan
from pbdp.tables.selection import Thresholds

Law = npt.NDArray[np.float64]


def planned(groups: int, neighbors: str = "add/remove", delta: float = 1e-3) -> TablePlan:
    return Query(
        unit="user",
        by=["city"],
        select=Selection(people=14, confidence=0.8),
        measures=[People(within=6, confidence=0.8)],
        groups_per_person=groups,
        delta=delta,
        neighbors=neighbors,
        bounds_touched=False,
    ).plan()


def noise(part: Part) -> tuple[Law, int]:
    """Probabilities of the noise, and its least value, from the integer weights that are sampled."""
    table = part.design.table_at(0.0)
    return table.weights.astype(np.float64) / 2.0**62, table.start


def law_of_group(plan: TablePlan, count: int, lowest: int, highest: int) -> Law:
    """What is published of a group with so many people: nothing (first entry), or one of the numbers."""
    outcomes = np.zeros(highest - lowest + 2)
    if count == 0:
        outcomes[0] = 1.0
        return outcomes
    assert plan.threshold is not None
    masses, start = noise(plan.noise.parts[1])
    values = count + start + np.arange(len(masses))
    passed = masses[values >= plan.threshold.threshold].sum()
    outcomes[0] = 1 - passed
    published, first = noise(plan.noise.parts[0])
    numbers = count + first + np.arange(len(published))
    np.add.at(outcomes, np.clip(numbers, lowest, highest) - lowest + 1, passed * published)
    return outcomes


def hockey_stick(one: list[Law], other: list[Law], epsilon: float) -> float:
    """max over sets of P(S) - exp(epsilon) Q(S), for groups whose noise is independent."""
    p, q = np.ones(1), np.ones(1)
    for a, b in zip(one, other, strict=True):
        p, q = np.outer(p, a).ravel(), np.outer(q, b).ravel()
    return float(np.maximum(p - np.exp(epsilon) * q, 0).sum())


@pytest.mark.parametrize("groups", [1, 2])
def test_selected_tables_keep_their_certificate_over_all_neighbors(groups: int) -> None:
    plan = planned(groups)
    # numbers far out are lumped together, which can only hide a difference of less than 1e-9
    lowest, highest = -60, 90
    counts = range(1, 24)
    laws = {count: law_of_group(plan, count, lowest, highest) for count in range(25)}
    worst = 0.0
    for own in itertools.combinations_with_replacement(counts, groups):
        having = [laws[count] for count in own]
        lacking = [laws[count - 1] for count in own]
        worst = max(
            worst, hockey_stick(having, lacking, plan.epsilon), hockey_stick(lacking, having, plan.epsilon)
        )
    assert worst <= plan.delta
    assert worst >= plan.delta * 0.05  # the certificate is not empty


def test_a_lower_threshold_would_break_the_certificate() -> None:
    plan = planned(1)
    assert plan.threshold is not None
    lower = int(plan.threshold.threshold) - 4
    object.__setattr__(plan.threshold, "threshold", lower)
    alone = law_of_group(plan, 1, -60, 90)
    nobody = law_of_group(plan, 0, -60, 90)
    assert hockey_stick([alone], [nobody], plan.epsilon) > plan.delta


@pytest.mark.parametrize("neighbors", ["add/remove", "replace"])
@pytest.mark.parametrize("groups", [1, 3, 40])
def test_lone_people_are_hidden_and_large_groups_shown(groups: int, neighbors: str) -> None:
    plan = planned(groups, neighbors, delta=1e-6) if groups < 40 else None
    thresholds = Thresholds(
        selection=Selection(people=200, confidence=0.9),
        groups=groups,
        missing=5e-7,
        delta=1e-6,
        neighbors=neighbors,
    )
    for option in thresholds.options():
        table = option.design.table_at(0.0)
        noises = table.values()
        lone = sum(Fraction(int(w), 2**62) for w in table.weights[1 + noises >= option.threshold])
        shown = sum(Fraction(int(w), 2**62) for w in table.weights[200 + noises >= option.threshold])
        assert lone == option.lone_share
        assert groups * lone <= Fraction(5e-7)
        assert shown >= Fraction(0.9)
        # the widest noise: a few per cent more would not do
        assert 200 - option.threshold > 0
    if plan is not None and neighbors == "replace":
        assert plan.query.groups_touched == 2 * groups


def test_a_selection_of_very_small_groups_has_its_price() -> None:
    cheap = planned(1, delta=1e-6).epsilon
    dear = Query(
        unit="user",
        by=["city"],
        select=Selection(people=2),
        measures=[People(within=6, confidence=0.8)],
        groups_per_person=1,
        delta=1e-6,
    ).plan()
    assert dear.epsilon > 3 * cheap


@pytest.mark.parametrize("people", [0, 1, 2.5, "many"])
def test_selections_say_how_many_people(people: object) -> None:
    with pytest.raises(InputError, match="people must be a whole number of at least 2"):
        Selection(people=people)  # type: ignore[arg-type]
