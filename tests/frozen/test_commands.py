"""What commands of pbdp 0.1.0 printed for programs, and that the files here are those that it wrote."""

from __future__ import annotations

from typing import Any

import pytest

from tests.frozen import kept, reading
from tests.frozen.kept import GONE, RENAMED_FIELDS, assert_kept

INDEX = reading.index()


@pytest.mark.parametrize("known", INDEX["commands"], ids=lambda known: " ".join(known["command"][:4]))
def test_a_command_prints_the_same(known: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(reading.HERE)
    monkeypatch.delenv("PBDP_LEDGER", raising=False)
    found = reading.command([*known["command"], "--json"])
    assert found["code"] == known["code"]
    old, new = reading.in_todays_format(known["out"]), found["out"]
    if known["command"][0] == "tables" and old["epsilon"] < new["epsilon"] <= 1.01 * old["epsilon"]:
        # tables also tell whom their bounds touched now, for 1 % of epsilon or less
        assert {RENAMED_FIELDS.get(name, name) for name in old} - GONE <= new.keys()
    elif known["command"][0] in {"vector", "together", "tables"} and new["epsilon"] < old["epsilon"] * (
        1 - 1e-9
    ):
        # planned anew for less: the figures are others, the fields are the same
        assert {RENAMED_FIELDS.get(name, name) for name in old} - GONE <= new.keys()
    else:
        if known["command"][0] == "plan":
            # a search that is made anew may end elsewhere, as close to what it looks for
            monkeypatch.setattr(kept, "RELATIVE", 1e-5)
        if known["command"][:2] == ["local", "estimate"]:
            # score intervals took the place of the normal law's, which missed where few people hold a value
            old, new = without_intervals(old), without_intervals(new)
        assert_kept(old, new)


def without_intervals(record: dict[str, Any]) -> dict[str, Any]:
    rows = [{name: row[name] for name in ("value", "estimate", "share")} for row in record["estimates"]]
    return {name: value for name, value in record.items() if name != "method"} | {"estimates": rows}


def test_no_file_was_changed() -> None:
    assert reading.digests() == INDEX["files"]
