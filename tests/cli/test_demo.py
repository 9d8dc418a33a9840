"""`pbdp demo`: the tour ends well wherever it is taken, and touches nothing but its folder."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from pbdp.cli import demo
from pbdp.cli.main import main
from pbdp.ledger.ledger import Ledger
from tests.cli.commands import assert_refused, run


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PBDP_LEDGER", raising=False)
    monkeypatch.setenv("PBDP_STATE", str(tmp_path / "own state"))
    return tmp_path


def test_every_step_works_and_its_files_stay(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main(["demo"]) == 0
    told = capsys.readouterr().out
    for number, step in enumerate(demo.TOUR, 1):
        assert f"{number}. {step.words}\n\n$ pbdp {step.command}\n" in told
    folder = here / "pbdp-demo"
    for name in ("visits.json", "march.json", "certificate.html", "adult.csv", "adult.csv.manifest.json"):
        assert (folder / name).stat().st_size > 0
    # the ledger, its keys and what this machine knows of it are all inside
    assert os.environ.get("PBDP_LEDGER") is None
    assert {path.name for path in here.iterdir()} == {"pbdp-demo"}
    monkeypatch.setenv("PBDP_STATE", str(folder / "state"))
    with Ledger.open(folder / "ledger.db") as ledger:
        assert ledger.verify().sound


def test_what_comes_next_can_be_typed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(demo, "TOUR", demo.TOUR[1:2])
    monkeypatch.setenv("PATH", "/usr/bin:/bin")  # as after `make demo`, where pbdp is in .venv/bin
    assert main(["demo"]) == 0
    *_, studio, last = (line for line in capsys.readouterr().out.splitlines() if ": " in line)
    shown = last.partition(": ")[2]
    assert subprocess.run(shown, shell=True, capture_output=True, check=False).returncode == 0  # noqa: S602
    place, command = studio.partition(": ")[2].split("&&")
    status = command.replace("studio adult.toml", "ledger verify")
    # with the key of the tour: there is nothing that this machine does not know
    done = subprocess.run(f"{place}&&{status}", shell=True, capture_output=True, text=True, check=False)  # noqa: S602
    assert (done.returncode, done.stderr) == (0, "")


def test_without_an_engine_for_tables_the_rest_is_shown(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(demo, "find_spec", lambda _: None)
    monkeypatch.setattr(demo, "TOUR", (demo.TOUR[1], demo.TOUR[-1]))
    assert main(["demo"]) == 0
    told = capsys.readouterr().out
    assert "pbdp verify" not in told
    assert "pip install 'pbdp[tables]'" in told


def test_a_failing_step_ends_the_tour_with_its_code(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = demo.Step(words="No such plan.", command="release none.json 5")
    monkeypatch.setattr(demo, "TOUR", (broken, demo.TOUR[0]))
    assert main(["demo"]) == 2
    assert "pbdp plan" not in capsys.readouterr().out


def test_nothing_of_the_users_is_replaced(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "mine").mkdir()
    (here / "mine" / "thesis.txt").write_text("words")
    for more in ((), ("--force",)):
        assert_refused(run(capsys, "demo", "-o", "mine", *more), "a new folder", "Name another with -o")
    assert (here / "mine" / "thesis.txt").read_text() == "words"
    assert_refused(run(capsys, "demo", "-o", "no/such/place"), "a folder that can be made")


def test_an_earlier_tour_is_replaced_if_so_asked(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(demo, "TOUR", demo.TOUR[1:2])
    assert run(capsys, "demo").code == 0
    assert_refused(run(capsys, "demo"), "Replace it with --force")
    assert run(capsys, "demo", "--force").code == 0
