"""Mistakes that newcomers make: each ends in one sentence that helps, in options, and changes nothing."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from pbdp.cli.parser import Parser
from pbdp.ledger.errors import UntrustedLedgerError
from tests.cli.commands import Done, run

ACCURACY = ["--confidence", "0.9", "--sensitivity", "1", "--integer"]
PLAN = ["plan", "--within", "5", *ACCURACY, "--delta", "1e-6", "--families", "laplace"]
PAID = ["--ledger", "ledger.db", "--dataset", "visits"]
TOML = """data = "visits.csv"
one_row_per_person = true
delta = 1e-6
[by]
city = ["Rome"]
[n]
kind = "count"
"""
TOGETHER = "delta = 1e-6\n[requirements.visits]\nwithin = 20\nconfidence = 0.9\nsensitivity = 1\n"
FLAGS = ["tables", "visits.csv", "--unit", "user", "--by", "city=Rome", "--groups-per-person", "1"]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with a plan, a survey, a ledger that paid for the plan, data and things that are none."""
    folder = tmp_path_factory.mktemp("mistakes")
    patch = pytest.MonkeyPatch()
    patch.chdir(folder)
    patch.setenv("PBDP_STATE", str(folder / "state"))
    from pbdp.cli.main import main

    assert main([*PLAN, "-o", "plan.json"]) == 0
    assert main(["local", "plan", "--values", "1..10", "--epsilon", "1", "-o", "survey.json"]) == 0
    assert main(["ledger", "create", "visits", "--epsilon", "3", "--delta", "1e-6", *PAID[:2]]) == 0
    assert main(["release", "plan.json", "12", *PAID]) == 0
    texts = {
        "visits.csv": "user,city,spend\n1,Rome,5\n2,Paris,7\n",
        "numbers.csv": "12\n13\n",
        "query.toml": TOML + "within = 50\n",
        "typo.toml": TOML.replace("delta", "delat") + "within = 50\n",
        "typo-in-table.toml": TOML + "witin = 50\n",
        "wrong-kind.toml": TOML.replace('"count"', '"cont"') + "within = 50\n",
        "sure.toml": TOML.replace("delta", "confidence = 95\ndelta") + "within = 50\n",
        "broken.toml": "delta = \n",
        "together.toml": TOGETHER,
        "together-typo.toml": TOGETHER.replace("sensitivity", "sensitvity"),
        "together-top.toml": TOGETHER.replace("delta", "dleta"),
        "empty.json": "",
        "other.json": "{}",
        "utf16.csv": "",
    }
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    (folder / "utf16.csv").write_bytes("user,city\n".encode("utf-16"))
    (folder / "folder").mkdir()
    (folder / "locked").mkdir(mode=0o500)
    yield folder
    patch.undo()


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


# What is typed, and what the message says.
CASES: dict[str, tuple[list[str], list[str]]] = {
    # the list that newcomers gave us
    "three numbers for one": (["release", "plan.json", "1", "2", "3"], ["one number", "got 3 numbers", "--disjoint"]),
    "a plan used up": (["release", "plan.json", "12", *PAID], ["one release", "--again", "Nothing was spent"]),
    "no delta": (["plan", "--within", "5", *ACCURACY], ["--delta must be given", "--delta 1e-6", "--rdp-order 10"]),
    "decimal comma": ([*PLAN, "--confidence", "0,9"], ["--confidence", "'0,9'", "Write 0.9 with a point"]),
    "per cent without a sign": ([*PLAN, "--confidence", "90"], ["--confidence", "Write 0.9 for 90 %"]),
    "draws with a comma": (["audit", "plan.json", "--draws", "1,000"], ["--draws", "Write 1000 without the comma"]),
    "half a draw": (["audit", "plan.json", "--draws", "0.5"], ["--draws must be a whole number"]),
    "--eps": ([*PLAN, "--eps", "1"], ["no option --eps", "Did you mean --epsilon?", "pbdp plan --help"]),
    "--neighbors": ([*PLAN, "--neighbors", "add-remove"], ["--neighbors", "Did you mean add/remove?"]),
    "--neighbors alone": ([*PLAN, "--neighbors"], ["--neighbors needs a value", "one person is added or removed"]),
    "--floor": (["plan", "--within", "5%", "--floor", "50"], ["no option --floor", "--within 5%+50", "pbdp ask"]),
    "--sens": (["plan", "--within", "5", "--sens", "1"], ["no option --sens", "Did you mean --sensitivity?"]),
    "plann": (["plann", "--within", "5"], ["no command 'plann'", "Did you mean plan?"]),
    "1,234 as an answer": (["release", "plan.json", "1,234"], ["NUMBER must be a number", "no commas"]),
    "1,234 as a width": (["plan", "--within", "1,234", *ACCURACY, "--delta", "1e-6"], ["--within", "1234 without the comma"]),
    "1,234 as a sensitivity": ([*PLAN, "--sensitivity", "1,234"], ["--sensitivity", "1234 without the comma"]),
    "--values 1-10": (["local", "plan", "--values", "1-10", "--epsilon", "1"], ["--values", "Write 1..10"]),
    "confidence 95 in a table": ([*FLAGS, "--people", "5", "--delta", "1e-6", "--confidence", "95"], ["Write 0.95 for 95 %"]),
    "confidence 95 in a file": (["tables", "sure.toml", "--dry-run"], ["confidence must be", "Write 0.95 for 95 %"]),
    "a plan for a survey": (["local", "randomize", "plan.json", "3"], ["local plan -o", "got a plan, as `pbdp plan -o`"]),
    # further ones
    "a survey for a plan": (["release", "survey.json", "3"], ["survey.json must be a plan", "got the configuration of a survey"]),
    "a ledger for a plan": (["release", "ledger.db", "3"], ["got a database, such as a ledger"]),
    "a plan for a ledger": (["ledger", "status", "--ledger", "plan.json"], ["ledger", "not an SQLite database"]),
    "a survey for a manifest": (["verify", "survey.json"], ["manifest", "got the configuration of a survey"]),
    "an empty file for a plan": (["noise", "empty.json", "--answer", "3"], ["got an empty file", "pbdp plan -o"]),
    "other JSON for a plan": (["noise", "other.json", "--answer", "3"], ["got other JSON"]),
    "data for a plan": (["release", "visits.csv", "3"], ["got a file that is not JSON"]),
    "a folder for a plan": (["release", "folder", "3"], ["folder", "Is a directory"]),
    "no such plan": (["release", "plam.json", "3"], ["No such file", "Did you mean plan.json?"]),
    "plan and number swapped": (["release", "12", "plan.json"], ["plan file must be readable"]),
    "no number": (["release", "plan.json"], ["numbers", "typed, or in a file with --input"]),
    "no plan": (["release"], ["PLAN is missing", "pbdp plan -o"]),
    "no sensitivity": (["plan", "--within", "5", "--confidence", "0.9"], ["--sensitivity is missing", "one person can change"]),
    "no command": ([], ["a command is missing"]),
    "a part misspelled": (["ledger", "staus"], ["Did you mean status?", "pbdp ledger --help"]),
    "a dataset misspelled": (["release", "plan.json", "1", "--ledger", "ledger.db", "--dataset", "visit"], ["--dataset", "Did you mean visits?"]),
    "a dataset without a ledger": (["release", "plan.json", "1", "--dataset", "visits"], ["--ledger", "pbdp ledger create"]),
    "a ledger without a dataset": (["release", "plan.json", "1", *PAID[:2]], ["--dataset must be given"]),
    "no such ledger": (["ledger", "status", "--ledger", "other.db"], ["other.db", "pbdp ledger create"]),
    "a dataset twice": (["ledger", "create", "visits", "--epsilon", "1", "--delta", "1e-6", *PAID[:2]], ["visits", "as it was made"]),
    "a family misspelled": ([*PLAN, "--families", "laplac"], ["--families", "Did you mean laplace?"]),
    "a negative width": (["plan", "--within", "-5", *ACCURACY, "--delta", "1e-6"], ["--within", "above 0"]),
    "a negative epsilon": (["plan", "--within", "5", "--epsilon", "-1", "--sensitivity", "1", "--delta", "1e-6"], ["--epsilon", "at least 1e-15"]),
    "delta of 1": (["plan", "--within", "5", *ACCURACY, "--delta", "1"], ["--delta", "1e-6, say"]),
    "delta of 0": (["plan", "--within", "5", *ACCURACY, "--delta", "0"], ["--delta", "1e-9, say"]),
    "all three": ([*PLAN, "--epsilon", "1"], ["--within, --confidence and --epsilon", "two at a time"]),
    "one of three": (["plan", "--within", "5", "--sensitivity", "1", "--delta", "1e-6"], ["two at a time", "--confidence 0.9"]),
    "half a release": ([*PLAN, "--releases", "1.5"], ["--releases must be a whole number"]),
    "words for a number": ([*PLAN, "--delta", "small"], ["--delta must be a number; got 'small'"]),
    "a stray word": ([*PLAN, "please"], ["file must be readable; got please"]),
    "a picture as text": ([*PLAN, "--plot", "plan.txt"], ["--plot", ".png, .svg, .pdf"]),
    "no such folder": ([*PLAN, "-o", "nowhere/plan.json"], ["nowhere", "folder"]),
    "a folder to write to": ([*PLAN, "-o", "folder"], ["--output", "folder"]),
    "a plan that exists": ([*PLAN, "-o", "plan.json"], ["plan.json", "exists", "--force"]),
    "a column misspelled": (["release", "plan.json", "--input", "visits.csv", "--column", "spent", "--disjoint"], ["--column", "Did you mean spend?"]),
    "a column of data": (["release", "plan.json", "--input", "numbers.csv", "--column", "1", "--disjoint"], ["--column", "no such name"]),
    "no such input": (["release", "plan.json", "--input", "number.csv"], ["number.csv", "No such file", "Did you mean numbers.csv?"]),
    "a column of words": (["release", "plan.json", "--input", "visits.csv", "--column", "city", "--disjoint"], ["number", "units"]),
    "another encoding": (["release", "plan.json", "--input", "utf16.csv", "--column", "user"], ["UTF-8"]),
    "no such column in a table": ([*FLAGS[:-4], "--by", "town=Rome", "--groups-per-person", "1", "--people", "5", "--delta", "1e-6"], ["town", "user, city, spend"]),
    "a unit misspelled": (["tables", "visits.csv", "--unit", "usr", "--by", "city=Rome", "--groups-per-person", "1", "--people", "5", "--delta", "1e-6"], ["Did you mean user?"]),
    "no unit": (["tables", "visits.csv", "--by", "city=Rome", "--people", "5", "--delta", "1e-6"], ["--unit", "--one-row-per-person"]),
    "keys not listed": (["tables", "visits.csv", "--unit", "user", "--by", "city", "--people", "5", "--delta", "1e-6"], ["keys of city", "--select 100"]),
    "no measure": ([*FLAGS, "--delta", "1e-6"], ["--count 50"]),
    "a name misspelled in a query": (["tables", "typo.toml"], ["delat", "Did you mean delta?"]),
    "a name misspelled in a measure": (["tables", "typo-in-table.toml"], ["witin", "Did you mean within?"]),
    "a kind misspelled": (["tables", "wrong-kind.toml"], ["cont", "Did you mean count?"]),
    "no TOML": (["tables", "broken.toml"], ["valid TOML", "line 1"]),
    "flags beside a query": (["tables", "query.toml", "--count", "5"], ["query file", "--count"]),
    "a name misspelled in a requirement": (["plan", "together-typo.toml"], ["sensitvity", "Did you mean sensitivity?"]),
    "a name misspelled at the top": (["plan", "together-top.toml"], ["dleta", "Did you mean delta?"]),
    "a plan in place of requirements": (["plan", "plan.json"], ["settings by name"]),
    "no such data": (["tables", "visit.csv", *FLAGS[2:], "--people", "5", "--delta", "1e-6"], ["visit.csv", "Did you mean visits.csv?"]),
    "neither epsilon nor width": (["local", "plan", "--values", "1..10"], ["--epsilon or --within"]),
    "one value": (["local", "plan", "--values", "a", "--epsilon", "1"], ["--values", "2 to"]),
    "a published text": (["interval", "plan.json", "1,234"], ["published number", "1,234"]),
    "published, between whole numbers": (["interval", "plan.json", "12.5"], ["12.5", "all its digits"]),
    "a share of 10": (["ask", "5", "--share", "10", "--sensitivity", "1", "--confidence", "0.9", *PAID], ["--share"]),
    "a test seed from a budget": (["release", "plan.json", "3", "--insecure-test-seed", "1", *PAID], ["--insecure-test-seed"]),
    "a range with a dash": ([*FLAGS[:4], "--by", "month=1-12", "--people", "5", "--delta", "1e-6"], ["keys of month", "month=1..12"]),
    "a width in words": ([*FLAGS, "--people", "five", "--delta", "1e-6"], ["within of --people", "'five'"]),
    "a folder without data": (["tables", "folder", *FLAGS[2:], "--people", "5", "--delta", "1e-6"], ["data must be", "There are none in it"]),
    "no part": (["ledger"], ["a command is missing: create, status"]),
    "a comma in an answer": (["noise", "plan.json", "--answer", "1,5"], ["--answer", "Write 1.5 with a point"]),
    "no norm": (["plan", "--dimensions", "3", *PLAN[1:-2]], ["--error-norm must be given", "linf: every coordinate"]),
    "a ledger to verify": (["verify", "ledger.db"], ["got a ledger", "pbdp ledger verify --ledger ledger.db"]),
    "two of three for a choice": (["choose", "--options", "9", "--within", "5", "--sensitivity", "1"], ["given two at a time", "got within"]),
    "no wider intervals": (["compare", "--users", "9,9", "--rate", "5%", "--wider", "0%"], ["--wider must be a finite number above 0"]),
    "bounds the wrong way round": (["compare", "--users", "9,9", "--bounds", "9..0", "--spread", "1", "--wider", "5%"], ["--bounds must be the lower bound, then the higher one"]),
    "a column of tables misspelled": ([*FLAGS, "--tables", "cty", "--people", "5", "--delta", "1e-6"], ["cty", "Did you mean city?"]),
    "running along a column misspelled": ([*FLAGS, "--running", "cty", "--people", "5", "--delta", "1e-6"], ["--running", "Did you mean city?"]),
    "a floor without a percentage": (["ask", "5", "--within", "50", "--floor", "5", "--confidence", "0.9", "--sensitivity", "1", *PAID], ["--floor", "got within 50."]),
    "a percentage of a score": (["choose", "--options", "9", "--within", "5%", "--confidence", "0.9", "--sensitivity", "1"], ["--within must be a number in the unit of the scores", "scores have no percentages"]),
    "no delta for a budget": (["ledger", "create", "new", "--epsilon", "1", *PAID[:2]], ["--delta is missing", "1e-6"]),
    "a key misspelled as an option": (["release", "plan.json", "3", "--keys", "x"], ["no option --keys", "Did you mean --key?"]),
}  # fmt: skip


def refused(capsys: pytest.CaptureFixture[str], made: Path, arguments: list[str]) -> Done:
    before = contents(made)
    done = run(capsys, *arguments)
    assert contents(made) == before
    assert done.code == (3 if "--again" in done.err else 2), done
    assert done.out == ""
    return done


@pytest.mark.parametrize("name", CASES)
def test_a_mistake_ends_in_a_sentence_that_helps(
    name: str, made: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments, words = CASES[name]
    done = refused(capsys, made, arguments)
    assert done.err.startswith("pbdp: ")
    assert "Traceback" not in done.err
    assert len(done.err.splitlines()) <= 2
    for word in words:
        assert word in done.err, f"{word!r} in {done.err!r}"
    # parameters of the library are written as options
    assert "=True" not in done.err


@pytest.mark.parametrize("name", ["three numbers for one", "--eps", "no such plan"])
def test_with_json_the_message_is_an_object(
    name: str, made: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments, words = CASES[name]
    told = json.loads(refused(capsys, made, [*arguments, "--json"]).err)
    assert (told["format"], told["version"], told["exit_code"]) == ("pbdp-error", 1, 2)
    assert words[0] in told["message"]


def test_what_people_write_otherwise_is_understood(made: Path, capsys: pytest.CaptureFixture[str]) -> None:
    usual = run(capsys, *PLAN)
    assert run(capsys, *PLAN, "--confidence", "90%").out == usual.out
    assert run(capsys, "audit", "plan.json", "--draws", "2e3").code == 0
    width = ["--sensitivity", "1", "--delta", "1e-6", "--confidence", "0.9", "--families", "laplace"]
    assert (
        run(capsys, "plan", "--within", "10+5%", *width).out
        == run(capsys, "plan", "--within", "5%+10", *width).out
    )
    assert made.exists()


def test_what_is_allowed_and_odd_is_told(made: Path, capsys: pytest.CaptureFixture[str]) -> None:
    large = run(capsys, *PLAN[:-4], "--delta", "0.1")
    assert "publishing everything about 1,000 in 10,000 people" in " ".join(large.out.split())
    assert "ε 4.148e-07 at delta 0.1" in large.out
    assert "is large" in run(capsys, *PLAN[:-4], "--delta", "1e-4").out
    assert "is large" not in run(capsys, *PLAN[:-4], "--delta", "9e-5").out
    wide = run(capsys, "plan", "--within", "1e9", *ACCURACY, "--delta", "1e-6")
    assert "narrower width" in " ".join(wide.out.split())
    assert (
        "A width of 5.5 acts as 5" in run(capsys, "plan", "--within", "5.5", *ACCURACY, "--delta", "1e-6").out
    )
    assert made.exists()


def test_what_may_not_be_written_is_refused(made: Path, capsys: pytest.CaptureFixture[str]) -> None:
    done = run(capsys, *PLAN, "-o", "locked/plan.json")
    if done.code == 0:
        (made / "locked" / "plan.json").unlink()
        pytest.skip("this user may write everywhere")
    assert "Permission denied" in done.err


def test_a_byte_order_mark_is_no_part_of_the_first_name(
    made: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    marked = tmp_path / "marked.csv"
    marked.write_bytes(b"\xef\xbb\xbf" + b"spend\n5\n")
    shutil.copy(made / "plan.json", tmp_path)
    assert run(capsys, "release", "plan.json", "--input", str(marked), "--column", "spend").code == 0


def test_the_place_of_a_ledger_is_no_parameter() -> None:
    """`ledger=clinic` in the URL of a ledger is not to be said in another way."""
    parser = Parser(prog="pbdp")
    parser.add_argument("--ledger")
    parser.add_argument("--trust-ledger", action="store_true")
    place = "postgresql://host/database?sslmode=require&ledger=clinic"
    said = parser.in_options(UntrustedLedgerError(place, "it is new here"))
    assert place in said
    assert "--trust-ledger" in said
