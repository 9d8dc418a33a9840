"""Scores as they are given, and as whole numbers of steps.

A score becomes the largest whole number of steps that is not above it. Steps are powers of two, so that this
is exact, and moving a score by m steps moves its number by m: scores that differ by at most m steps differ by
at most m afterwards. Gaps lose less than one step: an option that is more than w below the best is at least
floor(w/step) steps below it then, and w + 1 whole ones if scores are whole. Whatever a score is, it has a
number: NaN counts as 0, and what is beyond 2^52 steps as 2^52.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from pbdp.columns.arrays import comes_from, nearest_float, read_column
from pbdp.errors import ContradictionError, InputError, did_you_mean, shown
from pbdp.mechanism.grid import DEAREST, STEPS_IN_WIDTH
from pbdp.mechanism.requirement import LARGEST, SMALLEST
from pbdp.noise.kernel import Array, Index

if TYPE_CHECKING:
    import numpy.typing as npt

FURTHEST = 2.0**52
# A person's change is so many steps or more, where it is no whole number of larger ones: it is rounded up.
_FINE = 256
# And the width so many, as up to one of them is lost.
_WIDE = 4096
# Sensitivities beyond this many widths cost an epsilon of as many: steps would not fit 64 bits.
MOST_WIDTHS = 1e9
# No table by gap has more, and for noisy scores no width has more steps: tables would get long.
MOST_GAPS, MOST_STEPS = 1 << 22, 1 << 16


class Question(Protocol):
    """What is asked of scores."""

    @property
    def sensitivity(self) -> float: ...
    @property
    def integer(self) -> bool: ...
    @property
    def rising(self) -> bool: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """Steps; by how many gaps move together (D of `permute_and_flip`); the gap of the nearest loser."""

    step: float
    moved: int
    gap: int

    def steps(self, scores: Array) -> Index:
        """Every score as a number of steps."""
        with np.errstate(over="ignore"):  # what is too large to divide is too large, and clipped
            scaled = np.floor(np.nan_to_num(scores, nan=0.0, posinf=np.inf, neginf=-np.inf) / self.step)
        return np.clip(scaled, -FURTHEST, FURTHEST).astype(np.int64)

    def losing(self, within: float, asked: Question) -> tuple[int, int]:
        """The gap of a loser, and D, in a unit that divides both exactly, for what holds of any mechanism."""
        people = 1 if asked.rising else 2
        if asked.integer:
            return self.gap, self.moved
        # a gap just above the width takes one neighbor more wherever the width is a multiple
        return math.floor(Fraction(within) / (people * Fraction(asked.sensitivity))) + 1, 1


def scale_for(within: float, asked: Question) -> Scale:
    """The steps for a width: whole ones for whole numbers, else fine enough to lose little."""
    _check_sizes(within, asked)
    people = 1 if asked.rising else 2
    change = Fraction(asked.sensitivity)
    if asked.integer:
        # whole scores move by whole numbers
        return _scale(1.0, people * max(math.floor(change), 1), math.floor(within) + 1)
    if within <= 0:
        raise InputError("within", "above 0 for scores that are not whole", f"{within:g}", "Or say integer.")
    wide = 2.0 ** math.floor(math.log2(within / _WIDE))
    exact = float(Fraction(1, change.denominator)) if change.denominator <= 2**60 else 0.0
    exact *= 2.0 ** _twos(change.numerator)
    fine = 2.0 ** math.floor(math.log2(asked.sensitivity / _FINE))
    step = min(wide, max(exact, fine))
    coarsest = 2.0 ** math.ceil(math.log2(within / MOST_GAPS))
    step = max(step, coarsest)
    return _scale(
        step, people * math.ceil(change / Fraction(step)), math.floor(Fraction(within) / Fraction(step))
    )


def _check_sizes(within: float, asked: Question) -> None:
    """Refuse numbers whose steps no machine can count."""
    for name, size in (("within", within), ("sensitivity", asked.sensitivity)):
        if size and not SMALLEST <= size <= LARGEST:
            raise InputError(name, f"{SMALLEST:g} to {LARGEST:g}", f"{size:g}", "Count in another unit.")
    if 0 < MOST_WIDTHS * (within + asked.integer) < asked.sensitivity:
        remedy = "One person may change scores by far more than the width: no choice could be private."
        raise InputError("sensitivity", f"at most {MOST_WIDTHS:g} widths", f"{asked.sensitivity:g}", remedy)


def score_scale(within: float, asked: Question, most: int = MOST_STEPS) -> Scale:
    """Steps for noisy scores: larger than those of picks where scores are not whole, as tables get long."""
    change, width = Fraction(asked.sensitivity), Fraction(within)
    if asked.integer and within < most:
        return scale_for(within, asked)
    step = 2.0 ** math.floor(math.log2(width / STEPS_IN_WIDTH))
    finest = float(width / most)
    if not asked.integer:
        finest = max(scale_for(within, asked).step, finest)
    while step > finest and math.ceil(change / Fraction(step)) * Fraction(step) > DEAREST * change:
        step /= 2
    people = 1 if asked.rising else 2
    return Scale(
        step=step, moved=people * math.ceil(change / Fraction(step)), gap=math.floor(width / Fraction(step))
    )


def _scale(step: float, moved: int, gap: int) -> Scale:
    if gap > MOST_GAPS:
        raise InputError(
            "within", f"at most {MOST_GAPS:,} whole numbers", f"{gap - 1:,}", "Count in thousands."
        )
    return Scale(step=step, moved=moved, gap=max(gap, 1))


def _twos(number: int) -> int:
    """How often 2 divides a number."""
    return (number & -number).bit_length() - 1


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Given:
    """Scores, and the options they belong to."""

    scores: Array
    options: Sequence[Any]

    def counted(self, count: int | None) -> Given:
        """The same, if there are so many."""
        if count is not None and len(self.scores) != count:
            raise InputError("scores", f"of the {count:,} options of the plan", f"{len(self.scores):,}")
        return self


def read_scores(
    scores: object, count: int | None = None, *, column: str | None = None, names: str | None = None
) -> Given:
    """Scores of a mapping, a pandas Series (its index names the options), or a column (their places do).

    Of a frame, `column` has the scores and `names` the options, or their places name them. What was read
    already is taken as it is.
    """
    if isinstance(scores, Given):
        return scores.counted(count)
    if column is not None or names is not None or _is_frame(scores):
        return _of_frame(scores, column, names).counted(count)
    options: Sequence[Any]
    if isinstance(scores, Mapping):
        options, values = list(scores), list(scores.values())
        given = read_column("scores", values, "a mapping")
    else:
        given = read_column("scores", scores, "a mapping")
        options = list(scores.index) if comes_from(scores, "pandas") else range(len(given.array))  # type: ignore[attr-defined]
    if not len(given.array):
        raise InputError("scores", "of at least one option", "none")
    return Given(scores=_floats(given.array), options=options).counted(count)


def _is_frame(scores: object) -> bool:
    return type(scores).__name__ in ("DataFrame", "Table") and any(
        comes_from(scores, package) for package in ("pandas", "polars", "pyarrow")
    )


def _of_frame(frame: Any, column: str | None, names: str | None) -> Given:
    """The column of scores of a frame, and the one that names the options."""
    if not _is_frame(frame):
        raise ContradictionError("column", "used with a frame", "something else")
    known = frame.column_names if comes_from(frame, "pyarrow") else list(frame.columns)
    if column is None:
        raise ContradictionError("column", "given for a frame", "nothing", "It is the one with the scores.")
    for word, name in (("column", column), ("names", names)):
        if name is not None and known.count(name) != 1:
            raise InputError(
                word, "the name of one column", shown(name), did_you_mean(str(name), map(str, known))
            )
    if names == column:
        raise ContradictionError("names", "another column than the scores'", "the same")

    def values(name: str) -> Any:
        return frame.column(name) if comes_from(frame, "pyarrow") else frame[name]

    given = read_column("scores", values(column), "a column of numbers")
    if not len(given.array):
        raise InputError("scores", "of at least one option", "none")
    options: Sequence[Any] = range(len(given.array))
    if names is not None:
        options = read_column("names", values(names), "a column of names").array.tolist()
        if len(set(options)) < len(options):
            raise InputError("names", "a column in which every option stands once", "one with repeated names")
    return Given(scores=_floats(given.array), options=options)


def _floats(values: npt.NDArray[Any]) -> Array:
    if values.dtype.kind in "iuf":
        return values.astype(np.float64)
    kinds = {type(value) for value in values.tolist()}
    try:
        if any(issubclass(kind, bool) for kind in kinds):
            raise TypeError
        return np.array([nearest_float(value) for value in values.tolist()])
    except TypeError:
        raise InputError("scores", "numbers", "something else among them") from None
