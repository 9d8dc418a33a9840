"""What a budget may be asked for: the settings of `Budget.ask`, declared once."""

from __future__ import annotations

from pbdp.digits import plain
from pbdp.errors import ContradictionError, InputError
from pbdp.kinds import ANYTHING, FLAG, POSITIVE, PROMISED, pair, share
from pbdp.parameters import probability
from pbdp.paying import Payment
from pbdp.planning.request import WIDTH, Within
from pbdp.settings import Request, request, setting

# A floor below a millionth of what one person changes would cost a million times any budget.
MOST_LOOKED = 1e6
ACCURACY = "accuracy: two of width, confidence and share"


def _share(name: str, value: object) -> float:
    return probability(name, value, "0.1 spends a tenth of what is left.")


@request("ask")
class Question(Request):
    """An accuracy in words that a budget can answer: two of width, confidence and share of what is left."""

    sensitivity: float = setting(POSITIVE, "the most that one person can change the answer", group=ACCURACY)
    within: Within | None = setting(
        WIDTH,
        "a width: 5, 5%+10 (5 % of the truth plus 10), or 2..8 (at most 2 below and 8 above)",
        default=None,
        group=ACCURACY,
    )
    confidence: float | None = setting(
        PROMISED, "how often it must hold: 0.9 or 90%; 1 for always", default=None, group=ACCURACY
    )
    share: float | None = setting(
        share(_share), "the part of what is left to spend: 0.1", default=None, group=ACCURACY
    )
    floor: float | None = setting(
        POSITIVE,
        "with a percentage: the width where that is more; looks cheaply first and then as precisely as the "
        "answer needs, and only the looks that are taken are paid",
        default=None,
        group=ACCURACY,
    )
    expect: tuple[float, float] | None = setting(
        pair(),
        "with a floor: where answers are expected, 100..1e6; it changes the cost, never the promise",
        default=None,
        group=ACCURACY,
    )
    integer: bool = setting(FLAG, "answers are whole numbers", default=False, group=ACCURACY)
    nonnegative: bool = setting(FLAG, "answers are never below zero", default=False, group=ACCURACY)
    step: float | None = setting(
        POSITIVE, "the grid for real answers (default: pbdp finds one)", default=None, group=ACCURACY
    )

    def agree(self) -> None:
        """Two of width, confidence and share; a floor with a percentage."""
        self._check_floor()
        given = [name for name in ("within", "confidence", "share") if getattr(self, name) is not None]
        if len(given) < 2:
            raise ContradictionError(
                "within, confidence and share",
                "given two at a time",
                " and ".join(given) or "none of them",
                "within=50, confidence=0.95 asks for an accuracy; share=0.1 spends a tenth of what is left.",
            )

    def _check_floor(self) -> None:
        alone = isinstance(self.within, str) and "%" in self.within and "+" not in self.within
        if self.floor is None and not alone:
            if self.expect is not None:
                raise ContradictionError("expect", "used with a floor", "none")
            return
        if not alone:
            remedy = 'within="5%", floor=50 is 5 % of the truth, or 50 where that is more.'
            got = "no width" if self.within is None else f"within {_said(self.within)}"
            raise ContradictionError("floor", "used with a percentage", got, remedy)
        if self.floor is None:
            remedy = "Small answers need a width of their own; floor=50, say."
            raise ContradictionError("floor", "given with a percentage", "none", remedy)
        if self.floor < self.sensitivity / MOST_LOOKED:
            raise InputError("floor", f"at least {self.sensitivity / MOST_LOOKED:g}", f"{self.floor:g}")
        if self.confidence == 1:
            remedy = "Looks that stop early can miss; a width without a floor (5%+50) need not."
            raise ContradictionError("confidence", "below 1 with a floor", 1, remedy)
        if self.share is not None or self.confidence is None:
            raise ContradictionError(
                "confidence", "given with a percentage and a floor", "a share of what is left"
            )

    def words(self) -> str:
        """The question as the history shows it; it is public."""
        expected = None if self.expect is None else f"expected from {self.expect[0]:g} to {self.expect[1]:g}"
        parts = [
            None if self.within is None else f"within {_said(self.within)}",
            None if self.floor is None else f"floor {_said(self.floor)}",
            expected,
            None if self.confidence is None else f"confidence {self.confidence:g}",
            None if self.share is None else f"{self.share:g} of what is left",
            f"sensitivity {self.sensitivity:g}",
            "whole" if self.integer else None,
            "not negative" if self.nonnegative else None,
            None if self.step is None else f"step {self.step:g}",
        ]
        return ", ".join(part for part in parts if part is not None)


def _said(within: Within | float) -> str:
    """A width as it is written; 20 and 20.0 are the same question."""
    return plain(within) if isinstance(within, int | float) else str(within)


@request("ask")
class AskRequest(Question, Payment):
    """A question, the true answer, and how it is paid."""

    answer: object = setting(ANYTHING, "the true number", private=True, kw_only=False)

    def agree(self) -> None:
        """What the question says."""
        Question.agree(self)
