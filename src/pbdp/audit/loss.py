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
    """The privacy loss is at least `epsilon_lower`, but for the probability `error`.

    It is that of one number. `reachable` is what the bound would tend to with ever more draws from the laws
    that the plan states.
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

    @property
    def row(self) -> tuple[str, str, str]:
        """What was looked at, what was seen, what the plan claims."""
        epsilon = "epsilon" if self.claim.order is None else "loss"
        seen = f"{epsilon} at least {rounded_down(self.epsilon_lower)}"
        return "privacy", seen, f"at most {rounded_up(self.claim.epsilon)}"

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


def loss_finding(claim: Claim, seen: list[Two], error: float) -> LossFinding:
    """Test every kind of event on every two answers, in both directions."""
    tests = 2 * sum(number_of_kinds(two) for two in seen)
    bounds, most = [], 0.0
    for two in seen:
        for ordered in (two, two.turned()):
            most = max(most, reachable(claim, *ordered.laws))
            bounds += [
                _tested(claim, event, ordered, error / tests) for event in chosen_events(claim, ordered)
            ]
    if len(bounds) != tests:
        raise AssertionError("the error was split among another number of tests")
    return LossFinding(claim=claim, error=error, bounds=tuple(bounds), reachable=most)


def compared(pair: AnswerPair, samples: dict[int | float, Sample], line: Array) -> Two:
    """What was drawn at two neighboring answers, beside the laws of both."""
    first, second = samples[pair.first], samples[pair.second]
    return Two(
        line=line,
        laws=(probabilities_on(line, first.law), probabilities_on(line, second.law)),
        first=first.by_part,
        second=second.by_part,
        answers=(pair.first, pair.second),
    )


def _tested(claim: Claim, event: Event, two: Two, error: float) -> EventBound:
    """What an event proves on the last part of the draws; half of the error goes to either bound."""
    counts_first, counts_second = two.first[TEST], two.second[TEST]
    hits_first, hits_second = (int(counts[event.places].sum()) for counts in (counts_first, counts_second))
    p_low = float(at_least(hits_first, int(counts_first.sum()), error / 2))
    q_high = float(at_most(hits_second, int(counts_second.sum()), error / 2))
    return EventBound(
        first=two.answers[0],
        second=two.answers[1],
        kind=event.kind,
        event=event.words,
        draws=int(counts_first.sum()),
        hits_first=hits_first,
        hits_second=hits_second,
        p_low=p_low,
        q_high=q_high,
        epsilon=float(claim.loss_at_least(p_low, q_high)),
    )
