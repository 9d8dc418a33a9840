"""What cannot be planned for is refused, and the message names it."""

from __future__ import annotations

import math
from typing import Any

import pytest

from pbdp.errors import ContradictionError, InputError
from pbdp.planning.vectors.ask import plan_vector

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
        ({"norm": ["l2"]}, "norm"),
        ({"norm": None, "error_norm": "l3"}, "error_norm"),
        ({"norm": None, "error_norm": "l2", "change_norm": "l3"}, "change_norm"),
        ({"dimensions": 0}, "dimensions"),
        ({"dimensions": -4}, "dimensions"),
        ({"dimensions": 2.5}, "dimensions"),
        ({"dimensions": True}, "dimensions"),
        ({"dimensions": math.nan}, "dimensions"),
        ({"dimensions": math.inf}, "dimensions"),
        ({"dimensions": 10**7}, "dimensions"),
        ({"within": math.nan}, "within"),
        ({"within": 0}, "within"),
        ({"within": -1}, "within"),
        ({"within": math.inf}, "within"),
        ({"within": "5%"}, "within"),
        ({"within": "5%+1e300"}, "within"),
        ({"within": 1e300}, "within"),
        ({"confidence": 1.0}, "confidence"),
        ({"confidence": 90}, "confidence"),
        ({"confidence": math.nan}, "confidence"),
        ({"sensitivity": 0}, "sensitivity"),
        ({"sensitivity": math.nan}, "sensitivity"),
        ({"sensitivity": 1e-200}, "sensitivity"),
        ({"delta": 0}, "delta"),
        ({"delta": 1}, "delta"),
        ({"delta": math.nan}, "delta"),
        ({"delta": None}, "delta"),
        ({"neighbors": "twins"}, "neighbors"),
        ({"integer": 1}, "integer"),
        ({"integer": False, "step": 0.3}, "step"),
        ({"integer": False, "step": -1}, "step"),
        ({"touches": 0}, "touches"),
        ({"touches": 1.5}, "touches"),
    ],
)
def test_bad_input_is_named(change: dict[str, Any], name: str) -> None:
    with pytest.raises(InputError) as caught:
        plan_vector(**ASKED | change)

    assert caught.value.name.removesuffix(" and rdp_order") == name


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({"step": 0.5}, "step"),
        ({"touches": 4}, "touches"),
        ({"norm": "l2", "sensitivity": 2.0}, "integer and step"),
        ({"norm": "l2", "integer": False, "step": 0.5}, "integer and step"),
        ({"norm": "l2", "error_norm": "l2"}, "norm"),
        ({"norm": None}, "error_norm"),
        ({"change_norm": "l2"}, "change_norm"),
    ],
)
def test_options_that_exclude_each_other_are_named(change: dict[str, Any], name: str) -> None:
    with pytest.raises(ContradictionError) as caught:
        plan_vector(**ASKED | change)

    assert caught.value.name == name
