"""Who is let in: pages of the studio itself, in the browser that was given its address, and nobody else."""

from __future__ import annotations

import re
import socket
from pathlib import Path

import pytest

from pbdp.studio.guard import LARGEST_BODY
from tests.studio.running import COUNT, WORD, Studio, running

PLAN = {"requirement": COUNT}


def test_the_token_works_once_and_becomes_a_cookie(tmp_path: Path) -> None:
    with running(tmp_path, enter=False) as studio:
        assert studio.ask("GET", "/api/about").status == 401
        assert studio.ask("POST", "/api/session", {"token": "x" * 43}).status == 403
        assert studio.ask("POST", "/api/session", {"token": None}).status == 403
        assert studio.ask("POST", "/api/session", {"token": "\ud800"}).status == 403
        entered = studio.ask("POST", "/api/session", {"token": studio.token})
        assert entered.status == 200
        cookie = entered.headers["set-cookie"]
        assert re.fullmatch(r"pbdp-studio-\d+=[\w-]{43}; HttpOnly; Path=/api; SameSite=strict", cookie)
        assert studio.token not in cookie
        # the answer may be lost: the token works until somebody came in with it
        assert studio.ask("POST", "/api/session", {"token": studio.token}).record == entered.record
        own = {"Cookie": cookie.partition(";")[0], WORD: str(entered.record["word"])}
        assert studio.ask("GET", "/api/about", headers=own | {WORD: "x"}).status == 401
        assert studio.ask("POST", "/api/session", {"token": studio.token}).status == 200
        assert studio.ask("GET", "/api/about", headers=own).status == 200
        again = studio.ask("POST", "/api/session", {"token": studio.token})
        assert again.status == 403
        assert "used already" in again.record["errors"][0]["message"]


@pytest.mark.parametrize(
    "headers",
    [
        {"Cookie": None},
        {WORD: None},
        {"Cookie": "pbdp-studio-1=x"},
        {"Cookie": ";;=,\t"},
        {WORD: "x" * 43},
        {WORD: "\xe9" * 20},
    ],
)
def test_cookie_and_word_are_both_needed(studio: Studio, headers: dict[str, str | None]) -> None:
    assert studio.ask("GET", "/api/about").status == 200
    assert studio.ask("GET", "/api/about", headers=headers).status == 401
    assert studio.ask("POST", "/api/plan", PLAN, headers=headers).status == 401


@pytest.mark.parametrize("other", ['state={"a": [1, 2]}', "na me=\xe9", "lonely", 'open="', "x=1,2"])
def test_cookies_of_other_programs_lock_nobody_out(studio: Studio, other: str) -> None:
    """Browsers send those of all ports of 127.0.0.1, whatever is in them."""
    own = studio.headers["Cookie"]
    for together in (f"{other}; {own}", f"{own}; {other}"):
        assert studio.ask("GET", "/api/about", headers={"Cookie": together}).status == 200


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1", "127.0.0.1:1", "localhost.evil.example:80", ""]
)
@pytest.mark.parametrize("path", ["/", "/api/about", "/assets/main.js"])
def test_other_hosts_are_refused(studio: Studio, host: str, path: str) -> None:
    assert studio.ask("GET", path, headers={"Host": host}).status == 403


def test_localhost_is_this_machine_too(studio: Studio) -> None:
    host = studio.host.replace("127.0.0.1", "localhost")
    own = {"Host": host, "Origin": f"http://{host}"}
    assert studio.ask("GET", "/api/about", headers=own).status == 200
    # but a page is of one address, and asks that one
    assert studio.ask("GET", "/api/about", headers={"Host": host}).status == 403


@pytest.mark.parametrize(
    "origin",
    ["http://evil.example", "http://127.0.0.1", "https://127.0.0.1:1", "null", "http://127.0.0.1:1", None],
)
def test_other_origins_are_refused(studio: Studio, origin: str | None) -> None:
    assert studio.ask("POST", "/api/plan", PLAN, headers={"Origin": origin}).status == 403
    assert studio.ask("DELETE", "/api/jobs/x", headers={"Origin": origin}).status == 403
    assert studio.ask("POST", "/api/session", {"token": "x"}, headers={"Origin": origin}).status == 403
    if origin is not None:
        assert studio.ask("GET", "/api/about", headers={"Origin": origin}).status == 403


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_requests_of_other_sites_are_refused(studio: Studio, site: str) -> None:
    told = {"Sec-Fetch-Site": site, "Origin": None}
    assert studio.ask("GET", "/api/budget", headers=told).status == 403
    # a link on another page may lead here: the page itself holds nothing
    assert studio.ask("GET", "/", headers=told).status == 200


@pytest.mark.parametrize("path", ["/", "/assets/main.js", "/api/about", "/nowhere", "/api/openapi.json"])
def test_every_answer_forbids_what_the_page_does_not_need(studio: Studio, path: str) -> None:
    headers = studio.ask("GET", path).headers
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "script-src 'self'" in policy
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["cache-control"] == "no-store"
    assert "server" not in headers
    assert not [name for name in headers if name.startswith("access-control")]


@pytest.mark.parametrize(
    ("body", "kind", "status"),
    [
        (b"x" * (LARGEST_BODY + 1), "application/json", 413),
        (b"not json", "application/json", 400),
        (b"[1]", "application/json", 400),
        (b"[" * 5000, "application/json", 400),
        (b'{"requirement": ' + b"9" * 5000 + b"}", "application/json", 400),
        (b"{}", "text/plain", 415),
        (b"{}", "application/json", 422),
        (b'{"requirement": 5}', "application/json", 422),
        (b'{"requirement": {"within": NaN}}', "application/json", 422),
    ],
)
def test_bodies_that_are_no_requests(studio: Studio, body: bytes, kind: str, status: int) -> None:
    reply = studio.answer("/api/plan", body, headers={"Content-Type": kind})
    assert reply.status == status
    assert all(error["message"] for error in reply.record["errors"])


@pytest.mark.parametrize(
    "path", ["/assets/../app.py", "/assets/%2e%2e%2fapp.py", "/assets/..%2f..%2f", "/api/x"]
)
def test_nothing_else_is_served(studio: Studio, path: str) -> None:
    reply = studio.ask("GET", path)
    assert reply.status == 404
    assert b"import" not in reply.content


def test_other_methods_are_refused(studio: Studio) -> None:
    assert studio.ask("PUT", "/api/plan", PLAN).status == 405
    assert studio.ask("GET", "/api/plan").status == 405


def test_nobody_else_on_the_network_can_connect(studio: Studio) -> None:
    """It listens on the loopback alone: the machine's own other address refuses."""
    port = int(studio.host.rpartition(":")[2])
    listening = [
        line.split()[1] for line in Path("/proc/net/tcp").read_text().splitlines()[1:] if " 0A " in line
    ]
    assert f"0100007F:{port:04X}" in listening
    assert f"00000000:{port:04X}" not in listening
    with pytest.raises(OSError, match=r"."), socket.create_connection(("127.0.0.2", port), timeout=2):
        pass
