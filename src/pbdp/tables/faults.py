"""How a check of a manifest ends: the claim holds, it does not, or it cannot be looked at."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pbdp.errors import PbdpError


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One thing that was looked at. `holds` is None where it could not be, and `words` say why."""

    name: str
    holds: bool | None
    words: str


class FaultError(Exception):
    """A claim that does not hold; the text says which."""


class UnknownError(Exception):
    """A claim that cannot be looked at here; the text says why."""


def checked(name: str, look: Callable[[], str]) -> Check:
    """What became of a claim."""
    try:
        return Check(name=name, holds=True, words=look())
    except (FaultError, PbdpError) as fault:
        return Check(name=name, holds=False, words=str(fault))
    except UnknownError as unknown:
        return Check(name=name, holds=None, words=str(unknown))
