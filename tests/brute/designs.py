"""Random designs, each in two forms: a pbdp kernel for the claim, and plain log-weights for the truth."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pbdp.accounting.exact.divergences import hockey_sticks, renyi_divergence
from pbdp.accounting.exact.pairs import Pairs
from pbdp.mechanism.absolute import AbsoluteRegion
from pbdp.mechanism.design import Boosted
from pbdp.noise.gaussian import DiscreteGaussian
from pbdp.noise.huber import Huber
from pbdp.noise.kernel import Kernel
from pbdp.noise.laplace import DiscreteLaplace
from pbdp.noise.staircase import Staircase
from pbdp.noise.table import TableKernel
from tests.brute import force

Array = npt.NDArray[np.float64]
Random = np.random.Generator


@dataclass(frozen=True, slots=True, kw_only=True)
class Noise:
    """A kernel, the same law as a formula, a reach that holds all but 1e-20 of it, and its loss a unit."""

    family: str
    kernel: Kernel
    log_weight: Callable[[force.Real], force.Real]
    reach: int
    rate: float = math.inf

    def log_masses(self, n: force.Real) -> force.Real:
        return force.normalized(self.log_weight(n))


def gaussian(rng: Random) -> Noise:
    sigma = log_uniform(rng, 0.4, 12)
    return Noise(
        family="gaussian",
        kernel=DiscreteGaussian(sigma=sigma),
        log_weight=lambda n: force.gaussian(n, sigma),
        reach=math.ceil(9.7 * sigma) + 10,
    )


def laplace(rng: Random) -> Noise:
    scale = log_uniform(rng, 0.3, 5)
    return Noise(
        family="laplace",
        kernel=DiscreteLaplace(scale=scale),
        log_weight=lambda n: force.laplace(n, scale),
        reach=math.ceil(48 * scale) + 10,
        rate=1 / scale,
    )


def huber(rng: Random) -> Noise:
    sigma = log_uniform(rng, 0.5, 4)
    knee = sigma * rng.uniform(0.7, 3)
    return Noise(
        family="huber",
        kernel=Huber(sigma=sigma, knee=knee).on_grid(),
        log_weight=lambda n: force.huber(n, sigma, knee),
        reach=math.ceil(knee + 48 * sigma**2 / knee) + 10,
        rate=knee / sigma**2,
    )


def staircase(rng: Random) -> Noise:
    loss, width, center = rng.uniform(0.3, 3), int(rng.integers(1, 9)), int(rng.integers(0, 13))
    loss = max(loss, width / 6)
    return Noise(
        family="staircase",
        kernel=Staircase(loss=loss, width=width, center=center),
        log_weight=lambda n: force.staircase(n, loss, width, center),
        reach=math.ceil(center + width * (48 / loss + 1)) + 10,
        rate=loss,
    )


def binomial(rng: Random) -> Noise:
    """A table that falls on either side of zero, and ends."""
    trials = 2 * int(rng.integers(1, 150))
    row = [math.comb(trials, heads) / 2**trials for heads in range(trials + 1)]
    return Noise(
        family="binomial",
        kernel=TableKernel(probabilities=row, start=-trials // 2),
        log_weight=lambda n: force.binomial(n, trials),
        reach=trials // 2 + 1,
    )


def table(rng: Random) -> Noise:
    """A table of random entries: unimodal (even or lopsided) or with bumps and gaps."""
    left, right = (int(v) for v in rng.integers(0, 12, 2))
    rows = rng.exponential(size=left), rng.exponential(size=right)
    if rng.random() < 0.5:
        row = np.concatenate(
            [np.cumsum(rows[0]), [rows[0].sum() + rows[1].sum() + 0.1], np.cumsum(rows[1])[::-1]]
        )
    else:
        row = np.concatenate([rows[0], [rng.random()], rows[1]]) * (rng.random(left + right + 1) < 0.9) + 1e-3
    row = row / math.fsum(row)
    return Noise(
        family="table",
        kernel=TableKernel(probabilities=row, start=-left),
        log_weight=lambda n: force.table(n, row, -left),
        reach=max(left, right) + 1,
    )


Maker = Callable[[Random], Noise]
UNBOUNDED: tuple[Maker, ...] = (gaussian, laplace, huber, staircase)
UNIMODAL: tuple[Maker, ...] = (*UNBOUNDED, binomial)
LATTICE: tuple[Maker, ...] = (*UNIMODAL, table)


def log_uniform(rng: Random, low: float, high: float) -> float:
    return float(np.exp(rng.uniform(math.log(low), math.log(high))))


def offsets(rng: Random, count: int) -> tuple[Array, Array]:
    """Absolute regions: a third even, a third lopsided, a third one-sided; ends whole and fractional."""
    below = np.where(rng.random(count) < 0.5, rng.integers(0, 16, count), rng.uniform(0, 16, count))
    above = np.where(rng.random(count) < 0.5, rng.integers(0, 16, count), rng.uniform(0, 16, count))
    kind = rng.integers(0, 6, count)
    above = np.where(kind < 2, below, np.where(kind == 4, np.inf, above))
    return np.where(kind == 5, np.inf, below), above


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """Designs of one kernel, boost and epsilon (or Rényi order), each with its region and sensitivity."""

    noise: Noise
    boost: float
    below: Array
    above: Array
    sensitivity: npt.NDArray[np.int_]
    epsilon: float
    order: float | None

    def truths(self) -> Array:
        """Largest figure of each design over all shifts, by enumeration."""
        extra = 0 if self.order is None else math.ceil(16 * (self.order - 1)) + 40
        n = force.noise_values(self.noise.reach + extra)
        laws = force.boosted(self.noise.log_masses(n), n, self.below, self.above, self.boost)
        if self.order is None:
            return force.worst_shift(np.exp(laws), self.sensitivity, force.hockey_stick(self.epsilon)).astype(
                float
            )
        return force.worst_shift(laws, self.sensitivity, force.renyi(self.order)).astype(float)

    def claims(self) -> tuple[Array, Array]:
        """Lower and upper figure of each design, from pbdp's vectorized functions at the largest shift."""
        kernel = self.noise.kernel
        mechanism = Boosted(kernel=kernel, region=AbsoluteRegion.even(0.0), boost=self.boost)
        below, above = np.tile(self.below, 2), np.tile(self.above, 2)
        scale = -np.log(mechanism.normalizer(below, above))
        everywhere = np.full(len(below), np.inf)
        pairs = Pairs(
            shift=np.concatenate([self.sensitivity, -self.sensitivity]).astype(np.float64),
            log_scale1=scale,
            below1=below,
            above1=above,
            log_scale2=scale,
            below2=below,
            above2=above,
            low=-everywhere,
            high=everywhere,
        )
        if self.order is None:
            lower, upper = (b[:, 0] for b in hockey_sticks(mechanism, pairs, np.array([self.epsilon])))
        else:
            lower, upper = renyi_divergence(kernel, pairs, mechanism.boost_loss, self.order)
        return lower.reshape(2, -1).max(axis=0), upper.reshape(2, -1).max(axis=0)


def block(rng: Random, size: int, at_a_loss: bool = False) -> Block:
    """A random block. `at_a_loss` puts epsilon exactly where a flat stretch of the loss may be."""
    order = float(rng.uniform(1.05, 6)) if rng.random() < 0.25 and not at_a_loss else None
    families = UNIMODAL if order is None else UNBOUNDED
    noise = families[rng.choice(len(families))](rng)
    below, above = offsets(rng, size)
    sensitivity = rng.integers(1, force.PAD + 1, size)
    n = force.noise_values(noise.reach)
    log_masses = noise.log_masses(n)
    boost = force.boost_of(log_masses, n, below[0], above[0], float(rng.uniform(0.3, 0.999)))
    kind = rng.random()
    if kind < 0.1:
        boost = 0.0
    elif kind < 0.15 and order is None:
        boost = 1.0
    epsilon = float(rng.choice([rng.uniform(0, 4), log_uniform(rng, 1e-3, 8)]))
    return Block(
        noise=noise,
        boost=boost,
        below=below,
        above=above,
        sensitivity=sensitivity,
        epsilon=_loss(rng, noise, boost, int(sensitivity[0])) if at_a_loss else epsilon,
        order=order,
    )


def _loss(rng: Random, noise: Noise, boost: float, shift: int) -> float:
    """A loss at which some stretch of outputs may sit, as rounded by the plain formula."""
    step = -math.log1p(-boost) if boost < 1 else 0.0
    plain = shift * noise.rate if math.isfinite(noise.rate) else 0.0
    return max(0.0, float(rng.choice([0.0, plain, plain + step, step, plain - step])))
