"""A plan: a requirement, the mechanism that meets it with the least privacy loss, and the proof of both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from pbdp.mechanism.design import Design
from pbdp.mechanism.grid import Grid
from pbdp.mechanism.neighbors import Neighbors
from pbdp.mechanism.requirement import Requirement
from pbdp.noise.gaussian import DiscreteGaussian, Gaussian
from pbdp.noise.kernel import Array, Kernel
from pbdp.noise.laplace import DiscreteLaplace, Laplace
from pbdp.planning.certificate import Certificate
from pbdp.planning.limit.of_plan import KnownLimit
from pbdp.published.figure import published_epsilon
from pbdp.release.intervals import likelihoods, output_steps
from pbdp.release.law import OutputLaw, Weights, law_at
from pbdp.release.publisher import Number, Publisher
from pbdp.release.releaser import Releaser


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
class Plan:
    """`chosen` meets the requirement with the least certified epsilon; `others` were certified beside it.

    `limit` is an epsilon that no mechanism for the requirement can go below, where one is proved.
    """

    requirement: Requirement
    chosen: Certified
    others: tuple[Certified, ...]
    limit: KnownLimit | None = None
    _releaser: Releaser | None = field(init=False, default=None, repr=False, compare=False)

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
        return self.requirement.region.within

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
            f"Neighbors: {Neighbors(requirement.neighbors).description}; that changes the true answer by "
            f"at most {requirement.sensitivity:g} ({steps} step{'s' if steps > 1 else ''} of the grid).",
            _releases_in_words(requirement),
            f"Outputs are {self.grid.describe()}; rounding the answer to them is part of the guarantee.",
        ]
        lines += requirement.assumptions
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

    @property
    def releaser(self) -> Releaser:
        """What draws for this plan; made at the first release, then kept."""
        if self._releaser is None:
            made = Releaser(
                requirement=self.requirement, design=self.chosen.design, confidence=self.confidence
            )
            object.__setattr__(self, "_releaser", made)
            return made
        return self._releaser

    def release(
        self,
        answers: object,
        *,
        disjoint: bool = False,
        interval: bool | float = False,
        insecure_test_seed: int | None = None,
    ) -> Any:
        """Publish a number, or each of a list, numpy array, pandas or polars column, in the same form.

        n numbers are n releases, at most `releases` of the plan, unless no person affects more than one of
        them (`disjoint`). Only this call is checked: a ledger counts across calls and processes.

        `interval` gives a `Released` with the interval that each number stands for, at the plan's confidence
        (True) or at another (0.99). `insecure_test_seed` repeats the noise, for tests; `Released` says so.
        """
        return self.releaser.release(
            answers, disjoint=disjoint, interval=interval, insecure_test_seed=insecure_test_seed
        )

    def interval(self, published: float, confidence: float | None = None) -> tuple[float, float]:
        """An interval that holds the true answer with at least this confidence, or with the plan's own."""
        output_steps(self._publisher, float(published))  # refuses what the plan cannot have published
        found = self.releaser.intervals(np.array([float(published)]), confidence)
        return float(found.low[0]), float(found.high[0])

    def likelihood(self, published: float, answers: Sequence[float | int | Fraction]) -> Array:
        """P(this number is published) for each candidate for the true answer; the law is public."""
        steps = np.array([self.answer_in_steps(answer) for answer in answers], dtype=np.int64)
        return likelihoods(Weights(publisher=self.releaser.publisher), float(published), steps)

    def answer_in_steps(self, answer: Number) -> int:
        """The true answer on the grid: rounded half up and clamped where the plan says so."""
        return self._publisher.exact_steps(answer)

    def law_at(self, answer: Number) -> OutputLaw:
        """Every output and its probability when this is the true answer.

        With a delta these are the table's own weights, all of them; for a Rényi plan those of the ideal law.
        """
        return law_at(self._publisher, self.answer_in_steps(answer))

    @property
    def _publisher(self) -> Publisher:
        return Publisher(requirement=self.requirement, design=self.chosen.design)

    def save(self, path: str | Path) -> None:
        """Write the plan as versioned JSON."""
        from pbdp.planning.storage import save_plan

        save_plan(self, Path(path))

    @classmethod
    def load(cls, path: str | Path, neighbors: str | None = None) -> Plan:
        """Read a plan and check every figure in it again; `neighbors` is the relation that is relied on."""
        from pbdp.planning.storage import load_plan

        return load_plan(Path(path), neighbors)


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
