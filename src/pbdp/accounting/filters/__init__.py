"""Filters: how much may be spent on one dataset when every step may depend on the answers so far.

There is one: the potential filter.

    rule        in whole numbers: what a budget starts with, what a step costs, what is left
    steps       what it sees of a step: of any design, or of one whose (epsilon, delta) alone is known
    package     several releases as one step

**Potential.** h_v(x) = E[(1 - e^(x-Z))+] with Z normal, mean v/2 and variance v: the delta at epsilon = x of
a Gaussian release with (sensitivity/sigma)² = v. h_0(x) = (1 - e^x)+. It grows with v for every real x (e^-Z
has mean one and grows in convex order), falls with x, and never exceeds one.

**Rule.** A budget (epsilon, delta) sets a reserve M aside and starts with the v for which h_v(epsilon) =
delta - M, and with reach S = 0. A step is a release, or a package of releases fixed together. For any two
neighboring datasets it is K(z): z is drawn from P or Q of a pair, one for each dataset, and K, random, does
not know which of the two it was. Some z are *bad*: those with an infinite loss X = ln(P/Q) and others, as
one likes; on the rest |X| <= R. With the bad z counted as infinite losses, the curve of the pair (its delta
at every real epsilon) lies on or below that of one of the step's *laws*, and so does that of the reversed
pair. A law is a measure on the losses up to and including infinity. The step costs

    c      the least number from 0 to v with, for every law and all x in [max(0, epsilon - S), epsilon + S],
           sum over its finite losses of mass·h_{v-c}(x - loss) <= h_v(x) + a,                          (1)
    R      of reach,
    a + m  of the reserve, a >= 0 chosen freely, m the largest mass at infinity of any law.

It is made if there is such a c and the reserve holds a + m. Then v falls by c, S grows by R and M falls by
a + m.

**Theorem.** Whoever spends so, choosing every step after seeing all answers so far, is (epsilon, delta)-DP.

    Proof. Fix two neighboring datasets. Let everybody see the z as well, those of a package all at the time
    of payment: that can only raise delta. The loss L of the transcript is then the sum of the X(z), and
    |L| <= S as long as no z was bad. Let V = h_v(epsilon - L) until a z is bad, and one from then on.
    With x = epsilon - L, a step raises the mean of V, given its past, by at most a + m:
    let bad z have infinite losses, and h be one at -infinity. The mean of V after the step is that of
    h_{v-c}(x - X) = E[(1 - e^(x-Z-X))+], so it is the mean, over Z, of the pair's curve at x - Z, and at most
    what a law gives. Where x >= 0, its finite losses give h_v(x) + a at most, by (1), the infinite ones m.
    Where x < 0 the reversed pair at -x, which is in its range, has a mean of at most h_v(-x) + a + m. Every
    pair's curve D and that of its reverse, D', obey D(x) = 1 - e^x + e^x·D'(-x), those of normal pairs and of
    their products included, so the mean of V is at most

        1 - e^x + e^x·(h_v(-x) + a + m) <= h_v(x) + a + m.

    So the mean of V, delta - M at the start, never exceeds delta. At the end V >= (1 - e^(epsilon-L))+,
    whose mean is the delta of all that was seen.                                                        []

A package needs one pair that serves whatever it is used for; nothing of it that is not drawn is given back.

**What follows.** While S + R <= epsilon everything fits whose bad outputs the reserve can pay (c = v will
do): epsilons add up, at least. A first step needs (1) at x = epsilon only, where c = v asks for the delta of
its finite losses: what is composed exactly and fixed in advance fits, at least. Gaussian steps cost their v.

**Packages that are used bit by bit.** A plan may be paid for once and be used for T numbers later, with other
spending in between. Nothing changes: every number is K(z), where z is drawn from one of two fixed laws (the
dominating pair of the plan's noise, one law for each neighbor) and K is random, may depend on all earlier
answers and on the question, and does not know which neighbor is the true one. Draw all T of the z at the
moment of payment and apply K when the number is asked for: the transcript is a function of what was drawn,
payment by payment, in the order in which the proofs add up.
"""
