"""The label on every result, and the ways to read a formula that has a slip."""

from __future__ import annotations

from enum import Enum
from typing import Final

LABEL: Final = "as published"


class Reading(Enum):
    """How a special case fills in the general formulas.

    The three agree on L2 and, but for a wide sensitivity on a fixed range, on L1. They differ in the weights.
    None of them makes the result an upper bound: that slip is in Theorem 1 itself.
    """

    PRINTED = "printed"
    """Propositions 4, 5 and 6, letter by letter."""

    EQUATION_6 = "equation 6"
    """Equation 6 at the proposition's own pair of answers: W1 goes with the upper ends, W2 with the lower."""

    MENDED = "mended"
    """Weights of the events that cause the losses: W1 of outputs that only the answer prefers, W2 of outputs
    that only its neighbor prefers, for regions that both moved to where they belong."""
