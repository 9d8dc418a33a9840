"""Composition of several releases, with bounds from both sides.

    loss_law            what one release reveals; why curves that lie above others stay there (the lemma)
    loss_distribution   losses on a grid, and the proof that the grid only adds
    composed            releases put together: `compose`, and the two curves between which its delta lies
    truncation          extreme losses set aside, for one question
    convolution         delta at every epsilon by a transform, with an error bound
    tilting             the tilt, the window and the step of the transform
    estimate            quick figures to scan candidates with (no guarantee)

`bridges.dp_accounting` exchanges distributions.
"""
