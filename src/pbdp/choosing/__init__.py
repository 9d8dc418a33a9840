"""Choosing: one of many options whose score is near the best, the best few, or all of them in order.

    plan = plan_choice(options=1000, within=50, confidence=0.95, sensitivity=1, integer=True)
    plan.epsilon                  # the least that permute-and-flip needs for it
    plan.choose({"north": 1200, "south": 1350, "west": 700})

`coins` holds the law, with the proofs of what it costs and how often it is right; `rivals` other laws, and
what none can go below; `plan` puts them together; `draw` draws.
"""
