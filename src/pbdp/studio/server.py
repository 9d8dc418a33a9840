"""Serving the studio on this machine: a port of the loopback, the address that opens it once, a browser."""

from __future__ import annotations

import logging
import os
import socket
import sys
import tempfile
import webbrowser
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from html import escape
from pathlib import Path

from pbdp.errors import InputError, MissingPackageError
from pbdp.studio.opened import Opened

LOOPBACK = "127.0.0.1"
USUAL_PORT = 8642

# Others of this machine see the arguments of programs that are started, so the browser is given a file that
# only its owner can read.
REDIRECT = """<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>pbdp studio</title>
<meta name="referrer" content="no-referrer"><meta http-equiv="refresh" content="0; url={address}"></head>
<body><a href="{address}">Open the studio</a></body></html>
"""


def serve(opened: Opened, port: int | None, tell: Callable[[str], None], *, browse: bool) -> None:
    """Serve until interrupted. `tell` is given the address, before anything is served."""
    try:
        import uvicorn

        from pbdp.studio.app import application
        from pbdp.studio.guard import Session
    except ModuleNotFoundError as missing:
        if missing.name not in ("uvicorn", "starlette"):
            raise
        raise MissingPackageError("The studio", missing.name, "'pbdp[studio]'") from None
    with _listening(port) as listener:
        session = Session(port=listener.getsockname()[1])
        address = f"http://{LOOPBACK}:{session.port}/#token={session.token}"
        config = uvicorn.Config(
            application(opened, session),
            log_level="error",
            access_log=False,
            server_header=False,
            ws="none",
            timeout_graceful_shutdown=1,
        )
        # that a worker died by itself is told to whoever asked
        logging.getLogger("asyncio").setLevel(logging.ERROR)
        tell(address)
        with _browsing(address) if browse else nullcontext(), suppress(KeyboardInterrupt):
            uvicorn.Server(config).run(sockets=[listener])


@contextmanager
def _listening(port: int | None) -> Iterator[socket.socket]:
    """A socket of the loopback alone: the port that was named, else the usual one, else any."""
    for wanted in (USUAL_PORT, 0) if port is None else (port,):
        try:
            listener = socket.create_server((LOOPBACK, wanted))
        except OSError as error:
            if wanted == USUAL_PORT and port is None:
                continue
            reason = f"{error.strerror}."
            raise InputError("port", "one that is free on this machine", wanted, reason) from None
        with listener:
            # what is accepted inherits it; asyncio sets it only on sockets that name their protocol, and
            # without it head and body of an answer can be 40 ms apart
            listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            yield listener
            return


@contextmanager
def _browsing(address: str) -> Iterator[None]:
    """The browser of this user, if there is one with windows; text browsers would take the terminal."""
    windows = sys.platform in ("darwin", "win32") or {"DISPLAY", "WAYLAND_DISPLAY"} & set(os.environ)
    with tempfile.TemporaryDirectory(prefix="pbdp-studio-") as folder:
        if windows:
            page = Path(folder) / "studio.html"
            page.write_text(REDIRECT.format(address=escape(address)), encoding="utf-8")
            webbrowser.open(page.as_uri())
        yield
