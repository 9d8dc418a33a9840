"""The paper's finding on real ages: plain randomized response is best for values and worst for categories."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest

from pbdp.local import in_blocks
from pbdp.local.boosted_response import boosted_response
from pbdp.report.pictures.canvas import new_figure, save
from reproduction.age_errors import adult_ages, age_errors, draw_age_errors


def test_the_data() -> None:
    ages = adult_ages()
    assert sum(ages.values()) == 45_222
    assert (min(ages), max(ages)) == (17, 90)
    source = files("reproduction").joinpath("data", "SOURCE.md").read_text(encoding="utf-8")
    assert "CC BY 4.0" in source
    assert "Becker" in source


@pytest.mark.parametrize("size", [10, 5])
def test_the_papers_finding(size: int) -> None:
    found = age_errors(size)
    assert np.all(np.diff(found.category) > 0)
    assert np.all(np.diff(found.value) < 0)
    assert np.isinf(found.value[0])
    assert found.best["category"] == 0
    assert found.best["value"] == 5
    assert 0 < found.best["trade-off"] < 5


def test_larger_categories_suffer_more_from_plain_randomized_response() -> None:
    ten, five = (age_errors(size, points=2) for size in (10, 5))
    assert ten.category[-1] / ten.category[0] > five.category[-1] / five.category[0] > 2


@pytest.mark.parametrize("size", [10, 5])
def test_simulated_errors_agree_with_the_exact_ones(size: int) -> None:
    surveys = 40
    found = age_errors(size, surveys=surveys, points=4, insecure_test_seed=8)
    # squared errors of 91 values (10 or 19 categories), nearly independent: relative deviation sqrt(2/(n
    # surveys))
    for exact, seen, groups in (
        (found.category, found.simulated_category, 91 / size),
        (found.value[1:], found.simulated_value[1:], 91),
    ):
        assert seen == pytest.approx(exact, rel=4.5 * np.sqrt(2 / (groups * surveys)))


def test_the_exact_error_is_that_of_the_formulas_for_equal_sizes() -> None:
    """The paper's own formula for 90 ages in nine categories, written out."""
    domain = in_blocks(range(10, 100), 10)
    mechanism = boosted_response(domain, 5.0, 2.0)
    people = np.array([adult_ages().get(age, 0) for age in range(10, 100)], dtype=float)
    e, r = np.exp(5.0), np.exp(3.0)
    whole = e + 9 * r + 80
    always, never = (e + 9 * r) / whole, 10 / whole
    inside = people.reshape(9, 10).sum(axis=1)
    variance = (inside * always * (1 - always) + (people.sum() - inside) * never * (1 - never)) / (
        always - never
    ) ** 2
    assert mechanism.variances("category").at(people) == pytest.approx(variance, rel=1e-9)


def test_the_papers_figure(tmp_path: Path) -> None:
    found = age_errors(10, points=5, surveys=1)
    figure, (panel,) = new_figure(1, 1)
    draw_age_errors(panel, found)
    assert np.asarray(panel.lines[0].get_ydata()) == pytest.approx(found.category)
    assert np.asarray(panel.lines[2].get_ydata()) == pytest.approx(found.value[1:])
    save(figure, tmp_path / "f.svg")
    text = (tmp_path / "f.svg").read_text(encoding="utf-8")
    for words in ("ages in categories of 10", "trade-off", "ε0"):
        assert words in text
