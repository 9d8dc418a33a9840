"""Beside Figure 7: the confidence of the remark after Proposition 7, and the mechanisms that the paper names.

**The confidence.** A report stays in the category of the true value with probability p + (|S| - 1) p_s. The
remark gives it in closed form; here it is held against the integer weights that are drawn.

**Which mechanism is best.** Each person adds q (1 - q)/(p - q)² to the variance of the estimated number of
people with a rare value, where a report supports the true value with probability p and any other with q:

- plain randomized response (GRR): p = e^ε/(e^ε + d - 1), q = (1 - p)/(d - 1) for d values;
- optimized unary encoding (OUE): p = 1/2, q = 1/(e^ε + 1); optimized local hashing (OLH) with e^ε + 1 hashes
  has the same variance, 4e^ε/(e^ε - 1)² (Wang et al. 2017);
- subset selection: k of d values are reported, the true one among them with probability
  p = k e^ε/(k e^ε + d - k), so q = (k - p)/(d - 1) (Ye and Barg 2018). With k = 1 it is GRR.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np

from pbdp.local import in_blocks, without_categories
from pbdp.local.boosted_response import boosted_response
from pbdp.local.domain import CategoryDomain
from pbdp.local.estimators import CATEGORY, VALUE, pure_value_variances
from pbdp.local.local_hashing import local_hashing
from pbdp.local.variances import GroupVariances, Variances, reach_of
from reproduction.age_errors import AGES, EPSILON, adult_truth
from reproduction.experiment import Cause, Finding, Row, Settings, judged, number

# The epsilons at which the bound on |X| is tried.
EPSILONS = (0.5, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0)
OUE, OLH, LINEAR_OLH, OUE_OF_CATEGORIES = "OUE", "OLH", "OLH, linear hash", "OUE of categories"
# Two lines closer than this (relative) are drawn as one.
SAME = 0.02


def threshold_row(settings: Settings) -> Row:
    """The most values for which GRR has the least variance, against OUE and OLH, and against subsets."""
    epsilon = number(settings, "epsilon")
    encoded = pure_variance(*unary_encoding(epsilon))
    count = 2
    while grr_variance(epsilon, count + 1) < encoded:
        count += 1
    beaten = 2
    while subset_variance(epsilon, beaten)[0] >= grr_variance(epsilon, beaten):
        beaten += 1
    return {
        "grr_best_up_to": count,
        "printed_bound": 3 * math.exp(epsilon) + 2,
        "subset_better_from": beaten,
        "subset_size": subset_variance(epsilon, beaten)[1],
    }


def pure_variance(p: float, q: float) -> float:
    """Variance of the estimated share of a rare value, for each person."""
    return q * (1 - q) / (p - q) ** 2


def unary_encoding(epsilon: float) -> tuple[float, float]:
    """How likely the bit of the true value is 1 in OUE, and that of any other: p and q."""
    return 0.5, 1 / (math.exp(epsilon) + 1)


def independent_category_variances(domain: CategoryDomain, p: float, q: float) -> Variances:
    """Exact variances of categories: sums over their values, which a report supports independently."""
    sizes = domain.group_sums(np.ones(domain.count))
    right, wrong = p * (1 - p) / (p - q) ** 2, pure_variance(p, q)
    return GroupVariances(
        group=domain.category_of,
        inside=right + (sizes - 1) * wrong,
        outside=sizes * wrong,
        reach=reach_of(-sizes * q / (p - q), sizes * (1 - q) / (p - q)),
    )


def grr_variance(epsilon: float, count: int) -> float:
    """That of plain randomized response."""
    p = math.exp(epsilon) / (math.exp(epsilon) + count - 1)
    return pure_variance(p, (1 - p) / (count - 1))


def subset_variance(epsilon: float, count: int) -> tuple[float, int]:
    """The least of subset selection, and the size of subsets that has it."""
    sizes = np.arange(1, max(2, count))
    p = sizes * math.exp(epsilon) / (sizes * math.exp(epsilon) + count - sizes)
    q = (sizes - p) / (count - 1)
    variances = q * (1 - q) / (p - q) ** 2
    at = int(np.argmin(variances))
    return float(variances[at]), int(sizes[at])


def rival_rows(size: int) -> list[Row]:
    """Exact errors of OUE and OLH for the ages in categories of `size`, at the paper's epsilon.

    With a hash that is a random function, different values are supported independently, as in OUE. The linear
    hash that pbdp draws with makes values of a category collide together; that is a row of its own.
    """
    domain = in_blocks(AGES, size)
    truth, coarse = adult_truth(domain).astype(np.float64), without_categories(domain.groups)
    unary, hashing = unary_encoding(EPSILON), local_hashing(domain, EPSILON)
    found: list[tuple[str, Variances, Variances | None]] = [
        (OUE, independent_category_variances(domain, *unary), pure_value_variances(domain.count, *unary)),
        (OLH, independent_category_variances(domain, *hashing.probabilities), hashing.variances(VALUE)),
        (LINEAR_OLH, hashing.variances(CATEGORY), hashing.variances(VALUE)),
    ]
    rows: list[Row] = [
        {
            "rival": name,
            "category_mse": float(category.at(truth).mean() / truth.sum() ** 2),
            "value_mse": float(value.at(truth).mean() / truth.sum() ** 2) if value else None,
        }
        for name, category, value in found
    ]
    only = pure_value_variances(coarse.count, *unary).at(domain.group_sums(truth))
    rows.append({"rival": OUE_OF_CATEGORIES, "category_mse": float(only.mean() / truth.sum() ** 2)})
    shared: Row = {"value_mse": None, "size": size, "epsilon": EPSILON}
    return [shared | row for row in rows]


def drawn_rivals(rows: list[Any]) -> list[tuple[str, float, float | None]]:
    """Names with their errors of categories and values, one line each; OUE and OLH as one where they "
    "agree.
    """
    by = {row["rival"]: row for row in rows}
    shown = {
        name: (by[name]["category_mse"], by[name]["value_mse"]) for name in (OUE, OLH, OUE_OF_CATEGORIES)
    }
    if all(abs(one / two - 1) < SAME for one, two in zip(shown[OUE], shown[OLH], strict=True)):
        shown = {f"{OUE} and {OLH}": shown[OUE], OUE_OF_CATEGORIES: shown[OUE_OF_CATEGORIES]}
    return [(name, category, value) for name, (category, value) in shown.items()]


def confidence_row(settings: Settings) -> Row:
    """The least probability that a report stays in its category, as drawn and as printed, at one ε0."""
    first, last, size = (int(number(settings, name)) for name in ("first", "last", "size"))
    epsilon, epsilon0 = number(settings, "epsilon"), number(settings, "epsilon0")
    domain = in_blocks(range(first, last + 1), size)
    return {
        "confidence": drawn_confidence(domain, epsilon, epsilon0, size),
        "confidence_printed": printed_confidence(domain.count, size, epsilon, epsilon0),
    }


def drawn_confidence(domain: CategoryDomain, epsilon: float, epsilon0: float, size: int) -> float:
    """p + (|S| - 1) p_s of the weights that are drawn, in a category of full size."""
    shares = boosted_response(domain, epsilon, epsilon0).shares
    return float(np.asarray(shares.own)[0] + (size - 1) * np.asarray(shares.near)[0])


def printed_confidence(count: int, size: int, epsilon: float, epsilon0: float) -> float:
    """The ρ of the remark after Proposition 7."""
    inside = math.exp(epsilon) + (size - 1) * math.exp(epsilon - epsilon0)
    return inside / (inside + count - size)


def confidence_finding(rows: list[Any]) -> Finding:
    """Whether the remark's ρ is what is drawn, and what ε0 does to it."""
    equal = [row for row in rows if (row["last"] - row["first"] + 1) % row["size"] == 0]
    off = max(abs(row["confidence"] - row["confidence_printed"]) for row in equal)
    sizes = sorted({row["size"] for row in equal}, reverse=True)
    curves = {
        size: sorted((row["epsilon0"], row["confidence"]) for row in equal if row["size"] == size)
        for size in sizes
    }
    falls = all(a > b for curve in curves.values() for (_, a), (_, b) in pairwise(curve))
    count, size = 90, sizes[0]
    needed = math.log(0.9 / 0.1 * (count - size) / size)
    return judged(
        "The confidence of the remark after Proposition 7, that a report stays in its category, is what is "
        f"drawn (largest difference {off:.1e} at {len(equal)} points with equal categories). It falls as ε0 "
        "rises: "
        + "; ".join(
            f"from {curve[0][1]:.4f} at ε0 = 0 to {curve[-1][1]:.4f} at ε0 = ε = {EPSILON:g} for |S| = {size}"
            for size, curve in curves.items()
        )
        + f". So where only the category matters ε0 = 0 is best, and ρ = 0.9 with |S| = {size} of {count} "
        f"values then takes ε = {needed:.3f}.",
        {"largest_difference": off, "epsilon_for_0.9": needed}
        | {f"confidence_at_0, |S| = {size}": curve[0][1] for size, curve in curves.items()}
        | {f"confidence_at_epsilon, |S| = {size}": curve[-1][1] for size, curve in curves.items()},
        holds=off < 1e-12 and falls,
        cause=Cause.SETTING,
    )


def threshold_findings(rows: list[Any]) -> list[Finding]:
    """Whether GRR is the best for |X| < 3e^ε + 2, against those that were compared, and against subsets."""
    agree = sum(row["grr_best_up_to"] < row["printed_bound"] <= row["grr_best_up_to"] + 1 for row in rows)
    words = ", ".join(f"{row['grr_best_up_to']} (ε = {row['epsilon']:g})" for row in rows)
    from_ = ", ".join(f"{row['subset_better_from']} (ε = {row['epsilon']:g})" for row in rows)
    return [
        judged(
            "“GRR is optimal if |X| < 3e^ε + 2”: against OUE and OLH, by the variance of a rare value, that "
            f"is exactly so at {agree} of {len(rows)} ε; GRR is best up to |X| = {words}.",
            {f"best up to, ε = {row['epsilon']:g}": row["grr_best_up_to"] for row in rows},
            holds=agree == len(rows),
            cause=Cause.SETTING,
        ),
        Finding(
            text="Beyond those two it is not the last word: subset selection (Ye and Barg 2018), which the "
            f"paper does not name, has less variance from |X| = {from_} on. With the paper's {len(AGES)} "
            f"ages and ε = {EPSILON:g} GRR is the best of all four.",
            figures={f"better from, ε = {row['epsilon']:g}": row["subset_better_from"] for row in rows},
        ),
    ]


def rival_finding(rivals: list[Any], grr: dict[int, tuple[float, float]], least: dict[int, float]) -> Finding:
    """The errors of OUE and OLH against those of the figure; `grr` and `least` are by size of categories."""
    by = {(row["size"], row["rival"]): row for row in rivals}
    sizes = sorted(grr, reverse=True)
    value = {name: [by[s, name]["value_mse"] / grr[s][1] for s in sizes] for name in (OUE, OLH)}
    category = {
        name: [by[s, name]["category_mse"] / least[s] for s in sizes]
        for name in (OUE, OLH, LINEAR_OLH, OUE_OF_CATEGORIES)
    }

    def listed(ratios: list[float]) -> str:
        return " and ".join(f"{ratio:.3g}" for ratio in ratios)

    return Finding(
        text=f"OUE and OLH on the same ages (ε = {EPSILON:g}, |S| = {' and '.join(map(str, sizes))}): their "
        "error of values is "
        + ", ".join(f"{listed(ratios)} times GRR's ({name})" for name, ratios in value.items())
        + "; their error of categories is "
        + ", ".join(f"{listed(ratios)} times that of ε0 = 0 ({name})" for name, ratios in category.items())
        + ".",
        figures={f"value {name}": ratios[0] for name, ratios in value.items()}
        | {f"category {name}": ratios[0] for name, ratios in category.items()},
    )
