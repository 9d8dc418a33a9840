"""Figure 7: the ends are randomized response and categories only; exact errors by brute force."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import numpy.typing as npt
import pytest

from reproduction import figure_7_adult as adult
from reproduction import figure_7_rivals as rivals
from reproduction.age_errors import adult_ages
from reproduction.experiment import Row, Settings


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
    assert [finding.holds for finding in found] == [True, True, True, None, None, True, None, True, None]
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


def test_the_confidence_of_the_remark_is_counted_from_the_weights() -> None:
    # 90 values in categories of ten: own + nine near, over all
    settings: Settings = {"first": 10, "last": 99, "size": 10, "epsilon": 5.0, "epsilon0": 2.0}
    row = rivals.confidence_row(settings)
    own, near = math.exp(5.0), math.exp(3.0)
    assert of(row, "confidence") == pytest.approx((own + 9 * near) / (own + 9 * near + 80), rel=1e-12)
    assert of(row, "confidence_printed") == pytest.approx(of(row, "confidence"), rel=1e-12)


def response_variance(channel: npt.NDArray[np.float64]) -> float:
    """Variance per person of the estimate of a value that nobody has, from the whole channel.

    Rows are true values, columns say which values a report supports on average; all people hold value 0.
    """
    p, q = channel[0, 0], channel[0, 1]
    return float(q * (1 - q) / (p - q) ** 2)


@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_subset_selection_by_listing_all_subsets(epsilon: float) -> None:
    for count in (5, 8):
        best = math.inf
        for size in range(1, count):
            subsets = [set(chosen) for chosen in combinations(range(count), size)]
            weights = np.array(
                [[math.exp(epsilon) if x in s else 1.0 for s in subsets] for x in range(count)]
            )
            weights /= weights.sum(axis=1, keepdims=True)
            supports = np.array([[float(v in s) for v in range(count)] for s in subsets])
            best = min(best, response_variance(weights @ supports))
        assert rivals.subset_variance(epsilon, count)[0] == pytest.approx(best, rel=1e-9)
        grr = np.full((count, count), 1.0) + (math.exp(epsilon) - 1) * np.eye(count)
        assert rivals.grr_variance(epsilon, count) == pytest.approx(
            response_variance(grr / grr.sum(axis=1, keepdims=True)), rel=1e-9
        )


def test_randomized_response_is_best_below_the_bound_and_not_beyond() -> None:
    for epsilon in rivals.EPSILONS:
        encoded = 4 * math.exp(epsilon) / (math.exp(epsilon) - 1) ** 2
        below = math.ceil(3 * math.exp(epsilon) + 2) - 1
        assert rivals.grr_variance(epsilon, below) < encoded < rivals.grr_variance(epsilon, below + 2)
        assert rivals.threshold_row({"epsilon": epsilon})["grr_best_up_to"] == below


def test_encodings_lose_to_randomized_response_on_the_ages(rows: list[Row]) -> None:
    found = [row for row in rows if row["kind"] == "rival"]
    assert len(found) == 4 * len(adult.SIZES)
    for row in found:
        if row["value_mse"] is not None:
            assert of(row, "value_mse") > 2 * grr_value_error(91, 5.0)


def test_lines_that_agree_are_one(rows: list[Row]) -> None:
    found = [row for row in rows if row["kind"] == "rival" and row["size"] == 10]
    names = [name for name, *_ in rivals.drawn_rivals(found)]
    assert names == ["OUE and OLH", "OUE of categories"]
    apart = [row | {"value_mse": 2 * of(row, "value_mse")} if row["rival"] == "OLH" else row for row in found]
    assert [name for name, *_ in rivals.drawn_rivals(apart)] == ["OUE", "OLH", "OUE of categories"]
