"""A ledger that was taken back to an older state is refused, and its gap is counted as the operator says."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import get_args

import pytest

from pbdp.errors import InputError
from pbdp.ledger import BudgetExceededError, Ledger, LedgerError, RolledBackError
from pbdp.ledger.errors import DatasetExistsError, KeyReusedError
from pbdp.ledger.guard import Gap
from pbdp.ledger.keys import state_folder
from tests.ledger.asking import RULE, ledger_with_visits, plan_number, request, spend
from tests.ledger.tampering import take_back


def test_a_ledger_behind_its_witness_is_refused(url: str) -> None:
    with ledger_with_visits(url) as ledger:
        for number in range(3):
            spend(ledger, number)
    take_back(url, 5)
    with pytest.raises(RolledBackError) as refused:
        Ledger.open(url)
    assert (refused.value.found, refused.value.known, refused.value.diverged) == (5, 7, False)
    assert "pbdp ledger recover --gap known" in str(refused.value)


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
    with Ledger.recover(url, "known") as ledger:
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
    with Ledger.recover(url, "known") as ledger:
        assert ledger.dataset("visits").spent == {"renyi": 10}


def test_an_unknown_gap_leaves_nothing(url: str) -> None:
    with ledger_with_visits(url) as ledger:
        spend(ledger, 1)
        spend(ledger, 2)
    take_back(url, 3)
    with Ledger.recover(url, "all") as ledger:
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
    with Ledger.recover(url, "known") as ledger:
        assert ledger.dataset("visits").spent == {"renyi": 100}
        assert ledger.verify().sound


def test_a_lost_list_of_heads_only_counts_more(url: str, state: Path) -> None:
    with ledger_with_visits(url) as ledger:
        spend(ledger, 1)
        spend(ledger, 2)
        (state / f"{ledger.identity}.heads").unlink()
    take_back(url, 3)
    with Ledger.recover(url, "known") as ledger:
        # nobody knows which of them were there before
        assert ledger.dataset("visits").spent == {"renyi": 100}


def test_a_cut_list_of_heads_goes_on_in_step(url: str, state: Path) -> None:
    with ledger_with_visits(url) as ledger:
        spend(ledger, 1)
        heads = state / f"{ledger.identity}.heads"
        heads.write_bytes(heads.read_bytes()[:-17])
        spend(ledger, 2)
        spend(ledger, 3)
    take_back(url, 5)
    with Ledger.recover(url, "known") as ledger:
        assert ledger.dataset("visits").spent == {"renyi": 30}


@pytest.mark.parametrize("gap", get_args(Gap))
def test_what_was_open_before_a_recovery_is_void(url: str, gap: Gap) -> None:
    """The package may have been used up in what was lost, and the waiting request answered."""
    with Ledger.create(url) as ledger:
        ledger.create_dataset("visits", {"renyi": 1000}, RULE, "add/remove")
        ledger.release(request(package=3, key="answered"), lambda: b"kept")
        waiting = ledger.reserve(request(package=3, key="waiting"))
        ledger.settle(waiting, b"left the program")
        ledger.release(request(package=3, key="lost"), lambda: b"left the program as well")
    take_back(url, 4)  # up to the waiting spend
    with Ledger.recover(url, gap) as ledger:
        with pytest.raises(KeyReusedError, match="after the last recovery"):
            ledger.release(request(package=3, key="waiting"), lambda: b"fresh noise")
        with pytest.raises(LedgerError, match="recovered after this was reserved"):
            ledger.settle(waiting, b"fresh noise")
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
    with Ledger.recover(url, "known") as ledger, pytest.raises(DatasetExistsError, match="was lost"):
        ledger.create_dataset("trips", {"renyi": 100}, RULE, "add/remove")
    take_back(url, 1)
    with Ledger.recover(url, "known") as ledger:
        for name in ("stays", "trips"):
            with pytest.raises(DatasetExistsError, match="was lost"):
                ledger.create_dataset(name, {"renyi": 100}, RULE, "add/remove")
        ledger.create_dataset("other", {"renyi": 100}, RULE, "add/remove")
        assert ledger.verify().sound


def test_there_is_nothing_to_recover_in_a_ledger_that_is_up_to_date(url: str, state: Path) -> None:
    ledger_with_visits(url).close()
    with pytest.raises(InputError, match="no gap to count"):
        Ledger.recover(url, "known")
    shutil.rmtree(state)
    with pytest.raises(InputError, match="known to this machine"):
        Ledger.recover(url, "all")
    with pytest.raises(InputError, match='gap must be "known" or "all"'):
        Ledger.recover(url, "some")  # type: ignore[arg-type]


def test_what_a_crashed_process_left_unsaid_is_said_before_an_answer_leaves(
    url: str, state: Path, tmp_path: Path
) -> None:
    """A retry finds the answer that another process stored without telling the witness; then it leaves."""
    with ledger_with_visits(url) as ledger:
        reservation = ledger.reserve(request(key="k"))
        shutil.copytree(state, tmp_path / "before")
        ledger.settle(reservation, b"x")
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
    with Ledger.recover(url, "known") as ledger:
        assert ledger.dataset("visits").spent == {"renyi": 21}
    monkeypatch.setenv("PBDP_STATE", there)
    with pytest.raises(RolledBackError):
        Ledger.open(url)
    with Ledger.recover(url, "known") as ledger:
        # 300 were lost, and 20 counted elsewhere: the two do not add up
        assert ledger.dataset("visits").spent["renyi"] == 1000
        assert ledger.verify().sound
    monkeypatch.setenv("PBDP_STATE", here)
    with Ledger.open(url) as ledger:
        assert ledger.dataset("visits").spent["renyi"] >= 321
