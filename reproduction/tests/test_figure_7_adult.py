"""Figure 7: the ends are randomized response and categories only; exact errors by brute force."""

from __future__ import annotations

import math

import numpy as np
import pytest

from reproduction import figure_7_adult as adult
from reproduction.age_errors import adult_ages
from reproduction.experiment import Row


@pytest.fixture(scope="module")
def rows() -> list[Row]:
    return [row for case in adult.cases(True) for row in adult.compute(case)]


def of(row: Row, name: str) -> float:
    return float(str(row[name]))


def grr_value_error(values: int, epsilon: float) -> float:
    """Mean variance of estimated shares under plain randomized response, from its definition."""
    ages = adult_ages()
    people = sum(ages.values())
    counts = np.array([ages.get(age, 0) for age in range(10, 10 + values)], dtype=float)
    p = math.exp(epsilon) / (math.exp(epsilon) + values - 1)
    q = (1 - p) / (values - 1)
    variance = (counts * p * (1 - p) + (people - counts) * q * (1 - q)) / (p - q) ** 2
    return float(variance.mean() / people**2)


def test_the_right_end_is_plain_randomized_response(rows: list[Row]) -> None:
    for size in adult.SIZES:
        last = [r for r in rows if r["kind"] == "errors" and r["size"] == size and r["epsilon0"] == 5.0]
        assert len(last) == 2
        assert of(last[0], "value_mse") == pytest.approx(grr_value_error(91, 5.0), rel=1e-9)


def test_at_the_left_end_only_categories_can_be_estimated(rows: list[Row]) -> None:
    first = [row for row in rows if row["kind"] == "errors" and row["epsilon0"] == 0.0]
    assert len(first) == 4
    for row in first:
        assert row["value_mse"] is None
        assert row["simulated_value_mse"] is None
        assert of(row, "category_mse") > 0
        assert of(row, "simulated_category_mse") > 0


def test_between_the_ends_categories_get_worse_and_values_better(rows: list[Row]) -> None:
    for size in adult.SIZES:
        curve = [r for r in rows if r["kind"] == "errors" and (r["size"], r["seed"]) == (size, 100 * size)]
        assert [of(row, "epsilon0") for row in curve] == sorted(of(row, "epsilon0") for row in curve)
        assert np.all(np.diff([of(row, "category_mse") for row in curve]) > 0)
        assert np.all(np.diff([of(row, "value_mse") for row in curve[1:]]) < 0)


def test_findings_confirm_the_figure(rows: list[Row]) -> None:
    found = adult.findings(rows)
    assert [finding.holds for finding in found] == [True, True, True, None, None]
    # four surveys: each mean squared error is within some 50 % of its expectation
    for name, ratio in found[3].figures.items():
        if name.startswith("simulated"):
            assert 0.6 < ratio < 1.5
    assert found[4].figures["ends_best"] == found[4].figures["variations"] == len(adult.VARIED)


def test_equal_categories_have_the_printed_probabilities() -> None:
    # |X| = 90, |S| = 10, epsilon = 5, epsilon0 = 2.5, by the paper's formula, against the drawn integers
    row = adult.compute({"kind": "varied", "first": 10, "last": 99, "size": 10, "epsilon": 5.0})[0]
    assert of(row, "off_published") < 1e-12
    assert of(row, "off_grr") < 1e-12
    unequal = adult.compute({"kind": "varied", "first": 10, "last": 100, "size": 10, "epsilon": 5.0})[0]
    assert unequal["off_published"] is None
