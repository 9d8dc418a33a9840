"""p-values hold for every rate, exactly: all outcomes of small experiments, and all rates."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest

from pbdp.comparing.count_laws import count_law
from pbdp.comparing.experiment import Published
from pbdp.comparing.rates import Rates
from tests.comparing.test_count_laws import table

RATES = (0.0, 0.01, 0.1, 0.23, 0.5, 0.77, 0.999)


def rare_enough(p_values: np.ndarray, chances: np.ndarray) -> bool:
    """P(p-value <= u) <= u for every u."""
    order = np.argsort(p_values)
    reached = np.cumsum(chances[order])
    # of equal ones the last
    last = np.append(np.diff(p_values[order]) > 1e-12, True)
    return bool(np.all(reached[last] <= p_values[order][last] + 1e-9))


@pytest.mark.parametrize("measure", ["difference", "ratio"])
def test_one_look(measure: str) -> None:
    noise = table([1, 3, 8, 3, 1], -2)
    asked = Rates(users=(8, 11), rate=0.3, measure=measure)  # type: ignore[arg-type]
    analysis = asked.analyzed(noise)
    outcomes = list(product(range(-2, 11), range(-2, 14)))
    p_values = np.array(
        [asked.p_value(analysis, (Published(numbers=one, users=(8, 11)),)) for one in outcomes]
    )
    for rate in RATES:
        laws = [count_law(n, rate, noise) for n in (8, 11)]
        known = [dict(zip(law.values.tolist(), law.masses.tolist(), strict=True)) for law in laws]
        chances = np.array([known[0].get(y, 0.0) * known[1].get(z, 0.0) for y, z in outcomes])
        assert chances.sum() == pytest.approx(1)
        # those above 0.1 are at the rate of all people together, and find nothing
        assert rare_enough(np.where(p_values <= 0.1, p_values, 1.0), chances)
        # the check can fail
        if rate == 0.23:
            assert not rare_enough(p_values / 3, chances)


def test_two_looks() -> None:
    """Whoever stops at the first look with a p-value of u or less does so with a chance of u at most."""
    noise = table([1, 2, 1], -1)
    asked = Rates(users=(7, 6), rate=0.4, looks=2)
    sizes = asked.schedule
    assert sizes == ((3, 3), (4, 3))
    made = asked.analyzed(noise)
    counts = [[range(-1, n + 2) for n in pair] for pair in sizes]
    known: dict[tuple[float, float, int], float] = {}

    def p_value(*looks: tuple[int, ...]) -> float:
        published = tuple(
            Published(numbers=one, users=users) for one, users in zip(looks, sizes, strict=False)
        )
        sums = np.cumsum(looks, axis=0).astype(float)
        analyses = zip(made.analyses, sums, strict=False)
        ratio = max(float(one.distance(y[:1], y[1:])[0]) / one.factor for one, y in analyses)
        key = round(ratio, 10), float(sums[-1].sum()), len(looks)
        if key not in known:
            known[key] = asked.p_value(made, published)
        return known[key]

    firsts = {one: p_value(one) for one in product(*counts[0])}
    best = {
        (one, two): min(first, p_value(one, two))
        for one, first in firsts.items()
        for two in product(*counts[1])
    }
    p_values = np.array(list(best.values()))
    for rate in RATES:
        laws = [
            [
                dict(zip(law.values.tolist(), law.masses.tolist(), strict=True))
                for law in (count_law(n, rate, noise) for n in pair)
            ]
            for pair in sizes
        ]
        chances = np.array(
            [
                math.prod(
                    laws[look][group].get(one[group], 0.0)
                    for look, one in enumerate(pair)
                    for group in (0, 1)
                )
                for pair in best
            ]
        )
        assert chances.sum() == pytest.approx(1)
        assert rare_enough(np.where(p_values <= 0.1, p_values, 1.0), chances)
