"""Comparing two groups: noise that is planned from what the analysis needs, and the analysis itself.

    plan = plan_comparison(users=(100_000, 100_000), rate=0.05, wider=0.05)
    plan.epsilon               # the interval is at most 5 % wider than without privacy
    plan.compare(5_123, 4_890) # estimate, interval, p-value, and what privacy cost in users

`count_laws` holds the exact laws of noisy counts, `analysis` the interval and the test with their exact
coverage and power, `search` finds the noise of a `plan`.
"""
