"""`pbdp audit`: a true sampler passes, a false one fails with a code of its own."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pbdp.audit.audit import CONFIDENCE, DRAWS
from pbdp.choosing.search import plan_choice
from pbdp.cli import main as main_module
from pbdp.cli.main import main
from pbdp.local.boosted_response import boosted_response
from pbdp.local.configuration import save_configuration
from pbdp.local.domain import without_categories
from pbdp.planning.plan import Plan
from pbdp.release.sampler import NoiseSampler
from tests.cli.commands import Done, Terminal, assert_refused, run, run_command
from tests.cli.plans import save_plans

Capture = pytest.CaptureFixture[str]
Plans = dict[str, Path]
FEW = ["--draws", "20000", "--confidence", "0.999999"]


@pytest.fixture(scope="module")
def plans(tmp_path_factory: pytest.TempPathFactory) -> Plans:
    return save_plans(tmp_path_factory.mktemp("plans"))


def audit(capsys: Capture, plan: Path, *options: str) -> Done:
    return run(capsys, "audit", str(plan), *options)


@pytest.fixture
def biased_sampler(monkeypatch: pytest.MonkeyPatch, plans: Plans) -> None:
    """Noise half as wide as it should be."""
    kind = type(Plan.load(plans["whole"]).releaser.sampler)
    assert issubclass(kind, NoiseSampler)
    honest = kind.many
    monkeypatch.setattr(kind, "many", lambda self, *given: honest(self, *given) // 2)


@pytest.mark.parametrize("kind", ["whole", "real", "percentage", "log", "range", "bounds", "order", "three"])
def test_the_real_sampler_passes(kind: str, plans: Plans, capsys: Capture) -> None:
    done = audit(capsys, plans[kind], *FEW)
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("PASS")
    for word in ("privacy", "accuracy", "law", "outputs"):
        assert any(line.startswith(word) and line.endswith("consistent") for line in done.out.splitlines())
    assert max(map(len, done.out.splitlines())) <= 110


def test_every_finding_is_explained_when_asked(plans: Plans, capsys: Capture) -> None:
    done = audit(capsys, plans["whole"], *FEW, "--explain")
    for word in ("Privacy:", "Accuracy:", "Fit:", "It cannot prove that it keeps it"):
        assert word in done.out


@pytest.mark.usefixtures("biased_sampler")
def test_a_false_sampler_fails_with_code_one(plans: Plans, tmp_path: Path, capsys: Capture) -> None:
    done = audit(capsys, plans["whole"], *FEW)
    assert done.code == 1
    assert done.out.startswith("FAIL")
    assert "CONTRADICTED" in done.out
    picture = tmp_path / "audit.svg"
    done = audit(capsys, plans["whole"], *FEW, "--json", "--plot", str(picture))
    assert done.code == 1
    record = json.loads(done.out)
    assert record["passed"] is False
    assert "fit" in record["failures"]
    assert "FAIL" in picture.read_text(encoding="utf-8")


def test_json_is_one_object(plans: Plans, tmp_path: Path, capsys: Capture) -> None:
    picture = tmp_path / "audit.png"
    done = audit(capsys, plans["whole"], *FEW, "--json", "--plot", str(picture))
    assert (done.code, done.err) == (0, "")
    record = json.loads(done.out)
    assert (record["passed"], record["draws"], record["confidence"]) == (True, 20_000, 0.999999)
    assert record["privacy"]["epsilon_lower"] <= record["privacy"]["epsilon_claimed"]
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_answers_are_drawn_at_as_asked(plans: Plans, capsys: Capture) -> None:
    record = json.loads(
        audit(capsys, plans["whole"], *FEW, "--answer", "-40", "--answer", "1e3", "--json").out
    )
    assert {-40, 1000} <= set(record["answers"])
    record = json.loads(audit(capsys, plans["real"], *FEW, "--answer", "1/4", "--json").out)
    assert 0.25 in record["answers"]


@pytest.mark.parametrize(
    ("options", "word"),
    [
        (["--draws", "10"], "draws must be"),
        (["--draws", "x"], "--draws"),
        (["--draws", "-5"], "draws must be"),
        (["--confidence", "2"], "confidence must be"),
        (["--confidence", "nan"], "confidence must be"),
        (["--answer", "nan"], "--answer must be"),
        (["--answer", "1/0"], "--answer must be"),
        (["--answer", "1e999999999"], "--answer must be"),
        (["--answer", "1.5"], "answer must be a whole number"),
        (["--answer", "1e20"], "answer must be"),
        (["--plot", "x.bmp"], ".png"),
        (["--neighbors", "replace"], "replace neighbors"),
    ],
)
def test_bad_requests_are_refused(options: list[str], word: str, plans: Plans, capsys: Capture) -> None:
    assert_refused(audit(capsys, plans["whole"], *options), word)


def test_help_says_the_defaults_that_are_used(plans: Plans, capsys: Capture) -> None:
    text = run(capsys, "audit", "--help").out
    assert f"default: {DRAWS}" in text
    assert f"default: {CONFIDENCE}" in text
    record = json.loads(audit(capsys, plans["whole"], "--json").out)
    assert (record["draws"], record["confidence"]) == (DRAWS, CONFIDENCE)


def test_progress_is_shown_on_a_terminal(
    plans: Plans, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(main_module, "PATIENCE", 0.0)
    monkeypatch.setattr(main_module, "PAUSE", 0.0)
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    assert main(["audit", str(plans["whole"]), *FEW]) == 0
    assert capsys.readouterr().out.startswith("PASS")
    assert "drawing number 20,000 of 40,000 (50 %)" in terminal.getvalue()


def test_the_installed_command_audits(plans: Plans) -> None:
    done = run_command("audit", str(plans["whole"]), *FEW)
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("PASS")


def test_choices_and_surveys_are_audited(capsys: Capture, tmp_path: Path) -> None:
    choice, survey = tmp_path / "choice.json", tmp_path / "survey.json"
    plan_choice(options=5, within=5, confidence=0.9, sensitivity=1, integer=True).save(choice)
    save_configuration(boosted_response(without_categories(range(4)), 1.0, 1.0), survey)
    for file in (choice, survey):
        done = audit(capsys, file, *FEW)
        assert done.code == 0
        assert "PASS" in done.out
        assert "privacy" in done.out
        assert_refused(audit(capsys, file, "--answer", "3"), "--answer")
