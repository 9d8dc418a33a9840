"""The probability set aside: the theorem of `joint_plan` on mechanisms that can be written down in full."""

from __future__ import annotations

import itertools
import math
import random
from collections import defaultdict
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import pytest

from pbdp.accounting.composition.composed import compose
from pbdp.accounting.composition.loss_law import pair_release
from pbdp.accounting.filters.steps import claimed_release

Law = Mapping[Any, Fraction]
GROWTHS = [Fraction(1), Fraction(9, 8), Fraction(3, 2), Fraction(2), Fraction(5)]

SELECTION = {-3: 1, -2: 2, -1: 4, 0: 6, 1: 4, 2: 2, 3: 1}
COUNTING = {-3: 1, -2: 3, -1: 9, 0: 14, 1: 9, 2: 3, 3: 1}
THRESHOLD = 4


def noise(weights: Mapping[int, int]) -> dict[int, Fraction]:
    total = sum(weights.values())
    return {value: Fraction(weight, total) for value, weight in weights.items()}


def beyond(first: Law, second: Law, growth: Fraction) -> Fraction:
    """H: the largest of first(E) - growth·second(E)."""
    return sum(
        (max(p - growth * second.get(y, Fraction(0)), Fraction(0)) for y, p in first.items()), Fraction(0)
    )


def table(groups: Mapping[str, int]) -> dict[object, Fraction]:
    """What is published: each group with a noisy count, if another noisy count of it passes the threshold."""
    law: dict[object, Fraction] = {(): Fraction(1)}
    for name, people in sorted(groups.items()):
        longer: dict[object, Fraction] = defaultdict(Fraction)
        chosen, counted = noise(SELECTION), noise(COUNTING)
        for (past, before), (u, p), (v, q) in itertools.product(law.items(), chosen.items(), counted.items()):
            shown = (name, people + v) if people + u >= THRESHOLD else ()
            longer[past, shown] += before * p * q
        law = longer
    return {_without_nothing(output): mass for output, mass in law.items()}


def _without_nothing(output: object) -> object:
    """A group that does not exist and one that is not published look the same."""
    shown: tuple[object, ...] = ()
    while isinstance(output, tuple) and output:
        output, last = output
        shown = (*shown, last) if last else shown
    return shown


def merged(law: Mapping[object, Fraction]) -> dict[object, Fraction]:
    total: dict[object, Fraction] = defaultdict(Fraction)
    for output, mass in law.items():
        total[output] += mass
    return total


def bound(pairs: list[tuple[Law, Law]], missing: Fraction, growth: Fraction) -> Fraction:
    """m + (1-m)·d, where d is the delta of the noise of the groups that both neighbors have."""
    first: dict[object, Fraction] = {(): Fraction(1)}
    second: dict[object, Fraction] = {(): Fraction(1)}
    for p, q in pairs:
        outputs = set(p) | set(q)
        first = {(x, y): first[x] * p.get(y, Fraction(0)) for x in first for y in outputs}
        second = {(x, y): second[x] * q.get(y, Fraction(0)) for x in second for y in outputs}
    return missing + (1 - missing) * max(beyond(first, second, growth), beyond(second, first, growth))


def moved(weights: Mapping[int, int], shift: int) -> Law:
    return {value + shift: mass for value, mass in noise(weights).items()}


PASSES = sum((p for value, p in noise(SELECTION).items() if 1 + value >= THRESHOLD), Fraction(0))


def test_a_group_of_one_person_costs_its_chance_to_be_published() -> None:
    """Group b exists in one dataset only; group a has one person more there."""
    more, fewer = merged(table({"a": 3, "b": 1})), merged(table({"a": 2}))
    pairs = [(moved(SELECTION, 3), moved(SELECTION, 2)), (moved(COUNTING, 3), moved(COUNTING, 2))]
    assert Fraction(1, 20) == PASSES
    for growth in GROWTHS:
        certified = bound(pairs, PASSES, growth)
        assert PASSES <= beyond(more, fewer, growth) <= certified
        assert beyond(fewer, more, growth) <= certified


def test_only_the_group_of_one_person() -> None:
    """A count of 1 against one of 0, nothing else: both directions are the chance to be published."""
    more, fewer = merged(table({"b": 1})), merged(table({}))
    for growth in GROWTHS:
        assert beyond(more, fewer, growth) == PASSES == bound([], PASSES, growth)
        assert beyond(fewer, more, growth) == max(1 - growth * (1 - PASSES), Fraction(0)) <= PASSES


def test_two_groups_of_one_person_add_up() -> None:
    more, fewer = merged(table({"a": 1, "b": 1})), merged(table({}))
    assert beyond(more, fewer, Fraction(2)) == 1 - (1 - PASSES) ** 2 <= 2 * PASSES


def test_a_person_who_is_replaced_leaves_one_group_and_makes_another() -> None:
    one, other = merged(table({"a": 3, "b": 1})), merged(table({"a": 2, "c": 1}))
    pairs = [(moved(SELECTION, 3), moved(SELECTION, 2)), (moved(COUNTING, 3), moved(COUNTING, 2))]
    for growth in GROWTHS:
        assert beyond(one, other, growth) <= bound(pairs, PASSES, growth)
        assert beyond(other, one, growth) <= bound(pairs, PASSES, growth)


@pytest.mark.parametrize("seed", range(40))
def test_any_pair_that_keeps_to_the_setting_keeps_the_bound(seed: int) -> None:
    """Random laws of B, and random laws of A for every value of it, that miss a by at most m."""
    draw = random.Random(seed)
    missing = Fraction(draw.randint(0, 40), 100)

    def law(size: int, total: Fraction = Fraction(1)) -> list[Fraction]:
        parts = [draw.randint(0, 5) for _ in range(size)]
        return [Fraction(part, max(sum(parts), 1)) * total for part in parts]

    first: dict[tuple[object, int], Fraction] = {}
    second: dict[tuple[object, int], Fraction] = {}
    p, q = law(4), law(4)
    p[0] += 1 - sum(p)
    q[0] += 1 - sum(q)
    for b in range(4):
        for masses, outcome in ((p, first), (q, second)):
            others = law(3, missing * Fraction(draw.randint(0, 10), 10))
            outcome["a", b] = masses[b] * (1 - sum(others))
            outcome.update({(kind, b): masses[b] * mass for kind, mass in enumerate(others)})
    apart = [dict(enumerate(masses)) for masses in (p, q)]
    for growth in GROWTHS:
        certified = bound([(apart[0], apart[1])], missing, growth)
        assert beyond(first, second, growth) <= certified
        assert beyond(second, first, growth) <= certified


def test_chances_that_follow_the_other_outputs_break_the_bound() -> None:
    """A misses a exactly where B is 1, which has probability m under one neighbor: not the setting."""
    missing, growth = Fraction(1, 10), Fraction(2)
    p, q = {0: Fraction(9, 10), 1: missing}, {0: Fraction(3, 4), 1: Fraction(1, 4)}
    with_person = {("a", 0): p[0], ("other", 1): p[1]}
    without = {("a", 0): q[0], ("a", 1): q[1]}
    delta = max(beyond(p, q, growth), beyond(q, p, growth))
    assert beyond(without, with_person, growth) == growth * missing + delta > missing + delta


def test_the_moment_of_what_is_kept_is_that_of_the_noise() -> None:
    """The loss (r, m) in a Rényi filter, for the mechanism of the first test."""
    order, more, fewer = 3, merged(table({"a": 3, "b": 1})), merged(table({"a": 2}))
    of_noise = {output: mass for output, mass in merged(table({"a": 3})).items() if fewer[output] > 0}
    missing_in_noise = 1 - sum(of_noise.values())
    kept = {output: mass * (1 - PASSES) for output, mass in of_noise.items()}
    assert all(mass <= more[output] for output, mass in kept.items())
    assert 1 - sum(kept.values()) <= PASSES + missing_in_noise
    moment, alone = (
        sum(mass**order * fewer[output] ** (1 - order) for output, mass in law.items())
        for law in (kept, of_noise)
    )
    assert moment <= alone


def test_the_composition_with_a_claim_of_delta_is_the_bound() -> None:
    """compose(noise, (0, m)) gives m + (1-m)·d, what the theorem says."""
    p, q = moved(COUNTING, 3), moved(COUNTING, 2)
    outputs = sorted(set(p) & set(q), key=str) + sorted(set(p) ^ set(q), key=str)
    release = pair_release([float(p.get(y, 0)) for y in outputs], [float(q.get(y, 0)) for y in outputs])
    missing = Fraction(1, 50)
    together = compose([(release, 1), (claimed_release(0.0, float(missing)), 1)])
    for growth in GROWTHS:
        exact = float(bound([(p, q)], missing, growth))
        found = together.delta_at(math.log(float(growth))).upper
        assert exact * (1 - 1e-9) <= found <= exact * (1 + 1e-3)
