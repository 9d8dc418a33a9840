"""Whatever takes a plan takes every plan, or refuses it in words: no kind of plan ends in another error."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pbdp
from pbdp.audit.audit import audit_plan
from pbdp.bridges.dp_accounting import plan_to_pld
from pbdp.errors import InputError
from pbdp.planning.pricing import Terms, fingerprint, price
from pbdp.report.pictures.likelihood_figure import draw_likelihood
from tests.planning.kinds import KINDS, VECTORS, answers_of, plan_of

USES: dict[str, Callable[[pbdp.Plan, Any], Any]] = {
    "release": lambda plan, answers: plan.release(answers),
    "with its interval": lambda plan, answers: plan.release(answers, interval=True),
    "with another interval": lambda plan, answers: plan.release(answers, interval=0.99),
    "prepared": lambda plan, answers: plan.prepared(answers),
    "interval": lambda plan, answers: plan.interval(plan.release(answers)),
    "another interval": lambda plan, answers: plan.interval(plan.release(answers), 0.99),
    "likelihood": lambda plan, answers: plan.likelihood(plan.release(answers), [answers, answers]),
    "law": lambda plan, answers: plan.law_at(7),  # noqa: ARG005
    "steps": lambda plan, answers: plan.answer_in_steps(7),  # noqa: ARG005
    "words": lambda plan, answers: (plan.describe(), plan.assumptions),  # noqa: ARG005
    "beside it": lambda plan, answers: (plan.alternatives, plan.limit),  # noqa: ARG005
    "one part": lambda plan, answers: (plan.requirement, plan.mechanism, plan.grid, plan.within),  # noqa: ARG005
    "design": lambda plan, answers: plan.design,  # noqa: ARG005
    "picture of a number": lambda plan, answers: draw_likelihood(plan, _published(plan, answers)),
    "audit": lambda plan, answers: audit_plan(plan, draws=1000, confidence=1 - 1e-9).describe(),  # noqa: ARG005
    "distribution": lambda plan, answers: plan_to_pld(plan).get_epsilon_for_delta(1e-5),  # noqa: ARG005
}


def _published(plan: pbdp.Plan, answers: Any) -> float:
    """A number that was published: the first of several."""
    published = plan.release(answers)
    return float(
        published[0] if isinstance(published, list) else 0 if isinstance(published, dict) else published
    )


# What a kind of plan cannot have: a joint plan one part, noise whose losses are added up one design.
REFUSAL = r"^(plan|confidence) must be "
REFUSED = {
    "l1": {"design"},
    "laws per answer": {"design"},
    "joint": {"law", "steps", "one part", "design", "picture of a number"},
}


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("kind", KINDS)
def test_every_use_of_every_plan_works_or_is_refused_in_words(kind: str, use: str) -> None:
    plan = plan_of(kind)
    if use in REFUSED.get(kind, ()):
        with pytest.raises(InputError, match=REFUSAL):
            USES[use](plan, answers_of(kind))
    else:
        USES[use](plan, answers_of(kind))


@pytest.mark.parametrize("kind", KINDS)
def test_every_plan_is_saved_and_read_back_as_the_same(kind: str, tmp_path: Path) -> None:
    plan = plan_of(kind)
    plan.save(tmp_path / "plan.json")

    read = pbdp.Plan.load(tmp_path / "plan.json")

    assert fingerprint(read) == fingerprint(plan)
    assert (read.epsilon, read.confidence) == (plan.epsilon, plan.confidence)
    read.release(answers_of(kind))


@pytest.mark.parametrize("times", [1, 3])
@pytest.mark.parametrize("kind", KINDS)
def test_every_plan_has_a_price(kind: str, times: int) -> None:
    # noise that is cut off takes nearly all of its own delta from the reserve
    assert price(Terms(epsilon=9, delta=1e-3, reserve=0.01), ((plan_of(kind), times),)).fits


ODD: list[Any] = [None, "12", True, [], {}, [1.0] * 4, [[1, 2]], object()]
# Numbers by their type, or nothing where one could be: as answers they are taken.
ODD_NUMBERS: list[Any] = [math.nan, math.inf, [math.nan] * 3, [None, 1, 2], 10**400]


@pytest.mark.parametrize("given", [*ODD, *ODD_NUMBERS])
@pytest.mark.parametrize("kind", KINDS)
def test_odd_answers_and_published_numbers_end_in_no_other_error(kind: str, given: Any) -> None:
    plan, answers = plan_of(kind), answers_of(kind)
    published = plan.release(answers)
    as_answers: list[Callable[[], object]] = [
        lambda: plan.release(given),
        lambda: plan.prepared(given),
        lambda: plan.likelihood(published, [given]),
    ]
    as_published: list[Callable[[], object]] = [
        lambda: plan.interval(given),
        lambda: plan.interval(given, 0.99),
        lambda: plan.likelihood(given, [answers]),
    ]
    # nothing at all is released as nothing, and the numbers of a list may be each of its own
    fine = [[], {}, [1.0] * 4]
    for uses, allowed in ((as_answers, [*fine, *ODD_NUMBERS]), (as_published, fine)):
        for use in uses:
            with contextlib.suppress(InputError):
                use()
                assert any(given is one for one in allowed) or given in fine


def test_intervals_have_the_form_of_what_was_published() -> None:
    assert plan_of("whole").interval(100) == (95.0, 105.0)
    low, high = plan_of("several").interval([100, 3])
    assert low.tolist() == [80.0, -17.0]
    assert high.tolist() == [120.0, 23.0]
    for kind in VECTORS:
        low, high = plan_of(kind).interval([100.0, 0.0, -3.25])
        assert low.tolist() == [70.0, -30.0, -33.25]
        assert high.tolist() == [130.0, 30.0, 26.75]
    joint = plan_of("joint")
    assert joint.interval({"visits": 100}) == {"visits": (80.0, 120.0)}
    visits, nights = joint.interval([100, np.array([7])])
    assert visits == (80.0, 120.0)
    assert [end.tolist() for end in nights] == [[-43.0], [57.0]]


@pytest.mark.parametrize(
    ("kind", "published", "words"),
    [
        ("whole", None, "published number must be a number, a list"),
        ("whole", 100.5, "one that the plan can publish"),
        ("l2", 100.0, "as the plan is for vectors"),
        ("linf", [1.0, 2.0], "of 3 numbers, the dimensions of the plan; got 2"),
        ("l1", [1.0, 2.0, 0.1], r"can publish \(multiples of 0.25\)"),
        ("joint", {"days": 3}, "part must be among visits, nights; got 'days'"),
        ("joint", 100, r"given by name, or a list in the order of the parts \(visits, nights\)"),
    ],
)
def test_published_numbers_are_refused_with_what_would_be_right(
    kind: str, published: Any, words: str
) -> None:
    with pytest.raises(InputError, match=words):
        plan_of(kind).interval(published)


@pytest.mark.parametrize("kind", ["linf", "linf touched", "l1"])
@pytest.mark.parametrize("confidence", [0.5, 0.99])
def test_intervals_of_a_vector_hold_for_all_of_it_at_once(kind: str, confidence: float) -> None:
    """Coordinates are independent, so the whole is held with the product of what each has."""
    plan = plan_of(kind)
    law = plan.law_at(7)
    shown = law.output[law.probability > 1e-9]
    padded = np.concatenate([shown, np.zeros(-len(shown) % 3)])
    ends = [plan.interval(three, confidence) for three in padded.reshape(-1, 3)]
    low, high = (np.concatenate(side)[: len(shown)] for side in zip(*ends, strict=True))
    held = (low <= 7) & (high >= 7)

    each = float(law.probability[law.probability > 1e-9][held].sum())

    assert each**3 >= confidence
    assert plan.release([7.0] * 3, interval=confidence).confidence == confidence
    if confidence < 0.9:
        assert each < confidence ** (1 / 3) + 0.02


def test_the_likelihood_of_several_numbers_is_the_product_of_theirs() -> None:
    for kind in ("linf", "l1", "several"):
        plan = plan_of(kind)
        law = [plan.law_at(answer) for answer in (0, 4)]
        one = [[float(at.probability[at.output == y].sum()) for y in (1.0, 2.0, -3.0)] for at in law]

        found = plan.likelihood([1, 2, -3], [[0, 0, 0], [4, 4, 4], [0, 4, 0]])

        mixed = one[0][0] * one[1][1] * one[0][2]
        assert found.tolist() == pytest.approx([math.prod(one[0]), math.prod(one[1]), mixed], rel=1e-12)
    joint = plan_of("joint")
    visits, nights = (joint.part(name).releaser for name in ("visits", "nights"))
    each = visits.likelihood(5, [3])[0] * nights.likelihood([1, 2], [[0, 0]])[0]
    together = joint.likelihood({"visits": 5, "nights": [1, 2]}, [{"visits": 3, "nights": [0, 0]}])
    assert together.tolist() == pytest.approx([each], rel=1e-12)
