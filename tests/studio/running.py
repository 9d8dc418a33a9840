"""A real studio, served by the real command, and a client of it that is no browser."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path
from typing import Any

PBDP = str(Path(sys.executable).parent / "pbdp")
# What the page asks first.
COUNT: dict[str, Any] = {
    "within": "5",
    "confidence": "0.9",
    "sensitivity": "1",
    "delta": "1e-6",
    "integer": True,
}
# Takes some 9 seconds of a core.
SLOW: dict[str, Any] = COUNT | {"solve": "within", "epsilon": "0.001", "releases": "1000"}
WORD = "X-Pbdp-Studio"
# Seconds that a busy machine may take for what is done in moments.
PATIENCE = 120


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What came back."""

    status: int
    headers: Mapping[str, str]
    content: bytes

    @property
    def record(self) -> Any:
        return json.loads(self.content)


@dataclass(slots=True, kw_only=True, eq=False)
class Studio:
    """A studio that is being served; `headers` let in."""

    address: str
    process: subprocess.Popen[str]
    headers: dict[str, str] = field(default_factory=dict)

    @property
    def base(self) -> str:
        """The address without its token."""
        return self.address.partition("/#")[0]

    @property
    def host(self) -> str:
        return self.base.removeprefix("http://")

    @property
    def token(self) -> str:
        return self.address.partition("#token=")[2]

    def enter(self) -> None:
        """Exchange the token."""
        reply = self.ask("POST", "/api/session", {"token": self.token})
        self.headers = {
            "Cookie": reply.headers["set-cookie"].partition(";")[0],
            WORD: reply.record["word"],
        }

    def ask(
        self, method: str, path: str, body: object = None, headers: Mapping[str, str | None] | None = None
    ) -> Reply:
        """One request, as the page makes it; headers that are None are left out."""
        usual = {"Origin": self.base, "Content-Type": "application/json", **self.headers}
        sent = {name: value for name, value in (usual | dict(headers or {})).items() if value is not None}
        content = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        connection = HTTPConnection(self.host, timeout=PATIENCE)
        try:
            connection.putrequest(method, path, skip_host="Host" in sent)
            for name, value in sent.items():
                connection.putheader(name, value)
            if content is not None:
                connection.putheader("Content-Length", str(len(content)))
            connection.endheaders(content)
            return _read(connection.getresponse())
        finally:
            connection.close()

    def answer(
        self, path: str, body: object = None, headers: Mapping[str, str | None] | None = None
    ) -> Reply:
        """The answer itself, however long it takes."""
        reply = self.ask("GET" if body is None else "POST", path, body, headers)
        until = time.monotonic() + PATIENCE
        while reply.status == 202 and time.monotonic() < until:
            reply = self.ask("GET", f"/api/jobs/{reply.record['job']}")
        return reply

    def workers(self) -> list[int]:
        """The processes of its workers."""
        tasks = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        return [int(child) for child in tasks.read_text().split()]


def wait_until(holds: Callable[[], bool]) -> None:
    """Look again and again, until it holds."""
    until = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < until
        time.sleep(0.05)


def ended(processes: list[int]) -> bool:
    """Whether none of these processes is left."""
    return not any(Path(f"/proc/{process}/stat").exists() for process in processes)


def _read(response: HTTPResponse) -> Reply:
    headers = {name.lower(): value for name, value in response.getheaders()}
    return Reply(status=response.status, headers=headers, content=response.read())


@contextmanager
def running(folder: Path, *arguments: str, enter: bool = True) -> Iterator[Studio]:
    """The real command, in a folder; ended with an interrupt, as a person would."""
    environment = os.environ | {"PBDP_STATE": str(folder / "state"), "PBDP_KEYS": str(folder / "keys")}
    environment.pop("PBDP_LEDGER", None)
    with (folder / "studio.err").open("w") as errors:
        process = subprocess.Popen(
            [PBDP, "studio", "--json", "--no-browser", "--port", "0", *arguments],
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            cwd=folder,
            env=environment,
        )
    try:
        if process.stdout is None:
            raise AssertionError("it prints its address")
        record = json.loads(process.stdout.readline())
        studio = Studio(address=record["address"], process=process)
        if enter:
            studio.enter()
        yield studio
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
        try:
            process.communicate(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            raise
