"""The certificate of a plan that chooses among options, and the lines of Python that check it."""

from __future__ import annotations

from pbdp.certificates.independent import MOST_WEIGHTS, MOST_WORK, READ
from pbdp.certificates.statement import DRAWN, ELSEWHERE, PERSON, PROTECTED, WITHOUT, Facts, Statement
from pbdp.choosing.plan import ChoicePlan
from pbdp.digits import delta_text, percent_down, percent_up, rounded_down, rounded_up
from pbdp.mechanism.neighbors import Neighbors
from pbdp.spelling import digest

LINES = f"""{READ}w, moved = claim["coins"], claim["moved"]  # the chances of heads, times 2^62
last = len(w) - 1
assert w[0] == 2**62 and min(w) > 0 and w == sorted(w, reverse=True)
def falls(h):  # by how much a coin falls at most when its option falls h steps further behind
    return max(math.log(w[x] / w[min(x + h, last)]) for x in range(last + 1))
loss = max(falls(h) + falls(moved - h) for h in range(moved + 1))  # one gap shrinks, all others grow
coin, right = w[min(claim["gap"], last)] / 2**62, 1.0
for left in range(claim["options"], claim["options"] - claim["picks"], -1):
    # at worst one option is the best and all others lose
    right *= -math.expm1(left * math.log1p(-coin)) / (left * coin) if coin < 1 else 1 / left
print(f"epsilon of a pick is {{loss:.8g}}; claimed: {{claim['each']:.8g}}")
print(f"right {{right:.8%}} of the time; claimed: {{claim['confidence']:.8%}}")
print("HOLDS" if loss <= claim["each"] and right >= claim["confidence"] else "DOES NOT HOLD")
"""
LONG = "The table of coins is too long for a page. The command above computes the guarantee again from it."


def of_choice(plan: ChoicePlan, name: str) -> Statement:
    """The certificate of whatever is chosen with a plan, once."""
    asked, relation = plan.asked, Neighbors(plan.asked.neighbors)
    moves = "only upwards when one is added" if asked.rising else "up or down"
    coins = plan.coins.weights
    short = len(coins) <= MOST_WEIGHTS and len(coins) * (plan.scale.moved + 1) * 2 <= MOST_WORK
    return Statement(
        subject="Choice",
        name=name,
        claims=[
            PROTECTED.format(risk=plan.risk_words(), without=WITHOUT[relation]),
            f"What is chosen: {plan.describe().partition(';')[0]}, whatever the scores are.",
            f"In technical terms: ({rounded_up(plan.epsilon)}, {delta_text(plan.delta)})-differential "
            "privacy where "
            f"{relation.description}. Proof: permute-and-flip, for every coin and every pair of neighbors.",
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
        lines=LINES if short else "",
        data={
            "coins": coins.tolist(),
            "moved": plan.scale.moved,
            "gap": plan.scale.gap,
            "options": asked.options,
            "picks": asked.picks,
            "each": plan.epsilon_each,
            "confidence": plan.confidence,
        }
        if short
        else None,
        remark=LONG,
    )


def _figures(plan: ChoicePlan) -> Facts:
    rows = [
        ("Attacker", f"right at most {percent_up(plan.risk())} of the time, from even odds"),
        (
            "Privacy loss",
            f"epsilon {rounded_up(plan.epsilon)} at delta {delta_text(plan.delta)}, for all picks together",
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
