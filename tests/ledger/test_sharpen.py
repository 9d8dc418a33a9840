"""`Budget.sharpen`: the difference is paid, in any order, again and again, by whichever process."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pbdp.errors import InputError
from pbdp.ledger import Ledger
from pbdp.ledger.budget import Budget
from pbdp.ledger.errors import BudgetExceededError
from pbdp.ledger.sharpen import Sharpened
from pbdp.looks.procedure import sigma_for


@pytest.fixture
def budget(file: Path) -> Iterator[Budget]:
    with Ledger.create(file) as ledger:
        yield Budget.create(ledger, "visits", epsilon=8, delta=1e-6)


def ask(budget: Budget, within: Any = 50, *, key: str = "march", **more: Any) -> Any:
    given: dict[str, Any] = {
        "confidence": 0.95,
        "sensitivity": 1,
        "integer": True,
        "sharpenable": True,
    } | more
    return budget.ask(answer=1234, within=within, key=key, **given)


def sharpen(budget: Budget, within: float, *, key: str = "march", **more: Any) -> Sharpened:
    found = budget.sharpen(key, within=within, answer=1234, **more)
    assert isinstance(found, Sharpened)
    return found


def test_sharpening_costs_the_difference(url: str) -> None:
    with Ledger.create(url) as ledger:
        budget = Budget.create(ledger, "visits", epsilon=8, delta=1e-6)
        direct = Budget.create(ledger, "direct", epsilon=8, delta=1e-6)
        at_once = ask(direct, 8, key="direct")
        first = ask(budget, 50)
        price = budget.sharpening("march", within=20)
        assert "only the difference" in price.describe()
        spent = budget.spent
        second = sharpen(budget, 20)
        assert price.price is not None
        assert price.price.share == pytest.approx(second.share)
        assert budget.spent == pytest.approx(spent + second.share)
        for within in (15, 10):
            narrower = sharpen(budget, within)
            assert narrower.high - narrower.value <= within
            assert narrower.value - narrower.low <= within
        last = sharpen(budget, 8)
        looks = list(last.looks)
        assert (len(looks), looks[0]) == (5, (first.value, 50))
        assert budget.spent <= 1.02 * float(at_once.share)
        assert abs(last.value - 1234) < 50
        assert not last.full_price
        # in any order: a width that is met already costs nothing
        again = sharpen(budget, 30)
        assert (again.value, again.low, again.high, again.share, again.repeated) == (
            last.value,
            last.low,
            last.high,
            0.0,
            True,
        )
        with pytest.raises(InputError, match="an answer about direct"):
            sharpen(direct, 5)
        assert "nothing is to be paid" in budget.sharpening("march", within=8).describe()
        assert ledger.verify().sound


def test_another_process_sharpens_on(url: str) -> None:
    program = (
        "import sys\n"
        "from pbdp.ledger import Ledger\n"
        "from pbdp.ledger.budget import Budget\n"
        "with Ledger.open(sys.argv[1]) as ledger:\n"
        "    found = Budget.of(ledger, 'visits').sharpen('march', within=20, answer=1234)\n"
        "    print(found.value, found.low, found.high)\n"
    )
    with Ledger.create(url) as ledger:
        budget = Budget.create(ledger, "visits", epsilon=8, delta=1e-6)
        ask(budget)
        done = subprocess.run(
            [sys.executable, "-c", program, url], capture_output=True, text=True, check=True
        )
        same = sharpen(budget, 20)
        assert same.repeated
        assert done.stdout.split() == [str(same.value), str(same.low), str(same.high)]
        assert len(sharpen(budget, 10).looks) == 3


def test_intervals_are_labeled(budget: Budget) -> None:
    ask(budget)
    found = sharpen(budget, 10)
    assert found.joint_low < found.low < found.value < found.high < found.joint_high
    words = found.describe()
    assert "holds by itself" in words
    assert f"{found.joint_low} to {found.joint_high}" in words


def test_other_noise_sharpens_at_the_full_price_and_says_so(budget: Budget) -> None:
    ask(budget, 50, sharpenable=False, confidence=0.9)
    full = budget.sharpening("march", within=20)
    assert full.full_price
    assert "full price" in full.describe()
    found = sharpen(budget, 20)
    assert found.full_price
    assert "full price" in found.describe()
    assert found.looks[0][1] == 20
    assert len(found.looks) == 1
    # from then on the difference
    assert not budget.sharpening("march", within=10).full_price
    assert len(sharpen(budget, 10).looks) == 2


def test_an_answer_that_was_looked_for_is_sharpened_from_its_last_look(budget: Budget) -> None:
    looked = budget.ask(
        answer=1234,
        within="5%",
        floor=50,
        confidence=0.95,
        sensitivity=1,
        integer=True,
        expect=(300, 5000),
        key="march",
    )
    found = sharpen(budget, 10)
    assert found.looks[0] == (looked.value, looked.looks[-1].within)
    assert not found.full_price
    kept = sigma_for(10, 0.95) ** -2 - budget.sharpening("march", within=10).sigmas[0] ** -2
    assert found.share < 1.1 * kept / sigma_for(10, 0.95) ** -2


def test_real_answers(budget: Budget) -> None:
    first = budget.ask(
        answer=12.5, within=5.0, confidence=0.9, sensitivity=0.5, sharpenable=True, key="weight"
    )
    found = budget.sharpen("weight", within=1.0, answer=12.5)
    assert isinstance(found.value, float)
    assert found.high - found.low <= 2.0
    assert found.looks[0][0] == first.value
    assert found.low < 12.5 + 3
    assert found.high > 12.5 - 3


@pytest.mark.parametrize("sharpenable", [True, False])
def test_wide_whole_numbers_are_sharpened_on_their_own_grid(budget: Budget, sharpenable: bool) -> None:
    """Noise on multiples of a whole number: single ones took minutes, and could not be combined."""
    given: dict[str, Any] = {"sensitivity": 10_000, "confidence": 0.9, "integer": True}
    first = budget.ask(answer=12_345_678, within=1e6, sharpenable=sharpenable, key="cents", **given)
    step = round(first.plan.grid.step)
    assert first.plan.grid.whole_outputs
    assert step > 1
    assert budget.sharpening("cents", within=2e5).full_price is not sharpenable
    found = budget.sharpen("cents", within=2e5, answer=12_345_678)
    assert [type(number) for number in (found.value, found.low, found.high)] == [int] * 3
    assert found.high - found.low <= 400_000
    assert len(found.looks) == 1 + sharpenable
    assert abs(found.value - 12_345_678) < 2_000_000
    assert not sharpenable or found.looks[0][0] == first.value
    assert budget.sharpen("cents", within=2e5, answer=12_345_678).repeated


def test_another_confidence(budget: Budget) -> None:
    ask(budget, 20)
    found = sharpen(budget, 20, confidence=0.99)
    assert found.confidence == 0.99
    assert len(found.looks) == 2
    assert sharpen(budget, 20).repeated


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
            sharpen(budget, 20)
    spent = budget.state.spent
    with pytest.raises(InputError, match="paid for 'march' and never drawn"):
        sharpen(budget, 10)
    found = sharpen(budget, 20)
    assert budget.state.spent == spent
    assert len(found.looks) == 2


def test_races_pay_once(url: str) -> None:
    with Ledger.create(url) as ledger:
        ask(Budget.create(ledger, "visits", epsilon=8, delta=1e-6))
    found: list[Sharpened] = []

    def run(within: float) -> None:
        with Ledger.open(url) as own:
            found.append(sharpen(Budget.of(own, "visits"), within))

    threads = [threading.Thread(target=run, args=(within,)) for within in (20, 20, 12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 3
    with Ledger.open(url) as ledger:
        assert ledger.verify().sound
        assert len(sharpen(Budget.of(ledger, "visits"), 12).looks) <= 3


def test_what_does_not_fit_is_refused(file: Path) -> None:
    with Ledger.create(file) as ledger:
        budget = Budget.create(ledger, "visits", epsilon=0.5, delta=1e-6)
        ask(budget)
        before = budget.state
        with pytest.raises(BudgetExceededError):
            sharpen(budget, 3)
        assert budget.state == before


def test_blocks_pay_as_the_answer_did(file: Path) -> None:
    with Ledger.create(file) as ledger:
        budget = Budget.create(ledger, "visits", epsilon=8, delta=1e-6, blocks=["north", "south"])
        ask(budget, blocks="north")
        for blocks in (None, "south"):
            with pytest.raises(InputError, match="those of the answer"):
                sharpen(budget, 20, blocks=blocks)
        sharpen(budget, 20, blocks="north")
        assert budget.terms.share(budget.state.spent, ("south",)) == 0


@pytest.mark.parametrize(
    ("given", "word"),
    [
        ({"within": 0}, "within"),
        ({"within": -5}, "within"),
        ({"within": "5%"}, "within"),
        ({"within": 5, "confidence": 1.5}, "confidence"),
        ({"within": 5, "key": "april"}, "the history of the ledger shows"),
        ({"within": 5, "key": "marhc"}, r"got 'marhc'. Did you mean march\?"),
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
    key = given.pop("key", "march")
    with pytest.raises(InputError, match=word):
        budget.sharpen(key, **({"answer": 1234} | given))
    assert budget.state == before


def test_a_percentage_plus_a_number_is_not_sharpenable(budget: Budget) -> None:
    with pytest.raises(InputError, match="one width on both sides"):
        ask(budget, "5%+50")
    with pytest.raises(InputError, match="one width on both sides"):
        ask(budget, (5, 10))


@pytest.mark.parametrize("given", [{"within": None}, {"confidence": None}, {}], ids=str)
def test_a_share_does_not_say_how_sharp(budget: Budget, given: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="a width and a confidence"):
        ask(budget, **({"share": 0.1} | given))
