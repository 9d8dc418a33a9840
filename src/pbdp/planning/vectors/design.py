"""What every noise for vectors can say of itself."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

from pbdp.planning.plan import Alternative
from pbdp.planning.vectors.release import VectorSampler
from pbdp.planning.vectors.requirement import VectorRequirement

Record = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class VectorCertificate:
    """`epsilon` is guaranteed; `epsilon_lower` is reached by the noise, or 0 where that is not known.

    Noise of the Euclidean norm reaches it before answers and outputs are rounded. `sampling_error` is how far
    what is drawn may be from the law that was accounted, in total variation; it is part of the guarantee.
    """

    epsilon: float
    epsilon_lower: float
    confidence: float
    method: str
    sampling_error: float = 0.0


class VectorDesign(ABC):
    """A noise for vectors, with its proof for any requirement it is meant for."""

    __slots__ = ()

    @property
    @abstractmethod
    def name(self) -> str:
        """The family as shown to users."""

    @abstractmethod
    def describe(self, requirement: VectorRequirement) -> str:
        """The law in words."""

    @abstractmethod
    def certificate(self, requirement: VectorRequirement) -> VectorCertificate | None:
        """The proof, or None if the confidence falls short. No finite epsilon: `CannotCertifyError`."""

    @abstractmethod
    def sampler(self, requirement: VectorRequirement) -> VectorSampler:
        """What draws for it."""

    @abstractmethod
    def record(self) -> Record:
        """What is needed to build it again, for JSON."""

    @abstractmethod
    def assumptions(self, requirement: VectorRequirement) -> tuple[str, ...]:
        """What the proof rests on, beyond the neighbors and the sensitivity."""

    def alternatives(self, requirement: VectorRequirement) -> tuple[Alternative, ...]:  # noqa: ARG002 - for families that compare for themselves
        """What was compared inside this design."""
        return ()


@dataclass(frozen=True, slots=True, kw_only=True)
class VectorCertified:
    """A design together with its certificate."""

    design: VectorDesign
    certificate: VectorCertificate
