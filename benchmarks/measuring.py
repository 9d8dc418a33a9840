"""How the benchmarks measure: in turns, with the spread; rivals in pinned environments of their own."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
BUILD = HERE.parent / "build"
# What a user would pick instead, each with the packages it works with.
RIVALS: dict[str, tuple[str, ...]] = {
    "opendp": ("opendp[polars]==0.16.0",),
    "pipelinedp": ("pipeline-dp==0.3.1", "pyarrow==26.0.1"),
    "diffprivlib": ("diffprivlib==0.6.6", "scikit-learn==1.5.2"),
    "prv": ("prv_accountant==0.2.0", "numpy==2.4.6", "scipy==1.17.1"),
    "multi-freq-ldpy": ("multi-freq-ldpy==0.2.5",),
    "pure-ldp": ("pure-ldp==1.2.0", "scikit-learn==1.5.2"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """One line of a picture: what grows, and what it costs."""

    name: str
    points: Sequence[tuple[float, float]]
    own: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A part of the page: what is asked, a table, and how the cost grows, if that is of interest."""

    title: str
    words: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    note: str = ""
    curves: Sequence[Curve] = ()
    axes: tuple[str, str] = ("", "")
    # rows of the README's table: what is compared, pbdp, the others
    shown: Sequence[tuple[str, str, str]] = field(default=())


@dataclass(frozen=True, slots=True, kw_only=True)
class Times:
    """Seconds of several runs of the same work."""

    seconds: tuple[float, ...]

    @property
    def median(self) -> float:
        """The one in the middle."""
        return statistics.median(self.seconds)

    def text(self) -> str:
        """The median, and from where to where the runs spread."""
        low, high = min(self.seconds), max(self.seconds)
        return f"{duration(self.median)} ({duration(low)} to {duration(high)})"


def duration(seconds: float) -> str:
    """Three digits in a unit that suits them."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-9:.3g} ns"


def in_turns(works: Mapping[str, Callable[[], object]], repeats: int) -> dict[str, Times]:
    """Every work once to warm up, then all of them in turns: a busy machine is busy for all."""
    for work in works.values():
        work()
    taken: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(repeats):
        for name, work in works.items():
            start = time.perf_counter()
            work()
            taken[name].append(time.perf_counter() - start)
    return {name: Times(seconds=tuple(seconds)) for name, seconds in taken.items()}


@cache
def python_of(rival: str) -> str:
    """The Python of a rival's environment, which is made when it is not there."""
    folder = BUILD / "rivals" / rival
    python, ready = folder / "bin" / "python", folder / ".ready"
    wanted = "\n".join(RIVALS[rival])
    if not ready.exists() or ready.read_text(encoding="utf-8") != wanted:
        print(f"  setting up {rival}", file=sys.stderr)
        subprocess.run([sys.executable, "-m", "venv", "--clear", folder], check=True)
        quiet = ("-qq", "--disable-pip-version-check")
        subprocess.run([python, "-m", "pip", *quiet, "install", *RIVALS[rival]], check=True)
        ready.write_text(wanted, encoding="utf-8")
    return str(python)


def told_by(rival: str, script: str, *words: str) -> Any:
    """What a script in `rivals/` prints as JSON in its last line."""
    command = [python_of(rival), str(HERE / "rivals" / script), *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=os.environ)
    if done.returncode:
        raise SystemExit(f"{rival} failed:\n{done.stderr[-2000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def ratio(one: float, other: float) -> str:
    """How many times one is the other."""
    times = one / other
    return f"{times:.3g} ×" if times < 1000 else f"{times:,.0f} ×"
