"""What a comparison may be asked: its settings, declared once."""

from __future__ import annotations

from typing import Literal

from pbdp.digits import percent_up
from pbdp.errors import ContradictionError, InputError, shown
from pbdp.kinds import (
    ANYTHING,
    CONFIDENCE,
    FLAG,
    MOST_PEOPLE,
    NUMBER,
    POSITIVE,
    Kind,
    number_of,
    one_of,
    pair,
    share,
    whole_number,
)
from pbdp.mechanism.neighbors import RELATION, RELATIONS, Neighbors
from pbdp.parameters import finite, plain, positive, probability
from pbdp.settings import Request, request, setting

Measure = Literal["difference", "ratio"]
Pair = tuple[int, int]
# An interval a thousand times as wide needs no plan.
MOST_WIDER = 1000.0
KNOWN, NEEDED = "what is known", "what the analysis needs: a wider interval, or power to find a lift"


def _users(name: str, value: object) -> Pair:
    return checked_users(value, name=name)


def checked_users(given: object, least: int = 2, name: str = "users") -> Pair:
    """Two sizes of groups."""
    if not isinstance(given, list | tuple) or len(given) != 2:
        raise InputError(name, "two whole numbers, such as 100000,100000", shown(given))
    people = whole_number(least, MOST_PEOPLE)
    first, second = (people.check(name, plain(size)) for size in given)
    return first, second


def _users_typed(name: str, text: str) -> list[object]:
    return [number_of(name, size) for size in text.split(",")]


def _probability(remedy: str) -> Kind:
    def check(name: str, value: object) -> float:
        return probability(name, value, remedy)

    return share(check)


def _rate(name: str, value: object) -> float:
    """At least one person of the largest group says yes, and one no."""
    rate = probability(name, value, "About how many say yes: 0.05 for 5 %.")
    if not 1 / MOST_PEOPLE <= rate <= 1 - 1 / MOST_PEOPLE:
        raise InputError(name, f"{1 / MOST_PEOPLE:g} or more from 0 and from 1", rate)
    return rate


def _wider(name: str, value: object) -> float:
    if (found := positive(name, value, "0.05 for 5 %.")) > MOST_WIDER:
        raise InputError(name, f"at most {MOST_WIDER:g}", found, "0.05 is for 5 %.")
    return found


_SIZES = {"type": "array", "items": {"type": "integer", "minimum": 2}, "minItems": 2, "maxItems": 2}
USERS = Kind(check=_users, read=_users_typed, write=list, schema=_SIZES, form="pair")


@request("plan_comparison")
class Comparing(Request):
    """What is known of two groups, and what the analysis needs."""

    rate: float | None = setting(
        share(_rate),
        "roughly what share says yes: 0.05 or 5%",
        default=None,
        group=KNOWN,
    )
    bounds: tuple[float, float] | None = setting(
        pair(), "to compare means: numbers are clamped to this range", default=None, group=KNOWN
    )
    spread: float | None = setting(
        POSITIVE, "for means: roughly their standard deviation", default=None, group=KNOWN
    )
    mean: float | None = setting(
        NUMBER, "for ratios of means: roughly the second mean", default=None, group=KNOWN
    )
    in_both: bool = setting(FLAG, "a person may be in both groups (two periods)", default=False, group=KNOWN)
    wider: float | None = setting(
        Kind(check=_wider, read=share().read, schema=POSITIVE.schema, form="number"),
        "how much wider intervals may be than without noise: 5%",
        default=None,
        group=NEEDED,
    )
    power: float | None = setting(
        _probability("0.8 for 80 %."), "how often the lift must be found: 80%", default=None, group=NEEDED
    )
    lift: float = setting(
        Kind(check=finite, read=share().read, schema=NUMBER.schema, form="number"),
        "the change of the first group's rate or mean to find",
        default=0.0,
        group=NEEDED,
    )
    confidence: float = setting(CONFIDENCE, "confidence of the intervals", default=0.95, group=NEEDED)
    measure: Measure = setting(
        one_of(("difference", "ratio")),
        "the difference of the two, or their ratio",
        default="difference",
        group=NEEDED,
    )
    guaranteed: bool = setting(
        FLAG,
        "for means: intervals proved for any distribution within the bounds",
        default=False,
        group=NEEDED,
    )
    delta: float = setting(
        _probability("1e-9, say."), "the probability that epsilon does not cover", default=1e-9, group=NEEDED
    )
    neighbors: str = setting(RELATION, RELATIONS, default=Neighbors.REPLACE, group=NEEDED)

    def agree(self) -> None:
        """Rates or means, and one thing that the analysis needs."""
        if self.bounds is not None and not self.bounds[0] < self.bounds[1]:
            got = f"{self.bounds[0]:g} and {self.bounds[1]:g}"
            raise InputError("bounds", "the lower bound, then the higher one", got)
        if (self.rate is None) == (self.bounds is None):
            rule = "given one at a time: rates are compared, or means of numbers within bounds"
            raise ContradictionError("rate and bounds", rule, "neither" if self.rate is None else "both")
        if self.rate is not None:
            for name in ("spread", "mean"):
                if getattr(self, name) is not None:
                    raise ContradictionError(name, "left out beside rate", "one", "It is for means.")
            if self.guaranteed:
                raise ContradictionError("guaranteed", "left out beside rate", "both", "Rates are exact.")
        elif self.spread is None:
            remedy = "About the standard deviation of the numbers; a guess will do."
            raise ContradictionError("spread", "given for means", "nothing", remedy)
        if (self.wider is None) == (self.power is None):
            got = "neither" if self.wider is None else "both"
            remedy = "Say what the analysis needs."
            raise ContradictionError("wider or power", "given, one of the two", got, remedy)
        if self.power is not None and self.power <= 1 - self.confidence:
            rule = f"above {percent_up(1 - self.confidence)}, as often as chance alone finds a lift"
            raise InputError("power", rule, self.power, "0.8 for 80 %.")
        if self.power is not None and not self.lift:
            raise ContradictionError("lift", "given with power", "none", "Power to find which lift?")


SIZES = "how many people each group has; IT IS PUBLIC"


@request("plan_comparison")
class ComparisonRequest(Comparing):
    """A comparison of groups of these sizes."""

    users: Pair = setting(USERS, SIZES, group=KNOWN, metavar="N,N")


@request("compare")
class CompareRequest(Comparing):
    """A comparison of data, which may say how large the groups are."""

    first: object = setting(
        ANYTHING,
        "how many in the first group say yes (with users), or a column: of yes and no, or of numbers to "
        "compare their means",
        private=True,
        kw_only=False,
    )
    second: object = setting(ANYTHING, "the same of the second group", private=True, kw_only=False)
    users: Pair | None = setting(USERS, SIZES, default=None, group=KNOWN, metavar="N,N")

    def comparison(self, users: Pair | None) -> ComparisonRequest:
        """The plan of groups of these sizes."""
        own = {name: getattr(self, name) for name in Comparing.settings()}
        return ComparisonRequest(**own | {"users": users})
