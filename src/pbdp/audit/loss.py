"""A statistical lower bound for the privacy loss, from draws at neighboring answers.

Every event is tested on draws that had no part in choosing it (see `events`): with probability at least
1 - error/tests its bounds on P(A) from below and P'(A) from above both hold, and then so does the loss that
they prove (see `claim`). All tests together are wrong with at most the probability `error` (Bonferroni). The
bound knows nothing of the epsilon that was claimed, and is not held below it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pbdp.audit.answers import AnswerPair
from pbdp.audit.claim import Claim
from pbdp.audit.clopper_pearson import at_least, at_most
from pbdp.audit.events import Event, Two, chosen_events, number_of_kinds, reachable
from pbdp.audit.samples import TEST, Sample, answer_text, probabilities_on
from pbdp.digits import percent_down, percent_up, rounded_down, rounded_up
from pbdp.noise.kernel import Array


@dataclass(frozen=True, slots=True, kw_only=True)
class EventBound:
    """An event, how often it happened at either answer in the draws kept for it, and what that proves.

    P(event) >= `p_low` at `first` and <= `q_high` at `second`, so the privacy loss is at least `epsilon`.
    """

    first: int | float
    second: int | float
    kind: str
    event: str
    draws: int
    hits_first: int
    hits_second: int
    p_low: float
    q_high: float
    epsilon: float


@dataclass(frozen=True, slots=True, kw_only=True)
class LossFinding:
    """The privacy loss of one number is at least `epsilon_lower`, but for the probability `error`.

    `reachable` is what the bound would tend to with ever more draws from the laws that the plan states.
    """

    claim: Claim
    error: float
    bounds: tuple[EventBound, ...]
    reachable: float

    @property
    def best(self) -> EventBound:
        """The event that proves most."""
        return max(self.bounds, key=lambda bound: bound.epsilon)

    @property
    def epsilon_lower(self) -> float:
        """The largest loss that was proved; it holds whatever was claimed."""
        return self.best.epsilon

    @property
    def passed(self) -> bool:
        """Whether the bound leaves room for the claim to be true."""
        return self.epsilon_lower <= self.claim.epsilon

    def lines(self) -> list[str]:
        """The finding in sentences."""
        best, claim = self.best, self.claim
        verdict = "consistent" if self.passed else "CONTRADICTED"
        lines = [
            f"Privacy: the {claim.describe()} is at least {rounded_down(self.epsilon_lower)}; the plan "
            f"claims at most {rounded_up(claim.epsilon)}: {verdict}.",
            f"  Seen on {best.event}: {best.hits_first:,} of {best.draws:,} draws at answer "
            f"{answer_text(best.first)} (at least {percent_down(best.p_low)}), {best.hits_second:,} at "
            f"{answer_text(best.second)} (at most {percent_up(best.q_high)}).",
            f"  From the laws that the plan states, endless draws would show {rounded_down(self.reachable)}"
            + ("." if claim.order is None else ": one set of outputs shows but a part of a Rényi loss."),
        ]
        if claim.releases > 1:
            lines.append(
                f"  This is one of {claim.releases} numbers, by itself. That all together lose at most "
                f"{rounded_up(claim.total)} follows from the law of one by composition, and needs no draws."
            )
        return lines

    def record(self) -> dict[str, Any]:
        """The finding for a program to read."""
        return {
            "epsilon_lower": self.epsilon_lower,
            "epsilon_claimed": self.claim.epsilon,
            "epsilon_total": self.claim.total,
            "delta": self.claim.delta,
            "rdp_order": self.claim.order,
            "releases": self.claim.releases,
            "reachable": self.reachable,
            "error": self.error,
            "passed": self.passed,
            "events": [
                {name: getattr(bound, name) for name in EventBound.__slots__} for bound in self.bounds
            ],
        }


def loss_finding(
    claim: Claim, pairs: list[AnswerPair], samples: dict[int | float, Sample], line: Array, error: float
) -> LossFinding:
    """Test every kind of event on every pair, in both directions."""
    tests = 2 * len(pairs) * number_of_kinds(line)
    bounds, most = [], 0.0
    for pair in pairs:
        first, second = samples[pair.first], samples[pair.second]
        two = Two(
            line=line,
            p=probabilities_on(line, first.law),
            q=probabilities_on(line, second.law),
            first=first.by_part,
            second=second.by_part,
        )
        for ordered, answers in ((two, (first, second)), (two.turned(), (second, first))):
            most = max(most, reachable(claim, ordered.p, ordered.q))
            bounds += [
                _tested(claim, event, *answers, error / tests) for event in chosen_events(claim, ordered)
            ]
    if len(bounds) != tests:
        raise AssertionError("the error was split among another number of tests")
    return LossFinding(claim=claim, error=error, bounds=tuple(bounds), reachable=most)


def _tested(claim: Claim, event: Event, first: Sample, second: Sample, error: float) -> EventBound:
    """What an event proves on the last part of the draws; half of the error goes to either bound."""
    counts_first, counts_second = first.by_part[TEST], second.by_part[TEST]
    hits_first, hits_second = (int(counts[event.places].sum()) for counts in (counts_first, counts_second))
    p_low = float(at_least(hits_first, int(counts_first.sum()), error / 2))
    q_high = float(at_most(hits_second, int(counts_second.sum()), error / 2))
    return EventBound(
        first=first.answer,
        second=second.answer,
        kind=event.kind,
        event=event.words,
        draws=int(counts_first.sum()),
        hits_first=hits_first,
        hits_second=hits_second,
        p_low=p_low,
        q_high=q_high,
        epsilon=float(claim.loss_at_least(p_low, q_high)),
    )
