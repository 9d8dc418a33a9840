"""Five goals of people who are new to pbdp, each from nothing to the end, as they type it."""

from __future__ import annotations

import html
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.commands import run

PLAN = "plan --within 5 --confidence 90% --sensitivity 1 --delta 1e-6 --integer"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PBDP_STATE", str(tmp_path / "state"))
    monkeypatch.delenv("PBDP_LEDGER", raising=False)
    return tmp_path


def done(capsys: pytest.CaptureFixture[str], command: str) -> str:
    """What a command prints; it has to work."""
    found = run(capsys, *command.split())
    assert found.code == 0, (command, found.err)
    return found.out + found.err


def test_an_analyst_publishes_a_table_from_a_frame(here: Path) -> None:
    import pandas as pd

    import pbdp
    from pbdp.tables import Count, Mean, Query

    frame = pd.DataFrame(
        {
            "person": range(3000),
            "city": ["Paris", "Rome", "Oslo"] * 1000,
            "age": [20 + n % 60 for n in range(3000)],
        }
    )
    query = Query(
        unit="person",
        by={"city": ["Paris", "Rome", "Oslo"]},
        groups_per_person=1,
        rows_per_group=1,
        measures=[
            Count(within=50, name="people"),
            Mean(column="age", low=0, high=100, within=5, at_least=500, name="age"),
        ],
        delta=1e-6,
    )
    with pbdp.Ledger.create("budget.db") as ledger:
        budget = pbdp.Budget.create(ledger, "people", epsilon=3, delta=1e-5)
        table = query.plan().release(frame, budget=budget, key="first table")
        table.save("table.csv")
        assert 0 < budget.spent < 1
    shown = table.to_pandas()
    assert abs(shown["people"] - 1000).max() < 500
    assert (here / "table.csv.manifest.json").exists()


def test_a_researcher_sees_how_far_from_optimal_it_is(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for sensitivity in (1, 4, 10):
        told = json.loads(done(capsys, f"{PLAN} --sensitivity {sensitivity} --json"))
        assert told["limit"]["epsilon"] <= told["epsilon"] <= 1.01 * told["limit"]["epsilon"]
    assert "(limit 0.4147)" in done(capsys, f"{PLAN} --plot p.svg")
    assert "proven limit" in (here / "p.svg").read_text(encoding="utf-8")


def test_an_office_gets_a_page_to_sign(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    done(capsys, f"{PLAN} -o visits.json")
    done(capsys, "ledger create visits --epsilon 3 --delta 1e-6 --ledger l.db")
    done(capsys, "release visits.json 1234 --ledger l.db --dataset visits --manifest march.json")
    done(capsys, "certificate march.json -o page.html")
    assert "holds" in done(capsys, "verify march.json --ledger l.db")
    page = (here / "page.html").read_text(encoding="utf-8")
    lines = re.search(r"<pre>(.*?)</pre>", page, re.DOTALL)
    assert lines is not None
    (here / "check.py").write_text(html.unescape(lines[1]), encoding="utf-8")
    checked = subprocess.run(
        [sys.executable, "-I", "-S", "check.py", "page.html"], capture_output=True, text=True, check=True
    )
    assert checked.stdout.endswith("HOLDS\n")


def test_an_officer_sees_what_was_published(capsys: pytest.CaptureFixture[str]) -> None:
    done(capsys, "ledger create visits --epsilon 3 --delta 1e-6")
    done(
        capsys,
        "ask 1234 --within 50 --confidence 0.95 --sensitivity 1 --integer --dataset visits --query March",
    )
    assert "March" in done(capsys, "ledger history")
    assert "Sound" in done(capsys, "ledger verify")
    assert "is spent" in done(capsys, "ledger status")


def test_a_developer_asks_phones(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "answers.txt").write_text("\n".join("234"[n % 3] for n in range(9000)), encoding="utf-8")
    done(capsys, "local plan --values 1..5 --epsilon 3 -o survey.json")
    done(capsys, "local randomize survey.json --input answers.txt -o reports.csv")
    told = json.loads(done(capsys, "local estimate survey.json --input reports.csv --json"))
    shares = {entry["value"]: entry["share"] for entry in told["estimates"]}
    assert shares[3] == pytest.approx(1 / 3, abs=0.06)
