"""What `pbdp.choose` and `pbdp.plan_choice` may be asked: their settings, declared once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pbdp.errors import ContradictionError, InputError, shown
from pbdp.kinds import (
    ANYTHING,
    CONFIDENCE,
    EPSILON,
    FLAG,
    TEXT,
    WHOLE,
    Kind,
    number,
    number_typed,
    whole_number,
)
from pbdp.mechanism.neighbors import RELATION, RELATIONS, Neighbors
from pbdp.parameters import fraction, non_negative, positive, whole
from pbdp.paying import A_BUDGET, Payment
from pbdp.settings import Request, request, setting

if TYPE_CHECKING:
    from pbdp.ledger.budget import Budget


def _in_scores(name: str, text: str) -> float:
    if "%" in text:
        rule = "a number in the unit of the scores (scores have no percentages)"
        raise InputError(name, rule, shown(text))
    return number_typed(name, text)


MOST_OPTIONS = 10**8
# Scores are counted in whole steps of 64 bits.
LEAST_SENSITIVITY, MOST_SENSITIVITY = 1e-15, 1e15
GIVEN, ACCURACY = "options and their scores", "accuracy: two of width, confidence and epsilon"


def _options(name: str, value: object) -> int:
    count = whole(name, value)
    if count > MOST_OPTIONS:
        raise InputError(name, f"at most {MOST_OPTIONS:,}", f"{count:,}")
    return count


def _sensitivity(name: str, value: object) -> float:
    most = positive(name, value, "1 if one person changes every score by at most 1.")
    if not LEAST_SENSITIVITY <= most <= MOST_SENSITIVITY:
        rule = f"{LEAST_SENSITIVITY:g} to {MOST_SENSITIVITY:g}"
        raise InputError(name, rule, f"{most:g}", "Count in another unit.")
    return most


def _delta(name: str, value: object) -> float:
    return fraction(name, value, "Leave it out: choosing needs none.")


OPTIONS = Kind(check=_options, read=WHOLE.read, schema=whole_number().schema, form="number")


@request("choose")
class Scores(Request):
    """How scores move, and how many options are chosen."""

    sensitivity: float = setting(
        number(_sensitivity, exclusiveMinimum=0),
        "the most that one person can change a score (they may change all of them)",
        group=ACCURACY,
    )
    integer: bool = setting(FLAG, "scores are whole numbers", default=False, group=ACCURACY)
    rising: bool = setting(
        FLAG, "adding a person never lowers a score (counts): half the epsilon", default=False, group=ACCURACY
    )
    top: int = setting(
        WHOLE,
        "choose so many options, best first, each close to the best that is left; as many as there are give "
        "an order",
        default=1,
        group=ACCURACY,
    )
    delta: float = setting(
        number(_delta, minimum=0, exclusiveMaximum=1),
        "for several options: allow this delta, which can cost less epsilon",
        default=0.0,
        group=ACCURACY,
    )
    neighbors: str | None = setting(
        RELATION, f"add/remove, or as the budget has it. {RELATIONS}", default=None, group=ACCURACY
    )

    def agree(self) -> None:
        """Scores rise only where people are added."""
        if self.rising and self.neighbors not in (None, Neighbors.ADD_REMOVE):
            raise ContradictionError(
                "rising",
                "used with add/remove neighbors",
                self.neighbors,
                "Whoever replaces another may raise one score and lower another; leave it out.",
            )


@request("choose")
class Accuracy(Request):
    """Two of width, confidence and epsilon; the third is found."""

    within: float | None = setting(
        Kind(
            check=non_negative,
            read=_in_scores,
            schema={"type": "number", "minimum": 0},
            form="number",
        ),
        "how far below the best score the chosen one may be, in the unit of the scores",
        default=None,
        group=ACCURACY,
    )
    confidence: float | None = setting(
        CONFIDENCE, "how often it must hold, for all that is chosen", default=None, group=ACCURACY
    )
    epsilon: float | None = setting(EPSILON, "the privacy loss you can afford", default=None, group=ACCURACY)

    def agree(self) -> None:
        """Two are given."""
        words = ("within", "confidence", "epsilon")
        given = [name for name in words if getattr(self, name) is not None]
        if len(given) != 2:
            got = ", ".join(given) or "none of them"
            raise ContradictionError("within, confidence and epsilon", "given two at a time", got)


@request("plan_choice")
class Asked(Scores):
    """What is chosen from what, and how scores move: the public side of a request."""

    options: int = setting(OPTIONS, "how many options there are, to see the plan only", group=GIVEN)
    neighbors: str = setting(RELATION, RELATIONS, default=Neighbors.ADD_REMOVE, group=ACCURACY)

    def agree(self) -> None:
        """No more are chosen than there are."""
        Scores.agree(self)
        if self.top > self.options:
            raise InputError("top", f"at most {self.options}, the number of options", f"{self.top}")

    @property
    def picks(self) -> int:
        """How often something is chosen: the last option that is left is no choice."""
        return min(self.top, self.options - 1)

    @property
    def words(self) -> str:
        """What it is called in a ledger."""
        return f"choice of {self.top} of {self.options}"


@request("plan_choice")
class ChoiceRequest(Asked, Accuracy):
    """A choice among so many options, and how accurate it should be."""

    def agree(self) -> None:
        """What both say."""
        Asked.agree(self)
        Accuracy.agree(self)

    @property
    def asked(self) -> Asked:
        """What is asked without the accuracy."""
        return Asked(**{name: getattr(self, name) for name in Asked.settings()})


@request("choose")
class ChooseRequest(Scores, Accuracy, Payment):
    """A choice from scores, which say how many options there are."""

    scores: object = setting(
        ANYTHING,
        "a mapping or a pandas Series from options to their scores, a list or array of scores, where options "
        "are their places, or a pandas, polars or Arrow frame",
        private=True,
        kw_only=False,
    )
    column: str | None = setting(
        TEXT, "the column that has the scores; it is private", default=None, group=GIVEN
    )
    names: str | None = setting(
        TEXT, "the column that names the options; IT IS PUBLIC", default=None, group=GIVEN
    )
    budget: Budget | None = setting(
        A_BUDGET,
        "what pays before the choice is drawn; it has its own delta and neighbors",
        default=None,
    )

    def agree(self) -> None:
        """What all say; without a budget there is no payment."""
        Scores.agree(self)
        Accuracy.agree(self)

    def choice(self, options: int, neighbors: str) -> ChoiceRequest:
        """The request for so many options."""
        own = {name: getattr(self, name) for name in (*Scores.settings(), *Accuracy.settings())}
        return ChoiceRequest(**own | {"options": options, "neighbors": neighbors})
