"""Worker processes, a few of them, each with one request at a time."""

from __future__ import annotations

import asyncio
import json
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from pbdp.studio.answer import Answer
from pbdp.studio.opened import Opened

WORKERS = 2
DEAD = 503
DIED = "The computation ended before it was done; perhaps it needed more memory than there is. Ask for less."


class Worker:
    """One process. `ask` is for one request at a time; who gives up on it has to `end` the process."""

    def __init__(self, process: Process) -> None:
        self._process = process
        self._ended = False

    @classmethod
    async def started(cls, opened: Opened) -> Worker:
        """A new process, which loads pbdp while others go on."""
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "pbdp.studio.worker", stdin=PIPE, stdout=PIPE
        )
        worker = cls(process)
        await worker._send(opened.record())
        return worker

    async def ask(self, task: str, given: Mapping[str, Any]) -> Answer | None:
        """The answer to one request; None if the process had died before it took the request."""
        answers = self._process.stdout
        if answers is None:
            raise AssertionError("workers answer on their standard output")
        try:
            await self._send({"task": task, "given": given})
            taken = await answers.readline()
        except ConnectionError:
            return None
        if not taken:
            return None
        try:
            head = json.loads(await answers.readline())
            content = await answers.readexactly(head.pop("length"))
        except (json.JSONDecodeError, asyncio.IncompleteReadError, ConnectionError):
            return Answer.refusal(DIED, DEAD)
        return Answer(content=content, **head)

    async def _send(self, record: Mapping[str, Any]) -> None:
        if self._process.stdin is None:
            raise AssertionError("workers are asked on their standard input")
        self._process.stdin.write(json.dumps(record).encode() + b"\n")
        await self._process.stdin.drain()

    async def end(self) -> None:
        """End the process, whatever it does; once, as a signal would take its end from who waits for it."""
        if not self._ended:
            self._ended = True
            with suppress(ProcessLookupError):
                self._process.kill()
        await self._process.wait()


class Pool:
    """Workers to be asked; one whose answer nobody waits for any longer is ended and replaced."""

    def __init__(self, opened: Opened, size: int = WORKERS) -> None:
        self._opened = opened
        self._size = size
        self._free: asyncio.LifoQueue[Worker] = asyncio.LifoQueue()
        self._workers: set[Worker] = set()
        self._replacing: set[asyncio.Task[None]] = set()
        self._stopped = False

    async def start(self) -> None:
        """Start the workers."""
        for _ in range(self._size):
            await self._add()

    async def stop(self) -> None:
        """End all of them; none is started any more."""
        self._stopped = True
        await asyncio.gather(*self._replacing)
        await asyncio.gather(*(worker.end() for worker in self._workers))

    async def ask(self, task: str, given: Mapping[str, Any], longest: float) -> Answer:
        """The answer of the first worker that is free; a `TimeoutError` if it takes longer than so long.

        Who died without taking the request has begun nothing, so that another one is asked.
        """
        for _ in range(self._size + 1):
            worker = await self._free.get()
            try:
                async with asyncio.timeout(longest):
                    answer = await worker.ask(task, given)
            except BaseException:
                self._replace(worker)
                raise
            if answer is not None and answer.status != DEAD:
                self._free.put_nowait(worker)
                return answer
            self._replace(worker)
            if answer is not None:
                return answer
        return Answer.refusal(DIED, DEAD)

    async def _add(self) -> None:
        worker = await Worker.started(self._opened)
        self._workers.add(worker)
        self._free.put_nowait(worker)

    def _replace(self, worker: Worker) -> None:
        """In the background, so that whoever cancels does not wait for it."""

        async def replaced() -> None:
            await worker.end()
            self._workers.discard(worker)
            if not self._stopped:
                await self._add()

        task = asyncio.get_running_loop().create_task(replaced())
        self._replacing.add(task)
        task.add_done_callback(self._replacing.discard)
