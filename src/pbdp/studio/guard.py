"""Who may ask: pages of this studio, in the browser that was given its address.

- *Loopback.* The server listens on 127.0.0.1 alone (`server`), and answers to that name and to localhost
  only, so that no foreign name that is made to lead here (DNS rebinding) is served.
- *Origin.* What changes or computes anything must come from a page of this very address.
- *A token, once.* The address that is opened carries a token behind `#`, where no server or log sees it. The
  page takes it out of the address and exchanges it for a cookie that no script can read and that other
  sites' requests do not carry. It works until the first request with that cookie: a page that was left
  before it had the answer is not locked out.
- *A word of the page.* Cookies do not know ports: another program on 127.0.0.1 may be sent ours. So requests
  also carry a word that the page was given with the cookie and keeps where only its own address reads it.
- *Size.* No request is larger than a form can be.

What is written to the browser forbids everything that is not needed: no script, style, image or request of
another place, no frames, no plug-ins, no inline script.
"""

from __future__ import annotations

import hmac
import secrets
from dataclasses import dataclass, field

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request, cookie_parser
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

LARGEST_BODY = 1 << 18
WORD = "x-pbdp-studio"
WHERE = (
    "Open the address that `pbdp studio` printed. It works once, in one browser; start the studio again "
    "for a new one."
)
OPEN = ("/api/session", "/api/openapi.json")

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=(), usb=()",
    "cache-control": "no-store",
}


@dataclass(slots=True, eq=False)
class Session:
    """The token that opens the studio once, and what the page that came with it has from then on."""

    port: int
    token: str | None = field(default_factory=lambda: secrets.token_urlsafe(32))
    cookie: str = field(default_factory=lambda: secrets.token_urlsafe(32))
    word: str = field(default_factory=lambda: secrets.token_urlsafe(32))

    @property
    def cookie_name(self) -> str:
        """Of its own for every port, as browsers send the cookies of all of them."""
        return f"pbdp-studio-{self.port}"

    @property
    def hosts(self) -> tuple[str, str]:
        """What the studio is called."""
        return f"127.0.0.1:{self.port}", f"localhost:{self.port}"

    def exchanged(self, token: object) -> bool:
        """Whether this is the token, as long as nobody has come in with it."""
        return self.token is not None and isinstance(token, str) and _same(token, self.token)

    def knows(self, headers: Headers) -> bool:
        """Whether a request carries the cookie and the word of the page; the first uses up the token."""
        # read as browsers write them: other programs on 127.0.0.1 may have set any that are beside ours
        held = cookie_parser(headers.get("cookie", "")).get(self.cookie_name, "")
        known = _same(held, self.cookie) and _same(headers.get(WORD, ""), self.word)
        if known:
            self.token = None
        return known

    def opened(self) -> Response:
        """The answer to the token: the cookie, and the word."""
        response = JSONResponse({"word": self.word})
        response.set_cookie(self.cookie_name, self.cookie, httponly=True, samesite="strict", path="/api")
        return response


def _same(given: str, held: str) -> bool:
    # JSON may hold halves of characters, which UTF-8 has not
    return hmac.compare_digest(given.encode("utf-8", "surrogatepass"), held.encode())


class Guard:
    """Around the application: refuses before anything is read, and adds the headers to every answer."""

    def __init__(self, app: ASGIApp, session: Session) -> None:
        self._app = app
        self._session = session

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return

        async def sent(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers[name] = value
            await send(message)

        headers = Headers(scope=scope)
        refused = self._refusal(scope["method"], scope["path"], headers)
        if refused is None and scope["method"] in ("POST", "PUT", "PATCH", "DELETE"):
            body = await _body(scope, receive)
            if body is None:
                refused = _refused(413, f"A request must be at most {LARGEST_BODY:,} bytes; got more.")
            else:
                await self._app(scope, _replayed(body, receive), sent)
                return
        await (self._app if refused is None else refused)(scope, receive, sent)

    def _refusal(self, method: str, path: str, headers: Headers) -> Response | None:
        host = headers.get("host", "")
        if host not in self._session.hosts:
            return _refused(403, "The studio answers to 127.0.0.1 and localhost only.")
        origin, site = headers.get("origin"), headers.get("sec-fetch-site")
        own = f"http://{host}"
        if origin not in (None, own) or (method not in ("GET", "HEAD") and origin != own):
            return _refused(403, "Requests must come from a page of the studio itself.")
        if path.startswith("/api"):
            if site not in (None, "same-origin", "none"):
                return _refused(403, "Requests must come from a page of the studio itself.")
            if path not in OPEN and not self._session.knows(headers):
                return _refused(401, WHERE)
        return None


def _refused(status: int, message: str) -> Response:
    return JSONResponse({"errors": [{"field": None, "message": message}]}, status)


async def _body(scope: Scope, receive: Receive) -> bytes | None:
    """The whole body; None if it is too large."""
    length = Headers(scope=scope).get("content-length", "0")
    if length.isdecimal() and int(length) > LARGEST_BODY:
        return None
    body = b""
    async for piece in Request(scope, receive).stream():
        body += piece
        if len(body) > LARGEST_BODY:
            return None
    return body


def _replayed(body: bytes, receive: Receive) -> Receive:
    """What the application receives: the body at once, and then whatever comes."""
    sent = False

    async def replay() -> Message:
        nonlocal sent
        if sent:
            return await receive()
        sent = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replay
