"""What became of the claims of a file that is checked: a table, a release, a comparison, a choice or a plan.

A check ends in one of three ways: the claim holds, it does not, or it cannot be looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, Self

from pbdp.errors import PbdpError


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
    def is_complete(self) -> bool:
        """Whether nothing was left unchecked because the table, the ledger or a key was not given."""
        return not any(check.missing for check in self.checks)
