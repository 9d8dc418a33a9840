"""Plans that choose, as earlier versions wrote them: read, claimed, paid for, drawn and saved as before."""

from __future__ import annotations

import pytest

from tests.frozen import reading
from tests.frozen.kept import SAME_MACHINE, assert_kept

INDEX = reading.index()


@pytest.mark.parametrize("name", INDEX["choices"])
def test_a_choice_claims_costs_and_chooses_the_same(name: str) -> None:
    file, known = reading.HERE / "choices" / name, INDEX["choices"][name]
    now = reading.choice_facts(file)
    written = reading.json_in(file)
    if SAME_MACHINE:
        assert now["record"] == written
    else:
        # other floats round the last digit of an epsilon otherwise, and a claim has all of them
        assert now["record"].keys() == written.keys()
        known = {fact: value for fact, value in known.items() if fact != "claim"}
    assert_kept(known, now)
