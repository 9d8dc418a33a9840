"""Quick plans: less is looked at, and hardly anything is lost."""

from __future__ import annotations

import pytest

from pbdp.mechanism.requirement import Requirement
from pbdp.planning.certificate import Certified
from pbdp.planning.planner import certified_laws, joint_families
from pbdp.planning.together import search
from pbdp.planning.together.search import plan_together
from tests.planning.together.requirements import count

EVERY = joint_families(count(10))


@pytest.fixture
def families_fitted(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, ...]]:
    """The families of every plan for one part that is made, in order."""
    tried: list[tuple[str, ...]] = []

    def noted(requirement: Requirement, families: tuple[str, ...]) -> list[Certified]:
        tried.append(families)
        return certified_laws(requirement, families)

    monkeypatch.setattr(search, "certified_laws", noted)
    search.ranked.cache_clear()
    search.fitted.cache_clear()
    return tried


def test_parts_that_are_alike_are_fitted_to_all_families_once(
    families_fitted: list[tuple[str, ...]],
) -> None:
    asked = [count(width, releases=3, sensitivity=2) for width in (40, 50, 60)]
    quick = plan_together(asked, quick=True)
    assert [families == EVERY for families in families_fitted] == [True, False, False]
    assert all(len(families) <= search.MOST_FOLLOWED for families in families_fitted[1:])
    assert quick.epsilon <= plan_together(asked).epsilon * 1.003


def test_a_part_that_hardly_counts_has_simple_noise(families_fitted: list[tuple[str, ...]]) -> None:
    asked = [count(10, releases=3), count(1000)]
    quick = plan_together(asked, quick=True)
    assert families_fitted == [EVERY, search.SIMPLE]
    assert quick.epsilon <= plan_together(asked).epsilon * 1.003


def test_parts_that_are_unlike_are_fitted_each(families_fitted: list[tuple[str, ...]]) -> None:
    plan_together([count(10), count(70)], quick=True)
    assert families_fitted == [EVERY, EVERY]


def test_nothing_is_left_out_unasked(families_fitted: list[tuple[str, ...]]) -> None:
    plan_together([count(40, releases=2), count(50, releases=3)])
    assert families_fitted == [EVERY] * 2
