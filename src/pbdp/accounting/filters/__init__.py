"""Filters: how much may be spent on one dataset when every step may depend on the answers so far.

There is one: the potential filter.

    potential   its theorem, and the check of its inequality
    rule        the same in whole numbers, with the rounding: what a budget starts with, what a step costs
    steps       what it sees of a step: of any design, or of one whose (epsilon, delta) alone is known
    package     several releases as one step

**Packages that are used bit by bit.** A plan may be paid for once and be used for T numbers later, with other
spending in between. Nothing changes: every number is K(z), where z is drawn from one of two fixed laws (the
dominating pair of the plan's noise, one law for each neighbor) and K is random, may depend on all earlier
answers and on the question, and does not know which neighbor is the true one. Draw all T of the z at the
moment of payment and apply K when the number is asked for: the transcript is a function of what was drawn,
payment by payment, in the order in which the proofs add up.
"""
