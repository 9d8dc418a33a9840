"""Confidence 1: a width without exception, for which delta pays at the ends of the noise."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy.optimize import linprog
from scipy.signal import fftconvolve
from scipy.sparse import coo_matrix

import pbdp
from pbdp import tables
from pbdp.errors import CannotCertifyError, ContradictionError, InputError, PbdpError
from pbdp.planning.plan import Plan
from pbdp.report.pictures.plan_figure import plan_figure

pytestmark = pytest.mark.filterwarnings("ignore::pbdp.errors.LargeDeltaWarning")


def most_mass(points: int, sensitivity: int, epsilon: float) -> float:
    """The most mass of noise on so many points whose delta is one, over all laws: a linear program.

    For each shift 0 < |s| <= sensitivity the sum over all outputs of max(0, p(n) - e^eps p(n - s)) is at most
    one; masses are in units of delta.
    """
    shifts = [s for s in range(-sensitivity, sensitivity + 1) if s]
    growth, size = math.exp(epsilon), points * (1 + len(shifts))
    rows, columns, values = [], [], []
    for at, shift in enumerate(shifts):
        for n in range(points):
            row = at * points + n
            entries = [(n, 1.0), (points * (1 + at) + n, -1.0)]
            if 0 <= n - shift < points:
                entries.append((n - shift, -growth))
            for column, value in entries:
                rows.append(row)
                columns.append(column)
                values.append(value)
        for n in range(points):
            rows.append(len(shifts) * points + at)
            columns.append(points * (1 + at) + n)
            values.append(1.0)
    matrix: Any = coo_matrix(
        (np.array(values), (np.array(rows), np.array(columns))), shape=(len(shifts) * (points + 1), size)
    )
    ceilings = np.concatenate([np.zeros(len(shifts) * points), np.ones(len(shifts))])
    gain = np.concatenate([-np.ones(points), np.zeros(size - points)])
    found = linprog(gain, A_ub=matrix.tocsr(), b_ub=ceilings, method="highs")
    assert found.status == 0
    assert found.fun is not None
    return -float(found.fun)


@pytest.mark.parametrize(("delta", "epsilon"), [(1e-3, 0.7328), (1e-6, 1.680), (1e-9, 2.571)])
def test_within_eight(delta: float, epsilon: float) -> None:
    plan = always(within=8, delta=delta)
    assert plan.epsilon == pytest.approx(epsilon, rel=5e-4)
    assert plan.confidence == 1
    assert plan.limit is not None
    assert plan.limit.epsilon == pytest.approx(plan.epsilon, rel=1e-3)


@pytest.mark.parametrize("seed", range(40))
def test_no_noise_is_better(seed: int) -> None:
    """Against all noise on the points of the region, within 1 %; and the limit is below all of it."""
    rng = np.random.default_rng(seed)
    sensitivity = int(rng.integers(1, 5))
    below, above = (int(side) for side in rng.integers(sensitivity, 8 * sensitivity, 2))
    delta, points = float(10 ** rng.uniform(-7, -3)), below + above + 1
    plan = always(within=(below, above), sensitivity=sensitivity, delta=delta)
    assert most_mass(points, sensitivity, plan.epsilon * 0.99) < 1 / delta
    assert most_mass(points, sensitivity, plan.epsilon * (1 + 1e-6)) >= (1 - 1e-5) / delta
    assert plan.limit is not None
    assert most_mass(points, sensitivity, plan.limit.epsilon) <= (1 + 1e-6) / delta


REQUESTS: dict[str, dict[str, Any]] = {
    "lopsided": {"within": (2, 9)},
    "as wide as the sensitivity": {"within": 4, "sensitivity": 4},
    "real": {"within": 3.7, "integer": False, "sensitivity": 0.6},
    "real and lopsided": {"within": (1.5, 4), "integer": False},
    "on a step": {"within": 3, "integer": False, "step": 0.25},
    "relative": {"within": "5%+10"},
    "relative, not negative": {"within": "30%+2.5", "nonnegative": True, "integer": False},
    "several": {"within": 20, "releases": 10},
    "several at once": {"within": 8, "releases": 3, "simultaneous": True},
    "several, narrow": {"within": 4, "sensitivity": 3, "releases": 2},
    "several, wide": {"within": 400, "releases": 30},
    "several, real": {"within": 7.3, "integer": False, "releases": 4},
    "in a range": {"within": 8, "range": (0, 100)},
    "another law": {"within": 8, "families": ("gaussian",)},
}


@pytest.mark.parametrize("name", REQUESTS)
def test_every_output_is_in_the_region(name: str) -> None:
    """All of the table, for answers near and far; and the interval of each output holds the answer."""
    plan = always(**REQUESTS[name])
    asked = plan.requirement
    step = plan.grid.step
    for answer in (0.0, 1.0, 7.0, 40.0, 97.0):
        true = answer if asked.integer else answer + 0.3 * step
        below, above = (float(side) for side in asked.region.offsets(true))
        outputs = plan.law_at(answer if asked.integer else true).output
        assert outputs.min() >= true - below - 1e-9 * (1 + abs(true))
        assert outputs.max() <= true + above + 1e-9 * (1 + abs(true))
        numbers = outputs[:: max(len(outputs) // 50, 1)]
        for low, high in zip(*plan.interval(numbers.tolist()), strict=True):
            assert low <= true <= high


@pytest.mark.parametrize("name", ["lopsided", "relative", "relative, not negative", "several", "in a range"])
def test_it_is_explained_and_drawn_as_any_other(name: str) -> None:
    plan = always(**REQUESTS[name])
    assert all(other.certificate.confidence == 1 for other in plan.others)
    assert all(other.certificate.epsilon >= plan.epsilon * (1 - 1e-9) for other in plan.others)
    assert plan.limit_of_any_law() is None
    assert len(plan_figure(plan, full=True).axes) == 4


@pytest.mark.parametrize(("within", "releases"), [(8, 5), (20, 10), (6, 2)])
def test_several_releases_by_convolution(within: int, releases: int) -> None:
    """delta of all releases together, from the losses of the table and one by one."""
    plan = always(within=within, releases=releases)
    masses = plan.law_at(0.0).probability
    losses, weights, width = np.log(masses[1:] / masses[:-1]), masses[1:], 1e-4

    def delta_with(grid: npt.NDArray[np.int64]) -> float:
        """Exactly, for losses that are multiples of the width."""
        least = int(grid.min())
        one = np.zeros(int(grid.max()) - least + 1)
        np.add.at(one, grid - least, weights)
        total = np.ones(1)
        for _ in range(releases):
            total = fftconvolve(total, one)
        kept = width * (least * releases + np.arange(len(total)))
        counted = kept > plan.epsilon
        finite = float(np.sum(total[counted] * -np.expm1(plan.epsilon - kept[counted])))
        return finite + 1 - (1 - float(masses[0])) ** releases

    low, high = (delta_with(rounded(losses / width).astype(int)) for rounded in (np.floor, np.ceil))
    assert plan.delta is not None
    assert low <= plan.delta <= high
    assert high <= low * 1.01


def test_several_releases_use_better_noise_than_truncated() -> None:
    own, other = (always(within=20, releases=10, families=names) for names in (None, ("gaussian", "laplace")))
    assert own.epsilon < 0.95 * other.epsilon


@pytest.mark.parametrize("delta", [1e-2, 1e-6, 0.3])
def test_a_width_below_the_sensitivity_has_no_answer(delta: float) -> None:
    with pytest.raises(CannotCertifyError, match=r"at least the sensitivity \(4\).*below 0\.5"):
        always(within=3, sensitivity=4, delta=delta)
    # no noise on 7 points: at one end or the other
    assert most_mass(7, 4, 30.0) <= 2 + 1e-9
    assert always(within=4, sensitivity=4, delta=delta).epsilon < 20


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"delta": 0}, "any delta above 0 has an answer where the width is at least the sensitivity"),
        ({"delta": None, "rdp_order": 10}, "Noise that ends has no finite Rényi loss"),
        ({"within": (8, math.inf)}, "give both sides"),
        ({"delta": 1e-15}, "The ends of the noise need a delta of at least"),
        ({"dimensions": 3, "error_norm": "l2"}, "error_norm='linf'"),
        ({"confidence": 1.5}, "strictly between 0 and 1"),
        ({"confidence": True}, "confidence"),
    ],
)
def test_what_cannot_be_had_is_refused(asked: dict[str, Any], message: str) -> None:
    with pytest.raises(PbdpError, match=message):
        always(**{"within": 8, **asked})


def test_a_vector_and_several_requirements() -> None:
    vector = always(within=8, dimensions=3, error_norm="linf")
    assert vector.confidence == 1
    assert vector.epsilon == always(within=8, releases=3).epsilon
    joint = pbdp.plan(
        [
            {"within": 8, "confidence": 1, "sensitivity": 1, "integer": True},
            {"within": 9, "confidence": 0.9, "sensitivity": 1, "integer": True},
        ],
        delta=1e-6,
    )
    assert joint.parts[0].confidence == 1
    assert joint.epsilon < 2.2


def test_the_narrowest_width_for_an_epsilon() -> None:
    found = pbdp.plan(confidence=1, epsilon=1, sensitivity=1, delta=1e-6, integer=True)
    assert found.within == 14
    assert found.epsilon <= 1 < always(within=13).epsilon


def test_a_budget_pays_for_the_ends_from_its_reserve(tmp_path: Path) -> None:
    budget = pbdp.budget("visits", epsilon=3, delta=1e-6, ledger=tmp_path / "budget.db")
    asked: dict[str, Any] = {"confidence": 1, "sensitivity": 1, "integer": True}
    with pytest.raises(CannotCertifyError, match=r"a reserve of 0\.01\d* or more \(--reserve\)"):
        pbdp.plan(within=6, budget=budget, **asked)
    # 0.1 % of delta is the usual reserve: the least epsilon at a delta of 1e-9
    assert pbdp.plan(within=8, budget=budget, **asked).epsilon == pytest.approx(2.571, rel=1e-3)
    answer = budget.ask(1234, within=12, key="a", **asked)
    assert (answer.confidence, answer.high - answer.low) == (1, 24)
    assert 1222 <= answer.value <= 1246
    spent = budget.spent
    assert budget.ask(1234, within=13, key="a", **asked).value == answer.value
    assert budget.spent == spent
    with pytest.raises(InputError, match="below 1 with a floor"):
        budget.ask(1234, within="5%", floor=50, key="b", **asked)


def test_a_reserve_that_is_named_is_enough(tmp_path: Path) -> None:
    asked: dict[str, Any] = {"within": 6, "confidence": 1, "sensitivity": 1, "integer": True}
    budget = pbdp.budget("visits", epsilon=3, delta=1e-6, reserve=0.0141, ledger=tmp_path / "budget.db")
    assert pbdp.plan(budget=budget, **asked).epsilon <= 3
    assert abs(budget.ask(100, key="a", **asked).value - 100) <= 6


def test_no_cell_of_a_table_is_off_by_more() -> None:
    pa = pytest.importorskip("pyarrow")
    measures = [
        tables.Count(within=20),
        tables.Sum(column="x", low=0, high=3, within=40, whole=True, confidence=0.9),
    ]
    terms: dict[str, Any] = {
        "by": {"c": list("abc")},
        "unit": "u",
        "groups_per_person": 2,
        "rows_per_group": 1,
        "delta": 1e-6,
    }
    plan = tables.Query(measures=measures, confidence=1, **terms).plan()
    rows = 3000
    data = pa.table({"u": np.arange(rows), "c": list("abc") * (rows // 3), "x": [2] * rows})
    for _ in range(20):
        table = plan.release(data).to_arrow().to_pydict()
        assert all(abs(count - rows // 3) <= 20 for count in table["count"])
        assert set(table["count_confidence"]) == {1.0}
    mean = tables.Mean(column="x", low=0, high=3, within=1, at_least=10)
    changes: list[dict[str, Any]] = [{"measures": [mean]}, {"measures": [tables.Count(within=20)], "top": 2}]
    for changed in changes:
        with pytest.raises(ContradictionError, match="Only counts and sums"):
            tables.Query(confidence=1, **{**terms, **changed})


def test_hard_bounds_by_name() -> None:
    """q = 1 of the paper: no mass outside, and the delta that its ends take."""
    made = pbdp.boosted(pbdp.DiscreteLaplace(1 / 1.68), within=8, confidence=1, sensitivity=1)
    assert (made.boost, made.coverage()) == (1, 1)
    assert made.density([9, -9], 0).tolist() == [0, 0]
    assert math.isinf(made.epsilon(0.0))
    assert made.epsilon(2e-6) < 1.7
    assert made.plan(delta=2e-6).confidence == 1


def always(**asked: Any) -> Plan:
    """The plan of a request without exception; whole numbers that one person changes by one."""
    defaults: dict[str, Any] = {"confidence": 1, "sensitivity": 1, "delta": 1e-6, "integer": True}
    return pbdp.plan(**{**defaults, **asked})
