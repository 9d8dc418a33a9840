"""A plan for vectors: a requirement, the noise that meets it with the least loss, and the proof of both."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pbdp.mechanism.neighbors import Neighbors
from pbdp.planning.plan import Alternative
from pbdp.planning.vectors.design import Record, VectorCertificate, VectorCertified, VectorDesign
from pbdp.planning.vectors.release import VectorReleaser
from pbdp.planning.vectors.requirement import NORMS, VectorRequirement


@dataclass(frozen=True, slots=True, kw_only=True)
class VectorPlan:
    """`chosen` meets the requirement with the least certified epsilon; `others` were certified beside it."""

    requirement: VectorRequirement
    chosen: VectorCertified
    others: tuple[VectorCertified, ...] = ()
    _releaser: VectorReleaser | None = field(init=False, default=None, repr=False, compare=False)

    @property
    def epsilon(self) -> float:
        """Guaranteed privacy loss of the whole vector, at `delta`."""
        return self.chosen.certificate.epsilon

    @property
    def delta(self) -> float:
        """The delta that epsilon holds at."""
        return self.requirement.delta

    @property
    def confidence(self) -> float:
        """Probability with which the whole vector meets the requirement, at least."""
        return self.chosen.certificate.confidence

    @property
    def norm(self) -> str:
        """`linf`, `l2` or `l1`."""
        return self.requirement.norm

    @property
    def dimensions(self) -> int:
        """The number of coordinates."""
        return self.requirement.dimensions

    @property
    def within(self) -> float:
        """The width, in the norm."""
        return self.requirement.within

    @property
    def sensitivity(self) -> float:
        """The most that one person can change the answer, in the norm."""
        return self.requirement.sensitivity

    @property
    def mechanism(self) -> VectorDesign:
        """The noise."""
        return self.chosen.design

    @property
    def certificate(self) -> VectorCertificate:
        """The proof of the noise."""
        return self.chosen.certificate

    @property
    def alternatives(self) -> tuple[Alternative, ...]:
        """What else was compared, best first; figures as published come last and guarantee nothing."""
        certified = (
            Alternative(
                family=other.design.name,
                epsilon=other.certificate.epsilon,
                confidence=other.certificate.confidence,
                guaranteed=True,
            )
            for other in self.others
        )
        return (*certified, *self.chosen.design.alternatives(self.requirement))

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What the guarantee rests on."""
        asked = self.requirement
        changed = "each coordinate of the true answer" if asked.norm == "linf" else "the true answer"
        how = "" if asked.norm == "linf" else f" {NORMS[asked.norm]}"
        return (
            f"Neighbors: {Neighbors(asked.neighbors).description}; that changes {changed} by at most "
            f"{asked.sensitivity:g}{how}.",
            f"One vector of {asked.dimensions} number{'s' if asked.dimensions > 1 else ''} is released; more "
            "releases add to the loss.",
            *self.chosen.design.assumptions(asked),
        )

    def describe(self) -> str:
        """The plan in one sentence."""
        asked = self.requirement
        return (
            f"{self.mechanism.describe(asked)}: within {asked.within:g} {NORMS[asked.norm]} with probability "
            f"{self.confidence:.6g}, epsilon {self.epsilon:.6g} at delta {asked.delta:g}"
        )

    @property
    def releaser(self) -> VectorReleaser:
        """What draws for this plan; made at the first release, then kept."""
        if self._releaser is None:
            made = VectorReleaser(
                requirement=self.requirement,
                confidence=self.confidence,
                sampler=self.chosen.design.sampler(self.requirement),
            )
            object.__setattr__(self, "_releaser", made)
            return made
        return self._releaser

    def release(self, vector: object, *, insecure_test_seed: int | None = None) -> Any:
        """Publish a list, numpy array, pandas or polars column of as many numbers as the plan has dimensions.

        The result has the form of the answer. It is one release of the whole vector; a second one adds to the
        loss. `insecure_test_seed` repeats the noise, for tests, and gives a `ReleasedVector` that says so.
        """
        return self.releaser.release(vector, insecure_test_seed)

    def to_record(self) -> Record:
        """The plan as one JSON object."""
        from pbdp.planning.vectors.storage import vector_plan_record

        return vector_plan_record(self)

    @classmethod
    def from_record(cls, record: object) -> VectorPlan:
        """The plan of a record, every figure in it computed again; refused if a claim does not hold."""
        from pbdp.planning.vectors.storage import vector_plan_from

        return vector_plan_from(record)

    def save(self, path: str | Path) -> None:
        """Write the plan as versioned JSON."""
        from pbdp.planning.vectors.storage import save_vector_plan

        save_vector_plan(self, Path(path))

    @classmethod
    def load(cls, path: str | Path, neighbors: str | None = None) -> VectorPlan:
        """Read a plan and check every figure in it again; `neighbors` is the relation that is relied on."""
        from pbdp.planning.vectors.storage import load_vector_plan

        return load_vector_plan(Path(path), neighbors)
