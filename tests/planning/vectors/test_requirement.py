"""What cannot be planned for is refused, and the message names it."""

from __future__ import annotations

import math
from typing import Any

import pytest

import pbdp
from pbdp.errors import ContradictionError, InputError

ASKED: dict[str, Any] = {
    "within": 5.0,
    "confidence": 0.9,
    "dimensions": 3,
    "norm": "l1",
    "sensitivity": 1.0,
    "delta": 1e-6,
    "integer": True,
}


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({"norm": "l3"}, "norm"),
        ({"norm": 2}, "norm"),
        ({"norm": ["l1"]}, "norm"),
        ({"norm": "l2"}, "norm"),
        ({"norm": None, "error_norm": "l1", "change_norm": "l2"}, "change_norm"),
        ({"norm": None, "error_norm": "l3"}, "error_norm"),
        ({"norm": None, "error_norm": "l2", "change_norm": "l3"}, "change_norm"),
        ({"dimensions": 0}, "dimensions"),
        ({"dimensions": -4}, "dimensions"),
        ({"dimensions": 2.5}, "dimensions"),
        ({"dimensions": True}, "dimensions"),
        ({"dimensions": math.nan}, "dimensions"),
        ({"dimensions": math.inf}, "dimensions"),
        ({"dimensions": 10**7}, "dimensions"),
        ({"within": "5%"}, "within"),
        ({"sensitivity": 1e-200}, "sensitivity"),
        ({"delta": None}, "delta"),
        ({"integer": False, "step": 0.3}, "step"),
        ({"touches": 0}, "touches"),
        ({"touches": 1.5}, "touches"),
    ],
)
def test_bad_input_is_named(change: dict[str, Any], name: str) -> None:
    with pytest.raises(InputError) as caught:
        pbdp.plan(**ASKED | change)

    assert caught.value.name.removesuffix(" and rdp_order") == name


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({"step": 0.5}, "step"),
        ({"touches": 4}, "touches"),
        ({"norm": "l1", "error_norm": "l1"}, "norm"),
        ({"norm": None}, "error_norm"),
        ({"change_norm": "l1"}, "change_norm"),
        ({"delta": None, "rdp_order": 10}, "rdp_order"),
        ({"epsilon": 1.0}, "epsilon"),
        ({"releases": 2}, "releases and simultaneous"),
        ({"dimensions": None}, "dimensions"),
    ],
)
def test_options_that_exclude_each_other_are_named(change: dict[str, Any], name: str) -> None:
    with pytest.raises(ContradictionError) as caught:
        pbdp.plan(**ASKED | change)

    assert caught.value.name == name
