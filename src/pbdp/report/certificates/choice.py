"""The certificate of a plan that chooses among options.

The lines that check a certificate are the law's own.
"""

from __future__ import annotations

from typing import Any

from pbdp.choosing.plan import ChoicePlan
from pbdp.digits import delta_text, percent_down, rounded_down, rounded_up
from pbdp.json_records import digest
from pbdp.mechanism.neighbors import Neighbors
from pbdp.report.certificates.checker import MOST_WEIGHTS, MOST_WORK, READ
from pbdp.report.certificates.statement import (
    DRAWN,
    ELSEWHERE,
    PERSON,
    PROTECTED,
    Facts,
    Statement,
    attacker,
    loss,
)

LONG = "The table is too long for a page. The command above computes the guarantee again from it."


def of_choice(plan: ChoicePlan, name: str) -> Statement:
    """The certificate of whatever is chosen with a plan, once."""
    asked, relation = plan.asked, Neighbors(plan.asked.neighbors)
    moves = "only upwards when one is added" if asked.rising else "up or down"
    lines = choice_lines(plan)
    return Statement(
        subject="Choice",
        name=name,
        claims=[
            PROTECTED.format(risk=plan.risk_words(), without=relation.without),
            f"What is chosen: {plan.describe().partition(';')[0]}, whatever the scores are.",
            f"In technical terms: ({rounded_up(plan.epsilon)}, {delta_text(plan.delta)})-differential "
            "privacy where "
            f"{relation.description}. Proof: {plan.way.proof}, for every pair of neighbors.",
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
        lines="" if lines is None else lines[0],
        data=None if lines is None else lines[1],
        remark=LONG,
    )


def _figures(plan: ChoicePlan) -> Facts:
    rows = [
        attacker(plan.risk()),
        loss(plan.epsilon, f"delta {delta_text(plan.delta)}", "all that is chosen"),
        (
            "Accuracy",
            f"within {plan.within:g} of the best, {percent_down(plan.confidence)} of the time at least",
        ),
        ("Options", f"{plan.asked.options:,}, of which {plan.asked.top:,} chosen"),
    ]
    if plan.limit is not None:
        rows.append(("Limit", f"no mechanism this accurate can go below epsilon {rounded_down(plan.limit)}"))
    return rows


def choice_lines(plan: ChoicePlan) -> tuple[str, dict[str, Any]] | None:
    """The lines that check a plan, and the numbers they read; None where there is too much to check."""
    asked, scale = plan.asked, plan.scale
    own = plan.way.checking_code(asked, scale)
    if own.weights > MOST_WEIGHTS or own.work > MOST_WORK:
        return None
    common = {
        "moved": scale.moved,
        "gap": scale.gap,
        "options": asked.options,
        "picks": asked.picks,
        "confidence": plan.confidence,
        "epsilon": plan.epsilon,
        "delta": plan.delta,
    }
    return own.imports + READ + own.text, common | own.data
