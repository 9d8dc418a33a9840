"""Several releases, several requirements, and what is said about them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import pbdp
from pbdp.errors import CannotCertifyError, InputError
from pbdp.mechanism.requirement import Requirement
from pbdp.mechanism.within import region_within
from pbdp.planning.together.search import plan_together
from pbdp.report.explanation import explanation

# Total epsilon at delta 1e-6, within 20, confidence 0.9, sensitivity 1, by releases.
KNOWN = {5: 0.5613, 10: 1.009, 30: 1.913, 100: 3.769, 1000: 14.62}


@pytest.fixture(scope="module", params=sorted(KNOWN))
def many(request: pytest.FixtureRequest) -> pbdp.Plan:
    releases: int = request.param
    return pbdp.plan(within=20, confidence=0.9, sensitivity=1, delta=1e-6, integer=True, releases=releases)


def test_known_totals_are_met(many: pbdp.Plan) -> None:
    assert many.epsilon <= KNOWN[many.requirement.releases]


def test_never_worse_than_plain_laplace_and_gaussian(many: pbdp.Plan) -> None:
    for family in ("laplace", "gaussian"):
        alone = pbdp.plan(
            within=20,
            confidence=0.9,
            sensitivity=1,
            delta=1e-6,
            integer=True,
            releases=many.requirement.releases,
            families=(family,),
        )
        assert many.epsilon <= alone.epsilon * (1 + 1e-4)


def test_bounds_and_limit_are_in_order(many: pbdp.Plan) -> None:
    assert many.limit is not None
    assert many.limit.epsilon <= many.chosen.certificate.epsilon_lower <= many.epsilon
    assert "median" in many.limit.kind


def test_a_plan_for_several_releases_survives_the_file(many: pbdp.Plan, tmp_path: Path) -> None:
    many.save(tmp_path / "plan.json")
    assert pbdp.Plan.load(tmp_path / "plan.json") == many


@pytest.mark.parametrize(
    ("asked", "most"),
    [
        # the usual families: 43.45, 113.4 and 2.858
        ({"sensitivity": 4, "releases": 30}, 41.52),
        ({"sensitivity": 4, "releases": 100}, 106.6),
        ({"sensitivity": 4, "releases": 2, "delta": 0.03}, 2.76),
    ],
)
def test_a_free_form_that_saves_is_taken_unasked(asked: dict[str, Any], most: float, tmp_path: Path) -> None:
    usual = {"within": 5, "confidence": 0.9, "delta": 1e-6, "integer": True}
    plan = pbdp.plan(**(usual | asked))
    assert plan.mechanism.name == "free form"
    assert plan.epsilon <= most
    plan.save(tmp_path / "plan.json")
    assert pbdp.Plan.load(tmp_path / "plan.json") == plan


@pytest.mark.parametrize(
    "asked", [{"releases": 1}, {"releases": 2}, {"releases": 12, "families": ("huber",)}]
)
def test_a_free_form_that_saves_nothing_or_is_not_wanted_is_not_taken(asked: dict[str, Any]) -> None:
    plan = pbdp.plan(within=20, confidence=0.9, sensitivity=1, delta=1e-6, integer=True, **asked)
    assert plan.mechanism.name != "free form"


def test_more_releases_cost_more() -> None:
    costs = [
        pbdp.plan(within=5, confidence=0.8, sensitivity=4, delta=1e-5, integer=True, releases=t).epsilon
        for t in (1, 2, 3, 7, 20)
    ]
    assert costs == sorted(costs)


def test_a_simultaneous_confidence_is_joint() -> None:
    plan = pbdp.plan(
        within=20, confidence=0.9, sensitivity=1, delta=1e-6, integer=True, releases=10, simultaneous=True
    )
    each = plan.design.table_at(0.0).weight_within(20, 20) / 2**62
    assert 0.9 <= plan.confidence <= each**10
    assert plan.confidence == plan.certificate.confidence
    assert each > 0.98


def test_noise_that_changes_with_the_answer_is_left_out_for_several_releases() -> None:
    plan = pbdp.plan(within="50%+4", confidence=0.8, sensitivity=2, delta=1e-5, integer=True, releases=3)
    assert not any("per answer" in entry.design.name for entry in (plan.chosen, *plan.others))


def test_requirements_together_cost_no_more_than_one_by_one() -> None:
    count = Requirement(region=region_within(20), confidence=0.9, sensitivity=1, delta=1e-6, integer=True)
    nights = Requirement(
        region=region_within(9), confidence=0.8, sensitivity=2, delta=1e-6, integer=True, releases=3
    )
    joint = plan_together([count, nights])
    apart = (
        pbdp.plan(within=20, confidence=0.9, sensitivity=1, delta=5e-7, integer=True).epsilon
        + pbdp.plan(within=9, confidence=0.8, sensitivity=2, releases=3, delta=5e-7, integer=True).epsilon
    )
    assert joint.certificate.epsilon_lower <= joint.epsilon <= apart * (1 + 5e-4)
    assert joint.parts[0].confidence >= 0.9
    assert joint.parts[1].confidence >= 0.8


def test_requirements_of_different_kinds_are_not_mixed() -> None:
    one = Requirement(region=region_within(20), confidence=0.9, sensitivity=1, delta=1e-6, integer=True)
    other = Requirement(
        region=region_within(20),
        confidence=0.9,
        sensitivity=1,
        delta=1e-6,
        integer=True,
        neighbors="replace",
    )
    renyi = Requirement(region=region_within(20), confidence=0.9, sensitivity=1, rdp_order=3, integer=True)
    for pair in ([one, other], [one, renyi], []):
        with pytest.raises(pbdp.InputError):
            plan_together(pair)


def test_the_explanation_names_the_winner_and_the_losers() -> None:
    plan = pbdp.plan(within=2, confidence=0.8, sensitivity=4, delta=1e-5, integer=True)
    text = "\n".join(explanation(plan))
    assert plan.mechanism.name in text
    assert "gaussian needs" in text
    assert "Boosting takes gaussian noise" in text
    assert "No mechanism can go below" in text


def test_losses_so_large_that_a_cell_holds_more_than_a_double_does() -> None:
    """The step of such a composition is hundreds, and e to it overflowed."""
    with pytest.raises(CannotCertifyError, match="Nothing was found that costs at most epsilon"):
        pbdp.plan(
            within=13,
            sensitivity=224,
            delta=0.0098,
            releases=23_454_859,
            simultaneous=True,
            epsilon=5.1e-5,
            integer=True,
        )


def test_a_joint_confidence_is_met_or_refused() -> None:
    """Below what floats tell from nothing each number missed more than it may, and tables divided by it."""
    asked: dict[str, Any] = {"within": 433.0, "sensitivity": 2.4, "delta": 2e-6, "releases": 188_208_184}
    with pytest.raises(InputError, match=r"at most 0\.999999916419 for 188,208,184 numbers at once"):
        pbdp.plan(**asked, simultaneous=True, confidence=1 - 1.3e-8)
    for confidence in (0.9999999164, 1 - 1e-7):
        plan = pbdp.plan(**asked, simultaneous=True, confidence=confidence, families=("gaussian",))
        assert plan.confidence >= confidence
