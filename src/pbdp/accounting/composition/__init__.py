"""Composition of several releases, with bounds from both sides.

`release` says what one release reveals, `composed.compose` puts releases together, `estimate` scans
candidates (no guarantee); `bridges.dp_accounting` exchanges distributions. Proofs stand where they are used:
`loss_law` (the order of curves), `loss_distribution` (the grid), `curve` and `window` (transform and window),
`lower_curve` (lower bounds).
"""
