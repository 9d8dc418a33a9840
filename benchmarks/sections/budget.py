"""How many releases a budget pays for when they are chosen one after the other."""

from __future__ import annotations

import numpy as np

from benchmarks.bench_filter import (
    BUDGETS,
    FAMILIES,
    MOST,
    SIZES,
    composed,
    with_filter,
    with_renyi,
    with_sum,
)
from benchmarks.measuring import Section
from pbdp.accounting.composition.loss_law import table_release


def section(quick: bool) -> Section:
    rows, shares, renyi_shares = [], [], []
    families = list(FAMILIES.items())[:: 3 if quick else 1]
    for family, make in families:
        for size in SIZES[1::2] if quick else SIZES:
            noise, sensitivity = make(size)
            release = table_release(noise, sensitivity)
            for epsilon, delta in [pair for pair in BUDGETS if pair[1] == BUDGETS[0][1]]:
                exact = composed(release, epsilon, delta)
                if not 0 < exact < MOST:
                    continue
                law = release.covered[0]
                added, renyi = with_sum(law, epsilon, delta), with_renyi(law, epsilon, delta)
                ours = with_filter(release.covered, epsilon, delta)
                rows.append(
                    [
                        f"{family}, loss {size:g}",
                        f"{epsilon:g}",
                        f"{added}",
                        f"{renyi}",
                        f"**{ours}**",
                        f"{exact}",
                    ]
                )
                if exact >= 20:
                    shares.append(ours / exact)
                    renyi_shares.append(renyi / exact)
    return Section(
        title="Releases that a budget pays for",
        words="Every release is chosen after seeing the ones before, delta 1e-6. The sum rule adds "
        "epsilons; the Rényi filter is given the order that turned out best; exact is what would fit"
        " had all been fixed in advance, which no rule for free choice can beat.",
        header=["noise", "epsilon", "sum", "Rényi filter", "pbdp", "exact, fixed in advance"],
        rows=rows,
        shown=[
            (
                "releases that fit a budget, chosen as you go",
                f"{np.median(shares):.0%} of what exact composition allows",
                f"Rényi filter at its best order: {np.median(renyi_shares):.0%}",
            )
        ],
    )
