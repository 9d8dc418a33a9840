"""The paper's privacy accounting, reproduced as published. Not a source of guarantees.

The formulas in this folder are those of "Meeting Utility Constraints in Differential Privacy: A
Privacy-Boosting Approach". They are not upper bounds on the privacy loss of the boosted mechanism: for some
settings they are several times too small, for others far too large, and for very wide kernels they fall to
zero (SLIPS.md says why). They are kept to reproduce the paper's figures and to show the difference.

Nothing in here may produce a guarantee. Every result object carries the label "as published"; guarantees
come from `pbdp.accounting.exact` alone.

Numbers of theorems, propositions, remarks and equations are those of the compiled paper. Where the text has
a slip, the docstring says whether the formula is kept literally or mended; SLIPS.md lists them all.

    label            the label, and the readings of a formula that has a slip
    kernel_profile   what the plain kernel loses: delta_Z(epsilon) and Rényi epsilon_0(alpha)
    losses           L1, L2 and the weights W1, W2, W3 of a pair of answers
    theorem1         one release: Theorem 1, Propositions 1 and 2
    theorem2         T releases: Theorem 2, Proposition 3, Algorithm 1
    special_cases    absolute error, relative error, fixed range: Propositions 4, 5 and 6
    remarks          Remarks 3 and 4
    kernel_scale     from the kernel's epsilon_0 to its sigma
    optimum          Algorithm 2
    figure           one number to show beside a plan
"""
