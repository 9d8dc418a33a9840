"""Requests that take a while: what can be answered at once is, the rest is waited for, told of and canceled.

A request gets its answer if it is there within moments, else a job. Whoever asked looks after the job until
its answer is there; one that nobody looks after is canceled.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pbdp.studio.answer import Answer
from pbdp.studio.pool import Pool

# Seconds: to an answer or a job, of one look at a job, until a job that nobody looks at is canceled, and of
# the longest computation. What is being published is never canceled: it may be paid for.
PATIENCE = 0.4
LOOK = 1.0
ABANDONED = 6.0
LONGEST = 60.0
LONGEST_PUBLISHING = 3600.0
MOST_JOBS = 8

PUBLISH = "publish"
TOO_LONG = (
    f"This takes longer than {LONGEST:.0f} seconds, and the studio stops there. Ask for less width against "
    "the sensitivity or for fewer releases, or use the command line, which waits as long as it takes."
)
TOO_MANY = f"{MOST_JOBS} computations are under way already. Wait for one of them, or cancel it."
NOT_CANCELED = "What is being published is not canceled: it may be paid for already. It ends by itself."


# To whoever cancels, and to whoever was looking.
CANCELED = Answer(content=b"", status=204)


@dataclass(slots=True, eq=False)
class Job:
    """A request under way."""

    task: str
    answer: asyncio.Task[Answer]
    id: str = field(default_factory=lambda: secrets.token_urlsafe(12))
    started: float = field(default_factory=time.monotonic)
    seen: float = field(default_factory=time.monotonic)

    def told(self) -> Answer:
        """That it is under way, and for how long."""
        seconds = round(time.monotonic() - self.started, 1)
        return Answer.of({"job": self.id, "doing": self.task, "seconds": seconds}, 202)


class Jobs:
    """All jobs of a studio."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._jobs: dict[str, Job] = {}

    async def answer(self, task: str, given: Mapping[str, Any]) -> Answer:
        """The answer, or the job that will have it."""
        if len(self._jobs) >= MOST_JOBS:
            return Answer.refusal(TOO_MANY, 429)
        job = Job(task=task, answer=asyncio.create_task(self._asked(task, given)))
        self._jobs[job.id] = job
        self._watch(job)
        return await self._look(job, PATIENCE)

    async def look(self, name: str) -> Answer | None:
        """The answer of a job, or how far it is after a moment; None if there is no such job."""
        job = self._jobs.get(name)
        return None if job is None else await self._look(job, LOOK)

    def cancel(self, name: str) -> Answer:
        """Cancel a job, if it is under way still."""
        job = self._jobs.get(name)
        if job is not None and job.task == PUBLISH and not job.answer.done():
            return Answer.refusal(NOT_CANCELED, 409)
        if job is not None:
            del self._jobs[name]
            job.answer.cancel()
        return CANCELED

    async def _look(self, job: Job, patience: float) -> Answer:
        done, _ = await asyncio.wait([job.answer], timeout=patience)
        job.seen = time.monotonic()
        if not done:
            return job.told()
        self._jobs.pop(job.id, None)
        return CANCELED if job.answer.cancelled() else job.answer.result()

    async def _asked(self, task: str, given: Mapping[str, Any]) -> Answer:
        longest = LONGEST_PUBLISHING if task == PUBLISH else LONGEST
        try:
            return await self._pool.ask(task, given, longest)
        except TimeoutError:
            return Answer.refusal(TOO_LONG)

    def _watch(self, job: Job) -> None:
        """Cancel a job once nobody looks after it; what is being published ends by itself."""
        if job.id not in self._jobs:
            return
        if time.monotonic() - job.seen > ABANDONED:
            self.cancel(job.id)
        asyncio.get_running_loop().call_later(ABANDONED / 2, self._watch, job)
