"""Regions: the reports that are near enough to a true answer, and how few of them serve everyone.

For value number x the region is a run of codes, `size[x]` of them from `start[x]` on (past the last code a
ring goes on at the first). A set of *centers* serves everyone if every region holds one of them.

**The cover number** tau of regions S(x) is the least sum of weights h_y >= 0 with sum over y in S(x) of h_y
>= 1 for every x. By the duality of linear programs it is also the largest sum of weights l_x >= 0 with at
most 1 on the regions that hold any one y. `local.limit` proves that the least epsilon for a report in its
region with confidence rho is ln(rho (tau - 1)/(1 - rho)), whatever the regions are. In closed form:

- *Line.* Go from left to right; whenever the region of x holds no center yet, put one at its right end. The
  x at which that happened have disjoint regions (each starts after the center before it), so both programs
  reach their number, which is tau. For k consecutive whole numbers it is ceil(k / (2 w + 1)).
- *Ring* of k values with regions of s values each: h_y = 1/s and l_x = 1/s both sum to k/s.
- *Categories*: one center in each; values of different categories have disjoint regions: their number.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from pbdp.errors import CannotCertifyError, InputError
from pbdp.local.domain import DOMAIN, CategoryDomain, Codes, Domain, ScaleDomain
from pbdp.parameters import whole
from pbdp.signatures import checked

CATEGORY_REGION = "category"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Region:
    """Which reports are near enough to each answer; `words` say it to people."""

    start: Codes
    size: Codes
    words: str
    ring: bool = False
    of_categories: bool = False

    @property
    def count(self) -> int:
        """How many values there are."""
        return len(self.start)

    @property
    def cover_number(self) -> Fraction:
        """tau of the module's text."""
        if self.ring:
            return Fraction(self.count, int(self.size[0]))
        return Fraction(len(self.centers()))

    def centers(self) -> tuple[int, ...]:
        """The fewest codes of which every region holds one; on a ring as if it were cut before the first."""
        if self.ring:
            step = int(self.size[0])
            return tuple(min(at + step // 2, self.count - 1) for at in range(0, self.count, step))
        found: list[int] = []
        last = -1
        for first, size in zip(self.start.tolist(), self.size.tolist(), strict=True):
            if first > last:
                last = first + size - 1
                found.append(last)
        return tuple(found)


@checked(domain=DOMAIN)
def region_of(domain: Domain, within: int | str) -> Region:
    """`within` of whole numbers (places, where answers are texts or on a ring), or "category"."""
    if isinstance(within, str) and within == CATEGORY_REGION:
        if not isinstance(domain, CategoryDomain) or not domain.grouped:
            raise InputError("report_within", "a distance where there are no categories", "category")
        return Region(
            start=domain.start, size=domain.size, words="in the true answer's category", of_categories=True
        )
    distance = whole("report_within", within, least=0)
    if isinstance(domain, ScaleDomain) and domain.ring:
        return _on_ring(domain.count, distance)
    if isinstance(domain.values[0], int):
        first, last = int(domain.values[0]), int(domain.values[-1])
        if last - first >= 1 << 62:
            raise InputError("values", "less than 2^62 apart for a report within a distance", "further apart")
        places = np.array(domain.values, dtype=np.int64) - first
        if np.any(np.diff(places) <= 0):
            raise InputError(
                "values", "in rising order for a report within a distance", "others", "Sort them."
            )
        unit = ""
    else:
        places = np.arange(domain.count)
        unit = " place" if distance == 1 else " places"
    distance = min(distance, int(places[-1]))
    start = np.searchsorted(places, places - distance, side="left").astype(np.int64)
    end = np.searchsorted(places, places + distance, side="right").astype(np.int64)
    return Region(start=start, size=end - start, words=f"within {distance}{unit} of the true answer")


def _on_ring(count: int, distance: int) -> Region:
    size = 2 * distance + 1
    if size >= count:
        raise CannotCertifyError(
            f"Every value of a ring of {count:,} is within {distance:,} of every other: any report meets it. "
            "Ask for a smaller distance."
        )
    start = (np.arange(count) - distance) % count
    words = f"within {distance} {'place' if distance == 1 else 'places'} of the true answer"
    return Region(start=start, size=np.full(count, size, dtype=np.int64), ring=True, words=words)
