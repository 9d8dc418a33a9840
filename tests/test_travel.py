"""Errors, plans and results go through pickle and back, so that other processes can be given them and fail.

A worker of a pool that ends in an error that cannot be unpickled hangs its pool for ever.
"""

from __future__ import annotations

import importlib
import inspect
import multiprocessing
import pickle
import re
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import pbdp
from pbdp.errors import CannotCertifyError, InputError, ParameterError, PbdpError, shown
from pbdp.ledger.errors import BudgetExceededError, PackageUsedUpError
from pbdp.local import Within, count_reports, estimate, in_blocks, plan_local
from pbdp.planning.plan_file import plan_text
from pbdp.tables import Bins, Count, Csv, Keys, Mean, People, Query, Ratio, Selection, Sum, Top

SOURCE = Path(pbdp.__file__).parent
METHODS = [one for one in ("fork", "spawn", "forkserver") if one in multiprocessing.get_all_start_methods()]
# Seconds that a pool may take to answer; one that hangs would take for ever.
PATIENCE = 120
EXAMPLES: dict[str, Any] = {
    "str": "text",
    "str | None": "text",
    "int": 3,
    "float": 0.5,
    "float | None": 0.5,
    "Mapping[str, str]": {"x": "one"},
    "Mapping[str, tuple[str, int]]": {"x": ("one", 1)},
    "bool": True,
    "object": 1.5,
    "Path": Path("place"),
    "list[str]": ["one", "two"],
    "type": int,
    "Iterable[InputError]": [InputError("x", "y", 1)],
    "PbdpError": InputError("x", "y", 1),
}


def travelled(thing: Any, protocol: int = pickle.DEFAULT_PROTOCOL) -> Any:
    return pickle.loads(pickle.dumps(thing, protocol))  # noqa: S301


def every_error() -> list[type[PbdpError]]:
    for path in SOURCE.rglob("*.py"):
        if re.search(r"^class \w+\(.*Error\b.*\):", path.read_text(), re.MULTILINE):
            importlib.import_module(".".join(path.relative_to(SOURCE.parent).with_suffix("").parts))
    found, new = set[type[PbdpError]](), [PbdpError]
    while new:
        kind = new.pop()
        found.add(kind)
        new += kind.__subclasses__()
    return sorted(found, key=lambda kind: kind.__qualname__)


def made(kind: type[PbdpError]) -> PbdpError:
    """An error of a kind, of whatever it is made."""
    if "__init__" not in {
        name for one in kind.__mro__[: kind.__mro__.index(PbdpError)] for name in vars(one)
    }:
        return kind("a message")
    parameters = inspect.signature(kind).parameters.values()
    given = {one.name: EXAMPLES[str(one.annotation)] for one in parameters}
    positional = [given.pop(one.name) for one in parameters if one.kind is one.POSITIONAL_ONLY]
    return kind(*positional, **given)


def same_error(one: BaseException, other: BaseException) -> bool:
    return repr((one, vars(one))) == repr((other, vars(other))) and type(one) is type(other)


def test_every_error_comes_back_with_its_fields() -> None:
    kinds = every_error()
    assert {InputError, CannotCertifyError, ParameterError, BudgetExceededError} <= set(kinds)
    for kind in kinds:
        error = made(kind)
        for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
            assert same_error(travelled(error, protocol), error), kind
        error.add_note("while planning")
        assert travelled(error).__notes__ == ["while planning"]


class Unpicklable:
    """Something that does not travel, given where it does not belong."""

    def __reduce__(self) -> str:
        raise TypeError


def test_an_error_holds_nothing_of_what_was_given() -> None:
    error = InputError("within", "a number", Unpicklable())
    assert same_error(travelled(error), error)
    assert error.value == "something of type Unpicklable"


@cache
def objects() -> dict[str, Any]:
    """Everything public that holds no connection, fresh."""
    whole: dict[str, Any] = {"within": 5, "confidence": 0.9, "sensitivity": 1, "integer": True}
    query = Query(
        unit="who",
        by={"city": ["Paris", "Rome"], "fare": Bins("0..10 by 5")},
        measures=[
            Count(within=50),
            People(within=20),
            Sum(column="x", low=0, high=10, within=300),
        ],
        groups_per_person=1,
        rows_per_group=2,
        where="x > 0",
        derive={"fare": "x + 1"},
        delta=1e-6,
    )
    survey = plan_local(in_blocks(range(10, 101), 10), Within(category=0.01, users=45_222))
    counts = count_reports(survey.mechanism, survey.mechanism.randomize([15, 20, 30]))
    comparison = pbdp.plan_comparison(users=(1000, 1000), rate=0.1, wider=0.1)
    table = query.plan()
    data = pd.DataFrame({"who": [1, 2, 3], "city": ["Rome", "Paris", "Rome"], "x": [1.0, 2.0, 3.0]})
    return {
        "plan": pbdp.plan(**whole, delta=1e-6),
        "many releases": pbdp.plan(**whole, releases=30, delta=1e-6),
        "together": pbdp.plan([whole, whole], delta=1e-6),
        "choice": pbdp.plan_choice(options=10, within=50, confidence=0.95, sensitivity=1, integer=True),
        "comparison": comparison,
        "compared": comparison.compare(100, 120),
        "query": query,
        "table plan": table,
        "table": table.release(data),
        "mean": Mean(column="x", low=0, high=9, within=1, at_least=100),
        "ratio": Ratio(of="x", of_low=0, of_high=1, over="y", over_low=1, over_high=2),
        "keys": Keys(["Paris"], "other"),
        "csv": Csv(),
        "selection": Selection(people=100),
        "top": Top(groups=3),
        "survey": survey,
        "counts": counts,
        "estimate": estimate(survey.mechanism, counts, "category"),
    }


@pytest.mark.parametrize("name", objects())
def test_every_public_object_without_a_connection_travels(name: str) -> None:
    thing = objects()[name]
    again = travelled(thing)
    assert type(again) is type(thing)
    assert repr(again) == repr(thing)


def test_a_plan_travels_after_it_was_used() -> None:
    plan = objects()["plan"]
    plan.release(3)
    again = travelled(plan)
    assert plan_text(again) == plan_text(plan)
    assert abs(again.release(3) - 3) < 1_000


def planned(within: float) -> pbdp.Plan:
    """In a worker: a plan, or the error that it ends in."""
    return pbdp.plan(within=within, confidence=0.9, sensitivity=1, delta=1e-6, integer=True)


def drawn(plan: pbdp.Plan) -> Any:
    """In a worker: numbers drawn from a plan that was made elsewhere."""
    return np.asarray(plan.release(np.full(20, 1_000), disjoint=True)).tolist()


def used_up(_: object) -> None:
    """In a worker: an error that is made by names alone."""
    raise PackageUsedUpError(dataset="visits", bought=1, used=1, asked=1, package=1)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_workers_are_given_plans_and_their_errors_come_back(method: str) -> None:
    context = multiprocessing.get_context(method)
    with context.Pool(1) as pool:
        plan = pool.apply_async(planned, (5,)).get(PATIENCE)
        assert plan_text(plan) == plan_text(objects()["plan"])
        one, other = (pool.apply_async(drawn, (plan,)).get(PATIENCE) for _ in range(2))
        assert one != other
        with pytest.raises(InputError) as refused:
            pool.apply_async(planned, (-5,)).get(PATIENCE)
        assert (refused.value.name, refused.value.value) == ("within", "-5")
        with pytest.raises(PackageUsedUpError) as used:
            pool.map_async(used_up, [None]).get(PATIENCE)
        assert (used.value.dataset, used.value.exit_code) == ("visits", 3)


def test_workers_of_spark_are_given_plans() -> None:
    cloudpickle = pytest.importorskip("pyspark.cloudpickle")
    plan = objects()["plan"]
    again = pickle.loads(cloudpickle.dumps(lambda: plan.release(3)))  # noqa: S301
    assert abs(again() - 3) < 1_000
    error = pickle.loads(cloudpickle.dumps(InputError("within", "a number", None)))  # noqa: S301
    assert str(error) == "within must be a number; got None."


# ---------------------------------------------------------------------------------- what messages show


SHOWN: list[tuple[object, str]] = [
    (5, "5"),
    (0.25, "0.25"),
    (np.float64(0.25), "0.25"),
    (np.int64(7), "7"),
    (True, "True"),
    (None, "None"),
    ("x" * 101, "a text of 101 characters"),
    (10**5000, "a number of thousands of digits"),
    (Path("plan.json"), "'plan.json'"),
    (int, "the class int"),
    ([1, 2], "something of type list"),
    (np.array([1, 2]), "something of type ndarray"),
    (np.array(5), "something of type ndarray"),
    (pd.Series([1, 2]), "something of type Series"),
    ({"a": 1}, "something of type dict"),
    (b"secret", "something of type bytes"),
]


def test_a_message_shows_plain_values_alone() -> None:
    assert shown("5,5") == "'5,5'"
    assert [shown(value) for value, _ in SHOWN] == [words for _, words in SHOWN]
    for value, words in SHOWN:
        got = value if isinstance(value, str) else words
        assert str(InputError("x", "y", value)) == f"x must be y; got {got}."
