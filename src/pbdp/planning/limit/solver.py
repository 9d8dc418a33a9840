"""Linear programs in standard form, solved by HiGHS; nothing in a proof rests on what comes back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from pbdp.noise.kernel import Array

Index = npt.NDArray[np.int64]
# Rows, columns and values of some entries of a matrix.
Entries = tuple[Index, Index, Array]

TOLERANCE = 1e-10
SHORTEST_TIME = 1e-3


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Optimum:
    """The variables, and the price of each row: what one more unit on its right-hand side is worth."""

    variables: Array
    prices: Array


def maximize(
    gain: Array, entries: Sequence[Entries], ceiling: Array, time_limit: float = 60.0
) -> Optimum | None:
    """The largest gain · x with A x <= ceiling and x >= 0, or None if the solver did not finish."""
    from scipy.optimize import linprog
    from scipy.sparse import coo_array, csc_array

    rows, columns, values = (np.concatenate(part) for part in zip(*entries, strict=True))
    matrix = csc_array(coo_array((values, (rows, columns)), shape=(len(ceiling), len(gain))))
    result = linprog(
        -gain,
        A_ub=cast(Any, matrix),  # the annotations know dense matrices only
        b_ub=ceiling,
        method="highs-ds",
        options={
            "time_limit": max(time_limit, SHORTEST_TIME),
            "primal_feasibility_tolerance": TOLERANCE,
            "dual_feasibility_tolerance": TOLERANCE,
        },
    )
    if result.status != 0:
        return None
    return Optimum(
        variables=np.maximum(np.asarray(result.x, dtype=np.float64), 0.0),
        prices=np.maximum(-np.asarray(result.ineqlin.marginals, dtype=np.float64), 0.0),
    )
