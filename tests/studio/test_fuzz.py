"""Requests at random: each is answered as the OpenAPI description says, none breaks the studio or spends."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, settings
from schemathesis import checks

from pbdp import Budget, Ledger
from pbdp.studio.openapi import description
from tests.studio.conftest import QUERY, VISITS
from tests.studio.running import COUNT, WORD, Studio, running

DESCRIBED = description("pbdp-studio")
# who is let in has tests of its own
SCHEMA = schemathesis.openapi.from_dict(
    DESCRIBED | {"security": [], "components": {"schemas": DESCRIBED["components"]["schemas"]}}
)
CHECKS = [
    checks.not_a_server_error,
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_schema_conformance,
]
# For each kind of request; `make soak` asks for more.
EACH = int(os.environ.get("PBDP_FUZZ", "12"))


@pytest.fixture(scope="module")
def fuzzed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Studio]:
    """A studio with data and a ledger; in the end nothing was spent, and it still answers."""
    folder = tmp_path_factory.mktemp("fuzzed")
    (folder / "visits.csv").write_text(f"{VISITS}\n", encoding="utf-8")
    (folder / "visits.toml").write_text(QUERY, encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PBDP_STATE", str(folder / "state"))
        patch.setenv("PBDP_KEYS", str(folder / "keys"))
        with Ledger.create(folder / "budget.db") as ledger:
            Budget.create(ledger, "visits", epsilon=3, delta=1e-6)
        with running(folder, "visits.toml", "--ledger", "budget.db") as studio:
            yield studio
            assert studio.answer("/api/plan", {"requirement": COUNT}).record["epsilon_text"] == "0.4148"
        with Ledger.open(folder / "budget.db") as ledger:
            assert Budget.of(ledger, "visits").spent == 0
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
    headers = {"Origin": fuzzed.base, **fuzzed.headers}
    response = case.call(base_url=fuzzed.base, headers=headers, timeout=30)
    if response.status_code not in (202, 413):
        case.validate_response(response, checks=[*CHECKS, checks.negative_data_rejection])
        return
    case.validate_response(response, checks=CHECKS)
    if response.status_code == 202:
        # somebody asks and goes away
        fuzzed.ask("DELETE", f"/api/jobs/{response.json()['job']}")


def test_the_description_is_served_as_it_is(studio: Studio) -> None:
    name = studio.headers["Cookie"].partition("=")[0]
    assert studio.ask("GET", "/api/openapi.json").record == description(name)
    for path in set(DESCRIBED["paths"]) - {"/api/jobs/{job}"}:
        assert studio.ask("GET", path).status in (200, 202, 405, 422), path
    assert WORD.lower() == DESCRIBED["components"]["securitySchemes"]["word"]["name"]
