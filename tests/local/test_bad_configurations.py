"""Configurations that would bring a careless reader down are refused in words."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pbdp.errors import PlanFileError
from pbdp.local import load_configuration
from pbdp.local.boosted_response import boosted_response
from pbdp.local.configuration import configuration, mechanism_of
from tests.local.setups import DOMAINS


def test_deeply_nested_json(tmp_path: Path) -> None:
    path = tmp_path / "survey.json"
    path.write_text("[" * 100_000, encoding="utf-8")
    with pytest.raises(PlanFileError, match="not JSON"):
        load_configuration(path)


@pytest.mark.parametrize("claim", [float("nan"), 0.1, -1.0])
def test_a_claim_below_what_the_weights_have(claim: float) -> None:
    record = json.loads(json.dumps(configuration(boosted_response(DOMAINS["ages"], 3.0, 1.5))))
    with pytest.raises(PlanFileError, match="epsilon"):
        mechanism_of(record | {"epsilon": claim})
