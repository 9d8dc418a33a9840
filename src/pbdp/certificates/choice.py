"""The certificate of a plan that chooses among options, and the lines of Python that check it."""

from __future__ import annotations

from pbdp.certificates.choice_lines import choice_lines
from pbdp.certificates.statement import DRAWN, ELSEWHERE, PERSON, PROTECTED, WITHOUT, Facts, Statement
from pbdp.choosing.independent import IndependentNoise
from pbdp.choosing.picks import Picks
from pbdp.choosing.plan import ChoicePlan
from pbdp.choosing.uniform import UniformNoise
from pbdp.choosing.way import Way
from pbdp.choosing.weighted import Weighted
from pbdp.digits import delta_text, percent_down, percent_up, rounded_down, rounded_up
from pbdp.mechanism.neighbors import Neighbors
from pbdp.spelling import digest

PROOFS: dict[type[Way], str] = {
    Picks: "permute-and-flip, for every coin",
    Weighted: "the exponential mechanism, by the range of its losses, pick by pick",
    UniformNoise: "the probability of noise is a function of its range, which neighbors change little",
    IndependentNoise: "noise on every score, of which only the order is published",
}
LONG = "The table is too long for a page. The command above computes the guarantee again from it."


def of_choice(plan: ChoicePlan, name: str) -> Statement:
    """The certificate of whatever is chosen with a plan, once."""
    asked, relation = plan.asked, Neighbors(plan.asked.neighbors)
    moves = "only upwards when one is added" if asked.rising else "up or down"
    checked = choice_lines(plan)
    return Statement(
        subject="Choice",
        name=name,
        claims=[
            PROTECTED.format(risk=plan.risk_words(), without=WITHOUT[relation]),
            f"What is chosen: {plan.describe().partition(';')[0]}, whatever the scores are.",
            f"In technical terms: ({rounded_up(plan.epsilon)}, {delta_text(plan.delta)})-differential "
            "privacy where "
            f"{relation.description}. Proof: {PROOFS[type(plan.way)]}, for every pair of neighbors.",
        ],
        numbers=_figures(plan),
        conditions=[
            PERSON,
            f"Neighbors: {relation.description}; that changes every score by at most {asked.sensitivity:g}, "
            f"{moves}.",
            "The list of options was known without the data.",
            "One choice is made with this plan; more add to the loss.",
            ELSEWHERE,
            DRAWN,
        ],
        source=[("Plan", digest(plan.record())[:32])],
        command=f"pbdp verify {name}",
        lines="" if checked is None else checked[0],
        data=None if checked is None else checked[1],
        remark=LONG,
    )


def _figures(plan: ChoicePlan) -> Facts:
    rows = [
        ("Attacker", f"right at most {percent_up(plan.risk())} of the time, from even odds"),
        (
            "Privacy loss",
            f"epsilon {rounded_up(plan.epsilon)} at delta {delta_text(plan.delta)}, for all that is chosen",
        ),
        (
            "Accuracy",
            f"within {plan.within:g} of the best, {percent_down(plan.confidence)} of the time at least",
        ),
        ("Options", f"{plan.asked.options:,}, of which {plan.asked.top:,} chosen"),
    ]
    if plan.limit is not None:
        rows.append(("Limit", f"no mechanism this accurate can go below epsilon {rounded_down(plan.limit)}"))
    return rows
