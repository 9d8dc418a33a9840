"""The paper's privacy accounting, reproduced as published. Not a source of guarantees.

The formulas in this folder are those of "Meeting Utility Constraints in Differential Privacy: A
Privacy-Boosting Approach". They are not upper bounds on the privacy loss of the boosted mechanism: for some
settings they are several times too small, for others far too large, and for very wide kernels they fall to
zero (SLIPS.md says why). They are kept to reproduce the paper's figures and to show the difference.

Nothing in here may produce a guarantee. Every result object carries the label "as published"; guarantees
come from `pbdp.accounting.exact` alone, and no path to a release computes anything in here.

Numbers of theorems, propositions, remarks and equations are those of the compiled paper. Where the text has
a slip, the docstring says whether the formula is kept literally or mended; SLIPS.md lists them all.

    kernel_loss      what the plain kernel loses: delta_Z(epsilon) and Rényi epsilon_0(alpha)
    measure          epsilon at a delta or an order, and the sigma of a kernel's epsilon_0
    boosted_loss     L1, L2, W1, W2, W3; Theorems 1 and 2, Propositions 1, 2 and 3, Algorithm 1
    special_cases    absolute error, relative error, fixed range: Propositions 4, 5 and 6, Remarks 3 and 4
    optimum          Algorithm 2
    figure           one number to show beside a plan
    mechanism        all of it for a mechanism of `pbdp.boosted`
"""

from reproduction.published.figure import PublishedFigure, published_epsilon, published_figures
from reproduction.published.kernel_loss import LABEL
from reproduction.published.measure import AtDelta, AtOrder
from reproduction.published.mechanism import PublishedMechanism, published
from reproduction.published.optimum import PublishedOptimum, Search
from reproduction.published.special_cases import AbsoluteError, FixedRange, Reading, RelativeError

__all__ = [
    "LABEL",
    "AbsoluteError",
    "AtDelta",
    "AtOrder",
    "FixedRange",
    "PublishedFigure",
    "PublishedMechanism",
    "PublishedOptimum",
    "Reading",
    "RelativeError",
    "Search",
    "published",
    "published_epsilon",
    "published_figures",
]
