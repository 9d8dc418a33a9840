"""Truths against claims: how many claims are below the truth, and how far above it the others are."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt


@dataclass(slots=True)
class Tally:
    """Counts designs; a violation is a bound on the wrong side of the truth, the judge's rounding apart."""

    designs: int = 0
    violations: list[str] = field(default_factory=list)
    _excess: list[npt.NDArray[np.float64]] = field(default_factory=list)
    _shortfall: list[npt.NDArray[np.float64]] = field(default_factory=list)
    _below_nothing: float = 0.0

    def add(
        self,
        truth: npt.ArrayLike,
        lower: npt.ArrayLike,
        upper: npt.ArrayLike,
        rounding: npt.ArrayLike,
        what: object,
    ) -> None:
        """Judge lower <= truth <= upper for one or more designs."""
        true, low, high, slack = np.broadcast_arrays(*np.atleast_1d(truth, lower, upper, rounding))
        wrong = ~((high >= true - slack) & (low <= true + slack))
        self.violations += [f"{low[i]} <= {true[i]} <= {high[i]}: {what}" for i in np.flatnonzero(wrong)]
        self.designs += len(true)
        some = (true > slack) & np.isfinite(true)
        self._excess.append((high[some] - true[some]) / true[some])
        self._shortfall.append((true[some] - low[some]) / true[some])
        self._below_nothing = max(self._below_nothing, float(np.max(high[true <= slack], initial=0.0)))

    @property
    def excess(self) -> npt.NDArray[np.float64]:
        """(claim - truth) / truth of every design whose truth is neither nil nor infinite."""
        return np.concatenate(self._excess)

    @property
    def claimed_for_nothing(self) -> float:
        """The largest claim where the truth is nil."""
        return self._below_nothing

    def confirm(self, median: float = 1e-6) -> None:
        """No violation, and both bounds within `median` of the truth for more than half of the designs."""
        assert not self.violations, f"{len(self.violations)} of {self.designs}, first: {self.violations[0]}"
        assert float(np.median(self.excess)) < median
        assert float(np.median(np.concatenate(self._shortfall))) < median
