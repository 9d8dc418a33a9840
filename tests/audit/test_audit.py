"""Audits from end to end: the product's own sampler, the words, the record."""

from __future__ import annotations

import itertools
import json
import math
import time
import warnings

import numpy as np
import pytest

import pbdp
from pbdp.audit.audit import audit_plan
from pbdp.audit.samples import Draw
from pbdp.digits import rounded_down, rounded_up
from pbdp.release.keystream import InsecureTestSeedWarning
from tests.audit.plans import NAMES, plan_named
from tests.audit.samplers import Numbers, scaled_plan, true_sampler


def released(plan: pbdp.Plan) -> Draw:
    """The product's sampler, seeded anew for every block."""
    seeds = itertools.count()

    def draw(answer: int | float, count: int) -> Numbers:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", InsecureTestSeedWarning)
            drawn = plan.release(np.full(count, answer), disjoint=True, insecure_test_seed=next(seeds))
        return np.asarray(drawn.value)

    return draw


@pytest.mark.parametrize("name", NAMES)
def test_the_products_own_sampler_passes(name: str) -> None:
    plan = plan_named(name)

    audit = audit_plan(plan, released(plan), draws=50_000)

    assert audit.passed, audit.describe()
    assert audit.failures == ()


def test_the_products_sampler_for_another_plan_fails() -> None:
    plan = plan_named("whole")

    audit = audit_plan(plan, released(plan_named("lopsided")), draws=10_000)

    assert not audit.passed
    assert set(audit.failures) >= {"accuracy", "fit"}


def test_words_for_a_reviewer() -> None:
    plan = plan_named("whole")

    audit = audit_plan(plan, true_sampler(plan, 31), draws=100_000)
    text = audit.describe()

    assert text.splitlines() == audit.lines()
    for words in (
        "PASS: no draw contradicts the plan.",
        "Drawn 100,000 times at each of the hypothetical answers 1000 and 1001",
        "With 99.9 % confidence all of the following holds.",
        f"the loss at delta 1e-06 is at least {rounded_down(audit.only.loss.epsilon_lower)};",
        "the plan claims at most 0.4148: consistent.",
        "within 5 of the truth",
        "the plan claims at least 90 %: consistent.",
        "all 200,000 numbers are among those that the plan lists: consistent.",
        "It cannot prove that it keeps it",
    ):
        assert words in text


def test_a_failure_says_what_is_contradicted() -> None:
    plan = plan_named("whole")

    audit = audit_plan(plan, true_sampler(scaled_plan(plan, 0.8), 32), draws=100_000)

    assert audit.lines()[0] == (
        "FAIL: the numbers drawn contradict the plan (privacy, fit). Do not publish with this sampler."
    )
    assert "the plan claims at most 0.4148: CONTRADICTED." in audit.describe()


def test_several_releases_are_said_to_be_audited_one_at_a_time() -> None:
    plan = plan_named("ten")

    text = audit_plan(plan, true_sampler(plan, 33), draws=5000).describe()

    assert "This is one of 10 numbers, by itself." in text
    assert f"all together lose at most {rounded_up(plan.epsilon)}" in text


def test_a_renyi_plan_is_audited_in_its_own_measure() -> None:
    plan = plan_named("renyi")

    text = audit_plan(plan, true_sampler(plan, 34), draws=5000).describe()

    assert "the Rényi loss at order 10 is at least" in text


@pytest.mark.parametrize("name", NAMES)
def test_the_record_is_json_and_whole(name: str) -> None:
    plan = plan_named(name)
    audit = audit_plan(plan, true_sampler(plan, 35), draws=2000)

    record = json.loads(json.dumps(audit.record(), allow_nan=False))

    assert record["passed"] is audit.passed
    assert record["privacy"]["epsilon_lower"] == audit.only.loss.epsilon_lower
    assert record["privacy"]["epsilon_claimed"] == audit.only.loss.claim.epsilon
    assert len(record["privacy"]["events"]) == len(audit.only.loss.bounds)
    assert record["accuracy"]["intervals"][0]["high"] == audit.only.accuracy.intervals[0].high
    assert record["fit"]["p_value"] == audit.only.fit.p_value
    assert record["answers"] == [sample.answer for sample in audit.only.samples]


def test_progress_is_told_up_to_the_end() -> None:
    plan = plan_named("relative")
    heard: list[tuple[int, int]] = []

    audit_plan(
        plan,
        true_sampler(plan, 36),
        draws=500_000,
        progress=lambda done, total: heard.append((done, total)),
    )

    assert heard[-1] == (1_500_000, 1_500_000)
    assert [done for done, _ in heard] == sorted({done for done, _ in heard})
    assert len(heard) > 6


def test_given_answers_are_drawn_at() -> None:
    plan = plan_named("real")

    audit = audit_plan(plan, true_sampler(plan, 37), draws=2000, answers=(0, -3.25))

    assert {sample.answer for sample in audit.only.samples} >= {0.0, -3.25}


def test_samplers_that_give_nonsense_fail_and_do_not_break() -> None:
    plan = plan_named("whole")
    for nonsense in (math.nan, math.inf, -math.inf, 1e300, 0.5, 1000.0):
        audit = audit_plan(plan, lambda _, count, x=nonsense: np.full(count, x), draws=2000)  # type: ignore[misc]
        assert not audit.passed
        json.dumps(audit.record(), allow_nan=False)


@pytest.mark.parametrize(
    ("wrong", "name"),
    [
        ({"draws": 10}, "draws"),
        ({"draws": 1000.5}, "draws"),
        ({"confidence": 1}, "confidence"),
        ({"confidence": 0}, "confidence"),
        ({"answers": ()}, "answers"),
        ({"answers": [0.5]}, "answer"),
    ],
)
def test_wrong_options_are_refused(wrong: dict[str, object], name: str) -> None:
    plan = plan_named("whole")

    with pytest.raises(pbdp.InputError, match=f"^{name} must be"):
        audit_plan(plan, true_sampler(plan, 0), **wrong)  # type: ignore[arg-type]


def test_something_that_is_no_plan_is_refused() -> None:
    with pytest.raises(pbdp.InputError, match=r"plan must be a plan of numbers, .*; got str"):
        audit_plan("plan.json", lambda _, count: np.zeros(count))  # type: ignore[arg-type]


def test_a_million_draws_are_audited_within_seconds() -> None:
    """About 0.3 s where it was written; the bound is loose, for machines that are busy."""
    plan = plan_named("real")
    drawn = {answer: true_sampler(plan, 38)(answer, 1_000_000) for answer in (1000.0, 1001.0)}

    begun = time.perf_counter()
    audit_plan(plan, lambda answer, count: drawn[answer][:count])

    assert time.perf_counter() - begun < 5
