"""The hybrid mechanism (Wang et al. 2019), for the mean of whole numbers: a window, or one bit.

Numbers from low to high in steps stand at the places t = 0 .. K-1. A coin that does not look at the number
takes one of two ways, each of which tells the mean without bias:

- *piecewise*: the window law of `square_wave` over the places, whose mean is linear in t;
- *one bit* (Duchi et al. 2018): 1 with the weight least + t slope out of 2^62, else 0.

How a client draws, from two random words below 2^64: u = word 0 // 4 and v = word 1 // 4. If u < share, the
report is 2 + y, y drawn from v by the window; else it is 1 if v < least + t slope and 0 if not.

Privacy: the coin is the same for everyone, so the ratio is the larger one of both ways: near/far, and of the
bit that at t = K-1 to that at t = 0, or the other way round for a 0. The estimates subtract the mean for t =
0 and divide by the slope, so they are unbiased for the very weights that are drawn.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from pbdp.errors import CannotCertifyError, InputError
from pbdp.local.blanket import AnswerPair, pair_of
from pbdp.local.domain import Codes, Domain
from pbdp.local.estimators import CATEGORY, MEAN, exact_bincount
from pbdp.local.integer_weights import certified, checked_epsilon, epsilon_of, ratio_below
from pbdp.local.mechanism import CellBounds, LocalMechanism, MarkLaw
from pbdp.local.square_wave import Window, window_law
from pbdp.local.value_codes import integer_codes
from pbdp.local.variances import DenseVariances, Variances, unknowable
from pbdp.mechanism.weights import TOTAL
from pbdp.noise.kernel import Array, Words

ONLY_MEANS = "Reports tell only the mean here. Use --of mean."
LARGEST_PLACES = 1 << 20
# Coins that are tried, and numbers at which their variances are compared.
COINS, COMPARED = 201, 257


@dataclass(frozen=True, kw_only=True)
class MeanResponse(LocalMechanism):
    """`share` of 2^62 is the weight of the window; `least` and `slope` are those of the bit."""

    kind: ClassVar[str] = "mean response"
    estimates_means: ClassVar[bool] = True
    window: Window
    share: int
    least: int
    slope: int

    def __post_init__(self) -> None:
        if self.window.places != places_of(self.domain)[1]:
            raise InputError("window", "over the numbers of the survey", "another")
        if not 0 <= self.share <= TOTAL:
            raise InputError("share", "from 0 to 2^62", self.share)
        if self.least <= 0 or self.slope <= 0 or self._most >= TOTAL:
            raise InputError("least and slope", "above 0, with the last weight below 2^62", "others")

    @property
    def _most(self) -> int:
        """The weight of a 1 at the last place."""
        return self.least + (self.window.places - 1) * self.slope

    @property
    def epsilon(self) -> float:
        ratios = []
        if self.share < TOTAL:
            ratios += [Fraction(self._most, self.least), Fraction(TOTAL - self.least, TOTAL - self._most)]
        if self.share > 0:
            ratios.append(self.window.ratio)
        return epsilon_of(max(ratios))

    @property
    def parameters(self) -> dict[str, Any]:
        low, _, step = self._places
        return {
            "total_bits": 62,
            "low": low,
            "step": step,
            "half": self.window.half,
            "near": str(self.window.near),
            "far": str(self.window.far),
            "share": str(self.share),
            "least": str(self.least),
            "slope": str(self.slope),
        }

    @property
    def report_words(self) -> str:
        return f"a whole number from 0 to {self.window.reports + 1:,}, which tells about the mean only"

    @classmethod
    def of_record(cls, domain: Domain, record: dict[str, Any]) -> MeanResponse:
        given = {name: int(text) for name, text in record["parameters"].items()}
        places = places_of(domain)[1]
        window = Window(places=places, half=given["half"], near=given["near"], far=given["far"])
        return cls(
            domain=domain,
            window=window,
            share=given["share"],
            least=given["least"],
            slope=given["slope"],
        )

    @cached_property
    def _places(self) -> tuple[int, Codes, int]:
        """The least number, the place of each value, and the step."""
        low, _, step = places_of(self.domain)
        return low, (np.array(self.domain.values, dtype=np.int64) - low) // step, step

    @property
    def words_per_user(self) -> int:
        return 2

    def draw(self, codes: Codes, words: Words) -> npt.NDArray[Any]:
        places = self._places[1][codes]
        u, v = words[:, 0] >> np.uint64(2), words[:, 1] >> np.uint64(2)
        weights = (self.least + places * self.slope).astype(np.uint64)
        bit = (v < weights).astype(np.int64)
        return np.where(u < np.uint64(self.share), 2 + self.window.draw(places, v), bit)

    def report_codes(self, reports: npt.NDArray[Any]) -> Codes:
        return integer_codes(reports, 0, self.cells)

    @property
    def cells(self) -> int:
        return self.window.reports + 2

    @cached_property
    def coefficients(self) -> Array:
        """What each report adds to the estimated sum of all numbers."""
        low, _, step = self._places
        window, slope = self.window, self.slope / TOTAL
        bits = (np.arange(2) - self.least / TOTAL) / slope
        near, far = window.shares
        start = far * window.reports * (window.reports - 1) / 2
        slides = (np.arange(window.reports) - start) / ((near - far) * window.width) - window.half
        return np.asarray(low + step * np.concatenate([bits, slides]))

    @property
    def mark_laws(self) -> tuple[MarkLaw, ...]:
        share = self.share / TOTAL
        return (MarkLaw(chances=np.array([1 - share, share]), names=("one bit", "a place of the window")),)

    def marks(self, reports: npt.NDArray[Any], codes: Codes, times: Codes | None) -> Codes:  # noqa: ARG002
        return exact_bincount((codes > 1).astype(np.int64), times, 2)

    def cell_bounds(self, tally: Codes, users: int) -> list[CellBounds]:
        share, (near, far) = self.share / TOTAL, self.window.shares
        ends = self.least / TOTAL, self._most / TOTAL
        least = np.concatenate([[1 - ends[1], ends[0]], np.full(self.window.reports, far)])
        most = np.concatenate([[1 - ends[0], ends[1]], np.full(self.window.reports, near)])
        scale = np.where(np.arange(self.cells) < 2, 1 - share, share)
        return [
            CellBounds(
                counts=tally.astype(float),
                users=users,
                least=least * scale,
                most=most * scale,
                names=range(self.cells),
            )
        ]

    def estimates(self, kind: str, tally: Codes, users: int) -> tuple[Array, Array]:
        """The sum, and the variance of the reports, which is at least that of the sum for given people."""
        if kind != MEAN:
            raise CannotCertifyError(ONLY_MEANS)
        total = float(self.coefficients @ tally)
        squares = float(((self.coefficients - total / users) ** 2) @ tally)
        return np.array([total]), np.array([squares * users / max(users - 1, 1)])

    def variances(self, kind: str) -> Variances:
        if kind != MEAN:
            return self.share_variances(kind)
        share = self.share / TOTAL
        places = self._places[1].astype(np.float64)
        low, _, step = self._places
        slide, bit = _variances(self.window, self.least, self.slope, places)
        used = self.coefficients[0 if self.share < TOTAL else 2 : None if self.share > 0 else 2]
        most = low + step * (self.window.places - 1)
        reach = max(float(used.max()) - low, most - float(used.min()))
        variances = step**2 * (share * slide + (1 - share) * bit)
        return DenseVariances(matrix=variances[None, :], reach=np.array([reach]))

    def share_variances(self, kind: str) -> Variances:
        groups = self.domain.groups if kind == CATEGORY else self.domain.values
        return unknowable(len(groups), self.domain.count)

    def weighted(self, weights: Array) -> Variances:
        return unknowable(len(weights), self.domain.count)

    @property
    def answer_pairs(self) -> tuple[AnswerPair, ...]:
        """Of the two ends: any other two numbers give less to tell them by, whichever way the coin falls."""
        share, least, most = self.share / TOTAL, self.least / TOTAL, self._most / TOTAL
        bit = pair_of([(most, least, least), (1 - most, 1 - least, 1 - most)]).scaled(1 - share)
        if self.share == 0:
            return (bit,)
        slide = self.window.answer_pair(self.window.places - 1).scaled(share)
        return (slide if self.share == TOTAL else slide.beside(bit),)


def places_of(domain: Domain) -> tuple[int, int, int]:
    """The least number, how many places there are from it to the largest, and the step between them."""
    if not all(isinstance(value, int) for value in domain.values):
        raise InputError("values", "whole numbers for a mean", "texts")
    numbers = np.array(domain.values, dtype=np.int64)
    low, high = int(numbers.min()), int(numbers.max())
    step = math.gcd(*(int(value) - low for value in domain.values))
    places = (high - low) // step + 1
    if places > LARGEST_PLACES:
        raise InputError("values", f"at most {LARGEST_PLACES:,} steps apart for a mean", f"{places:,}")
    return low, places, step


def _variances(window: Window, least: int, slope: int, t: Array) -> tuple[Array, Array]:
    """Of the estimate of a place t, by the window and by the bit."""
    near, far = window.shares
    m, w, reports = window.reports, window.width, np.arange(window.width, dtype=np.float64)
    steep = (near - far) * w
    mean = far * m * (m - 1) / 2 + steep * (t + window.half)
    inside = w * t**2 + 2 * t * reports.sum() + (reports**2).sum()
    second = far * m * (m - 1) * (2 * m - 1) / 6 + (near - far) * inside
    chance = (least + t * slope) / TOTAL
    return (second - mean**2) / steep**2, chance * (1 - chance) / (slope / TOTAL) ** 2


def mean_response(domain: Domain, epsilon: float, expected: Array | None = None) -> MeanResponse:
    """With at most the given epsilon, and the window and coin of least variance for the worst numbers.

    With shares of the values that are `expected`, for those.
    """
    epsilon = checked_epsilon(epsilon)
    start, places, step = places_of(domain)
    low = TOTAL / (ratio_below(epsilon) + 1)
    slope = math.floor((TOTAL - 2 * math.ceil(low)) / (places - 1))
    if slope < 1:
        raise CannotCertifyError("No integer weights hold this epsilon. Use fewer values or more epsilon.")
    least = (TOTAL - (places - 1) * slope) // 2
    if expected is None:
        t = np.unique(np.linspace(0, places - 1, COMPARED).astype(np.int64)).astype(np.float64)
    else:
        t = (np.array(domain.values, dtype=np.float64) - start) / step
    coins = np.linspace(0.0, 1.0, COINS)
    found: list[tuple[float, float, Window]] = []
    ideal = (places - 1) * math.exp(-epsilon / 2) / 2
    for half in sorted({max(round(ideal) + change, 0) for change in (-1, 0, 1)}):
        window = window_law(places, half, epsilon)
        slide, bit = _variances(window, least, slope, t)
        costs = [
            float((coin * slide + (1 - coin) * bit).max())
            if expected is None
            else float(coin * (slide @ expected) + (1 - coin) * (bit @ expected))
            for coin in coins
        ]
        best = int(np.argmin(costs))
        found.append((costs[best], float(coins[best]), window))
    _, share, window = min(found, key=lambda entry: entry[:2])
    return certified(
        MeanResponse(domain=domain, window=window, share=round(share * TOTAL), least=least, slope=slope),
        epsilon,
    )
