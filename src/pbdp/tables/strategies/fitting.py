"""Which noise the parts of a strategy may have: laws that are good for one number of a part, made as wide as
the tables allow.

What a table is off by follows from all parts. Laws are scaled by estimates of it (`Strategy.near_room`), and
the noise that is taken in the end is brought to its certified widths (`exact`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import NormalDist

from pbdp.errors import CannotCertifyError
from pbdp.mechanism.absolute import AbsoluteRegion
from pbdp.mechanism.design import Design
from pbdp.mechanism.requirement import Requirement
from pbdp.noise.gaussian import GAUSSIAN
from pbdp.noise.laplace import LAPLACE
from pbdp.planning.grids import grids_of
from pbdp.planning.planner import joint_families
from pbdp.planning.together.search import fitted, is_concave, ranked
from pbdp.tables.numbers import Asked, on_whole
from pbdp.tables.query import Query
from pbdp.tables.strategies.joint import sigma_of
from pbdp.tables.strategies.strategy import Strategy

# How near (relative) the widest number of a table comes to what is asked, in how many steps: by estimates,
# and by certified widths.
NEAR, CLOSE, CLOSE_JOINT, MOST_STEPS = 1e-3, 2e-4, 1e-5, 12
# Sweeps over the parts, each of which is scaled with the others as they are.
SWEEPS = 2
# Laws of each kind that are tried.
MOST_LAWS = 5
# Noise with widths of more steps than this takes long: simple laws do.
LONG, SIMPLE = 1 << 13, (LAPLACE.name, GAUSSIAN.name)
# Parts are alike that are in no respect so many times as large as each other, but for the unit of widths.
ALIKE = 4.0

Designs = Mapping[str, Design]


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The designs that a part may have, and what one of its numbers is asked."""

    asked: Requirement
    designs: Sequence[Design]

    @property
    def rows(self) -> list[tuple[Requirement, Design]]:
        """The designs with the requirements that they meet."""
        return [(met(self.asked, design), design) for design in self.designs]

    @property
    def smooth(self) -> Options:
        """Those that can be scaled."""
        return replace(self, designs=[design for design in self.designs if can_be_scaled(design)])


@dataclass(frozen=True, slots=True, kw_only=True)
class _Fitted:
    """The laws that were found for a requirement; `best` is the family of the best of all if not concave."""

    asked: Requirement
    smooth: list[Design]
    best: str | None


@dataclass(slots=True, kw_only=True)
class Shapes:
    """Laws that are good for one number. Parts that are alike have the same ones, but for their scales."""

    _known: list[_Fitted] = field(default_factory=list)

    def of(self, asked: Requirement, *, concave: bool) -> list[Design]:
        """The best laws: log-concave ones, then others unless `concave`; simple ones where noise is long."""
        long = _width_in_steps(asked) > LONG
        families = SIMPLE if long else joint_families(asked)
        like = next((one for one in self._known if is_like(asked, one.asked)), None)
        if like is not None:
            factor, grid = _width_in_steps(asked) / _width_in_steps(like.asked), grids_of(asked)[0]
            known = (one for one in like.smooth if one.kernel.family in families)
            smooth = [replace(one.stretched(factor), grid=grid) for one in known]
            if concave or long or like.best is None:
                return smooth
            return [*smooth, *_others(ranked(asked, (like.best,)))]
        if concave:
            return list(fitted(asked, families, concave=True))
        laws = ranked(asked, families)
        smooth = [one for one in laws if is_concave(one)] or list(fitted(asked, families, concave=True))
        others = _others(laws)
        if not long:
            best = others[0].kernel.family if others and laws[0] is others[0] else None
            self._known.append(_Fitted(asked=asked, smooth=smooth[:MOST_LAWS], best=best))
        return [*smooth[:MOST_LAWS], *others]


def is_like(one: Requirement, other: Requirement) -> bool:
    """Whether two parts are about the same, but for the unit of their widths."""
    sizes = [
        (float(asked.region.offsets(0.0)[0]) / asked.sensitivity, asked.releases, 1 - asked.confidence)
        for asked in (one, other)
    ]
    narrow = sizes[0][0] < 1, sizes[1][0] < 1
    return narrow[0] == narrow[1] and all(
        1 / ALIKE <= mine / theirs <= ALIKE for mine, theirs in zip(*sizes, strict=True)
    )


def _others(laws: Sequence[Design]) -> list[Design]:
    return [one for one in laws if not is_concave(one)][:MOST_LAWS]


def _width_in_steps(asked: Requirement) -> float:
    return float(asked.region.offsets(0.0)[0]) / grids_of(asked)[0].step


@dataclass(frozen=True, slots=True, kw_only=True)
class Fitting:
    """A number of a query, with a strategy for it."""

    query: Query
    asked: Asked
    strategy: Strategy

    @property
    def step(self) -> float:
        """The step that it is counted in."""
        return self.strategy.change.step

    def requirement(self, name: str, width: float) -> Requirement:
        """What the numbers of a part are planned for."""
        moves, whole, confidence = (
            self.strategy.parts[name],
            self.asked.quantity.is_whole,
            self.asked.confidence,
        )
        if whole:
            width, confidence = on_whole(width, confidence)
        asked = Requirement(
            region=AbsoluteRegion.even(width),
            confidence=confidence,
            sensitivity=moves.steps * self.step,
            delta=self.query.delta,
            releases=moves.numbers,
            neighbors=self.query.neighbors,
            integer=whole,
            step=None if whole and self.step == 1 else self.step,
        )
        # single numbers within so much would be multiples of a whole number; these are not
        return asked if grids_of(asked)[0].step == self.step else replace(asked, step=self.step)

    def options(self, shapes: Shapes) -> dict[str, Options]:
        """For each part the designs to choose from, the widest with which its tables are near, by estimates.

        Laws for one of its numbers are scaled until that is so; those that cannot be scaled are taken if it
        is. Parts are looked at one after the other, the others having their first design.
        """
        made = {name: self.requirement(name, width) for name, width in self._first_widths().items()}
        own = self.strategy.own_designs(self.step, self.asked.quantity.is_whole)
        laws = {
            name: own or shapes.of(made[name], concave=moves.concave)
            for name, moves in self.strategy.parts.items()
        }
        chosen = {name: rows[0] for name, rows in laws.items()}
        for _ in range(SWEEPS if len(laws) > 1 else 1):
            for name in laws:
                chosen[name] = self._scaled(name, chosen) or chosen[name]
        return {
            name: Options(asked=made[name], designs=self._near(name, chosen, laws[name])) for name in laws
        }

    def _near(self, name: str, chosen: Designs, laws: Sequence[Design]) -> list[Design]:
        """The laws of a part with which its tables are as near as they must be, scaled where they can be."""
        found = []
        for law in laws:
            design: Design | None = law
            if can_be_scaled(law):
                design = self._scaled(name, {**chosen, name: law})
            elif self._room({**chosen, name: law}, name) < 1:
                design = None
            if design is not None:
                found.append(design)
        if not found:
            raise CannotCertifyError("No noise was found with which all tables are as near as asked.")
        return found

    def _scaled(self, name: str, designs: Designs) -> Design | None:
        """The design of a part, as wide as its tables allow by estimates."""
        design, best = designs[name], None
        close = CLOSE_JOINT if design.kernel.joint else NEAR
        for _ in range(MOST_STEPS):
            room = self._room({**designs, name: design}, name)
            if room >= 1:
                best = design
            if 1 <= room <= 1 + close or not math.isfinite(room):
                break
            # a little less than would just do, as widths are whole
            design = design.stretched(room * (1 - close / 2))
        return best

    def exact(self, designs: Designs) -> dict[str, Design] | None:
        """The designs, all scaled alike to what the tables are certified to be within; None if that fails."""
        own = {name: designs[name] for name in self.strategy.parts}
        free = {name for name, design in own.items() if can_be_scaled(design)}
        best: dict[str, Design] | None = None
        widest, narrowest = 0.0, math.inf
        factor = 1.0
        # those with the least room by estimates come first; at first the least is looked at alone
        tables = sorted(self.asked.widths, key=lambda table: self._table_room(own, table, near=True))
        looked_at = tables[:1] if free else tables
        for _ in range(MOST_STEPS):
            tried = {name: one.stretched(factor) if name in free else one for name, one in own.items()}
            room = math.inf
            for table in looked_at:
                room = min(room, self._table_room(tried, table))
                if room < 1:
                    break
            if 1 <= room <= 1 + CLOSE and looked_at != tables:
                others = (self._table_room(tried, table) for table in tables[1:])
                room, looked_at = min(room, *others), tables
            if room >= 1 and factor > widest and looked_at == tables:
                best, widest = tried, factor
            elif room < 1:
                narrowest = min(narrowest, factor)
            looked_at = tables
            if not free or not math.isfinite(room) or 1 <= room <= 1 + CLOSE:
                break
            factor *= room * (1 - CLOSE / 2)
            if not widest < factor < narrowest:
                if narrowest <= widest * (1 + CLOSE):
                    break
                factor = (widest + narrowest) / 2 if widest else 0.999 * narrowest
        return best

    def room(self, designs: Designs) -> float:
        """How much wider the tables may still be, certified."""
        return min((self._table_room(designs, table) for table in self.asked.widths), default=math.inf)

    def _room(self, designs: Designs, name: str) -> float:
        """About how much wider the tables that follow from one part may still be."""
        given = (at for at in self.asked.widths if self.strategy.follows(at) == name)
        return min((self._table_room(designs, table, near=True) for table in given), default=math.inf)

    def _table_room(self, designs: Designs, table: int, *, near: bool = False) -> float:
        """How much wider a table may still be: certified, or about that."""
        room = self.strategy.near_room if near else self.strategy.room
        return room(designs, table, self.asked.confidence, self.asked.widths[table] / self.step)

    def _first_widths(self) -> dict[str, float]:
        """Widths of parts to begin with: sums of n numbers are about the root of n times as far off."""
        found: dict[str, float] = {}
        for table, width in self.asked.widths.items():
            name = self.strategy.follows(table)
            share = width / math.sqrt(self.strategy.rows(table))
            found[name] = min(found.get(name, math.inf), share)
        widest = max(found.values(), default=self.asked.cells or 1.0)
        return {name: found.get(name, widest) for name in self.strategy.parts}


def can_be_scaled(design: Design) -> bool:
    """Whether a law stays what it is when it is made wider."""
    return design.kernel.joint or is_concave(design)


def met(asked: Requirement, design: Design) -> Requirement:
    """The requirement that a design just meets: within the same width, or one as wide as joint noise is.

    Rows of joint noise are in other units than the tables.
    """
    if design.kernel.joint:
        far = NormalDist().inv_cdf((1 + asked.confidence) / 2)
        width = math.ceil(far * sigma_of(design)) * design.grid.step
        asked = replace(asked, region=AbsoluteRegion.even(width))
    return replace(asked, confidence=min(max(design.confidence_in(asked.region), 1e-6), 1 - 1e-12))
