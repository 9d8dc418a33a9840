"""The certificate of a comparison of two groups, and lines of Python that check it."""

from __future__ import annotations

from pbdp.comparing.compared import Compared
from pbdp.comparing.plan import ComparisonPlan
from pbdp.digits import delta_text, percent_down, percent_up, rounded_up
from pbdp.json_records import digest
from pbdp.report.certificates.checker import lines_for
from pbdp.report.certificates.statement import (
    DRAWN,
    NO_TABLE,
    PERSON,
    PROTECTED,
    Facts,
    Statement,
    attacker,
    insecure,
    loss,
    others_counted,
    paid_from,
)


def of_comparison(plan: ComparisonPlan, found: Compared | None, name: str) -> Statement:
    """The certificate of a plan that compares, or of what was published with it."""
    asked, noise = plan.asked, plan.noise
    paid = None if found is None else found.paid
    lines, data = lines_for(noise) or ("", None)
    groups = "People may be in both groups." if asked.in_both else "Nobody is in both groups."
    conditions = [
        PERSON,
        f"Neighbors: {noise.neighbors.description}. {groups} The sizes of the groups are public.",
        asked.assumed(),
        others_counted(paid),
        DRAWN,
    ]
    source = [("Plan", digest([asked.record(), plan.loss])[:32])]
    if found is not None:
        source.insert(0, ("Published", found.created))
    source += paid_from(paid)
    return Statement(
        subject="Comparison",
        name=name,
        claims=[
            PROTECTED.format(risk=plan.risk_words(), without=noise.neighbors.without),
            f"What is compared: {asked.describe()}. {asked.promise()}",
            f"In technical terms: ({rounded_up(plan.epsilon)}, {delta_text(plan.delta)})-differential "
            f"privacy where {noise.neighbors.description}, for everything that is published. Proof: "
            f"{noise.certificate.method}.",
        ],
        numbers=[*_results(found), *_figures(plan)],
        conditions=conditions,
        source=source,
        command=f"pbdp verify {name}",
        lines=lines,
        data=data,
        warning=insecure(None if found is None else found.insecure_test_seed),
        remark=NO_TABLE,
    )


def _results(found: Compared | None) -> Facts:
    if found is None:
        return []
    words = found.summary()
    return [("Found", f"{words[0].upper()}{words[1:]}.")]


def _figures(plan: ComparisonPlan) -> Facts:
    first, second = plan.users
    return [
        attacker(plan.risk()),
        loss(plan.epsilon, f"delta {delta_text(plan.delta)}"),
        (
            "Intervals",
            f"confidence {percent_down(plan.confidence)}, at most {percent_up(max(plan.wider, 0.0))} wider "
            "than without noise",
        ),
        ("Cost in people", f"without noise, groups smaller by {first:,} and {second:,} would do as well"),
    ]
