"""`pbdp ledger` and releases that it pays for, as people run them."""

from __future__ import annotations

import json
import re
import shutil
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from pbdp.ledger import Ledger, verify_export
from tests.cli.commands import Done, assert_refused, run, run_command
from tests.cli.schema import checked

PLAN = ["plan", "--within", "20", "--confidence", "0.9", "--sensitivity", "1", "--delta", "1e-8", "--integer"]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Path:
    """An empty folder to work in, with a plan and witnesses of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PBDP_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("PBDP_KEYS", str(tmp_path / "keys"))
    monkeypatch.delenv("PBDP_LEDGER", raising=False)
    assert run(capsys, *PLAN, "-o", "plan.json").code == 0
    return tmp_path


@pytest.fixture
def ledger(here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Path:
    """A budget for visits, named in the environment."""
    assert run(capsys, "ledger", "create", "visits", "--epsilon", "0.5", "--delta", "1e-6").code == 0
    monkeypatch.setenv("PBDP_LEDGER", "pbdp-ledger.db")
    return here / "pbdp-ledger.db"


def release(capsys: pytest.CaptureFixture[str], *more: str) -> Done:
    return run(capsys, "release", "plan.json", "1234", "--dataset", "visits", *more)


@pytest.mark.usefixtures("here")
def test_a_ledger_from_its_first_line_to_the_end_of_its_budget(capsys: pytest.CaptureFixture[str]) -> None:
    made = run_command("ledger", "create", "visits", "--epsilon", "0.5", "--delta", "1e-6")
    assert (made.code, made.err) == (0, "")
    assert "pbdp-ledger.db" in made.out
    assert "guesses\nright at most 62.25 % of the time" in made.out
    place = ["--ledger", "pbdp-ledger.db", "--dataset", "visits"]
    first = run_command("release", "plan.json", "1234", *place, "--key", "march")
    again = run_command("release", "plan.json", "1234", *place, "--key", "march")
    assert first.code == again.code == 0
    assert first.out == again.out
    assert "of the budget of visits is spent now" in first.err
    assert "nothing was drawn or spent" in again.err
    codes = [run(capsys, "release", "plan.json", "1234", *place, "--again").code for _ in range(6)]
    assert codes[0] == 0
    assert codes[-1] == 3
    # the real command finds what those of this process have spent
    assert run_command("release", "plan.json", "1234", *place, "--again").code == 3
    assert run_command("ledger", "verify").code == 0
    assert "visits" in run(capsys, "ledger", "status").out


@pytest.mark.usefixtures("ledger")
def test_status_history_and_price_for_machines(capsys: pytest.CaptureFixture[str]) -> None:
    release(capsys, "--key", "a", "--query", "visits in March")
    status = json.loads(run(capsys, "ledger", "status", "--json").out)["datasets"][0]
    assert status["dataset"] == "visits"
    assert 0 < status["share_spent"] < 1
    for name in ("variance", "reach", "reserve"):
        assert status["spent"][name] + status["remaining"][name] == status["limits"][name]
    assert status["guessed_right"] == pytest.approx(0.6225, abs=1e-4)
    assert "(0.5, 1e-06)-DP" in status["guarantee"]
    history = json.loads(run(capsys, "ledger", "history", "--json").out)["entries"]
    assert [entry["kind"] for entry in history] == ["dataset", "spend"]
    assert history[1]["query"] == "visits in March"
    assert [entry["share"] for entry in history] == [0, status["share_spent"]]
    assert history[1]["share_spent"] == status["share_spent"]
    price = json.loads(run(capsys, "ledger", "price", "plan.json", "--json").out)["prices"]["visits"]
    assert price["fits"]
    assert price["cost"] != status["spent"]
    assert price["spent_before"] == status["share_spent"]
    assert price["spent_after"] == pytest.approx(status["share_spent"] + price["share"])
    assert "1234" not in json.dumps([status, history, price])
    release(capsys, "--again")
    later = json.loads(run(capsys, "ledger", "status", "--json").out)["datasets"][0]
    # the price is the one that is paid
    assert later["spent"] == {name: amount + price["cost"][name] for name, amount in status["spent"].items()}


@pytest.mark.usefixtures("ledger")
def test_words_for_people(capsys: pytest.CaptureFixture[str]) -> None:
    release(capsys, "--query", "visits in March")
    history = run(capsys, "ledger", "history", "visits").out.splitlines()
    assert history[0].split() == [
        "record",
        "time",
        "(UTC)",
        "dataset",
        *("what", "was", "asked"),
        "cost",
        "spent",
        "key",
    ]
    share = re.findall(r"(\S+) %", history[2])
    assert len(share) == 2
    assert share[0] == share[1]
    assert "visits in March" in history[2]
    status = run(capsys, "ledger", "status", "visits").out
    assert f"{share[0]} % of epsilon 0.5 at delta 1e-06 is spent, in 1 release." in status
    assert re.search(r"About \d+ more like the last one would fit\.", status)
    assert "guesses right" in status.replace("\n", " ")
    assert "potential" not in status
    assert "potential" in run(capsys, "ledger", "status", "visits", "--explain").out
    price = run(capsys, "ledger", "price", "plan.json", "--dataset", "visits").out
    assert re.search(r"visits: laplace costs \S+ % of the budget; afterwards \S+ % is spent\.", price)
    assert re.search(r"After that, (about )?\d+ more like it would fit\.", price)


@pytest.mark.usefixtures("ledger")
def test_what_does_not_fit_has_exit_code_three_and_spends_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    while (done := release(capsys, "--again")).code == 0:
        pass
    assert done.code == 3
    assert done.out == ""
    assert "Nothing was spent" in done.err
    # a wider width that really fits
    wider = re.findall(r"One within (\S+) of the truth would fit", done.err.replace("\n", " "))
    assert wider
    plan = [*PLAN[:2], wider[0], *PLAN[3:], "-o", "wider.json"]
    assert run(capsys, *plan).code == 0
    price = json.loads(run(capsys, "ledger", "price", "wider.json", "--json").out)["prices"]["visits"]
    assert price["fits"]
    before = run(capsys, "ledger", "status", "--json").out
    assert release(capsys, "--again").code == 3
    assert run(capsys, "ledger", "status", "--json").out == before
    # the plan's one release is used up: without --again it is refused as well
    assert release(capsys).code == 3


@pytest.mark.usefixtures("ledger")
def test_json_says_who_counts(capsys: pytest.CaptureFixture[str]) -> None:
    record = json.loads(release(capsys, "--json").out)
    assert "pbdp-ledger.db" in record["releases_enforced"]


@pytest.mark.usefixtures("ledger")
def test_packages_are_reserved_together_and_used_bit_by_bit(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, *PLAN[:2], "30", *PLAN[3:], "-o", "monthly.json").code == 0
    asked = ("ledger", "reserve", "plan.json:2", "monthly.json", "--dataset", "visits", "--key", "year")
    prices = json.loads(run(capsys, "ledger", "price", "plan.json:2", "monthly.json", "--json").out)["prices"]
    priced = prices["visits"]
    made = run(capsys, *asked)
    assert made.code == 0
    assert re.match(r"Reserved for \S+ % of the budget: laplace x 2 with laplace\.", made.out)
    status = json.loads(run(capsys, "ledger", "status", "--json").out)["datasets"][0]
    assert status["spent"] == priced["cost"]
    again = run(capsys, *asked)
    assert again.code == 0
    assert again.out.startswith("Paid for before: ")
    record = json.loads(run(capsys, *asked, "--json").out)
    assert (record["repeated"], record["key"]) == (True, "year")
    assert record["share"] == status["share_spent"]
    for key in ("a", "b"):
        assert release(capsys, "--key", key).code == 0
    assert run(capsys, "release", "monthly.json", "5", "--dataset", "visits").code == 0
    # all of it was paid at once
    assert (
        json.loads(run(capsys, "ledger", "status", "--json").out)["datasets"][0]["spent"] == status["spent"]
    )
    history = run(capsys, "ledger", "history").out
    assert "2 releases reserved" in history
    assert "paid" in history
    assert release(capsys).code == 3


@pytest.mark.usefixtures("ledger")
def test_packages_that_do_not_fit_are_told_how_many_would(capsys: pytest.CaptureFixture[str]) -> None:
    done = run(capsys, "ledger", "reserve", "plan.json:500", "--dataset", "visits")
    assert done.code == 3
    fits = re.findall(r"(\d+) of the 500 would fit", done.err)
    assert fits
    assert run(capsys, "ledger", "reserve", f"plan.json:{fits[0]}", "--dataset", "visits").code == 0


@pytest.mark.usefixtures("here")
def test_blocks_of_people_pay_apart(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PBDP_LEDGER", "pbdp-ledger.db")
    made = run(capsys, *CREATE, "--blocks", "north, south")
    assert made.code == 0
    done = release(capsys, "--blocks", "north")
    assert done.code == 0
    told = re.findall(r"cost (\S+) %; (\S+) % of the budget", done.err)
    assert told
    assert release(capsys, "--blocks", "south").code == 0
    status = json.loads(run(capsys, "ledger", "status", "--json").out)["datasets"][0]
    assert set(status["blocks"]) == {"north", "south"}
    assert status["blocks"]["north"] == status["blocks"]["south"] == status["share_spent"]
    assert "By block: north" in run(capsys, "ledger", "status").out
    # a release in the block that was spent less of is not told to be free
    assert release(capsys, "--blocks", "north", "--again").code == 0
    south = release(capsys, "--blocks", "south", "--again")
    assert re.findall(r"cost (\S+) %", south.err) != ["0"]
    price = run(capsys, "ledger", "price", "plan.json", "--blocks", "south").out
    assert "is spent." in price
    assert_refused(release(capsys, "--blocks", "west"), "blocks must be among north, south")
    assert_refused(
        run(capsys, "ledger", "create", "r", *CREATE[3:], "--blocks", "n,s", "--neighbors", "replace"),
        "two blocks",
    )


@pytest.mark.usefixtures("ledger")
def test_a_reserve_is_chosen_when_the_budget_is_made(capsys: pytest.CaptureFixture[str]) -> None:
    cut = ["--families", "cut staircase", "--delta", "1e-6"]
    assert run(capsys, *PLAN[:7], *cut, "--integer", "-o", "cut.json").code == 0
    done = run(capsys, "release", "cut.json", "5", "--dataset", "visits")
    assert done.code == 3
    share = re.findall(r"--reserve (\S+?)\)", done.err.replace("\n", " "))
    assert share
    larger = f"{min(float(share[0]) * 1.05, 1):.4f}"
    assert (
        run(capsys, "ledger", "create", "r", "--epsilon", "3", "--delta", "1e-6", "--reserve", larger).code
        == 0
    )
    assert run(capsys, "release", "cut.json", "5", "--dataset", "r").code == 0


def test_a_ledger_is_exported_and_faults_are_found(ledger: Path, capsys: pytest.CaptureFixture[str]) -> None:
    release(capsys)
    assert run(capsys, "ledger", "export", "-o", "dump.jsonl").code == 0
    lines = Path("dump.jsonl").read_text(encoding="utf-8").splitlines()
    assert run(capsys, "ledger", "export").out.splitlines() == lines
    assert run(capsys, "ledger", "verify", "--json").code == 0
    content = bytearray(ledger.read_bytes())
    place = content.index(b"visits")
    content[place] ^= 1
    ledger.write_bytes(content)
    found = run(capsys, "ledger", "verify")
    assert found.code == 1
    assert "NOT SOUND" in found.out


def test_a_restored_backup_is_refused_until_the_gap_is_counted(
    ledger: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    backup = ledger.read_bytes()
    release(capsys)
    spent = json.loads(run(capsys, "ledger", "status", "--json").out)["datasets"][0]["spent"]
    ledger.write_bytes(backup)
    assert_refused(release(capsys), "older state", "ledger repair")
    assert run(capsys, "ledger", "repair", "--gap", "known").code == 0
    assert json.loads(run(capsys, "ledger", "status", "--json").out)["datasets"][0]["spent"] == spent
    assert release(capsys).code == 0


@pytest.mark.usefixtures("ledger")
def test_the_picture_is_drawn(capsys: pytest.CaptureFixture[str]) -> None:
    release(capsys)
    assert run(capsys, "ledger", "status", "--plot", "budget.png").code == 0
    assert Path("budget.png").read_bytes().startswith(b"\x89PNG")
    assert_refused(run(capsys, "ledger", "status", "--plot", "budget.doc"), "--plot")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (
            ["ledger", "create", "visits", "--epsilon", "1", "--delta", "1e-6"],
            ["epsilon 0.5", "a second budget"],
        ),
        (["ledger", "create", "other", "--epsilon", "-1", "--delta", "1e-6"], ["epsilon"]),
        (["ledger", "create", "other", "--epsilon", "1", "--delta", "1"], ["delta"]),
        (["ledger", "create", "other", "--epsilon", "1", "--delta", "1e-6", "--reserve", "2"], ["reserve"]),
        (["ledger", "create", "other", "--epsilon", "1", "--delta", "1e-6", "--blocks", "a,,b"], ["blocks"]),
        (["ledger", "create", "other", "--epsilon", "1", "--delta", "1e-6", "--blocks", "a,a"], ["blocks"]),
        (["ledger", "create", "other", "--epsilon", "1", "--delta", "1e-6", "--rule", "sum"], ["--rule"]),
        (["ledger", "reserve", "nowhere.json:3", "--dataset", "visits"], ["nowhere"]),
        (["ledger", "reserve", "plan.json:x", "--dataset", "visits"], ["TIMES"]),
        (["ledger", "reserve", "plan.json:0", "--dataset", "visits"], ["TIMES"]),
        (["ledger", "reserve", "plan.json", "--dataset", "nobody"], ["known: visits"]),
        (["ledger", "price", "plan.json", "--blocks", "north"], ["declared when the budget is made"]),
        (["ledger", "status", "nobody"], ["known: visits"]),
        (["ledger", "history", "nobody"], ["known: visits"]),
        (["ledger", "price", "plan.json", "--dataset", "nobody"], ["known: visits"]),
        (["ledger", "price", "nowhere.json"], ["nowhere.json"]),
        (["ledger", "status", "--ledger", "nowhere.db"], ["nowhere.db"]),
        (["ledger", "status", "--ledger", "plan.json"], ["plan.json"]),
        (["release", "plan.json", "1234"], ["--dataset"]),
        (["release", "plan.json", "1234", "--dataset", "nobody"], ["known: visits"]),
        (["release", "plan.json", "1234x", "--dataset", "visits"], ["NUMBER must be a number"]),
        (["release", "plan.json", "1234", "twelve", "--dataset", "visits"], ["NUMBER must be a number"]),
        (["release", "plan.json", "7", "--dataset", "visits", "--insecure-test-seed", "1"], ["ledger"]),
    ],
)
def test_mistakes_are_refused_and_cost_nothing(
    ledger: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], words: list[str]
) -> None:
    before = ledger.read_bytes()
    assert_refused(run(capsys, *arguments), *words)
    assert ledger.read_bytes() == before
    assert {path.name for path in ledger.parent.iterdir()} == {
        "pbdp-ledger.db",
        "plan.json",
        "state",
        "keys",
    }


def test_nothing_of_a_ledger_is_taken_without_one(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert_refused(run(capsys, "release", "plan.json", "7", "--key", "march"), "--ledger")
    assert_refused(run(capsys, "ledger", "create", "x", "--epsilon", "0", "--delta", "1e-6"), "epsilon")
    assert not (here / "pbdp-ledger.db").exists()


CREATE = ("ledger", "create", "visits", "--epsilon", "0.5", "--delta", "1e-6")


def _leave_an_empty_file(here: Path) -> None:
    (here / "pbdp-ledger.db").touch()


def _leave_a_ledger_without_witness(here: Path) -> None:
    Ledger.create(here / "pbdp-ledger.db").close()
    shutil.rmtree(here / "state")


def _leave_nothing_undone(_: Path) -> None:
    assert run_command(*CREATE).code == 0


@pytest.mark.parametrize(
    "leave", [_leave_an_empty_file, _leave_a_ledger_without_witness, _leave_nothing_undone]
)
def test_a_creation_that_was_broken_off_can_be_repeated(
    here: Path, capsys: pytest.CaptureFixture[str], leave: Callable[[Path], None]
) -> None:
    leave(here)
    assert run(capsys, *CREATE).code == 0
    assert release(capsys, "--ledger", "pbdp-ledger.db").code == 0
    # from then on it is what it is
    assert run(capsys, *CREATE).code == 0
    assert_refused(run(capsys, *CREATE, "--note", "x"), "note 'x'", "A budget never changes")


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # files that were left open
def test_a_creation_that_is_interrupted_anywhere_can_be_repeated(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupt(_number: int, _frame: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    codes = []
    try:
        began = time.perf_counter()
        assert run(capsys, *CREATE).code == 0
        usual = time.perf_counter() - began
        for number in range(30):
            place = ("--ledger", f"{number}.db")
            try:
                signal.setitimer(signal.ITIMER_REAL, usual * (number + 1) / 30)
                codes.append(run(capsys, *CREATE, *place).code)
                signal.setitimer(signal.ITIMER_REAL, 0)
            except KeyboardInterrupt:  # after the end
                codes.append(0)
            assert run(capsys, *CREATE, *place).code == 0
            assert release(capsys, *place).code == 0
            assert (here / f"{number}.db").is_file()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert 130 in codes


def test_a_fresh_home_needs_trust_and_says_so_on_every_release(
    ledger: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert release(capsys, "--key", "a").code == 0
    shutil.rmtree(ledger.parent / "state")
    assert run(capsys, "ledger", "status").code == 0
    assert_refused(release(capsys, "--key", "b"), "has no witness of it", "--trust-ledger")
    for key in ("b", "a"):
        shutil.rmtree(ledger.parent / "state", ignore_errors=True)  # as a container does
        # a process of its own: pytest takes what is logged
        asked = ("plan.json", "1234", "--dataset", "visits", "--key", key, "--again")
        done = run_command("release", *asked, "--trust-ledger")
        assert done.code == 0
        assert "is taken on trust" in done.err
    assert "trust" not in release(capsys, "--key", "b").err


def test_a_ledger_that_is_removed_is_not_made_again_by_chance(
    ledger: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ledger.unlink()
    assert_refused(run(capsys, *CREATE), "which this machine knows, is gone", "--trust-ledger")
    assert not ledger.exists()
    assert run(capsys, *CREATE, "--trust-ledger").code == 0
    assert release(capsys).code == 0


def test_the_drill_of_the_security_page(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What docs/security.md promises of backups, and what it says is not noticed."""
    assert run(capsys, "ledger", "create", "visits", "--epsilon", "3", "--delta", "1e-6").code == 0
    ledger, state, place = here / "pbdp-ledger.db", here / "state", ("--ledger", "pbdp-ledger.db")
    march = release(capsys, *place, "--key", "march")
    backup = ledger.read_bytes()
    shutil.copytree(state, here / "old state")
    assert run(capsys, "ledger", "export", "-o", "export.jsonl").code == 0
    assert verify_export((here / "export.jsonl").read_text().splitlines()).sound
    assert release(capsys, *place, "--key", "april", "--again").code == 0
    spent = json.loads(run(capsys, "ledger", "status", "--json").out)["datasets"][0]["spent"]

    ledger.write_bytes(backup)
    for asked in (("ledger", "status"), ("ledger", "history"), ("ledger", "export")):
        assert_refused(run(capsys, *asked), "older state", "ledger repair")
    for more in ((), ("--trust-ledger",)):
        assert_refused(release(capsys, *place, "--key", "april", "--again", *more), "older state")
    assert run(capsys, "ledger", "verify").code == 1
    assert checked(run(capsys, "ledger", "repair", "--gap", "known", "--json").out)["gap"] == "known"
    assert run(capsys, "ledger", "verify").code == 0
    assert json.loads(run(capsys, "ledger", "status", "--json").out)["datasets"][0]["spent"] == spent
    assert release(capsys, *place, "--key", "march").out == march.out

    # not promised: what takes the witness back too is not noticed
    ledger.write_bytes(backup)
    shutil.rmtree(state)
    (here / "old state").replace(state)
    assert release(capsys, *place, "--key", "april", "--again").code == 0


def test_a_key_is_brought_to_another_machine_rotated_and_replaced(
    ledger: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    here = ledger.parent
    assert release(capsys, "--key", "a").code == 0
    assert run(capsys, "ledger", "key", "export", "-o", "keys.json").code == 0
    assert (here / "keys.json").stat().st_mode & 0o777 == 0o600
    assert_refused(run(capsys, "ledger", "key", "export", "-o", "keys.json"), "which exists")
    assert run(capsys, "ledger", "export", "-o", "export.jsonl").code == 0

    monkeypatch.setenv("PBDP_KEYS", str(here / "other keys"))
    status = run(capsys, "ledger", "status")
    assert status.code == 0
    assert "can only be read" in status.err
    again = ("--again", "--key", "b")
    assert_refused(release(capsys, *again), "Nothing is spent", "pbdp ledger key import")
    assert_refused(run(capsys, "ledger", "key", "export", "-o", "none.json"), "does not have its key")
    assert_refused(
        run(capsys, "ledger", "key", "import", "plan.json"), "what `pbdp ledger key export` writes"
    )
    assert_refused(
        run(capsys, "ledger", "key", "import", str(ledger)), "what `pbdp ledger key export` writes"
    )
    assert run(capsys, "ledger", "key", "import", "keys.json").code == 0
    assert release(capsys, *again).code == 0

    rotated = json.loads(run(capsys, "ledger", "key", "rotate", "--json").out)
    assert rotated["key"] in str(list((here / "other keys").iterdir()))
    verified = run(capsys, "ledger", "verify", "--against", "export.jsonl")
    assert verified.code == 0
    assert "Every hash, MAC, total" in verified.out
    assert "The export ends at record 3." in verified.err

    shutil.rmtree(here / "other keys")
    assert "MACs were not checked" in run(capsys, "ledger", "verify").err
    assert_refused(
        run(capsys, "ledger", "key", "replace", "--from", "missing.jsonl"), "--from must be readable"
    )
    assert_refused(run(capsys, "ledger", "key", "replace", "--from", "plan.json"), "--from must be sound")
    replaced = run(capsys, "ledger", "key", "replace", "--from", "export.jsonl")
    assert replaced.code == 0
    assert "pbdp ledger history" in replaced.out
    assert run(capsys, "ledger", "create", "stays", "--epsilon", "1", "--delta", "1e-6").code == 0
    assert run(capsys, "ledger", "verify").code == 0


def test_a_ledger_that_was_taken_back_is_told_from_one_that_was_rewritten(
    ledger: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert release(capsys, "--key", "a").code == 0
    older = ledger.read_bytes()
    assert release(capsys, "--key", "b", "--again").code == 0
    assert run(capsys, "ledger", "export", "-o", "export.jsonl").code == 0
    ledger.write_bytes(older)
    shutil.rmtree(ledger.parent / "state")  # on another machine
    assert run(capsys, "ledger", "verify").code == 0
    found = run(capsys, "ledger", "verify", "--against", "export.jsonl")
    assert found.code == 1
    assert "taken back to an older state: it ends at record 3, unchanged" in found.out
    assert release(capsys, "--key", "b", "--again", "--trust-ledger").code == 0
    found = run(capsys, "ledger", "verify", "--against", "export.jsonl")
    assert found.code == 1
    assert "rewritten: record 4 is not the one in the export" in found.out
