"""Noise of one law in all directions: its length, its direction, and what a shift of the answer does.

Such noise has no table of outputs to hold draws against. Vectors are drawn at an answer that is one number in
every coordinate, and at its neighbor, whose first coordinate is larger by the sensitivity.

**Fit.** Lengths are counted in cells of the law that the plan states for them, and so is the cosine c of the
angle to the first axis, for which P(c <= x) = (1 + sign(x) I(x²; 1/2, (d - 1)/2))/2 in any law that prefers
no direction. Published numbers are rounded to steps; a uniform part of a step is added to each, so that no
cell ends between two steps. What is left of the rounding changes a length, or a coordinate, by a thousandth
of its spread and its law by the square of that, which a million draws do not show. That is so for steps as
fine as the planner makes them; plans with coarser ones are refused.

**Privacy.** Events are sets of the first coordinate, and of the loss log f(y)/f'(y) by the stated densities f
and f' at the two answers. Any set of outputs proves what it shows, whatever the law is.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from pbdp import special
from pbdp.audit.events import Two
from pbdp.audit.samples import PARTS, Counts, Draw, Sample, blocks, furthest, places_of
from pbdp.errors import InputError
from pbdp.mechanism.requirement import Requirement
from pbdp.noise.kernel import Array
from pbdp.planning.plan import Plan
from pbdp.planning.vectors.spherical import SphericalDesign, rounding_for
from pbdp.release.law import OutputLaw

# Points on the lines of losses and of first coordinates.
POINTS = 1001
LOSSES, COORDINATES = "vectors with a loss, by the plan's own law,", "first coordinates"
# Ends of cells of lengths and directions; their number is even, so that none is at a right angle.
ENDS = 500
# Lengths beyond have this little probability; coordinates and cosines are looked at so many spreads out.
RARE = 1e-12
SPREADS = 6.0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Shift:
    """What was drawn at an answer and at its neighbor: lengths and directions at each, and both compared."""

    lengths: tuple[Sample, ...]
    directions: tuple[Sample, ...]
    seen: tuple[Two, ...]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Counted:
    """Draws at one answer: by cell of length and direction, and by place on the lines of both kinds."""

    answer: float
    met: int
    off_grid: int
    cells: tuple[Counts, Counts]
    places: tuple[Counts, Counts]


def drawn_shift(plan: Plan, draw: Draw, answer: float, *, draws: int, told: Callable[[int], None]) -> Shift:
    """Draw at the answer and at its neighbor, and count."""
    design, asked = plan.mechanism, plan.requirement
    if not isinstance(design, SphericalDesign):
        raise AssertionError("only noise of whole vectors is audited by its length")
    finest = rounding_for(asked).step
    if design.rounding.step > finest:
        rule = f"one with steps of {finest:g} at most, as the planner makes them"
        raise InputError("plan", rule, f"{design.rounding.step:g}")
    first = np.full(asked.dimensions, float(answer))
    second = first + asked.length_changed * (np.arange(asked.dimensions) == 0)
    reach = SPREADS * asked.half_width / math.sqrt(asked.dimensions)
    looked = _Looked(
        design=design,
        asked=asked,
        first=first,
        second=second,
        ends=(_length_ends(design, asked), _cosine_ends(asked.dimensions)),
        lines=(
            np.linspace(-2 * plan.epsilon, 2 * plan.epsilon, POINTS),
            np.linspace(first[0] - reach, second[0] + reach, POINTS),
        ),
    )
    counted = [looked.counted(draw, true, draws, told) for true in (first, second)]
    laws = looked.laws()

    def samples(index: int, what: str) -> tuple[Sample, ...]:
        return tuple(
            Sample(
                answer=one.answer,
                law=laws[index],
                counts=one.cells[index],
                # of all numbers of a vector, and once
                off_law=0 if index else one.off_grid,
                met=one.met,
                draws=draws,
                by_part=one.places[index],
                what=what,
            )
            for one in counted
        )

    return Shift(
        lengths=samples(0, "length "),
        directions=samples(1, "direction "),
        seen=tuple(
            Two(
                line=line,
                laws=None,
                first=counted[0].places[index],
                second=counted[1].places[index],
                answers=(counted[0].answer, counted[1].answer),
                what=what,
            )
            for index, (line, what) in enumerate(zip(looked.lines, (LOSSES, COORDINATES), strict=True))
        ),
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Looked:
    """What is looked at: ends of cells (length, cosine), and lines (loss, first coordinate)."""

    design: SphericalDesign
    asked: Requirement
    first: Array
    second: Array
    ends: tuple[Array, Array]
    lines: tuple[Array, Array]

    def laws(self) -> tuple[OutputLaw, OutputLaw]:
        """The laws of which cell a length, and a cosine, falls in."""
        lengths, cosines = self.ends
        return (
            _cell_law(lengths, self.design.length_below(self.asked, lengths)),
            _cell_law(cosines, _cosine_below(self.asked.dimensions, cosines)),
        )

    def counted(self, draw: Draw, true: Array, draws: int, told: Callable[[int], None]) -> _Counted:
        """Vectors drawn at one answer."""
        step, width = self.design.rounding.step, furthest(self.asked, true)
        met = off_grid = 0
        cells = tuple(np.zeros(len(ends) + 1, dtype=np.int64) for ends in self.ends)
        places = tuple(np.zeros((len(PARTS), 2 * len(line) + 1), dtype=np.int64) for line in self.lines)
        # repeated in every audit: it hides nothing
        uniform = np.random.default_rng(0)
        with np.errstate(invalid="ignore", divide="ignore"):
            for part, values in blocks(draw, true, draws, told):
                met += int(np.count_nonzero(np.linalg.norm(values - true, axis=1) <= width))
                off_grid += int(np.count_nonzero(~(np.remainder(values, step) == 0)))
                noise = values - true + step * (uniform.random(values.shape) - 0.5)
                length = np.linalg.norm(noise, axis=1)
                for index, found in enumerate((length, noise[:, 0] / length)):
                    cell = np.searchsorted(self.ends[index], found)
                    cells[index][:] += np.bincount(cell, minlength=len(cells[index]))
                for index, found in enumerate((self._loss(values), values[:, 0])):
                    place = places_of(self.lines[index], found)
                    places[index][part] += np.bincount(place, minlength=places[index].shape[1])
        return _Counted(
            answer=float(true[0]),
            met=met,
            off_grid=off_grid,
            cells=(cells[0], cells[1]),
            places=(places[0], places[1]),
        )

    def _loss(self, values: Array) -> Array:
        """log f(y)/f'(y) by the stated densities."""
        at, beside = (
            self.design.log_density(self.asked, np.linalg.norm(values - true, axis=1))
            for true in (self.first, self.second)
        )
        return np.asarray(at - beside)


def _cell_law(ends: Array, below: Array) -> OutputLaw:
    """Each cell is named by its upper end, the last by a number beyond."""
    probability = np.diff(np.concatenate(([0.0], below, [1.0])))
    output = np.concatenate((ends, [2 * ends[-1] - ends[-2]]))
    return OutputLaw(output=output, probability=np.maximum(probability, 0.0), missing_mass=0.0)


def _length_ends(design: SphericalDesign, asked: Requirement) -> Array:
    """Cells of equal width over all but `RARE` of the law."""
    tried = asked.half_width * np.geomspace(1e-6, 1e3, 20_001)
    first, last = np.searchsorted(design.length_below(asked, tried), [RARE, 1 - RARE])
    return np.linspace(tried[max(int(first) - 1, 0)], tried[min(int(last), len(tried) - 1)], ENDS)


def _cosine_ends(dimensions: int) -> Array:
    furthest = min(1.0, SPREADS / math.sqrt(dimensions))
    return np.linspace(-furthest, furthest, ENDS + 2)[1:-1]


def _cosine_below(dimensions: int, cosine: Array) -> Array:
    if dimensions == 1:
        return np.full(len(cosine), 0.5)
    inside = special.betainc(0.5, (dimensions - 1) / 2, np.square(cosine))
    return np.asarray((1 + np.sign(cosine) * inside) / 2)
