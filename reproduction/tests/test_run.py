"""The runner: every case once, nothing twice, and what was finished outlasts any ending."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from pbdp.errors import InputError
from reproduction.experiment import Cause, Finding, judged
from reproduction.kept import CASES, KeptCases, Outcome, opened_folder
from reproduction.run import (
    CaseError,
    InterruptedRunError,
    Standing,
    compute_missing,
    computed,
    outcome_of,
)
from reproduction.tests.toy import COUNT, dies, fails_at_three, toy

PROGRAM = """
import sys
from pathlib import Path
from reproduction.kept import KeptCases
from reproduction.run import compute_missing
from reproduction.tests.toy import toy
if __name__ == "__main__":
    folder = Path(sys.argv[1])
    kept = KeptCases(folder=folder / "cases", code="c")
    experiment = toy(folder / "log", pause=0.4)
    compute_missing([experiment], quick=False, kept=kept, tell=lambda standing: None, workers=2)
"""


def quiet(standing: Standing) -> None:
    del standing


@pytest.fixture
def kept(tmp_path: Path) -> KeptCases:
    (tmp_path / CASES).mkdir()
    return KeptCases(folder=tmp_path / CASES, code="c")


def logged(log: Path) -> list[int]:
    return [int(line) for line in log.read_text(encoding="utf-8").split()] if log.exists() else []


def test_every_case_is_computed_once_and_rows_come_in_order(tmp_path: Path, kept: KeptCases) -> None:
    experiment = toy(tmp_path / "log")
    seen: list[Standing] = []
    assert outcome_of(experiment, False, kept) is None
    compute_missing([experiment], quick=False, kept=kept, tell=seen.append, workers=2)
    assert sorted(logged(tmp_path / "log")) == list(range(COUNT))
    outcome = outcome_of(experiment, False, kept)
    assert outcome is not None
    assert outcome.rows == [{"number": n, "square": float(n * n), "odd": n % 2 == 1} for n in range(COUNT)]
    assert outcome.seconds > 0
    assert (seen[0].done, seen[-1].done, seen[-1].total) == (0, COUNT, COUNT)
    assert [standing.done for standing in seen] == sorted(standing.done for standing in seen)
    assert seen[0].seconds_left is None
    assert seen[-1].seconds_left == 0


def test_what_is_kept_is_not_computed_again(tmp_path: Path, kept: KeptCases) -> None:
    first, second = toy(tmp_path / "log"), toy(tmp_path / "other", number=2, alone=True)
    compute_missing([first], quick=True, kept=kept, tell=quiet)
    assert sorted(logged(tmp_path / "log")) == list(range(COUNT // 2))
    compute_missing([first, second], quick=False, kept=kept, tell=quiet)
    assert sorted(logged(tmp_path / "log")) == list(range(COUNT))
    # alone means one after another
    assert logged(tmp_path / "other") == list(range(COUNT))
    compute_missing([first, second], quick=False, kept=kept, tell=quiet)
    assert len(logged(tmp_path / "log")) == len(logged(tmp_path / "other")) == COUNT


@pytest.mark.parametrize(
    "harm",
    [
        lambda text: text[: len(text) // 2],
        lambda _: "",
        lambda text: text.replace('"square": 4.0', '"square": 5.0'),
        lambda text: text.replace('"number": 2', '"number": 1'),
        lambda text: text.replace('"code": "c"', '"code": "d"'),
        lambda _: json.dumps([1, 2]),
        lambda _: json.dumps({"rows": None}),
    ],
    ids=["half", "empty", "changed", "other settings", "other code", "a list", "incomplete"],
)
def test_damaged_files_are_computed_again(
    tmp_path: Path, kept: KeptCases, harm: Callable[[str], str]
) -> None:
    experiment = toy(tmp_path / "log", alone=True)
    compute_missing([experiment], quick=True, kept=kept, tell=quiet)
    whole = outcome_of(experiment, True, kept)
    path = kept.path(experiment, experiment.cases(True)[2])
    text = path.read_text(encoding="utf-8")
    assert harm(text) != text
    path.write_text(harm(text), encoding="utf-8")
    assert outcome_of(experiment, True, kept) is None
    compute_missing([experiment], quick=True, kept=kept, tell=quiet)
    assert logged(tmp_path / "log") == [0, 1, 2, 3, 2]
    again = outcome_of(experiment, True, kept)
    assert again is not None
    assert whole is not None
    assert again.rows == whole.rows


def test_other_code_or_settings_are_other_cases(tmp_path: Path, kept: KeptCases) -> None:
    experiment = toy(tmp_path / "log", alone=True)
    settings = experiment.cases(True)[0]
    kept.store(experiment, settings, Outcome(rows=[{"a": 1}], seconds=1.0))
    assert kept.load(experiment, settings) == Outcome(rows=[{"a": 1}], seconds=1.0)
    assert kept.load(experiment, settings | {"pause": 1.0}) is None
    assert replace(kept, code="d").load(experiment, settings) is None
    assert kept.load(toy(tmp_path / "log", number=2), settings) is None
    kept.clear(toy(tmp_path / "log", number=2))
    assert kept.load(experiment, settings) is not None
    kept.clear(experiment)
    assert kept.load(experiment, settings) is None


def test_a_failing_case_is_named_and_the_others_are_kept(tmp_path: Path, kept: KeptCases) -> None:
    experiment = replace(toy(tmp_path / "log", alone=True), compute=fails_at_three)
    with pytest.raises(CaseError, match=r"1-toy failed at .*\"number\":3.*ZeroDivisionError: three"):
        compute_missing([experiment], quick=False, kept=kept, tell=quiet)
    assert len(list(kept.folder.glob("*.json"))) == 3
    pooled = replace(experiment, alone=False)
    with pytest.raises(CaseError, match="three is too many"):
        compute_missing([pooled], quick=False, kept=kept, tell=quiet, workers=2)


def test_a_worker_that_dies_is_an_error_and_not_a_wait(tmp_path: Path, kept: KeptCases) -> None:
    experiment = replace(toy(tmp_path / "log"), compute=dies)
    with pytest.raises(CaseError, match="a worker process died"):
        compute_missing([experiment], quick=True, kept=kept, tell=quiet, workers=2)


def test_an_interruption_says_how_to_go_on(tmp_path: Path, kept: KeptCases) -> None:
    def interrupt(standing: Standing) -> None:
        if standing.done == 2:
            raise KeyboardInterrupt

    experiment = toy(tmp_path / "log", alone=True)
    with pytest.raises(InterruptedRunError, match=f"2 of {COUNT} cases done. Run the same command") as caught:
        compute_missing([experiment], quick=False, kept=kept, tell=interrupt)
    assert caught.value.exit_code == 130
    compute_missing([experiment], quick=False, kept=kept, tell=quiet)
    assert logged(tmp_path / "log") == list(range(COUNT))


def test_a_killed_run_goes_on_where_it_stopped_and_leaves_no_process(tmp_path: Path) -> None:
    (tmp_path / CASES).mkdir()
    program = tmp_path / "program.py"
    program.write_text(PROGRAM, encoding="utf-8")
    root = str(Path(__file__).parents[2])
    run = subprocess.Popen(
        [sys.executable, str(program), str(tmp_path)], env=os.environ | {"PYTHONPATH": root}
    )
    deadline = time.monotonic() + 30
    while len(list((tmp_path / CASES).glob("*.json"))) < 2 and time.monotonic() < deadline:
        time.sleep(0.02)
    children = Path(f"/proc/{run.pid}/task/{run.pid}/children").read_text(encoding="utf-8").split()
    assert children
    run.send_signal(signal.SIGKILL)
    run.wait()
    finished = len(list((tmp_path / CASES).glob("*.json")))
    assert 2 <= finished < COUNT
    while any(Path(f"/proc/{child}").exists() for child in children) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(Path(f"/proc/{child}").exists() for child in children)
    begun = len(logged(tmp_path / "log"))
    kept = KeptCases(folder=tmp_path / CASES, code="c")
    experiment = toy(tmp_path / "log", pause=0.4)
    compute_missing([experiment], quick=False, kept=kept, tell=quiet, workers=2)
    assert len(logged(tmp_path / "log")) == begun + COUNT - finished
    assert outcome_of(experiment, False, kept) is not None


def test_only_plain_values_may_stand_in_a_row() -> None:
    with pytest.raises(TypeError, match="got a list"):
        computed(lambda _: [{"a": [1]}], {})  # type: ignore[dict-item]


def test_a_folder_with_other_things_is_refused(tmp_path: Path) -> None:
    fresh = opened_folder(str(tmp_path / "a" / "new"))
    assert opened_folder(str(fresh)) == fresh
    (fresh / "report.html").write_text("x", encoding="utf-8")
    assert opened_folder(str(fresh)) == fresh
    (tmp_path / "other").mkdir()
    assert opened_folder(str(tmp_path / "other")).is_dir()
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").write_text("x", encoding="utf-8")
    with pytest.raises(InputError, match="output must be a new folder or that of a reproduction"):
        opened_folder(str(tmp_path / "mine"))
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["thesis.tex"]
    with pytest.raises(InputError, match="which is a file"):
        opened_folder(str(tmp_path / "mine" / "thesis.tex"))
    with pytest.raises(InputError, match="a folder that can be written"):
        opened_folder("/proc/nothing")


def test_a_judged_claim_has_figures() -> None:
    with pytest.raises(InputError, match="figures must be given where a claim is judged"):
        Finding(text="It holds.", holds=True)
    with pytest.raises(InputError, match="figures must be finite"):
        Finding(text="It is large.", figures={"size": float("inf")})
    with pytest.raises(InputError, match="text must be a sentence"):
        Finding(text=" ")


def test_a_claim_that_does_not_hold_has_a_check_and_a_cause() -> None:
    figures, cause = {"size": 1.0}, Cause.MIXTURE
    with pytest.raises(InputError, match="check must be given where a claim does not hold"):
        Finding(text="It fails.", figures=figures, holds=False, cause=cause)
    with pytest.raises(InputError, match="cause must be given where a claim does not hold, and only there"):
        Finding(text="It fails.", figures=figures, holds=False, check=("1 < 2",))
    with pytest.raises(InputError, match="and only there"):
        Finding(text="It holds.", figures=figures, holds=True, cause=cause)
    assert judged("It fails.", figures, holds=False, cause=cause).check == ("size: 1",)
    assert judged("It holds.", figures, holds=True, cause=cause, check=("1 < 2",)).check == ()
