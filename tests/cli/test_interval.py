"""`pbdp interval`: what a published number says, against the law of every candidate."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pbdp.planning.plan import Plan
from tests.cli.commands import PBDP, Done, assert_refused, run, run_piped
from tests.cli.plans import save_plans

Capture = pytest.CaptureFixture[str]
Plans = dict[str, Path]
KINDS = ["whole", "real", "percentage", "log", "range", "bounds", "order"]


@pytest.fixture(scope="module")
def plans(tmp_path_factory: pytest.TempPathFactory) -> Plans:
    return save_plans(tmp_path_factory.mktemp("plans"))


def interval(capsys: Capture, plan: Path, *options: str) -> Done:
    return run(capsys, "interval", str(plan), *options)


def published_by(plan: Plan, answer: float) -> float:
    """A number that the plan publishes for an answer now and then."""
    law = plan.law_at(answer)
    return float(law.output[law.probability.argmax()])


@pytest.mark.parametrize("kind", KINDS)
def test_likelihoods_are_the_probabilities_of_the_laws(kind: str, plans: Plans, capsys: Capture) -> None:
    plan = Plan.load(plans[kind])
    published = published_by(plan, 7)
    done = interval(capsys, plans[kind], repr(published), "--answers", "4", "9", "--json")
    assert (done.code, done.err) == (0, "")
    record = json.loads(done.out)
    assert record["published"] == published
    assert (record["answers"][0], record["answers"][-1]) == (4, 9)
    if kind not in ("real", "log"):
        assert record["answers"] == [4, 5, 6, 7, 8, 9]
    # of hundreds of answers of a fine grid, some
    for place in range(0, len(record["answers"]), max(1, len(record["answers"]) // 7)):
        law = plan.law_at(record["answers"][place])
        expected = float(law.probability[law.output == published].sum())
        # a Rényi plan's law is the ideal one, of which the table is a rounding
        assert record["likelihood"][place] == pytest.approx(expected, rel=1e-9, abs=1e-13)


@pytest.mark.parametrize("kind", KINDS)
def test_intervals_are_those_of_python_and_said_in_words(kind: str, plans: Plans, capsys: Capture) -> None:
    plan = Plan.load(plans[kind])
    published = published_by(plan, 7)
    record = json.loads(interval(capsys, plans[kind], repr(published), "--confidence", "0.99", "--json").out)
    own, asked = record["intervals"]
    assert (own["low"], own["high"]) == plan.interval(published)
    assert (asked["low"], asked["high"], asked["confidence"]) == (*plan.interval(published, 0.99), 0.99)
    assert own["from"] == ("noise" if kind == "range" else "requirement")
    assert asked["from"] == "noise"
    words = interval(capsys, plans[kind], repr(published), "--confidence", "0.99")
    assert (words.code, words.err) == (0, "")
    first, second = words.out.splitlines()[:2]
    assert "the true answer is between" in first
    assert "with confidence 99 %" in second
    # what is said is never narrower than what holds
    low, high = (float(part) for part in second.partition("between ")[2].partition(" with")[0].split(" and "))
    assert low <= asked["low"] <= asked["high"] <= high
    assert high - low <= (asked["high"] - asked["low"]) * 1.01
    bars = [line for line in words.out.splitlines() if "#" in line]
    assert 3 <= len(bars) <= 40
    assert "not the probability of that answer" in words.out


@pytest.mark.parametrize("kind", KINDS)
def test_the_listing_holds_every_likely_answer(kind: str, plans: Plans, capsys: Capture) -> None:
    plan = Plan.load(plans[kind])
    record = json.loads(interval(capsys, plans[kind], repr(published_by(plan, 7)), "--json").out)
    answers, likelihood = record["answers"], record["likelihood"]
    assert answers == sorted(answers)
    assert max(likelihood) == pytest.approx(max(plan.likelihood(record["published"], answers)))
    # the ends are unlikely, or no answers lie beyond
    for end, outward in ((0, -1), (-1, 1)):
        beyond = answers[end] + outward
        if likelihood[end] > 0.02 * max(likelihood):
            lowest, highest = (plan.requirement.bounds or plan.requirement.region).answers
            assert beyond < lowest or beyond > highest


def test_negative_numbers_are_read(plans: Plans, capsys: Capture) -> None:
    record = json.loads(interval(capsys, plans["whole"], "-5", "--answers", "-7", "-3", "--json").out)
    assert record["answers"] == [-7, -6, -5, -4, -3]
    assert record["likelihood"] == pytest.approx(record["likelihood"][::-1], rel=1e-9)


def test_a_number_at_the_end_of_a_range_stands_for_all_beyond(plans: Plans, capsys: Capture) -> None:
    record = json.loads(interval(capsys, plans["range"], "10", "--answers", "10", "10", "--json").out)
    assert record["likelihood"][0] > 0.5
    assert record["intervals"][0]["high"] == 10


def test_answers_outside_the_bounds_are_not_listed(plans: Plans, capsys: Capture) -> None:
    for end in ("0", "20"):
        answers = json.loads(interval(capsys, plans["bounds"], end, "--json").out)["answers"]
        assert int(end) in answers
        assert min(answers) >= 0
        assert max(answers) <= 20


def test_the_plot_is_written(plans: Plans, tmp_path: Path, capsys: Capture) -> None:
    file = tmp_path / "likelihood.svg"
    assert interval(capsys, plans["whole"], "12", "--confidence", "0.97", "--plot", str(file)).code == 0
    assert "confidence 97 %" in file.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("options", "word"),
    [
        (["12.5"], "one that the plan can publish"),
        (["abc"], "published number must be"),
        (["nan"], "published number must be"),
        (["inf"], "published number must be"),
        (["1e400"], "published number must be"),
        (["1e99999999"], "published number must be"),
        (["", "--json"], "published number must be"),
        ([], "PUBLISHED"),
        (["12", "--confidence", "99"], "0.99 for 99 %"),
        (["12", "--confidence", "nan"], "--confidence must be"),
        (["12", "--confidence", "x"], "--confidence"),
        (["12", "--answers", "3", "1"], "--answers must be"),
        (["12", "--answers", "nan", "1"], "--answers must be"),
        (["12", "--answers", "1", "inf"], "--answers must be"),
        (["12", "--answers", "a", "b"], "--answers must be"),
        (["12", "--answers", "1"], "--answers"),
        (["12", "--answers", "0.5", "7"], "a whole number"),
        (["12", "--answers", "0", "1e300"], "answer must be"),
        (["12", "--plot", "x.bmp"], ".png"),
        (["12", "--plot", "/nowhere/x.png"], "can be written"),
        (["12", "--neighbors", "replace"], "replace neighbors"),
    ],
)
def test_bad_requests_are_refused(options: list[str], word: str, plans: Plans, capsys: Capture) -> None:
    assert_refused(interval(capsys, plans["whole"], *options), word)


def test_a_number_that_was_shortened_is_refused(plans: Plans, capsys: Capture) -> None:
    assert_refused(interval(capsys, plans["real"], "3.1"), "multiples of 0.25", "all its digits")


def test_what_was_released_can_be_inverted(plans: Plans, capsys: Capture) -> None:
    for kind in ("real", "log"):
        published = run(capsys, "release", str(plans[kind]), "123.456").out.strip()
        done = interval(capsys, plans[kind], published)
        assert (done.code, done.err) == (0, "")
        assert done.out.startswith(f"{published}: the true answer is between")


def test_a_closed_pipe_is_no_error(plans: Plans) -> None:
    done = run_piped(f"'{PBDP}' interval '{plans['real']}' 3 --json | head -c 1")
    assert (done.code, done.err) == (0, "")
