"""The least epsilon that any noise can have, proved: closed form first, then a few linear programs."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pbdp.domains import non_negative, positive
from pbdp.planning.limit.certificate import DualCertificate
from pbdp.planning.limit.closed_form import strongest_closed_form
from pbdp.planning.limit.cut_staircase import cut_epsilon
from pbdp.planning.limit.question import Question

if TYPE_CHECKING:
    from pbdp.planning.limit.program import Scope

# A bound this close (relative) to what can be proved, or to what is known to be reached, is good enough.
CLOSE = 5e-5
# How far below the estimate the next program is solved, so that its weights prove something.
STEP_BACK = 1e-5
SOLVES = 12
# About a tenth of a second a solve.
LARGEST_PROGRAM = 2000

CLOSED_FORM = "weights in closed form"
EVERY_SHIFT = "linear program, every shift"
SOME_CONSTRAINTS = "linear program, some of the constraints"
COARSER = ", on a coarser lattice"


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """No mechanism for whole-number answers, any of which may occur, has a smaller epsilon. Proved."""

    epsilon: float
    kind: str
    shifts: tuple[int, ...]
    certificate: DualCertificate

    def ratio(self, epsilon: float) -> float:
        """How many times the limit an epsilon is."""
        return epsilon / self.epsilon


def least_epsilon(
    below: int,
    above: int,
    confidence: float,
    sensitivity: int,
    delta: float,
    *,
    start: float | None = None,
    time_limit: float = 5.0,
) -> Limit | None:
    """A proved lower limit for epsilon, rounded down, or None if nothing above zero is proved in time.

    `start` is an epsilon known to be reached, a certified plan's; it saves programs. The limit holds for
    every (epsilon, delta)-DP mechanism that keeps the confidence at every answer; see `certificate`.
    """
    deadline = time.monotonic() + positive("time_limit", time_limit)
    question = Question.about(below, above, confidence, sensitivity, delta)
    reached = cut_epsilon(question)
    if start is not None:
        reached = min(reached, non_negative("start", start))
    best = strongest_closed_form(question)
    if best is not None and best.epsilon >= reached * (1 - CLOSE):
        return _limit(best, CLOSED_FORM)
    found = _by_programs(question, reached, 0.0 if best is None else best.epsilon, deadline)
    if found is not None and (best is None or found[0].epsilon > best.epsilon):
        return _limit(*found)
    return None if best is None else _limit(best, CLOSED_FORM)


def _limit(certificate: DualCertificate, kind: str) -> Limit:
    how = kind + (COARSER if certificate.block > 1 else "")
    return Limit(epsilon=certificate.epsilon, kind=how, shifts=certificate.shifts, certificate=certificate)


def _by_programs(
    question: Question, reached: float, proved: float, deadline: float
) -> tuple[DualCertificate, str] | None:
    """Newton's method on the logarithm of the missing confidence, nearly a straight line in epsilon.

    A program at an epsilon below the root proves that epsilon; one above it only moves the next step. The
    first is a little above what is proved already, and ends the search if there is no more to prove.
    """
    from pbdp.planning.limit.program import Program

    setting = _setting(question)
    if setting is None or reached <= 0:
        return None
    block, scope, kind = setting
    program = Program(question.coarsened(block), scope)
    best: DualCertificate | None = None
    low, high = proved, reached
    epsilon = proved * (1 + CLOSE) if proved > 0 else reached * (1 - STEP_BACK)
    target = math.log1p(-question.confidence)
    for _ in range(SOLVES):
        solution = program.solve(epsilon, deadline - time.monotonic())
        if solution is None:
            break
        certificate = DualCertificate(question=question, epsilon=epsilon, strips=solution.strips, block=block)
        if certificate.proves(epsilon):
            best, low = certificate, epsilon
        else:
            high = min(high, epsilon)
        miss = max(1 - solution.confidence, 1e-300)
        step = (math.log(miss) - target) * miss / solution.slope if solution.slope > 0 else math.inf
        if high - low <= CLOSE * high or (low == epsilon and step <= CLOSE * epsilon):
            break
        epsilon = (epsilon + step) * (1 - STEP_BACK)
        if not low < epsilon < high:
            epsilon = (low + high) / 2
    return None if best is None else (best, kind)


def _setting(question: Question) -> tuple[int, Scope, str] | None:
    """The finest lattice and the most constraints that a program has room for."""
    from pbdp.planning.limit.program import Scope

    coarsest = min(question.sensitivity, 1 << 12)
    for block in range(1, coarsest + 1):
        coarse = question.coarsened(block)
        width = coarse.sensitivity
        every = tuple(range(1, width + 1))
        spread = {width - (1 << power) for power in range(width.bit_length())}
        some = tuple(sorted({width, *(shift for shift in spread if shift > 0)}))
        for scope, kind in (
            (Scope(shifts=every, depth=3, inner=False), EVERY_SHIFT),
            (Scope(shifts=every, depth=1, inner=True), SOME_CONSTRAINTS),
            (Scope(shifts=some, depth=1, inner=True), SOME_CONSTRAINTS),
        ):
            if scope.rows(coarse) <= LARGEST_PROGRAM:
                return block, scope, kind
    return None
