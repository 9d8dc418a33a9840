"""`pbdp noise`: the law of a saved plan, and one line for whatever cannot be used."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

import pbdp
from pbdp.planning.plan import Plan
from tests.cli.commands import PBDP, Done, assert_refused, run, run_command, run_piped

Capture = pytest.CaptureFixture[str]
ASKED: dict[str, dict[str, Any]] = {
    "whole": {"within": 5, "integer": True},
    "real": {"within": 2.5, "step": 0.25},
    "percentage": {"within": "40%+3", "nonnegative": True, "integer": True},
    "range": {"range": (-10, 10), "scale": 3, "integer": True},
    "bounds": {"within": 3, "range": (0, 20), "integer": True},
    "order": {"within": 3, "integer": True, "delta": None, "rdp_order": 4},
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("plans")
    usual: dict[str, Any] = {"confidence": 0.8, "sensitivity": 1, "delta": 1e-5, "families": ("laplace",)}
    for name, asked in ASKED.items():
        pbdp.plan(**(usual | asked)).save(place / f"{name}.json")
    return place


def noise(capsys: Capture, folder: Path, kind: str, *options: str) -> Done:
    return run(capsys, "noise", str(folder / f"{kind}.json"), *options)


@pytest.mark.parametrize("kind", ASKED)
def test_json_lists_every_output_and_its_probability(kind: str, folder: Path, capsys: Capture) -> None:
    done = noise(capsys, folder, kind, "--answer", "7", "--json")
    assert (done.code, done.err) == (0, "")
    record = json.loads(done.out)
    assert set(record) == {"format", "version", "output", "probability", "missing_mass"}
    assert len(record["output"]) == len(record["probability"])
    assert record["output"] == sorted(record["output"])
    assert min(record["probability"]) >= 0
    total = math.fsum(record["probability"]) + record["missing_mass"]
    assert total == pytest.approx(1, abs=1e-11)
    law = Plan.load(folder / f"{kind}.json").law_at(7)
    assert record["output"] == law.output.tolist()
    assert record["probability"] == law.probability.tolist()


@pytest.mark.parametrize("kind", ASKED)
def test_words_show_the_likeliest_outputs(kind: str, folder: Path, capsys: Capture) -> None:
    done = noise(capsys, folder, kind, "--answer", "7")
    assert (done.code, done.err) == (0, "")
    assert "probability" in done.out
    assert "further away" in done.out
    rows = [line for line in done.out.splitlines() if "#" in line]
    assert 3 <= len(rows) <= 40


@pytest.mark.parametrize(
    ("kind", "written", "answer"),
    [
        ("whole", "-5", -5),
        ("whole", "+5", 5),
        ("whole", "-1e2", -100),
        ("whole", " 12 ", 12),
        ("whole", "3.0", 3),
        ("real", "-0.3", -0.3),
        ("real", "-.3", -0.3),
        ("real", "1e-300", 0),
        ("real", "1/3", 0.3333),
        ("range", "-5", -5),
        ("range", "999", 10),
        ("bounds", "-7", 0),
    ],
)
def test_answers_are_read_as_written(
    kind: str, written: str, answer: float, folder: Path, capsys: Capture
) -> None:
    done = noise(capsys, folder, kind, "--answer", written, "--json")
    assert (done.code, done.err) == (0, "")
    assert json.loads(done.out)["output"] == Plan.load(folder / f"{kind}.json").law_at(answer).output.tolist()


@pytest.mark.parametrize("kind", ["whole", "real"])
@pytest.mark.parametrize(
    "written",
    ["nan", "inf", "abc", "", "1e400", "1e999999999", "1e-999999999", "1e9_9_9_9", "1/0", "--5", "9" * 5000],
)
def test_what_is_no_answer_is_refused(kind: str, written: str, folder: Path, capsys: Capture) -> None:
    assert_refused(noise(capsys, folder, kind, f"--answer={written}"), "answer must be")


def test_answers_that_a_plan_does_not_serve_are_refused(folder: Path, capsys: Capture) -> None:
    assert_refused(noise(capsys, folder, "whole", "--answer", "1.5"), "answer must be a whole number")
    assert_refused(noise(capsys, folder, "whole", "--answer", "1e20"), "one that the plan takes as it is")
    assert_refused(noise(capsys, folder, "percentage", "--answer", "-1"), "answer must be")
    assert_refused(noise(capsys, folder, "percentage", "--answer", "1e400"), "answer must be")
    assert_refused(noise(capsys, folder, "whole"), "--answer")


def test_the_relation_that_is_relied_on_is_compared(folder: Path, capsys: Capture) -> None:
    assert noise(capsys, folder, "whole", "--answer", "1", "--neighbors", "add/remove").code == 0
    done = noise(capsys, folder, "whole", "--answer", "1", "--neighbors", "replace")
    assert_refused(done, "plan must be for replace neighbors", "got add/remove")
    assert_refused(noise(capsys, folder, "whole", "--answer", "1", "--neighbors", "x"), "--neighbors")


def test_files_that_are_no_plans_are_refused(folder: Path, capsys: Capture, tmp_path: Path) -> None:
    broken = tmp_path / "broken.json"
    for content in ("", "[]", "{", '{"format": "pbdp-plan", "version": 1}', "\x00"):
        broken.write_text(content, encoding="utf-8")
        assert_refused(run(capsys, "noise", str(broken), "--answer", "1"), "must be")
    for place in (tmp_path / "missing.json", tmp_path):
        assert_refused(run(capsys, "noise", str(place), "--answer", "1"), "plan file must be readable")
    edited = json.loads((folder / "whole.json").read_text(encoding="utf-8")) | {"epsilon": 0.01}
    broken.write_text(json.dumps(edited), encoding="utf-8")
    assert_refused(run(capsys, "noise", str(broken), "--answer", "1"), "epsilon of the plan must be")


def test_options_that_do_not_exist_are_refused(folder: Path, capsys: Capture) -> None:
    assert_refused(noise(capsys, folder, "whole", "--answer", "1", "--jsn"), "--jsn")
    assert_refused(run(capsys, "noise"), "PLAN")


# ------------------------------------------------------------------------------------------ the real command


def test_the_installed_command_lists_and_refuses(folder: Path) -> None:
    file = str(folder / "whole.json")
    done = run_command("noise", file, "--answer", "-5", "--json")
    assert (done.code, done.err) == (0, "")
    assert -5 in json.loads(done.out)["output"]
    assert_refused(run_command("noise", file, "--answer", "1e400"), "answer must be")


def test_a_closed_pipe_is_no_error(folder: Path) -> None:
    for options in ("", "--json"):
        done = run_piped(f"'{PBDP}' noise '{folder / 'real.json'}' --answer 3 {options} | head -c 1")
        assert (done.code, done.err) == (0, "")
