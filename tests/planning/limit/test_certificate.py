from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from pbdp.errors import InputError
from pbdp.planning.limit.certificate import DualCertificate, Strip
from pbdp.planning.limit.closed_form import strongest_closed_form
from pbdp.planning.limit.question import Question
from pbdp.planning.limit.search import Limit, least_epsilon
from tests.effort import FULL
from tests.planning.limit.dense_reference import largest_confidence, largest_confidence_of_mechanisms
from tests.planning.limit.exact_bound import exact_bound, exp_between

CASES = [
    (5, 5, 0.9, 1, 1e-5),
    (1, 1, 0.8, 4, 1e-5),
    (5, 5, 0.8, 4, 1e-2),
    (0, 0, 0.5, 3, 1e-3),
    (2, 7, 0.9, 4, 1e-2),
    (9, 9, 0.5, 6, 0.03),
    (2, 2, 0.8, 7, 0.05),
    (1, 1, 0.8, 17, 1e-9),
]


def limit_of(case: tuple[int, int, float, int, float]) -> Limit:
    limit = least_epsilon(*case)
    assert limit is not None
    return limit


def with_strip(certificate: DualCertificate, index: int, strip: Strip) -> DualCertificate:
    strips = list(certificate.strips)
    strips[index] = strip
    return replace(certificate, strips=tuple(strips))


def test_the_rational_exponential_encloses_a_known_value() -> None:
    low, high = exp_between(1.0)

    assert low < Fraction("2.718281828459045235360287471352662497757247093699959") < high
    assert high - low < Fraction(1, 10**40)


@pytest.mark.parametrize("case", CASES)
def test_the_proof_holds_in_exact_arithmetic(case: tuple[int, int, float, int, float]) -> None:
    limit = limit_of(case)

    assert exact_bound(limit.certificate, limit.epsilon) < Fraction(case[2])


@pytest.mark.parametrize("case", CASES)
def test_the_bound_in_floats_is_above_the_exact_one_and_close(
    case: tuple[int, int, float, int, float],
) -> None:
    certificate = limit_of(case).certificate
    exact = exact_bound(certificate, certificate.epsilon)

    assert exact <= Fraction(certificate.confidence_bound()) <= exact + Fraction(1, 10**12)


@pytest.mark.parametrize("case", CASES)
def test_no_law_on_a_window_has_a_larger_confidence_than_the_bound(
    case: tuple[int, int, float, int, float],
) -> None:
    below, above, _, sensitivity, delta = case
    certificate = limit_of(case).certificate
    for factor in (0.5, 0.9, 1.0, 1.1) if FULL else (0.9, 1.1):
        epsilon = certificate.epsilon * factor
        reached = largest_confidence(
            below, above, sensitivity, delta, epsilon=epsilon, reach=2 * sensitivity + 3
        )

        assert reached <= certificate.confidence_bound(epsilon) + 1e-8


@pytest.mark.parametrize("case", CASES)
def test_a_certificate_excludes_smaller_epsilons_and_not_much_larger_ones(
    case: tuple[int, int, float, int, float],
) -> None:
    certificate = limit_of(case).certificate

    assert certificate.proves(certificate.epsilon)
    assert certificate.proves(certificate.epsilon / 2)
    assert certificate.proves(0.0)
    assert not certificate.proves(certificate.epsilon * 1.001)
    assert not certificate.proves(-0.1)


@pytest.mark.parametrize("factor", [0.9, 0.999, 1.001, 1.1])
@pytest.mark.parametrize("case", CASES)
def test_scaled_weights_prove_nothing(case: tuple[int, int, float, int, float], factor: float) -> None:
    certificate = limit_of(case).certificate
    strips = tuple(replace(strip, weights=strip.weights * factor) for strip in certificate.strips)

    assert not replace(certificate, strips=strips).proves(certificate.epsilon)


@pytest.mark.parametrize("case", CASES)
def test_one_larger_weight_proves_nothing(case: tuple[int, int, float, int, float]) -> None:
    certificate = limit_of(case).certificate
    last = len(certificate.strips) - 1
    weights = certificate.strips[last].weights.copy()
    weights[len(weights) // 2] += 0.05

    tampered = with_strip(certificate, last, replace(certificate.strips[last], weights=weights))

    assert not tampered.proves(certificate.epsilon)


def test_an_endless_strip_made_finite_proves_less() -> None:
    certificate = limit_of(CASES[0]).certificate
    last = len(certificate.strips) - 1

    cut = with_strip(certificate, last, replace(certificate.strips[last], endless=False))

    assert cut.confidence_bound() > certificate.confidence_bound() + 0.01
    assert abs(exact_bound(cut, cut.epsilon) - Fraction(cut.confidence_bound())) < Fraction(1, 10**12)


def test_an_endless_part_that_is_too_large_is_seen_beyond_the_window() -> None:
    certificate = limit_of(CASES[0]).certificate
    last = certificate.strips[-1]
    heavier = replace(last, weights=np.concatenate([[1.5 * last.weights[0]], last.weights[1:]]))

    tampered = with_strip(certificate, len(certificate.strips) - 1, heavier)

    assert not tampered.proves(certificate.epsilon)
    assert exact_bound(tampered, tampered.epsilon) > Fraction(9, 10)


def test_weights_of_the_wrong_kind_are_refused() -> None:
    for weights in ([-1e-9, 1.0], [np.nan, 1.0], [np.inf, 1.0]):
        with pytest.raises(InputError, match="weights must be finite and not negative"):
            Strip(shift=1, first=0, weights=np.array(weights))
    with pytest.raises(InputError, match="a whole period"):
        Strip(shift=3, first=0, weights=np.ones(2), endless=True)
    with pytest.raises(InputError, match="shift must be at least 1"):
        Strip(shift=0, first=0, weights=np.ones(2))


def test_a_strip_with_copies_is_as_good_as_one_strip_a_shift() -> None:
    certificate = limit_of((1, 1, 0.8, 17, 1e-9)).certificate
    assert certificate.strips[-2].copies == 4
    apart = [
        replace(strip, shift=shift, copies=1, apart=0)
        for strip in certificate.strips
        for shift in strip.shifts.tolist()
    ]
    for answers in (None, 100):
        bound = certificate.confidence_bound(answers=answers)
        assert replace(certificate, strips=tuple(apart)).confidence_bound(answers=answers) == pytest.approx(
            bound, abs=1e-13
        )
    overlapping = Strip(shift=9, first=0, weights=np.array([0.1, 0.2, 0.3]), copies=4, apart=1)
    few = replace(certificate, strips=(overlapping, certificate.strips[-1]))
    assert abs(exact_bound(few, few.epsilon) - Fraction(few.confidence_bound())) < Fraction(1, 10**12)
    for copies, apart_by in ((4, 0), (4, 3), (0, 1)):
        with pytest.raises(InputError, match="copies"):
            Strip(shift=9, first=0, weights=np.ones(2), copies=copies, apart=apart_by)


def test_a_shift_beyond_the_sensitivity_is_refused() -> None:
    question = Question(points=3, sensitivity=2, confidence=0.9, delta=0.0)
    strip = Strip(shift=3, first=0, weights=np.ones(1))

    with pytest.raises(InputError, match="shifts must be at most 2"):
        DualCertificate(question=question, epsilon=1.0, strips=(strip,))
    with pytest.raises(InputError, match="block must be between 1 and 2"):
        DualCertificate(question=question, epsilon=1.0, strips=(), block=3)


def test_without_weights_the_bound_is_one() -> None:
    question = Question(points=3, sensitivity=2, confidence=0.9, delta=0.1)

    assert 1 <= DualCertificate(question=question, epsilon=1.0, strips=()).confidence_bound() < 1 + 1e-12


@pytest.mark.parametrize("answers", [2, 4, 9])
@pytest.mark.parametrize(
    "case", [(1, 1, 0.8, 1, 1e-3), (0, 1, 0.7, 2, 1e-2), (1, 1, 0.6, 2, 0.05), (0, 0, 0.5, 1, 0.0)]
)
def test_no_mechanism_for_a_range_of_answers_beats_the_bound(
    case: tuple[int, int, float, int, float], answers: int
) -> None:
    below, above, _, sensitivity, delta = case
    certificate = limit_of(case).certificate
    reached = largest_confidence_of_mechanisms(
        below, above, sensitivity, delta, epsilon=certificate.epsilon, answers=answers
    )

    assert reached <= certificate.confidence_bound(answers=answers) + 1e-8


def test_mechanisms_for_long_ranges_come_near_the_bound_that_no_additive_noise_beats() -> None:
    case = (1, 1, 0.6, 1, 1e-3)
    certificate = limit_of(case).certificate
    reached = [
        largest_confidence_of_mechanisms(1, 1, 1, 1e-3, epsilon=certificate.epsilon, answers=answers)
        for answers in (4, 8, 16)
    ]

    assert reached[0] > reached[1] > reached[2] > certificate.confidence_bound() - 1e-6
    assert reached[2] - certificate.confidence_bound() < 0.1


def test_a_range_of_answers_costs_less_the_longer_it_is() -> None:
    certificate = limit_of(CASES[0]).certificate
    bounds = [certificate.confidence_bound(answers=n) for n in (10, 1000, 10**9)]

    assert bounds[0] > bounds[1] > bounds[2] > certificate.confidence_bound()
    with pytest.raises(InputError, match="answers must be at least 1"):
        certificate.confidence_bound(answers=0)


def test_the_coarser_lattice_proves_a_limit_of_the_finer_one() -> None:
    question = Question.about(11, 12, 0.9, 12, 1e-2)
    coarse = question.coarsened(3)
    proof = strongest_closed_form(coarse)
    assert proof is not None
    lifted = DualCertificate(question=question, epsilon=proof.epsilon, strips=proof.strips, block=3)
    fine = tuple(
        Strip(
            shift=3 * strip.shift,
            first=3 * strip.first,
            weights=np.repeat(strip.weights, 3),
            endless=strip.endless,
        )
        for strip in proof.strips
    )
    written_out = DualCertificate(question=question, epsilon=proof.epsilon, strips=fine)

    assert lifted.proves(proof.epsilon)
    assert lifted.shifts == written_out.shifts
    assert written_out.confidence_bound() <= lifted.confidence_bound() + 1e-12
