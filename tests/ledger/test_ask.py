"""`Budget.ask`: the budget chooses the noise, pays and draws; a key stands for one number for ever."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pbdp.errors import CannotCertifyError, InputError
from pbdp.ledger import Ledger
from pbdp.ledger.ask import Asked
from pbdp.ledger.averaging import choose
from pbdp.ledger.budget import Budget
from pbdp.ledger.errors import BudgetExceededError, KeyReusedError
from pbdp.ledger.question import Question
from pbdp.mechanism.requirement import Requirement
from pbdp.planning.plan import Plan
from pbdp.planning.pricing import Claim, choice
from pbdp.planning.pricing.choice import laws_for_one

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def budget(file: Path) -> Iterator[Budget]:
    with Ledger.create(file) as ledger:
        yield Budget.create(ledger, "visits", epsilon=3, delta=1e-6)


def ask(budget: Budget, answer: object = 1234, **more: Any) -> Any:
    given: dict[str, Any] = {"within": 50, "confidence": 0.95, "sensitivity": 1, "integer": True} | more
    return budget.ask(answer=answer, **{name: value for name, value in given.items() if value is not None})


def test_a_number_is_chosen_paid_drawn_and_stored(url: str) -> None:
    with Ledger.create(url) as ledger:
        budget = Budget.create(ledger, "visits", epsilon=3, delta=1e-6)
        question = Question(within=50, confidence=0.95, sensitivity=1, integer=True)
        plan = choose(budget, question)
        cost = budget.price(plan)
        asked = budget.ask(answer=1234, within=50, confidence=0.95, sensitivity=1, integer=True, key="march")
        assert isinstance(asked, Asked)
        assert asked.plan.mechanism == plan.mechanism
        assert budget.state.spent == cost.cost
        assert asked.share == cost.share == asked.spent
        assert isinstance(asked.value, int)
        assert asked.low <= asked.value <= asked.high
        assert asked.high - asked.low == 100
        assert asked.confidence >= 0.95
        assert not asked.repeated
        (entry,) = [entry for entry in ledger.history("visits") if entry.kind == "spend"]
        assert entry.query == "within 50, confidence 0.95, sensitivity 1, whole"
        assert "1234" not in json.dumps([entry.query, entry.key, entry.plan_label])
        assert "Request key: march" in asked.describe()
        assert ledger.verify().sound


def test_a_retry_gives_the_same_number_after_other_spends_and_in_another_process(url: str) -> None:
    with Ledger.create(url) as ledger:
        budget = Budget.create(ledger, "visits", epsilon=3, delta=1e-6)
        first = budget.ask(answer=1234, within=50, confidence=0.95, sensitivity=1, integer=True, key="march")
        # what is left decides which law is chosen: by now it might be another
        budget.reserve(Claim(epsilon=2.5))
        spent = budget.state.spent
        again = budget.ask(answer=999, within=50, confidence=0.95, sensitivity=1, integer=True, key="march")
        assert (again.value, again.low, again.high, again.repeated, again.share) == (
            first.value,
            first.low,
            first.high,
            True,
            0.0,
        )
        assert isinstance(first, Asked)
        assert isinstance(again, Asked)
        assert again.plan.mechanism == first.plan.mechanism
        assert budget.state.spent == spent
    program = (
        "import sys\n"
        "from pbdp.ledger import Ledger\n"
        "from pbdp.ledger.budget import Budget\n"
        "with Ledger.open(sys.argv[1]) as ledger:\n"
        "    budget = Budget.of(ledger, 'visits')\n"
        "    asked = budget.ask(\n"
        "        answer=7, within=50, confidence=0.95, sensitivity=1, integer=True, key='march'\n"
        "    )\n"
        "    print(asked.value, asked.repeated)\n"
    )
    done = subprocess.run([sys.executable, "-c", program, url], capture_output=True, text=True, check=True)
    assert done.stdout.split() == [str(first.value), "True"]


def test_a_key_stands_for_one_question(budget: Budget) -> None:
    ask(budget, key="march")
    spent = budget.state.spent
    for other in (
        {"sensitivity": 2},
        {"integer": False},
        {"within": "2%+50"},
        {"within": None, "share": 0.1},
    ):
        with pytest.raises(KeyReusedError, match="'march'"):
            ask(budget, key="march", **other)
    plan = choose(budget, Question(within=50, confidence=0.95, sensitivity=1, integer=True))
    with pytest.raises(KeyReusedError):
        budget.release(plan, 5, key="march")
    budget.release(plan, 5, key="april", again=True)
    with pytest.raises(KeyReusedError, match="'april'"):
        ask(budget, key="april")
    budget.reserve((plan, 2), key="may")
    with pytest.raises(KeyReusedError, match="'may'"):
        ask(budget, key="may")
    assert budget.state.spent != spent


def test_a_key_stands_for_its_blocks(file: Path) -> None:
    with Ledger.create(file) as ledger:
        budget = Budget.create(ledger, "visits", epsilon=3, delta=1e-6, blocks=["north", "south"])
        ask(budget, key="march", blocks="north")
        assert budget.terms.share(budget.state.spent, ("south",)) == 0
        with pytest.raises(KeyReusedError):
            ask(budget, key="march", blocks="south")
        second = ask(budget, key="april", blocks="south")
        assert second.share > 0
        with pytest.raises(InputError, match="among north, south"):
            ask(budget, blocks="west")


class Crash(Exception):  # noqa: N818  # what happens, not what is wrong
    """The process dies here."""


@pytest.mark.parametrize(
    "question", [{}, {"within": None, "share": 0.1}, {"confidence": None, "share": 0.05}], ids=str
)
def test_a_crash_between_paying_and_drawing_costs_once(
    budget: Budget, monkeypatch: pytest.MonkeyPatch, question: dict[str, Any]
) -> None:
    with monkeypatch.context() as patch:

        def die() -> None:
            raise Crash

        patch.setattr("pbdp.ledger.ask.SecureKeystream", die)
        with pytest.raises(Crash):
            ask(budget, key="march", **question)
    spent = budget.state.spent
    assert any(spent.values())
    # meanwhile others spend, so that another law might be chosen now
    budget.reserve(Claim(epsilon=0.5))
    others = budget.state.spent
    first = ask(budget, key="march", **question)
    assert budget.state.spent == others
    assert ask(budget, key="march", **question).value == first.value
    assert budget.state.spent == others


def test_every_question_pays(budget: Budget) -> None:
    shares = [ask(budget).share for _ in range(3)]
    assert all(share > 0 for share in shares)
    assert budget.spent == pytest.approx(sum(shares))


def test_a_package_that_was_reserved_is_used_first(budget: Budget) -> None:
    question = Question(within=50, confidence=0.95, sensitivity=1, integer=True)
    plan = choose(budget, question)
    budget.reserve((plan, 2))
    spent = budget.state.spent
    # the price of another may be less for some other law by now
    if choose(budget, question).mechanism == plan.mechanism:
        assert ask(budget).share == 0
        assert budget.state.spent == spent


def test_a_share_buys_the_narrowest_width_or_the_largest_confidence(budget: Budget) -> None:
    budget.reserve(Claim(epsilon=1))
    left = 1 - budget.spent
    narrow = choose(budget, Question(confidence=0.95, share=0.1, sensitivity=1, integer=True))
    within = narrow.within
    assert isinstance(within, int | float)
    found = budget.price(narrow)
    assert found.share is not None
    assert found.share <= 0.1 * left
    wide = choose(budget, Question(confidence=0.95, share=0.01, sensitivity=1, integer=True))
    assert wide.within > within  # type: ignore[operator]
    sure = choose(budget, Question(within=within, share=0.1, sensitivity=1, integer=True))
    assert sure.confidence >= 0.95 - 0.01
    asked = ask(budget, within=None, share=0.1)
    assert asked.share <= 0.1 * left
    assert "0.1 of what is left" in list(budget.ledger.history("visits"))[-1].query  # type: ignore[operator]


def test_a_real_number_and_a_step(budget: Budget) -> None:
    asked = budget.ask(answer=12.5, within=2.5, confidence=0.9, sensitivity=0.5, step=0.25)
    assert isinstance(asked.value, float)
    assert asked.value % 0.25 == 0


def test_what_does_not_fit_is_told_what_would_and_spends_nothing(budget: Budget) -> None:
    while (found := budget.price(Claim(epsilon=0.25))).fits and budget.spent < 0.97:
        budget.reserve(Claim(epsilon=0.25))
    assert found is not None
    before = budget.state
    with pytest.raises(BudgetExceededError, match="too little is left") as refusal:
        ask(budget, within=3, confidence=0.99)
    assert budget.state == before
    width = float(refusal.value.remedy.split("One within ")[1].split()[0])
    assert ask(budget, within=width, confidence=0.99).share > 0


@pytest.mark.parametrize(
    "given",
    [
        {"confidence": 0.95, "integer": True},
        {"within": 20, "integer": True},
        {"confidence": 0.95},
    ],
)
def test_a_share_that_buys_nothing_is_refused_at_the_first_look(
    budget: Budget, monkeypatch: pytest.MonkeyPatch, given: dict[str, Any]
) -> None:
    looked: list[Requirement] = []

    def counted(requirement: Requirement, families: tuple[str, ...] | None = None) -> tuple[Plan, ...]:
        looked.append(requirement)
        return laws_for_one(requirement, families)

    monkeypatch.setattr(choice, "laws_for_one", counted)
    before = budget.spent
    with pytest.raises(CannotCertifyError, match=r"Even .* costs more than 1e-09 of what is left"):
        budget.ask(share=1e-9, sensitivity=1, answer=100, **given)
    assert len(set(looked)) == 1
    assert budget.spent == before


def test_noise_that_costs_next_to_nothing_is_taken_as_it_is(
    budget: Budget, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object) -> tuple[Plan, ...]:
        raise AssertionError("no better law is looked for")

    monkeypatch.setattr(choice, "laws_for_many", refused)
    with pytest.raises(AssertionError, match="no better law"):
        ask(budget, within=20, confidence=0.9)
    monkeypatch.setattr(choice, "NEGLIGIBLE", 1.0)
    assert ask(budget, within=20, confidence=0.9).share > 0


@pytest.mark.parametrize(
    ("given", "word"),
    [
        ({"within": None}, "two at a time"),
        ({"within": None, "confidence": None}, "two at a time"),
        ({"share": 0.0}, "share"),
        ({"share": 1.5}, "share"),
        ({"sensitivity": 0}, "sensitivity"),
        ({"confidence": 1.5}, "confidence"),
        ({"within": -3}, "within"),
        ({"answer": [1, 2]}, "one number"),
        ({"answer": "12"}, "answer"),
        ({"answer": None}, "answer"),
    ],
)
def test_questions_that_cannot_be_are_refused_and_cost_nothing(
    budget: Budget, given: dict[str, Any], word: str
) -> None:
    with pytest.raises(InputError, match=word):
        ask(budget, **({"answer": 5} | given))
    assert not any(budget.state.spent.values())


def test_a_budget_without_delta_chooses_no_noise(file: Path) -> None:
    with Ledger.create(file) as ledger:
        budget = Budget.create(ledger, "visits", epsilon=1, delta=0)
        with pytest.raises(InputError, match="above zero"):
            ask(budget)
