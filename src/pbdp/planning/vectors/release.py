"""Releasing a vector: its coordinates on the grid, noise for all of them at once, the same form back."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, cast

import numpy as np

from pbdp.errors import InputError
from pbdp.mechanism.grid import Grid, LinearGrid
from pbdp.noise.kernel import Array
from pbdp.planning.vectors.requirement import VectorRequirement
from pbdp.planning.vectors.rounding import Rounding
from pbdp.release.alias import AliasTable
from pbdp.release.answers import read_answers
from pbdp.release.keystream import Keystream, keystream_from
from pbdp.release.publisher import Index, Publisher, not_a_number
from pbdp.release.releaser import SCALARS, Releaser
from pbdp.release.spherical import SphericalNoise

FORMS = "a list, a numpy array, or a pandas or polars column"


class VectorSampler(ABC):
    """From the coordinates of an answer, on a grid, to the numbers that are published."""

    __slots__ = ()

    @property
    @abstractmethod
    def grid(self) -> Grid:
        """The grid that answers are rounded to."""

    @abstractmethod
    def published(self, steps: Index, keystream: Keystream) -> Array | Index:
        """The numbers published for an answer."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class IndependentSampler(VectorSampler):
    """The noise of a scalar plan in every coordinate."""

    releaser: Releaser

    @property
    def grid(self) -> Grid:
        return self.releaser.publisher.grid

    def published(self, steps: Index, keystream: Keystream) -> Array | Index:
        return self.releaser.publisher.values_of(self.releaser.output_steps(steps, keystream))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TableSampler(VectorSampler):
    """Noise from one table in every coordinate."""

    table: AliasTable
    lattice: LinearGrid

    @property
    def grid(self) -> Grid:
        return self.lattice

    def published(self, steps: Index, keystream: Keystream) -> Array | Index:
        outputs = steps + self.table.draw(len(steps), keystream)
        return outputs if self.lattice.whole_outputs else self.lattice.values_of(outputs)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SphericalSampler(VectorSampler):
    """Noise that is the same in all directions."""

    noise: SphericalNoise
    rounding: Rounding

    @property
    def grid(self) -> Grid:
        return self.rounding.answers

    def published(self, steps: Index, keystream: Keystream) -> Array | Index:
        outputs = self.noise.published_steps(steps, keystream)
        return LinearGrid(step=self.rounding.step, rounded=True).values_of(outputs)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleasedVector:
    """A published vector from a test seed, which protects nothing.

    Without the seed the truth would be within `within` of it, in the `norm`, as often as `confidence` says.
    """

    value: Any
    within: float
    norm: str
    confidence: float
    insecure_test_seed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _OnGrid:
    """What `read_answers` asks of a publisher: grid points of answers without bounds."""

    grid: Grid

    def steps_of(self, answers: Array | Index) -> Index:
        if answers.dtype == np.int64:
            return self.grid.steps_of_integers(answers.astype(np.int64, copy=False))
        floats = answers.astype(np.float64, copy=False)
        if not np.all(np.isfinite(floats)):
            raise not_a_number()
        return self.grid.steps_of_floats(floats)

    def exact_steps(self, answer: float | Fraction | Decimal) -> int:
        try:
            return self.grid.steps_of(Fraction(answer))
        except (TypeError, ValueError, OverflowError):
            raise not_a_number() from None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class VectorReleaser:
    """Draws for one requirement and one design; made once a plan, used for every release."""

    requirement: VectorRequirement
    confidence: float
    sampler: VectorSampler

    def release(self, vector: object, insecure_test_seed: int | None) -> Any:
        """The published vector in the form of the answer; a `ReleasedVector` with a test seed."""
        if isinstance(vector, SCALARS):
            raise InputError("answer", FORMS, f"a {type(vector).__name__}")
        # a publisher's other duties, bounds and clamps, do not exist for vectors
        read = read_answers(vector, cast(Publisher, _OnGrid(grid=self.sampler.grid)))
        if read.count != self.requirement.dimensions:
            raise InputError(
                "answer",
                f"of {self.requirement.dimensions} numbers, the dimensions of the plan",
                f"{read.count}",
                "Make a plan for that many.",
            )
        keystream = keystream_from(insecure_test_seed)
        value = read.restored(self.sampler.published(read.steps, keystream))
        if insecure_test_seed is None:
            return value
        return ReleasedVector(
            value=value,
            within=self.requirement.within,
            norm=self.requirement.norm,
            confidence=self.confidence,
            insecure_test_seed=insecure_test_seed,
        )
