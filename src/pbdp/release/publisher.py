"""The two ends of a release: from a true answer to its grid point, and from an output's to the number."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction

import numpy as np

from pbdp.errors import InputError
from pbdp.mechanism.design import AnyDesign
from pbdp.mechanism.grid import Grid, LinearGrid
from pbdp.mechanism.requirement import Requirement
from pbdp.noise.kernel import Array, Index

Number = int | float | Fraction | Decimal


@dataclass(frozen=True, slots=True, kw_only=True)
class Publisher:
    """Rounding and clamping of a design, as its certificate takes them into account."""

    requirement: Requirement
    design: AnyDesign
    # what answers and outputs are clamped to; the steps that answers may have
    _limits: tuple[float, float] = field(init=False, repr=False)
    _steps: tuple[float, float] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        low, high = -math.inf, math.inf
        if self.requirement.bounds is not None:
            low, high = self.requirement.bounds.answers
            if self.grid.whole_outputs:
                low, high = float(math.ceil(low)), float(math.floor(high))
        object.__setattr__(self, "_limits", (low, high))
        answers = self.requirement.region.answers
        if any(map(math.isfinite, answers)):
            answers = self.grid.region_in_steps(self.requirement.region).answers
        object.__setattr__(self, "_steps", answers)

    @property
    def grid(self) -> Grid:
        """The grid that answers are rounded to."""
        return self.design.grid

    @property
    def is_unclamped(self) -> bool:
        """Whether every grid point is published as it is."""
        return not self.design.clamp and self.requirement.bounds is None

    def exact_steps(self, answer: Number) -> int:
        """The grid point of one number at its exact value: rounded half up, and clamped as the plan says."""
        try:
            exact = Fraction(answer)
        except (TypeError, ValueError, OverflowError):
            raise not_a_number() from None
        if self.requirement.bounds is not None:
            low, high = (Fraction(end) for end in self._limits)
            exact = max(low, min(high, exact))
        return int(self._checked(np.array([self.grid.steps_of(exact)], dtype=np.int64))[0])

    def steps_of(self, answers: Array | Index) -> Index:
        """The grid points of many floats or whole numbers, in the same time whatever their values."""
        if answers.dtype == np.int64:
            return self._checked(self._steps_of_integers(answers.astype(np.int64, copy=False)))
        floats = answers.astype(np.float64, copy=False)
        if not np.all(np.isfinite(floats)):
            raise not_a_number()
        if self.requirement.bounds is not None:
            floats = _clipped(floats, *self._limits)
        return self._checked(self.grid.steps_of_floats(floats))

    def _steps_of_integers(self, answers: Index) -> Index:
        if self.requirement.bounds is None:
            return self.grid.steps_of_integers(answers)
        low, high = self._limits
        kept = np.minimum(np.maximum(answers, math.floor(low)), math.ceil(high))
        # now small enough for a float to hold them
        return self.grid.steps_of_floats(_clipped(kept.astype(np.float64), low, high))

    def _checked(self, steps: Index) -> Index:
        """Clamped into a fixed range; refused where the plan says nothing of such an answer."""
        first, last = self._steps
        if self.requirement.region.stands_still:
            return np.minimum(np.maximum(steps, int(first)), int(last))
        if math.isinf(first) and math.isinf(last):
            return steps
        if steps.size and not (first <= int(steps.min()) and int(steps.max()) <= last):
            raise InputError("answer", f"one that the plan was made for ({first:g} to {last:g})", "another")
        return steps

    def values_of(self, outputs: Index) -> Array | Index:
        """The numbers published for output steps (noise and offset included); as integers on that grid."""
        if self.design.clamp:
            first, last = (int(end) for end in self.design.region.answers)
            outputs = np.minimum(np.maximum(outputs, first), last)
        low, high = self._limits
        unbounded = self.requirement.bounds is None
        grid = self.design.output_grid
        if grid.whole_outputs and isinstance(grid, LinearGrid):
            return outputs if unbounded else np.minimum(np.maximum(outputs, int(low)), int(high))
        values = grid.values_of(outputs)
        return values if unbounded else _clipped(values, low, high)


def _clipped(values: Array, low: float, high: float) -> Array:
    """np.clip in a third of its time, which counts for a single release."""
    return np.minimum(np.maximum(values, low), high)


def not_a_number() -> InputError:
    """The refusal of NaN, infinity and what is no number at all."""
    return InputError("answer", "a finite number", "something else", "Drop or fill missing values first.")
