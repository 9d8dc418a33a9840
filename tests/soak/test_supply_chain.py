"""The bill of materials holds every package of the lock; advisories are found, or said to be unchecked."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from tests.soak.supply_chain import ROOT, locked, main

LOCK = (ROOT / "requirements.lock").read_text(encoding="utf-8")


def test_every_package_of_the_lock_is_in_the_bill(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sbom", str(tmp_path / "sbom.json")]) == 0
    assert "packages in" in capsys.readouterr().out
    bill = json.loads((tmp_path / "sbom.json").read_text())
    assert (bill["bomFormat"], bill["specVersion"]) == ("CycloneDX", "1.5")
    listed = {(one["name"], one["version"]) for one in bill["components"]}
    assert listed == set(re.findall(r"^([\w.-]+)==(\S+)", LOCK, re.MULTILINE))
    digests = {one["content"] for component in bill["components"] for one in component["hashes"]}
    assert digests == set(re.findall(r"sha256:([0-9a-f]{64})", LOCK))
    scope = {one["name"]: one["scope"] for one in bill["components"]}
    told = ("numpy", "cryptography", "cffi", "duckdb", "matplotlib", "pytest", "mypy")
    assert [scope[name] for name in told] == ["required"] * 3 + ["optional"] * 2 + ["excluded"] * 2
    refs = {one["ref"] for one in bill["dependencies"]}
    assert refs == {one["bom-ref"] for one in bill["components"]} | {bill["metadata"]["component"]["bom-ref"]}
    assert all(set(one["dependsOn"]) <= refs for one in bill["dependencies"])
    assert all(
        sum(name in one["dependsOn"] for one in bill["dependencies"]) for name in refs if "pbdp@" not in name
    )


@contextmanager
def answering(bad: str) -> Iterator[str]:
    """A server on loopback that knows something of one package."""

    class Answer(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["queries"]
            known = [
                {"vulns": [{"id": "GHSA-x"}]} if f"/{bad}@" in one["package"]["purl"] else {} for one in asked
            ]
            self.send_response(200)
            self.end_headers()
            self.wfile.write(json.dumps({"results": known}).encode())

        def log_message(self, *_: object) -> None:
            return

    with HTTPServer(("127.0.0.1", 0), Answer) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/"
        finally:
            server.shutdown()
            thread.join()


def test_advisories_are_found(capsys: pytest.CaptureFixture[str]) -> None:
    with answering("cryptography") as url:
        assert main(["advisories"], url) == 1
    assert re.search(r"^cryptography \S+ \(required\): GHSA-x$", capsys.readouterr().out, re.MULTILINE)
    with answering("nothing") as url:
        assert main(["advisories"], url) == 0
    assert f"{len(locked(LOCK.splitlines()))} packages checked: 0 advisories" in capsys.readouterr().out


def test_without_a_network_it_says_that_nothing_was_checked(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["advisories"], "http://127.0.0.1:1/") == 0
    assert "were NOT checked" in capsys.readouterr().out
