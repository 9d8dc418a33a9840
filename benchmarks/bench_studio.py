"""How long the studio takes to answer, against the library call behind it: the same requirements, both cold.

The library call is what the page shows: the plan, its limit and its risk. Every requirement is asked once, so
that nothing is found in a cache.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pbdp

EACH = 15
COUNT: dict[str, Any] = {"within": 5, "confidence": 0.9, "sensitivity": 1, "delta": 1e-6, "integer": True}


def cases() -> dict[str, list[tuple[dict[str, Any], dict[str, Any]]]]:
    """Fields of the page, and the parameters that they are, for each kind of requirement."""

    def varied(**changes: Callable[[int], Any]) -> list[tuple[dict[str, Any], dict[str, Any]]]:
        asked = [COUNT | {name: change(place) for name, change in changes.items()} for place in range(EACH)]
        return [(one, one) for one in asked]

    relative = [
        (
            COUNT | {"kind": "relative", "percent": 5, "plus": 10 + place},
            COUNT | {"within": f"5%+{10 + place}"},
        )
        for place in range(EACH)
    ]
    ranged = [
        (
            COUNT | {"kind": "range", "low": 0, "high": 100 + place},
            COUNT | {"range": (0, 100 + place)},
        )
        for place in range(EACH)
    ]
    return {
        "within 6..20, whole numbers": varied(within=lambda place: 6 + place),
        "within 100..240, whole numbers": varied(within=lambda place: 100 + 10 * place),
        "within 1000..1140, whole numbers": varied(within=lambda place: 1000 + 10 * place),
        "sensitivity 2..16": varied(sensitivity=lambda place: 2 + place),
        "within 5.1..6.5, real numbers": varied(
            within=lambda place: 5.1 + place / 10, integer=lambda _: False
        ),
        "inside 0..100": ranged,
        "within 5 % plus 10..24": relative,
    }


class Client:
    """A page, as far as time goes: one connection that stays open."""

    def __init__(self, address: str) -> None:
        base, token = address.split("/#token=")
        self.base = base
        self.connection = HTTPConnection(base.removeprefix("http://"))
        self.headers = {"Origin": base, "Content-Type": "application/json"}
        response, content = self.ask("POST", "/api/session", {"token": token})
        self.headers["Cookie"] = str(response.getheader("set-cookie")).partition(";")[0]
        self.headers["X-Pbdp-Studio"] = json.loads(content)["word"]

    def ask(self, method: str, path: str, body: object = None) -> tuple[Any, bytes]:
        self.connection.request(method, path, None if body is None else json.dumps(body), self.headers)
        response = self.connection.getresponse()
        return response, response.read()

    def plan(self, requirement: dict[str, Any]) -> None:
        response, content = self.ask("POST", "/api/plan", {"requirement": requirement})
        while response.status == 202:
            response, content = self.ask("GET", f"/api/jobs/{json.loads(content)['job']}")
        if response.status != 200:
            raise AssertionError(content)


def library(parameters: dict[str, Any]) -> None:
    made = pbdp.plan(**parameters)
    _ = made.limit
    made.risk()


def seconds(work: Callable[[], None]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def studio() -> Iterator[Client]:
    command = [str(Path(sys.executable).parent / "pbdp"), "studio", "--json", "--no-browser", "--port", "0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    if process.stdout is None:
        raise AssertionError("it prints its address")
    yield Client(json.loads(process.stdout.readline())["address"])
    process.terminate()
    process.wait()


def main() -> None:
    for client in studio():
        library(COUNT)
        client.plan(COUNT)
        print(f"{'one release':36} {'library':>9} {'studio':>9} {'slowest':>9} {'ratio':>6}")
        for name, asked in cases().items():
            # one after the other, so that a busy machine slows both
            pairs = [
                (seconds(lambda: library(parameters)), seconds(lambda: client.plan(form)))  # noqa: B023
                for form, parameters in asked
            ]
            direct, served = (sorted(column) for column in zip(*pairs, strict=True))
            middle, other = statistics.median(direct), statistics.median(served)
            print(
                f"{name:36} {1000 * middle:6.0f} ms {1000 * other:6.0f} ms {1000 * served[-1]:6.0f} ms "
                f"{other / middle:6.2f}"
            )


if __name__ == "__main__":
    main()
