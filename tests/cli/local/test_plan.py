"""`pbdp local plan`: what is chosen, at which cost, and what is refused."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path

import pytest

from pbdp.local import LeastError, Within, in_blocks, load_configuration, plan_local
from pbdp.local.boosted_response import BoostedResponse
from tests.cli.commands import assert_refused, run
from tests.cli.local.survey import AGES

Capture = pytest.CaptureFixture[str]


def test_says_what_the_library_found(capsys: Capture) -> None:
    done = run(capsys, "local", "plan", *AGES, "--epsilon", "5", "--goal", "0.5", "--json")
    expected = plan_local(in_blocks(range(10, 101), 10), LeastError(category=0.5), epsilon=5.0)
    record = json.loads(done.out)
    assert {name: record[name] for name in expected.record()} == expected.record()
    assert record["fingerprint"] == expected.mechanism.fingerprint


def test_words_name_the_mechanism_its_cost_and_its_rivals(capsys: Capture) -> None:
    done = run(capsys, "local", "plan", *AGES, "--epsilon", "5", "--goal", "0.5", "--users", "45222")
    made = plan_local(in_blocks(range(10, 101), 10), LeastError(category=0.5), epsilon=5.0)
    assert made.chosen.category_error is not None
    assert "91 whole numbers, 10 to 100; 10 categories of 1 to 10 values" in done.out
    assert "epsilon 5 per report" in done.out
    shown = next(line for line in done.out.splitlines() if line.startswith("*")).split()
    assert float(shown[-4]) == pytest.approx(100 * made.chosen.category_error / 45222**0.5, rel=1e-3)
    for other in made.others:
        assert other.name in done.out


def test_finds_the_least_epsilon_for_an_accuracy(capsys: Capture) -> None:
    asked = ["--within", "1%", "--confidence", "0.9", "--users", "45222", "--joint"]
    record = json.loads(run(capsys, "local", "plan", *AGES, *asked, "--json").out)
    goal = Within(users=45222, category=0.01, confidence=0.9, joint=True)
    assert record["epsilon"] == plan_local(in_blocks(range(10, 101), 10), goal).epsilon
    assert record["meets"] is True
    single = [*asked[:-1], "--of", "value"]
    of_values = json.loads(run(capsys, "local", "plan", *AGES, *single, "--json").out)
    goal = Within(users=45222, value=0.01, confidence=0.9)
    assert of_values["epsilon"] == plan_local(in_blocks(range(10, 101), 10), goal).epsilon
    proved = json.loads(run(capsys, "local", "plan", *AGES, *asked, "--guaranteed", "--json").out)
    assert proved["epsilon"] > record["epsilon"]


def test_takes_a_given_epsilon0_and_shows_the_best_beside_it(capsys: Capture, tmp_path: Path) -> None:
    out = str(tmp_path / "survey.json")
    done = run(capsys, "local", "plan", *AGES, "--epsilon", "5", "--epsilon0", "2", "-o", out, "--json")
    record = json.loads(done.out)
    assert record["chosen"]["epsilon0"] == 2
    best = next(entry for entry in record["others"] if entry["mechanism"] == "boosted response")
    assert best["cost"] < record["chosen"]["cost"]
    made = load_configuration(out)
    assert isinstance(made, BoostedResponse)
    assert made.epsilon0 == 2


def test_takes_another_mechanism_of_those_compared(capsys: Capture, tmp_path: Path) -> None:
    out = str(tmp_path / "survey.json")
    words = ["local", "plan", *AGES, "--epsilon", "2", "-o", out, "--use"]
    assert_refused(run(capsys, *words, "magic"), "use must be one of", "local hashing")
    assert run(capsys, *words, "local hashing").code == 0
    assert load_configuration(out).kind == "local hashing"


def test_categories_come_from_a_table(capsys: Capture, tmp_path: Path) -> None:
    (tmp_path / "map.csv").write_text('value,category\ntea,hot\ncola,cold\ncocoa,hot\n"a, b",cold\n')
    words = ["local", "plan", "--categories", str(tmp_path / "map.csv"), "--epsilon", "2"]
    assert run(capsys, *words, "-o", str(tmp_path / "made.json")).code == 0
    made = load_configuration(tmp_path / "made.json").domain
    assert (made.values, made.groups) == (("tea", "cocoa", "cola", "a, b"), ("hot", "cold"))
    assert_refused(run(capsys, *words, "--values", "tea,cola,milk"), "1 missing and 2 others")


def test_values_come_from_a_file_and_keep_their_leading_zeros(capsys: Capture, tmp_path: Path) -> None:
    (tmp_path / "codes.txt").write_text("01\n02\n10\n\n")
    words = ["local", "plan", "--values-file", str(tmp_path / "codes.txt"), "--epsilon", "2"]
    done = run(capsys, *words, "-o", str(tmp_path / "made.json"))
    assert load_configuration(tmp_path / "made.json").domain.values == ("01", "02", "10")
    assert "no categories" in done.out
    assert "boosted" not in done.out


@pytest.mark.parametrize(("extra", "expected"), [([], (1, 2, 3)), (["--text"], ("1", "2", "3"))])
def test_values_are_numbers_or_text(
    capsys: Capture, tmp_path: Path, extra: list[str], expected: tuple[object, ...]
) -> None:
    out = str(tmp_path / "made.json")
    run(capsys, "local", "plan", "--values", "1, 2,3", *extra, "--epsilon", "2", "-o", out)
    assert load_configuration(out).domain.values == expected


def test_scales_go_round(capsys: Capture, tmp_path: Path) -> None:
    out = str(tmp_path / "made.json")
    words = ["--values", "-5..5", "--scale-width", "3", "--ring", "--epsilon", "2", "-o", out]
    assert "the 3 nearest belong together on a ring" in run(capsys, "local", "plan", *words).out
    assert load_configuration(out).domain.start[0] == 10


def test_a_report_within_a_distance(capsys: Capture, tmp_path: Path) -> None:
    """The paper's own requirement: least epsilon, at the limit, with the confidence printed."""
    out = str(tmp_path / "survey.json")
    words = ["local", "plan", "--values", "1..12", "--report-within", "3"]
    done = run(capsys, *words, "--confidence", "0.7", "-o", out)
    assert "every report within 3 of the true answer, with confidence 70 %" in done.out
    assert "is within 3 of the true answer with confidence 70 %" in done.out
    assert "Limit        epsilon 0.8472: no randomizer can do better" in done.out
    assert load_configuration(out).kind == "response on centers"
    record = json.loads(run(capsys, *words, "--epsilon", "0.9", "--json").out)
    assert record["report_confidence"] == pytest.approx(1 / (1 + math.exp(-0.9)), abs=1e-6)
    assert record["limit"]["figure"] == "misses"
    ring = ["local", "plan", "--values", "0..11", "--scale-width", "3", "--ring", "--report-within", "1"]
    record = json.loads(run(capsys, *ring, "--confidence", "0.8", "--json").out)
    assert record["epsilon"] == pytest.approx(math.log(0.8 * 3 / 0.2), rel=1e-6)
    assert record["chosen"]["mechanism"] == "boosted response"
    assert "this plan reaches it" in " ".join(run(capsys, *ring, "--confidence", "0.8").out.split())
    for way in (["--confidence", "0.9"], ["--epsilon", "1"]):
        wide = run(capsys, "local", "plan", "--values", "1..12", "--report-within", "6", *way)
        assert_refused(wide, "Ask for a smaller distance")
    shuffled = run(capsys, *words, "--central-epsilon", "0.1", "--users", "1000")
    assert "no randomizer can do better with this epsilon before shuffling" in " ".join(shuffled.out.split())
    assert_refused(run(capsys, *words), "got none")
    assert_refused(run(capsys, *words, "--epsilon", "1", "--confidence", "0.9"), "got 2 of them")
    assert_refused(run(capsys, *words, "--within", "1%"), "without within")


@pytest.mark.parametrize("extra", [[], ["--goal", "value"], ["--goal", "mean"], ["--goal", "distribution"]])
def test_every_plan_prints_the_confidence_of_a_report(capsys: Capture, extra: list[str]) -> None:
    done = run(capsys, "local", "plan", *AGES, "--epsilon", "1", *extra)
    assert "One report   is " in done.out
    assert "at this epsilon" in " ".join(done.out.split())
    assert "Poisoning" in done.out
    if "value" in extra:
        assert "people in a value" in done.out


def test_a_scale_whose_neighborhoods_cannot_all_be_estimated_is_refused(capsys: Capture) -> None:
    words = ["local", "plan", "--values", "1..12", "--scale-width", "3", "--epsilon", "1", "--epsilon0", "0"]
    assert_refused(run(capsys, *words), "Use a larger epsilon0")
    done = run(capsys, *words, "--ring")
    assert "of at most 2.459 % for categories" in done.out
    # the best epsilon0 is this one: it is not compared with itself
    assert len(re.findall("^.  boosted response ", done.out, re.MULTILINE)) == 1


def test_what_is_expected_is_read_from_a_file(capsys: Capture, tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("value,people\n20,300\n35,420\n50,280\n")
    words = ["local", "plan", *AGES, "--within", "1%", "--users", "20000", "--json"]
    worst = json.loads(run(capsys, *words).out)
    usual = json.loads(run(capsys, *words, "--expected", str(tmp_path / "people.csv")).out)
    assert usual["epsilon"] < worst["epsilon"]
    for text, named in (("20,x\n", "people"), ("7,3\n", "row 1 of --expected"), ("20\n", "value,people")):
        (tmp_path / "people.csv").write_text(text)
        assert_refused(run(capsys, *words, "--expected", str(tmp_path / "people.csv")), named)


def test_shuffled_reports_cost_less(capsys: Capture) -> None:
    words = ["local", "plan", "--values", "a,b", "--epsilon", "1", "--users", "45222", "--shuffled"]
    assert (
        "epsilon 0.01913 at delta 1e-06 once the reports of 45,222 people are shuffled"
        in run(capsys, *words).out
    )
    record = json.loads(run(capsys, *words, "--delta", "1e-9", "--json").out)
    assert 0.0191 < record["shuffled"]["epsilon"] < 0.04
    central = ["local", "plan", "--values", "a,b", "--central-epsilon", "0.05", "--users", "45222", "--json"]
    record = json.loads(run(capsys, *central).out)
    assert record["epsilon"] > 1
    assert record["shuffled"]["epsilon"] <= 0.05


def test_distributions_say_what_they_assume(capsys: Capture) -> None:
    done = run(capsys, "local", "plan", *AGES, "--epsilon", "1", "--goal", "quantile", "--users", "9000")
    assert "Mechanism    square wave" in done.out
    assert "BIASED where there are peaks" in " ".join(done.out.split())
    done = run(capsys, "local", "plan", *AGES, "--epsilon", "1", "--goal", "value")
    assert "All of these estimates are unbiased; errors are worst-case over all answers." in done.out


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["--values", "1..9", "--report-within", "2"], "--confidence, --epsilon or"),
        (["--values", "1..9", "--report-within", "2", "--epsilon", "1", "--confidence", "0.9"], "2 of them"),
        (["--values", "1..9", "--report-within", "x", "--epsilon", "1"], "--report-within"),
        (["--values", "1..9", "--report-within", "2", "--within", "1%", "--users", "9"], "--report-within"),
        (["--values", "1..9", "--report-within", "2", "--epsilon", "1", "--goal", "value"], "--goal"),
        (["--values", "1..9", "--report-within", "1", "--confidence", "0.2"], "above 0.3333"),
        (["--values", "1..9", "--report-within", "category", "--epsilon", "1"], "no categories"),
        (["--values", "a,b", "--epsilon", "1", "--goal", "mean"], "mean"),
        (["--values", "3,1,2", "--epsilon", "1", "--goal", "quantile"], "rising order"),
        (["--values", "1..9", "--epsilon", "1", "--shuffled"], "--users"),
        (["--values", "1..9", "--epsilon", "1", "--delta", "1e-6"], "--delta"),
        (["--values", "1..9", "--epsilon", "1", "--central-epsilon", "1", "--users", "9"], "one of the two"),
        (["--values", "1..9", "--within", "x", "--of", "mean", "--users", "9"], "--within"),
        (["--epsilon", "1"], "values"),
        (["--values", "1..9"], "--epsilon or --within"),
        (["--values", "1..9", "--epsilon", "1", "--within", "1%", "--users", "9"], "both"),
        (["--values", "1..9", "--within", "1%"], "--users"),
        (["--values", "1..9", "--within", "2", "--users", "99"], "--within"),
        (["--values", "1..9", "--within", "x%", "--users", "99"], "--within"),
        (["--values", "1..9", "--within", "1%", "--users", "0"], "--users"),
        (["--values", "1..9", "--within", "1%", "--users", "9", "--confidence", "95"], "--confidence"),
        (["--values", "1..9", "--within", "0.001%", "--users", "9"], "No epsilon"),
        (["--values", "1..9", "--epsilon", "1", "--joint"], "--joint"),
        (["--values", "1..9", "--within", "1%", "--users", "9", "--goal", "value"], "--goal"),
        (["--values", "1..9", "--epsilon", "1", "--goal", "category"], "category"),
        (["--values", "1..9", "--epsilon", "1", "--goal", "0.5"], "--goal"),
        (["--values", "1..9", "--category-size", "3", "--epsilon", "1", "--goal", "2"], "--goal"),
        (["--values", "1..9", "--category-size", "3", "--epsilon", "1", "--epsilon0", "2"], "epsilon0"),
        (["--values", "1..9", "--category-size", "0", "--epsilon", "1"], "category size"),
        (["--values", "1..9", "--category-size", "3", "--scale-width", "3", "--epsilon", "1"], "one way"),
        (["--values", "1..9", "--scale-width", "4", "--epsilon", "1"], "width"),
        (["--values", "1..9", "--ring", "--epsilon", "1"], "--ring"),
        (["--values", "9..1", "--epsilon", "1"], "--values"),
        (["--values", "1..999999999999", "--epsilon", "1"], "--values"),
        (["--values", "01..12", "--epsilon", "1"], "leading zeros"),
        (["--values", "a,,b", "--epsilon", "1"], "empty"),
        (["--values", "a,b,a", "--epsilon", "1"], "twice"),
        (["--values", "a\udcff,b", "--epsilon", "1"], "printable"),
        (["--values", "1..9", "--epsilon", "-1"], "epsilon"),
        (["--values", "1..9", "--epsilon", "nan"], "epsilon"),
        (["--values-file", "/nowhere", "--epsilon", "1"], "--values-file"),
        (["--categories", "/nowhere", "--epsilon", "1"], "--categories"),
        (["--values", "1..9", "--epsilon", "1", "--plot", "x.gif"], "plot"),
    ],
)
def test_refuses_what_it_cannot_use(capsys: Capture, tmp_path: Path, words: list[str], named: str) -> None:
    out = tmp_path / "made.json"
    assert_refused(run(capsys, "local", "plan", *words, "-o", str(out)), named)
    assert not list(tmp_path.iterdir())


def test_replaces_a_file_only_if_told(capsys: Capture, tmp_path: Path) -> None:
    words = ["local", "plan", "--values", "1..9", "--epsilon", "1", "-o", str(tmp_path / "made.json")]
    assert run(capsys, *words).code == 0
    assert_refused(run(capsys, *words), "--force")
    assert run(capsys, *words, "--force").code == 0


def test_an_accuracy_is_planned_for_what_it_costs_after_shuffling(capsys: Capture) -> None:
    words = ["local", "plan", "--values", "1..5", "--within", "0.5", "--of", "mean", "--users", "1000"]
    before = json.loads(run(capsys, *words, "--json").out)
    after = json.loads(run(capsys, *words, "--shuffled", "--json").out)
    assert before["shuffled"] is None
    assert before["chosen"]["mechanism"] == "mean response"
    assert after["chosen"]["mechanism"] == "square wave"
    assert after["shuffled"]["epsilon"] == after["chosen"]["central_epsilon"]
    rivals = {other["mechanism"]: other["central_epsilon"] for other in after["others"]}
    assert after["shuffled"]["epsilon"] < rivals["mean response"]
    told = run(capsys, *words, "--shuffled").out
    assert re.search(r"mechanism +epsilon +shuffled", told)
