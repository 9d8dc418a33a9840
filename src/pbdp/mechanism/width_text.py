"""The text of a relative width, `5%+10`: what is read and written of it anywhere is read and written here."""

from __future__ import annotations

import re
from typing import NamedTuple

UNKNOWN = "?"

_NUMBER = r"[0-9.]+(?:[eE][+-]?[0-9]+)?"
_PART = rf"({_NUMBER}|\?)"
_PERCENT_FIRST = re.compile(rf"\s*{_PART}\s*%\s*(?:\+\s*{_PART})?\s*")
_PLUS_FIRST = re.compile(rf"\s*({_NUMBER})\s*\+\s*({_NUMBER})\s*%\s*")


class WidthText(NamedTuple):
    """A percentage and what is added to it, as they are written: `?` is to be found, no `plus` is none.

    What looks like a number need not be one: `1.2.3`.
    """

    percent: str
    plus: str

    @classmethod
    def read(cls, given: object) -> WidthText | None:
        """The parts of a text such as `5%+10`, `10+5%`, `5%` or `?%+10`; None of anything else."""
        if not isinstance(given, str):
            return None
        if match := _PERCENT_FIRST.fullmatch(given):
            return cls(percent=match[1], plus=match[2] or "")
        if match := _PLUS_FIRST.fullmatch(given):
            return cls(percent=match[2], plus=match[1])
        return None

    @classmethod
    def of(cls, theta: float, tau: float) -> WidthText:
        """The shortest text that is read as just these numbers: 7, not 7.000000000000001."""
        short = f"{theta * 100:.12g}"
        return cls(percent=short if float(short) / 100 == theta else _plain(theta * 100), plus=_plain(tau))

    def __str__(self) -> str:
        return f"{self.percent}%+{self.plus}" if self.plus else f"{self.percent}%"


def _plain(number: float) -> str:
    """A number as people write it: 10, not 10.0."""
    return repr(number).removesuffix(".0")
