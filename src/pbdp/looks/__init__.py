"""Relative accuracy, paid as needed: cheap looks tell how precise the last one must be.

`procedure` says which looks there are and what each leads to, and proves that the promise holds for every
answer; `tuning` finds the procedure that costs least.
"""
