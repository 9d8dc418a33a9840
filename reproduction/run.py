"""Runs the cases that are not kept yet, in as many processes as there are cores."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from itertools import zip_longest
from multiprocessing.connection import Connection
from typing import TypeAlias

from pbdp.errors import PbdpError
from pbdp.json_records import canonical
from reproduction.experiment import Experiment, Row, Settings
from reproduction.kept import KeptCases, Outcome

# Seconds between two looks at the clock while all workers are busy.
LOOK = 0.5

Job: TypeAlias = tuple[Experiment, Settings]
Finished: TypeAlias = Generator[tuple[Job, Outcome], None, None]


class InterruptedRunError(PbdpError):
    """Someone pressed Ctrl-C; what was finished is kept."""

    exit_code = 130


class CaseError(PbdpError):
    """A case could not be computed; the others are kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """How far a run is: cases done (kept ones included) of all, and a guess of the seconds that are left.

    `doing` names what is counted: cases, or figures when they are drawn.
    """

    done: int
    total: int
    seconds_left: float | None
    doing: str = "case"


Tell: TypeAlias = Callable[[Standing], None]


@dataclass(slots=True, kw_only=True)
class _Clock:
    """Guesses the time that is left from the mean time of the cases of each experiment so far."""

    workers: int
    total: int
    waiting: dict[str, int]
    _spent: dict[str, list[float]] = field(default_factory=dict)

    def finished(self, name: str, seconds: float, *, waited: bool = True) -> None:
        self._spent.setdefault(name, []).append(seconds)
        if waited:
            self.waiting[name] -= 1

    def standing(self) -> Standing:
        left = sum(self.waiting.values())
        times = [seconds for spent in self._spent.values() for seconds in spent]
        guess = None
        if times:
            usual = sum(times) / len(times)
            means = {name: sum(spent) / len(spent) for name, spent in self._spent.items()}
            guess = sum(count * means.get(name, usual) for name, count in self.waiting.items()) / self.workers
        return Standing(done=self.total - left, total=self.total, seconds_left=guess)


def cores() -> int:
    """How many processes can run at the same time."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def outcome_of(experiment: Experiment, quick: bool, kept: KeptCases) -> Outcome | None:
    """All rows of an experiment in the order of its cases and their time, or None unless all are kept."""
    found = [kept.load(experiment, settings) for settings in experiment.cases(quick)]
    known = [case for case in found if case is not None]
    if len(known) < len(found):
        return None
    return Outcome(rows=[row for case in known for row in case.rows], seconds=sum(c.seconds for c in known))


def compute_missing(
    experiments: Sequence[Experiment],
    *,
    quick: bool,
    kept: KeptCases,
    tell: Tell,
    workers: int | None = None,
) -> None:
    """Compute and keep every case that is not kept yet.

    Cases of different experiments take turns, so that the guess of the time that is left soon knows them all.
    Those that measure time come last, one by one, with nothing beside them.
    """
    workers = cores() if workers is None else workers
    missing: list[list[Job]] = []
    clock = _Clock(workers=workers, total=0, waiting={})
    for experiment in experiments:
        cases = experiment.cases(quick)
        clock.total += len(cases)
        missing.append([])
        for settings in cases:
            found = kept.load(experiment, settings)
            if found is None:
                missing[-1].append((experiment, settings))
            else:
                clock.finished(experiment.name, found.seconds, waited=False)
        clock.waiting[experiment.name] = len(missing[-1])
    turns = [job for turn in zip_longest(*missing) for job in turn if job is not None]
    tell(clock.standing())
    try:
        for finished in (_in_pool(turns, workers, clock, tell), _alone(turns)):
            # closed, so that an interruption in here ends the workers at once
            with closing(finished) as outcomes:
                for (experiment, settings), outcome in outcomes:
                    kept.store(experiment, settings, outcome)
                    clock.finished(experiment.name, outcome.seconds)
                    tell(clock.standing())
    except KeyboardInterrupt:
        at = clock.standing()
        raise InterruptedRunError(
            f"interrupted with {at.done} of {at.total} cases done. Run the same command again to go on from "
            "there."
        ) from None


def _alone(jobs: Sequence[Job]) -> Finished:
    for experiment, settings in jobs:
        if experiment.alone:
            with _blamed(experiment, settings):
                outcome = computed(experiment.compute, settings)
            yield (experiment, settings), outcome


def _in_pool(jobs: Sequence[Job], workers: int, clock: _Clock, tell: Tell) -> Finished:
    """Outcomes as they come. Workers end when this ends, however it does."""
    pooled = [job for job in jobs if not job[0].alone]
    if not pooled:
        return
    # spawned, not forked: a forked copy of a process with threads may hang on a lock that nobody holds
    context = multiprocessing.get_context("spawn")
    life, held = context.Pipe(duplex=False)
    pool = ProcessPoolExecutor(
        max_workers=min(workers, len(pooled)),
        mp_context=context,
        initializer=_become_worker,
        initargs=(life,),
    )
    try:
        waiting: dict[Future[Outcome], Job] = {
            pool.submit(computed, experiment.compute, settings): (experiment, settings)
            for experiment, settings in pooled
        }
        while waiting:
            finished, _ = wait(waiting, timeout=LOOK, return_when=FIRST_COMPLETED)
            for future in finished:
                job = waiting.pop(future)
                with _blamed(*job):
                    outcome = future.result()
                yield job, outcome
            tell(clock.standing())
    except BaseException:  # someone is in a hurry: Ctrl-C, a case that failed, a disk that is full
        held.close()
        raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
        held.close()
        life.close()


def computed(compute: Callable[[Settings], list[Row]], settings: Settings) -> Outcome:
    """One case, timed; numbers of numpy become Python's own."""
    start = time.perf_counter()
    rows = compute(settings)
    seconds = time.perf_counter() - start
    plain = [{name: _plain(value) for name, value in row.items()} for row in rows]
    return Outcome(rows=plain, seconds=seconds)


def _plain(value: object) -> str | int | float | bool | None:
    item = value.item() if hasattr(value, "item") else value
    if item is None or isinstance(item, str | int | float | bool):
        return item
    raise TypeError(f"a row holds text, numbers and nothing else; got a {type(value).__name__}")


def _become_worker(life: Connection) -> None:
    """Leave Ctrl-C to the parent, and end with it, even if it is killed.

    Nothing is ever sent over `life`. Its other end is open in the parent only, so that reading from it ends
    when the parent closes it or is no more.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def watch() -> None:
        with suppress(EOFError, OSError):
            life.recv_bytes()
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


@contextmanager
def _blamed(experiment: Experiment, settings: Settings) -> Iterator[None]:
    """Say which case an error came from."""
    try:
        yield
    except BrokenProcessPool:
        raise CaseError(
            "a worker process died, perhaps for want of memory. Run the same command again to go on."
        ) from None
    except Exception as error:
        raise CaseError(
            f"{experiment.name} failed at {canonical(settings)}: {type(error).__name__}: {error}"
        ) from error
