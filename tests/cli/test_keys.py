"""`pbdp keys create`, and signing and checking on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.commands import assert_refused, run

Capture = pytest.CaptureFixture[str]

COUNT = ("--unit", "who", "--by", "city=a,b", "--groups-per-person", "1", "--rows-per-group", "1")


def test_a_table_is_signed_and_checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PBDP_KEYS", str(tmp_path / "secret"))
    (tmp_path / "d.csv").write_text("who,city\n1,a\n2,b\n")
    made = json.loads(run(capsys, "keys", "create", "office", "--json").out)
    assert Path(made["private"]) == tmp_path / "secret" / "signing" / "office"
    asked = ("tables", "d.csv", *COUNT, "--count", "50", "--delta", "1e-6")
    assert run(capsys, *asked, "-o", "t.csv", "--sign", made["private"]).code == 0
    done = run(capsys, "verify", "t.csv.manifest.json", "--signed-by", made["public"])
    assert (done.code, f"signed by {made['public_key']}" in done.out) == (0, True)
    (tmp_path / "t.csv").unlink()
    assert run(capsys, "verify", "t.csv.manifest.json", "--signed-by", made["public"]).code == 4
    assert_refused(run(capsys, *asked, "--sign", made["private"]), "no -o")
    assert run(capsys, "keys", "create", "./mine").code == 0
    assert_refused(run(capsys, *asked, "-o", "u.csv", "--sign", "mine"), "another folder")
    assert not (tmp_path / "u.csv").exists()
