"""Reports of a survey, drawn at two made-up answers: cells of the tally are what tells the answers apart.

A report counts in cells of the tally, and for every cell the configuration says how likely that is at the
least and at the most, whatever the answer (`cell_bounds`). Which cells tell two answers most apart is
learned from the first part of the draws, and tested on the last. That every cell is as likely as it may be
is tested on all draws, by exact binomial tails. How far estimates are off has no draws: it follows from the
law of a report.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from pbdp import special
from pbdp.audit.accuracy import AccuracyFinding
from pbdp.audit.claim import Claim
from pbdp.audit.clopper_pearson import at_least, at_most
from pbdp.audit.fit import FitFinding, FitTest
from pbdp.audit.loss import EventBound, LossFinding
from pbdp.audit.part import PartAudit
from pbdp.audit.samples import BLOCK, Draw, Progress, part_sizes, telling
from pbdp.local.counts import count_reports, no_counts
from pbdp.local.domain import ScaleDomain
from pbdp.local.mechanism import LocalMechanism
from pbdp.noise.kernel import Array

SEEN = (
    "An answer is the place of a value in the list of all values; a report counts in the cells of the tally "
    "that it supports, and each cell is tested by itself."
)


class Cells(NamedTuple):
    """What some reports count, of how many, and how likely that is at the least and the most."""

    counts: Array
    users: Array
    least: Array
    most: Array
    refused: int


def audit_survey(
    mechanism: LocalMechanism, draw: Draw | None, *, draws: int, error: float, progress: Progress | None
) -> PartAudit:
    """The audit of a survey's randomizer; each finding may be wrong with the probability `error`."""
    domain = mechanism.domain
    # as far apart as values are
    answers = 0, domain.count // 2 if isinstance(domain, ScaleDomain) and domain.ring else domain.count - 1
    told = telling(progress, draws * len(answers))
    seen = {answer: _drawn(mechanism, draw or _sampler(mechanism), answer, draws, told) for answer in answers}
    claim = Claim(
        epsilon=mechanism.epsilon,
        total=mechanism.epsilon,
        delta=0.0,
        order=None,
        table_error=0.0,
        releases=1,
    )
    every = [cells for parts in seen.values() for cells in parts]
    possible = every[0].least > 0
    reachable = float(np.max(np.log(every[0].most[possible] / every[0].least[possible]), initial=0.0))
    return PartAudit(
        name="",
        requirement=f"{domain.count:,} values",
        mechanism=mechanism.name,
        draws=draws,
        drawn="reports",
        checked=(SEEN,),
        answers=answers,
        samples=(),
        loss=LossFinding(
            claim=claim,
            error=error,
            bounds=tuple(_tested(claim, one, two, seen, error / 2) for one, two in (answers, answers[::-1])),
            reachable=min(reachable, mechanism.epsilon),
        ),
        accuracy=AccuracyFinding(requirement="", claimed=0.0, hardest=0, error=0.0, intervals=()),
        fit=FitFinding(
            error=error,
            tests=tuple(_fit(answer, cells) for answer, parts in seen.items() for cells in parts),
            off_law=tuple((answer, sum(cells.refused for cells in parts)) for answer, parts in seen.items()),
            numbers=draws * len(answers),
        ),
    )


def _sampler(mechanism: LocalMechanism) -> Draw:
    def draw(answer: int, count: int) -> object:
        return mechanism.randomize([mechanism.domain.values[answer]] * count).values

    return draw  # type: ignore[return-value]  # reports may be texts


def _drawn(
    mechanism: LocalMechanism, draw: Draw, answer: int, draws: int, told: Callable[[int], None]
) -> tuple[Cells, ...]:
    """What the parts of the draws count; the first two are learned from together."""
    learn, choose, test = part_sizes(draws)
    return tuple(_counted(mechanism, draw, answer, size, told) for size in (learn + choose, test))


def _counted(
    mechanism: LocalMechanism, draw: Draw, answer: int, size: int, told: Callable[[int], None]
) -> Cells:
    tally = no_counts(mechanism).tally
    good = 0
    for start in range(0, size, BLOCK):
        count = min(BLOCK, size - start)
        counted = count_reports(mechanism, draw(answer, count))
        tally = tally + counted.tally
        good += counted.users
        told(count)
    bounds = mechanism.cell_bounds(tally, good)
    return Cells(
        counts=np.concatenate([cells.counts for cells in bounds]),
        users=np.concatenate([np.full(len(cells.counts), float(cells.users)) for cells in bounds]),
        least=np.concatenate([cells.least for cells in bounds]),
        most=np.concatenate([cells.most for cells in bounds]),
        refused=size - good,
    )


def _tested(
    claim: Claim, first: int, second: int, seen: dict[int, tuple[Cells, ...]], error: float
) -> EventBound:
    """The cell that was more frequent at the first answer in the first part, on the last part."""
    (one, kept_one), (two, kept_two) = seen[first], seen[second]
    lower = at_least(one.counts, one.users, 0.01)
    higher = at_most(two.counts, two.users, 0.01)
    cell = int(np.argmax(lower / higher))
    hits = int(kept_one.counts[cell]), int(kept_two.counts[cell])
    p_low = float(at_least(hits[0], kept_one.users[cell], error / 2))
    q_high = float(at_most(hits[1], kept_two.users[cell], error / 2))
    return EventBound(
        first=first,
        second=second,
        kind="frequency",
        event=f"reports that count in cell {cell} of the tally",
        draws=int(kept_one.users[cell]),
        hits_first=hits[0],
        hits_second=hits[1],
        p_low=p_low,
        q_high=q_high,
        epsilon=float(claim.loss_at_least(p_low, q_high)),
    )


def _fit(answer: int, cells: Cells) -> FitTest:
    """How likely counts so far below what is least likely, or above what is most, are in some cell."""
    k, n = cells.counts, cells.users
    low, high = np.clip(cells.least, 0.0, 1.0), np.clip(cells.most, 0.0, 1.0)
    below = np.where(k < n, special.betaincc(np.minimum(k, n - 1) + 1, n - np.minimum(k, n - 1), low), 1.0)
    above = np.where(k > 0, special.betainc(np.maximum(k, 1.0), n - np.maximum(k, 1.0) + 1, high), 1.0)
    least = float(np.min(np.minimum(below, above)))
    return FitTest(answer=answer, name="cells", statistic=least, p_value=min(1.0, 2 * len(k) * least))
