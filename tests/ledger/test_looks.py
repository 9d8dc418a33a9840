"""`Budget.ask(within="5%", floor=50)`: looks are paid one by one, and taken up where they were left."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pbdp.errors import InputError
from pbdp.ledger import Ledger
from pbdp.ledger.ask import Asked
from pbdp.ledger.budget import Budget
from pbdp.ledger.errors import BudgetExceededError, KeyReusedError
from pbdp.ledger.question import Question
from pbdp.ledger.scouting import LookPrice, procedure_of
from pbdp.planning.pricing import Claim

# few scouts, whose tables are short
QUESTION: dict[str, Any] = {
    "within": "5%",
    "floor": 50,
    "confidence": 0.95,
    "sensitivity": 1,
    "integer": True,
    "expect": (300, 30_000),
}


@pytest.fixture
def budget(file: Path) -> Iterator[Budget]:
    with Ledger.create(file) as ledger:
        yield Budget.create(ledger, "visits", epsilon=3, delta=1e-6)


def ask(budget: Budget, answer: object = 3000, **more: Any) -> Asked:
    found = budget.ask(answer=answer, **(QUESTION | more))
    assert isinstance(found, Asked)
    return found


def exhaust(budget: Budget) -> None:
    """Spend nearly all of it."""
    budget.reserve(Claim(epsilon=0.9 * budget.terms.epsilon))


def test_looks_are_paid_one_by_one_and_the_last_is_the_answer(url: str) -> None:
    with Ledger.create(url) as ledger:
        budget = Budget.create(ledger, "visits", epsilon=3, delta=1e-6)
        price = LookPrice.of(budget, Question(**QUESTION))
        assert not any(budget.state.spent.values())
        found = ask(budget, 2987, key="march")
        assert found.complete
        assert not found.repeated
        assert found.value == found.looks[-1].value
        assert (found.low, found.high) == (
            found.value - found.looks[-1].within,
            found.value + found.looks[-1].within,
        )
        assert found.share == pytest.approx(found.cost)
        assert found.cost == pytest.approx(budget.spent)
        assert price.most is not None
        assert found.most == price.most
        assert found.cost < 0.5 * price.most
        spends = [entry for entry in ledger.history("visits") if entry.kind == "spend"]
        assert [entry.key for entry in spends] == [
            "march",
            *(f"march (look {k})" for k in range(2, len(spends) + 1)),
        ]
        assert len(spends) == len(found.looks) == budget.state.releases
        assert "2987" not in json.dumps([[entry.query, entry.key] for entry in spends])
        # a retry brings all of it back
        again = ask(budget, 7, key="march")
        assert (again.value, again.low, again.high, again.looks) == (
            found.value,
            found.low,
            found.high,
            found.looks,
        )
        assert (again.repeated, again.share, again.spent) == (True, 0.0, found.spent)
        assert "It was paid for before" in again.describe()
        assert ledger.verify().sound


def test_each_look_follows_from_what_was_published(budget: Budget) -> None:
    procedure = procedure_of(budget, Question(**QUESTION))
    for answer in (0, 990, -1500, 40_000):
        found = ask(budget, answer)
        values = [int(look.value) for look in found.looks]
        for number in range(len(values)):
            sigma = procedure.next_look(values[:number])
            assert sigma is not None
            assert procedure.half_width(sigma) == found.looks[number].within
        assert procedure.next_look(values) is None
        assert abs(found.value - answer) < 5 * found.looks[-1].within


class Crash(Exception):  # noqa: N818  # what happens, not what is wrong
    """The process dies here."""


@pytest.mark.parametrize("survives", [0, 1, 2])
def test_a_crash_between_paying_and_drawing_goes_on_with_the_same_key(
    budget: Budget, monkeypatch: pytest.MonkeyPatch, survives: int
) -> None:
    from pbdp.release.keystream import SecureKeystream

    drawn: list[int] = []
    with monkeypatch.context() as patch:

        def die() -> SecureKeystream:
            if len(drawn) == survives:
                raise Crash
            drawn.append(1)
            return SecureKeystream()

        patch.setattr("pbdp.ledger.ask.SecureKeystream", die)
        with pytest.raises(Crash):
            ask(budget, 100, key="march")
    assert budget.state.releases == survives + 1
    budget.reserve(Claim(epsilon=0.2))
    before = budget.state
    found = ask(budget, 100, key="march")
    # the look that was paid and not drawn is not paid again
    assert budget.state.releases - before.releases == len(found.looks) - survives - 1
    assert found.complete
    assert ask(budget, 100, key="march").value == found.value


def test_another_process_takes_up_the_looks(url: str) -> None:
    program = (
        "import sys, pbdp.ledger.ask as asking\n"
        "from pbdp.ledger import Ledger\n"
        "from pbdp.ledger.budget import Budget\n"
        "def die():\n"
        "    raise SystemExit(9)\n"
        "real, drawn = asking.SecureKeystream, []\n"
        "def twice():\n"
        "    drawn.append(1)\n"
        "    return real() if len(drawn) < 2 else die()\n"
        "asking.SecureKeystream = twice\n"
        "with Ledger.open(sys.argv[1]) as ledger:\n"
        "    Budget.of(ledger, 'visits').ask(answer=100, within='5%', floor=50, confidence=0.95,\n"
        "        sensitivity=1, integer=True, expect=(300, 30_000), key='march')\n"
    )
    with Ledger.create(url) as ledger:
        budget = Budget.create(ledger, "visits", epsilon=3, delta=1e-6)
        assert subprocess.run([sys.executable, "-c", program, url], check=False).returncode == 9
        assert budget.state.releases == 2
        first = ledger.spend_of("march")
        assert first is not None
        assert first.answer is not None
        found = ask(budget, 100, key="march")
        assert found.looks[0].value == json.loads(first.answer)["values"][0]
        assert budget.state.releases == len(found.looks)


def test_what_may_not_fit_is_refused_before_the_first_look(file: Path) -> None:
    with Ledger.create(file) as ledger:
        budget = Budget.create(ledger, "visits", epsilon=0.15, delta=1e-6)
        before = budget.state
        words = "all looks together could cost more than is left.*Fixed in advance, within 50 .* and fits"
        with pytest.raises(BudgetExceededError, match=words):
            ask(budget, 10**6)
        exhaust(budget)
        with pytest.raises(BudgetExceededError):
            ask(budget, 10**6)
        assert budget.state.releases == before.releases


def test_if_others_spend_in_between_the_looks_so_far_are_returned(
    file: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    from pbdp.release.keystream import SecureKeystream

    ledger = Ledger.create(file)
    request.addfinalizer(ledger.close)
    budget = Budget.create(ledger, "visits", epsilon=0.3, delta=1e-6)
    drawn: list[int] = []
    with monkeypatch.context() as patch:

        def others() -> SecureKeystream:
            drawn.append(1)
            if len(drawn) == 2:
                exhaust(budget)
            return SecureKeystream()

        patch.setattr("pbdp.ledger.ask.SecureKeystream", others)
        found = ask(budget, 100, key="march")
    assert not found.complete
    assert len(found.looks) >= 2
    assert found.low <= found.value <= found.high
    # all scouts hold together: whether one is the last may depend on what it showed
    assert 1.2 < (found.high - found.value) / found.looks[-1].within < 2
    assert found.looks[-1].within > 50
    assert "Incomplete" in found.describe()
    # still no budget: the same looks again
    again = ask(budget, 100, key="march")
    assert (again.complete, again.value, again.looks) == (False, found.value, found.looks)


def test_a_key_stands_for_one_question(budget: Budget) -> None:
    ask(budget, key="march")
    for other in (
        {"floor": 40},
        {"confidence": 0.9},
        {"sensitivity": 2},
        {"query": "more"},
        {"expect": None},
    ):
        with pytest.raises(KeyReusedError, match="'march'"):
            ask(budget, key="march", **other)
    with pytest.raises(KeyReusedError):
        budget.ask(answer=5, within=50, confidence=0.95, sensitivity=1, integer=True, key="march")
    budget.ask(answer=5, within=50, confidence=0.95, sensitivity=1, integer=True, key="april")
    with pytest.raises(KeyReusedError, match="'april'"):
        ask(budget, key="april")


def test_races_for_one_key_end_with_one_answer(url: str) -> None:
    with Ledger.create(url) as ledger:
        Budget.create(ledger, "visits", epsilon=3, delta=1e-6)
    found: list[Asked] = []

    def run() -> None:
        with Ledger.open(url) as own:
            found.append(ask(Budget.of(own, "visits"), 100, key="march"))

    threads = [threading.Thread(target=run) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 3
    assert len({(entry.value, tuple(look.value for look in entry.looks)) for entry in found}) == 1
    with Ledger.open(url) as ledger:
        assert Budget.of(ledger, "visits").state.releases == len(found[0].looks)
        assert ledger.verify().sound


def test_only_the_blocks_that_are_read_pay(file: Path) -> None:
    with Ledger.create(file) as ledger:
        budget = Budget.create(ledger, "visits", epsilon=3, delta=1e-6, blocks=["north", "south"])
        ask(budget, 100, key="march", blocks="north")
        assert budget.terms.share(budget.state.spent, ("south",)) == 0
        with pytest.raises(KeyReusedError):
            ask(budget, 100, key="march", blocks="south")


def test_real_answers_and_answers_that_are_not_negative(budget: Budget) -> None:
    found = budget.ask(
        answer=812.25, within="10%", floor=20.0, confidence=0.9, sensitivity=2.5, expect=(50, 1000)
    )
    assert isinstance(found, Asked)
    assert isinstance(found.value, float)
    assert found.value % found.plan.grid.step == 0
    assert found.high - found.low == pytest.approx(2 * found.looks[-1].within)
    for _ in range(5):
        none = ask(budget, 0, floor=200, nonnegative=True)
        assert none.value >= 0
        assert none.low >= 0
        assert (type(none.value), type(none.low), type(none.high)) == (int, float, float)


def test_the_price_says_what_is_cheaper_fixed_in_advance(budget: Budget) -> None:
    price = LookPrice.of(budget, Question(**QUESTION))
    assert price.fixed is not None
    assert price.most is not None
    assert price.fixed[1] < price.most <= 1.3 * price.fixed[1] * 1.1
    assert price.saves_from is not None
    assert 1000 <= price.saves_from <= 1400
    words = price.describe()
    assert "At most" in words
    assert "if the answer is above 10,000" in words
    assert "Fixed in advance, within 50" in words
    near = LookPrice.of(budget, Question(**(QUESTION | {"expect": (100, 1300)})))
    assert "looking first saves" in near.describe()
    assert "Ask for --within 50" in near.describe()
    below = LookPrice.of(budget, Question(**(QUESTION | {"expect": (100, 900)})))
    assert "One look" in below.describe()
    assert ask(budget, 500, expect=(100, 900)).looks[0].within == 50
    exhaust(budget)
    exhausted = LookPrice.of(budget, Question(**(QUESTION | {"floor": 5, "expect": None})))
    assert exhausted.most is None
    assert "do not fit" in exhausted.describe()
    assert json.loads(json.dumps(exhausted.record()))["fits"] is False


@pytest.mark.parametrize(
    ("given", "word"),
    [
        ({"floor": None}, "floor"),
        ({"floor": 0}, "floor"),
        ({"floor": -1}, "floor"),
        ({"within": 5}, "percentage"),
        ({"within": "0%"}, "percentage"),
        ({"within": "100%"}, "percentage"),
        ({"within": "x%"}, "percentage"),
        ({"within": "5%+3"}, "percentage"),
        ({"confidence": None}, "confidence"),
        ({"confidence": None, "share": 0.1}, "confidence"),
        ({"confidence": 1.0}, "confidence"),
        ({"sensitivity": 0}, "sensitivity"),
        ({"expect": (5, 1)}, "expect"),
        ({"floor": None, "within": 5, "expect": (1, 5)}, "expect"),
        ({"answer": [1, 2]}, "one number"),
        ({"answer": "12"}, "answer"),
        ({"key": "k" * 190}, "key"),
    ],
    ids=str,
)
def test_questions_that_cannot_be_are_refused_and_cost_nothing(
    budget: Budget, given: dict[str, Any], word: str
) -> None:
    with pytest.raises(InputError, match=word):
        budget.ask(**({"answer": 5} | QUESTION | given))
    assert not any(budget.state.spent.values())


def test_a_budget_without_delta_chooses_no_noise(file: Path) -> None:
    with Ledger.create(file) as ledger:
        budget = Budget.create(ledger, "visits", epsilon=1, delta=0)
        with pytest.raises(InputError, match="above zero"):
            ask(budget)
