"""Which law each part of a joint plan has: the least joint epsilon over the laws that each may have.

**By moments first.** Losses of independent numbers add up, so Chernoff's bound for all of them is

    epsilon = min over tilts t of (K_1(t) + ... + K_k(t) + ln(1/delta)) / t,    K_i = count · ln E e^(t·loss),

and the least of it over all laws is, at each tilt, the least K_i of every part by itself. A row of tilts thus
proposes a few combinations. They are judged by an epsilon that holds, and so is that of separate plans;
from the best of them one law at a time is exchanged as long as that helps.

"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from pbdp.accounting import RESERVE
from pbdp.accounting.composition.loss_law import Release
from pbdp.accounting.composition.tilting import Part as Losses
from pbdp.accounting.composition.tilting import log_moment, tilt_for_delta
from pbdp.accounting.composition.truncation import outlined
from pbdp.accounting.exact.tables import Bounds
from pbdp.noise.kernel import Array
from pbdp.planning.certificate import cheapest
from pbdp.planning.plan import Part
from pbdp.planning.together.joint import noise_epsilon

# Tilts that are looked at, in units of the one that a first choice has.
TILTS = 2.0 ** np.arange(-2.0, 2.5, 0.5)
# Laws of each part that are exchanged for one another.
MOST_TRIALS = 3

Choice = tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """A part as it may be, with what one of its numbers reveals.

    `short` reveals no less and has fewer losses: what is compared by it is certified by `release`.
    """

    part: Part
    release: Release
    short: Release

    @property
    def unhidden(self) -> float:
        """P(an output is one that a neighbor can never produce), over all its numbers."""
        return self.part.composed * max(law.infinite for law in self.release.covered)

    def finite_losses(self, neglected: float) -> Losses:
        """The finite losses of all its numbers, for estimates; the rarest ends of tables are left out."""
        law = max(self.short.covered, key=lambda law: float(law.masses @ law.losses))
        return outlined((law.without_extremes(neglected).with_equal_merged(),), self.part.composed)


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A choice, and what it costs."""

    choice: Choice
    epsilon: float


@dataclass(slots=True, kw_only=True)
class Choosing:
    """A search over rows of options at a delta, the first of each being that of a separate plan."""

    options: Sequence[Sequence[Option]]
    delta: float
    _known: dict[Choice, tuple[Bounds, str]] = field(init=False, default_factory=dict)
    _seen: dict[int, Losses] = field(init=False, default_factory=dict)

    def best(self) -> Found:
        """The choice of least epsilon that was found.

        One that a budget of the same delta can pay for is taken unless another saves more than 1 %.
        """
        start = self._found(self.first)
        found = [start, *(self._found(choice) for choice in self._proposals(start.choice))]
        ranked = sorted(found, key=lambda entry: entry.epsilon)
        payable = next((entry for entry in ranked if self._payable(entry)), None)
        if payable is not None:
            found.append(self._exchanged(payable, only_payable=True))
        if payable is not ranked[0]:
            found.append(self._exchanged(ranked[0], only_payable=False))
        return cheapest(found, lambda entry: entry.epsilon, self._payable)[0]

    @property
    def first(self) -> Choice:
        """The choice of separate plans."""
        return (0,) * len(self.options)

    def tilt(self, choice: Choice) -> float:
        """About the tilt at which the composed loss of a choice has to be looked at."""
        return tilt_for_delta([self._losses(option) for option in self._taken(choice)], self.delta)

    def epsilon(self, choice: Choice) -> float:
        """An epsilon of a choice, from above; may be infinite."""
        return self._bounds(choice)[0].upper

    def certified(self, choice: Choice) -> tuple[Bounds, str] | None:
        """Bounds for the epsilon of a choice and how they were found, if none of its laws was shortened."""
        whole = all(option.short is option.release for option in self._taken(choice))
        return self._bounds(choice) if whole else None

    def _bounds(self, choice: Choice) -> tuple[Bounds, str]:
        if choice not in self._known:
            self._known[choice] = noise_epsilon(self._counted(choice), self.delta)
        return self._known[choice]

    def _losses(self, option: Option) -> Losses:
        if id(option) not in self._seen:
            self._seen[id(option)] = option.finite_losses(self._neglected)
        return self._seen[id(option)]

    def _found(self, choice: Choice) -> Found:
        return Found(choice=choice, epsilon=self.epsilon(choice))

    def _taken(self, choice: Choice) -> list[Option]:
        return [row[at] for row, at in zip(self.options, choice, strict=True)]

    def _counted(self, choice: Choice) -> list[tuple[Release, int]]:
        return [(option.short, option.part.composed) for option in self._taken(choice)]

    @property
    def _neglected(self) -> float:
        return RESERVE * self.delta / sum(row[0].part.composed for row in self.options)

    def _payable(self, entry: Found) -> bool:
        return math.fsum(option.unhidden for option in self._taken(entry.choice)) <= RESERVE * self.delta

    def _proposals(self, start: Choice) -> Iterator[Choice]:
        """For each tilt the option of least moment in every row; those that are not payable are left out."""
        tilts = self.tilt(start) * TILTS
        moments = [self._moments(row, tilts) for row in self.options]
        if all(np.any(np.isfinite(row)) for row in moments):
            bounds = (sum(np.min(row, axis=0) for row in moments) - math.log(self.delta)) / tilts
            for at in np.argsort(bounds)[:MOST_TRIALS]:
                yield tuple(int(np.argmin(row[:, at])) for row in moments)

    def _moments(self, row: Sequence[Option], tilts: Array) -> Array:
        """K of every option (first axis) at every tilt; infinite for what is not payable."""
        values = np.full((len(row), len(tilts)), math.inf)
        for index, option in enumerate(row):
            if option.unhidden <= RESERVE * self.delta:
                losses = self._losses(option)
                values[index] = [log_moment([losses], float(tilt)) for tilt in tilts]
        return values

    def _exchanged(self, start: Found, *, only_payable: bool) -> Found:
        """The best choice that exchanges of one option at a time lead to."""
        best = start
        tilts = np.array([self.tilt(start.choice)])
        ranks = [np.argsort(self._moments(row, tilts)[:, 0])[:MOST_TRIALS] for row in self.options]
        while True:
            before = best
            for index, rank in enumerate(ranks):
                for at in sorted({0, *rank.tolist()}):
                    trial = (*best.choice[:index], at, *best.choice[index + 1 :])
                    entry = self._found(trial)
                    if entry.epsilon < best.epsilon and (self._payable(entry) or not only_payable):
                        best = entry
            if best is before:
                return best
