"""Composition of several releases, with bounds from both sides.

    loss_law            what one release reveals; why curves that lie above others stay there (the lemma)
    loss_distribution   losses on a grid, and the proof that the grid only adds
    composed            releases put together: `compose`, with bounds from both sides
    case                a composition made ready for one question
    bracket             the two curves between which its delta lies
    convolution         delta at every epsilon by a transform, with an error bound
    window              the tilt, the window and the step of the transform
    lower_curve         lower bounds
    estimate            quick figures to scan candidates with (no guarantee)

`bridges.dp_accounting` exchanges distributions.
"""
