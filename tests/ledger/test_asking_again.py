"""Asking again under one key: the difference is paid, in any order, again and again, by whichever process."""

from __future__ import annotations

import math
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pbdp.digits import plain
from pbdp.errors import InputError
from pbdp.ledger import Ledger
from pbdp.ledger.ask import Asked, Look, requirement_of
from pbdp.ledger.averaging import Averaging
from pbdp.ledger.budget import Budget
from pbdp.ledger.errors import BudgetExceededError, KeyReusedError
from pbdp.ledger.looks.procedure import gaussian_plan
from pbdp.ledger.question import AskRequest
from pbdp.mechanism.absolute import AbsoluteRegion
from pbdp.planning.pricing.choice import laws_for


@pytest.fixture
def budget(file: Path) -> Iterator[Budget]:
    with Ledger.create(file) as ledger:
        yield Budget.create(ledger, "visits", epsilon=8, delta=1e-6)


def ask(budget: Budget, within: Any = 50, *, key: str = "march", **more: Any) -> Asked:
    given: dict[str, Any] = {
        "answer": 1234,
        "confidence": 0.95,
        "sensitivity": 1,
        "integer": True,
    } | more
    found = budget.ask(within=within, key=key, **given)
    assert isinstance(found, Asked)
    return found


def test_asking_again_costs_the_difference(url: str) -> None:
    with Ledger.create(url) as ledger:
        budget = Budget.create(ledger, "visits", epsilon=8, delta=1e-6)
        direct = Budget.create(ledger, "direct", epsilon=8, delta=1e-6)
        at_once = ask(direct, 8, key="direct")
        first = ask(budget, 50)
        assert (first.averaged, first.joint) == (1, None)
        again = ask(budget, 50)
        assert (again.value, again.low, again.high) == (first.value, first.low, first.high)
        assert (again.share, again.repeated) == (0.0, True)
        for within in (20, 15, 10):
            spent = budget.spent
            narrower = ask(budget, within)
            assert budget.spent == pytest.approx(spent + narrower.share)
            assert narrower.high - narrower.value <= within
            assert narrower.value - narrower.low <= within
        last = ask(budget, 8)
        assert last.averaged == 5
        assert budget.spent <= 1.05 * float(at_once.share)
        assert abs(last.value - 1234) < 50
        # in any order: a width that is met already costs nothing
        again = ask(budget, 9)
        assert (again.value, again.joint, again.share, again.repeated) == (last.value, last.joint, 0.0, True)
        with pytest.raises(KeyReusedError):
            ask(direct, 5)
        assert ledger.verify().sound


def test_another_process_asks_again(url: str) -> None:
    program = (
        "import sys\n"
        "from pbdp.ledger import Ledger\n"
        "from pbdp.ledger.budget import Budget\n"
        "with Ledger.open(sys.argv[1]) as ledger:\n"
        "    found = Budget.of(ledger, 'visits').ask(\n"
        "        answer=1234, within=20, confidence=0.95, sensitivity=1, integer=True,\n"
        "        key='march')\n"
        "    print(found.value, found.low, found.high)\n"
    )
    with Ledger.create(url) as ledger:
        budget = Budget.create(ledger, "visits", epsilon=8, delta=1e-6)
        ask(budget)
        done = subprocess.run(
            [sys.executable, "-c", program, url], capture_output=True, text=True, check=True
        )
        same = ask(budget, 20)
        assert same.repeated
        assert done.stdout.split() == [str(same.value), str(same.low), str(same.high)]
        assert ask(budget, 10).averaged == 3


def test_intervals_are_labeled(budget: Budget) -> None:
    ask(budget)
    found = ask(budget, 10)
    assert found.joint is not None
    low, high = (plain(end) for end in found.joint)
    words = found.describe()
    assert "the average of 2 answers" in words
    assert f"because of what an earlier answer showed, go by {low} to {high}" in words


@pytest.mark.parametrize(
    "other",
    [
        {"within": "5%", "floor": 50},
        {"within": "5%+50"},
        {"within": (20, 50)},
        {"sensitivity": 2},
        {"integer": False},
        {"integer": False, "step": 0.25},
    ],
    ids=str,
)
def test_another_question_needs_another_key(budget: Budget, other: dict[str, Any]) -> None:
    given: dict[str, Any] = {"within": 50, "confidence": 0.95, "sensitivity": 1, "integer": True} | other
    budget.ask(answer=1234, key="march", **given)
    before = budget.state
    with pytest.raises(KeyReusedError):
        ask(budget, 20)
    assert budget.state == before


def test_real_answers(budget: Budget) -> None:
    asked: dict[str, Any] = {
        "answer": 12.5,
        "confidence": 0.9,
        "sensitivity": 0.5,
        "integer": False,
        "key": "weight",
    }
    ask(budget, 5.0, **asked)
    found = ask(budget, 1.0, **asked)
    assert isinstance(found.value, float)
    assert found.high - found.low <= 2.0
    assert len(found.looks) == 2
    assert found.low < 12.5 + 3
    assert found.high > 12.5 - 3
    with pytest.raises(KeyReusedError):
        ask(budget, 0.5, step=0.25, **asked)


def test_wide_whole_numbers_are_averaged_on_their_own_grids(budget: Budget) -> None:
    """Noise on multiples of a whole number: single ones took minutes, and could not be combined."""
    given: dict[str, Any] = {"answer": 12_345_678, "sensitivity": 10_000, "confidence": 0.9, "key": "cents"}
    first = ask(budget, 1e6, **given)
    assert first.plan.grid.whole_outputs
    assert first.plan.grid.step > 1
    found = ask(budget, 2e5, **given)
    assert [type(number) for number in (found.value, found.low, found.high)] == [int] * 3
    assert found.high - found.low <= 400_000
    assert found.averaged == 2
    assert abs(found.value - 12_345_678) < 2_000_000
    assert ask(budget, 2e5, **given).repeated


def test_another_confidence(budget: Budget) -> None:
    ask(budget, 20)
    found = ask(budget, 20, confidence=0.99)
    assert found.confidence == 0.99
    assert found.averaged == 2
    assert ask(budget, 20).repeated
    wider = ask(budget, 40, confidence=0.9)
    assert (wider.repeated, wider.confidence) == (True, 0.9)


class Crash(Exception):  # noqa: N818  # what happens, not what is wrong
    """The process dies here."""


def test_a_crash_between_paying_and_drawing_costs_once(
    budget: Budget, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask(budget)
    with monkeypatch.context() as patch:

        def die() -> None:
            raise Crash

        patch.setattr("pbdp.ledger.ask.SecureKeystream", die)
        with pytest.raises(Crash):
            ask(budget, 20)
    spent = budget.state.spent
    with pytest.raises(InputError, match="paid for under 'march' and not drawn yet"):
        ask(budget, 10)
    found = ask(budget, 20)
    assert budget.state.spent == spent
    assert found.averaged == 2


def test_races_pay_once(url: str) -> None:
    with Ledger.create(url) as ledger:
        ask(Budget.create(ledger, "visits", epsilon=8, delta=1e-6))
    found: list[Asked] = []

    def run(within: float) -> None:
        with Ledger.open(url) as own:
            found.append(ask(Budget.of(own, "visits"), within))

    threads = [threading.Thread(target=run, args=(within,)) for within in (20, 20, 20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 3
    with Ledger.open(url) as ledger:
        assert ledger.verify().sound
        assert len({one.value for one in found}) == 1
        assert ask(Budget.of(ledger, "visits"), 12).averaged == 3


def test_what_does_not_fit_is_refused(file: Path) -> None:
    with Ledger.create(file) as ledger:
        budget = Budget.create(ledger, "visits", epsilon=0.5, delta=1e-6)
        ask(budget)
        before = budget.state
        with pytest.raises(BudgetExceededError):
            ask(budget, 3)
        assert budget.state == before


def test_blocks_pay_as_the_answer_did(file: Path) -> None:
    with Ledger.create(file) as ledger:
        budget = Budget.create(ledger, "visits", epsilon=8, delta=1e-6, blocks=["north", "south"])
        ask(budget, blocks="north")
        for blocks in (None, "south"):
            with pytest.raises(KeyReusedError):
                ask(budget, 20, blocks=blocks)
        ask(budget, 20, blocks="north")
        assert budget.terms.share(budget.state.spent, ("south",)) == 0


@pytest.mark.parametrize(
    ("given", "word"),
    [
        ({"within": 0}, "within"),
        ({"within": -5}, "within"),
        ({"within": "5%"}, "floor"),
        ({"within": 5, "confidence": 1.5}, "confidence"),
        ({"within": 5, "answer": "x"}, "answer"),
        ({"within": 5, "answer": None}, "answer"),
    ],
    ids=str,
)
def test_requests_that_cannot_be_are_refused_and_cost_nothing(
    budget: Budget, given: dict[str, Any], word: str
) -> None:
    ask(budget)
    before = budget.state
    with pytest.raises(InputError, match=word):
        ask(budget, **given)
    assert budget.state == before


def test_a_lopsided_or_relative_width_is_one_question(budget: Budget) -> None:
    for key, within in (("relative", "5%+50"), ("lopsided", (20, 50))):
        first = ask(budget, within, key=key)
        spent = budget.state
        again = ask(budget, within, key=key)
        assert (again.value, again.repeated) == (first.value, True)
        assert budget.state == spent
        for other in ("2%+50", (20, 40), 10):
            with pytest.raises(KeyReusedError):
                ask(budget, other, key=key)


def test_the_joint_interval_holds_against_whoever_looks_first(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They ask on until the interval by itself misses, choosing widths by what they saw."""
    draw = np.random.default_rng(5)
    alone = jointly = 0
    runs = 2000
    monkeypatch.setattr(Budget, "spent", 0.0)
    with Ledger.create(file) as ledger:
        budget = Budget.create(ledger, "visits", epsilon=3, delta=1e-6)
        question = AskRequest(answer=0, within=40, confidence=0.9, sensitivity=1, integer=True)
        first, *_ = laws_for(requirement_of(question, budget))
        narrow = replace(first.requirement, region=AbsoluteRegion.even(38.0))
        plans = [first, gaussian_plan(narrow), gaussian_plan(narrow), gaussian_plan(narrow)]
        for _ in range(runs):
            asking = Averaging(budget=budget, question=question, key="k")
            missed = missed_jointly = False
            for plan in plans:
                table = plan.mechanism.table_at(0.0)
                value = int(draw.choice(table.values(), p=table.probabilities()))
                look = Look(value=value, within=40.0, share=0.0, plan=plan)
                asking = replace(asking, looks=(*asking.looks, look))
                found = asking.outcome()
                missed = missed or not found.low <= 0 <= found.high
                low, high = found.joint or (-math.inf, math.inf)
                missed_jointly = missed_jointly or not low <= 0 <= high
                if missed and found.joint is not None:
                    break
            alone += missed
            jointly += missed_jointly
    assert alone > 0.12 * runs
    assert jointly < 0.1 * runs


def test_a_share_first_and_a_width_later(budget: Budget) -> None:
    first = ask(budget, None, share=0.001)
    again = ask(budget, None, share=0.001)
    assert (again.value, again.repeated) == (first.value, True)
    narrower = ask(budget, 10)
    assert narrower.high - narrower.low <= 20
    assert len(narrower.looks) == 2
    with pytest.raises(KeyReusedError):
        ask(budget, None, share=0.002)
