"""Composition of several releases, with bounds from both sides.

`release` says what one release reveals, `composed.compose` puts releases together, `estimate` scans
candidates (no guarantee); `bridges.dp_accounting` exchanges distributions. Proofs stand where they are used:
`loss_law` (the order of curves), `discretize` (the grid), `convolve` and `curve` (transform and window),
`lower_curve` (lower bounds).
"""
