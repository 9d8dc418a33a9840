"""`pbdp ledger` and releases that it pays for, as people run them."""

from __future__ import annotations

import json
import shutil
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from pbdp.ledger import Ledger, verify_export
from tests.cli.commands import Done, assert_refused, run, run_command

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
def test_a_ledger_from_its_first_line_to_the_end_of_its_budget() -> None:
    made = run_command("ledger", "create", "visits", "--epsilon", "0.5", "--delta", "1e-6")
    assert (made.code, made.err) == (0, "")
    assert "pbdp-ledger.db" in made.out
    assert "Rényi filter" in made.out
    place = ["--ledger", "pbdp-ledger.db", "--dataset", "visits"]
    first = run_command("release", "plan.json", "1234", *place, "--key", "march")
    again = run_command("release", "plan.json", "1234", *place, "--key", "march")
    assert first.code == again.code == 0
    assert first.out == again.out
    assert "of the budget of visits is spent now" in first.err
    assert "nothing was drawn or spent" in again.err
    codes = [run_command("release", "plan.json", "1234", *place, "--again").code for _ in range(6)]
    assert codes[0] == 0
    assert codes[-1] == 3
    assert run_command("ledger", "verify").code == 0
    assert "visits" in run_command("ledger", "status").out


@pytest.mark.usefixtures("ledger")
def test_status_history_and_price_for_machines(capsys: pytest.CaptureFixture[str]) -> None:
    release(capsys, "--key", "a", "--query", "visits in March")
    status = json.loads(run(capsys, "ledger", "status", "--json").out)["datasets"][0]
    assert status["dataset"] == "visits"
    assert 0 < status["share_spent"] < 1
    assert status["spent"]["renyi"] + status["remaining"]["renyi"] == status["limits"]["renyi"]
    history = json.loads(run(capsys, "ledger", "history", "--json").out)
    assert [entry["kind"] for entry in history] == ["dataset", "spend"]
    assert history[1]["query"] == "visits in March"
    price = json.loads(run(capsys, "ledger", "price", "plan.json", "--json").out)["visits"]
    assert price["fits"]
    assert price["cost"] == status["spent"]
    assert "1234" not in json.dumps([status, history, price])


@pytest.mark.usefixtures("ledger")
def test_words_for_people(capsys: pytest.CaptureFixture[str]) -> None:
    release(capsys, "--query", "visits in March")
    assert "visits in March" in run(capsys, "ledger", "history", "visits").out
    status = run(capsys, "ledger", "status", "visits").out
    assert "Rényi loss at order" in status
    assert "left" in status
    assert "would be left" in run(capsys, "ledger", "price", "plan.json", "--dataset", "visits").out


@pytest.mark.usefixtures("ledger")
def test_what_does_not_fit_has_exit_code_three_and_spends_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    while (done := release(capsys, "--again")).code == 0:
        pass
    assert done.code == 3
    assert done.out == ""
    assert "Nothing was spent" in done.err
    before = run(capsys, "ledger", "status", "--json").out
    assert release(capsys, "--again").code == 3
    assert run(capsys, "ledger", "status", "--json").out == before
    # the plan's one release is used up: without --again it is refused as well
    assert release(capsys).code == 3


@pytest.mark.usefixtures("ledger")
def test_json_says_who_counts(capsys: pytest.CaptureFixture[str]) -> None:
    record = json.loads(release(capsys, "--json").out)
    assert "pbdp-ledger.db" in record["releases_enforced"]


@pytest.mark.usefixtures("here")
def test_a_batch_is_fixed_in_advance(capsys: pytest.CaptureFixture[str]) -> None:
    made = run(
        capsys, "ledger", "create", "weekly", "--epsilon", "1", "--delta", "1e-6", "--plan", "plan.json:2"
    )
    assert made.code == 0
    assert "Batch" in made.out
    too_much = run(
        capsys, "ledger", "create", "much", "--epsilon", "0.1", "--delta", "1e-6", "--plan", "plan.json:9"
    )
    assert_refused(too_much, "epsilon", "at least")


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
    assert_refused(release(capsys), "older state", "recover")
    assert run(capsys, "ledger", "recover", "--gap", "known").code == 0
    assert json.loads(run(capsys, "ledger", "status", "--json").out)["datasets"][0]["spent"] == spent
    assert release(capsys).code == 0


@pytest.mark.usefixtures("ledger")
def test_the_picture_is_drawn(capsys: pytest.CaptureFixture[str]) -> None:
    release(capsys)
    assert run(capsys, "ledger", "status", "--plot", "budget.png").code == 0
    assert Path("budget.png").read_bytes().startswith(b"\x89PNG")
    assert_refused(run(capsys, "ledger", "status", "--plot", "budget.doc"), "plot file")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["ledger", "create", "visits", "--epsilon", "1", "--delta", "1e-6"], ["new name"]),
        (["ledger", "create", "other", "--epsilon", "-1", "--delta", "1e-6"], ["epsilon"]),
        (["ledger", "create", "other", "--epsilon", "1", "--delta", "0"], ["delta"]),
        (["ledger", "create", "other", "--epsilon", "1", "--delta", "1e-6", "--rule", "batch"], ["plans"]),
        (
            ["ledger", "create", "o", "--epsilon", "1", "--delta", "1e-6", "--plan", "nowhere.json"],
            ["nowhere"],
        ),
        (["ledger", "create", "o", "--epsilon", "1", "--delta", "1e-6", "--plan", "plan.json:x"], ["TIMES"]),
        (["ledger", "status", "nobody"], ["known: visits"]),
        (["ledger", "history", "nobody"], ["known: visits"]),
        (["ledger", "price", "plan.json", "--dataset", "nobody"], ["known: visits"]),
        (["ledger", "price", "nowhere.json"], ["nowhere.json"]),
        (["ledger", "status", "--ledger", "nowhere.db"], ["nowhere.db"]),
        (["ledger", "status", "--ledger", "plan.json"], ["plan.json"]),
        (["release", "plan.json", "1234"], ["--dataset"]),
        (["release", "plan.json", "1234", "--dataset", "nobody"], ["known: visits"]),
        (["release", "plan.json", "1234x", "--dataset", "visits"], ["number must be a number"]),
        (["release", "plan.json", "1234", "twelve", "--dataset", "visits"], ["number must be a number"]),
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
    for more in ((), ("--note", "x")):
        assert_refused(run(capsys, *CREATE, *more), "its budget cannot be changed")


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
        assert_refused(run(capsys, *asked), "older state", "recover")
    for more in ((), ("--trust-ledger",)):
        assert_refused(release(capsys, *place, "--key", "april", "--again", *more), "older state")
    assert run(capsys, "ledger", "verify").code == 1
    assert run(capsys, "ledger", "recover", "--gap", "known").code == 0
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
    verified = run(capsys, "ledger", "verify", "--against", "export.jsonl", "--all")
    assert verified.code == 0
    assert "Every hash, MAC, total" in verified.out
    assert "The export ends at record 3." in verified.err

    shutil.rmtree(here / "other keys")
    assert "MACs were not checked" in run(capsys, "ledger", "verify").err
    assert_refused(
        run(capsys, "ledger", "key", "replace", "--from", "missing.jsonl"), "export must be readable"
    )
    assert_refused(run(capsys, "ledger", "key", "replace", "--from", "plan.json"), "export must be sound")
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
