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
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from pbdp.errors import CannotCertifyError, InputError
from pbdp.local.contrast import Contrast, pure_contrast
from pbdp.local.domain import CategoryDomain, Codes, Domain, Value, in_categories
from pbdp.local.estimators import exact_bincount, pure_estimates
from pbdp.local.intervals import PureCounts, pure_counts
from pbdp.local.law import SHAVE, checked_epsilons, epsilon_of
from pbdp.local.lookup import UNKNOWN
from pbdp.local.mechanism import CATEGORY, CellBounds, LocalMechanism
from pbdp.local.region import Region
from pbdp.local.spread import GroupSpread, Spread, reach_of, unknowable
from pbdp.mechanism.weights import TOTAL
from pbdp.noise.kernel import Array, Words

ONLY_CATEGORIES = "Reports say nothing about values within a category here. Use --of category."


@dataclass(frozen=True, kw_only=True)
class CenterResponse(LocalMechanism):
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

    @property
    def words_per_user(self) -> int:
        return 1

    @property
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
        return len(self.centers)

    def tally(self, reports: npt.NDArray[Any], codes: Codes, times: Codes | None) -> Codes:  # noqa: ARG002
        return exact_bincount(codes, times, self.cells)

    @property
    def probabilities(self) -> tuple[float, float]:
        """How likely the report is the center of one's own category, and each other one."""
        return self.own / TOTAL, self.far / TOTAL

    def cell_bounds(self, tally: Codes, users: int) -> list[CellBounds]:
        own, far = (np.full(len(self.centers), chance) for chance in self.probabilities)
        return [CellBounds(counts=tally.astype(float), users=users, least=far, most=own, names=self.centers)]

    def estimates(self, kind: str, tally: Codes, users: int) -> tuple[Array, Array]:
        if kind != CATEGORY:
            raise CannotCertifyError(ONLY_CATEGORIES)
        return pure_estimates(*self.probabilities, tally, users)

    def pure(self, kind: str, tally: Codes) -> PureCounts | None:
        return pure_counts(tally, *self.probabilities) if kind == CATEGORY else None

    def spread(self, kind: str) -> Spread:
        if kind != CATEGORY:
            return unknowable(self.domain.count, self.domain.count)
        (p, q), groups = self.probabilities, len(self.centers)
        inside, outside = (np.full(groups, chance * (1 - chance) / (p - q) ** 2) for chance in (p, q))
        low, high = (np.full(groups, end / (p - q)) for end in (-q, 1 - q))
        return GroupSpread(domain=self.domain, inside=inside, outside=outside, reach=reach_of(low, high))

    def weighted(self, weights: Array) -> Spread:
        return unknowable(len(weights), self.domain.count)

    @property
    def contrasts(self) -> tuple[Contrast, ...]:
        groups = len(self.centers)
        return (pure_contrast(1 / groups, 0.0, self.own / self.far, groups * self.far / TOTAL),)

    def near_enough(self, region: Region) -> float:
        own, far = self.probabilities
        centers = self._center_codes
        inside = (centers - region.start[:, None]) % region.count < region.size[:, None]
        mine = inside[np.arange(region.count), self.domain.category_of]
        return float((inside.sum(axis=1) * far + mine * (own - far)).min())


def center_response(domain: Domain, region: Region, epsilon: float) -> CenterResponse:
    """Response on the fewest centers of which every region holds one, with at most the given epsilon."""
    epsilon, _ = checked_epsilons(epsilon, 0.0)
    centers = np.array(region.centers())
    # every region holds the center before its end that comes last
    ends = region.start + region.size - 1
    nearest = np.searchsorted(centers, ends, side="right") - 1
    cells = [np.flatnonzero(nearest == place) for place in range(len(centers))]
    parts = [[domain.values[code] for code in cell] for cell in cells]
    far = math.ceil(TOTAL / (math.exp(epsilon - max(epsilon, 1.0) * SHAVE) + len(centers) - 1))
    made = CenterResponse(
        domain=in_categories(parts), centers=tuple(domain.values[code] for code in centers), far=far
    )
    if made.epsilon > epsilon:
        raise CannotCertifyError("No integer weights hold this epsilon. Use a larger one.")
    return made
