"""The web application: a page, its files, and an interface for it. Everything else is done by workers."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response
from starlette.routing import Route

from pbdp import __version__
from pbdp.json_records import NotJsonError, json_of
from pbdp.mechanism.neighbors import Neighbors
from pbdp.studio.answer import Answer
from pbdp.studio.guard import Guard, Session
from pbdp.studio.jobs import Jobs
from pbdp.studio.openapi import description
from pbdp.studio.opened import Opened
from pbdp.studio.pool import Pool
from pbdp.studio.views import VIEWS

ASSETS = Path(__file__).parent / "assets"
MEDIA = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}

Handler = Callable[[Request], Awaitable[Response]]


def application(opened: Opened, session: Session) -> Guard:
    """The studio for what it was opened with."""
    pool = Pool(opened)
    jobs = Jobs(pool)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        await pool.start()
        yield
        await pool.stop()

    async def exchange(request: Request) -> Response:
        if not session.exchanged((await _object(request)).get("token")):
            raise HTTPException(
                403, "This address was used already, or is not that of this studio. Start it again."
            )
        return session.opened()

    async def about(_: Request) -> Response:
        from pbdp.studio.form import more_fields

        return JSONResponse(
            {
                "version": __version__,
                "ledger": opened.ledger is not None,
                "views": [view.name for view in VIEWS if view.is_shown(opened)],
                "neighbors": [(each, each.label) for each in Neighbors],
                "more": more_fields(),
            }
        )

    async def described(_: Request) -> Response:
        return JSONResponse(description(session.cookie_name))

    async def look(request: Request) -> Response:
        answer = await jobs.look(request.path_params["job"])
        if answer is None:
            raise HTTPException(404, "There is no such job; it may be done, or canceled.")
        return _response(answer)

    async def cancel(request: Request) -> Response:
        return _response(jobs.cancel(request.path_params["job"]))

    def asked(task: str, method: str) -> Handler:
        async def handler(request: Request) -> Response:
            return _response(await jobs.answer(task, await _object(request) if method == "POST" else {}))

        return handler

    # what workers do for the views
    tasks = [
        Route(f"/api/{task}", asked(task, method), methods=[method])
        for view in VIEWS
        for method, names in (("GET", view.tells), ("POST", view.answers))
        for task in names
    ]

    return Guard(
        Starlette(
            routes=[
                Route("/", _page, methods=["GET"]),
                Route("/assets/{name}", _asset, methods=["GET"]),
                Route("/api/openapi.json", described, methods=["GET"]),
                Route("/api/session", exchange, methods=["POST"]),
                Route("/api/about", about, methods=["GET"]),
                *tasks,
                Route("/api/jobs/{job}", look, methods=["GET"]),
                Route("/api/jobs/{job}", cancel, methods=["DELETE"]),
            ],
            exception_handlers={HTTPException: _refused},
            lifespan=lifespan,
        ),
        session,
    )


async def _page(_: Request) -> Response:
    return _file("index.html")


async def _asset(request: Request) -> Response:
    return _file(request.path_params["name"])


def _file(name: str) -> Response:
    # only names that are there: no request is made into a path
    if name not in {path.name for path in ASSETS.iterdir() if path.suffix in MEDIA}:
        raise HTTPException(404, "There is no such file.")
    path = ASSETS / name
    return FileResponse(path, media_type=MEDIA[path.suffix])


async def _object(request: Request) -> dict[str, object]:
    """The object that a request carries."""
    if request.headers.get("content-type", "").partition(";")[0].strip() != "application/json":
        raise HTTPException(415, "The body must be JSON (content-type: application/json).")
    try:
        record = json_of(await request.body())
    except NotJsonError:
        raise HTTPException(400, "The body must be JSON.") from None
    if not isinstance(record, dict):
        raise HTTPException(400, "The body must be a JSON object.")
    return record


def _response(answer: Answer) -> Response:
    headers = {"content-disposition": f'attachment; filename="{answer.name}"'} if answer.name else {}
    media = None if answer.status == 204 else answer.media
    return Response(answer.content, answer.status, headers, media_type=media)


async def _refused(_: Request, error: Exception) -> Response:
    """Every refusal has one form."""
    if not isinstance(error, HTTPException):
        raise error
    message = error.detail if error.status_code != 405 else "This address does not take that method."
    return JSONResponse(
        {"errors": [{"field": None, "message": message}]}, error.status_code, headers=error.headers
    )
