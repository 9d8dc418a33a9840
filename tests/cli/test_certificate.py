"""`pbdp certificate`: a page of every kind, which says what holds and gives nothing away."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from pbdp.digits import percent_up
from pbdp.planning.plan import Plan
from tests.cli.commands import FAST, PLAN, run
from tests.report.certificates.printed import printed_lines, run_lines

Capture = pytest.CaptureFixture[str]
TRUE_ANSWER = "987654321"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> Path:
    """A plan, and a ledger in a folder with a name that nobody should see."""
    monkeypatch.setenv("PBDP_STATE", str(tmp_path / "state"))
    monkeypatch.delenv("PBDP_LEDGER", raising=False)
    assert run(capsys, *PLAN, *FAST, "-o", str(tmp_path / "plan.json")).code == 0
    (tmp_path / "hidden").mkdir()
    ledger = str(tmp_path / "hidden" / "budget.db")
    assert (
        run(
            capsys, "ledger", "create", "visits", "--epsilon", "3", "--delta", "1e-6", "--ledger", ledger
        ).code
        == 0
    )
    return tmp_path


def certificate(capsys: Capture, folder: Path, file: str, *options: str) -> str:
    target = folder / "certificate.html"
    done = run(capsys, "certificate", str(folder / file), "-o", str(target), "--force", *options)
    assert (done.code, done.err) == (0, "")
    page = target.read_text(encoding="utf-8")
    # nothing is loaded, nothing runs, nothing is told of where things are kept
    assert not re.search(r"https?:|src=|href=|@import|url\(", page)
    assert str(folder) not in page
    assert "hidden" not in page
    for words in (
        "What is certified",
        "What must be true for it",
        "Signature",
        "Publisher",
        "How to check it",
    ):
        assert words in page
    return page


def test_a_plan_has_one(folder: Path, capsys: Capture) -> None:
    page = certificate(capsys, folder, "plan.json")
    plan = Plan.load(folder / "plan.json")
    assert f"guesses right at most {percent_up(plan.risk())} of the time" in page
    assert "within 5 of the truth, at least 90 % of the time" in page
    assert "changes the true answer by at most 1" in page
    assert "pbdp verify plan.json" in page
    assert run_lines(printed_lines(page), folder / "certificate.html").endswith("HOLDS\n")


def test_a_release_has_one(folder: Path, capsys: Capture) -> None:
    made, ledger = str(folder / "march.json"), str(folder / "hidden" / "budget.db")
    paid = ["--ledger", ledger, "--dataset", "visits", "--query", "visits <in> March", "--manifest", made]
    done = run(capsys, "release", str(folder / "plan.json"), TRUE_ANSWER, *paid)
    assert done.code == 0
    page = certificate(capsys, folder, "march.json", "--publisher", "City & museum", "--source", "the door")
    assert "City &amp; museum" in page
    assert "visits &lt;in&gt; March" in page
    assert TRUE_ANSWER not in page or done.out.strip() == TRUE_ANSWER
    assert done.out.strip() in page
    assert "paid for from visits" in page
    assert run_lines(printed_lines(page), folder / "certificate.html").endswith("HOLDS\n")
    checked = run(capsys, "verify", made, "--ledger", ledger)
    assert checked.code == 0
    assert checked.out.count("\nholds ") == 4
    record = json.loads((folder / "march.json").read_text(encoding="utf-8"))
    record["released"][""][0] += 1
    (folder / "march.json").write_text(json.dumps(record), encoding="utf-8")
    forged = run(capsys, "verify", made, "--ledger", ledger)
    assert forged.code == 1
    assert "the ledger stored other numbers" in forged.out


def test_an_answer_of_a_budget_has_one(folder: Path, capsys: Capture) -> None:
    made, ledger = str(folder / "april.json"), str(folder / "hidden" / "budget.db")
    asked = ["ask", "12", "--within", "40", "--confidence", "0.9", "--sensitivity", "1", "--integer"]
    paid = ["--ledger", ledger, "--dataset", "visits"]
    done = run(capsys, *asked, *paid, "--manifest", made)
    assert done.code == 0
    page = certificate(capsys, folder, "april.json")
    assert f">{done.out.strip()}<" in page
    assert run(capsys, "verify", made, "--ledger", ledger).out.count("\nholds ") == 4
    for options in (["--manifest", made], ["--floor", "5", "--manifest", str(folder / "new.json")]):
        assert run(capsys, *asked, *paid, *options).code == 2


def test_a_release_from_a_test_seed_is_marked(folder: Path, capsys: Capture) -> None:
    options = ["--insecure-test-seed", "1", "--manifest", str(folder / "test.json")]
    assert run(capsys, "release", str(folder / "plan.json"), "12", *options).code == 0
    assert "NOT PRIVATE" in certificate(capsys, folder, "test.json")


def test_a_budget_has_one(folder: Path, capsys: Capture) -> None:
    ledger = str(folder / "hidden" / "budget.db")
    for _ in range(2):
        paid = ["--ledger", ledger, "--dataset", "visits", "--again"]
        assert run(capsys, "release", str(folder / "plan.json"), "12", *paid).code == 0
    page = certificate(capsys, folder, "hidden/budget.db")
    assert "guesses right at most 95.26 % of the time" in page
    assert "in 2 releases" in page
    export = folder / "export.jsonl"
    assert run(capsys, "ledger", "export", "--ledger", ledger, "-o", str(export)).code == 0
    assert "visits HOLDS" in run_lines(printed_lines(page), export)


def test_a_table_has_one(folder: Path, capsys: Capture) -> None:
    data, query = folder / "visits.csv", folder / "query.toml"
    data.write_text("who,city,age\n1,Rome,30\n2,Paris,40\n2,Paris,40\n", encoding="utf-8")
    query.write_text(
        f'data = "{data}"\nunit = "who"\ndelta = 1e-6\ngroups_per_person = 1\nrows_per_group = 2\n'
        '[by]\ncity = ["Paris", "Rome"]\n[visits]\nkind = "count"\nwithin = 40\n'
        '[age]\nkind = "mean"\ncolumn = "age"\nlow = 0\nhigh = 99\ncount_within = 60\n',
        encoding="utf-8",
    )
    ledger = str(folder / "hidden" / "budget.db")
    paid = ["--ledger", ledger, "--dataset", "visits"]
    done = run(capsys, "tables", str(query), "-o", str(folder / "out.csv"), *paid)
    assert done.code == 0, done.err
    page = certificate(capsys, folder, "out.csv.manifest.json")
    assert "all rows with the same who" in page
    assert "Nobody counts in more than 1 group:" in page
    # every published column, and what the whole budget comes to
    assert "<td>age</td><td>with an interval of its own in every group, 95 % of the time at least" in page
    assert "<td>Whole budget</td><td>epsilon 3 at delta " in page
    assert run_lines(printed_lines(page), folder / "certificate.html").splitlines()[-1] in ("HOLDS", "AGREES")


@pytest.mark.parametrize("content", ["", "{}", "[1]", "no json"])
def test_what_is_none_of_these_is_refused(content: str, folder: Path, capsys: Capture) -> None:
    (folder / "other.json").write_text(content, encoding="utf-8")
    done = run(capsys, "certificate", str(folder / "other.json"))
    assert done.code == 2
    assert "a plan, a release, a choice, a comparison, the manifest of a table, or a ledger" in done.err


def test_nothing_is_overwritten(folder: Path, capsys: Capture) -> None:
    for options in (["-o", str(folder / "plan.json"), "--force"], ["-o", str(folder / "state")]):
        assert run(capsys, "certificate", str(folder / "plan.json"), *options).code == 2
    assert run(capsys, "certificate", str(folder / "plan.json"), "--dataset", "visits").code == 2


def test_a_plan_can_be_verified(folder: Path, capsys: Capture) -> None:
    done = run(capsys, "verify", str(folder / "plan.json"))
    assert done.code == 0
    assert done.out.startswith("No errors found: epsilon")


def test_a_page_is_never_printed_but_written_beside_where_one_is(
    folder: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    done = run(capsys, "certificate", "plan.json")
    assert (done.code, done.out) == (0, "Certificate in plan.certificate.html\n")
    assert (folder / "plan.certificate.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    assert run(capsys, "certificate", "plan.json").code == 2
