"""What every noise for whole vectors can say of itself, and what the distance of its sampler costs.

What is published differs from the ideal law, rounded, by at most η in total variation, for every answer. If
the ideal law has (eps, delta'), then for every set S of outputs

    P(S) <= P_ideal(S) + η <= e^eps P'_ideal(S) + delta' + η <= e^eps P'(S) + delta' + (1 + e^eps) η,

so the ideal law is accounted at delta' = delta - (1 + e^eps) η. A confidence loses η.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import TYPE_CHECKING, Any

from pbdp.digits import delta_text, epsilon_text, rounded_up
from pbdp.errors import InputError
from pbdp.mechanism.design import AnyDesign
from pbdp.mechanism.requirement import Requirement
from pbdp.mechanism.weights import WeightTable
from pbdp.release.sampler import Sampler

if TYPE_CHECKING:
    # of which plans for single numbers need nothing
    from pbdp.accounting.composition.loss_law import LossLaw
    from pbdp.planning.certificate import Certificate

# Bounds that are computed with a few roundings are moved by this share of them.
SAFE = 2.0**-45

Record = dict[str, Any]


class VectorDesign(AnyDesign):
    """A noise for vectors, with its proof for any requirement it is meant for."""

    __slots__ = ()

    @property
    def follows_answer(self) -> bool:
        return True

    def table_at(self, answer: float) -> WeightTable:  # noqa: ARG002 - no law of one number at any answer
        raise InputError(
            "plan",
            "one whose numbers are drawn one by one",
            f"{self.name} noise for whole vectors",
            "It has no table of outputs; its law is described in the plan.",
        )

    @abstractmethod
    def describe(self, requirement: Requirement) -> str:
        """The law in words."""

    @abstractmethod
    def certificate(self, requirement: Requirement) -> Certificate | None:
        """The proof, or None if the confidence falls short. No finite epsilon: `CannotCertifyError`."""

    @abstractmethod
    def loss_law(self, requirement: Requirement) -> LossLaw:
        """The privacy loss of a pair that dominates all neighbors, in both directions; at no delta."""

    @abstractmethod
    def sampler(self, requirement: Requirement) -> Sampler:
        """What draws for it."""

    @abstractmethod
    def assumptions(self, requirement: Requirement) -> tuple[str, ...]:
        """What the proof rests on, beyond the neighbors and the sensitivity."""


def delta_of(requirement: Requirement) -> float:
    """The delta of a requirement for vectors, which has one unless its coordinates are drawn one by one."""
    if requirement.delta is None:
        raise AssertionError("noise for whole vectors has a delta")
    return requirement.delta


def charge(epsilon: float, error: float) -> float:
    """(1 + e^epsilon) η, rounded up."""
    return (1 + math.exp(min(epsilon, 700.0))) * error * (1 + SAFE)


def covered(error: float) -> str:
    """What the plan says of its sampler."""
    return (
        f"What is published is within {error:.2g} of the law in total variation; (1 + e^epsilon) times that "
        "is charged to delta."
    )


def not_covered(name: str, requirement: Requirement, epsilon: float, error: float) -> str:
    """Why a plan is refused whose sampler delta does not cover."""
    return (
        f"delta {delta_text(requirement.delta)} is too small for {name} noise: at epsilon "
        f"{epsilon_text(epsilon)} drawing "
        f"{requirement.in_dimensions} uses up {rounded_up(charge(epsilon, error), 2)} of it. Use a larger "
        "delta "
        "or a larger width."
    )
