"""The linear program behind a limit: the largest confidence that noise can have at one epsilon.

Variables: the probabilities of a window around the region, folded about its middle; the mass of each endless
tail (n - D, n - 2D, ... beyond the window's end n, one variable a residue; D is the sensitivity); a slack for
each constraint p(n) - e^eps p(n - s) <= slack, whose sum over n is at most delta for each shift s. A tail of
mass T behind p(n) obeys the sum of its constraints, p(n) - (e^eps - 1) T <= slack.

Each program is a relaxation, so its value bounds the confidence from above; its dual solution is the proof,
which `certificate` checks without trust in this file or in the solver. Fewer constraints (a `Scope`) give a
weaker bound, never a wrong one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pbdp.noise.kernel import Array
from pbdp.planning.limit.certificate import Strip
from pbdp.planning.limit.question import Question
from pbdp.planning.limit.solver import Entries, Index, maximize


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """Which constraints a program has.

    The largest shift is constrained everywhere, endless tails included. `depth` is the width of the window
    beyond the region in units of the sensitivity. With `inner` the other shifts are constrained
    only at points of the region, and all only where the neighbor lies farther from the middle.
    """

    shifts: tuple[int, ...]
    depth: int
    inner: bool

    def rows(self, question: Question) -> int:
        """Number of constraints, roughly: what the time goes with."""
        window = question.points + 2 * self.depth * question.sensitivity
        return len(self.shifts) * (question.points // 2 if self.inner else window) + window


@dataclass(frozen=True, slots=True, kw_only=True)
class Solution:
    """The value at one epsilon, its derivative, and the dual weights."""

    confidence: float
    slope: float
    strips: tuple[Strip, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rows:
    """Constraints of one shift: p at column `here` against e^eps times p at column `there`."""

    shift: int
    points: Index
    here: Index
    there: Index
    tails: int


class Program:
    """The program for one question and one scope; solved again for each epsilon."""

    def __init__(self, question: Question, scope: Scope) -> None:
        self.question = question
        width, self._reach = question.sensitivity, scope.depth * question.sensitivity
        size = question.points + 2 * self._reach
        place = np.arange(size)
        fold = np.minimum(place, size - 1 - place)
        inside = (place >= self._reach) & (place < self._reach + question.points)
        half = (size + 1) // 2
        self._columns = half + width
        self._region = np.bincount(fold, weights=inside, minlength=self._columns)
        self._mass = np.bincount(fold, minlength=self._columns).astype(np.float64)
        self._mass[half:] = 2.0
        self._rows = [self._constraints(shift, scope, fold, half) for shift in scope.shifts]

    def _constraints(self, shift: int, scope: Scope, fold: Index, half: int) -> _Rows:
        size, width = len(fold), self.question.sensitivity
        place = np.arange(shift, size)
        if scope.inner:
            place = place[2 * place - shift <= size - 1]
            if shift < width:
                place = place[place >= self._reach]
        tails = width if shift == width else 0
        ends = np.arange(tails)
        return _Rows(
            shift=shift,
            points=np.concatenate([ends, place]) - self._reach,
            here=fold[np.concatenate([ends, place])],
            there=np.concatenate([half + ends, fold[place - shift]]),
            tails=tails,
        )

    def solve(self, epsilon: float, time_limit: float) -> Solution | None:
        """The program's value at epsilon, or None if the solver did not finish."""
        growth = float(np.exp(epsilon))
        count = sum(len(rows.points) for rows in self._rows)
        optimum = maximize(
            np.concatenate([self._region, np.zeros(count)]),
            self._entries(growth, count),
            np.concatenate([np.zeros(count), np.full(len(self._rows), self.question.delta), [1.0]]),
            time_limit,
        )
        if optimum is None:
            return None
        weights = optimum.prices[:count]
        there = np.concatenate([rows.there for rows in self._rows])
        return Solution(
            confidence=float(self._region @ optimum.variables[: self._columns]),
            slope=growth * float(weights @ optimum.variables[there]),
            strips=self._strips(weights),
        )

    def _entries(self, growth: float, count: int) -> list[Entries]:
        row, columns = np.arange(count), np.arange(self._columns)
        factor = np.concatenate(
            [np.where(np.arange(len(rows.points)) < rows.tails, growth - 1, growth) for rows in self._rows]
        )
        group = np.repeat(np.arange(len(self._rows)), [len(rows.points) for rows in self._rows])
        return [
            (row, np.concatenate([rows.here for rows in self._rows]), np.ones(count)),
            (row, np.concatenate([rows.there for rows in self._rows]), -factor),
            (row, self._columns + row, -np.ones(count)),
            (count + group, self._columns + row, np.ones(count)),
            (np.full(self._columns, count + len(self._rows)), columns, self._mass),
        ]

    def _strips(self, weights: Array) -> tuple[Strip, ...]:
        strips, start = [], 0
        for rows in self._rows:
            part, start = weights[start : start + len(rows.points)], start + len(rows.points)
            if not part.any():
                continue
            first = int(rows.points[0])
            line = np.zeros(int(rows.points.max()) - first + 1)
            line[rows.points - first] = part
            strips.append(Strip(shift=rows.shift, first=first, weights=line, endless=rows.tails > 0))
        return tuple(strips)
