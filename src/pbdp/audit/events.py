"""Sets of outputs on which two answers may be told apart, chosen from a first part of the draws.

Four kinds are tried, in each direction, and each is tested on draws that had no part in choosing it:

- where the plan's own laws differ most: the outputs whose public loss log(p/p') is above a threshold;
- half-lines: all outputs up to, or from, some number (these find a wrong scale, shift or tail);
- outputs that were seen more often at one answer than at the other, in groups of neighboring outputs;
- the same by the lowest bits of the output, where there are enough outputs for that.

A kind is an order of groups of places (see `samples`), its candidates are the first so many groups, and the
one that promises the largest bound is taken. The order of the last two kinds is learned from one part of the
draws and the number of groups chosen on another, so that chance finds are not mistaken for differences.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from pbdp.audit.claim import Claim
from pbdp.audit.samples import CHOOSE, LEARN, Counts
from pbdp.noise.kernel import Array

# Draws that a learned group holds at least, and residues that outputs are grouped by.
LEAST_IN_GROUP = 100
RESIDUES = 64
# With fewer outputs each is a group of its own where it matters, and its lowest bits add nothing.
MANY_OUTPUTS = 1024
# Standard errors that a candidate is marked down by when it is chosen; about those of the final bounds.
MARKED_DOWN = 3.5

Places = npt.NDArray[np.bool_]
Groups = npt.NDArray[np.intp]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Event:
    """A set of places, its kind, and what it is in words."""

    kind: str
    words: str
    places: Places


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Two:
    """Two answers, and the counts at each by part and place.

    `laws` are the public probabilities at the points of the line, which are outputs.
    """

    line: Array
    laws: tuple[Array, Array]
    first: Counts
    second: Counts
    answers: tuple[int | float, int | float] = (0, 1)

    def turned(self) -> Two:
        """The same answers the other way round."""
        return replace(
            self,
            laws=self.laws[::-1],
            first=self.second,
            second=self.first,
            answers=self.answers[::-1],
        )


def number_of_kinds(two: Two) -> int:
    """How many events `chosen_events` gives; known before anything is drawn."""
    return 3 + (len(two.line) > MANY_OUTPUTS)


def chosen_events(claim: Claim, two: Two) -> list[Event]:
    """One event of each kind, chosen without a look at the last part of the draws."""
    events = [_by_public_loss(claim, two), _half_line(claim, two), _by_neighborhood(claim, two)]
    return [*events, _by_lowest_bits(claim, two)] if len(two.line) > MANY_OUTPUTS else events


def best_public_event(claim: Claim, p: Array, q: Array, draws: int) -> float:
    """The bound to be expected from an event of the first kind if the laws are as stated."""
    order = _falling_loss(p, q)
    return float(np.max(_promise(claim, np.cumsum(p[order]), np.cumsum(q[order]), draws)))


def reachable(claim: Claim, p: Array, q: Array) -> float:
    """What the bound tends to with ever more draws if the laws are as stated."""
    order = _falling_loss(p, q)
    return float(np.max(claim.loss_at_least(np.cumsum(p[order]), np.cumsum(q[order]))))


def _falling_loss(p: Array, q: Array) -> Groups:
    """Points in the order of falling loss; impossible ones last."""
    with np.errstate(divide="ignore", invalid="ignore"):
        loss = np.where(p > 0, np.log(p) - np.log(q), -np.inf)
    return np.asarray(np.argsort(-loss, kind="stable"), dtype=np.intp)


def _promise(claim: Claim, p: Array, q: Array, draws: int) -> Array:
    """The bound for events of these estimated probabilities, marked down for what chance may have added."""

    def spread(share: Array) -> Array:
        error = np.sqrt(np.maximum(share * (1 - share), 0.0) / draws)
        return np.asarray(MARKED_DOWN * error + MARKED_DOWN**2 / (2 * draws))

    return claim.loss_at_least(np.minimum(p, 1.0) - spread(p), np.minimum(q + spread(q), 1.0))


def _best_start(claim: Claim, groups: Groups, first: Counts, second: Counts) -> tuple[float, int]:
    """Of the events "one of the first so many groups" the best: its promise, and how many groups."""
    draws = min(int(first.sum()), int(second.sum()))
    p, q = (np.cumsum(np.bincount(groups, weights=counts)) / counts.sum() for counts in (first, second))
    promise = _promise(claim, p, q, draws)
    best = int(np.argmax(promise))
    return float(promise[best]), best + 1


def _before_test(counts: Counts) -> Counts:
    return np.asarray(counts[LEARN] + counts[CHOOSE])


def _by_public_loss(claim: Claim, two: Two) -> Event:
    points = len(two.line)
    rank = np.empty(points, dtype=np.intp)
    rank[_falling_loss(*two.laws)] = np.arange(points)
    # gaps come last: the laws say nothing of them
    groups = np.full(2 * points + 1, points)
    groups[1::2] = rank
    _, size = _best_start(claim, groups, _before_test(two.first), _before_test(two.second))
    words = "the outputs where the plan's own laws differ most"
    return Event(kind="public loss", words=words, places=groups < size)


def _half_line(claim: Claim, two: Two) -> Event:
    places = np.arange(2 * len(two.line) + 1)
    first, second = _before_test(two.first), _before_test(two.second)
    # a point goes with the gap beyond it, so that an event is "up to" or "from" a listed output
    upwards, downwards = places // 2, places[::-1] // 2
    up, down = (_best_start(claim, groups, first, second) for groups in (upwards, downwards))
    if up[0] >= down[0]:
        last = two.line[min(up[1], len(two.line)) - 1]
        return Event(kind="half-line", words=f"outputs of {last:.12g} or less", places=upwards < up[1])
    start = two.line[max(len(two.line) - down[1], 0)]
    return Event(kind="half-line", words=f"outputs of {start:.12g} or more", places=downwards < down[1])


def _learned(claim: Claim, two: Two, groups: Groups, kind: str, words: str) -> Event:
    """Groups in the order of the ratio that one part of the draws shows, as many as another part confirms."""
    seen = [np.bincount(groups, weights=counts[LEARN]) for counts in (two.first, two.second)]
    ratio = (seen[0] + 0.5) / (seen[1] + 0.5)
    rank = np.empty(len(ratio), dtype=np.intp)
    rank[np.argsort(-ratio, kind="stable")] = np.arange(len(ratio))
    ranked = rank[groups]
    _, size = _best_start(claim, ranked, two.first[CHOOSE], two.second[CHOOSE])
    return Event(kind=kind, words=words, places=ranked < size)


def _by_neighborhood(claim: Claim, two: Two) -> Event:
    """Groups of neighboring points with enough draws in each; all gaps are one more group."""
    points = (two.first[LEARN] + two.second[LEARN])[1::2]
    groups = np.zeros(2 * len(points) + 1, dtype=np.intp)
    for number, start in enumerate(group_starts(points.astype(np.float64), LEAST_IN_GROUP)):
        groups[2 * start + 1 :: 2] = number + 1
    words = "outputs that were more frequent in a first part of the draws"
    return _learned(claim, two, groups, "frequency", words)


def _by_lowest_bits(claim: Claim, two: Two) -> Event:
    groups = np.full(2 * len(two.line) + 1, RESIDUES)
    groups[1::2] = np.arange(len(two.line)) % RESIDUES
    return _learned(claim, two, groups, "lowest bits", "outputs with certain lowest bits")


def group_starts(weights: Array, least: float) -> Iterator[int]:
    """Where groups of neighboring cells begin, each as small as a total of `least` allows."""
    total = np.cumsum(weights)
    start, before = 0, 0.0
    while start == 0 or total[-1] - before >= least:
        yield start
        start = int(np.searchsorted(total, before + least)) + 1
        if start >= len(total):
            return
        before = float(total[start - 1])
