"""Requests at random: each is answered as the OpenAPI description says, none breaks the studio or spends."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from typing import Any

import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, Phase, settings
from schemathesis import checks
from schemathesis.generation.meta import TestPhase

from pbdp import Ledger, Plan
from pbdp.studio.openapi import description
from tests.studio.conftest import fill
from tests.studio.running import COUNT, PATIENCE, WORD, Studio, running

DESCRIBED = description("pbdp-studio")


def _short(schema: Any) -> Any:
    """The description without the lengths of texts and lists: long ones take their time to be thought up."""
    if isinstance(schema, dict):
        return {name: _short(part) for name, part in schema.items() if name not in ("maxLength", "maxItems")}
    return [_short(part) for part in schema] if isinstance(schema, list) else schema


# who is let in has tests of its own
SCHEMA = schemathesis.openapi.from_dict(
    _short(DESCRIBED)
    | {"security": [], "components": {"schemas": _short(DESCRIBED["components"]["schemas"])}}
)
CHECKS = [
    checks.not_a_server_error,
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_schema_conformance,
]
# For each kind of request; `make soak` asks for more.
EACH = int(os.environ.get("PBDP_FUZZ", "8"))
# Of the 1,400 that the description itself suggests, mostly one wrong field after the other, every so many.
EVERY = 1 if "PBDP_FUZZ" in os.environ else 10
SUGGESTED = itertools.count()
# A job is looked at so often, a second each.
LOOKS = 2


@pytest.fixture(scope="module")
def fuzzed(tmp_path_factory: pytest.TempPathFactory, small: Plan) -> Iterator[Studio]:
    """A studio with data and a ledger; in the end nothing was spent, and it still answers."""
    folder = tmp_path_factory.mktemp("fuzzed")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PBDP_STATE", str(folder / "state"))
        patch.setenv("PBDP_KEYS", str(folder / "keys"))
        fill(folder, small)
        with running(folder, "visits.toml", "--ledger", "budget.db") as studio:
            yield studio
            assert studio.answer("/api/plan", {"requirement": COUNT}).record["epsilon_text"] == "0.4148"
        with Ledger.open(folder / "budget.db") as ledger:
            assert [entry.key for entry in ledger.history() if entry.kind == "spend"] == ["march"]
        assert (folder / "studio.err").read_text() == ""


@SCHEMA.parametrize()
@settings(
    max_examples=EACH,
    deadline=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
    derandomize=True,
)
def test_any_request_is_answered_as_described(case: schemathesis.Case[Any], fuzzed: Studio) -> None:
    suggested = case.meta is not None and case.meta.phase.name == TestPhase.COVERAGE
    if suggested and next(SUGGESTED) % EVERY:
        return
    headers = {"Origin": fuzzed.base, **fuzzed.headers}
    response: Any = case.call(base_url=fuzzed.base, headers=headers, timeout=PATIENCE)
    case.validate_response(response, checks=CHECKS)
    job = ""
    for _ in range(LOOKS):
        if response.status_code != 202:
            break
        job = response.json()["job"]
        response = requests.get(f"{fuzzed.base}/api/jobs/{job}", headers=headers, timeout=PATIENCE)
    if response.status_code == 202:
        # somebody has waited long enough
        fuzzed.ask("DELETE", f"/api/jobs/{job}")
    elif response.status_code != 413:
        case.validate_response(response, checks=[*CHECKS, checks.negative_data_rejection])


def test_the_description_is_served_as_it_is(studio: Studio) -> None:
    name = studio.headers["Cookie"].partition("=")[0]
    assert studio.ask("GET", "/api/openapi.json").record == description(name)
    for path in set(DESCRIBED["paths"]) - {"/api/jobs/{job}"}:
        assert studio.ask("GET", path).status in (200, 202, 405, 422), path
    assert WORD.lower() == DESCRIBED["components"]["securitySchemes"]["word"]["name"]
