"""The square wave (Li et al. 2020), for ordered values: their distribution, cumulative curve and quantiles.

The law is a `window` over the values in their order. With p/q = e^epsilon and a range of length one the best
half width, which tells most about the value, is (e e^epsilon - e^epsilon + 1)/(2 e^epsilon (e^epsilon - 1 -
e)), e = epsilon. A client draws one word w and u = w // 4; the report is the whole number first + y - b,
with y and b as there: values that are consecutive whole numbers are reported as themselves, as far as b
beyond either end.

Estimates of values are unbiased (least squares, weighted as for people spread evenly) but far too noisy one
by one. What the reports are good for is the distribution, by *smoothed expectation maximization*: each step
takes the shares to the mean, over the reports, of what a report says about its sender if the shares were
right (EM; its likelihood never falls), and then smooths them with (1, 2, 1)/4, until a step gains less than a
set part of the likelihood. Smoothing keeps the noise of many small shares out. It is also why the result is
biased: sharp peaks and edges are rounded off, over about as many values as steps were needed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from pbdp.errors import CannotCertifyError, InputError
from pbdp.local.contrast import Contrast
from pbdp.local.domain import Codes, Domain
from pbdp.local.estimators import LARGEST_REST, exact_bincount, group_weights
from pbdp.local.law import checked_epsilons
from pbdp.local.lookup import integer_codes
from pbdp.local.mechanism import MEAN, VALUE, CellBounds, LocalMechanism
from pbdp.local.region import Region
from pbdp.local.spread import DenseSpread, Spread, reach_of, unknowable
from pbdp.local.window import Window, window_law
from pbdp.noise.kernel import Array, Words

# Unbiased estimates invert a matrix of all values.
LARGEST_INVERTED = 1024
LARGEST_DOMAIN = 1 << 16
# A step that gains less than this, times e^epsilon, in log-likelihood is the last (as in the paper).
LEAST_GAIN = 1e-3
MOST_STEPS = 10_000
NOT_KNOWABLE = "So many values cannot be estimated one by one here. Use --of distribution."


@dataclass(frozen=True, kw_only=True)
class SquareWave(LocalMechanism):
    """Reports are whole numbers from `first` - half on."""

    kind: ClassVar[str] = "square wave"
    window: Window

    def __post_init__(self) -> None:
        if self.window.places != self.domain.count:
            raise InputError("window", f"over {self.domain.count:,} values", f"{self.window.places:,}")

    @property
    def first(self) -> int:
        """The report that stands for the first value: itself where values are consecutive numbers, else 0."""
        return self.lookup.first or 0

    @property
    def epsilon(self) -> float:
        return self.window.epsilon

    @property
    def parameters(self) -> dict[str, Any]:
        window = self.window
        return {
            "total_bits": 62,
            "half": window.half,
            "first": self.first,
            "near": str(window.near),
            "far": str(window.far),
        }

    @property
    def report_words(self) -> str:
        low, high = self.first - self.window.half, self.first + self.domain.count - 1 + self.window.half
        which = "" if self.lookup.first is not None else ", by the places of the values from 0 on"
        return f"a whole number from {low:,} to {high:,}{which}"

    @classmethod
    def of_record(cls, domain: Domain, record: dict[str, Any]) -> SquareWave:
        given = record["parameters"]
        window = Window(
            places=domain.count, half=int(given["half"]), near=int(given["near"]), far=int(given["far"])
        )
        return cls(domain=domain, window=window)

    @property
    def words_per_user(self) -> int:
        return 1

    def draw(self, codes: Codes, words: Words) -> npt.NDArray[Any]:
        return self.window.draw(codes, words[:, 0] >> np.uint64(2)) + (self.first - self.window.half)

    def published(self, internal: npt.NDArray[Any], like: npt.NDArray[Any]) -> npt.NDArray[Any]:
        return internal.astype(object) if like.dtype == object else internal

    def report_codes(self, reports: npt.NDArray[Any]) -> Codes:
        return integer_codes(reports, self.first - self.window.half, self.window.reports)

    @property
    def cells(self) -> int:
        return self.window.reports

    def tally(self, reports: npt.NDArray[Any], codes: Codes, times: Codes | None) -> Codes:  # noqa: ARG002
        return exact_bincount(codes, times, self.cells)

    @cached_property
    def _coefficients(self) -> Array | None:
        """L[value, report]: the unbiased linear estimator of least variance for people spread evenly."""
        if self.domain.count > LARGEST_INVERTED:
            return None
        matrix = self.window.matrix()
        weighted = matrix / matrix.mean(axis=0)
        found: Array = np.asarray(np.linalg.solve(weighted @ matrix.T, weighted))
        off = np.abs(found @ matrix.T - np.eye(self.domain.count)).max()
        return found if off < LARGEST_REST else None

    def cell_bounds(self, tally: Codes, users: int) -> list[CellBounds]:
        most, least = (np.full(self.cells, chance) for chance in self.window.shares)
        names = range(self.first - self.window.half, self.first - self.window.half + self.cells)
        return [CellBounds(counts=tally.astype(float), users=users, least=least, most=most, names=names)]

    def estimates(self, kind: str, tally: Codes, users: int) -> tuple[Array, Array]:  # noqa: ARG002
        coefficients = self._coefficients
        if coefficients is None:
            raise CannotCertifyError(NOT_KNOWABLE)
        if kind != VALUE:
            coefficients = group_weights(self.domain) @ coefficients
        found = coefficients @ tally
        return found, np.maximum(coefficients**2 @ tally - found, 0.0)

    def spread(self, kind: str) -> Spread:
        if kind == MEAN:
            return self.mean_spread()
        if self._coefficients is None:
            groups = self.domain.values if kind == VALUE else self.domain.groups
            return unknowable(len(groups), self.domain.count)
        return self.weighted(np.eye(self.domain.count) if kind == VALUE else group_weights(self.domain))

    def weighted(self, weights: Array) -> Spread:
        if self._coefficients is None:
            return unknowable(len(weights), self.domain.count)
        by_report = weights @ self._coefficients
        variances = by_report**2 @ self.window.matrix().T - weights**2
        ends = weights.min(axis=1), weights.max(axis=1)
        reach = reach_of(by_report.min(axis=1), by_report.max(axis=1), *ends)
        return DenseSpread(matrix=np.maximum(variances, 0.0), reach=reach)

    def distribution(self, tally: Codes | Array) -> Array:
        """Shares of the values by smoothed expectation maximization; biased."""
        return smoothed(self.window, tally)

    @property
    def contrasts(self) -> tuple[Contrast, ...]:
        """Of two values as far apart as any: the others differ less."""
        return (self.window.contrast(self.domain.count - 1),)

    def near_enough(self, region: Region) -> float | None:
        """Of the report moved to the nearest value; on a ring there is no such thing."""
        if region.ring:
            return None
        near, far = self.window.shares
        x, half = np.arange(self.domain.count), self.window.half
        # reports beyond an end are moved to it
        first = np.where(region.start == 0, -half, region.start)
        end = region.start + region.size
        end = np.where(end == self.domain.count, self.domain.count + half, end)
        inside = np.minimum(end, x + half + 1) - np.maximum(first, x - half)
        return float((far * (end - first) + (near - far) * inside).min())


def square_wave(domain: Domain, epsilon: float, half: int | None = None) -> SquareWave:
    """The square wave with at most the given epsilon, and the half width that tells most about the value."""
    epsilon, _ = checked_epsilons(epsilon, 0.0)
    chosen = best_half(domain.count, epsilon) if half is None else half
    return SquareWave(domain=domain, window=window_law(domain.count, chosen, epsilon))


def best_half(count: int, epsilon: float) -> int:
    """The half width b of the module's text in whole places."""
    if epsilon < 1e-3:
        # the formula's limit, where it would lose all digits
        return count // 2
    grown, gain = math.exp(epsilon), math.expm1(epsilon)
    share = (epsilon * grown - gain) / (2 * grown * (gain - epsilon))
    return round(share * count)


def smoothed(window: Window, counts: Codes | Array) -> Array:
    """Shares of the places, from how often each report came."""
    seen = np.asarray(counts, dtype=np.float64)
    shares = np.full(window.places, 1.0 / window.places)
    least = LEAST_GAIN * math.exp(window.epsilon)
    before = -math.inf
    for _ in range(MOST_STEPS):
        mixed = window.mixed(shares)
        likelihood = float(seen @ np.log(mixed))
        if likelihood - before < least:
            break
        before = likelihood
        shares = shares * window.expected(seen / mixed)
        shares = _smooth(shares / shares.sum())
    return shares


def _smooth(shares: Array) -> Array:
    """Means of neighbors with the weights 1, 2, 1; at the ends of those there are."""
    padded = np.concatenate([[0.0], shares, [0.0]])
    made = (padded[:-2] + 2 * shares + padded[2:]) / 4
    made[[0, -1]] *= 4 / 3
    return np.asarray(made / made.sum())
