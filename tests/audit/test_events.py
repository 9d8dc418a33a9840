"""Events are chosen without a look at the draws that they are tested on."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from pbdp.audit.claim import Claim
from pbdp.audit.events import (
    MANY_OUTPUTS,
    Event,
    Two,
    chosen_events,
    group_starts,
    number_of_kinds,
    reachable,
)
from pbdp.audit.samples import TEST

CLAIM = Claim(epsilon=1.0, total=1.0, delta=1e-6, order=None, table_error=0.0, releases=1)


def two(points: int, seed: int = 0) -> Two:
    """Laws that rise and fall, and draws from them."""
    rng = np.random.default_rng(seed)
    p = np.linspace(2, 1, points) / np.sum(np.linspace(2, 1, points))
    places = np.zeros((2, 2 * points + 1))
    places[0, 1::2], places[1, 1::2] = p, p[::-1]
    first, second = (rng.multinomial(20_000, law, size=3) for law in places)
    return Two(line=np.arange(points) / 4, laws=(p, p[::-1]), first=first, second=second)


def places(events: list[Event]) -> list[list[bool]]:
    return [event.places.tolist() for event in events]


@pytest.mark.parametrize("points", [10, 400, MANY_OUTPUTS + 1])
def test_the_last_part_does_not_change_what_is_chosen(points: int) -> None:
    drawn = two(points)
    first, second = drawn.first.copy(), drawn.second.copy()
    first[TEST], second[TEST] = first[TEST][::-1].copy(), 7

    other = replace(drawn, first=first, second=second)

    assert places(chosen_events(CLAIM, drawn)) == places(chosen_events(CLAIM, other))


@pytest.mark.parametrize("points", [2, 10, MANY_OUTPUTS, MANY_OUTPUTS + 1])
def test_as_many_events_as_were_announced(points: int) -> None:
    drawn = two(points)

    events = chosen_events(CLAIM, drawn)

    assert len(events) == number_of_kinds(drawn)
    assert all(event.places.shape == (2 * points + 1,) for event in events)
    assert len({event.kind for event in events}) == len(events)


def test_a_half_line_is_what_it_says() -> None:
    drawn = two(40)
    for side in (drawn, drawn.turned()):
        event = next(event for event in chosen_events(CLAIM, side) if event.kind == "half-line")
        end = float(event.words.split()[2])
        point = np.searchsorted(drawn.line, end)
        expected = np.zeros(81, dtype=bool)
        if event.words.endswith("less"):
            expected[: 2 * point + 2] = True
        else:
            expected[2 * point + 1 :] = True
        assert event.places.tolist() == expected.tolist()


def test_what_endless_draws_would_show() -> None:
    """Against all sets of outputs."""
    rng = np.random.default_rng(3)
    p, q = rng.dirichlet(np.ones(9), size=2)
    claim = replace(CLAIM, delta=0.05)
    sets = ((np.arange(2**9)[:, None] >> np.arange(9)) & 1).astype(float)

    brute = float(np.max(np.log(np.maximum((sets @ p)[1:] - 0.05, 1e-300) / (sets @ q)[1:])))

    assert reachable(claim, p, q) == pytest.approx(brute, rel=1e-12)


def test_groups_hold_enough_and_no_more_than_needed() -> None:
    rng = np.random.default_rng(4)
    for _ in range(50):
        weights = rng.exponential(size=int(rng.integers(1, 60))) ** 3
        least = float(rng.uniform(0, 3))
        starts = list(group_starts(weights, least))
        assert starts[0] == 0
        sums = np.add.reduceat(weights, starts)
        assert len(sums) == 1 or np.all(sums >= least * (1 - 1e-12))
        for start, stop in pairwise(starts[:-1]):
            assert np.sum(weights[start : stop - 1]) < least
