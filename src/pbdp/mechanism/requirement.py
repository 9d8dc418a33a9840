"""The whole of what a user asks for, checked once."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from pbdp.errors import ContradictionError, InputError, shown
from pbdp.mechanism.absolute import AbsoluteRegion
from pbdp.mechanism.coordinates import NORMS, Coordinates
from pbdp.mechanism.fixed_range import FixedRegion
from pbdp.mechanism.grid import Grid
from pbdp.mechanism.neighbors import Neighbors
from pbdp.mechanism.region import Region
from pbdp.mechanism.relative import RelativeRegion
from pbdp.parameters import above_one, positive, probability, promised_level, whole

# Sensitivities outside leave no room in a double for the steps around them.
SMALLEST, LARGEST = 1e-100, 1e100
# Beyond it the Rényi sums run over ever more terms, and say no more than the largest loss.
LARGEST_ORDER = 1e5
# The rounding of tables is known to 1e-12 a release: beyond, it may add up to everything.
MOST_RELEASES = 10**12
# Why there is no delta of 0, also not to be never off by more than a width.
NO_DELTA = "Published noise is drawn from a finite table, which has no pure epsilon; use 1e-9, say."
NO_ENDS = (
    "Noise that never exceeds a width ends there, and delta pays for the ends: any delta above 0 has an "
    "answer where the width is at least the sensitivity; use 1e-9, say."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Requirement:
    """An accuracy, and what privacy is measured against.

    `region` and `confidence` are the accuracy; `sensitivity` is the most that one person can change the
    answer under the relation `neighbors`; the privacy loss is epsilon at `delta`, or Rényi at `rdp_order`.
    `releases` numbers are published that one person may affect, each by the sensitivity; `simultaneous` makes
    the confidence joint for all of them. With `bounds` answers and outputs are clamped into a range.
    With `coordinates` a whole vector is released: the confidence is joint for all of it, and width and
    sensitivity are measured in norms of their own.
    """

    region: Region
    confidence: float
    sensitivity: float
    delta: float | None = None
    rdp_order: float | None = None
    releases: int = 1
    simultaneous: bool = False
    neighbors: str = Neighbors.ADD_REMOVE
    integer: bool = False
    step: float | None = None
    scale: float | None = None
    bounds: FixedRegion | None = None
    coordinates: Coordinates | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.region, Region):
            raise InputError("region", "a region, such as AbsoluteRegion.even(5)", shown(self.region))
        self._check_sides()
        promised_level("confidence", self.confidence)
        changed = "the answer" if self.coordinates is None else self.coordinates.change
        positive("sensitivity", self.sensitivity, f"It is the most that one person can change {changed}.")
        if not SMALLEST <= self.sensitivity <= LARGEST:
            raise InputError(
                "sensitivity", f"{SMALLEST:g} to {LARGEST:g}", self.sensitivity, "Count in another unit."
            )
        if not isinstance(self.integer, bool):
            raise InputError("integer", "true or false", shown(self.integer))
        self._check_privacy()
        object.__setattr__(self, "releases", whole("releases", self.releases))
        if self.releases > MOST_RELEASES:
            raise InputError("releases", f"at most {MOST_RELEASES:,}", shown(self.releases))
        object.__setattr__(self, "neighbors", Neighbors(self.neighbors))
        if self.step is not None:
            positive("step", self.step, "It is the grid for real answers, a power of two; 0.25, say.")
        if self.integer and self.step is not None and self.step != math.floor(self.step):
            raise ContradictionError(
                "step",
                "a whole number (or left out) for whole-number answers",
                self.step,
                "Drop `integer` to publish on another grid.",
            )
        self._check_joint_confidence()
        self._check_scale()
        self._check_bounds()
        self._check_coordinates()
        # other kinds of number (whole ones, fractions) become floats, so that plans can be compared and saved
        for name in ("confidence", "sensitivity", "delta", "rdp_order", "step", "scale"):
            value = getattr(self, name)
            object.__setattr__(self, name, None if value is None else float(value))

    @property
    def always(self) -> bool:
        """Whether the width holds without exception: the noise ends at its edges."""
        return self.confidence == 1

    @property
    def confidence_each(self) -> float:
        """The confidence that each number needs; independent noise makes the joint one their product."""
        if not self.simultaneous or self.releases == 1 or self.always:
            return self.confidence
        each = math.exp(math.log(self.confidence) / self.releases)
        return min(each * (1 + 2**-50), math.nextafter(1.0, 0.0))

    def joint_confidence(self, each: float) -> float:
        """The confidence that the requirement speaks of when each number has `each`, rounded down."""
        if not self.simultaneous or self.releases == 1 or each == 1:
            return each
        return math.exp(self.releases * math.log1p(each - 1)) * (1 - 2**-50)

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What it takes for granted of true answers, in sentences."""
        bounds = () if self.bounds is None else self.bounds.assumptions
        return tuple(dict.fromkeys((*bounds, *self.region.assumptions)))

    def output_limits(self, grid: Grid) -> tuple[float, float]:
        """What published numbers are clamped into; infinite without a range."""
        if self.bounds is None:
            return -math.inf, math.inf
        low, high = self.bounds.answers
        return (float(math.ceil(low)), float(math.floor(high))) if grid.whole_outputs else (low, high)

    def answers_on(self, grid: Grid) -> tuple[float, float]:
        """The first and last grid point that answers are mapped to; infinite where any may be."""
        first, last = self.region.answers
        if math.isfinite(first) or math.isfinite(last):
            first, last = grid.region_in_steps(self.region).answers
        if self.bounds is not None:
            # rounding never changes the order, so that it is the same to clamp answers or their grid points
            low, high = self.output_limits(grid)
            first = max(first, grid.steps_of(Fraction(low)))
            last = min(last, grid.last_of_range(Fraction(high)))
        return first, last

    def lies_flush(self, step: float) -> bool:
        """Whether a range of real answers, and the width, are whole numbers of steps.

        Then rounding answers down loses nothing. Rounding them to the nearest would lose a step of every
        width, and where a range is just so many widths long that takes one region more.
        """
        if self.integer or self.bounds is None or not self.region.follows_answer:
            return False
        sides = [float(offset) for offset in self.region.offsets(0.0)]
        lengths = [*self.bounds.answers, *(side for side in sides if math.isfinite(side))]
        return all(Fraction(length) % Fraction(step) == 0 for length in lengths)

    def takes_more_regions(self, step: float) -> bool:
        """Whether rounding to a grid makes a range take more regions: it is as many widths long, or nearly.

        Rounding to the nearest takes a step of the width.
        """
        if self.bounds is None or not self.region.follows_answer:
            return False
        low, high = (Fraction(end) for end in self.bounds.answers)
        width = sum(float(offset) for offset in self.region.offsets(0.0))
        if not math.isfinite(width):
            return False
        left = Fraction(width) - Fraction(step)
        return left <= 0 or math.ceil((high - low) / left) > math.ceil((high - low) / Fraction(width))

    @property
    def dimensions(self) -> int:
        """How many numbers one answer has."""
        return 1 if self.coordinates is None else self.coordinates.dimensions

    @property
    def touched(self) -> int:
        """How many numbers of one answer one person may change.

        Whole numbers that change do so by one at least: Δ of them in the sum of absolute values.
        """
        if self.coordinates is None:
            return 1
        if self.coordinates.changed_in != "l1" or not self.integer:
            return self.coordinates.touched
        return min(self.coordinates.touched, max(1, math.floor(self.sensitivity)))

    @property
    def is_one_by_one(self) -> bool:
        """Whether every number of an answer has its own width and its own change, as single numbers have."""
        return self.coordinates is None or self.coordinates.norm == self.coordinates.changed_in == "linf"

    @property
    def half_width(self) -> float:
        """How far off an answer may be on both sides, whatever it is; of a percentage that is its floor."""
        return float(np.min(self.region.offsets(0.0)))

    @property
    def kept_region(self) -> Region:
        """What the noise keeps to, with the plan's confidence: all that is asked, or less.

        Where errors or changes are measured over the whole vector, noise is the same for every answer. It
        keeps to the floor of a percentage of the vector's size, norm(error) <= theta·norm(Q) + tau, which
        meets it for every Q.
        """
        return self.region if self.is_one_by_one else AbsoluteRegion.even(self.half_width)

    @property
    def each(self) -> Requirement:
        """What is asked of every coordinate, where each has noise of its own; itself for single numbers.

        The coordinates that one person changes count as releases. The others have the same law for both
        neighbors and add nothing.
        """
        if self.coordinates is None:
            return self
        every = replace(
            self, region=self.kept_region, coordinates=None, releases=self.dimensions, simultaneous=True
        )
        if self.touched == self.dimensions:
            return every
        return replace(every, confidence=every.confidence_each, releases=self.touched, simultaneous=False)

    def confidence_each_of(self, whole: float) -> float:
        """The confidence that each number of an answer needs for all of it to have `whole`, rounded up."""
        every = replace(self, coordinates=None, releases=self.dimensions, simultaneous=True, confidence=whole)
        return every.confidence_each

    def joint_confidence_of(self, each: float) -> float:
        """The confidence of a whole answer when each of its numbers has `each`, rounded down."""
        if self.coordinates is None:
            return self.joint_confidence(each)
        every = replace(self, coordinates=None, releases=self.dimensions, simultaneous=True)
        return every.joint_confidence(each)

    def describe(self) -> str:
        """Region and bounds in words."""
        inside = "" if self.bounds is None else f" and {self.bounds.describe()}"
        how = "" if self.coordinates is None else f" {NORMS[self.coordinates.norm]}"
        return self.region.describe() + how + inside

    @property
    def width(self) -> Any:
        """The width as it was asked for, for JSON, which has no infinity: None stands for an open side."""
        width = self.region.within
        return [None if math.isinf(side) else side for side in width] if isinstance(width, list) else width

    def record(self) -> dict[str, Any]:
        """What is asked, for JSON, without what plans say beside it; part of every fingerprint."""
        record: dict[str, Any] = {
            "region": self.region.record(),
            "confidence": self.confidence,
            "simultaneous": self.simultaneous,
            "integer": self.integer,
            "step": self.step,
            "scale": self.scale,
            "bounds": None if self.bounds is None else list(self.bounds.answers),
        }
        return record if self.coordinates is None else {**record, "coordinates": self.coordinates.record()}

    def _check_sides(self) -> None:
        """A region holds the truth; one that is open on one side needs room on the other."""
        if not self.region.follows_answer:
            return
        sides = [float(offset) for offset in self.region.offsets(0.0)]
        if min(sides) < 0:
            raise InputError("within", "0 or more on both sides", f"{min(sides):g}")
        if sorted(sides) == [0.0, math.inf]:
            raise InputError(
                "within",
                "above 0 on the side that counts",
                "0",
                "Noise falls on either side of the truth; allow a little on this one too.",
            )

    def _check_joint_confidence(self) -> None:
        """What each of very many numbers may miss has to be a float."""
        if self.joint_confidence(self.confidence_each) < self.confidence:
            rule = f"at most {1 - 2.0**-51 * self.releases:.12g} for {self.releases:,} numbers at once"
            raise InputError("confidence", rule, shown(self.confidence), "Or ask for fewer numbers.")

    def _check_privacy(self) -> None:
        if (self.delta is None) == (self.rdp_order is None):
            if self.delta is not None:
                how = "Use delta=1e-6, say, for approximate DP, or rdp_order=10 for Rényi DP."
                raise ContradictionError("delta and rdp_order", "given one at a time", "both", how)
            raise ContradictionError(
                "delta",
                "given",
                "nothing",
                "It is the probability that epsilon does not cover, far below one over the number of people: "
                "delta=1e-6, say. (Or ask for a Rényi loss: rdp_order=10.)",
            )
        if self.rdp_order is not None and self.always:
            remedy = "Noise that ends has no finite Rényi loss. Give a delta, or a confidence below 1."
            raise ContradictionError("rdp_order", "left out with confidence 1", self.rdp_order, remedy)
        if self.rdp_order is not None:
            above_one("rdp_order", self.rdp_order, "Rényi orders are above 1; 10 is a common choice.")
            if self.rdp_order > LARGEST_ORDER:
                raise InputError("rdp_order", f"at most {LARGEST_ORDER:g}", self.rdp_order, "10 is common.")
        if self.delta is not None:
            # a signalling NaN raises when it is compared
            if type(self.delta) in (int, float) and self.delta == 0:
                raise InputError("delta", "above 0", 0, NO_ENDS if self.always else NO_DELTA)
            probability(
                "delta", self.delta, "It should be far below one over the number of people; 1e-6, say."
            )

    def _check_scale(self) -> None:
        if self.region.stands_still:
            if self.scale is None:
                raise ContradictionError(
                    "scale",
                    "given with a fixed range",
                    "nothing",
                    "A range alone asks for no accuracy: any constant inside it meets it at epsilon 0. "
                    "Say how much noise you accept (scale=3), or ask for a width (within=5).",
                )
            positive(
                "scale",
                self.scale,
                "It is the standard deviation (Gaussian) or scale (Laplace) of the noise.",
            )
        elif self.scale is not None:
            raise ContradictionError(
                "scale",
                "left out unless a range is given",
                self.scale,
                "The planner finds the scale that the width asks for.",
            )
        if self.region.only_whole_answers and not self.integer:
            raise ContradictionError("integer", "true for a region given as a function", False)

    def _check_bounds(self) -> None:
        """A range that holds no number that could be published is refused."""
        if self.bounds is None or not self.integer:
            return
        low, high = self.bounds.answers
        if math.ceil(low) > math.floor(high):
            raise InputError(
                "range",
                "one that holds a whole number",
                self.bounds.describe(),
                "Widen it, or drop `integer` to publish on another grid.",
            )

    def _check_one_width(self) -> None:
        """A vector whose error is measured as a whole has one width, or a percentage of its size and a floor.

        Coordinates by themselves may have any.
        """
        width = self.region.offsets(0.0)
        one_width = self.region.follows_answer or isinstance(self.region, RelativeRegion)
        if not one_width or width[0] != width[1] or self.bounds is not None:
            raise ContradictionError(
                "within",
                "a number, or a percentage plus one, where errors or changes are those of the whole vector",
                self.describe(),
                "Ranges and two sides are for the error norm linf, every coordinate by itself.",
            )
        if not SMALLEST <= float(width[0]) <= LARGEST:
            remedy = "Count in another unit."
            raise InputError("within", f"{SMALLEST:g} to {LARGEST:g}", f"{float(width[0]):g}", remedy)

    def _check_coordinates(self) -> None:
        if self.coordinates is None:
            return
        if self.releases != 1 or self.simultaneous:
            raise ContradictionError(
                "releases and simultaneous",
                "left out for vectors",
                "given",
                "A vector is one release, and its confidence is joint for all of it.",
            )
        if self.integer and self.step not in (None, 1):
            raise ContradictionError("step", "1 (or left out) for vectors of whole numbers", self.step)
        if not self.is_one_by_one:
            self._check_one_width()
        if self.always and self.coordinates.norm != "linf":
            remedy = "Measure it in every coordinate: error_norm='linf'."
            raise ContradictionError("confidence", "below 1 for the error of a whole vector", 1, remedy)
        if self.rdp_order is not None:
            raise ContradictionError("rdp_order", "left out for vectors", self.rdp_order, "Use a delta.")
