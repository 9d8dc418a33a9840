"""A thousand SIGKILLs at random moments, on SQLite and PostgreSQL, each checked for what it leaves behind.

Run: python benchmarks/bench_ledger_kills.py [kills]
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # the tests' own server and killer

from tests.ledger.postgres_server import postgres_server  # noqa: E402


def report(name: str, place: str, kills: int) -> None:
    command = [sys.executable, "-m", "tests.ledger.kills", "random", place, str(kills), str(time.time_ns())]
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as state:
        environment = {**os.environ, "PBDP_STATE": state}
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    where = ", ".join(f"{count} {state}" for state, count in sorted(found["where"].items()))
    print(f"{name}: {kills} kills in {time.perf_counter() - began:.0f} s; the release was: {where}")
    print(f"{name}: {len(found['faults'])} faults", *found["faults"], sep="\n  ")


def main(kills: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        report("SQLite", folder, kills // 2)
    with postgres_server() as url:
        report("PostgreSQL", url, kills - kills // 2)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1000)
