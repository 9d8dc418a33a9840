"""A ledger that was taken back to an older state is refused, and its gap is counted as the operator says."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from pbdp.errors import InputError
from pbdp.ledger import BudgetExceededError, Ledger, LedgerError, RolledBackError, verify_ledger
from pbdp.ledger.errors import DatasetExistsError, KeyReusedError
from pbdp.ledger.keys import state_folder
from tests.ledger.asking import RULE, ledger_with_visits, plan_number, request, spend
from tests.ledger.tampering import take_back, tamper


def test_a_ledger_behind_its_witness_is_refused(url: str) -> None:
    with ledger_with_visits(url) as ledger:
        for number in range(3):
            spend(ledger, number)
    take_back(url, 5)
    with pytest.raises(RolledBackError) as refused:
        Ledger.open(url)
    assert (refused.value.found, refused.value.known, refused.value.diverged) == (5, 7, False)
    assert "pbdp ledger repair --gap known" in str(refused.value)


def test_even_a_lost_answer_alone_is_noticed(url: str) -> None:
    """Else its retry would draw fresh noise for a request that was answered."""
    with ledger_with_visits(url) as ledger:
        spend(ledger, 1)
    take_back(url, 2)
    with pytest.raises(RolledBackError):
        Ledger.open(url)


def test_a_copy_put_back_is_refused_and_the_newer_file_is_welcome_again(file: Path, tmp_path: Path) -> None:
    with ledger_with_visits(str(file)) as ledger:
        spend(ledger, 1)
        shutil.copy(file, tmp_path / "backup")
        spend(ledger, 2)
    shutil.copy(file, tmp_path / "newer")
    shutil.copy(tmp_path / "backup", file)
    with pytest.raises(RolledBackError):
        Ledger.open(file)
    shutil.copy(tmp_path / "newer", file)
    with Ledger.open(file) as ledger:
        assert ledger.dataset("visits").spent == {"renyi": 20}


def test_a_process_that_has_it_open_notices_too(url: str) -> None:
    with ledger_with_visits(url) as ledger:
        for number in range(3):
            spend(ledger, number)
        take_back(url, 5)
        with pytest.raises(RolledBackError):
            spend(ledger, 4)
        with pytest.raises(RolledBackError):
            ledger.dataset("visits")


def test_a_process_that_knew_only_the_older_state_notices_by_the_witness(url: str) -> None:
    with ledger_with_visits(url) as ledger, Ledger.open(url) as idle:
        spend(ledger, 1)
        take_back(url, 1)
        with pytest.raises(RolledBackError):
            spend(idle, 2)


def test_a_known_gap_is_charged_exactly(url: str) -> None:
    with ledger_with_visits(url) as ledger:
        ledger.create_dataset("stays", {"renyi": 100}, RULE, "add/remove")
        spend(ledger, 1)
        spend(ledger, 2, cost=7)
        ledger.release(request(dataset="stays", plan=plan_number(3), cost={"renyi": 5}), lambda: b"x")
    take_back(url, 4)  # the first spend and its answer stay
    with Ledger.repair(url, "known") as ledger:
        assert ledger.dataset("visits").spent == {"renyi": 17}
        assert ledger.dataset("stays").spent == {"renyi": 5}
        recoveries = [entry for entry in ledger.history() if entry.kind == "recovery"]
        assert [(entry.dataset, entry.cost["renyi"]) for entry in recoveries] == [("stays", 5), ("visits", 7)]
        assert ledger.verify().sound
        spend(ledger, 4, cost=83)
        with pytest.raises(BudgetExceededError):
            spend(ledger, 5, cost=1)
    with Ledger.open(url) as ledger:
        assert ledger.verify().sound
        assert ledger.dataset("visits").remaining == {"renyi": 0}


def test_a_spend_without_an_answer_is_charged_too(url: str) -> None:
    with ledger_with_visits(url) as ledger:
        ledger.reserve(request())
    take_back(url, 1)
    with Ledger.repair(url, "known") as ledger:
        assert ledger.dataset("visits").spent == {"renyi": 10}


def test_an_unknown_gap_leaves_nothing(url: str) -> None:
    with ledger_with_visits(url) as ledger:
        spend(ledger, 1)
        spend(ledger, 2)
    take_back(url, 3)
    with Ledger.repair(url, "all") as ledger:
        assert ledger.dataset("visits").remaining == {"renyi": 0}
        assert ledger.verify().sound
        with pytest.raises(BudgetExceededError):
            spend(ledger, 3, cost=1)


def test_what_went_on_elsewhere_does_not_add_up_with_what_was_seen_here(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Restored, used on a machine that knew nothing, and brought back.

    A price holds for what was left when it was paid, so two branches are never added up: all of it counts.
    """
    with ledger_with_visits(url) as ledger:
        spend(ledger, 1, cost=1)
        spend(ledger, 2, cost=20)
    take_back(url, 3)
    here = state_folder()
    for number, cost in ((3, 4), (4, 8)):
        monkeypatch.setenv("PBDP_STATE", str(tmp_path / "elsewhere"))
        with Ledger.open(url, trust=True) as ledger:
            spend(ledger, number, cost=cost)
        monkeypatch.setenv("PBDP_STATE", str(here))
        # after the first spend it is as long as it was, after the second longer
        with pytest.raises(RolledBackError) as refused:
            Ledger.open(url)
        assert refused.value.diverged
    with Ledger.repair(url, "known") as ledger:
        assert ledger.dataset("visits").spent == {"renyi": 100}
        assert ledger.verify().sound


def test_a_lost_cache_only_counts_more(url: str, state: Path) -> None:
    with ledger_with_visits(url, limit=1000) as ledger:
        for number in range(100):
            spend(ledger, number)
        (state / f"{ledger.identity}.cache").unlink()
    take_back(url, 3)
    with Ledger.repair(url, "known") as ledger:
        # the witness knows the last records only, and not which of them were there before
        assert ledger.dataset("visits").spent == {"renyi": 1000}


def test_the_cache_and_the_witness_together_know_what_was_there_before(url: str) -> None:
    with ledger_with_visits(url, limit=1000) as ledger:
        for number in range(90):
            spend(ledger, number)
    for last in (177, 65, 3):
        take_back(url, last)
        with Ledger.repair(url, "known") as ledger:
            assert ledger.dataset("visits").spent == {"renyi": 900}


@pytest.mark.parametrize("gap", ["known", "all"])
def test_what_was_open_before_a_recovery_is_void(url: str, gap: str) -> None:
    """The package may have been used up in what was lost, and the waiting request answered."""
    with Ledger.create(url) as ledger:
        ledger.create_dataset("visits", {"renyi": 1000}, RULE, "add/remove")
        ledger.release(request(package=3, key="answered"), lambda: b"kept")
        waiting = ledger.reserve(request(package=3, key="waiting"))
        ledger.settle(waiting, lambda: b"left the program")
        ledger.release(request(package=3, key="lost"), lambda: b"left the program as well")
    take_back(url, 4)  # up to the waiting spend
    with Ledger.repair(url, gap) as ledger:
        with pytest.raises(KeyReusedError, match="after the last recovery"):
            ledger.release(request(package=3, key="waiting"), lambda: b"fresh noise")
        with pytest.raises(LedgerError, match="recovered after this was reserved"):
            ledger.settle(waiting, lambda: b"fresh noise")
        # an answer that is there is still the answer
        assert ledger.release(request(package=3, key="answered"), lambda: b"fresh noise") == b"kept"
        if gap == "known":
            assert ledger.reserve(request(package=3, key="new")).charged == {"renyi": 10}
        else:
            with pytest.raises(BudgetExceededError):
                ledger.reserve(request(package=3, key="new"))
        assert ledger.verify().sound


def test_a_dataset_that_was_lost_does_not_begin_anew(url: str) -> None:
    with ledger_with_visits(url) as ledger:
        ledger.create_dataset("stays", {"renyi": 100}, RULE, "add/remove")
        ledger.create_dataset("trips", {"renyi": 100}, RULE, "add/remove")
    take_back(url, 2)
    with Ledger.repair(url, "known") as ledger, pytest.raises(DatasetExistsError, match="was lost"):
        ledger.create_dataset("trips", {"renyi": 100}, RULE, "add/remove")
    take_back(url, 1)
    with Ledger.repair(url, "known") as ledger:
        for name in ("stays", "trips"):
            with pytest.raises(DatasetExistsError, match="was lost"):
                ledger.create_dataset(name, {"renyi": 100}, RULE, "add/remove")
        ledger.create_dataset("other", {"renyi": 100}, RULE, "add/remove")
        assert ledger.verify().sound


def test_there_is_nothing_to_repair_in_a_ledger_that_is_up_to_date(url: str, state: Path) -> None:
    ledger_with_visits(url).close()
    with pytest.raises(InputError, match="nothing to repair"):
        Ledger.repair(url, "known")
    shutil.rmtree(state)
    with pytest.raises(InputError, match="nothing to repair"):
        Ledger.repair(url, "all")
    with pytest.raises(InputError, match="gap must be known or all"):
        Ledger.repair(url, "some")


def test_what_a_crashed_process_left_unsaid_is_said_before_an_answer_leaves(
    url: str, state: Path, tmp_path: Path
) -> None:
    """A retry finds the answer that another process stored without telling the witness; then it leaves."""
    with ledger_with_visits(url) as ledger:
        reservation = ledger.reserve(request(key="k"))
        shutil.copytree(state, tmp_path / "before")
        ledger.settle(reservation, lambda: b"x")
        idle_memory = tmp_path / "before" / f"{ledger.identity}.json"
        witness = state / f"{ledger.identity}.json"
        told = witness.read_bytes()
        shutil.copy(idle_memory, witness)  # as if the process had died before it told
        assert ledger.release(request(key="k"), lambda: b"fresh noise") == b"x"
        assert witness.read_bytes() == told


def test_each_machine_counts_what_it_saw(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here, there = str(tmp_path / "here"), str(tmp_path / "there")
    monkeypatch.setenv("PBDP_STATE", here)
    with ledger_with_visits(url, limit=1000) as ledger:
        spend(ledger, 1, cost=1)
        spend(ledger, 2, cost=20)
    monkeypatch.setenv("PBDP_STATE", there)
    with Ledger.open(url, trust=True) as ledger:
        spend(ledger, 3, cost=300)
    take_back(url, 3)
    monkeypatch.setenv("PBDP_STATE", here)
    with Ledger.repair(url, "known") as ledger:
        assert ledger.dataset("visits").spent == {"renyi": 21}
    monkeypatch.setenv("PBDP_STATE", there)
    with pytest.raises(RolledBackError):
        Ledger.open(url)
    with Ledger.repair(url, "known") as ledger:
        # 300 were lost, and 20 counted elsewhere: the two do not add up
        assert ledger.dataset("visits").spent["renyi"] == 1000
        assert ledger.verify().sound
    monkeypatch.setenv("PBDP_STATE", here)
    with Ledger.open(url) as ledger:
        assert ledger.dataset("visits").spent["renyi"] >= 321


SPENT = 60
# What is done to a ledger of 14 records (see `_filled`), and what is then counted.
DAMAGE: dict[str, tuple[tuple[str, ...], int]] = {
    "nothing is missing but an answer": (("UPDATE record SET answer = NULL WHERE sequence = 7",), SPENT),
    "a record in the middle": (("UPDATE record SET payload = '{}' WHERE sequence = 6",), SPENT),
    "a record in the middle removed": (("DELETE FROM record WHERE sequence = 6",), SPENT),
    "an early record": (("UPDATE record SET mac = '' WHERE sequence = 2",), SPENT),
    "the last record": (("UPDATE record SET hash = 'x' WHERE sequence = 13",), SPENT),
    "all but the first two": (("DELETE FROM record WHERE sequence > 1",), SPENT),
    "the dataset's own record": (("DELETE FROM record WHERE sequence = 1",), 0),
    "a row that nobody wrote": (
        (
            "INSERT INTO record SELECT 14, time, kind, payload, previous, hash, key_id, mac, answer "
            "FROM record WHERE sequence = 12",
        ),
        100,
    ),
    "a row far behind": (("UPDATE record SET sequence = 9999 WHERE sequence = 13",), 100),
    "two rows exchanged": (
        tuple(
            f"UPDATE record SET sequence = {new} WHERE sequence = {old}"  # noqa: S608  # as a forger does
            for old, new in ((4, -5), (6, 4), (-5, 6))
        ),
        SPENT,
    ),
}


def _filled(url: str) -> dict[str, bytes]:
    answers = {}
    with ledger_with_visits(url) as ledger:
        for number in range(6):
            answers[f"key {number}"] = spend(ledger, number)
    return answers


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_ledger_goes_on_and_nothing_that_was_spent_is_forgotten(url: str, damage: str) -> None:
    answers = _filled(url)
    statements, counted = DAMAGE[damage]
    tamper(url, *statements)
    assert not verify_ledger(url).sound
    with Ledger.repair(url) as ledger:
        assert ledger.notes[0].startswith("The ledger goes on from record ")
        assert ledger.verify().fault is None
        if not counted:
            assert "visits: this dataset is lost" in " ".join(ledger.notes)
            with pytest.raises(DatasetExistsError, match="was lost"):
                ledger.create_dataset("visits", {"renyi": 100}, RULE, "add/remove")
            return
        assert ledger.dataset("visits").spent == {"renyi": counted}
        for number, (key, answer) in enumerate(answers.items()):
            asked = request(plan=plan_number(number), key=key, cost={"renyi": 10})
            try:
                # one whose payment is lost is paid for once more
                got = ledger.release(asked, lambda: b"paid again")
                assert got in (answer, b"paid again")
            except (BudgetExceededError, KeyReusedError, LedgerError):
                continue
        now = ledger.dataset("visits").spent["renyi"]
        assert now <= 100
    with Ledger.open(url) as ledger:
        assert ledger.verify().sound
        assert ledger.dataset("visits").spent == {"renyi": now}
        with pytest.raises(InputError, match="nothing to repair"):
            Ledger.repair(url)


FILES = {
    "a page in the middle": lambda content: content[: 5 * 4096] + bytes(4096) + content[6 * 4096 :],
    "the end cut off": lambda content: content[:-4096],
    "a bit of a payload": lambda content: content.replace(b'"visits"', b'"visitt"', 1),
}


@pytest.mark.parametrize("damage", FILES)
def test_a_damaged_file_goes_on_with_what_can_be_read(file: Path, damage: str) -> None:
    with ledger_with_visits(str(file), limit=1000) as ledger:
        for number in range(40):
            spend(ledger, number)
    whole = file.read_bytes()
    file.write_bytes(FILES[damage](whole))
    damaged = file.read_bytes()
    assert not verify_ledger(file).sound
    with Ledger.repair(file) as ledger:
        lost = any("is lost" in note for note in ledger.notes)
        assert lost or ledger.dataset("visits").spent["renyi"] >= 400
    assert verify_ledger(file).sound
    # what was there is kept
    (old,) = file.parent.glob("budget.db.damaged-*")
    assert old.read_bytes() == damaged


def test_a_changed_schema_is_repaired_with_all_that_was_in_it(file: Path) -> None:
    _filled(str(file))
    with closing(sqlite3.connect(file)) as owner:
        owner.execute("DROP TRIGGER not_to_delete")
        owner.execute("ALTER TABLE record RENAME TO hidden")
        owner.execute("CREATE VIEW record AS SELECT * FROM hidden")
        owner.commit()
    with pytest.raises(LedgerError, match="pbdp ledger repair"):
        Ledger.open(file)
    with Ledger.repair(file) as ledger:
        assert ledger.dataset("visits").spent == {"renyi": SPENT}
        assert spend(ledger, 2) == b"2"


def test_without_its_first_record_nothing_is_believed(url: str) -> None:
    _filled(url)
    tamper(url, "DELETE FROM record WHERE sequence = 0")
    with pytest.raises(LedgerError, match="so nothing in it can be believed"):
        Ledger.repair(url)


def test_what_is_in_doubt_counts_as_spent_where_no_witness_saw_it(url: str, state: Path) -> None:
    _filled(url)
    tamper(url, "UPDATE record SET payload = '{}' WHERE sequence = 6")
    shutil.rmtree(state)
    with Ledger.repair(url) as ledger:
        assert ledger.dataset("visits").remaining == {"renyi": 0}
        assert "all of its budget counts as spent" in " ".join(ledger.notes)


def test_without_a_witness_all_is_in_doubt(url: str, state: Path) -> None:
    """Whoever can write to the store could take it back first, and then break something that is repaired."""
    _filled(url)
    take_back(url, 3)
    tamper(url, "UPDATE record SET answer = NULL WHERE sequence = 3")
    shutil.rmtree(state)
    with Ledger.repair(url) as ledger:
        assert ledger.dataset("visits").remaining == {"renyi": 0}
        with pytest.raises(BudgetExceededError):
            spend(ledger, 7)


def test_payments_that_no_witness_saw_are_in_doubt_behind_a_damaged_record(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another machine went on from an older state; its payments have numbers that were given here, too."""
    with ledger_with_visits(url) as ledger:
        for number in range(4):
            spend(ledger, number)
    take_back(url, 3)
    here = state_folder()
    monkeypatch.setenv("PBDP_STATE", str(tmp_path / "elsewhere"))
    with Ledger.open(url, trust=True) as ledger:
        spend(ledger, 10)
        spend(ledger, 11)
    monkeypatch.setenv("PBDP_STATE", str(here))
    tamper(url, "UPDATE record SET payload = '{}' WHERE sequence = 4")
    with Ledger.repair(url) as ledger:
        assert ledger.dataset("visits").spent == {"renyi": 100}
