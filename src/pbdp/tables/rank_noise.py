"""The noise with which all ranks of a column are published at once, and what it costs.

Two ways, of which the cheaper one is taken. *Noise on the counts* of all n values: sums of the first j of
them, and of the others, are at once within w as often as P(|sum of all n noises| > w) <= (1 - p)/4 says, by
Lévy's inequality for sums of independent symmetric numbers, P(max |S_j| > w) <= 2·P(|S_n| > w), from either
end. One person moves counts of a group by r in all, those of k groups as sums over groups of cells are moved
(`strategies.strategy`). Or *noise on weighted sums* of the counts (`strategies.ranks`), which costs far less
where there are many values.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from pbdp.digits import plain
from pbdp.errors import CannotCertifyError
from pbdp.mechanism.absolute import AbsoluteRegion
from pbdp.mechanism.design import Design
from pbdp.mechanism.grid import LinearGrid
from pbdp.mechanism.neighbors import Neighbors
from pbdp.mechanism.requirement import Requirement
from pbdp.noise.kernel import Index
from pbdp.noise.rounded_gaussian import RoundedGaussian
from pbdp.planning.plan import Part
from pbdp.planning.together.search import plan_together
from pbdp.release.combination import Term, law_of_sum
from pbdp.release.keystream import Keystream
from pbdp.tables.bounded import Aggregates, ValueGrid
from pbdp.tables.estimates import spread_of
from pbdp.tables.measure_request import MOST_VALUES
from pbdp.tables.picks import plain_design
from pbdp.tables.strategies.cells import room_of_sum
from pbdp.tables.strategies.joint import LARGEST_SIGMA, share_of_tables, sigma_of
from pbdp.tables.strategies.ranks import FURTHEST, SCALES, Ranks, ranks_of
from pbdp.tables.strategies.strategy import Moves

if TYPE_CHECKING:
    from pbdp.tables.query import Query

# Noise on counts of more values is never the cheaper way.
_MOST_COUNTED = 64
# Laws of noise on counts, and how near its scale comes to what is allowed, in how many steps.
_FAMILIES, _CLOSE, _MOST_STEPS = ("laplace", "gaussian"), 1e-4, 12
# The width that the plan tells of such noise, in standard deviations; nothing rests on it.
_WIDE = 2.0
# What is set aside of delta where tables of noise stand for laws.
ASIDE = 1e-3


@dataclass(frozen=True, slots=True, kw_only=True)
class RankNoise:
    """Noise for the counts of all values of one column, in one of several tables perhaps.

    `rows` are the weighted sums that get it; None where the counts do. `levels` are the quantiles that are
    read off; where there are none, it is the counts at or below each value that are published.
    """

    measure: str
    name: str
    label: str
    table: int
    index: int
    grid: ValueGrid
    levels: tuple[Fraction, ...]
    within: float
    asked: float
    groups_touched: int
    requirement: Requirement
    design: Design
    rows: Ranks | None
    laws: int

    @property
    def way(self) -> str:
        """How it is done, in words."""
        return f"{self.design.name} noise"

    @property
    def confidence(self) -> float:
        """How often all ranks are within the width, at least."""
        return confidence_of(self.design, self.grid.candidates, self.within, self.rows)

    def drawn(
        self, part: Part, aggregates: Aggregates, keystream: Keystream, groups: Index | None = None
    ) -> Index:
        """For each group the counts at or below each value, or the places of the quantiles."""
        counts = counts_of(aggregates.histograms[self.index], groups)
        asked = np.clip(counts, 0, FURTHEST) if self.rows is None else self.rows.asked(counts)
        noisy = part.releaser.output_steps(asked.ravel(), keystream).reshape(asked.shape)
        found = never_falling(np.cumsum(noisy, axis=1)) if self.rows is None else self.rows.told(noisy)
        return places_at(found, self.levels) if self.levels else found

    def record(self) -> dict[str, Any]:
        """What a manifest says of it beside the plan of the noise."""
        own = {} if self.rows is None else {"weights": list(self.rows.weights), "total": self.rows.total}
        return {"within": self.within, **own}

    def describe(self) -> str:
        """The promise, in words."""
        return f"all ranks within {plain(self.within)} of the true ones"


def counts_of(cells: Index, groups: Index | None) -> Index:
    """The counts of each group; `groups` says which group every cell is in."""
    if groups is None:
        return cells
    found = np.zeros((int(groups.max()) + 1, cells.shape[1]), dtype=np.int64)
    np.add.at(found, groups, cells)
    return found


def never_falling(sums: Index) -> Index:
    """Noisy counts at or below each value, made to rise from 0 to the last of them (`strategies.ranks`)."""
    most = np.maximum(sums[:, -1:], 0)
    return np.asarray(np.clip(np.maximum.accumulate(sums, axis=1), 0, most))


def places_at(up_to: Index, levels: Sequence[Fraction]) -> Index:
    """The place of the least value that each share of the rows is at or below; a column for each."""
    every = [
        np.argmax(level.denominator * up_to >= level.numerator * up_to[:, -1:], axis=1) for level in levels
    ]
    return np.column_stack(every).astype(np.int64)


# ---- one person


def moves_of(query: Query, bins: int, rows: Ranks | None, table: int) -> Moves:
    """What one person moves of the counts, or of the weighted sums, in all groups of a table."""
    people, groups, own = Neighbors(query.neighbors).people, query.groups_of_one, query.rows_counted
    margins = query.margins
    if query.groups is not None:
        groups = min(groups, len(query.groups))
    if query.listed is not None:
        groups = min(groups, query.listed.groups)
    finest = margins is None or margins.tables[table].columns == margins.columns
    if rows is not None:
        length = rows.squared_length(people=people, groups=groups, rows=own, finest=finest)
        touched = people * groups * (bins + 1)
        return Moves(numbers=1, steps=math.isqrt(length - 1) + 1, laws=touched)
    if finest:
        laws = people * groups * (own + 1) if own > 1 else 0
        return Moves(numbers=people * groups, steps=own, laws=laws, concave=bool(laws))
    steps = groups * own
    laws = people * (steps + 1) if steps > 1 else 0
    return Moves(numbers=people, steps=steps, laws=laws, concave=bool(laws))


# ---- how near


@lru_cache(maxsize=256)
def confidence_of(design: Design, bins: int, within: float, rows: Ranks | None) -> float:
    """How often all counts from either end are within the width at once, at least."""
    width = math.floor(within)
    if rows is not None:
        return 1 - rows.failing(sigma_of(design), width, design.table_error())
    inside = law_of_sum([Term(table=design.table_at(0.0), count=bins)]).within(width)
    return 1 - 4 * (1 - inside) * (1 + 2.0**-40)


# ---- the ways


def rank_noise(
    query: Query, grid: ValueGrid, within: float, confidence: float, table: int
) -> tuple[Requirement, Design, Ranks | None, int]:
    """The cheapest noise that was found; refused where the width is too narrow for any."""
    bins, found = grid.candidates, []
    on_counts = _on_counts(bins, math.floor(within), confidence) if bins <= _MOST_COUNTED else []
    on_sums = _on_sums(query, bins, math.floor(within), confidence, table)
    for design, rows in (*on_counts, *on_sums):
        if confidence_of(design, bins, within, rows) >= confidence:
            moves = moves_of(query, bins, rows, table)
            found.append((requirement_of(query, moves, design), design, rows, moves.laws))
    if not found:
        raise CannotCertifyError(
            f"All ranks of {bins:,} values cannot be within {plain(within)} at once. Allow more ranks, or "
            "fewer values."
        )
    if len(found) == 1:
        return found[0]
    return min(found, key=lambda one: price(query.delta, [(one[0], one[1], one[3])]))


def requirement_of(query: Query, moves: Moves, design: Design) -> Requirement:
    """What the part of the plan says of noise: what one person moves, and how often it is how wide."""
    return Requirement(
        region=design.region,
        confidence=min(max(design.confidence_in(design.region), 1e-6), 1 - 1e-12),
        sensitivity=float(moves.steps),
        delta=query.delta,
        releases=moves.numbers,
        neighbors=query.neighbors,
        integer=True,
    )


def price(delta: float, parts: Sequence[tuple[Requirement, Design, int]]) -> float:
    """What these cost alone, about."""
    aside = ASIDE * delta if any(laws for *_, laws in parts) else 0.0
    given = {str(at): [(asked, design)] for at, (asked, design, _) in enumerate(parts)}
    return plan_together({}, given=given, missing=aside, draft=True).epsilon


@lru_cache(maxsize=64)
def _on_counts(bins: int, width: int, confidence: float) -> list[tuple[Design, None]]:
    """Noise of each family, as wide as the sum of all may be."""
    enough, found = 1 - (1 - confidence) / 4 * (1 - 2.0**-30), []
    for family in _FAMILIES:
        design, best = plain_design(family, max(width / (3 * math.sqrt(bins)), 0.3), 1.0), None
        for _ in range(_MOST_STEPS):
            room = room_of_sum(design, bins, enough, width)
            best = design if room >= 1 else best
            if 1 <= room <= 1 + _CLOSE or room < _CLOSE:
                break
            design = design.stretched(room * (1 - _CLOSE / 2))
        if best is not None:
            far = math.ceil(_WIDE * spread_of(((best, Fraction(1), 1),)))
            found.append((replace(best, region=AbsoluteRegion.even(float(far))), None))
    return found


def _on_sums(
    query: Query, bins: int, width: int, confidence: float, table: int
) -> list[tuple[Design, Ranks]]:
    """Rounded Gaussian noise, on rows that are as fine as tables of noise allow."""
    for scale in SCALES if 2 <= bins <= MOST_VALUES else ():
        rows = ranks_of(bins, scale)
        sigma = min(_widest_sigma(rows, width, confidence), LARGEST_SIGMA)
        moves = moves_of(query, bins, rows, table)
        if sigma < 1:
            continue
        if share_of_tables(moves.laws, moves.steps / sigma, sigma, query.delta) <= ASIDE / 2:
            region = AbsoluteRegion.even(float(math.ceil(_WIDE * sigma)))
            grid = LinearGrid(step=1.0, rounded=False)
            return [(Design(grid=grid, kernel=RoundedGaussian(sigma=sigma), region=region), rows)]
    return []


@lru_cache(maxsize=256)
def _widest_sigma(rows: Ranks, width: int, confidence: float) -> float:
    # a hair less, for what tables differ from their law by
    return rows.widest_sigma(width, (1 - confidence) * (1 - 1e-5))
