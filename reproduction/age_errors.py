"""Ages of 45,222 people, and what epsilon0 does to estimates of values and of categories.

The paper reports ages from 10 to 100 in categories of 10 and of 5 with epsilon = 5, epsilon0 from 0 to 5.
There are 91 such ages, so the last category, 100, has one age only.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from pbdp.local import LeastError, in_blocks
from pbdp.local.boosted_response import BoostedResponse, boosted_response
from pbdp.local.domain import CategoryDomain
from pbdp.local.estimators import CATEGORY, VALUE
from pbdp.local.plan import best_epsilon0
from pbdp.noise.kernel import Array
from pbdp.parameters import whole
from pbdp.release.keystream import InsecureTestKeystream, SecureKeystream
from pbdp.report.pictures.canvas import COLORS, DASHES

if TYPE_CHECKING:
    from matplotlib.axes import Axes

AGES = range(10, 101)
EPSILON = 5.0
POINTS = 21
# The weight of the category error in what is made least.
GOALS = {"category": 1.0, "value": 0.0, "trade-off": 0.5}


@cache
def adult_ages() -> dict[int, int]:
    """How many people have each age (UCI Adult; Becker and Kohavi 1996; CC BY 4.0, see data/SOURCE.md)."""
    text = files("reproduction").joinpath("data", "adult_ages.csv").read_text(encoding="utf-8")
    return {int(row["age"]): int(row["count"]) for row in csv.DictReader(text.splitlines())}


def adult_truth(domain: CategoryDomain) -> npt.NDArray[np.int64]:
    """People by value of a domain of ages."""
    ages = adult_ages()
    return np.array([ages.get(int(value), 0) for value in domain.values])


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AgeErrors:
    """Mean squared errors of estimated shares against epsilon0, exact and from simulated surveys.

    The first value error is infinite: with epsilon0 = 0 only categories can be estimated. `best` maps
    "category", "value" and "trade-off" (equal weights) to the epsilon0 of least error.
    """

    size: int
    epsilon: float
    epsilon0: Array
    category: Array
    value: Array
    simulated_category: Array
    simulated_value: Array
    surveys: int
    best: dict[str, float]


def age_errors(
    size: int,
    *,
    epsilon: float = EPSILON,
    surveys: int = 0,
    points: int = POINTS,
    insecure_test_seed: int | None = None,
) -> AgeErrors:
    """The paper's figure for categories of `size` ages; simulated with that many surveys, NaN if none."""
    domain = in_blocks(AGES, size)
    truth = adult_truth(domain)
    grid = np.linspace(0.0, epsilon, whole("points", points, least=2))
    keystream = SecureKeystream() if insecure_test_seed is None else InsecureTestKeystream(insecure_test_seed)
    exact: dict[str, list[float]] = {CATEGORY: [], VALUE: []}
    seen: dict[str, list[float]] = {CATEGORY: [], VALUE: []}
    for epsilon0 in grid.tolist():
        mechanism = boosted_response(domain, epsilon, epsilon0)
        for kind, errors in exact.items():
            errors.append(exact_error(mechanism, kind, truth))
        codes = np.repeat(np.arange(domain.count), truth)
        tallies = [
            np.bincount(mechanism.drawn(codes, keystream), minlength=domain.count) for _ in range(surveys)
        ]
        for kind, errors in seen.items():
            knowable = surveys and (kind == CATEGORY or epsilon0 > 0)
            errors.append(_squared_error(mechanism, kind, tallies, truth) if knowable else np.nan)
    return AgeErrors(
        size=size,
        epsilon=epsilon,
        epsilon0=grid,
        category=np.array(exact[CATEGORY]),
        value=np.array(exact[VALUE]),
        simulated_category=np.array(seen[CATEGORY]),
        simulated_value=np.array(seen[VALUE]),
        surveys=surveys,
        best=best_epsilons(domain, epsilon),
    )


def best_epsilons(domain: CategoryDomain, epsilon: float) -> dict[str, float]:
    """The epsilon0 of least error for each goal."""
    truth = adult_truth(domain)
    expected = truth / truth.sum()
    return {
        name: best_epsilon0(domain, epsilon, LeastError(category=weight, expected=expected))
        for name, weight in GOALS.items()
    }


def exact_error(mechanism: BoostedResponse, kind: str, truth: npt.NDArray[np.int64]) -> float:
    """Expected squared error of shares, mean over groups."""
    return float(mechanism.variances(kind).at(truth.astype(np.float64)).mean() / truth.sum() ** 2)


def _squared_error(
    mechanism: BoostedResponse, kind: str, tallies: list[npt.NDArray[np.int64]], truth: npt.NDArray[np.int64]
) -> float:
    """Mean over surveys and groups of the squared error of shares."""
    users = int(truth.sum())
    target = truth.astype(np.float64)
    target = target if kind == VALUE else mechanism.domain.group_sums(target)
    found = np.array([mechanism.estimates(kind, tally, users)[0] for tally in tallies])
    return float(np.mean((found - target) ** 2)) / users**2


def draw_age_errors(panel: Axes, found: AgeErrors) -> None:
    """The paper's figure: mean squared errors of value and category shares against epsilon0."""
    curves = (
        ("category", found.category, found.simulated_category),
        ("value", found.value, found.simulated_value),
    )
    for index, (name, exact, simulated) in enumerate(curves):
        known = np.isfinite(exact)
        style: Any = {"color": COLORS[index]}
        panel.plot(found.epsilon0[known], exact[known], ls=DASHES[index], label=f"{name}, exact", **style)
        if found.surveys:
            label = f"{name}, {found.surveys} surveys"
            panel.plot(found.epsilon0, simulated, "os"[index], mfc="white", ms=5, label=label, **style)
    for name, best in found.best.items():
        panel.axvline(best, color="0.6", ls=":", lw=1)
        panel.annotate(
            f" {name}", (best, 1.0), xycoords=("data", "axes fraction"), rotation=90, va="top", fontsize=9
        )
    panel.set(
        title=f"ages in categories of {found.size}, ε = {found.epsilon:g}",
        xlabel="ε0 (dotted: the best for each goal)",
        ylabel="mean squared error of shares",
        yscale="log",
    )
