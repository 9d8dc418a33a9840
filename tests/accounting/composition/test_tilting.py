"""What lies outside a window, against all sums of losses."""

from __future__ import annotations

import numpy as np
import pytest

from pbdp.accounting.composition.tilting import Window, tails
from pbdp.noise.kernel import Array, Index


def tilted_law(parts: list[tuple[Array, Array, int]], tilt: float) -> tuple[Index, Array]:
    """Sums of indices from the least one on, and their masses times e^(tilt·loss), adding up to one."""
    least, masses = 0, np.ones(1)
    for losses, weights, count in parts:
        places = np.rint(losses / 0.1).astype(int)
        row = np.zeros(places[-1] - places[0] + 1)
        row[places - places[0]] = weights * np.exp(tilt * losses)
        for _ in range(count):
            masses, least = np.convolve(masses, row), least + int(places[0])
    return np.arange(least, least + len(masses), dtype=np.int64), masses / masses.sum()


@pytest.mark.parametrize("seed", range(6))
def test_no_more_lies_outside_a_window_than_is_said(seed: int) -> None:
    """Also where the rarest loss of all is what leaves it."""
    rng = np.random.default_rng(seed)
    for _ in range(6):
        parts = []
        for _ in range(int(rng.integers(1, 3))):
            places = np.sort(rng.choice(np.arange(-30, 31), int(rng.integers(2, 6)), replace=False))
            weights = rng.exponential(size=len(places))
            weights[[0, -1]] *= 1e-4
            parts.append((places * 0.1, weights / weights.sum(), int(rng.integers(1, 5))))
        tilt = float(rng.uniform(0, 3))
        sums, masses = tilted_law(parts, tilt)
        for first in range(int(sums[0]) - 2, int(sums[-1]), 7):
            for cells in (4, 32, 64, 128):
                window = Window(tilt=tilt, step=0.1, first=first, cells=cells, center=first)
                below, above = tails(parts, window)
                assert below >= masses[sums < first].sum() * (1 - 1e-12)
                assert above >= masses[sums >= first + cells].sum() * (1 - 1e-12)
                assert below == 0 or sums[0] < first
                assert above == 0 or sums[-1] >= first + cells
