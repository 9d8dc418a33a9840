"""What `pbdp.plan` may be asked: its settings, declared once for Python, options, files and pages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from pbdp.errors import ContradictionError, InputError, shown
from pbdp.kinds import (
    ANYTHING,
    EPSILON,
    FLAG,
    NAMES,
    POSITIVE,
    PROMISED,
    WHOLE,
    Kind,
    number,
    number_typed,
    one_of,
    pair,
)
from pbdp.mechanism.coordinates import CHANGE_NORMS, NORMS
from pbdp.mechanism.neighbors import RELATION, RELATIONS
from pbdp.parameters import above_one, fraction, number_or_infinite, plain, positive
from pbdp.settings import Request, request, setting

if TYPE_CHECKING:
    from pbdp.mechanism.region import Region
    from pbdp.planning.together.words import Requirements

Within = float | str | tuple[float, float]
HOW = 'Write 5 for "within 5", 5%+10 for "within 5 % plus 10", 2..8 for "2 below to 8 above".'
ACCURACY, ANSWERS, VECTORS, PRIVACY = "accuracy", "answers", "vectors", "privacy"


# ------------------------------------------------------------------------------------------ widths


def _width(name: str, value: object) -> Within:
    """A number, two, or a text with a percentage, which is looked at more closely later."""
    if isinstance(value, str):
        if "%" in value or "?" in value:
            return value
        try:
            value = _width_typed(name, value)
        except InputError as error:
            rule = "a number, or a percentage plus a number"
            raise InputError(name, rule, shown(value), error.remedy or HOW) from None
    if isinstance(value, list | tuple) and len(value) == 2:
        below, above = (_side(name, plain(side)) for side in value)
        return below, above
    if isinstance(value, str | Sequence):
        raise InputError(name, "a number, a percentage plus a number, or two numbers", shown(value), HOW)
    return positive(name, value, HOW)


def _side(name: str, side: object) -> float:
    """How far off on one side; JSON, which has no infinity, leaves it out."""
    return number_or_infinite(name, float("inf") if side is None else side, least=0.0, remedy=HOW)


def _width_typed(name: str, text: str) -> float | tuple[float, float]:
    below, dots, above = text.partition("..")
    return (number_typed(name, below), number_typed(name, above)) if dots else number_typed(name, text)


def _width_written(value: Within) -> Any:
    return [None if side == float("inf") else side for side in value] if isinstance(value, tuple) else value


def _delta(name: str, value: object) -> float:
    return fraction(name, value, "It should be far below one over the number of people; 1e-6, say.")


_SIDES = {"type": "array", "items": {"type": ["number", "null"]}, "minItems": 2, "maxItems": 2}
CHANGE = number(
    partial(positive, remedy="It is the most that one person can change the answer."), exclusiveMinimum=0
)
WIDTH = Kind(
    check=_width,
    write=_width_written,
    schema={"anyOf": [{"type": "number", "exclusiveMinimum": 0}, {"type": "string"}, _SIDES]},
    form="width",
)


# ------------------------------------------------------------------------------------------ requests


@request("plan")
class RequirementRequest(Request):
    """One requirement, as users write it."""

    within: Within | None = setting(
        WIDTH,
        "a width: 5, 5%+10 (5 % of the truth plus 10), or 2..8 (at most 2 below and 8 above)",
        default=None,
        group=ACCURACY,
    )
    range: tuple[float, float] | None = setting(
        pair(),
        "answers and outputs lie between two numbers (give a width too, or a scale)",
        default=None,
        group=ACCURACY,
    )
    scale: float | None = setting(
        POSITIVE, "noise scale for a range without a width", default=None, group=ACCURACY
    )
    region: Region | None = setting(ANYTHING, "a region of your own, instead of a width", default=None)
    confidence: float | None = setting(
        PROMISED,
        "how often it must hold: 0.9 or 90%; 1 for always, where delta pays for the ends of the noise",
        default=None,
        group=ACCURACY,
    )
    sensitivity: float | None = setting(
        CHANGE, "the most that one person can change the answer", default=None, group=ANSWERS
    )
    integer: bool = setting(FLAG, "answers are whole numbers", default=False, group=ANSWERS)
    nonnegative: bool = setting(
        FLAG, "answers are 0 or more (with a relative width, 5%+10)", default=False, group=ANSWERS
    )
    step: float | None = setting(
        POSITIVE, "the grid for real answers (default: pbdp finds one)", default=None, group=ANSWERS
    )
    neighbors: str | None = setting(
        RELATION, f"add/remove if left out. {RELATIONS}", default=None, group=ANSWERS
    )
    dimensions: int | None = setting(
        WHOLE,
        "the answer is a vector of so many numbers, near the truth as a whole",
        default=None,
        group=VECTORS,
    )
    error_norm: str | None = setting(
        one_of(NORMS),
        "how the width is measured: every coordinate (linf), length (l2), or sum of sizes (l1)",
        default=None,
        group=VECTORS,
    )
    change_norm: str | None = setting(
        one_of(CHANGE_NORMS),
        "how the sensitivity is measured: each coordinate that one person changes (linf, the default), or "
        "the sum of their changes (l1)",
        default=None,
        group=VECTORS,
    )
    norm: str | None = setting(one_of(CHANGE_NORMS), "one norm for both", default=None, group=VECTORS)
    touches: int | None = setting(
        WHOLE,
        "the most coordinates that one person changes: 1 for a histogram to which people are added",
        default=None,
        group=VECTORS,
    )
    delta: float | None = setting(
        number(_delta, minimum=0, exclusiveMaximum=1),
        "the probability that epsilon does not cover, such as 1e-6",
        default=None,
        group=PRIVACY,
    )
    rdp_order: float | None = setting(
        number(above_one, exclusiveMinimum=1),
        "measure privacy as a Rényi loss of this order instead (one number only)",
        default=None,
        group=PRIVACY,
    )
    releases: int = setting(
        WHOLE, "how many such numbers one person may affect; epsilon is the total", default=1, group=PRIVACY
    )
    simultaneous: bool = setting(
        FLAG, "the confidence is for all these numbers at once", default=False, group=PRIVACY
    )


def _requirements(name: str, value: object) -> dict[str, object]:
    """Requirements under their names, or numbers."""
    if isinstance(value, list | tuple):
        value = numbered("part", value)
    if not isinstance(value, Mapping):
        how = "Write [dict(within=5, confidence=0.9, sensitivity=1, integer=True), ...], or give each a name."
        raise InputError(name, "a list, or a mapping from names", type(value).__name__, how)
    return {f"{label}": _part(f"{label}", entry) for label, entry in value.items()}


def _part(label: str, entry: object) -> object:
    """One of several; what is no mapping may be a `Requirement` that was made before."""
    if not isinstance(entry, Mapping):
        return entry
    shared = [word for word in entry if word not in RequirementRequest.settings() and word in SHARED]
    if shared:
        raise ContradictionError(
            f"{shared[0]} of {label}", "left out", "one", "Say it once, for all requirements."
        )
    return RequirementRequest.read(entry, label, objects=True)


def numbered(word: str, entries: Sequence[Any]) -> dict[str, Any]:
    """Entries without names, counted from 1."""
    return {f"{word} {number}": entry for number, entry in enumerate(entries, start=1)}


def _written(value: Mapping[str, Any]) -> dict[str, Any]:
    return {label: entry.record() for label, entry in value.items()}


# What several requirements have in common.
SHARED = ("requirements", "delta", "neighbors", "families", "epsilon", "budget")
REQUIREMENTS = Kind(
    check=_requirements,
    write=_written,
    schema={"type": "object", "additionalProperties": RequirementRequest.schema()},
)


@request("plan")
class PlanRequest(RequirementRequest):
    """A requirement, or several that are planned together."""

    requirements: Requirements | None = setting(
        REQUIREMENTS,
        "several, planned together for the least joint epsilon: a list, or a mapping from names, each with "
        "its own settings; beside them stand only delta, neighbors, families and epsilon",
        default=None,
        option=False,
        kw_only=False,
    )
    epsilon: float | None = setting(
        EPSILON,
        "the privacy loss you can afford; then leave out the confidence or the width, which is found",
        default=None,
        group=PRIVACY,
    )
    families: tuple[str, ...] | None = setting(
        NAMES,
        "try only these kinds of noise, by the names that plans print, such as laplace,huber",
        default=None,
        group=PRIVACY,
    )
    budget: object = setting(
        ANYTHING,
        "the budget that is to pay: the plan has the delta that it leaves beside its reserve, and fits",
        default=None,
    )

    def agree(self) -> None:
        """Exactly one of width, confidence and epsilon is left to be found."""
        if self.budget is not None:
            for name in ("delta", "rdp_order"):
                if (value := getattr(self, name)) is not None:
                    raise ContradictionError(name, "left out beside a budget", value, "The budget has one.")
        if self.requirements is not None:
            for name, value in self.given().items():
                if name not in SHARED:
                    rule, remedy = "left out beside several requirements", "Say it in each of them."
                    raise ContradictionError(name, rule, shown(value), remedy)
            return
        self.need("sensitivity")
        if self.dimensions is not None and (self.epsilon is not None or self.confidence is None):
            remedy = "Give a width and a confidence; the epsilon is found."
            raise ContradictionError("epsilon", "left out for vectors", self.epsilon, remedy)
        found = {
            "within": self.finds_width,
            "confidence": self.confidence is None,
            "epsilon": self.epsilon is None,
        }
        if (missing := sum(found.values())) != 1:
            raise ContradictionError(
                "within, confidence and epsilon",
                "given two at a time",
                f"{3 - missing} of them",
                "The third is found: within=5, confidence=0.9 gives the least epsilon, say.",
            )

    @property
    def finds_width(self) -> bool:
        """Whether the width, or a part of it, is to be found."""
        if isinstance(self.within, str):
            return "?" in self.within
        if self.within is not None or self.region is not None:
            return False
        # only a range, without epsilon: the requirement itself explains that this asks for nothing
        return self.range is None or (self.scale is None and self.epsilon is not None)
