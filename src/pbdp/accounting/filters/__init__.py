"""Filters: how much may be spent on one dataset when every step may depend on the answers so far.

A filter is a set of limits in whole numbers and a cost, in the same units, for every mechanism. Whoever makes
sure that the costs add up to no more than the limits, *on every path that the answers may take*, has promised
(epsilon, delta). `renyi_filter` and `sum_filter` hold the proofs, `design_loss` and `changing` the loss of
any design, `claimed` that of a mechanism of which only its (epsilon, delta) is known, `amounts` the rounding.

**Packages that are used bit by bit.** A plan may be paid for once and be used for T numbers later, with other
spending in between. Nothing changes: every number is K(z), where z is drawn from one of two fixed laws (the
dominating pair of the plan's noise, one law for each neighbor) and K is random, may depend on all earlier
answers and on the question, and does not know which neighbor is the true one. Draw all T of the z at the
moment of payment and apply K when the number is asked for: the transcript is a function of what was drawn,
payment by payment, in the order in which the proofs add up.
"""
