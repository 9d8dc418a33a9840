"""Remark 3 (fixed range) and Remark 4 (absolute error), literally and mended."""

from __future__ import annotations

import math

from pbdp.domains import above_one
from pbdp.errors import InputError
from pbdp.noise.kernel import Kernel
from pbdp.published.kernel_profile import profile_of
from pbdp.published.label import Reading
from pbdp.published.losses import normalizer
from pbdp.published.special_cases import AbsoluteError, FixedRange


def fixed_delta(
    case: FixedRange,
    kernel: Kernel,
    *,
    epsilon: float,
    boost: float,
    sensitivity: float,
    reading: Reading = Reading.PRINTED,
) -> float:
    """delta_Z(epsilon - L1) (Remark 3, literal); the mended reading divides by 1 - pbar q.

    The boosted density is at most the kernel's over 1 - pbar q, and the proof leaves that factor out. It is
    always below one, so the mended delta is the larger.
    """
    loss = case.loss(kernel, boost=boost, sensitivity=sensitivity, reading=reading)
    delta = loss.delta_at(epsilon)
    return min(1.0, delta / _edge_normalizer(case, kernel, boost)) if reading is Reading.MENDED else delta


def fixed_renyi(
    case: FixedRange,
    kernel: Kernel,
    *,
    order: float,
    boost: float,
    sensitivity: float,
    reading: Reading = Reading.PRINTED,
) -> float:
    """epsilon_0 + L1 (Remark 3, literal); the mended reading adds -log(1 - pbar q) / (alpha - 1)."""
    epsilon = case.loss(kernel, boost=boost, sensitivity=sensitivity, reading=reading).renyi_at(order)
    if reading is not Reading.MENDED:
        return epsilon
    return epsilon - math.log(_edge_normalizer(case, kernel, boost)) / (order - 1)


def _edge_normalizer(case: FixedRange, kernel: Kernel, boost: float) -> float:
    """1 - pbar q at the low end of the range, where p is least."""
    return normalizer(kernel, case.low, case.low, case.high, boost)


def absolute_delta(
    case: AbsoluteError, kernel: Kernel, *, epsilon: float, boost: float, sensitivity: float
) -> float:
    """W1 (delta_Z(e - L2) + delta_Z(e + L2)) + (1 - 2 W1) delta_Z(e) (Remark 4, literal).

    Unlike the general formulas it is evaluated as printed even where 1 - 2 W1 is negative.
    """
    weight = case.printed_weights(kernel, sensitivity).plus
    step = case.losses(kernel, boost, sensitivity).step
    delta_z = profile_of(kernel, sensitivity).delta_at
    outer = delta_z(epsilon - step) + delta_z(epsilon + step)
    return weight * outer + (1 - 2 * weight) * delta_z(epsilon)


def absolute_renyi(
    case: AbsoluteError,
    kernel: Kernel,
    *,
    order: float,
    boost: float,
    sensitivity: float,
    reading: Reading = Reading.MENDED,
) -> float:
    """epsilon_0 + log(1 - 2 W2 + W2 (e^((alpha-1) L2) + e^(-(alpha-1) L2))) / (alpha-1) (Remark 4, mended).

    `Reading.PRINTED` gives the letter: e^(alpha-1) (e^L2 + e^-L2) in place of the two exponentials, which
    does not follow from Proposition 2 and adds a loss even for a boost of zero. Both use the weights of
    Proposition 6.
    """
    alpha = above_one("order", order)
    if reading is Reading.EQUATION_6:
        raise InputError("reading", "printed or mended", reading.value, "Remark 4 is written with W1 = W2.")
    if reading is Reading.MENDED:
        return case.loss(kernel, boost=boost, sensitivity=sensitivity).renyi_at(alpha)
    weight = case.printed_weights(kernel, sensitivity).plus
    step = case.losses(kernel, boost, sensitivity).step
    mean = 1 - 2 * weight + weight * math.exp(alpha - 1) * (math.exp(step) + math.exp(-step))
    return profile_of(kernel, sensitivity).renyi_at(alpha) + math.log(mean) / (alpha - 1)
