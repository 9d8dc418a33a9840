"""What others send, and what people mistype, is refused soon and in little memory."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet as pq

# Bytes of memory that a refusal may take, and seconds of one processor, the start of the program included.
MEMORY, SECONDS = 2**30, 3.0
MEBIBYTE = 2**20

FILES: dict[str, Callable[[], str]] = {
    "lists without end.json": lambda: "[" + "{}," * (63 * MEBIBYTE // 3),
    "empty objects.json": lambda: f"[{'{},' * (63 * MEBIBYTE // 3)}1]",
    "in a plan.json": lambda: (
        f'{{"format": "pbdp-plan", "version": 1, "x": [{"{}," * (60 * MEBIBYTE // 3)}1]}}'
    ),
    "numbers.json": lambda: f"[{'1e5,' * (63 * MEBIBYTE // 4)}1]",
    "deep.json": lambda: "[" * 1_000_000 + "]" * 1_000_000,
    "one text.json": lambda: f'"{"a" * (63 * MEBIBYTE)}"',
}
TABLES: dict[str, Callable[[], str]] = {
    "lists.toml": lambda: f"x = [{'{},' * (20 * MEBIBYTE // 3)}]",
    "lists of a mebibyte.toml": lambda: f"x = [{'{},' * (MEBIBYTE // 3 - 10)}]",
    "a name of many parts.toml": lambda: f"{'a.' * 500_000}b = 1",
}


# A process that is still small starts the command: a fork begins with the memory of its parent.
MEASURED = """
import resource, subprocess, sys
resource.setrlimit(resource.RLIMIT_CPU, (60, 60))
code = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL).returncode
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(used.ru_utime + used.ru_stime, used.ru_maxrss, code)
"""


def ended(*words: str, folder: Path | None = None) -> tuple[int, str, float, int]:
    """A command's exit code, what it said, its seconds of a processor and its bytes of memory."""
    done = subprocess.run(
        [sys.executable, "-c", MEASURED, sys.executable, "-m", "pbdp", *words],
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
    )
    seconds, kilobytes, code = done.stdout.split()
    return int(code), done.stderr, float(seconds), int(kilobytes) * 1024


def check_refused(*words: str, folder: Path | None = None) -> str:
    code, said, seconds, memory = ended(*words, folder=folder)
    assert (code, said.count("\n")) == (2, 1), said
    assert seconds < SECONDS
    assert memory < MEMORY
    return said


@pytest.mark.parametrize("name", FILES)
def test_json_of_others_is_refused_soon(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(FILES[name]())
    check_refused("verify", name, folder=tmp_path)


@pytest.mark.parametrize("name", TABLES)
def test_toml_of_others_is_refused_soon(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(TABLES[name]())
    check_refused("tables", name, "--dry-run", folder=tmp_path)


NUMBERS = {
    "a choice within next to nothing": "choose --within 1e-320 --confidence 0.9 --sensitivity 1 --options 10",
    "a choice of huge changes": "choose --within 5 --confidence 0.9 --sensitivity 1e30 --options 10",
    "huge intervals": "compare --users 1000,1000 --rate 0.1 --wider 1e308",
    "next to no confidence": "plan --within 5 --confidence 1e-320 --sensitivity 1 --delta 1e-6",
    "a huge sensitivity": "plan --within 5 --confidence 0.9 --sensitivity 1e30 --delta 1e-6",
}


@pytest.mark.parametrize("case", NUMBERS)
def test_numbers_at_the_ends_of_what_there_is_are_refused_soon(case: str) -> None:
    assert " must be " in check_refused(*NUMBERS[case].split())


def test_a_choice_within_little_takes_little() -> None:
    asked = "choose --within 1e-6 --confidence 0.9 --sensitivity 1 --options 10"
    code, _, seconds, memory = ended(*asked.split())
    assert (code, seconds < SECONDS, memory < MEMORY) == (0, True, True)


def test_keys_in_a_small_file_may_stand_for_very_many(tmp_path: Path) -> None:
    dictionary = pa.array(["x" * MEBIBYTE])
    places = pa.array(np.zeros(100_000, dtype=np.int32))
    table = pa.table({"city": pa.DictionaryArray.from_arrays(places, dictionary)})
    pq.write_table(table, tmp_path / "keys.parquet")
    (tmp_path / "visits.csv").write_text("city\nRome\n")
    asked = "tables visits.csv --one-row-per-person --keys keys.parquet --count 50 --delta 1e-6 --dry-run"
    assert "at most 64 MiB" in check_refused(*asked.split(), folder=tmp_path)
