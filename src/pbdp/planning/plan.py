"""A plan: a requirement, the mechanism that meets it with the least privacy loss, and the proof of both."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np
import numpy.typing as npt

from pbdp.errors import InputError
from pbdp.mechanism.design import Design
from pbdp.mechanism.grid import Grid
from pbdp.mechanism.log_grid import LogGrid
from pbdp.noise.discrete_gaussian import DiscreteGaussian
from pbdp.noise.discrete_laplace import DiscreteLaplace
from pbdp.noise.gaussian import Gaussian
from pbdp.noise.kernel import Array, Kernel
from pbdp.noise.laplace import Laplace
from pbdp.planning.certificate import Certificate
from pbdp.planning.limit.of_plan import KnownLimit
from pbdp.privacy.published.figure import published_epsilon
from pbdp.requirement.absolute import AbsoluteRegion
from pbdp.requirement.fixed import FixedRegion
from pbdp.requirement.neighbours import NEIGHBOURS
from pbdp.requirement.region import Region
from pbdp.requirement.relative import RelativeRegion
from pbdp.requirement.requirement import Requirement
from pbdp.requirement.within import text_of

# Below this an output of an ideal law is no longer listed.
SMALLEST_LISTED = 1e-290


@dataclass(frozen=True, slots=True, kw_only=True)
class Certified:
    """A design together with its certificate."""

    design: Design
    certificate: Certificate


@dataclass(frozen=True, slots=True, kw_only=True)
class Alternative:
    """Another mechanism for the same requirement; `guaranteed` is False for figures as published."""

    family: str
    epsilon: float
    confidence: float
    guaranteed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputLaw:
    """Every output that can be published for one true answer, and its probability."""

    output: Array
    probability: Array
    missing_mass: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """`chosen` meets the requirement with the least certified epsilon; `others` were certified beside it.

    `limit` is an epsilon that no mechanism for the requirement can go below, where one is proved.
    """

    requirement: Requirement
    chosen: Certified
    others: tuple[Certified, ...]
    limit: KnownLimit | None = None

    @property
    def grid(self) -> Grid:
        """The grid that outputs live on."""
        return self.chosen.design.grid

    @property
    def epsilon(self) -> float:
        """Guaranteed privacy loss, in total, at `delta` or `rdp_order`."""
        return self.chosen.certificate.epsilon

    @property
    def delta(self) -> float | None:
        """The delta that epsilon holds at, or None for a Rényi plan."""
        return self.requirement.delta

    @property
    def rdp_order(self) -> float | None:
        """The Rényi order that epsilon holds at, or None."""
        return self.requirement.rdp_order

    @property
    def confidence(self) -> float:
        """Probability with which every answer meets the requirement, at least; joint if so asked."""
        return self.requirement.joint_confidence(self.chosen.certificate.confidence)

    @property
    def within(self) -> float | str | list[float] | None:
        """The width, as it was asked for."""
        return text_of(self.requirement.region)

    @property
    def mechanism(self) -> Design:
        """The noise: kernel, boost and region, in steps of the grid."""
        return self.chosen.design

    @property
    def alternatives(self) -> tuple[Alternative, ...]:
        """What else was compared, best first; figures as published come last and guarantee nothing."""
        certified = [
            Alternative(
                family=other.design.name,
                epsilon=other.certificate.epsilon,
                confidence=self.requirement.joint_confidence(other.certificate.confidence),
                guaranteed=True,
            )
            for other in self.others
        ]
        published = [
            Alternative(
                family=f"{entry.design.name}, as published",
                epsilon=figure,
                confidence=self.requirement.joint_confidence(entry.certificate.confidence),
                guaranteed=False,
            )
            for entry in (self.chosen, *self.others)
            if (figure := self._as_published(entry.design)) is not None
        ]
        return (*certified, *published)

    @property
    def published(self) -> float | None:
        """The epsilon that the paper's formulas give the chosen mechanism, or None; not a guarantee."""
        return self._as_published(self.chosen.design)

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What the guarantee rests on."""
        requirement, steps = self.requirement, self.grid.sensitivity_in_steps(self.requirement.sensitivity)
        lines = [
            f"Neighbours: {NEIGHBOURS[requirement.neighbours]}; that changes the true answer by at most "
            f"{requirement.sensitivity:g} ({steps} step{'s' if steps > 1 else ''} of the grid).",
            _releases_in_words(requirement),
            f"Outputs are {self.grid.describe()}; rounding the answer to them is part of the guarantee.",
        ]
        if isinstance(requirement.region, FixedRegion) or requirement.bounds is not None:
            lines.append("The true answer is clamped into the range first.")
        if isinstance(requirement.region, RelativeRegion) and requirement.region.nonnegative:
            lines.append("The true answer is 0 or more in every dataset.")
        if requirement.rdp_order is not None:
            lines.append(
                "The Rényi figure is for the law before it is rounded to a table of whole weights; a table "
                f"adds (1 + e^epsilon) · {self.chosen.certificate.table_error:.1g} to delta on conversion."
            )
        return tuple(lines)

    def _as_published(self, design: Design) -> float | None:
        """The paper's figure for a boosted design with a Gaussian or Laplace kernel."""
        continuous = _continuous(design.kernel)
        if continuous is None or not 0 < design.boost < 1:
            return None
        return published_epsilon(
            continuous,
            design.region,
            boost=design.boost,
            sensitivity=design.grid.sensitivity_in_steps(self.requirement.sensitivity),
            delta=self.requirement.delta,
            order=self.requirement.rdp_order,
            releases=self.requirement.releases,
        )

    def answer_in_steps(self, answer: float | int | Fraction) -> int:
        """The true answer on the grid: rounded half up and clamped where the plan says so."""
        try:
            exact = Fraction(answer)
        except (TypeError, ValueError, OverflowError):
            raise InputError("answer", "a finite number", "something else") from None
        if self.requirement.bounds is not None:
            low, high = (Fraction(end) for end in self.requirement.bounds.answers)
            exact = max(low, min(high, exact))
        steps = self.grid.steps_of(exact)
        first, last = self.grid.region_in_steps(self.requirement.region).answers
        if isinstance(self.requirement.region, FixedRegion):
            return max(int(first), min(int(last), steps))
        if not first <= steps <= last:
            raise InputError("answer", f"one that the plan was made for ({first:g} to {last:g})", "another")
        return steps

    def law_at(self, answer: float | int | Fraction) -> OutputLaw:
        """Every output and its probability when this is the true answer.

        With a delta these are the table's own weights, all of them; for a Rényi plan those of the ideal law.
        """
        steps, design = self.answer_in_steps(answer), self.chosen.design
        if self.requirement.rdp_order is None:
            table = design.table_at(float(steps))
            noise, probability, missing = table.values(), table.probabilities(), 0.0
        else:
            reach = design.kernel.reach(SMALLEST_LISTED)
            noise = np.arange(-reach, reach + 1, dtype=np.int64)
            probability = design.ideal_masses(float(steps), reach)
            missing = max(0.0, 1.0 - float(np.sum(probability)))
        outputs = noise + (steps + design.offset)
        if design.clamp is not None:
            outputs, probability = _clamped(outputs, probability, design.clamp)
        values = self.grid.values_of(outputs)
        bounds = self.requirement.bounds
        if bounds is not None or isinstance(self.grid, LogGrid):
            # several grid points may be published as one number
            kept = values if bounds is None else np.clip(values, *bounds.answers)
            values, where = np.unique(kept, return_inverse=True)
            probability = np.bincount(where, weights=probability).astype(np.float64)
        return OutputLaw(output=values, probability=probability, missing_mass=missing)

    def save(self, path: str | Path) -> None:
        """Write the plan as versioned JSON."""
        from pbdp.planning.storage import save_plan

        save_plan(self, Path(path))

    @classmethod
    def load(cls, path: str | Path, neighbours: str | None = None) -> Plan:
        """Read a plan and check every figure in it again; `neighbours` is the relation that is relied on."""
        from pbdp.planning.storage import load_plan

        return load_plan(Path(path), neighbours)


def _releases_in_words(requirement: Requirement) -> str:
    if requirement.releases == 1:
        return "One number is released; more releases add to the loss."
    joint = "; the confidence is joint for all of them" if requirement.simultaneous else ""
    return (
        f"{requirement.releases} numbers are released that one person may affect, planned in advance; "
        f"epsilon is the total for all{joint}."
    )


def _continuous(kernel: Kernel) -> Kernel | None:
    match kernel:
        case DiscreteGaussian():
            return Gaussian(sigma=kernel.sigma)
        case DiscreteLaplace():
            return Laplace(scale=kernel.scale)
    return None


def _clamped(
    outputs: npt.NDArray[np.int64], probability: Array, clamp: Region
) -> tuple[npt.NDArray[np.int64], Array]:
    """The law of outputs that are moved to the nearest end of a range."""
    low, high = (int(end) for end in clamp.answers)
    values = np.arange(low, high + 1, dtype=np.int64)
    lumped = np.bincount(np.clip(outputs, low, high) - low, weights=probability, minlength=len(values))
    return values, lumped.astype(np.float64)


def region_width(region: Region) -> float:
    """The width that a grid has to be fine against."""
    match region:
        case AbsoluteRegion():
            return min(region.below, region.above)
        case RelativeRegion():
            return region.tau
        case FixedRegion():
            return region.high - region.low
    return 1.0
