"""Audits of vectors and of several parts: true samplers pass, and what is wrong with others is found."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import pbdp
from pbdp.audit.audit import Audit, audit_plan
from pbdp.audit.claim import claim_of
from pbdp.audit.samples import Draw, own_sampler
from pbdp.noise.kernel import Array
from pbdp.report.pictures.audit_figure import draw_audit
from pbdp.report.pictures.canvas import save
from tests.planning.kinds import plan_of

# The product's samplers have no seed here: a true one fails once in a thousand million audits.
SURE = 1 - 1e-9
EACH = ["linf", "linf touched", "l1", "l2"]


def changed(plan: pbdp.Plan, change: Callable[[Array, Array], Array]) -> Draw:
    """The product's sampler, with `change(answer, numbers)` made to what it publishes."""
    own = own_sampler(plan.only)
    return lambda answer, count: change(answer, np.asarray(own(answer, count), dtype=np.float64))


@pytest.mark.parametrize("kind", EACH)
def test_the_products_own_sampler_of_coordinates_passes(kind: str) -> None:
    audit = audit_plan(plan_of(kind), draws=20_000, confidence=SURE)

    assert audit.passed, audit.describe()
    assert audit.only.draws == 20_000
    assert all((sample.draws, sample.tried) == (60_000, 20_000) for sample in audit.only.samples)
    text = audit.describe()
    assert "Drawn 20,000 vectors of 3 numbers at each of the hypothetical answers 1000 and 1001" in text
    assert "accuracy on whole vectors" in text
    assert "of 20,000 vectors are within 30 of the truth" in text
    assert "all 120,000 numbers are among those" in text
    assert ("This is one of 3 numbers" in text) == (kind != "linf touched")


@pytest.mark.parametrize("kind", EACH)
def test_the_claim_is_that_of_one_coordinate_that_moves_as_far_as_it_may(kind: str) -> None:
    plan = plan_of(kind)
    claim = claim_of(plan)
    at, beside = plan.law_at(0), plan.law_at(1)
    shared = np.isin(at.output, beside.output)
    log_ratio = np.log(at.probability[shared] / beside.probability[np.isin(beside.output, at.output)])

    assert claim.releases == plan.requirement.touched
    assert claim.epsilon <= plan.epsilon
    assert claim.epsilon == pytest.approx(float(np.median(log_ratio[log_ratio > 0])), rel=0.02)


def test_one_noise_for_all_coordinates_is_found() -> None:
    """Every number has the right law by itself, but the vector does not meet its requirement."""
    plan = plan_of("l1")
    same = changed(plan, lambda answer, numbers: answer + (numbers - answer)[:, :1] + 0 * numbers)

    audit = audit_plan(plan, same, draws=20_000)

    assert "fit" in audit.failures
    assert "accuracy" in audit.failures


@pytest.mark.parametrize("kind", EACH)
def test_noise_that_is_too_narrow_is_found(kind: str) -> None:
    plan = plan_of(kind)
    narrow = changed(plan, lambda answer, numbers: answer + np.rint((numbers - answer) / 0.5) * 0.25)

    audit = audit_plan(plan, narrow, draws=20_000)

    assert set(audit.failures) >= {"privacy", "fit"}


@pytest.mark.parametrize("kind", EACH)
def test_numbers_that_are_not_on_the_grid_are_found(kind: str) -> None:
    def one(_: Array, numbers: Array) -> Array:
        numbers[0, 1] += 2.0**-20
        return numbers

    audit = audit_plan(plan_of(kind), changed(plan_of(kind), one), draws=1000, confidence=SURE)

    assert audit.failures == ("outputs",)


# ---------------------------------------------------------------------------------------- several parts


def test_every_part_is_audited_with_its_share_of_the_error() -> None:
    joint = plan_of("joint")

    audit = audit_plan(joint, draws=20_000, confidence=SURE)

    assert audit.passed, audit.describe()
    assert [part.name for part in audit.parts] == ["visits", "nights"]
    for part in audit.parts:
        assert part.loss.error == part.fit.error == part.accuracy.error == pytest.approx((1 - SURE) / 6)
        assert part.loss.claim.epsilon < joint.epsilon / 1.5, "what one number loses by itself"
        assert part.loss.claim.total == joint.epsilon
    text = audit.describe()
    assert "visits: drawn 20,000 times" in text
    assert "This is one of 3 numbers, by itself. That all together lose at most 0.2035" in text
    record = json.loads(json.dumps(audit.record(), allow_nan=False))
    assert list(record["parts"]) == ["visits", "nights"]
    assert record["parts"]["nights"]["privacy"]["releases"] == 3
    with pytest.raises(pbdp.InputError, match="of visits, nights"):
        _ = audit.only.loss


def test_the_part_that_is_wrong_is_named() -> None:
    joint = plan_of("joint")
    draws = {part.name: own_sampler(part) for part in joint.parts}

    audit = audit_plan(joint, draws | {"nights": lambda answer, count: np.full(count, answer)}, draws=2000)

    assert set(audit.failures) == {"nights: privacy", "nights: fit"}
    assert "(nights: privacy, nights: fit)" in audit.verdict


@pytest.mark.parametrize(
    ("kind", "draw", "words"),
    [
        ("joint", lambda answer, count: np.full(count, answer), "one for each of visits, nights, by name"),
        ("joint", {"visits": lambda answer, count: np.full(count, answer)}, "one for each of visits"),
        ("linf", {"visits": lambda answer, count: np.full(count, answer)}, "one function"),
        ("linf", lambda _, count: np.zeros(count), "1500 vectors of 3 when asked"),
        ("l2", lambda _, count: np.zeros((count, 2)), "vectors of 3 when asked"),
    ],
)
def test_samplers_of_another_form_are_refused(kind: str, draw: Draw, words: str) -> None:
    with pytest.raises(pbdp.InputError, match=f"draw must be .*{words}"):
        audit_plan(plan_of(kind), draw, draws=10_000)


# ----------------------------------------------------------------------------------------------- pictures


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("linf", ["published number", "meets the requirement", "Share of vectors that"]),
        ("l1", ["published number", "Share of vectors that"]),
        ("l2", ["published number", "Share of vectors that"]),
        ("joint", ["visits: Drawn at answer 1000", "nights: Deviation", "nights: Share of numbers that"]),
    ],
)
def test_every_audit_is_drawn(kind: str, words: list[str], tmp_path: Path) -> None:
    audit: Audit = audit_plan(plan_of(kind), draws=2000, confidence=SURE)
    save(draw_audit(audit, plan_of(kind)), tmp_path / "audit.svg")

    text = (tmp_path / "audit.svg").read_text(encoding="utf-8")

    for each in (*words, "Audit: PASS, 2,000 draws"):
        assert each in text
    assert ("meets the requirement" in text.replace("that meet", "")) == (kind not in ("l1", "l2"))
