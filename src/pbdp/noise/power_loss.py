"""The privacy loss |y-s|^β - |y|^β of noise with density ∝ exp(-|x|^β), β > 1, and its level crossings."""

from __future__ import annotations

import numpy as np

from pbdp.noise.kernel import Array

_EPS = float(np.finfo(np.float64).eps)


def score(x: Array, shape: float) -> Array:
    """The derivative of |x|^β: sign(x) β|x|^(β-1), and zero at zero."""
    return np.asarray(shape * np.sign(x) * np.abs(x) ** (shape - 1))


def loss(y: Array, shift: Array, shape: float) -> Array:
    """|y-s|^β - |y|^β, with a relative error of about β 1e-16 also where the two are close."""
    near, far = np.abs(y), np.abs(y - shift)
    # far - near, which a subtraction would spoil for |y| much larger than s.
    gap = np.clip(shift - 2 * y, -shift, shift)
    close = np.abs(gap) <= near / 2
    ratio = np.where(close, gap, 0.0) / np.where(close, near, 1.0)
    with np.errstate(invalid="ignore", over="ignore"):
        tight = near**shape * np.expm1(shape * np.log1p(ratio))
        return np.asarray(np.where(close, tight, far**shape - near**shape))


def crossing(level: Array, shift: Array, shape: float) -> Array:
    """The root y of |y-s|^β - |y|^β = level.

    The loss is odd about s/2, so only levels >= 0 are solved for. Left of zero, with m = -y, it lies between
    βs m^(β-1) and βs(m+s)^(β-1) (mean value theorem), which brackets m to within s. The result is accurate
    to the rounding of the loss; ±inf if it is beyond the range of floats.
    """
    height = np.abs(level)
    power = 1 / (shape - 1)
    with np.errstate(over="ignore", invalid="ignore"):
        beyond_zero = height > shift**shape
        reach = (height / (shape * shift)) ** power
        # The power magnifies rounding, so the bracket is a little wider than the theorem's.
        spread = 1 + 8 * _EPS * (2 + power)
        low = np.where(beyond_zero, -reach * spread, 0.0)
        high = np.where(beyond_zero, np.minimum(shift - reach / spread, 0.0), shift / 2)
    infinite = ~np.isfinite(low)
    root = _root(height, shift, shape, np.where(infinite, 0.0, low), np.where(infinite, 0.0, high))
    root = np.where(infinite, -np.inf, root)
    return np.asarray(np.where(level < 0, shift - root, root))


def _root(height: Array, shift: Array, shape: float, low: Array, high: Array) -> Array:
    """The y in [low, high] at which the loss is `height`, by Newton steps kept inside a shrinking bracket."""
    root = (low + high) / 2
    for turn in range(200):
        error = loss(root, shift, shape) - height
        low, high = np.where(error > 0, root, low), np.where(error > 0, high, root)
        with np.errstate(divide="ignore", invalid="ignore"):
            newton = root + error / (score(root, shape) - score(root - shift, shape))
        # Every fourth turn halves the bracket, so that the end is reached whatever Newton does.
        usable = (newton >= low) & (newton <= high) & (turn % 4 != 3)
        following = np.where(error == 0, root, np.where(usable, newton, (low + high) / 2))
        still = np.abs(following - root) <= 2 * _EPS * np.abs(root)
        root = following
        if still.all():
            break
    return root
