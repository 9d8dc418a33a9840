"""The grid of outputs: whole numbers, or multiples of a power of two to which answers are rounded."""

from __future__ import annotations

import math
from dataclasses import dataclass

from pbdp.domains import positive
from pbdp.errors import InputError

# A real-valued width is cut into about this many steps: rounding then costs about 0.1 % of it.
STEPS_IN_WIDTH = 512
# A coarser grid is used rather than let the sensitivity grow past this many steps.
MOST_STEPS = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """Outputs are multiples of `step`; `rounded` says that answers are rounded to them first."""

    step: float
    rounded: bool

    def __post_init__(self) -> None:
        positive("step", self.step)
        if math.frexp(self.step)[0] != 0.5:
            raise InputError(
                "step",
                "a power of two, such as 0.25, 1 or 8",
                f"{self.step:g}",
                "Multiples of it are then exact in floating point.",
            )

    def sensitivity_in_steps(self, sensitivity: float) -> int:
        """ceil(sensitivity / step): what rounding floor(x/step + 1/2) can make of it."""
        return math.ceil(sensitivity / self.step)


def whole_numbers() -> Grid:
    """Whole-number answers, used as they are."""
    return Grid(step=1.0, rounded=False)


def grid_for(width: float, sensitivity: float) -> Grid:
    """A grid for real answers: fine against the width, and at least one step to the sensitivity."""
    step = 2.0 ** math.floor(math.log2(width / STEPS_IN_WIDTH))
    finest = 2.0 ** math.floor(math.log2(sensitivity / MOST_STEPS))
    coarsest = 2.0 ** math.floor(math.log2(sensitivity))
    return Grid(step=max(min(step, max(coarsest, width / MOST_STEPS)), finest), rounded=True)
