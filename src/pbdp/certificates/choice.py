"""The certificate of a plan that chooses among options, and the lines of Python that check it.

There is one text of lines for each law. They compute its loss and its accuracy by the formulas that are
proved in `pbdp.choosing`, from the very weights that are drawn from, and use nothing of pbdp.
"""

from __future__ import annotations

from typing import Any

from pbdp.certificates.independent import MOST_WEIGHTS, MOST_WORK, READ, lines_for
from pbdp.certificates.statement import (
    DRAWN,
    ELSEWHERE,
    PERSON,
    PROTECTED,
    Facts,
    Statement,
    attacker,
    loss,
)
from pbdp.choosing.independent import IndependentNoise
from pbdp.choosing.picks import Picks
from pbdp.choosing.plan import ChoicePlan
from pbdp.choosing.ranking import pairs_of
from pbdp.choosing.uniform import UniformNoise
from pbdp.choosing.weighted import Weighted
from pbdp.digits import delta_text, percent_down, rounded_down, rounded_up
from pbdp.mechanism.neighbors import Neighbors
from pbdp.spelling import digest

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
        lines="" if checked is None else checked[0],
        data=None if checked is None else checked[1],
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


# ---------------------------------------------------------------------------- the lines that check it

_COINS = """w, moved = claim["coins"], claim["moved"]  # {what}, times 2^62
last = len(w) - 1
assert w[0] == 2**62 and min(w) > 0 and w == sorted(w, reverse=True)
def falls(h):  # by how much {one} falls at most when its option falls h steps further behind
    return max(math.log(w[x] / w[min(x + h, last)]) for x in range(last + 1))
loss = max(falls(h) + falls(moved - h) for h in range(moved + 1))  # one gap shrinks, all others grow
"""
_HOLDS = """print(f"right {right:.8%} of the time; claimed: {claim['confidence']:.8%}")
print("HOLDS" if loss <= claim["{each}"] and right >= claim["confidence"] else "DOES NOT HOLD")
"""

_TOGETHER = """k, h, g = claim["options"], claim["picks"], claim["gap"]
if h > 1 and g <= last:  # picks together: how often each option passes one that is g above it, at most
    rho = max(w[x + g] / w[x] for x in range(last - g + 1))
    W = [0.0] * (h + 1)  # of so many better ones that are left, in so many picks
    for pick in range(h):
        W = [0.0] + [{most} for a in range(1, h + 1)]
    M = [max(W[: a + 1]) for a in range(h + 1)]
    right = max(right, 1 - rho * ((k - h) * M[h] + sum(M[:h])) - k * h * w[last] / 2**62)
"""
_FLIPS = "max(W[a], 1 / (a + 1) + W[a - 1], (1 + a * W[a - 1] + W[a]) / (a + 1))"

PICKS = f"""{READ}{_COINS.format(what="the chances of heads", one="a coin")}\
coin, right = w[min(claim["gap"], last)] / 2**62, 1.0
for left in range(claim["options"], claim["options"] - claim["picks"], -1):
    # at worst one option is the best and all others lose
    right *= -math.expm1(left * math.log1p(-coin)) / (left * coin) if coin < 1 else 1 / left
{_TOGETHER.format(most=_FLIPS)}\
print(f"epsilon of a pick is {{loss:.8g}}; claimed: {{claim['each']:.8g}}")
{_HOLDS.replace("{each}", "each")}"""

WEIGHTED = f"""import numpy as np
{READ}{_COINS.format(what="the weights of options by their gap", one="a weight")}\
step, points = loss / claim["parts"], claim["points"]  # losses of a pick are in an interval of this length
wide = claim["parts"] + 1
j, x = np.arange(wide + 1) * step, step * np.arange(-points, points + 1)
high, low = np.expm1(-j[::-1]) / np.expm1(-j[-1]), np.expm1(j) / np.expm1(j[-1])
delta = np.maximum(-np.expm1(x), 0)
for pick in range(claim["picks"]):  # at worst the losses are at the ends of the interval, wherever it is
    ends = np.concatenate([np.ones(wide), delta, np.full(wide, delta[-1])])
    rows = [(ends[wide - i :][: len(x)], ends[2 * wide - i :][: len(x)]) for i in range(wide + 1)]
    delta = np.max([high[i] * one + low[i] * two for i, (one, two) in enumerate(rows)], axis=0)
loss = min(claim["picks"] * loss, x[points:][np.argmax(delta[points:] <= claim["delta"])])
coin, right = w[min(claim["gap"], last)] / 2**62, 1.0
for left in range(claim["options"], claim["options"] - claim["picks"], -1):
    right /= 1 + (left - 1) * coin  # at worst one option is the best and all others lose
{_TOGETHER.format(most="max(W[a], 1 / a + W[a - 1])")}\
print(f"epsilon of all picks is {{loss:.8g}}; claimed: {{claim['epsilon']:.8g}}")
{_HOLDS.replace("{each}", "epsilon")}"""

UNIFORM = f"""from decimal import Decimal, getcontext
{READ}getcontext().prec = 40
w, k, moved, gap = (claim[name] for name in ("widths", "options", "moved", "gap"))
near, far = claim["pairs"]
last, coin = len(w) - 2, claim["coin"] / Decimal(2**62)  # the last weight is that of all wider ones
assert sum(w) == 2**62 and min(w) >= 0 and 0 < coin < 1
h, right = [Decimal(p) / (r + 1) ** k for r, p in enumerate(w[:-1])], 0.0  # each vector of noise
wider = (last + moved) + int(Decimal(50).ln() * 40 / -coin.ln())
h += [w[-1] * (1 - coin) * coin**j / (last + 2 + j) ** k for j in range(wider - last)]
for sums in range(2):  # of a vector, whatever is added to all of it: a function of its range
    for r in range(len(h) - 2, -1, -1):
        h[r] += h[r + 1]
loss = float(max((h[x] / h[x + moved]).ln() for x in range(last + 1)))
loss = max(loss, float(-moved * (coin * (Decimal(last + 2) / (last + 3)) ** k).ln()))  # of wider ones
for r, p in enumerate(w[:-1]):
    n, m = max(r + 1 - gap, 0), max(r + 1 - 2 * gap, 0)  # of a near pair, of one twice as far apart
    pairs = (near * n * (n + 1) + far * m * (m + 1)) / (2 * (r + 1) ** 2)
    inside = (n * (gap**k - (gap - 1) ** k) + gap**k) / (r + 1) ** k if n else 1.0
    right += p / 2**62 * max(1 - pairs, inside)
print(f"epsilon is {{loss:.8g}}; claimed: {{claim['epsilon']:.8g}}")
{_HOLDS.replace("{each}", "epsilon")}"""

ORDERED = """w, gap = claim["tables"][0][0], claim["gap"]
tails = [0]
for p in reversed(w):
    tails.append(tails[-1] + p)
tails.reverse()
near, far = (sum(p * q for p, q in zip(w, tails[g:])) / 2**124 for g in (gap, 2 * gap))
right = 1 - claim["pairs"][0] * near - claim["pairs"][1] * far
print(f"in order {right:.8%} of the time; claimed: {claim['confidence']:.8%}")
if right < claim["confidence"] - 1e-9:
    print("DOES NOT HOLD")
"""


def choice_lines(plan: ChoicePlan) -> tuple[str, dict[str, Any]] | None:
    """The lines that check a plan, and the numbers they read; None where there is too much to check."""
    asked, way, scale = plan.asked, plan.way, plan.scale
    common: dict[str, Any] = {
        "moved": scale.moved,
        "gap": scale.gap,
        "options": asked.options,
        "picks": asked.picks,
    }
    common |= {"confidence": plan.confidence, "epsilon": plan.epsilon, "delta": plan.delta}
    pairs = list(pairs_of(asked.options, asked.top))
    match way:
        case UniformNoise():
            if (way.last + scale.moved) * (1 + asked.options / 100) > MOST_WEIGHTS:
                return None
            own = {"widths": way.weights.tolist(), "coin": way.coin, "pairs": pairs}
            return UNIFORM, common | own
        case IndependentNoise():
            found = lines_for(way.plan(asked, scale))
            if found is None:
                return None
            lines, data = found
            gap = scale.gap * (1 + scale.moved % 2)
            return lines + ORDERED, data | {"gap": gap, "pairs": pairs, "confidence": plan.confidence}
        case Picks() | Weighted():
            coins = way.coins.weights
            work = len(coins) * (scale.moved + 1) * 2 + 2 * asked.picks**2
            if len(coins) > MOST_WEIGHTS or work > MOST_WORK:
                return None
            common |= {"coins": coins.tolist()}
            if isinstance(way, Picks):
                return PICKS, common | {"each": plan.epsilon_each}
            grid = way.curve(asked, scale)
            return WEIGHTED, common | {"parts": grid.parts, "points": grid.points}
    return None
