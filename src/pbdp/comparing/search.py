"""The least loss of a published number with which an analysis is as precise as is asked, or finds as much."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from pbdp.comparing.experiment import Experiment
from pbdp.digits import percent_down
from pbdp.errors import CannotCertifyError
from pbdp.root import least_enough

# The search ends this near to the least loss.
_CLOSE = 1e-3
# That for power ends with so little more than is needed; or with more, as the power of few people goes up and
# down. So many straight lines are followed.
_LITTLE, _MORE, _TRIES = 3e-4, 1e-3, 4
# What is about enough is found this near first, in power, along so many lines at most, with a slope through
# points so far apart in the logarithm of the loss; where that fails, this near in the loss.
_NEAR, _LINES, _APART, _ABOUT = 3e-3, 4, 0.1, 1e-2
# Where there is so much more power without noise, about, there is enough.
_PLENTY = 0.1


def least_loss(asked: Experiment[Any], guess: float, *, wider: float | None, power: float | None) -> float:
    """About the least loss that is enough, around a guess, and never one that is not."""
    if power is not None:
        return _least_for_power(asked, guess, power)
    need = wider or 0.0
    return least_enough(lambda loss: max(asked.wider(asked.at(loss))) - need, guess, close=_CLOSE)


def check_power(asked: Experiment[Any], power: float) -> None:
    """Refuse a power that is not reached without any noise."""
    if asked.about_power(None) > power + _PLENTY:
        return
    best = asked.power(asked.without, *asked.planned)
    if best <= power:
        raise CannotCertifyError(
            f"Without any noise the power is {percent_down(best)}. Take larger groups, or look for a "
            "larger lift."
        )


def _least_for_power(asked: Experiment[Any], guess: float, power: float) -> float:
    """The least loss with this power: about, in less time, and then on straight lines from there."""

    def exact(loss: float) -> float:
        return asked.power(asked.at(loss), *asked.planned)

    loss, slope = _about(asked.about_power, guess, power)
    enough, before = math.inf, None
    for tries in range(_TRIES):
        found = exact(loss)
        if before is not None and abs(math.log(loss / before[0])) > _ABOUT:
            # of few people, whose power goes up and down, the first slope may be far off; nearer by, this one
            slope = (found - before[1]) / math.log(loss / before[0])
        before = loss, found
        if power <= found <= power + _LITTLE:
            return loss
        if power <= found <= power + _MORE:
            enough = min(loss, enough)
        if slope <= 0:
            break
        # a little further every time: what was too little may be so again
        aim = power + _LITTLE * (2 + tries) / 6
        loss *= math.exp(min(max((aim - found) / slope, -1.0), 1.0))
    if enough < math.inf:
        return enough
    return least_enough(lambda loss: power - exact(loss), loss, close=_ABOUT / 2)


def _about(about: Callable[[float], float], guess: float, power: float) -> tuple[float, float]:
    """A loss with about this power, and by what power grows there with the logarithm of the loss."""
    place, found = math.log(guess), about(guess)
    step = _APART if found < power else -_APART
    slope = 0.0
    for _ in range(_LINES):
        before, place = found, place + step
        found = about(math.exp(place))
        if abs(step) >= _APART:
            slope = (found - before) / step
        if slope <= 0:
            break
        step = (power - found) / slope
        if abs(power - found) < _NEAR or abs(step) < _ABOUT:
            return math.exp(place + step), slope
        step = min(max(step, -1.0), 1.0)
    loss = least_enough(lambda loss: power - about(loss), guess, close=_ABOUT)
    return loss, (about(loss * (1 + _ABOUT)) - about(loss)) / math.log1p(_ABOUT)
