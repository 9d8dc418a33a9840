"""`pbdp ask`, as people run it."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path

import pytest

from tests.cli.commands import Done, assert_refused, run, run_command

ASK = ["--within", "50", "--confidence", "0.95", "--sensitivity", "1", "--integer", "--dataset", "visits"]
Capture = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> Path:
    """A folder with a ledger."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PBDP_STATE", str(tmp_path / "state"))
    monkeypatch.delenv("PBDP_LEDGER", raising=False)
    assert run(capsys, "ledger", "create", "visits", "--epsilon", "3", "--delta", "1e-6").code == 0
    return tmp_path


def spent(capsys: Capture) -> float:
    share = json.loads(run(capsys, "ledger", "status", "--json").out)["datasets"][0]["share_spent"]
    assert isinstance(share, float)
    return share


def asked(capsys: Capture, *more: str) -> Done:
    return run(capsys, "ask", "1234", *ASK, *more)


def test_a_number_is_published_with_its_interval_and_its_cost() -> None:
    first = run_command("ask", "1234", *ASK, "--key", "march")
    assert first.code == 0
    assert re.fullmatch(r"-?\d+\n", first.out)
    told = first.err.replace("\n", " ")
    low, high = map(
        int, re.findall(r"The true answer is between (-?\d+) and (-?\d+), with confidence", told)[0]
    )
    assert high - low == 100
    assert low + 50 == int(first.out)
    assert re.search(r"It cost \S+ % of the budget; \S+ % is spent now\. Request key: march", told)
    again = run_command("ask", "1234", *ASK, "--key", "march")
    assert again.out == first.out
    assert "It was paid for before" in again.err


def test_json_holds_everything(capsys: Capture) -> None:
    record = json.loads(asked(capsys, "--json", "--query", "visits in March").out)
    assert record["high"] - record["low"] == 100
    assert record["share"] == record["spent"] == spent(capsys)
    assert record["confidence"] >= 0.95
    assert (record["repeated"], record["within"]) == (False, 50)
    asked(capsys)
    *_, in_own_words, without = run(capsys, "ledger", "history").out.splitlines()
    assert "visits in March; within 50" in in_own_words
    assert "within 50, confidence 0.95" in without


def test_a_price_spends_nothing_and_is_the_one_that_is_paid(capsys: Capture) -> None:
    told = run(capsys, "ask", "--price", *ASK)
    assert told.code == 0
    assert "more like it would fit" in told.out
    price = json.loads(run(capsys, "ask", "--price", *ASK, "--json").out)
    assert spent(capsys) == 0
    assert json.loads(asked(capsys, "--json").out)["share"] == price["share"]


def test_a_share_of_what_is_left(capsys: Capture) -> None:
    asking = ["--confidence", "0.95", "--sensitivity", "1", "--integer", "--dataset", "visits", "--json"]
    record = json.loads(run(capsys, "ask", "1234", "--share", "0.1", *asking).out)
    assert 0 < record["share"] <= 0.1
    assert record["within"] == (record["high"] - record["low"]) / 2


def test_the_number_can_come_from_standard_input(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("1234\n"))
    done = run(capsys, "ask", "-", *ASK)
    assert done.code == 0
    assert abs(int(done.out) - 1234) < 1000


def test_blocks_pay_apart(capsys: Capture) -> None:
    made = ["ledger", "create", "shop", "--epsilon", "3", "--delta", "1e-6", "--blocks", "north,south"]
    assert run(capsys, *made).code == 0
    asking = [*ASK[:-1], "shop", "--json"]
    one = json.loads(run(capsys, "ask", "5", *asking, "--blocks", "north").out)
    two = json.loads(run(capsys, "ask", "5", *asking, "--blocks", "south").out)
    assert one["share"] == two["share"] > 0
    assert_refused(run(capsys, "ask", "5", *asking, "--blocks", "west"), "among north, south")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["1234", "--within", "50", "--sensitivity", "1", "--dataset", "visits"], ["two at a time"]),
        (
            ["1234", "--share", "0", "--confidence", "0.9", "--sensitivity", "1", "--dataset", "visits"],
            ["share"],
        ),
        (["1234", "--price", *ASK], ["--price"]),
        ([*ASK], ["NUMBER"]),
        (["12x4", *ASK], ["NUMBER"]),
        (["1234", *ASK[:-1], "nobody"], ["known: visits"]),
        (["1234", *ASK, "--ledger", "nowhere.db"], ["nowhere.db"]),
        (["1234", *ASK, "--key", ""], ["key"]),
        (["1234", *ASK, "--blocks", "north"], ["declared when the budget is made"]),
    ],
)
def test_mistakes_are_refused_and_cost_nothing(
    capsys: Capture, arguments: list[str], words: list[str]
) -> None:
    assert_refused(run(capsys, "ask", *arguments), *words)
    assert spent(capsys) == 0


def test_what_does_not_fit_has_exit_code_three_and_says_what_would(capsys: Capture) -> None:
    narrow = ["--within", "2", "--confidence", "0.99999", *ASK[4:]]
    done = run(capsys, "ask", "1234", *narrow)
    assert (done.code, done.out) == (3, "")
    width = re.findall(r"One within (\S+) of the truth would fit", done.err.replace("\n", " "))
    assert width
    wider = ["--within", width[0], *narrow[2:]]
    assert run(capsys, "ask", "1234", *wider).code == 0


def test_what_was_typed_is_never_repeated_and_any_number_is_taken(capsys: Capture) -> None:
    done = run(capsys, "ask", "12x4", *ASK)
    assert_refused(done, "NUMBER must be a number")
    assert "12x4" not in done.err
    for typed in ("nan", "1e400", "1/3", "0.5"):
        told = json.loads(run(capsys, "ask", typed, *ASK, "--json").out)
        assert all(type(told[name]) is int for name in ("released", "low", "high"))
    real = [part for part in ASK if part != "--integer"]
    told = json.loads(run(capsys, "ask", "1/3", *real, "--json").out)
    assert isinstance(told["released"], float)


LOOK = [
    *("--within", "5%", "--floor", "50", "--confidence", "0.95", "--sensitivity", "1", "--integer"),
    *("--dataset", "visits", "--expect", "300..5000"),
]


def test_a_percentage_with_a_floor_is_looked_for(capsys: Capture) -> None:
    told = run(capsys, "ask", "--price", *LOOK)
    assert told.code == 0
    assert re.match(r"At most \S+ % of the budget; about \S+ % if the answer is above 10,000\.\n", told.out)
    assert "Fixed in advance, within 50" in told.out
    price = json.loads(run(capsys, "ask", "--price", *LOOK, "--json").out)
    assert price["fits"]
    assert price["about"][-1]["share"] < 0.1 * price["most"]
    assert spent(capsys) == 0
    done = run(capsys, "ask", "4321", *LOOK, "--key", "march")
    assert done.code == 0
    assert re.fullmatch(r"-?\d+\n", done.out)
    words = done.err.replace("\n", " ")
    assert re.search(r"\d looks, within [\d, ]+: \S+ % in all", words)
    assert re.search(r"It cost \S+ % of the budget \(it could have been", words)
    record = json.loads(run(capsys, "ask", "4321", *LOOK, "--key", "march", "--json").out)
    assert record["released"] == int(done.out)
    assert (record["complete"], record["repeated"], record["share"]) == (True, True, 0)
    assert record["released"] == record["looks"][-1]["value"]
    assert record["low"] == record["released"] - record["looks"][-1]["within"]
    assert record["cost"] == pytest.approx(spent(capsys))


def test_where_little_is_gained_the_price_says_so(capsys: Capture) -> None:
    told = run(capsys, "ask", "--price", *LOOK[:-1], "100..900")
    assert "One look" in told.out
    assert "--within 50" in told.out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--within", "5%"], ["floor", "--floor 50"]),
        (["--within", "5", "--floor", "50"], ["percentage"]),
        (["--within", "5%", "--floor", "0"], ["floor"]),
        (["--within", "5%", "--floor", "x"], ["--floor"]),
        (["--within", "5%", "--floor", "50", "--expect", "100"], ["--expect", "two numbers such as 0..100"]),
        (["--within", "5%", "--floor", "50", "--expect", "a..b"], ["--expect"]),
        (["--within", "5%", "--floor", "50", "--expect", "10..1"], ["expect"]),
        (["--within", "50", "--expect", "1..10"], ["expect"]),
        (["--within", "5%", "--floor", "50", "--share", "0.1"], ["confidence"]),
    ],
    ids=str,
)
def test_mistakes_about_floors_are_refused(capsys: Capture, arguments: list[str], words: list[str]) -> None:
    rest = ["--confidence", "0.95", "--sensitivity", "1", "--integer", "--dataset", "visits"]
    assert_refused(run(capsys, "ask", "12", *arguments, *rest), *words)
    assert spent(capsys) == 0


def test_all_looks_have_to_fit(capsys: Capture) -> None:
    assert run(capsys, "ledger", "create", "tiny", "--epsilon", "0.1", "--delta", "1e-6").code == 0
    tight = [*LOOK[: LOOK.index("visits")], "tiny", *LOOK[-2:]]
    done = run(capsys, "ask", "4321", *tight)
    assert done.code == 3
    assert "all looks together could cost more than is left" in done.err.replace("\n", " ")
    assert "--within 50" in done.err


def test_asking_again_for_less_width_costs_the_difference(capsys: Capture) -> None:
    again = ["--key", "march"]
    assert asked(capsys, *again).code == 0
    narrower = [*ASK[2:], *again, "--within", "20"]
    price = json.loads(run(capsys, "ask", "--price", *narrower, "--json").out)
    done = run(capsys, "ask", "1234", *narrower)
    assert done.code == 0
    assert "because of what an earlier answer showed" in done.err.replace("\n", " ")
    assert spent(capsys) == pytest.approx(price["spent_after"])
    record = json.loads(run(capsys, "ask", "1234", *narrower, "--json").out)
    assert record["released"] == int(done.out)
    assert record["high"] - record["low"] <= 40
    assert record["joint"][0] < record["joint"][1]
    assert (record["repeated"], record["share"], record["averaged"]) == (True, 0, 2)
    assert "nothing is to be paid" in run(capsys, "ask", "--price", *narrower).out
    nothing = json.loads(run(capsys, "ask", "--price", *narrower, "--json").out)
    assert (nothing["share"], nothing["spent_after"]) == (0, nothing["spent_before"])
    assert_refused(run(capsys, "ask", "1234", *narrower, "--manifest", "m.json"), "--manifest")
