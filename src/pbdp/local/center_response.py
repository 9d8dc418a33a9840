"""Randomized response on centers: a report is one of a few values that together are near enough to all.

Values are in categories with one center each. How a client draws, from one random word w below 2^64, for m
centers (`//` rounds down): u = w // 4. If u < m far, report center number u // far; else the center of the
true value's category.

Privacy: the center of one's own category has the weight own = 2^62 - (m - 1) far, all others `far`. Where
every category lies in the regions of its values (`region`), no randomizer has a report near the truth as
often at the same epsilon (`limit`): reports of few centers leave little to tell answers apart by, and
nothing else is said.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from pbdp.errors import InputError
from pbdp.local.blanket import AnswerPair, set_pairs
from pbdp.local.domain import CategoryDomain, Codes, Domain, Value, in_categories
from pbdp.local.estimators import SetReports, exact_bincount
from pbdp.local.integer_weights import certified, checked_epsilon, epsilon_of, ratio_below
from pbdp.local.mechanism import CellBounds, EstimatedMechanism
from pbdp.local.region import Region
from pbdp.local.value_codes import UNKNOWN
from pbdp.mechanism.weights import TOTAL
from pbdp.noise.kernel import Words


@dataclass(frozen=True, kw_only=True)
class CenterResponse(EstimatedMechanism):
    """`centers` are values, one for each category of the domain."""

    kind: ClassVar[str] = "response on centers"
    domain: CategoryDomain
    centers: tuple[Value, ...]
    far: int

    def __post_init__(self) -> None:
        codes = self.lookup.codes(np.array(self.centers, dtype=object))
        if not np.array_equal(self.domain.category_of[codes], np.arange(len(self.domain.sizes))):
            raise InputError("centers", "one value of each category", "others")
        if not 0 < self.far * len(self.centers) < TOTAL:
            raise InputError("far", "above 0 and below 2^62 / number of centers", self.far)

    @property
    def own(self) -> int:
        """The weight of the center of one's own category."""
        return TOTAL - (len(self.centers) - 1) * self.far

    @property
    def epsilon(self) -> float:
        return epsilon_of(Fraction(self.own, self.far))

    @property
    def parameters(self) -> dict[str, Any]:
        return {"total_bits": 62, "centers": list(self.centers), "far": str(self.far)}

    @property
    def report_words(self) -> str:
        return f"one of {len(self.centers)} values: {', '.join(map(str, self.centers[:6]))}" + (
            ", ..." if len(self.centers) > 6 else ""
        )

    @classmethod
    def of_record(cls, domain: Domain, record: dict[str, Any]) -> CenterResponse:
        if not isinstance(domain, CategoryDomain):
            raise InputError("domain", "one of categories", "a scale")
        parameters = record["parameters"]
        return cls(domain=domain, centers=tuple(parameters["centers"]), far=int(parameters["far"]))

    @cached_property
    def _center_codes(self) -> Codes:
        return self.lookup.codes(np.array(self.centers, dtype=object))

    def draw(self, codes: Codes, words: Words) -> npt.NDArray[Any]:
        any_center = ((words[:, 0] >> np.uint64(2)) // np.uint64(self.far)).astype(np.int64)
        chosen = np.where(any_center < len(self.centers), any_center, self.domain.category_of[codes])
        return self._center_codes[chosen]

    def published(self, internal: npt.NDArray[Any], like: npt.NDArray[Any]) -> npt.NDArray[Any]:
        return self.lookup.restored(internal, like)

    def report_codes(self, reports: npt.NDArray[Any]) -> Codes:
        """The category of a center; other values are no reports."""
        codes = self.lookup.codes(reports)
        category = self.domain.category_of[np.maximum(codes, 0)]
        return np.where(codes < 0, codes, np.where(self._center_codes[category] == codes, category, UNKNOWN))

    @property
    def cells(self) -> int:
        return self.domain.count

    def tally(self, reports: npt.NDArray[Any], codes: Codes, times: Codes | None) -> Codes:  # noqa: ARG002
        """A center stands for all values of its category."""
        return exact_bincount(codes, times, len(self.centers))[self.domain.category_of]

    def cell_bounds(self, tally: Codes, users: int) -> list[CellBounds]:
        own, far = (np.full(len(self.centers), weight / TOTAL) for weight in (self.own, self.far))
        counts = tally[self._center_codes].astype(float)
        return [CellBounds(counts=counts, users=users, least=far, most=own, names=self.centers)]

    @cached_property
    def estimator(self) -> SetReports:
        """Sets that are whole categories."""
        sizes = np.array(self.domain.sizes, dtype=np.float64)
        return SetReports(
            domain=self.domain,
            n=sizes,
            d=sizes,
            other=self.far / TOTAL / sizes,
            held=np.full(len(sizes), (self.own - self.far) / TOTAL),
            spread=np.zeros(len(sizes)),
        )

    @property
    def answer_pairs(self) -> tuple[AnswerPair, ...]:
        return set_pairs(self.estimator)

    def near_enough(self, region: Region) -> float | None:
        own, far = self.own / TOTAL, self.far / TOTAL
        if region.ring:
            return None
        centers = np.sort(self._center_codes)
        first, end = region.start, region.start + region.size
        inside = np.searchsorted(centers, end) - np.searchsorted(centers, first)
        center = self._center_codes[self.domain.category_of]
        mine = (first <= center) & (center < end)
        return float((inside * far + mine * (own - far)).min())


def center_response(domain: Domain, region: Region, epsilon: float) -> CenterResponse:
    """Response on the fewest centers of which every region holds one, with at most the given epsilon."""
    epsilon = checked_epsilon(epsilon)
    centers = np.array(region.centers())
    # every region holds the center before its end that comes last
    ends = region.start + region.size - 1
    nearest = np.searchsorted(centers, ends, side="right") - 1
    cells = [np.flatnonzero(nearest == place) for place in range(len(centers))]
    parts = in_categories([[domain.values[code] for code in cell] for cell in cells])
    far = math.ceil(TOTAL / (ratio_below(epsilon) + len(centers) - 1))
    made = CenterResponse(
        domain=domain if isinstance(domain, CategoryDomain) and domain.sizes == parts.sizes else parts,
        centers=tuple(domain.values[code] for code in centers),
        far=far,
    )
    return certified(made, epsilon)
