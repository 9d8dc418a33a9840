"""`pbdp local questions` and `pbdp local client`: what is written, and what is refused."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path

import pytest

from pbdp.local import (
    LeastError,
    LeastMeanError,
    LeastShapeError,
    Question,
    in_blocks,
    load_configuration,
    plan_questions,
    without_categories,
)
from pbdp.local.questions import ALL, ONE
from tests.cli.commands import assert_refused, run

Capture = pytest.CaptureFixture[str]
POLL = """[age]
values = "10..100"
category-size = 10
goal = 0.5

[mood]
values = ["bad", "so, so", "good"]

[children]
values = "0..8"
goal = "mean"
"""


@pytest.fixture
def poll(tmp_path: Path) -> str:
    (tmp_path / "poll.toml").write_text(POLL)
    return str(tmp_path / "poll.toml")


@pytest.mark.parametrize(("epsilon", "way", "each"), [("1", ONE, 1.0), ("12", ALL, 4.0)])
def test_the_better_way_is_written(  # noqa: PLR0917 - three are the case
    capsys: Capture, poll: str, tmp_path: Path, epsilon: str, way: str, each: float
) -> None:
    folder = tmp_path / "surveys"
    words = ["local", "questions", poll, "--epsilon", epsilon, "--users", "20000", "-o", str(folder)]
    done = run(capsys, *words)
    assert done.code == 0
    assert ("one of the 3 questions" in done.out) == (way == ONE)
    index = json.loads((folder / "questions.json").read_text())
    assert (index["format"], index["way"]) == ("pbdp-local-questions", way)
    for entry, name in zip(index["questions"], ("age", "mood", "children"), strict=True):
        survey = load_configuration(folder / entry["file"])
        assert (entry["name"], entry["file"], entry["survey"]) == (name, f"{name}.json", survey.fingerprint)
        assert survey.epsilon == pytest.approx(each, rel=1e-6)
        assert survey.epsilon <= each
        if name == "mood":  # an answer may hold a comma
            assert survey.domain.values == ("bad", "so, so", "good")
    assert_refused(run(capsys, *words), "--force")
    record = json.loads(run(capsys, *words, "--force", "--json").out)
    assert record["way"] == way
    better = [entry["error"] / entry["other_way_error"] for entry in record["questions"]]
    assert better[0] * better[1] * better[2] < 1


def test_errors_are_those_of_the_plans_with_the_sample() -> None:
    ages = in_blocks(range(90), 10)
    questions = [
        Question(name="age", domain=ages, goal=LeastError(category=1)),
        Question(name="children", domain=without_categories(range(9)), goal=LeastMeanError()),
        Question(name="pay", domain=ages, goal=LeastShapeError(kind="distribution", users=1)),
    ]
    made = plan_questions(questions, epsilon=2.0, users=9_000)
    one, every = made.ways[ONE], made.ways[ALL]
    assert one[0].error ** 2 == pytest.approx(one[0].plan.chosen.cost / 3000 + 2 / 9000 * (1 - 1 / 9) / 9)
    assert one[1].error ** 2 == pytest.approx(one[1].plan.chosen.cost / 3000 + 2 / 9000 * 16)
    assert every[0].error ** 2 == pytest.approx(every[0].plan.chosen.cost / 9000)
    assert every[2].error == every[2].plan.chosen.cost
    assert [each.plan.epsilon for each in every] == pytest.approx([2 / 3] * 3, rel=1e-6)
    assert made.way == ONE


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("[a]\nvalues = '1..9'\n", "two or more"),
        ("x = 3\n", "a table"),
        ("[a]\nvalue = '1..9'\n[b]\nvalues = '1..9'\n", "Did you mean values?"),
        ("[a]\nvalues = '1..9'\ngoal = 'category'\n[b]\nvalues = '1..9'\n", "category"),
        ("[a]\nvalues = '1..9'\ngoal = 3\n[b]\nvalues = '1..9'\n", "goal must be"),
        ("[a]\n[b]\nvalues = '1..9'\n", "values"),
        ("['../a']\nvalues = '1..9'\n[b]\nvalues = '1..9'\n", "letters, digits"),
        ("[A]\nvalues = '1..9'\n[a]\nvalues = '1..9'\n", "capitals"),
        ("[questions]\nvalues = '1..9'\n[a]\nvalues = '1..9'\n", "capitals"),
        ("[a", "TOML"),
    ],
)
def test_refuses_what_it_cannot_use(capsys: Capture, tmp_path: Path, text: str, named: str) -> None:
    (tmp_path / "poll.toml").write_text(text)
    words = ["local", "questions", str(tmp_path / "poll.toml"), "--epsilon", "1", "--users", "900"]
    assert_refused(run(capsys, *words, "-o", str(tmp_path / "made")), named)
    assert not (tmp_path / "made" / "questions.json").exists()


def test_too_few_people_and_no_file(capsys: Capture, poll: str) -> None:
    assert_refused(run(capsys, "local", "questions", poll, "--epsilon", "1", "--users", "2"), "users")
    assert_refused(run(capsys, "local", "questions", "/nowhere", "--epsilon", "1", "--users", "9"), "file")


def test_the_client_is_written(capsys: Capture, tmp_path: Path) -> None:
    out = tmp_path / "client.js"
    done = run(capsys, "local", "client", "-o", str(out))
    assert done.code == 0
    assert out.read_bytes() == files("pbdp.local").joinpath("client", "pbdp-survey.js").read_bytes()
    assert_refused(run(capsys, "local", "client", "-o", str(out)), "--force")
