"""Noise that changes with the answer: certified where it may win, or where its family was asked for."""

from __future__ import annotations

import pytest

import pbdp
from pbdp.mechanism.custom import CustomRegion
from pbdp.mechanism.relative import RelativeRegion
from pbdp.mechanism.requirement import Requirement
from pbdp.planning.plan import Plan
from pbdp.planning.planner import certified_laws


def changing(plan: Plan) -> dict[str, float]:
    """The epsilons of the laws that change with the answer."""
    entries = (plan.chosen, *plan.others)
    return {e.design.name: e.certificate.epsilon for e in entries if "per answer" in e.design.name}


REQUESTS = (
    {"within": "20%+5", "confidence": 0.9, "sensitivity": 1},
    {"within": "50%+2.5", "confidence": 0.8, "sensitivity": 4, "nonnegative": True},
)


@pytest.mark.parametrize("asked", REQUESTS, ids=lambda asked: str(asked["within"]))
def test_what_is_left_out_would_not_have_been_chosen(asked: dict[str, object]) -> None:
    usual = pbdp.plan(**asked, delta=1e-5, integer=True)  # type: ignore[arg-type]
    left_out = changing(usual)
    assert left_out
    assert all(epsilon > usual.epsilon for epsilon in left_out.values())


def test_a_family_that_is_asked_for_is_certified_though_it_loses() -> None:
    plan = pbdp.plan(
        within="20%+5", confidence=0.9, sensitivity=1, delta=1e-5, integer=True, families=("gaussian",)
    )
    assert changing(plan)["boosted gaussian, per answer"] > plan.epsilon


def narrow_here_and_there(answer: int) -> tuple[int, int]:
    reach = 1 if answer % 7 == 0 else 8
    return answer - reach, answer + reach


@pytest.mark.parametrize(
    ("family", "requirement"),
    [
        (
            "laplace",
            Requirement(
                region=CustomRegion(interval=narrow_here_and_there, low=0, high=40),
                confidence=0.5,
                sensitivity=2,
                delta=0.01,
                integer=True,
            ),
        ),
        (
            "gaussian",
            Requirement(
                region=RelativeRegion(theta=0.9, tau=2),
                confidence=0.95,
                sensitivity=4,
                rdp_order=2,
                integer=True,
            ),
        ),
    ],
)
def test_it_wins_where_nothing_is_decoded_and_a_decoder_beats_it(
    family: str, requirement: Requirement
) -> None:
    laws = certified_laws(requirement, (family, f"boosted {family}"))
    names = [law.design.name for law in laws]
    assert names[:2] == [f"{family}, decoded", f"boosted {family}, per answer"]
