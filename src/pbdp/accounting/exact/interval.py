"""Ranges of values, one a panel, and what becomes of them when they are combined."""

from __future__ import annotations

import numpy as np

from pbdp.noise.kernel import Array

Range = tuple[Array, Array]


def ordered(one: Array, two: Array) -> Range:
    """The range between two values, in either order."""
    return np.minimum(one, two), np.maximum(one, two)


def widened(values: Range, by: Array) -> Range:
    """Both ends moved outwards."""
    return values[0] - by, values[1] + by


def times(one: Range, two: Range) -> Range:
    """Interval product."""
    products = [a * b for a in one for b in two]
    return (
        np.minimum(np.minimum(products[0], products[1]), np.minimum(products[2], products[3])),
        np.maximum(np.maximum(products[0], products[1]), np.maximum(products[2], products[3])),
    )
