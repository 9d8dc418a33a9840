"""The certificate of a comparison of two groups, lines of Python that check it, and what verifying checks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pbdp.certificates.independent import MOST_WORK, ONE, lines_for
from pbdp.certificates.release_file import answer_paid_for, paid_words
from pbdp.certificates.statement import (
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
from pbdp.checks import Check, FaultError, UnknownError, checked
from pbdp.comparing.compared import Compared
from pbdp.comparing.count_laws import count_law
from pbdp.comparing.experiment import Published
from pbdp.comparing.looks import Procedure
from pbdp.comparing.plan import ComparisonPlan
from pbdp.digits import delta_text, percent_down, percent_up, rounded_up
from pbdp.json_records import digest
from pbdp.ledger.budget import part_id
from pbdp.planning.pricing import Terms

if TYPE_CHECKING:
    from pbdp.ledger.ledger import Ledger

COVERAGE = """def group(n, p):  # of every count what it says of the rate, the squared error, the chance
    law = {}
    for k in range(n + 1):
        size = math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
        size += k * math.log(p) + (n - k) * math.log(1 - p)
        for noise, weight in enumerate(w if size > -45 else [], claim["start"]):
            law[k + noise] = law.get(k + noise, 0.0) + math.exp(size) * weight / 2**62
    for y, chance in law.items():
        q = min(max((y + 1) / (n + 2), 1 / (n + 2)), 1 - 1 / (n + 2))
        square = q * (1 - q) / n + claim["variance"] / n**2
        yield (math.log(q), square / q**2, chance) if claim["ratio"] else (y / n, square, chance)
held, (n1, n2), (p1, p2) = 0.0, claim["users"], claim["rates"]
truth, second = math.log(p1 / p2) if claim["ratio"] else p1 - p2, list(group(n2, p2))
for a, e, p in group(n1, p1):
    held += p * sum(q for b, f, q in second if (a - b - truth) ** 2 <= claim["factor"] ** 2 * (e + f))
print(f"intervals hold the truth {held:.6%} of the time; claimed: {claim['coverage']:.6%}")
holds = holds and held >= claim["coverage"]
"""
# The lines for one number, with the coverage before the verdict.
VERDICT = 'print("HOLDS" if holds else "DOES NOT HOLD")\n'
LINES = ONE.replace(VERDICT, COVERAGE + VERDICT)


def of_comparison(plan: ComparisonPlan, published: Sequence[Published], name: str) -> Statement:
    """The certificate of a plan that compares, or of what was published with it."""
    asked, noise = plan.asked, plan.noise
    found = Compared(plan=plan, published=tuple(published)) if published else None
    paid = published[-1].paid if published else None
    lines, data = _lines(plan)
    groups = "People may be in both groups." if asked.in_both else "Nobody is in both groups."
    conditions = [
        PERSON,
        f"Neighbors: {noise.neighbors.description}. {groups} The sizes of the groups are public.",
        *asked.assumed(),
        others_counted(paid),
        DRAWN,
    ]
    source = [("Plan", digest([asked.record(), plan.loss])[:32])]
    if published:
        source.insert(0, ("Published", published[-1].created))
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
    rows = [
        attacker(plan.risk()),
        loss(plan.epsilon, f"delta {delta_text(plan.delta)}"),
        (
            "Intervals",
            f"confidence {percent_down(plan.confidence)}, at most {percent_up(max(plan.wider, 0.0))} wider "
            "than without noise",
        ),
        ("Cost in people", f"without noise, groups smaller by {first:,} and {second:,} would do as well"),
    ]
    if plan.looks > 1:
        rows.append(("Looks", f"{plan.looks}, fixed beforehand"))
    return rows


def _lines(plan: ComparisonPlan) -> tuple[str, dict[str, Any] | None]:
    """Of one look at counts also how often intervals hold, where a few lines find it in time."""
    lines, data = lines_for(plan.noise) or ("", None)
    asked = plan.asked
    counted = plan.analysis
    if lines != ONE or data is None or not isinstance(counted, Procedure):
        return lines, data
    table, rates = counted.noise, asked.planned
    if table is None or plan.looks > 1 or counted.steps != (1, 1):
        return lines, data
    sizes = [len(count_law(n, p, table).masses) for n, p in zip(asked.users, rates, strict=True)]
    if sizes[0] * sizes[1] + max(asked.users) + max(sizes) * len(table.weights) > MOST_WORK:
        return lines, data
    more = {
        "start": table.start,
        "variance": counted.variance,
        "factor": counted.factors[0],
        "users": list(asked.users),
        "rates": list(rates),
        "ratio": asked.measure == "ratio",
        # of the interval as it is planned, which the test may widen
        "coverage": float(counted.holds((rates[0], rates[1]), asked.truth(*rates))[-1]),
    }
    return LINES, data | more


# ------------------------------------------------------------------------------------------------ verifying


def verify_comparison(
    plan: ComparisonPlan, published: Sequence[Published], ledger: Ledger | None = None
) -> tuple[Check, ...]:
    """What became of every claim; the noise was certified again when the file was read."""
    checks = [
        Check(
            name="certificate",
            holds=True,
            words=f"epsilon {rounded_up(plan.epsilon)}, computed again from the noise",
        ),
        checked("intervals", lambda: _intervals(plan)),
    ]
    if not published:
        return tuple(checks)
    found = Compared(plan=plan, published=tuple(published))
    checks.append(Check(name="found", holds=True, words=f"{found.summary()}; computed again"))
    for look, entry in enumerate(published, start=1):
        name = "ledger" if plan.looks == 1 else f"ledger, look {look}"
        checks.append(checked(name, lambda entry=entry: _payment(plan, entry, ledger)))  # type: ignore[misc]
    if found.insecure_test_seed is not None:
        words = "The noise came from a test seed: nothing is protected. Never publish these numbers."
        checks.append(Check(name="noise", holds=False, words=words))
    return tuple(checks)


def _intervals(plan: ComparisonPlan) -> str:
    covered = plan.coverage(*plan.asked.planned)
    if covered is None:
        if not plan.asked.is_proved:
            raise UnknownError(plan.asked.promise())
        return plan.asked.promise()
    if covered < plan.confidence:
        raise FaultError(f"they hold {percent_down(covered)} of the time")
    return f"hold {percent_down(covered)} of the time at the planned rates, computed again"


def _payment(plan: ComparisonPlan, entry: Published, ledger: Ledger | None) -> str:
    paid = entry.paid

    def plan_id(terms: Terms, blocks: tuple[str, ...]) -> str:
        return part_id(terms.plan_id(plan.noise, blocks), plan.looks, (paid or {})["trial"])

    if answer_paid_for(paid, ledger, plan_id) != list(entry.numbers):
        raise FaultError("the ledger stored other numbers")
    return paid_words(paid)
