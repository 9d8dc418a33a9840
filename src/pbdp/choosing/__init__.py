"""Choosing: one of many options whose score is near the best, the best few, or all of them in order.

    plan = plan_choice(options=1000, within=50, confidence=0.95, sensitivity=1, integer=True)
    plan.epsilon                  # the least that any of the laws here needs for it
    plan.choose({"north": 1200, "south": 1350, "west": 700})

Three laws choose, each a `Law`: `permute_and_flip` for one pick or a few, `exponential_mechanism` for
several picks at a delta, `uniform` noise of one random width on all scores, sorted, for orderings. A
`quantile` is a choice among values of a grid, whose scores have a structure of their own. `peeling` proves
how often several picks are right, `search` takes the law with the least epsilon, `plan` has what none can
go below; `draw` draws, and `choose` does all of it, paid for by a budget if there is one.
"""
