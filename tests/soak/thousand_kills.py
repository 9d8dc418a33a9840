"""A thousand SIGKILLs and, per store, a thousand interrupts at random moments: what each leaves is checked.

On SQLite and PostgreSQL. Exit code 1 if a fault was found.

    PYTHONPATH=src:. python tests/soak/thousand_kills.py [kills [interrupts per store]]
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.ledger.postgres_server import postgres_server

ROOT = Path(__file__).resolve().parents[2]


def report(name: str, what: str, place: str, count: int) -> int:
    """Run one of the tests' scripts and say what it found; the number of faults."""
    script = ["kills", "random"] if what == "kills" else [what]
    command = [sys.executable, "-m", f"tests.ledger.{script[0]}", *script[1:]]
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as state:
        done = subprocess.run(
            [*command, place, str(count), str(time.time_ns())],
            cwd=ROOT,
            env={**os.environ, "PBDP_STATE": state},
            capture_output=True,
            text=True,
            check=True,
        )
    found = json.loads(done.stdout)
    where = ", ".join(f"{times} {moment}" for moment, times in sorted(found["where"].items()))
    print(f"{name}: {count} {what} in {time.perf_counter() - began:.0f} s; the release was: {where}")
    print(f"{name}: {len(found['faults'])} faults", *found["faults"], sep="\n  ")
    return len(found["faults"])


def main(kills: int, interrupts: int) -> int:
    with tempfile.TemporaryDirectory() as folder:
        faults = report("SQLite", "kills", folder, kills // 2)
        faults += report("SQLite", "interrupts", folder, interrupts)
    with postgres_server() as url:
        faults += report("PostgreSQL", "kills", url, kills - kills // 2)
        faults += report("PostgreSQL", "interrupts", url, interrupts)
    return faults


if __name__ == "__main__":
    asked = [int(text) for text in sys.argv[1:]]
    sys.exit(1 if main(*(*asked, *(1000, 1000)[len(asked) :])) else 0)
