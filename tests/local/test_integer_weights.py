"""The law: the paper's values, exact rows, an exhaustive certificate, and every weight really drawn."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import numpy as np
import pytest

from pbdp.errors import CannotCertifyError, InputError
from pbdp.local import in_blocks, in_categories, on_scale, without_categories
from pbdp.local.boosted_response import BoostedResponse, IntegerLaw, boosted_response
from pbdp.local.domain import ScaleDomain
from pbdp.local.integer_weights import epsilon_of, largest_ratio
from tests.effort import FULL
from tests.local.setups import DOMAINS, SETUPS, response, weight_matrix

TOTAL = 2**62


def test_the_papers_values() -> None:
    shares = boosted_response(in_blocks(range(90), 10), 5.0, 2.0).shares
    assert shares.own[0] == pytest.approx(0.362706, abs=5e-7)
    assert shares.near[0] == pytest.approx(0.049087, abs=5e-7)
    assert shares.far[0] == pytest.approx(0.0024439, abs=5e-8)


@pytest.mark.parametrize("epsilon0", [0.0, 2.0, 5.0])
def test_the_papers_formulas(epsilon0: float) -> None:
    e, near, size, count = np.exp(5.0), np.exp(5.0 - epsilon0), 10, 90
    whole = e + (size - 1) * near + count - size
    shares = boosted_response(in_blocks(range(count), size), 5.0, epsilon0).shares
    assert shares.own == pytest.approx([e / whole] * 9, rel=1e-11)
    assert shares.near == pytest.approx([near / whole] * 9, rel=1e-11)
    assert shares.far == pytest.approx([1 / whole] * 9, rel=1e-11)


@pytest.mark.parametrize("epsilon0", [0.0, 1.2, 3.0])
def test_different_sizes_keep_the_ratios(epsilon0: float) -> None:
    domain = in_categories([[1, 2, 3, 4], [5], [6, 7]])
    shares = boosted_response(domain, 3.0, epsilon0).shares
    assert np.divide(shares.own, shares.far) == pytest.approx([np.exp(3.0)] * 3)
    assert np.divide(shares.near, shares.far) == pytest.approx([np.exp(3.0 - epsilon0)] * 3)
    d = [np.exp(3.0) + (n - 1) * np.exp(3.0 - epsilon0) - n for n in (4, 1, 2)]
    boost = 1 / (1 + 4 / d[0] + 1 / d[1] + 2 / d[2])
    assert shares.far == pytest.approx([boost / x for x in d])


@pytest.mark.parametrize("setup", SETUPS)
def test_every_row_adds_up_and_the_certificate_is_the_largest_ratio(setup: tuple[str, float, float]) -> None:
    mechanism = response(setup)
    rows = weight_matrix(mechanism, setup[0])
    assert all(sum(row) == TOTAL for row in rows)
    brute = (
        max(
            Fraction(rows[x][y], rows[other][y])
            for y in range(len(rows))
            for x in range(len(rows))
            for other in range(len(rows))
        )
        if len(rows) < 20
        else max(Fraction(max(column), min(column)) for column in zip(*rows, strict=True))
    )
    assert mechanism.law.ratio(mechanism.domain) == brute
    with mpmath.workdps(50):
        truth = mpmath.log(mpmath.mpf(brute.numerator) / brute.denominator)
        assert truth <= mpmath.mpf(mechanism.epsilon) <= mpmath.mpf(setup[1])
        if setup[2] > 0:
            assert mechanism.epsilon > setup[1] - 1e-7 * max(setup[1], 1e-2)


@pytest.mark.parametrize("setup", SETUPS)
def test_no_guess_between_two_answers_beats_the_risk(setup: tuple[str, float, float]) -> None:
    mechanism = response(setup)
    # weights add up to 2^62: differences and their sums fit 64 bits
    rows = np.array(weight_matrix(mechanism, setup[0]), dtype=np.int64)
    apart = max(int(np.maximum(first - rows, 0).sum(axis=1).max()) for first in rows)
    assert Fraction(apart, TOTAL) <= mechanism.distance
    if not isinstance(mechanism.domain, ScaleDomain):
        assert Fraction(apart, TOTAL) == mechanism.distance
    # the best guess takes each report for the answer that is likelier
    assert (1 + Fraction(apart, TOTAL)) / 2 <= Fraction(mechanism.risk())
    share = Fraction(0.8)
    ours = share.numerator * rows.astype(object)
    for other in (rows if FULL else rows[::5]).astype(object):
        likelier = np.maximum(ours, (share.denominator - share.numerator) * other)
        best = max(likelier.sum(axis=1))
        assert Fraction(best, share.denominator * TOTAL) <= Fraction(mechanism.risk(0.8))


@pytest.mark.parametrize("setup", SETUPS)
def test_what_is_drawn_has_exactly_these_weights(setup: tuple[str, float, float]) -> None:
    """Every piece of the words' range is looked at from both ends: it must give one report."""
    mechanism = response(setup)
    law, domain = mechanism.law, mechanism.domain
    rows = weight_matrix(mechanism, setup[0])
    for x in range(0, domain.count, max(1, domain.count // 7)):
        part = int(domain.category_of[x]) if hasattr(domain, "category_of") else 0
        # cuts of [0, 2^62): one piece for each report that does not depend on x, then own, then near
        parts = domain.category_of.tolist() if hasattr(domain, "category_of") else [0] * domain.count
        lengths = [law.far[at] for at in parts]
        lengths += [law.own[part] - law.far[part]]
        lengths += [law.near[part] - law.far[part]] * (int(domain.size[x]) - 1)
        edges = np.cumsum([0, *(n for n in lengths if n)]).tolist()
        assert edges[-1] == TOTAL
        codes = np.full(len(edges) - 1, x)
        first = mechanism.draw(codes, np.array(edges[:-1], dtype=np.uint64)[:, None] << np.uint64(2))
        ends = np.array(edges[1:], dtype=np.uint64)[:, None] - np.uint64(1)
        last = mechanism.draw(codes, (ends << np.uint64(2)) + np.uint64(3))
        assert first.tolist() == last.tolist()
        drawn = [0] * domain.count
        for report, low, high in zip(first.tolist(), edges, edges[1:], strict=False):
            drawn[report] += high - low
        assert drawn == rows[x]


def test_epsilon_is_rounded_up() -> None:
    generator = np.random.default_rng(1)
    for _ in range(200):
        low, more = int(generator.integers(1, 2**60)), int(generator.integers(1, 2**61))
        ratio = Fraction(low + more, low)
        with mpmath.workdps(60):
            truth = mpmath.log(mpmath.mpf(ratio.numerator) / ratio.denominator)
            assert truth <= mpmath.mpf(epsilon_of(ratio)) <= truth * (1 + mpmath.mpf(2) ** -51)
    assert epsilon_of(Fraction(1)) == 0.0


def test_a_report_that_cannot_come_from_every_value_is_refused() -> None:
    with pytest.raises(CannotCertifyError, match="no finite privacy loss"):
        largest_ratio([(3, 0, 1)])


@pytest.mark.parametrize("epsilon0", [-0.1, 1.01, float("nan")])
def test_epsilon0_outside_its_range(epsilon0: float) -> None:
    with pytest.raises(InputError, match="epsilon0"):
        boosted_response(DOMAINS["plain"], 1.0, epsilon0)


@pytest.mark.parametrize("epsilon", [0.0, -1.0, 21.0, float("inf"), float("nan"), 1e-9])
def test_epsilon_outside_its_range(epsilon: float) -> None:
    with pytest.raises(InputError, match="epsilon"):
        boosted_response(DOMAINS["plain"], epsilon, 0.0)


def test_weights_that_are_no_law_are_refused() -> None:
    good = response(("plain", 1.0, 1.0))
    law = good.law
    for own, near, far in (
        ((law.own[0] + 1, *law.own[1:]), law.near, law.far),
        (law.own, law.near, (0, *law.far[1:])),
        (law.own[1:], law.near[1:], law.far[1:]),
    ):
        with pytest.raises(InputError, match="weights"):
            BoostedResponse(domain=good.domain, law=IntegerLaw(own=own, near=near, far=far), epsilon0=1.0)


@pytest.mark.parametrize(
    ("made", "rule"),
    [
        (lambda: in_blocks([1, 2, 2], 1), "listed once"),
        (lambda: in_blocks([1, "a"], 1), "all whole numbers or all strings"),
        (lambda: in_blocks([1.5, 2.5], 1), "all whole numbers or all strings"),
        (lambda: in_blocks([True, False], 1), "all whole numbers or all strings"),
        (lambda: in_blocks([1], 1), "2 to"),
        (lambda: in_blocks([1, 2**63], 1), "between -2"),
        (lambda: in_blocks(range(9), 9), "two or more"),
        (lambda: in_categories([[1, 2], []]), "not empty"),
        (lambda: without_categories("abc"), "a list of values"),
        (lambda: on_scale(range(9), 4), "odd"),
        (lambda: on_scale(range(5), 5), "below the number of values"),
        (lambda: on_scale(range(5), 1), "at least 3"),
    ],
)
def test_domains_that_make_no_sense(made: object, rule: str) -> None:
    with pytest.raises(InputError, match=rule):
        made()  # type: ignore[operator]
