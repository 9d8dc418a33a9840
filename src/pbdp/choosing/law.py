"""What is asked for, and what every law that chooses can say of itself."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from pbdp.choosing.checking_code import CheckingCode
from pbdp.choosing.scores import Scale, scale_for
from pbdp.errors import ContradictionError, InputError
from pbdp.mechanism.neighbors import Neighbors
from pbdp.noise.kernel import Array, Index
from pbdp.parameters import fraction, positive, whole
from pbdp.planning.pricing.priced import Priced
from pbdp.release.keystream import Keystream

MOST_OPTIONS = 10**8


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What is chosen from what, and how scores move: the public side of a request."""

    options: int
    sensitivity: float
    integer: bool = False
    rising: bool = False
    top: int = 1
    delta: float = 0.0
    neighbors: str = Neighbors.ADD_REMOVE

    def __post_init__(self) -> None:
        object.__setattr__(self, "options", whole("options", self.options))
        if self.options > MOST_OPTIONS:
            raise InputError("options", f"at most {MOST_OPTIONS:,}", f"{self.options:,}")
        positive("sensitivity", self.sensitivity, "1 if one person changes every score by at most 1.")
        object.__setattr__(self, "top", whole("top", self.top))
        if self.top > self.options:
            raise InputError("top", f"at most {self.options}, the number of options", f"{self.top}")
        fraction("delta", self.delta, "Leave it out: choosing needs none.")
        object.__setattr__(self, "neighbors", Neighbors(self.neighbors))
        if self.rising and self.neighbors != Neighbors.ADD_REMOVE:
            raise ContradictionError(
                "rising",
                "used with add/remove neighbors",
                self.neighbors,
                "Whoever replaces another may raise one score and lower another; leave it out.",
            )

    @property
    def picks(self) -> int:
        """How often something is chosen: the last option that is left is no choice."""
        return min(self.top, self.options - 1)

    @property
    def words(self) -> str:
        """What it is called in a ledger."""
        return f"choice of {self.top} of {self.options}"


class Chances(NamedTuple):
    """How likely something is over distances in steps, for a picture: what it is, and of which distances."""

    title: str
    unit: str
    gaps: Index
    chances: Array


def gaps_shown(furthest: int) -> Index:
    """Some of the distances up to the furthest."""
    return np.unique(np.linspace(0, furthest, 500).astype(np.int64))


def exchanges(scale: Scale, exchanged: Callable[[Index, Scale], Array]) -> Chances:
    """The chances of laws that sort noisy scores."""
    gaps = gaps_shown(2 * scale.gap)
    title = "How likely two options are exchanged"
    return Chances(title, "distance between them", gaps, exchanged(gaps, scale))


class Law(ABC):
    """A law that chooses, made for one request: what it costs, how often it is right, and how it is drawn."""

    # whether what a budget pays for has no delta
    is_pure: ClassVar[bool] = True
    # why its loss is what it says, in a few words
    proof: ClassVar[str]

    @property
    @abstractmethod
    def name(self) -> str:
        """What it is called."""

    def scale(self, within: float, asked: Asked) -> Scale:
        """The steps that it counts scores in."""
        return scale_for(within, asked)

    @abstractmethod
    def epsilon(self, asked: Asked, scale: Scale) -> float:
        """The loss of all that is chosen, at the delta that was asked for, at most, for all neighbors."""

    @abstractmethod
    def right(self, asked: Asked, scale: Scale) -> float:
        """How often all that is chosen is right, at least, whatever the scores."""

    @abstractmethod
    def paid(self, asked: Asked, scale: Scale) -> tuple[Priced, int]:
        """What a budget pays for, and how many times."""

    @abstractmethod
    def places(self, steps: Index, asked: Asked, scale: Scale, keystream: Keystream) -> Index:
        """The places of what is chosen among scores in steps, best first."""

    @abstractmethod
    def chances(self, scale: Scale) -> Chances:
        """What an option's distance from the best, or from another, means for it."""

    @abstractmethod
    def checking_code(self, asked: Asked, scale: Scale) -> CheckingCode:
        """The lines of Python that check on a certificate what is claimed of it."""

    @abstractmethod
    def record(self) -> Mapping[str, Any]:
        """What is needed to build it again, for JSON."""
