"""The search for a comparison: of all noise that gives the analysis what it needs, that of least epsilon."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from pbdp.comparing.analysis import Measure
from pbdp.comparing.experiment import DELTA, Experiment, Pair, check_need
from pbdp.comparing.means import Means
from pbdp.comparing.plan import ComparisonPlan
from pbdp.comparing.rates import Rates
from pbdp.digits import percent_down
from pbdp.errors import CannotCertifyError, ContradictionError
from pbdp.mechanism.neighbors import Neighbors
from pbdp.parameters import neighbours_too
from pbdp.root_finding import least_enough

if TYPE_CHECKING:
    from pbdp.comparing.compared import Compared

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


@neighbours_too
def plan_comparison(
    *,
    users: Pair,
    rate: float | None = None,
    bounds: tuple[float, float] | None = None,
    spread: float | None = None,
    mean: float | None = None,
    wider: float | None = None,
    power: float | None = None,
    lift: float = 0.0,
    confidence: float = 0.95,
    measure: Measure = "difference",
    looks: int = 1,
    in_both: bool = False,
    guaranteed: bool = False,
    delta: float = DELTA,
    neighbors: str = Neighbors.REPLACE,
) -> ComparisonPlan:
    """The noise with the least epsilon for comparing two arms, groups or periods.

    `users` are the sizes of the groups, which are public. To compare how many say yes, `rate` is about how
    many do. To compare means, `bounds` are what numbers are clamped into, `spread` is about their standard
    deviation and `mean` about the second group's mean, which matters for ratios only.

    Say what the analysis needs: intervals at most `wider` than without privacy (0.05 for 5 %), or `power` to
    find a `lift` of the first group's rate or mean. `measure` is the difference of the two, or their ratio.

    `looks` is how often rates are looked at, in even steps: all intervals hold together, and the whole
    schedule is paid once. `in_both` says that a person may be in both groups, as in two periods. `guaranteed`
    gives means intervals that are proved for any law of numbers within the bounds.

    `confidence` is that of the intervals, `delta` what epsilon is for, and `neighbors` "replace" or
    "add/remove".
    """
    shared: dict[str, Any] = {
        "users": users,
        "confidence": confidence,
        "lift": lift,
        "measure": measure,
        "in_both": in_both,
        "delta": delta,
        "neighbors": neighbors,
    }
    if (rate is None) == (bounds is None):
        rule = "given one at a time: rates are compared, or means of numbers within bounds"
        raise ContradictionError("rate and bounds", rule, "neither" if rate is None else "both")
    asked: Experiment[Any]
    if rate is not None:
        for name, value in (("spread", spread), ("mean", mean)):
            if value is not None:
                raise ContradictionError(name, "left out beside rate", "one", "It is for means.")
        if guaranteed:
            raise ContradictionError("guaranteed", "left out beside rate", "both", "Rates are exact.")
        asked = Rates(**shared, rate=rate, looks=looks)
    else:
        if looks != 1:
            raise ContradictionError("looks", "left out for means", "several", "Rates can be looked at.")
        if spread is None:
            remedy = "About the standard deviation of the numbers; a guess will do."
            raise ContradictionError("spread", "given for means", "nothing", remedy)
        if bounds is None:
            raise AssertionError("one of the two is given")
        asked = Means(**shared, bounds=bounds, spread=spread, mean=mean, guaranteed=guaranteed)
    check_need(wider, power, lift)
    if power is not None:
        _check_power(asked, power)
    guess = asked.guess(wider=wider, power=power)
    asked = asked.prepared(guess)
    return ComparisonPlan(asked=asked, loss=_least_loss(asked, guess, wider=wider, power=power))


@neighbours_too
def compare(
    first: object,
    second: object,
    *,
    users: Pair | None = None,
    rate: float | None = None,
    bounds: tuple[float, float] | None = None,
    spread: float | None = None,
    mean: float | None = None,
    wider: float | None = None,
    power: float | None = None,
    lift: float = 0.0,
    confidence: float = 0.95,
    measure: Measure = "difference",
    in_both: bool = False,
    guaranteed: bool = False,
    delta: float = DELTA,
    neighbors: str = Neighbors.REPLACE,
) -> Compared:
    """Compare two groups at once: plan the noise, publish, analyze; see `plan_comparison`.

    `first` and `second` are counts of those who say yes (with `users`), or columns: of yes and no, or of
    numbers to compare their means. Nothing counts what is spent: `Budget` does.

    `rate`, `bounds`, `spread`, `mean`, `wider`, `power`, `lift`, `confidence`, `measure`, `in_both`,
    `guaranteed`, `delta` and `neighbors` are as in `plan_comparison`.
    """
    sizes = users
    if sizes is None:
        if not all(hasattr(group, "__len__") for group in (first, second)):
            raise ContradictionError(
                "users", "given with counts", "nothing", "How many people has each group?"
            )
        sizes = (len(first), len(second))  # type: ignore[arg-type]
    plan = plan_comparison(
        users=sizes,
        rate=rate,
        bounds=bounds,
        spread=spread,
        mean=mean,
        wider=wider,
        power=power,
        lift=lift,
        confidence=confidence,
        measure=measure,
        in_both=in_both,
        guaranteed=guaranteed,
        delta=delta,
        neighbors=neighbors,
    )
    return plan.compare(first, second)


def _least_loss(asked: Experiment[Any], guess: float, *, wider: float | None, power: float | None) -> float:
    """About the least loss that is enough, around a guess, and never one that is not."""
    if power is not None:
        return _least_for_power(asked, guess, power)
    need = wider or 0.0
    return least_enough(lambda loss: max(asked.wider(asked.at(loss))) - need, guess, close=_CLOSE)


def _check_power(asked: Experiment[Any], power: float) -> None:
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
