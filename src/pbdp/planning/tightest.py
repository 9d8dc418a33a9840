"""The absolute requirement inside a requirement that changes with the answer."""

from __future__ import annotations

import math

import numpy as np

from pbdp.mechanism.absolute import AbsoluteRegion
from pbdp.mechanism.custom import CustomRegion
from pbdp.mechanism.relative import RelativeRegion


def tightest(region: RelativeRegion | CustomRegion) -> AbsoluteRegion:
    """The absolute region inside the region of every answer: meeting it meets the requirement."""
    if isinstance(region, RelativeRegion):
        return AbsoluteRegion.even(float(math.floor(region.tau)))
    below, above = region.offsets(np.arange(region.low, region.high + 1))
    return AbsoluteRegion(below=float(np.floor(np.min(below))), above=float(np.floor(np.min(above))))
