"""What became of the claims of a file that is checked: a table, a release, a comparison, a choice or a plan.

A check ends in one of three ways: the claim holds, it does not, or it cannot be looked at.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, Self

from pbdp.errors import PbdpError
from pbdp.json_records import SAME

Verdict = Literal["sound", "unsigned", "incomplete", "not sound"]
# The name of the check of who made a file.
SIGNED = "signature"


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One thing that was looked at. `holds` is None where it could not be, and `words` say why.

    `missing` says that it could be looked at with something that was not given.
    """

    name: str
    holds: bool | None
    words: str
    missing: bool = False


class FaultError(Exception):
    """A claim that does not hold; the text says which."""


class UnknownError(Exception):
    """A claim that cannot be looked at here; the text says why."""


class MissingError(UnknownError):
    """A claim that could be looked at with something that was not given."""


def check_said(said: object, meant: object, name: str) -> None:
    """All that a part of a file says is what was made out of it, and nothing of that is missing.

    What is read is written again (`meant`), so that nothing stands beside it unread.
    """
    match said, meant:
        case dict(), dict():
            if strange := sorted(set(said) - set(meant)):
                raise FaultError(f"{name} has fields that no such file has: {', '.join(strange)}")
            if missing := sorted(set(meant) - set(said)):
                raise FaultError(f"{name} lacks what every such file has: {', '.join(missing)}")
            for field, value in said.items():
                check_said(value, meant[field], f"{name}.{field}")
        case list(), list() | tuple() if len(said) == len(meant):
            for at, (value, other) in enumerate(zip(said, meant, strict=True)):
                check_said(value, other, f"{name}[{at}]")
        case float(), float() if math.isclose(said, meant, rel_tol=SAME):
            pass
        case _ if said != meant or isinstance(said, bool) != isinstance(meant, bool):
            raise FaultError(f"{name} is not what the rest of the file says")


def checked(name: str, look: Callable[[], str]) -> Check:
    """What became of a claim."""
    try:
        return Check(name=name, holds=True, words=look())
    except (FaultError, PbdpError) as fault:
        return Check(name=name, holds=False, words=str(fault))
    except UnknownError as unknown:
        missing = isinstance(unknown, MissingError)
        return Check(name=name, holds=None, words=str(unknown), missing=missing)


class Claiming(Protocol):
    """A plan of any kind: what it claims."""

    @property
    def epsilon(self) -> float: ...

    @property
    def delta(self) -> float | None: ...

    def risk(self) -> float:
        """How often the best attacker is right who starts at even odds, at most."""

    def risk_words(self) -> str:
        """The same in a sentence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verified:
    """What became of every claim of a file; `epsilon` is None where no plan could be made out.

    `guessed_right` is how often the best attacker who starts at even odds guesses right after all that
    the file speaks of, at most; `means` says it in a sentence.
    """

    checks: tuple[Check, ...]
    epsilon: float | None
    delta: float | None
    guessed_right: float | None = None
    means: str = ""

    @classmethod
    def of(cls, plan: Claiming, checks: Sequence[Check]) -> Self:
        """What became of the claims of a plan, and what it claims."""
        return cls(
            checks=tuple(checks),
            epsilon=plan.epsilon,
            delta=plan.delta,
            guessed_right=plan.risk(),
            means=plan.risk_words(),
        )

    @property
    def holds(self) -> bool:
        """Whether nothing that was looked at is wrong."""
        return all(check.holds is not False for check in self.checks)

    @property
    def missing(self) -> tuple[str, ...]:
        """The checks that need something that was not given: the table, the ledger, a key."""
        return tuple(check.name for check in self.checks if check.missing)

    @property
    def is_complete(self) -> bool:
        """Whether nothing was left unchecked because the table, the ledger or a key was not given."""
        return not self.missing

    @property
    def is_signed(self) -> bool:
        """Whether the holder of a key that was named has signed all of it."""
        return any(check.name == SIGNED and check.holds is True for check in self.checks)

    @property
    def verdict(self) -> Verdict:
        """Sound is what was checked completely, is signed, and has no fault."""
        if not self.holds:
            return "not sound"
        if not self.is_complete:
            return "incomplete"
        return "sound" if self.is_signed else "unsigned"
