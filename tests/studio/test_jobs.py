"""Requests that take a while are told of and can be canceled; nothing keeps the studio busy for ever."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections.abc import Callable, Coroutine, Iterator

import pytest

from pbdp.studio import jobs as jobs_module
from pbdp.studio import pool as pool_module
from pbdp.studio.answer import Answer
from pbdp.studio.jobs import MOST_JOBS, Jobs
from pbdp.studio.opened import Opened
from pbdp.studio.pool import Pool
from tests.studio.running import COUNT, SLOW, Studio, running, wait_until


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Studio]:
    """A studio of this file's own, whose workers may die."""
    with running(tmp_path_factory.mktemp("own")) as opened:
        yield opened


def test_a_long_request_is_a_job_that_can_be_canceled(own: Studio) -> None:
    own.answer("/api/plan", {"requirement": COUNT})
    before = set(own.workers())
    asked = own.ask("POST", "/api/plan", {"requirement": SLOW})
    assert asked.status == 202
    job = asked.record
    looked = own.ask("GET", f"/api/jobs/{job['job']}")
    assert looked.status == 202
    assert looked.record["seconds"] > job["seconds"]
    assert looked.record["doing"] == "plan"
    assert own.ask("DELETE", f"/api/jobs/{job['job']}").status == 204
    assert own.ask("GET", f"/api/jobs/{job['job']}").status == 404
    assert own.ask("DELETE", f"/api/jobs/{job['job']}").status == 204
    # the computation is ended, and the studio goes on
    assert own.answer("/api/plan", {"requirement": COUNT | {"within": "6"}}).status == 200
    wait_until(lambda: len(own.workers()) == 2 and set(own.workers()) != before)


def test_a_worker_that_dies_is_replaced(own: Studio) -> None:
    own.answer("/api/plan", {"requirement": COUNT})
    asked = own.ask("POST", "/api/plan", {"requirement": SLOW})
    for worker in own.workers():
        os.kill(worker, signal.SIGKILL)
    died = own.ask("GET", f"/api/jobs/{asked.record['job']}")
    while died.status == 202:
        died = own.ask("GET", f"/api/jobs/{asked.record['job']}")
    assert died.status == 503
    assert "ended before it was done" in died.record["errors"][0]["message"]
    assert own.answer("/api/plan", {"requirement": COUNT}).status == 200


def test_workers_that_died_while_nothing_was_asked_cost_no_answer(own: Studio) -> None:
    for within in ("5", "6"):
        for worker in own.workers():
            os.kill(worker, signal.SIGKILL)
        assert own.answer("/api/plan", {"requirement": COUNT | {"within": within}}).status == 200


# ------------------------------------------------------------------------------------------ without processes


def run(scene: Callable[[], Coroutine[None, None, None]]) -> None:
    """Play a scene."""
    asyncio.run(scene())


class Waiting(Pool):
    """A pool whose answers come when they are let go."""

    def __init__(self) -> None:
        super().__init__(Opened())
        self.go = asyncio.Event()
        self.asked: list[str] = []
        self.given_up: list[str] = []

    async def ask(self, task: str, given: object, longest: float) -> Answer:  # noqa: ARG002  # as in a pool
        self.asked.append(task)
        try:
            async with asyncio.timeout(longest):
                await self.go.wait()
        except BaseException:
            self.given_up.append(task)
            raise
        return Answer.of({"task": task})


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    if "own" not in request.fixturenames:
        monkeypatch.setattr(jobs_module, "PATIENCE", 0.01)
        monkeypatch.setattr(jobs_module, "LOOK", 0.01)


def test_there_are_only_so_many_jobs() -> None:
    async def scene() -> None:
        jobs = Jobs(Waiting())
        told = [await jobs.answer("plan", {}) for _ in range(MOST_JOBS + 1)]
        assert [answer.status for answer in told] == [202] * MOST_JOBS + [429]

    run(scene)


def test_a_job_that_nobody_looks_at_is_canceled(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scene() -> None:
        monkeypatch.setattr(jobs_module, "ABANDONED", 0.05)
        pool = Waiting()
        jobs = Jobs(pool)
        await jobs.answer("plan", {})
        await jobs.answer("publish", {})
        while not pool.given_up:
            await asyncio.sleep(0.01)
        # what is being published may be paid for
        assert pool.given_up == ["plan"]

    run(scene)


def test_what_is_being_published_is_not_canceled() -> None:
    async def scene() -> None:
        pool = Waiting()
        jobs = Jobs(pool)
        name = json.loads((await jobs.answer("publish", {})).content)["job"]
        assert jobs.cancel(name).status == 409
        pool.go.set()
        done = await jobs.look(name)
        assert done is not None
        assert done.status == 200

    run(scene)


def test_a_computation_has_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scene() -> None:
        monkeypatch.setattr(jobs_module, "LONGEST", 0.02)
        monkeypatch.setattr(jobs_module, "PATIENCE", 5.0)
        pool = Waiting()
        answer = await Jobs(pool).answer("plan", {})
        assert answer.status == 422
        assert b"longer than" in answer.content
        assert pool.given_up == ["plan"]

    run(scene)


def test_a_pool_answers_and_replaces_who_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool_module, "WORKERS", 1)

    async def scene() -> None:
        pool = Pool(Opened(), size=1)
        await pool.start()
        try:
            first = await pool.ask("plan", {"requirement": COUNT}, 60)
            assert first.status == 200
            with pytest.raises(TimeoutError):
                await pool.ask("plan", {"requirement": SLOW}, 0.2)
            again = await pool.ask("plan", {"requirement": COUNT}, 60)
            assert again.content == first.content
        finally:
            await pool.stop()

    run(scene)
