"""The Euclidean norm: the least certified epsilon among Gaussian, boosted Gaussian and Laplace noise."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from scipy.stats import chi2, gamma

from pbdp.accounting.exact.ball import BallAccountant
from pbdp.errors import CannotCertifyError, InputError
from pbdp.mechanism.absolute import AbsoluteRegion
from pbdp.mechanism.coordinates import Coordinates
from pbdp.mechanism.requirement import Requirement
from pbdp.planning.certificate import Certified
from pbdp.planning.plan import Plan
from pbdp.planning.vectors.ask import plan_vector, vector_plan
from pbdp.planning.vectors.euclidean import best_boosted, boosted_gaussian, plain_gaussian, spherical_designs
from pbdp.planning.vectors.spherical import Rounding, rounding_for
from pbdp.planning.vectors.spherical_gaussian import SphericalGaussian
from pbdp.planning.vectors.spherical_laplace import SphericalLaplace
from tests.accounting.exact.test_ball import to_twenty_digits
from tests.effort import cases


def plan(dimensions: int, within: float, confidence: float = 0.9, delta: float = 1e-6) -> Plan:
    made = plan_vector(
        within=within, confidence=confidence, dimensions=dimensions, norm="l2", sensitivity=1.0, delta=delta
    )
    # in one dimension noise for single numbers is compared as well
    return vector_plan(made.requirement, spherical_designs)


def entries(made: Plan) -> dict[str, Certified]:
    return {entry.design.name: entry for entry in (made.chosen, *made.others)}


def left(rounding: Rounding, made: Plan) -> float:
    """What rounding every coordinate by half a step leaves of the width."""
    return made.requirement.half_width - (rounding.step + rounding.answer_step) / 2 * math.sqrt(
        made.requirement.dimensions
    )


@pytest.mark.parametrize("dimensions", [1, 2, 5, 100])
def test_the_confidence_is_below_forty_digits_of_it_less_the_error_of_the_sampler(dimensions: int) -> None:
    made = plan(dimensions, 3 * math.sqrt(dimensions))
    with mpmath.workdps(40):
        for entry in entries(made).values():
            design, proof = entry.design, entry.certificate
            assert isinstance(design, SphericalGaussian | SphericalLaplace)
            edge = mpmath.mpf(design.rounding.room(made.requirement))
            if isinstance(design, SphericalLaplace):
                exact = mpmath.gammainc(dimensions, 0, edge / design.scale, regularized=True)
            else:
                half = (edge / design.sigma) ** 2 / 2
                inside = mpmath.gammainc(mpmath.mpf(dimensions) / 2, 0, half, regularized=True)
                exact = inside / (inside + design.kept * (1 - inside))
            assert proof.confidence <= exact - proof.table_error
            assert proof.confidence >= exact - proof.table_error - 1e-11


@pytest.mark.parametrize("dimensions", [1, 2, 5, 100, 10_000])
def test_confidence_is_met_by_the_law_itself(dimensions: int) -> None:
    made = plan(dimensions, 3 * math.sqrt(dimensions))

    for entry in entries(made).values():
        match entry.design:
            case SphericalGaussian(sigma=sigma, kept=kept, rounding=rounding):
                inside = chi2(dimensions).cdf((left(rounding, made) / sigma) ** 2)
                actual = inside / (inside + kept * (1 - inside))
            case SphericalLaplace(scale=scale, rounding=rounding):
                actual = gamma(dimensions).cdf(left(rounding, made) / scale)
            case _:
                raise AssertionError
        assert 0.9 <= entry.certificate.confidence == pytest.approx(actual, rel=1e-9)
        assert actual == pytest.approx(0.9, rel=1e-6)


def test_the_least_epsilon_is_chosen_and_the_others_are_shown() -> None:
    made = plan(10, 5.0)
    shown = [made.epsilon, *(other.epsilon for other in made.alternatives)]

    assert shown == sorted(shown)
    assert {made.mechanism.name, *(other.family for other in made.alternatives)} == {
        "gaussian",
        "boosted gaussian",
        "laplace",
    }
    assert all(other.guaranteed for other in made.alternatives)


def test_laplace_wins_in_few_dimensions_and_gaussian_in_many() -> None:
    assert plan(2, 5.0).mechanism.name == "laplace"
    assert plan(200, 30.0).mechanism.name in {"gaussian", "boosted gaussian"}


def test_boosting_pays_when_the_width_is_of_the_order_of_the_sensitivity() -> None:
    certified = entries(plan(3, 2.0, confidence=0.8))

    assert certified["boosted gaussian"].certificate.epsilon < 0.6 * certified["gaussian"].certificate.epsilon


def test_the_boost_is_the_best_of_a_fine_scan() -> None:
    requirement = plan(3, 3.0).requirement
    best = best_boosted(requirement)
    assert best is not None
    scan = [
        design.accountant(requirement).estimated_epsilon(1e-6)
        for loss in np.linspace(0.02, 8, 120)
        if (design := boosted_gaussian(requirement, float(loss))) is not None
    ]

    assert best.accountant(requirement).estimated_epsilon(1e-6) <= min(scan) * (1 + 1e-6)


def test_plain_sigma_is_the_largest() -> None:
    requirement = plan(7, 4.0).requirement
    best = plain_gaussian(requirement)

    assert replace(best, sigma=best.sigma * (1 + 1e-8)).certificate(requirement) is None


def test_the_laplace_loss_is_that_of_the_densities() -> None:
    """Over random outputs and shifts of length 1 the log-ratio comes near epsilon and never exceeds it."""
    made = plan(3, 6.0)
    assert isinstance(made.mechanism, SphericalLaplace)
    draw = np.random.default_rng(5)
    shift = draw.normal(size=(20_000, 3))
    shift /= np.linalg.norm(shift, axis=1, keepdims=True)
    output = draw.normal(size=(20_000, 3)) * 10
    output[:100] = -shift[:100] * 7
    losses = np.linalg.norm(output - shift, axis=1) - np.linalg.norm(output, axis=1)

    assert 0.999 * made.epsilon < np.max(losses) / made.mechanism.scale <= made.epsilon


@pytest.mark.parametrize("seed", range(cases(30)))
def test_random_requirements_hold_what_is_promised(seed: int) -> None:
    draw = np.random.default_rng(seed)
    dimensions = int(np.exp(draw.uniform(0, 7)))
    made = plan_vector(
        within=float(np.exp(draw.uniform(0, 3))) * math.sqrt(dimensions),
        confidence=float(draw.uniform(0.5, 0.99)),
        dimensions=dimensions,
        norm="l2",
        sensitivity=float(np.exp(draw.uniform(-1, 1))),
        delta=float(10 ** draw.uniform(-10, -3)),
        neighbors=str(draw.choice(["add/remove", "replace"])),
    )
    made = vector_plan(made.requirement, spherical_designs)

    assert made.confidence >= made.requirement.confidence
    for entry in entries(made).values():
        proof, design = entry.certificate, entry.design
        assert isinstance(design, SphericalGaussian | SphericalLaplace)
        assert proof.epsilon_lower <= proof.epsilon
        assert proof.table_error == design.sampling_error(made.requirement) > 0
        taken = (1 + math.exp(proof.epsilon)) * proof.table_error
        if isinstance(design, SphericalGaussian):
            found = design.accountant(made.requirement).delta_at(proof.epsilon)
            assert found.upper + taken <= (made.delta or 0.0)
            # rounding and sampling cost less than a thousandth here
            assert proof.epsilon <= proof.epsilon_lower * (1 + 1e-3)
        else:
            assert taken <= (made.delta or 0.0)


@pytest.mark.parametrize(
    ("dimensions", "within", "confidence"), [(2, 3.0, 0.8), (3, 2.0, 0.8), (10, 5.0, 0.9), (100, 8.0, 0.9)]
)
def test_the_certificate_is_above_twenty_digits_of_what_is_released(
    dimensions: int, within: float, confidence: float
) -> None:
    """Density by density, for answers as far apart as rounding can put them, the sampler's error on top."""
    made = plan(dimensions, within, confidence)
    for entry in entries(made).values():
        design, proof = entry.design, entry.certificate
        if not isinstance(design, SphericalGaussian):
            continue
        apart = made.requirement.sensitivity + design.rounding.answer_step * math.sqrt(dimensions)
        edge = left(design.rounding, made)
        with mpmath.workdps(20):
            case = (dimensions, design.sigma, edge, 1 - design.kept, apart)
            found, less = (to_twenty_digits((*case, share * proof.epsilon)) for share in (1.0, 0.99))
        charged = found + (1 + math.exp(proof.epsilon)) * proof.table_error
        assert charged <= (made.delta or 0.0) * (1 + 1e-12)
        assert less > (made.delta or 0.0)


def test_the_unit_does_not_matter() -> None:
    """A power of two moves all steps along; any other may change them, which costs next to nothing."""
    base = plan(4, 3.0)
    for unit, same in ((2.0**66, 1e-12), (1e20, 1e-3)):
        scaled = plan_vector(
            within=3 * unit, confidence=0.9, dimensions=4, norm="l2", sensitivity=unit, delta=1e-6
        )
        assert scaled.epsilon == pytest.approx(base.epsilon, rel=same)


def test_rounding_and_sampling_are_said_to_be_covered() -> None:
    lines = plan(2, 5.0).assumptions

    assert any("rounded" in line and "part of the guarantee" in line for line in lines)
    assert any("total variation" in line and "charged to delta" in line for line in lines)


def test_a_delta_that_the_sampler_uses_up_is_refused() -> None:
    with pytest.raises(CannotCertifyError, match="too small"):
        plan(1000, 100.0, delta=1e-14)


@pytest.mark.parametrize(("dimensions", "within"), [(100, 5.0)])
def test_whatever_the_sampler_uses_up_is_taken_off_delta(dimensions: int, within: float) -> None:
    """Down to deltas of which it takes a large part, where epsilon grows and the charge with it."""
    base = plan(dimensions, within)
    shares = []
    for entry in entries(base).values():
        design = entry.design
        if not isinstance(design, SphericalGaussian):
            continue
        for delta in np.geomspace(1e-15, 1e-7, 49):
            asked = replace(base.requirement, delta=float(delta))
            try:
                proof = design.certificate(asked)
            except CannotCertifyError:
                continue
            assert proof is not None
            taken = (1 + math.exp(proof.epsilon)) * proof.table_error
            assert design.accountant(asked).delta_at(proof.epsilon).upper + taken <= delta
            shares.append(taken / delta)
            if taken < 1e-3 * delta:
                break
    assert max(shares) > 0.1


def test_a_confidence_next_to_one_is_refused() -> None:
    with pytest.raises(CannotCertifyError):
        plan(3, 5.0, confidence=1 - 1e-14)


def test_a_width_below_the_sensitivity_is_met_by_a_large_boost() -> None:
    made = plan(10, 1.0)

    assert made.mechanism.name == "boosted gaussian"
    assert made.epsilon < 0.75 * entries(made)["laplace"].certificate.epsilon
    assert made.epsilon - made.certificate.epsilon_lower < 1e-3 * made.epsilon


def test_a_width_far_below_the_sensitivity_is_refused() -> None:
    """At epsilon 50 no sampler is near enough to its law."""
    with pytest.raises(CannotCertifyError, match="width"):
        plan(10, 0.01)


def test_the_accountant_is_that_of_rounded_answers_and_the_ball_that_rounding_leaves() -> None:
    made = plan(3, 5.0)
    entry = entries(made)["gaussian"].design
    assert isinstance(entry, SphericalGaussian)
    accountant = entry.accountant(made.requirement)

    assert isinstance(accountant, BallAccountant)
    assert accountant.sensitivity == pytest.approx(1 + entry.rounding.answer_step * math.sqrt(3), rel=1e-12)
    assert accountant.mechanism.radius == pytest.approx(left(entry.rounding, made), rel=1e-12)


@pytest.mark.parametrize("family", ["gaussian", "boosted gaussian", "laplace"])
@pytest.mark.parametrize("dimensions", [1, 3, 50])
def test_the_law_of_the_length_follows_from_the_density(family: str, dimensions: int) -> None:
    """P(|noise| <= t) is the integral of t^(d-1) times the density, up to a constant."""
    made = plan(dimensions, within=1.5 * math.sqrt(dimensions))
    design = entries(made)[family].design
    assert isinstance(design, SphericalGaussian | SphericalLaplace)
    asked = made.requirement
    lengths = np.linspace(0.0, 8 * asked.half_width, 100_001)[1:]
    logs = (dimensions - 1) * np.log(lengths) + design.log_density(asked, lengths)
    density = np.exp(logs - np.max(logs))
    found = np.cumsum(density) - density / 2

    law = design.length_below(asked, lengths)

    assert np.allclose(law, found / found[-1] * law[-1], atol=2e-4)
    assert law[-1] == pytest.approx(1, abs=1e-5)
    assert law[np.searchsorted(lengths, design.rounding.room(asked))] == pytest.approx(
        design.confidence(asked), abs=1e-3
    )


# ---------------------------------------------------------------------------------------------- rounding


def euclidean(dimensions: int = 4, within: float = 10.0, sensitivity: float = 1.0) -> Requirement:
    return Requirement(
        region=AbsoluteRegion.even(within),
        confidence=0.9,
        sensitivity=sensitivity,
        delta=1e-6,
        coordinates=Coordinates(dimensions=dimensions, norm="l2"),
    )


@pytest.mark.parametrize("dimensions", [1, 7, 100_000])
@pytest.mark.parametrize("within", [1e-90, 3.0, 1e90])
@pytest.mark.parametrize("ratio", [1e-6, 0.3, 40.0, 1e9])
def test_rounding_costs_a_thousandth_of_the_width_and_a_ten_thousandth_of_the_sensitivity(
    dimensions: int, within: float, ratio: float
) -> None:
    asked = euclidean(dimensions, within, within / ratio)
    rounding = rounding_for(asked)
    lost = Fraction(rounding.step) + Fraction(rounding.answer_step)

    assert (Fraction(asked.half_width) - Fraction(rounding.room(asked))) ** 2 >= lost**2 / 4 * dimensions, (
        "the room is rounded down"
    )
    assert rounding.room(asked) >= 0.998 * within
    added = Fraction(rounding.sensitivity(asked)) - Fraction(asked.sensitivity)
    assert added**2 >= Fraction(rounding.answer_step) ** 2 * dimensions, "the sensitivity is rounded up"
    assert rounding.sensitivity(asked) <= asked.sensitivity * (1 + 1.3e-4)


def test_rounded_answers_of_neighbors_are_never_further_apart_than_counted() -> None:
    asked = euclidean(dimensions=3, sensitivity=0.75)
    rounding = Rounding(step=0.5, answer_step=0.25)
    draw = np.random.default_rng(4)
    most = 0.0
    for _ in range(4000):
        change = draw.normal(size=3) * draw.integers(0, 2, 3)
        change *= 0.75 * (1 - 1e-12) / max(float(np.linalg.norm(change)), 1e-9)
        # just below the boundary between two steps, where rounding adds most
        before = (draw.integers(-9, 9, 3) + 0.5) * 0.25 - 1e-13 * np.sign(change)
        steps = [
            [rounding.answers.steps_of(Fraction(float(x))) for x in vector]
            for vector in (before, before + change)
        ]
        most = max(most, 0.25 * math.dist(*steps))

    assert most <= rounding.sensitivity(asked)
    assert most > 0.75 * 1.2


@pytest.mark.parametrize(
    ("step", "answer_step"),
    [(0.3, 0.25), (0.5, 0.3), (0.5, 0.5), (0.25, 0.5), (1.0, 2.0**-53), (math.nan, 0.5), (-1.0, 0.5)],
)
def test_steps_that_do_not_fit_are_refused(step: float, answer_step: float) -> None:
    with pytest.raises(InputError):
        Rounding(step=step, answer_step=answer_step)


def test_a_step_as_large_as_the_width_is_refused() -> None:
    with pytest.raises(CannotCertifyError):
        Rounding(step=16.0, answer_step=1.0).room(euclidean())
