"""No claim below the truth, and none far above it: random designs against plain enumeration.

A design is a distinct kernel, region, boost and sensitivity. The truth is the largest figure over every pair
of whole answers at most the sensitivity apart, both ways (tests/brute/force.py, which shares no code with
pbdp). Its own rounding error, bounded there, is the only allowance.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pytest

from pbdp.accounting.exact.accountant import ExactAccountant
from pbdp.mechanism.absolute import AbsoluteRegion
from pbdp.mechanism.custom import CustomRegion
from pbdp.mechanism.design import Boosted
from pbdp.mechanism.fixed_range import FixedRegion
from pbdp.mechanism.region import Region
from pbdp.mechanism.relative import RelativeRegion
from pbdp.noise.gaussian import Gaussian
from pbdp.noise.kernel import Kernel
from pbdp.noise.laplace import DiscreteLaplace, Laplace
from pbdp.noise.table import TableKernel
from tests.brute import designs, force, quadrature
from tests.brute.designs import Array, Noise, Random
from tests.brute.tally import Tally
from tests.effort import cases

# ------------------------------------------------------------------- many absolute regions on a lattice


@pytest.mark.parametrize("chunk", range(4))
def test_thousands_of_absolute_designs(chunk: int) -> None:
    rng = np.random.default_rng([20, chunk])
    tally = Tally()
    while tally.designs < cases(25_000):
        block = designs.block(rng, size=25)
        truth = block.truths()
        rounding = force.ROUNDING * (1 + (truth if block.order else 0))
        tally.add(truth, *block.claims(), rounding, block)
    tally.confirm()
    assert tally.claimed_for_nothing < 1e-14


def test_epsilon_at_a_flat_stretch_of_the_loss() -> None:
    """Where the loss is flat and equals epsilon but for rounding, in or out is a matter of the last digit."""
    rng = np.random.default_rng(21)
    tally = Tally()
    while tally.designs < cases(5_000):
        block = designs.block(rng, size=10, at_a_loss=True)
        tally.add(block.truths(), *block.claims(), force.ROUNDING, block)
    tally.confirm()


# ------------------------------------------------------------------ the accountant, every region on a lattice


@dataclass(frozen=True, slots=True, kw_only=True)
class Design:
    """One mechanism, and the laws of all answers that differ: row i is the law of the i-th answer."""

    accountant: ExactAccountant
    noise: Noise
    below: Array
    above: Array

    def log_laws(self, extra: int = 0) -> force.Real:
        n = force.noise_values(self.noise.reach + extra)
        return force.boosted(
            self.noise.log_masses(n), n, self.below, self.above, self.accountant.mechanism.boost
        )

    def worst(self, laws: force.Real, figure: force.Figure) -> float:
        return force.worst_pair(laws, int(self.accountant.sensitivity), figure)


def design(rng: Random, kind: str, noise: Noise, hard: bool = False) -> Design:
    """A random region of a kind, with the boost that a random confidence asks of its first answer."""
    sensitivity = int(rng.integers(1, force.PAD + 1))
    region, below, above = REGIONS[kind](rng, noise, sensitivity)
    n = force.noise_values(noise.reach)
    boost = force.boost_of(noise.log_masses(n), n, below[0], above[0], float(rng.uniform(0.3, 0.99)))
    mechanism = Boosted(kernel=noise.kernel, region=region, boost=1.0 if hard else boost)
    return Design(
        accountant=ExactAccountant(mechanism=mechanism, sensitivity=sensitivity),
        noise=noise,
        below=below,
        above=above,
    )


def absolute(rng: Random, _noise: Noise, sensitivity: int) -> tuple[Region, Array, Array]:
    below, above = designs.offsets(rng, 1)
    every = np.ones(sensitivity + 1)
    return AbsoluteRegion(below=float(below[0]), above=float(above[0])), below * every, above * every


def relative(rng: Random, noise: Noise, sensitivity: int) -> tuple[Region, Array, Array]:
    """|y - Q| <= theta |Q| + tau; beyond the last answer listed the region covers the whole reach."""
    theta = rng.uniform(0.15, 0.9)
    tau = float(rng.choice([float(rng.integers(0, 10)), rng.uniform(0, 10)]))
    nonnegative = bool(rng.random() < 0.5)
    last = math.ceil(max(noise.reach - tau, 0) / theta) + sensitivity + 1
    answers = np.arange(0 if nonnegative else -last, last + 1)
    reach = theta * np.abs(answers) + tau
    return RelativeRegion(theta=theta, tau=tau, nonnegative=nonnegative), reach, reach


def fixed(rng: Random, _noise: Noise, sensitivity: int) -> tuple[Region, Array, Array]:
    low = int(rng.integers(-30, 30))
    high = low + sensitivity + int(rng.integers(0, 60))
    answers = np.arange(low, high + 1)
    return FixedRegion(low=low, high=high), (answers - low).astype(float), (high - answers).astype(float)


def custom(rng: Random, _noise: Noise, sensitivity: int) -> tuple[Region, Array, Array]:
    low = int(rng.integers(-30, 30))
    count = 1 + sensitivity + int(rng.integers(0, 40))
    below, above = rng.uniform(0, 12, count), rng.uniform(0, 12, count)
    ends = [(low + i - b, low + i + a) for i, (b, a) in enumerate(zip(below, above, strict=True))]
    answers = np.arange(low, low + count)
    # what counts is the interval as the function returns it
    below, above = answers - np.array([e[0] for e in ends]), np.array([e[1] for e in ends]) - answers
    return CustomRegion(interval=lambda q: ends[q - low], low=low, high=low + count - 1), below, above


REGIONS = {"absolute": absolute, "relative": relative, "fixed": fixed, "custom": custom}


def small(rng: Random, families: tuple[designs.Maker, ...] = designs.LATTICE) -> Noise:
    """Noise whose window is short enough to enumerate all answers of a relative region."""
    while True:
        noise = families[int(rng.integers(len(families)))](rng)
        if noise.reach <= 110:
            return noise


@pytest.mark.parametrize(
    ("kind", "count"), [("absolute", 2000), ("relative", 300), ("fixed", 500), ("custom", 300)]
)
def test_delta_of_the_accountant(kind: str, count: int) -> None:
    rng = np.random.default_rng([22, len(kind)])
    tally = Tally()
    for _ in range(cases(count)):
        case = design(rng, kind, small(rng), hard=bool(rng.random() < 0.05))
        epsilon = float(rng.choice([0.0, rng.uniform(0, 4), designs.log_uniform(rng, 1e-3, 8)]))
        truth = case.worst(np.exp(case.log_laws()), force.hockey_stick(epsilon))
        claim = case.accountant.delta_at(epsilon)
        tally.add(truth, claim.lower, claim.upper, force.ROUNDING, (case.accountant, epsilon))
    tally.confirm()


@pytest.mark.parametrize(
    ("kind", "count"), [("absolute", 500), ("relative", 40), ("fixed", 80), ("custom", 80)]
)
def test_epsilon_of_the_accountant(kind: str, count: int) -> None:
    """Delta at the claimed epsilon does not exceed the one asked for; a millionth below it mostly does."""
    rng = np.random.default_rng([23, len(kind)])
    tight, close, finite = 0, 0, 0
    for _ in range(cases(count)):
        case = design(rng, kind, small(rng))
        delta = designs.log_uniform(rng, 1e-9, 0.3)
        claim = case.accountant.epsilon_at(delta)
        laws = np.exp(case.log_laws())

        def truth(epsilon: float, case: Design = case, laws: force.Real = laws) -> float:
            return case.worst(laws, force.hockey_stick(epsilon))

        if math.isinf(claim.upper):
            assert truth(600.0) > delta - force.ROUNDING, (case.accountant, delta, claim)
            continue
        assert truth(claim.upper) <= delta + force.ROUNDING, (case.accountant, delta, claim)
        if claim.upper > 1e-8:
            assert truth(claim.lower) >= delta - force.ROUNDING, (case.accountant, delta, claim)
            assert truth(claim.upper * (1 - 1e-3)) > delta, (case.accountant, delta, claim)
            finite += 1
            tight += truth(claim.upper * (1 - 1e-6)) > delta
            close += claim.lower > claim.upper * (1 - 1e-6)
    assert min(tight, close) > 0.9 * finite


@pytest.mark.parametrize(
    ("kind", "count"), [("absolute", 500), ("relative", 100), ("fixed", 150), ("custom", 100)]
)
def test_renyi_of_the_accountant(kind: str, count: int) -> None:
    rng = np.random.default_rng([24, len(kind)])
    tally = Tally()
    for _ in range(cases(count)):
        case = design(rng, kind, small(rng, designs.UNBOUNDED))
        order = float(rng.uniform(1.05, 5))
        truth = case.worst(case.log_laws(extra=100), force.renyi(order))
        claim = case.accountant.renyi_at(order)
        rounding = force.ROUNDING * (1 + truth) / (order - 1)
        tally.add(truth, claim.lower, claim.upper, rounding, (case.accountant, order))
    tally.confirm()


@pytest.mark.parametrize(
    ("kind", "count"), [("absolute", 500), ("relative", 100), ("fixed", 150), ("custom", 100)]
)
def test_pure_epsilon_of_the_accountant(kind: str, count: int) -> None:
    rng = np.random.default_rng([25, len(kind)])
    tally = Tally()
    for _ in range(cases(count)):
        case = design(rng, kind, small(rng, (designs.laplace, designs.staircase, designs.huber)))
        truth = case.worst(case.log_laws(), force.largest_loss)
        claim = case.accountant.pure_epsilon()
        # a difference of two logs of up to 100
        tally.add(truth, claim.lower, claim.upper, 100 * force.ROUNDING, case.accountant)
    tally.confirm()


def test_plain_noise_on_a_range_narrower_than_the_sensitivity() -> None:
    """Answers 0 and 1 only, so no two neighbors are 8 apart: what is claimed to be reached must be."""
    n = force.noise_values(60)
    laws = np.exp(force.normalized(force.laplace(n, 1.0)))[None].repeat(2, axis=0)
    truth = force.worst_pair(laws, 8, force.hockey_stick(0.5))
    mechanism = Boosted(kernel=DiscreteLaplace(scale=1.0), region=FixedRegion(low=0, high=1), boost=0.0)

    claim = ExactAccountant(mechanism=mechanism, sensitivity=8).delta_at(0.5)

    assert claim.lower <= truth + force.ROUNDING
    assert claim.upper >= truth - force.ROUNDING


@pytest.mark.parametrize(
    ("row", "start", "theta", "nonnegative", "sensitivity"),
    [
        ((2, 2, 17, 16, 13, 12, 11, 8, 6, 3), -2, 0.6, False, 2),
        ((1, 2, 2, 2, 5, 6, 7, 4, 3, 3, 1, 1, 1), -6, 0.3, False, 1),
        ((7, 1, 8, 1, 8, 1, 7), -3, 0.1, False, 2),
        ((6, 5, 2, 4, 4, 4, 4, 4, 2, 5, 6), -5, 0.1, True, 2),
    ],
)
def test_noise_that_is_lopsided_or_has_bumps_is_looked_at_for_every_answer(
    row: tuple[int, ...], start: int, theta: float, nonnegative: bool, sensitivity: int
) -> None:
    """Where a search over mirror images, or by envelopes, would find less."""
    law, n = np.array(row) / sum(row), force.noise_values(12)
    answers = np.arange(0 if nonnegative else -110, 111)
    reach = theta * np.abs(answers) + 1.5
    region = RelativeRegion(theta=theta, tau=1.5, nonnegative=nonnegative)
    kernel, masses = TableKernel(probabilities=law, start=start), force.table(n, law, start)
    tally = Tally()
    for boost in (0.4, 0.8):
        laws = np.exp(force.boosted(force.normalized(masses), n, reach, reach, boost))
        mechanism = Boosted(kernel=kernel, region=region, boost=boost)
        accountant = ExactAccountant(mechanism=mechanism, sensitivity=sensitivity)
        for epsilon in (0.0, 0.5, 1.0):
            truth = force.worst_pair(laws, sensitivity, force.hockey_stick(epsilon))
            claim = accountant.delta_at(epsilon)
            tally.add(truth, claim.lower, claim.upper, force.ROUNDING, (boost, epsilon))
    tally.confirm()


@pytest.mark.parametrize("odd", [0, 9])
@pytest.mark.parametrize(("usual", "other"), [(4.0, 0.0), (0.0, 4.0)])
def test_an_answer_at_the_end_of_a_custom_region_counts(usual: float, other: float, odd: int) -> None:
    """One answer's interval is unlike all others, so the worst pair begins or ends there."""
    answers, n = np.arange(10), force.noise_values(60)
    reach = np.where(answers == odd, other, usual)
    laws = np.exp(force.boosted(force.normalized(force.laplace(n, 1.2)), n, reach, reach, 0.8))
    region = CustomRegion(interval=lambda q: (q - reach[q], q + reach[q]), low=0, high=9)
    mechanism = Boosted(kernel=DiscreteLaplace(scale=1.2), region=region, boost=0.8)
    tally = Tally()
    for epsilon in (0.5, 1.5, 2.5):
        truth = force.worst_pair(laws, 1, force.hockey_stick(epsilon))
        claim = ExactAccountant(mechanism=mechanism, sensitivity=1).delta_at(epsilon)
        tally.add(truth, claim.lower, claim.upper, force.ROUNDING, epsilon)
    tally.confirm()


@pytest.mark.parametrize("epsilon", [0.0, 0.7, 1.6])
@pytest.mark.parametrize("boost", [0.3, 0.9])
def test_both_ends_of_a_range_much_longer_than_the_noise_count(boost: float, epsilon: float) -> None:
    """Every pair of answers, where the search looks at those near either end and at one between."""
    n, answers = force.noise_values(40), np.arange(221.0)
    laws = force.boosted(force.normalized(force.laplace(n, 0.7)), n, answers, 220 - answers, boost)
    truth = force.worst_pair(np.exp(laws), 2, force.hockey_stick(epsilon))
    kernel, region = DiscreteLaplace(scale=0.7), FixedRegion(low=0, high=220)
    mechanism = Boosted(kernel=kernel, region=region, boost=boost)
    tally = Tally()

    claim = ExactAccountant(mechanism=mechanism, sensitivity=2).delta_at(epsilon)

    tally.add(truth, claim.lower, claim.upper, force.ROUNDING, (boost, epsilon))
    tally.confirm()


# ------------------------------------------------------------------------------------- continuous noise


def continuous(rng: Random) -> tuple[Kernel, quadrature.Density]:
    scale = designs.log_uniform(rng, 0.2, 5)
    if rng.random() < 0.5:
        return Gaussian(sigma=scale), quadrature.gaussian(scale)
    return Laplace(scale=scale), quadrature.laplace(scale)


def law_at(mechanism: Boosted, density: quadrature.Density, answer: float) -> quadrature.Law:
    """The region's own definition, written out."""
    match mechanism.region:
        case AbsoluteRegion(below=below, above=above):
            low, high = answer - below, answer + above
        case RelativeRegion(theta=theta, tau=tau):
            low, high = answer - (theta * abs(answer) + tau), answer + (theta * abs(answer) + tau)
        case FixedRegion(low=low, high=high):
            pass
        case _:
            raise AssertionError
    return quadrature.Law(density=density, answer=answer, low=low, high=high, boost=mechanism.boost)


def test_delta_of_continuous_noise_around_the_answer() -> None:
    rng = np.random.default_rng(26)
    tally = Tally()
    for _ in range(cases(1000)):
        kernel, density = continuous(rng)
        below, above = (float(v[0]) for v in designs.offsets(rng, 1))
        boost, sensitivity = (
            float(rng.choice([0.0, rng.uniform(0, 1)], p=[0.1, 0.9])),
            float(rng.uniform(0.1, 6)),
        )
        mechanism = Boosted(kernel=kernel, region=AbsoluteRegion(below=below, above=above), boost=boost)
        epsilon = float(rng.choice([0.0, rng.uniform(0, 4)], p=[0.1, 0.9]))
        first = law_at(mechanism, density, 0.0)
        truth = max(
            quadrature.delta(first, law_at(mechanism, density, sign * part * sensitivity), epsilon)
            for part in (0.25, 0.75, 1.0)
            for sign in (1, -1)
        )
        claim = ExactAccountant(mechanism=mechanism, sensitivity=sensitivity).delta_at(epsilon)
        tally.add(truth, claim.lower, claim.upper, quadrature.ROUNDING, (mechanism, sensitivity, epsilon))
    tally.confirm()


@pytest.mark.parametrize("kind", ["relative", "fixed"])
def test_delta_of_continuous_noise_with_a_region_that_changes(kind: str) -> None:
    """No pair of answers exceeds the claim; the pair that pbdp names as the worst is legal and reaches it."""
    rng = np.random.default_rng([27, len(kind)])
    tally = Tally()
    for _ in range(cases(8)):
        scale = designs.log_uniform(rng, 0.4, 3)
        kernel, density = (
            (Gaussian(sigma=scale), quadrature.gaussian(scale))
            if rng.random() < 0.5
            else (Laplace(scale=scale), quadrature.laplace(scale))
        )
        region: Region
        if kind == "relative":
            region = RelativeRegion(
                theta=rng.uniform(0.2, 0.8), tau=rng.uniform(0.5, 5), nonnegative=bool(rng.integers(2))
            )
        else:
            region = FixedRegion(low=-1.5, high=float(rng.uniform(0, 10)))
        mechanism = Boosted(kernel=kernel, region=region, boost=float(rng.uniform(0.1, 0.95)))
        sensitivity, epsilon = float(rng.uniform(0.3, 4)), float(rng.uniform(0, 3))
        accountant = ExactAccountant(mechanism=mechanism, sensitivity=sensitivity)
        claim = worst = accountant.worst_pair_at(epsilon, tolerance=2e-7)
        least, most = region.answers
        assert least <= min(worst.answer, worst.other)
        assert max(worst.answer, worst.other) <= most
        assert abs(worst.answer - worst.other) <= sensitivity * (1 + 1e-12)
        pairs = [(worst.answer, worst.other)]
        for _ in range(60):
            answer = float(rng.uniform(max(least, -20.0), min(most, 20.0)))
            other = answer + sensitivity * float(rng.choice([-1, 1, rng.uniform(-1, 1)]))
            pairs.append((answer, float(np.clip(other, least, most))))
        truth = max(
            quadrature.delta(law_at(mechanism, density, a), law_at(mechanism, density, b), epsilon)
            for a, b in pairs
            if a != b
        )
        tally.add(truth, claim.lower, claim.upper, quadrature.ROUNDING, (mechanism, sensitivity, epsilon))
    tally.confirm()


def test_renyi_of_continuous_noise_around_the_answer() -> None:
    rng = np.random.default_rng(28)
    tally = Tally()
    for _ in range(cases(300)):
        kernel, density = continuous(rng)
        below, above = (float(v[0]) for v in designs.offsets(rng, 1))
        boost, sensitivity = float(rng.uniform(0, 0.99)), float(rng.uniform(0.1, 4)) * min(density.scale, 2.0)
        mechanism = Boosted(kernel=kernel, region=AbsoluteRegion(below=below, above=above), boost=boost)
        order = float(rng.uniform(1.1, 4))
        first = law_at(mechanism, density, 0.0)
        truth = max(
            quadrature.renyi(first, law_at(mechanism, density, sign * part * sensitivity), order)
            for part in (0.5, 1.0)
            for sign in (1, -1)
        )
        claim = ExactAccountant(mechanism=mechanism, sensitivity=sensitivity).renyi_at(order)
        rounding = quadrature.ROUNDING * (1 + 10 * truth) / (order - 1)
        tally.add(truth, claim.lower, claim.upper, rounding, (mechanism, sensitivity, order))
    tally.confirm()
