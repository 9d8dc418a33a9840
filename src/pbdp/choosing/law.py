"""What is asked for, and what every law that chooses can say of itself."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from pbdp.choosing.request import Asked
from pbdp.choosing.scores import Scale, scale_for
from pbdp.noise.kernel import Array, Index
from pbdp.planning.pricing.priced import Priced
from pbdp.release.keystream import Keystream


class Chances(NamedTuple):
    """How likely something is over distances in steps, for a picture: what it is, and of which distances."""

    title: str
    unit: str
    gaps: Index
    chances: Array


def gaps_shown(furthest: int) -> Index:
    """Some of the distances up to the furthest."""
    return np.unique(np.linspace(0, furthest, 500).astype(np.int64))


class CheckingCode(NamedTuple):
    """Python that checks a law on its certificate, as `text`, and the law's own numbers that it reads.

    It computes the loss and the accuracy by the formulas that are proved beside the law, from the very
    weights that are drawn from, and uses nothing of pbdp. `claim` is what it reads. `imports` stand first.
    `weights` are about how many numbers there are, and `work` how many steps it takes.
    """

    text: str
    data: dict[str, Any]
    imports: str = ""
    weights: float = 0.0
    work: float = 0.0


COINS = """w, moved = claim["coins"], claim["moved"]  # {what}, times 2^62
last = len(w) - 1
assert w[0] == 2**62 and min(w) > 0 and w == sorted(w, reverse=True)
def falls(h):  # by how much {one} falls at most when its option falls h steps further behind
    return max(math.log(w[x] / w[min(x + h, last)]) for x in range(last + 1))
loss = max(falls(h) + falls(moved - h) for h in range(moved + 1))  # one gap shrinks, all others grow
"""
TOGETHER = """k, h, g = claim["options"], claim["picks"], claim["gap"]
if h > 1 and g <= last:  # picks together: how often each option passes one that is g above it, at most
    rho = max(w[x + g] / w[x] for x in range(last - g + 1))
    W = [0.0] * (h + 1)  # of so many better ones that are left, in so many picks
    for pick in range(h):
        W = [0.0] + [{most} for a in range(1, h + 1)]
    M = [max(W[: a + 1]) for a in range(h + 1)]
    right = max(right, 1 - rho * ((k - h) * M[h] + sum(M[:h])) - k * h * w[last] / 2**62)
"""
HOLDS = """print(f"right {right:.8%} of the time; claimed: {claim['confidence']:.8%}")
print("HOLDS" if loss <= claim["{each}"] and right >= claim["confidence"] else "DOES NOT HOLD")
"""


class Law(ABC):
    """A law that chooses, made for one request: what it costs, how often it is right, and how it is drawn."""

    # whether what a budget pays for has no delta
    is_pure: ClassVar[bool] = True
    # what it is called, and why its loss is what it says, in a few words
    name: ClassVar[str]
    proof: ClassVar[str]

    @classmethod
    def scale(cls, within: float, asked: Asked) -> Scale:
        """The steps that it counts scores in."""
        return scale_for(within, asked)

    @classmethod
    @abstractmethod
    def falling(cls, depth: float, asked: Asked, scale: Scale) -> Self | None:
        """The law whose chances fall by about e^-depth over the gap of a loser; None if it has no table.

        The larger the depth, the more often it is right, and the more it costs.
        """

    @classmethod
    @abstractmethod
    def start(cls, asked: Asked, confidence: float) -> float:
        """About the depth that it takes."""

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

    @classmethod
    @abstractmethod
    def read(cls, record: Any, asked: Asked) -> Self:
        """The law of such a record."""
