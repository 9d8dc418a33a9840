"""The paper's rejection sampler, for its runtime figure only. It leaks: never release numbers with it.

The kernel proposes y; y in the preferred region is accepted, any other with probability 1 - q; else it is
proposed again. The accepted y has density proportional to w(y) f(y - Q), the boosted law (von Neumann 1951).
A proposal is accepted with probability C(Q) = 1 - q·pbar(Q), so the number of rounds is geometric with mean
1/C(Q). For relative error and for a fixed range C depends on the true answer: whoever can measure the time
learns something that no epsilon accounts for. The samplers of `pbdp.release` take the same steps for all.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pbdp.mechanism.boosted import Boosted
from pbdp.noise.gaussian import Gaussian
from pbdp.noise.kernel import Array


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Drawn:
    """Outputs, and how many proposals each of them took."""

    outputs: Array
    rounds: npt.NDArray[np.int64]


def rejection_sample(mechanism: Boosted, answer: float, count: int, generator: np.random.Generator) -> Drawn:
    """`count` outputs of a boosted Gaussian at one answer, all that are still rejected drawn again together.

    The generator is numpy's, as in the paper's experiment: fast, and not for private data either.
    """
    if not isinstance(mechanism.kernel, Gaussian):
        raise TypeError("the reproduction draws Gaussian kernels only")
    law = mechanism.law_at(answer)
    outputs, rounds = np.empty(count), np.zeros(count, dtype=np.int64)
    waiting = np.arange(count)
    while waiting.size:
        noise = generator.normal(0.0, mechanism.kernel.sigma, waiting.size)
        inside = (noise >= -law.below) & (noise <= law.above)
        accepted = inside | (generator.random(waiting.size) >= mechanism.boost)
        rounds[waiting] += 1
        outputs[waiting[accepted]] = law.answer + noise[accepted]
        waiting = waiting[~accepted]
    return Drawn(outputs=outputs, rounds=rounds)
