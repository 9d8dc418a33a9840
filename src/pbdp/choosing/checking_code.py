"""Python that checks a law on its certificate: what a law says of it, and what several share.

It computes its loss and its accuracy by the formulas that are proved beside it, from the very weights that
are drawn from, and uses nothing of pbdp. `claim` is what it reads: the numbers of the plan and the law's own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from pbdp.planning.plan import Plan


class CheckingCode(NamedTuple):
    """The lines of Python of a law, as `text`, and its own numbers that they read.

    `imports` stand first. `weights` are about how many numbers there are, and `work` how many steps it takes.
    Where the loss is that of a plan of `noise`, the lines of that plan come before these.
    """

    text: str
    data: dict[str, Any]
    imports: str = ""
    weights: float = 0.0
    work: float = 0.0
    noise: Plan | None = None


COINS = """w, moved = claim["coins"], claim["moved"]  # {what}, times 2^62
last = len(w) - 1
assert w[0] == 2**62 and min(w) > 0 and w == sorted(w, reverse=True)
def falls(h):  # by how much {one} falls at most when its option falls h steps further behind
    return max(math.log(w[x] / w[min(x + h, last)]) for x in range(last + 1))
loss = max(falls(h) + falls(moved - h) for h in range(moved + 1))  # one gap shrinks, all others grow
"""
TOGETHER = """k, h, g = claim["options"], claim["picks"], claim["gap"]
if h > 1 and g <= last:  # picks together: how often each option passes one that is g above it, at most
    rho = max(w[x + g] / w[x] for x in range(last - g + 1))
    W = [0.0] * (h + 1)  # of so many better ones that are left, in so many picks
    for pick in range(h):
        W = [0.0] + [{most} for a in range(1, h + 1)]
    M = [max(W[: a + 1]) for a in range(h + 1)]
    right = max(right, 1 - rho * ((k - h) * M[h] + sum(M[:h])) - k * h * w[last] / 2**62)
"""
HOLDS = """print(f"right {right:.8%} of the time; claimed: {claim['confidence']:.8%}")
print("HOLDS" if loss <= claim["{each}"] and right >= claim["confidence"] else "DOES NOT HOLD")
"""
