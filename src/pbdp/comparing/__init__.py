"""Comparing two groups: noise that is planned from what the analysis needs, and the analysis itself.

    plan = plan_comparison(users=(100_000, 100_000), rate=0.05, wider=0.05)
    plan.epsilon               # the interval is at most 5 % wider than without privacy
    plan.compare(5_123, 4_890) # estimate, interval, and what privacy cost in users

`count_laws` holds the laws of noisy counts, `rate_interval` intervals of rates that hold at every rate and
their power, `mean_interval` those of means, `search` finds the noise of a `plan`.
"""
