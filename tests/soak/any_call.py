"""Random calls of the public interface end in a result, or in a `PbdpError` that shows no private value.

Run: PYTHONPATH=. python tests/soak/any_call.py [calls] [first seed] [part of a name]

Every call is a sound one of `CALLS` with one to three of its parameters exchanged for something else: numbers
at the ends of what there is, other types, other containers, columns of data, too much or nothing. It is at
fault if it ends in any other error, in a message that shows what stood in a column of data, or takes more
than `MOST_SECONDS`.
"""

from __future__ import annotations

import datetime
import os
import random
import resource
import signal
import sys
import tempfile
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa

import pbdp
from pbdp import local
from pbdp.audit.audit import audit_plan
from pbdp.errors import PbdpError, shown
from pbdp.ledger import verify_export, verify_ledger
from pbdp.tables import (
    Bins,
    Count,
    Csv,
    Keys,
    Mean,
    People,
    Query,
    Ratio,
    Selection,
    Sum,
    Top,
    verify_manifest,
)

CALLS_BY_DEFAULT = 25_000
MOST_SECONDS = 20.0
MEMORY = 6 << 30
# Stands in every column of data here, and in no message.
PRIVATE = "zq-private-zq"
SECRET = 7719388.25

STRANGE: list[Any] = [
    *(None, True, False, "", "5", "5%", "5%+1", "?", "linf", "abc", b"x", int, len, object()),
    *(0, 1, 2, -1, 3, 7, 10**12, 10**40, -(10**40), 10**400, 10**5000, 5j),
    *(0.0, -0.0, 0.5, 0.9, 1.0, 1.5, 1e-320, 1e-100, 1e-6, 1e30, 1e308, -1e308, -0.5),
    *(float("inf"), float("-inf"), float("nan"), np.float64("nan"), Decimal("NaN"), Decimal("0.9")),
    *(np.float64(0.9), np.float32(0.5), np.int64(3), np.uint8(1), np.True_, np.False_, np.str_("5%")),
    *(Fraction(1, 3), Fraction(10**400), "x" * 5000, "\0", "\ud800", "a\nb", "1e999999", "../..", "::"),
    *(datetime.date(2024, 2, 29), datetime.timedelta(1), Path("none"), pd.Timestamp("2024-02-29"), pd.NA),
    *(range(3), range(0), range(10**30), (), (1,), (1, 2), (2, 1), (1, 2, 3), ("a", "b")),
    *((0.1, float("nan")), frozenset("ab"), Count(within=50), Selection(people=100), Bins("0..10 by 5")),
]
# What a call may change is made anew for each.
MADE: list[Callable[[], Any]] = [
    list,
    dict,
    set,
    lambda: [1],
    lambda: [1, 2],
    lambda: ["a", "a"],
    lambda: [None],
    lambda: [[1], [2, 3]],
    lambda: [float("nan")] * 3,
    lambda: [10**400],
    lambda: {"a": 1},
    lambda: {"a": [1, 2], 3: None},
    lambda: {"kind": "count"},
    lambda: {1, 2},
    lambda: (one for one in (1, 2)),
    lambda: np.array([]),
    lambda: np.array(5.0),
    lambda: np.array([[SECRET, 1.0], [2.0, 3.0]]),
    lambda: np.array([SECRET, np.nan]),
    lambda: np.array([PRIVATE, None], dtype=object),
    lambda: pd.Series([SECRET, 1.0]),
    lambda: pd.Series([PRIVATE, "b"]),
    lambda: pd.Series([SECRET, 1.0]) > 0,
    lambda: pd.Index([PRIVATE]),
    lambda: pd.DataFrame({"city": [PRIVATE], "x": [SECRET]}),
    lambda: pl.Series([SECRET, 1.0]),
    lambda: pl.DataFrame({"city": [PRIVATE], "x": [SECRET]}),
    lambda: pa.array([PRIVATE, None]),
    lambda: pa.table({"city": [PRIVATE], "x": [SECRET]}),
]


@dataclass(frozen=True, slots=True)
class Call:
    """A public callable with parameters that it takes; those that start with an underscore have no name."""

    name: str
    function: Callable[..., Any]
    given: dict[str, Any]

    def made(self, given: dict[str, Any]) -> Any:
        """What becomes of it with other parameters."""
        by_place = [value for name, value in given.items() if name.startswith("_")]
        return self.function(*by_place, **{n: v for n, v in given.items() if not n.startswith("_")})


class World:
    """Sound objects to call, and the calls; budgets and files are in the folder that the run stands in."""

    @cached_property
    def data(self) -> pd.DataFrame:
        return pd.DataFrame(
            {
                "who": [1, 2, 3, 4],
                "city": ["Rome", "Paris", "Rome", "Oslo"],
                "day": [1, 2, 3, 1],
                "x": [1.0, 2.0, 3.0, 4.0],
            }
        )

    @cached_property
    def query(self) -> dict[str, Any]:
        return {
            "unit": "who",
            "by": {"city": ["Rome", "Paris"]},
            "measures": [Count(within=50), Sum(column="x", low=0, high=10, within=300)],
            "groups_per_person": 1,
            "rows_per_group": 2,
            "delta": 1e-6,
        }

    @cached_property
    def calls(self) -> list[Call]:
        """Every public call with sound parameters."""
        simple: dict[str, Any] = {
            "within": 5,
            "confidence": 0.9,
            "sensitivity": 1,
            "delta": 1e-6,
            "integer": True,
        }
        made = pbdp.plan(**simple)
        several = pbdp.plan(**simple, releases=3)
        real = pbdp.plan(within=5, confidence=0.9, sensitivity=1, delta=1e-6)
        picked: dict[str, Any] = {"within": 50, "confidence": 0.95, "sensitivity": 1, "integer": True}
        choice = pbdp.plan_choice(options=3, **picked)
        compared: dict[str, Any] = {"users": (1000, 1000), "rate": 0.1, "wider": 0.1}
        comparison = pbdp.plan_comparison(**compared)
        analyzed = comparison.compare(100, 120)
        table_plan = Query(**self.query).plan()
        table = table_plan.release(self.data)
        running = {**self.query, "by": {"day": range(1, 4)}, "running": "day", "measures": [Count(within=50)]}
        several_tables = {**running, "running": None, "by": {"city": ["Rome"], "day": [1, 2]}}
        ledger = pbdp.Ledger.create("calls.db")
        budget = pbdp.Budget.create(ledger, "visits", epsilon=500.0, delta=1e-3)
        names = (f"new {at}" for at in count())
        blocks = local.in_blocks(range(10, 101), 10)
        survey = local.plan_local(blocks, local.Within(category=0.01, users=45_222))
        counted = local.count_reports(survey.mechanism, survey.mechanism.randomize([15, 20, 30]))
        wave = local.plan_survey(
            local.without_categories(range(20)), epsilon=1.0, goal="distribution"
        ).mechanism
        waved = local.count_reports(wave, wave.randomize([1, 2, 3, 4]))
        seen = local.distribution(wave, waved)
        least = local.LeastError(category=1.0)
        questions = [local.Question(name=name, domain=blocks, goal=least) for name in ("a", "b")]
        exported = list(ledger.export())
        made.save("plan.json")
        choice.save("choice.json")
        table.save("table.csv")
        comparison.save("comparison.json")
        analyzed.save("compared.json")
        local.save_configuration(wave, "survey.json")

        def create_budget(**given: Any) -> object:
            return pbdp.Budget.create(ledger, given.pop("dataset", next(names)), **given)

        return [
            Call("plan", pbdp.plan, {**simple, "nonnegative": False, "neighbors": "add/remove"}),
            Call("plan", pbdp.plan, {**simple, "releases": 3, "simultaneous": True}),
            Call("plan", pbdp.plan, {**simple, "families": ("laplace",), "range": (0, 100)}),
            Call("plan", pbdp.plan, {"within": "5%+10", **{n: v for n, v in simple.items() if n != "within"}}),
            Call("plan", pbdp.plan, {"within": 5, "epsilon": 1.0, "sensitivity": 1, "delta": 1e-6}),
            Call("plan", pbdp.plan, {"confidence": 0.9, "epsilon": 1.0, "sensitivity": 1, "delta": 1e-6}),
            Call("plan", pbdp.plan, {"_": [{n: v for n, v in simple.items() if n != "delta"}] * 2, "delta": 1e-6}),
            Call("plan", pbdp.plan, {**simple, "dimensions": 3, "norm": "l1"}),
            Call("Plan.release", made.release, {"_answer": 5, "disjoint": False}),
            Call("Plan.release", several.release, {"_answer": [1, 2, 3], "interval": True}),
            Call("Plan.release", real.release, {"_answer": 5.5, "insecure_test_seed": None}),
            Call("Plan.interval", made.interval, {"_published": 5, "confidence": 0.9}),
            Call("Plan.risk", made.risk, {"_prior": 0.5}),
            Call("Plan.likelihood", made.likelihood, {"_published": 5, "_answers": [4, 5]}),
            Call("Plan.law_at", made.law_at, {"_answer": 5}),
            Call("Plan.alone", made.alone, {"_name": "a"}),
            Call("Plan.part", made.part, {"_name": "a"}),
            Call("Plan.save", made.save, {"_path": "made.json"}),
            Call("Plan.load", pbdp.Plan.load, {"_path": "plan.json"}),
            Call("plan_choice", pbdp.plan_choice, {**picked, "options": 3, "rising": True, "top": 1, "delta": 1e-6}),
            Call("plan_choice", pbdp.plan_choice, {**picked, "options": 10, "top": 3, "neighbors": "replace"}),
            Call("plan_choice", pbdp.plan_choice, {"options": 3, "sensitivity": 1, "epsilon": 1.0, "within": 5}),
            Call("choose", pbdp.choose, {**picked, "_scores": {"a": 1, "b": 5, "c": 2}}),
            Call("ChoicePlan.choose", choice.choose, {"_scores": [1, 2, 3]}),
            Call("ChoicePlan.risk", choice.risk, {"_prior": 0.5}),
            Call("ChoicePlan.load", pbdp.ChoicePlan.load, {"_path": "choice.json"}),
            Call("plan_comparison", pbdp.plan_comparison, {**compared, "confidence": 0.95, "delta": 1e-6}),
            Call("plan_comparison", pbdp.plan_comparison, {**compared, "power": 0.8, "lift": 0.02, "wider": None}),
            Call("compare", pbdp.compare, {"_first": 100, "_second": 120, **compared}),
            Call("ComparisonPlan.compare", comparison.compare, {"_first": 100, "_second": 120}),
            Call("ComparisonPlan.power", comparison.power, {"_first": 0.1, "_second": 0.1}),
            Call("ComparisonPlan.risk", comparison.risk, {"_prior": 0.5}),
            Call("Compared.save", analyzed.save, {"_path": "compared.json"}),
            Call("Count", Count, {"within": 50, "confidence": 0.9, "column": "x", "name": "n"}),
            Call("People", People, {"within": 50, "confidence": 0.9, "name": "n"}),
            Call("Sum", Sum, {"column": "x", "low": 0, "high": 10, "within": 5, "per": "row", "whole": False}),
            Call("Mean", Mean, {"column": "x", "low": 0, "high": 10, "within": 5, "at_least": 100, "name": "m"}),
            Call("Ratio", Ratio, {"of": "x", "of_low": 0, "of_high": 1, "over": "y", "over_low": 1, "over_high": 2}),
            Call("Top", Top, {"groups": 3, "by": "count", "within": 5, "confidence": 0.9, "among": 100}),
            Call("Selection", Selection, {"people": 100, "confidence": 0.95}),
            Call("Bins", Bins, {"_text": "0..100 by 5"}),
            Call("Keys", Keys, {"_keys": ["a"], "_rest": "other"}),
            Call("Csv", Csv, {"decimal": ",", "dates": {"day": "%d.%m.%Y"}, "null": ["NA"], "unreadable": "null"}),
            Call("Query", Query, self.query),
            Call("Query", Query, {**self.query, "where": "x > 0", "derive": {"y": "x + 1"}, "neighbors": "replace"}),
            Call("Query", Query, {**self.query, "quality": True, "minimum_size": 5, "withhold": True}),
            Call("Query", Query, {**self.query, "by": ["city"], "select": Selection(people=100)}),
            Call("Query", Query, {**self.query, "top": 1, "nonnegative": True, "bounds_touched": 5}),
            Call("Query", Query, {**self.query, "keys": {"city": ["Rome"]}, "by": ["city"], "most_rows": 10**6}),
            Call("Query", Query, {**running, "through": 2, "append_only": True, "bounds_touched": False}),
            Call("Query", Query, {**several_tables, "tables": [["city", "day"], []], "add_up": False}),
            Call("Query", Query, {**self.query, "measures": [Count()], "epsilon": 1.0, "bins": None, "rest": None}),
            Call("TablePlan.release", table_plan.release, {"_data": self.data, "table": None, "csv": None}),
            Call("TablePlan.release", table_plan.release, {"_data": self.data, "source": "a", "version": "1"}),
            Call("TablePlan.risk", table_plan.risk, {"_prior": 0.5}),
            Call("TablePlan.part", table_plan.part, {"_label": "count"}),
            Call("ReleasedTable.save", table.save, {"_path": "other.csv"}),
            Call("ReleasedTable.file_bytes", table.file_bytes, {"_written": "csv"}),
            Call("verify_manifest", verify_manifest, {"_path": "table.csv.manifest.json", "table": None}),
            Call("Ledger.open", pbdp.Ledger.open, {"_url": "calls.db", "wait": 1.0, "trust": False}),
            Call("Ledger.create", pbdp.Ledger.create, {"_url": "calls.db", "wait": 1.0, "trust": False}),
            Call("Ledger.dataset", ledger.dataset, {"_name": "visits"}),
            Call("Ledger.spend_of", ledger.spend_of, {"_key": "march"}),
            Call("Ledger.verify", ledger.verify, {"against": None}),
            Call("Budget.create", create_budget, {"epsilon": 1.0, "delta": 1e-6, "reserve": 0.001, "blocks": ("a",)}),
            Call("Budget.create", create_budget, {"dataset": "visits", "epsilon": 1.0, "delta": 1e-6, "note": "x"}),
            Call("Budget.of", pbdp.Budget.of, {"_ledger": ledger, "_dataset": "visits"}),
            Call("Budget.price", budget.price, {"_plan": made, "blocks": None}),
            Call("Budget.reserve", budget.reserve, {"_plan": made, "blocks": None, "key": "reserved"}),
            Call("Budget.release", budget.release, {"_plan": made, "_answers": 5, "disjoint": False, "again": False}),
            Call("Budget.release", budget.release, {"_plan": made, "_answers": 5, "key": "k", "query": "q"}),
            Call("Budget.ask", budget.ask, {"answer": 5, **{n: v for n, v in simple.items() if n != "delta"}}),
            Call("Budget.ask", budget.ask, {"answer": 500, "within": "5%", "floor": 50, "expect": (100, 1e6),
                 "confidence": 0.95, "sensitivity": 1, "integer": True}),
            Call("Budget.ask", budget.ask, {"answer": 5.5, "within": 5, "share": 0.01, "sensitivity": 1, "step": 0.5}),
            Call("Budget.risk", budget.risk, {"_prior": 0.5}),
            Call("in_blocks", local.in_blocks, {"_values": range(10), "_size": 2}),
            Call("in_categories", local.in_categories, {"_values": ["a", "b"]}),
            Call("on_scale", local.on_scale, {"_values": range(10), "_width": 2, "ring": False}),
            Call("Within", local.Within, {"category": 0.01, "users": 1000}),
            Call("plan_local", local.plan_local, {"_domain": blocks, "_goal": local.Within(category=0.05, users=1000)}),
            Call("randomize", survey.mechanism.randomize, {"_values": [15, 20]}),
            Call("count_reports", local.count_reports, {"_mechanism": survey.mechanism, "_reports": [1, 2]}),
            Call("estimate", local.estimate, {"_mechanism": survey.mechanism, "_counts": counted, "_kind": "category"}),
            Call("shuffled", local.shuffled, {"_mechanism": survey.mechanism, "users": 1000, "delta": 1e-6}),
            Call("load_configuration", local.load_configuration, {"_path": "survey.json"}),
            Call("save_configuration", local.save_configuration, {"_mechanism": wave, "_path": "saved.json"}),
            Call("without_categories", local.without_categories, {"_values": range(10)}),
            Call("region_of", local.region_of, {"_domain": blocks, "_within": 3}),
            Call("LeastError", local.LeastError, {"category": 0.5, "expected": [1.0, 2.0]}),
            Call("LeastMeanError", local.LeastMeanError, {"expected": [1.0, 2.0]}),
            Call("LeastShapeError", local.LeastShapeError, {"kind": "quantile", "users": 100, "expected": None}),
            Call("ReportWithin", local.ReportWithin, {"region": local.region_of(blocks, 3), "confidence": 0.9}),
            Call("Question", local.Question, {"name": "a", "domain": blocks, "goal": least}),
            Call("plan_questions", local.plan_questions, {"_questions": questions, "epsilon": 1.0, "users": 1000}),
            Call("plan_survey", local.plan_survey, {"_domain": blocks, "epsilon": 1.0, "goal": "value", "use": None}),
            Call("plan_survey", local.plan_survey, {"_domain": blocks, "within": 0.05, "of": "category", "users": 1000,
                 "confidence": 0.9, "joint": False, "guaranteed": False, "shuffled": False, "expected": None}),
            Call("plan_survey", local.plan_survey, {"_domain": blocks, "report_within": 3, "confidence": 0.8}),
            Call("plan_shuffled", local.plan_shuffled, {"_domain": blocks, "_goal": least, "epsilon": 1.0,
                 "delta": 1e-6, "users": 1000, "use": None}),
            Call("count_groups", local.count_groups, {"_mechanism": wave, "_reports": [1, 2], "_counts": [3, 4],
                 "fingerprint": None}),
            Call("estimate", local.estimate, {"_mechanism": survey.mechanism, "_counts": counted, "_kind": "category", "confidence": 0.9,
                 "joint": False, "method": "score"}),
            Call("distribution", local.distribution, {"_mechanism": wave, "_counts": waved,
                 "confidence": 0.9, "joint": False, "method": "score"}),
            Call("Distribution.quantile", seen.quantile, {"_level": 0.5}),
            Call("Distribution.quantiles", seen.quantiles, {"_levels": (0.25, 0.5)}),
            Call("alarms", local.alarms, {"_mechanism": survey.mechanism, "_parts": [("a", counted)], "_repeats": None}),
            Call("LocalMechanism.risk", wave.risk, {"_prior": 0.5}),
            Call("audit_plan", audit_plan, {"_plan": made, "draws": 10_000, "answers": [5], "confidence": 0.99}),
            Call("audit_plan", audit_plan, {"_plan": wave, "_draw": None, "draws": 10_000, "progress": None}),
            Call("budget", pbdp.budget, {"_dataset": "visits", "ledger": ledger, "trust": False}),
            Call("budget", pbdp.budget, {"_dataset": "visits", "epsilon": 500.0, "delta": 1e-3, "ledger": "calls.db",
                 "blocks": (), "neighbors": "add/remove"}),
            Call("Budget.describe", budget.describe, {"explain": True}),
            Call("Budget.plot", budget.plot, {"_path": "budget.svg", "full": False}),
            Call("Plan.plot", made.plot, {"_path": "plan.svg", "full": False}),
            Call("Plan.prepared", made.prepared, {"_answers": 5, "disjoint": False}),
            Call("ChoicePlan.save", choice.save, {"_path": "other.json"}),
            Call("ComparisonPlan.save", comparison.save, {"_path": "other.json"}),
            Call("ComparisonPlan.load", pbdp.ComparisonPlan.load, {"_path": "comparison.json"}),
            Call("ComparisonPlan.paid", comparison.paid, {"_budget": budget, "_groups": (100, 120), "users": (1000, 999),
                 "key": None, "blocks": None, "query": "x"}),
            Call("Compared.load", pbdp.Compared.load, {"_path": "compared.json"}),
            Call("ReleasedTable.plot", table.plot, {"_path": "table.svg", "full": False}),
            Call("Ledger.history", ledger.history, {"_dataset": "visits"}),
            Call("Ledger.take_keys", ledger.take_keys, {"_exported": {}}),
            Call("Ledger.repair", pbdp.Ledger.repair, {"_url": "calls.db", "_gap": "known", "wait": 1.0}),
            Call("Ledger.replace_key", pbdp.Ledger.replace_key, {"_url": "calls.db", "_export": exported, "wait": 1.0}),
            Call("verify_ledger", verify_ledger, {"_url": "calls.db", "wait": 1.0, "against": exported}),
            Call("verify_export", verify_export, {"_lines": exported}),
        ]  # fmt: skip


class TooSlowError(BaseException):
    """A call took too long; no `except Exception` stops this."""


@contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """Stop what takes longer, of a processor."""

    def stop(*_: object) -> None:
        raise TooSlowError

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def fault_of(call: Call, given: dict[str, Any], seconds: float = MOST_SECONDS) -> str:
    """What is wrong with how a call ends; nothing if it ends in a result, or in a proper refusal."""
    try:
        with at_most(seconds), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            call.made(given)
    except PbdpError as refused:
        shown = f"{refused} {refused!r} {vars(refused)}"
        return "a private value is shown" if PRIVATE in shown or str(SECRET) in shown else ""
    except TooSlowError:
        return "too slow"
    except BaseException as error:  # noqa: BLE001 - whatever else it is, is at fault
        where = traceback.extract_tb(error.__traceback__)[-1]
        return f"{type(error).__name__} in {Path(where.filename).name}:{where.lineno}: {str(error)[:100]}"
    return ""


def changed(call: Call, chance: random.Random) -> dict[str, Any]:
    """The parameters of a call with some exchanged."""
    given = dict(call.given)
    for name in chance.sample(sorted(given), min(len(given), chance.choice((1, 1, 1, 2, 3)))):
        place = chance.randrange(len(STRANGE) + len(MADE))
        value = STRANGE[place] if place < len(STRANGE) else MADE[place - len(STRANGE)]()
        # what functions of the caller's raise is the caller's
        if name not in ("_draw", "progress") or not callable(value):
            given[name] = value
    return given


def main(calls: int, first: int, only: str = "") -> int:
    """Faults found, each kind on a line, then how many; `only` calls whose name has this in it."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    found: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        os.environ |= {"PBDP_STATE": str(Path(folder) / "state"), "PBDP_KEYS": str(Path(folder) / "keys")}
        world = [call for call in World().calls if only in call.name]
        for seed in range(first, first + calls):
            chance = random.Random(seed)
            call = chance.choice(world)
            given = changed(call, chance)
            if fault := fault_of(call, given):
                kind = f"{call.name}: {': '.join(fault.split(': ')[:1])}"
                found[kind] += 1
                if found[kind] == 1:
                    own = {name: shown(v) for name, v in given.items() if v is not call.given.get(name)}
                    print(f"seed {seed}: {call.name}: {fault} {own}", flush=True)
        os.chdir("/")
    print(f"{calls} calls: {sum(found.values())} faults of {len(found)} kinds")
    return sum(found.values())


if __name__ == "__main__":
    given = dict(enumerate(sys.argv))
    sys.exit(main(int(given.get(1, CALLS_BY_DEFAULT)), int(given.get(2, 0)), given.get(3, "")) > 0)
