"""Random changes of files of every kind, until the time is up: none that is false is called sound.

    python -m tests.soak.altered_files [SECONDS]

One to three values of a file are changed or swapped. A file that holds all the same must be changed in
nothing that anything follows from (`tests/report/test_altered_files.py` says what that is).
"""

from __future__ import annotations

import copy
import json
import os
import random
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from tests.altered import Place, leaves
from tests.report.test_altered_files import FILES, SAYS_NOTHING, TRUE_ANYWAY, make_files, verified

STRANGE: list[Any] = [None, True, 0, -1, 1.5, "", "x", [], {}, 10**30]


def changed(record: Any, chance: random.Random) -> tuple[list[Place], Any]:
    """The same with one to three changes, and where they are."""
    made, places = copy.deepcopy(record), list(leaves(record))
    picked = chance.sample(places, chance.randint(1, min(3, len(places))))
    for place in picked:
        at: Any = _at(made, place[:-1])
        value = _at(record, place)
        number = isinstance(value, int | float) and not isinstance(value, bool)
        other = chance.choice(
            [
                _at(record, chance.choice(places)),
                chance.choice(STRANGE),
                value * chance.choice([0.5, 0.999, 1.001, 2]) if number else f"{value}x",
                value + chance.choice([-1, 1]) if number else None,
            ]
        )
        at[place[-1]] = other
    return picked, made


def _at(record: Any, place: Place) -> Any:
    for step in place:
        record = record[step]
    return record


def main(seconds: float) -> None:
    """Change and check; every fault is printed with its seed."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ |= {"PBDP_STATE": f"{folder}/state", "PBDP_KEYS": f"{folder}/keys"}
        os.chdir(folder)
        make_files(Path(folder))
        records = {name: json.loads(Path(name).read_text(encoding="utf-8")) for name in FILES}
        tried = faults = 0
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            chance = random.Random(tried)
            name = chance.choice(FILES)
            places, record = changed(records[name], chance)
            tried += 1
            if record == records[name]:
                continue
            found = verified(name, record)
            if found is None or found.verdict in ("not sound", "incomplete"):
                continue
            where = [place[1:] if place[0] == "plan" else place for place in places]
            telling = [at for at in where if at not in TRUE_ANYWAY and not set(SAYS_NOTHING) & set(at)]
            really = [at for at in telling if _differs(record, records[name], at)]
            if found.verdict == "sound" or really:
                faults += 1
                print(f"seed {tried - 1}: {name} {places}: {found.verdict}")
        print(f"{tried:,} changed files, {faults} faults")


def _differs(one: Any, other: Any, place: Place) -> bool:
    try:
        return bool(_at(one, place) != _at(other, place))
    except (KeyError, IndexError, TypeError):
        return True


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else 600.0)
