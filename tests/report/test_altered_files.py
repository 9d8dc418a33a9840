"""Files of every kind, changed field by field: what follows from nothing is covered by a signature alone.

The long run is `python -m tests.soak.altered_files`.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pbdp.cli.main import main
from pbdp.errors import PbdpError
from pbdp.report.verify import verify
from pbdp.verification import Verified
from tests.altered import Place, altered, leaves
from tests.cli.visits import COUNT, write_data

PAID = ("release.json", "joint.json", "ask.json", "rates.json", "t.csv.manifest.json")
FILES = ("plan.json", "choice.json", *PAID)
# Who wrote a file and when; and with what the data was read, and what it is called.
SAYS_NOTHING = ("pbdp", "created", "engine", "source")
# True as well: what a comparison expects is for its planner; a region does nothing without a boost; one
# number is all numbers; for whole scores a hair more than 50, or than 1, is the same; a longer table is
# certified again.
TRUE_ANYWAY = {
    *(("asked", "mean"), ("asked", "lift"), ("asked", "wider")),
    *(("mechanism", "region_in_steps", side) for side in ("below", "above")),
    ("requirement", "simultaneous"),
    *(("within",), ("sensitivity",), ("law", "last")),
}


def make_files(folder: Path) -> None:
    """A file of every kind, here; those with numbers are paid from a ledger with several datasets."""
    write_data(folder)
    accuracy = ["--confidence", "0.9", "--sensitivity", "1", "--integer"]
    two = "delta = 1e-6\n[requirements.a]\nwithin = 20\nconfidence = 0.9\nsensitivity = 1\ninteger = true\n"
    (folder / "two.toml").write_text(two + two.partition("\n")[2].replace(".a]", ".b]"), encoding="utf-8")
    paid = ["--ledger", "l.db", "--dataset", "shop"]
    for command in (
        ["ledger", "create", "shop", "--ledger", "l.db", "--epsilon", "9", "--delta", "1e-3"],
        ["ledger", "create", "other", "--ledger", "l.db", "--epsilon", "9", "--delta", "1e-3"],
        ["ledger", "create", "signups", "--ledger", "l.db", "--epsilon", "3", "--delta", "1e-3",
         "--neighbors", "replace"],
        ["plan", "--within", "20", *accuracy, "--delta", "1e-6", "-o", "plan.json"],
        ["plan", "two.toml", "-o", "two.json"],
        ["choose", "--options", "9", "--within", "50", *accuracy, "-o", "choice.json"],
        ["release", "plan.json", "12", *paid, "--key", "r", "--query", "x", "--manifest", "release.json"],
        ["release", "two.json", "a=12", "b=7", *paid, "--manifest", "joint.json"],
        ["ask", "12", "--within", "30", *accuracy, *paid, "--manifest", "ask.json"],
        ["compare", "40", "30", "--users", "400,300", "--rate", "20%", "--wider", "30%",
         "--ledger", "l.db", "--dataset", "signups", "--key", "c", "-o", "rates.json"],
        ["tables", "visits.csv", *COUNT, *paid, "-o", "t.csv"],
        ["keys", "create", "./keys/office"],
    ):  # fmt: skip
        assert main(command) == 0, command


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of those files."""
    folder = tmp_path_factory.mktemp("files")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("PBDP_STATE", str(folder / "state"))
        patch.setenv("PBDP_KEYS", str(folder / "keys"))
        make_files(folder)
    return folder


@pytest.fixture(autouse=True)
def here(made: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(made)
    monkeypatch.setenv("PBDP_STATE", str(made / "state"))
    monkeypatch.setenv("PBDP_KEYS", str(made / "keys"))


def verified(name: str, record: Any, **more: str) -> Verified | None:
    """What became of the claims of a changed file; None where it is refused."""
    file = Path(f"changed-{name}")
    file.write_text(json.dumps(record), encoding="utf-8")
    ledger = {"ledger": "l.db"} if name in PAID else {}
    try:
        return verify(file, **ledger, **more)
    except PbdpError:
        return None


def changes(record: Any) -> Iterator[tuple[Place, Any]]:
    """A value changed, left out, or beside one that no such file has."""
    for place in leaves(record):
        yield place, altered(record, place)
    for place in {leaf[:cut] for leaf in leaves(record) for cut in range(len(leaf))}:
        more = copy.deepcopy(record)
        at = more
        for step in place:
            at = at[step]
        if isinstance(at, dict):
            at["approved"] = "by the office"
            yield (*place, "approved"), more
    for place in leaves(record):
        less = copy.deepcopy(record)
        at = less
        for step in place[:-1]:
            at = at[step]
        del at[place[-1]]
        yield place, less


@pytest.mark.parametrize("name", FILES)
def test_whatever_is_changed_is_found(name: str) -> None:
    record = json.loads(Path(name).read_text(encoding="utf-8"))
    whole = verified(name, record)
    assert whole is not None
    assert whole.verdict == "unsigned", [check for check in whole.checks if not check.holds]
    accepted = []
    for place, changed in changes(record):
        found = verified(name, changed)
        assert found is None or found.verdict != "sound"
        if found is not None and found.verdict == "unsigned" and not set(SAYS_NOTHING) & set(place):
            accepted.append(place)
    assert {place[1:] if place[0] == "plan" else place for place in accepted} <= TRUE_ANYWAY


@pytest.mark.parametrize("name", FILES)
def test_a_file_that_is_signed_is_sound_and_no_other(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    record = json.loads(Path(name).read_text(encoding="utf-8"))
    Path(f"signed-{name}").write_text(json.dumps(record), encoding="utf-8")
    assert main(["keys", "sign", f"signed-{name}", "--key", "keys/office"]) == 0
    capsys.readouterr()
    signed = json.loads(Path(f"signed-{name}").read_text(encoding="utf-8"))
    by = {"signed_by": "keys/office.pub"}
    whole = verified(name, signed, **by)
    assert whole is not None
    assert whole.verdict == "sound"
    unnamed = verified(name, signed)
    assert unnamed is not None
    assert (unnamed.verdict, unnamed.missing) == ("incomplete", ("signature",))
    for place in leaves(record):
        found = verified(name, altered(signed, place), **by)
        assert found is None or not found.holds, place
    bare = verified(name, record, **by)
    assert bare is not None
    assert not bare.holds


@pytest.mark.parametrize("name", PAID)
def test_what_was_paid_is_incomplete_alone(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", name]) == 4
    out = capsys.readouterr().out
    assert out.startswith("INCOMPLETE: no errors found, but not all was checked (ledger: pass --ledger).")
    assert "\nUNSIGNED: " in out
    assert main(["verify", name, "--ledger", "l.db"]) == 0
    assert capsys.readouterr().out.startswith("No errors found: epsilon ")
    # a file that says that nobody paid, or that another dataset did
    for edit in ({"ledger": None}, {"ledger": {"dataset": "other"}}):
        record = json.loads(Path(name).read_text(encoding="utf-8"))
        at = record["published"] if name == "rates.json" else record
        at["ledger"] = None if edit["ledger"] is None else {**at["ledger"], **edit["ledger"]}
        found = verified(name, record)
        assert found is not None
        assert [check.name for check in found.checks if check.holds is False][-1:] == ["ledger"]
