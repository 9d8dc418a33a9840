"""A choice whose file was changed, field by field: each change is found, or what is claimed holds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pbdp.choosing.search import plan_choice
from pbdp.choosing.verify import verify_choice
from pbdp.errors import InputError
from tests.altered import altered, leaves

COUNTS: dict[str, Any] = {"options": 20, "within": 5, "confidence": 0.9, "sensitivity": 1, "integer": True}
# A larger delta is a weaker claim, and a longer table another law; both are certified again.
TRUE_ANYWAY = {("delta",), ("coins", "last"), ("way", "last")}


@pytest.mark.parametrize(
    "asked", [COUNTS, COUNTS | {"top": 3, "delta": 1e-6}, COUNTS | {"top": 20, "delta": 1e-6}]
)
def test_every_change_of_a_field_is_found(asked: dict[str, Any], tmp_path: Path) -> None:
    file = tmp_path / "choice.json"
    plan_choice(**asked).save(file)
    record = json.loads(file.read_text())
    before = verify_choice(file)
    assert before.holds
    for place in leaves(record):
        file.write_text(json.dumps(altered(record, place)))
        try:
            found = verify_choice(file)
        except InputError:
            continue
        # a law of another name cannot be looked at, and that is said
        is_found = not found.holds or any(check.holds is None for check in found.checks)
        assert is_found or (place in TRUE_ANYWAY and found.epsilon == pytest.approx(before.epsilon)), place
