"""SciPy's functions under their own names."""

from __future__ import annotations

import pytest
import scipy.special

from pbdp import special


@pytest.mark.parametrize("name", ["erfcx", "gammaincinv", "ndtri"])
def test_a_function_of_scipy_is_found_by_its_name(name: str) -> None:
    assert getattr(special, name) is getattr(scipy.special, name)


@pytest.mark.parametrize("name", ["no_such_function", "_private"])
def test_other_names_are_refused(name: str) -> None:
    with pytest.raises(AttributeError, match=name):
        getattr(special, name)
