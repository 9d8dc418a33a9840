"""Regions as users write them: `5`, `"5%+10"`, a pair below and above."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from numbers import Real

from pbdp.errors import ContradictionError, InputError, shown
from pbdp.mechanism.absolute import AbsoluteRegion
from pbdp.mechanism.region import Region
from pbdp.mechanism.relative import UNKNOWN, RelativeRegion, WidthText
from pbdp.parameters import number_or_infinite, positive

Within = float | str | tuple[float, float]

# Below this an answer would have to be astronomical for the percentage to show.
SMALLEST_PERCENT = 1e-6

_HOW = 'Write 5 for "within 5", 5%+10 for "within 5 % plus 10", or two numbers for below and above.'


def region_within(within: object, nonnegative: bool = False) -> Region:
    """The region that a width describes."""
    match within:
        case str():
            return _from_text(within, nonnegative)
        case (below, above):
            sides = [number_or_infinite("within", side, least=0.0, remedy=_HOW) for side in (below, above)]
            if max(sides) == 0:
                raise InputError("within", "above 0 on one side", "0 on both", _HOW)
            return AbsoluteRegion(below=sides[0], above=sides[1])
        case Real():
            return AbsoluteRegion.even(positive("within", within, _HOW))
    raise InputError("within", "a number, a percentage plus a number, or two numbers", shown(within), _HOW)


def _from_text(text: str, nonnegative: bool) -> Region:
    relative = WidthText.read(text)
    try:
        if relative is None:
            even = AbsoluteRegion.even(positive("within", float(text), _HOW))
            if nonnegative:
                raise ContradictionError(
                    "nonnegative", "left out unless the width is relative (5%+10)", nonnegative
                )
            return even
        percent, plus = float(relative.percent), float(relative.plus or 0)
    except ValueError:
        remedy = "Write it without commas, and with a point: 1234.5." if "," in text else _HOW
        raise InputError("within", "a number, or a percentage plus a number", shown(text), remedy) from None
    if not 0 < percent < 100:
        raise InputError(
            "within",
            "a percentage above 0 and below 100",
            f"{text!r}",
            "A relative error of 100 % or more is met by publishing 0.",
        )
    if percent < SMALLEST_PERCENT:
        raise InputError(
            "within",
            f"a percentage of at least {SMALLEST_PERCENT:g}",
            f"{text!r}",
            "So small a percentage makes no difference; leave it out.",
        )
    if plus <= 0:
        raise InputError(
            "within",
            "a percentage plus a number above 0",
            f"{text!r}",
            f"At an answer of 0 a percentage alone allows no error at all; write {percent:g}%+10, say.",
        )
    return RelativeRegion(theta=percent / 100, tau=positive("within", plus, _HOW), nonnegative=nonnegative)


@dataclass(frozen=True, slots=True, kw_only=True)
class Unknown:
    """A relative width with one part to be found: `?%+10` or `5%+?`."""

    theta: float | None
    tau: float | None

    def filled(self, nonnegative: bool) -> Callable[[float], Region]:
        """The region with the missing part filled in."""

        def region(part: float) -> Region:
            theta = part if self.theta is None else self.theta
            tau = part if self.tau is None else self.tau
            return RelativeRegion(theta=theta, tau=tau, nonnegative=nonnegative)

        return region


def unknown_of(text: str) -> Unknown | None:
    """The unknown that a width asks for, or None if it asks for none."""
    if UNKNOWN not in text:
        return None
    try:
        match WidthText.read(text):
            case (percent, plus) if percent == UNKNOWN and plus != UNKNOWN:
                return Unknown(theta=None, tau=positive("within", float(plus), _HOW))
            case (percent, plus) if plus == UNKNOWN and 0 < float(percent) < 100:
                return Unknown(theta=float(percent) / 100, tau=None)
    except ValueError:  # what looks like a number is none, or there is nothing
        pass
    raise InputError("within", "?%+10 or 5%+? to have one part of it found", shown(text), _HOW)
