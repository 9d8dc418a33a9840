"""A claim holds, does not, or cannot be looked at; a file is sound where nothing is wrong."""

from __future__ import annotations

import pytest

from pbdp.errors import InputError
from pbdp.verification import Check, FaultError, MissingError, UnknownError, Verified, checked


def looked(error: Exception | None) -> str:
    if error is not None:
        raise error
    return "so it is"


@pytest.mark.parametrize(
    ("error", "holds", "missing"),
    [
        (None, True, False),
        (FaultError("so it is"), False, False),
        (InputError("within", "a number", "none"), False, False),
        (UnknownError("so it is"), None, False),
        (MissingError("so it is"), None, True),
    ],
)
def test_checks_end_in_one_of_three_ways(error: Exception | None, holds: bool | None, missing: bool) -> None:
    found = checked("claim", lambda: looked(error))
    words = "so it is" if error is None else str(error)
    assert found == Check(name="claim", holds=holds, words=words, missing=missing)

    verified = Verified(checks=(found,), epsilon=None, delta=None)
    assert verified.holds is (holds is not False)
    assert verified.is_complete is not missing
