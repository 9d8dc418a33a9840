"""Choosing: one of many options whose score is near the best, the best few, or all of them in order.

    plan = plan_choice(options=1000, within=50, confidence=0.95, sensitivity=1, integer=True)
    plan.epsilon                  # the least that any of the laws here needs for it
    plan.choose({"north": 1200, "south": 1350, "west": 700})

Four laws choose, each a `Law`: `picks` by permute and flip, whose proofs are in `coins`, and by the
exponential mechanism (`weighted`), one after the other; scores with noise of one random width (`uniform`), or
each with its own (`independent`), sorted (`ranking`). `search` takes the one with the least epsilon; `rivals`
has other laws for one pick, and `limits` what none can go below; `draw` draws, and `paid` has a budget pay.
"""
