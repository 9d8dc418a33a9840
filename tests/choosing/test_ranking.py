"""Noisy scores, sorted: which pairs can be in the wrong order, in every arrangement of a few options."""

from __future__ import annotations

from itertools import combinations_with_replacement

import numpy as np
import pytest

from pbdp.choosing.law import Asked
from pbdp.choosing.ranking import MOST_STEPS, pairs_of, score_scale, sorted_places
from pbdp.choosing.scores import Scale


@pytest.mark.parametrize("options", [2, 3, 4, 5, 6])
def test_no_arrangement_has_more_near_pairs(options: int) -> None:
    gap, most = 2, dict.fromkeys(range(1, options + 1), 0)
    for rising in combinations_with_replacement(range(3 * gap + 3), options):
        scores = rising[::-1]
        apart = [(i, scores[i] - scores[j]) for i in range(options) for j in range(i + 1, options)]
        for top in range(1, options + 1):
            near = sum(i < top and gap <= distance < 2 * gap for i, distance in apart)
            far = sum(i < top and distance >= 2 * gap for i, distance in apart)
            pairs = pairs_of(options, top)
            assert near <= pairs.near
            assert near + far <= pairs.near + pairs.far
            most[top] = max(most[top], near)
    # and some arrangement has as many
    assert most == {top: pairs_of(options, top).near for top in most}


def test_of_equal_scores_the_first_comes_first() -> None:
    assert sorted_places(np.array([3, 9, 9, 1, 3]), 4).tolist() == [1, 2, 0, 4]


def test_steps_of_noisy_scores() -> None:
    whole = Asked(options=5, sensitivity=1, integer=True)
    assert score_scale(50, whole) == Scale(step=1.0, moved=2, gap=51)
    for asked, within in (
        (Asked(options=5, sensitivity=0.3), 7.0),
        (Asked(options=5, sensitivity=1, rising=True), 1e6),
        (Asked(options=5, sensitivity=7, integer=True), 1e6),
    ):
        scale = score_scale(within, asked)
        assert scale.gap <= 2 * MOST_STEPS
        # one person moves a score by so much, and a loser is so far behind
        people = 1 if asked.rising else 2
        assert people * asked.sensitivity <= scale.moved * scale.step
        assert scale.gap * scale.step <= within < (scale.gap + 1) * scale.step
