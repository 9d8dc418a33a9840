"""The command: it prints an address, serves until it is interrupted, and leaves nothing behind."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import webbrowser
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from pbdp.cli.main import main
from pbdp.studio import server
from tests.cli.commands import assert_refused, run
from tests.studio.running import COUNT, PATIENCE, PBDP, SLOW, Studio, ended, running, wait_until

SCHEMA = json.loads((Path(__file__).parents[2] / "docs" / "schema.json").read_text(encoding="utf-8"))


def test_an_interrupt_ends_it_and_its_workers(tmp_path: Path) -> None:
    with running(tmp_path) as studio:
        studio.answer("/api/plan", {"requirement": COUNT})
        workers = studio.workers()
        assert len(workers) == 2
        studio.process.send_signal(signal.SIGINT)
        rest, _ = studio.process.communicate(timeout=PATIENCE)
        assert studio.process.returncode == 0
        assert rest == ""
        record = {"format": "pbdp-studio", "version": 1, "address": studio.address}
        Draft202012Validator(SCHEMA).validate(record)
    wait_until(lambda: ended(workers))
    assert (tmp_path / "studio.err").read_text() == ""


def test_it_can_be_ended_while_requests_are_waiting(tmp_path: Path) -> None:
    with running(tmp_path) as studio:
        for _ in range(3):
            studio.ask("POST", "/api/plan", {"requirement": SLOW})
        studio.process.send_signal(signal.SIGINT)
        studio.process.communicate(timeout=PATIENCE)
        assert studio.process.returncode == 0
    assert (tmp_path / "studio.err").read_text() == ""


def test_workers_end_with_a_studio_that_was_killed_and_hold_no_arguments(shop: Path) -> None:
    """Places of ledgers may hold passwords, and others of the machine see arguments."""
    with running(shop, "visits.toml", "--ledger", "budget.db") as studio:
        assert studio.answer("/api/budget").status == 200
        workers = studio.workers()
        for worker in workers:
            words = Path(f"/proc/{worker}/cmdline").read_bytes().split(b"\0")
            assert words[1:3] == [b"-m", b"pbdp.studio.worker"]
            assert words[3:] == [b""]
        studio.process.kill()
        studio.process.wait()
    wait_until(lambda: ended(workers))


def test_what_it_prints(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [PBDP, "studio", "--no-browser", "--port", "0"], stdout=subprocess.PIPE, text=True, cwd=tmp_path
    )
    assert process.stdout is not None
    first, second = process.stdout.readline(), process.stdout.readline()
    studio = Studio(address=first.removeprefix("Studio: ").strip(), process=process)
    assert first.startswith("Studio: http://127.0.0.1:")
    assert second == "The address opens it once, in one browser. End it with Ctrl-C.\n"
    assert b"pbdp studio" in studio.ask("GET", "/").content
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=PATIENCE)
    assert process.returncode == 0


def test_mistakes_are_told_before_anything_is_served(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PBDP_LEDGER", raising=False)
    assert_refused(run(capsys, "studio", "--port", "99999"), "--port must be 0 to 65535")
    assert_refused(run(capsys, "studio", "--table", "visits"), "--table must be used with data")
    assert_refused(run(capsys, "studio", "--trust-ledger"), "--trust-ledger must be used with a ledger")
    assert_refused(run(capsys, "studio", "--ledger", str(tmp_path / "no.db")), "no.db")
    assert_refused(run(capsys, "studio", str(tmp_path / "no.toml")), "no.toml")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        assert_refused(run(capsys, "studio", "--no-browser", "--port", port), "one that is free")


def test_without_its_packages_it_says_what_to_install(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "uvicorn", None)
    monkeypatch.delenv("PBDP_LEDGER", raising=False)
    assert main(["studio", "--no-browser"]) == 2
    assert "pip install 'pbdp[studio]'" in capsys.readouterr().err


def test_the_usual_port_gives_way_to_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        monkeypatch.setattr(server, "USUAL_PORT", taken.getsockname()[1])
        with server._listening(None) as listener:
            host, port = listener.getsockname()
            assert host == "127.0.0.1"
            assert port != taken.getsockname()[1]
            assert listener.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
    del tmp_path


def test_a_browser_gets_a_file_that_only_its_owner_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    """The token is never an argument of a program, where others of the machine would see it."""
    opened: list[str] = []
    seen: list[tuple[int, str]] = []

    def look(address: str) -> bool:
        path = Path(address.removeprefix("file://"))
        seen.append((path.parent.stat().st_mode & 0o777, path.read_text()))
        opened.append(address)
        return True

    monkeypatch.setattr(webbrowser, "open", look)
    monkeypatch.setenv("DISPLAY", ":0")
    with server._browsing("http://127.0.0.1:1/#token=secret"):
        assert "secret" not in opened[0]
    mode, page = seen[0]
    assert mode == 0o700
    assert "http://127.0.0.1:1/#token=secret" in page
    assert not Path(opened[0].removeprefix("file://")).exists()
    monkeypatch.delenv("DISPLAY")
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    with server._browsing("http://127.0.0.1:1/#token=secret"):
        assert len(opened) == 1
