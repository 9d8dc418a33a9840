"""What requests of every kind cost: epsilon, width and confidence, kept in `truths.json`.

    python -m tests.truths             answers every request again and says what got dearer or cheaper
    python -m tests.truths --write     records what it finds

A planner may change in any way that leaves this record where it is: nothing dearer by more than `ALLOWED`.
Only figures are compared, not bytes: another noise with the same epsilon is as good.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pbdp
from pbdp.errors import PbdpError

HERE = Path(__file__).with_suffix(".json")
ALLOWED = 0.02

Request = dict[str, Any]
Figures = dict[str, Any]

COUNT: Request = {"sensitivity": 1, "delta": 1e-6, "integer": True}


# -------------------------------------------------------------------------------------------- requests


def one_number() -> Iterator[Request]:
    """Whole and real numbers, one release, an absolute width."""
    for within, confidence, sensitivity in itertools.product(
        (1, 5, 8, 20, 100, 1000), (0.8, 0.9, 0.99), (1, 4, 10)
    ):
        yield COUNT | {"within": within, "confidence": confidence, "sensitivity": sensitivity}
    for delta, width in itertools.product((1e-9, 1e-4, 1e-3, 1e-2), (5, 5.5, 20)):
        yield COUNT | {"within": width, "confidence": 0.9, "delta": delta}
    for width, confidence, moved in itertools.product((0.3, 5, 37.5, 1000), (0.9, 0.95), (1, 2.5)):
        yield {"within": width, "confidence": confidence, "sensitivity": moved, "delta": 1e-6}
    for neighbors in ("add/remove", "replace"):
        yield COUNT | {"within": 12, "confidence": 0.95, "neighbors": neighbors}


def many_releases() -> Iterator[Request]:
    for releases, within, sensitivity in itertools.product((2, 5, 10, 30, 100, 1000), (2, 20, 200), (1, 3)):
        yield COUNT | {
            "within": within,
            "confidence": 0.9,
            "releases": releases,
            "sensitivity": sensitivity,
        }
    for releases in (3, 12, 50):
        yield {"within": 4.5, "confidence": 0.95, "releases": releases, "sensitivity": 1, "delta": 1e-6}
        yield COUNT | {"within": 30, "confidence": 0.9, "releases": releases, "simultaneous": True}


def renyi() -> Iterator[Request]:
    for order, within, releases in itertools.product((2, 10, 100), (3, 20), (1, 10)):
        yield {
            "within": within,
            "confidence": 0.9,
            "sensitivity": 1,
            "rdp_order": order,
            "integer": True,
            "releases": releases,
        }


def relative() -> Iterator[Request]:
    for within, confidence, nonnegative in itertools.product(
        ("5%+10", "20%+5", "50%+2.5", "10%+50"), (0.8, 0.95), (False, True)
    ):
        yield COUNT | {"within": within, "confidence": confidence, "nonnegative": nonnegative}
        yield {
            "within": within,
            "confidence": confidence,
            "nonnegative": nonnegative,
            "sensitivity": 2.0,
            "delta": 1e-6,
        }
    for releases in (3, 20):
        yield COUNT | {"within": "20%+5", "confidence": 0.9, "nonnegative": True, "releases": releases}


def ranges() -> Iterator[Request]:
    for high, within, sensitivity in itertools.product((9, 20, 100), (1, 4), (1, 2, 4)):
        yield COUNT | {"range": [0, high], "within": within, "confidence": 0.85, "sensitivity": sensitivity}
    for scale in (1.5, 3, 10):
        yield COUNT | {"range": [0, 100], "scale": scale, "confidence": 0.9}
    yield {"range": [0, 1], "within": 0.1, "confidence": 0.9, "sensitivity": 0.05, "delta": 1e-6}
    yield {"range": [-5, 5], "within": 0.5, "confidence": 0.9, "sensitivity": 0.2, "delta": 1e-6}


def lopsided() -> Iterator[Request]:
    for (below, above), confidence in itertools.product(((2, 8), (10, 3), (0, 12), (1, 40)), (0.8, 0.95)):
        yield COUNT | {"within": [below, above], "confidence": confidence}
    for side in ([10, math.inf], [math.inf, 10]):
        yield COUNT | {"within": side, "confidence": 0.95}
    yield COUNT | {"within": [2, 8], "confidence": 0.9, "releases": 10}


def functions() -> Iterator[Request]:
    for name, sensitivity in itertools.product(FUNCTIONS, (1, 2)):
        for confidence in (0.8, 0.9):
            yield {"function": name, "confidence": confidence, "sensitivity": sensitivity, "delta": 1e-6}


def several() -> Iterator[Request]:
    count, total = (
        {"within": 20, "confidence": 0.95, "sensitivity": 1, "integer": True},
        {
            "within": 500,
            "confidence": 0.9,
            "sensitivity": 40,
            "integer": True,
        },
    )
    real = {"within": 3.5, "confidence": 0.9, "sensitivity": 0.5}
    many = {"within": 60, "confidence": 0.9, "sensitivity": 2, "integer": True, "releases": 8}
    relative = {"within": "10%+30", "confidence": 0.9, "sensitivity": 1, "integer": True, "nonnegative": True}
    parts = [count, total, real, many, relative]
    for length in (2, 3):
        for asked in itertools.combinations(parts, length):
            yield {"requirements": list(asked), "delta": 1e-6}


def vectors() -> Iterator[Request]:
    for dimensions, norm, within in itertools.product((2, 5, 20), ("linf", "l1", "l2"), (10, 60)):
        yield COUNT | {
            "within": within,
            "confidence": 0.9,
            "dimensions": dimensions,
            "error_norm": norm,
            "touches": 1,
        }
    yield COUNT | {
        "within": 25,
        "confidence": 0.9,
        "dimensions": 8,
        "error_norm": "linf",
        "change_norm": "l1",
    }
    yield COUNT | {"within": 25, "confidence": 0.9, "dimensions": 8, "error_norm": "l1", "change_norm": "l1"}
    yield COUNT | {"within": 25, "confidence": 0.9, "dimensions": 4, "error_norm": "linf"}


def inverse() -> Iterator[Request]:
    for epsilon, confidence, releases in itertools.product((0.3, 1.0, 3.0), (0.8, 0.9, 0.99), (1, 10)):
        yield COUNT | {"epsilon": epsilon, "confidence": confidence, "releases": releases}
    for epsilon, within, releases in itertools.product((0.3, 1.0), (5, 40), (1, 10)):
        yield COUNT | {"epsilon": epsilon, "within": within, "releases": releases}
    for epsilon in (0.2, 1.5):
        yield {"epsilon": epsilon, "confidence": 0.9, "sensitivity": 1, "delta": 1e-6}
        yield {"epsilon": epsilon, "within": 7.5, "sensitivity": 1, "delta": 1e-6}
        yield COUNT | {"epsilon": epsilon, "confidence": 0.9, "within": "?%+10", "nonnegative": True}
        yield COUNT | {"epsilon": epsilon, "confidence": 0.9, "within": "5%+?", "nonnegative": True}
        yield COUNT | {"epsilon": epsilon, "confidence": 0.9, "range": [0, 50]}


CITIES = {"city": [f"c{i}" for i in range(12)]}
HOURS = CITIES | {"hour": list(range(24))}


def tables() -> Iterator[Request]:
    count = {"kind": "count", "within": 50}
    people = {"kind": "people", "within": 30}
    spend = {"kind": "sum", "column": "spend", "low": 0, "high": 100, "within": 900}
    change = {"kind": "sum", "column": "change", "low": -10, "high": 10, "within": 200}
    mean = {"kind": "mean", "column": "age", "low": 0, "high": 90, "within": 2, "at_least": 500}
    loose = {"kind": "mean", "column": "fare", "low": 0, "high": 60, "count_within": 40}
    share = {"kind": "count", "within": "5%+50", "name": "visits"}
    ratio = {
        "kind": "ratio",
        "of": "won",
        "of_low": 0,
        "of_high": 1,
        "over": "played",
        "over_low": 0,
        "over_high": 3,
        "of_within": 30,
        "over_within": 60,
    }
    base = {"unit": "user", "delta": 1e-6, "by": CITIES}
    measures = ([count], [people], [spend], [change], [mean], [loose], [share], [ratio])
    for asked, (groups, rows) in itertools.product(measures, ((1, 1), (3, 5))):
        yield base | {"measures": asked, "groups_per_person": groups, "rows_per_group": rows}
    for neighbors in ("add/remove", "replace"):
        for asked in ([count, spend], [count, mean], [people, change]):
            yield base | {
                "measures": asked,
                "groups_per_person": 2,
                "rows_per_group": 2,
                "neighbors": neighbors,
            }
    for rows in (1, 4):
        each = base | {"by": HOURS, "groups_per_person": 2, "rows_per_group": rows}
        yield each | {"measures": [count], "tables": [["city", "hour"], ["city"], []]}
        yield each | {"measures": [count], "tables": [["city", "hour"], ["hour"], ["city"]]}
        yield each | {"measures": [spend], "tables": [["city", "hour"], ["city"], []]}
    yield base | {
        "by": {"day": list(range(1, 366))},
        "measures": [{"kind": "count", "within": 200}],
        "groups_per_person": 5,
        "rows_per_group": 1,
        "running": "day",
    }
    for epsilon in (0.5, 3.0):
        open_count, open_mean = {"kind": "count"}, {"kind": "mean", "column": "age", "low": 0, "high": 90}
        yield base | {
            "measures": [open_count],
            "epsilon": epsilon,
            "groups_per_person": 2,
            "rows_per_group": 1,
        }
        yield base | {
            "measures": [open_count, open_mean | {"at_least": 500}],
            "epsilon": epsilon,
            "groups_per_person": 1,
            "rows_per_group": 3,
        }
    yield base | {
        "measures": [count],
        "groups_per_person": 2,
        "rows_per_group": 2,
        "top": {"groups": 3, "within": 100},
    }


def surveys() -> Iterator[Request]:
    domain = {"blocks": [10, 101, 10]}
    for epsilon, category in itertools.product((0.5, 1.0, 2.0, 5.0), (0.0, 0.5, 1.0)):
        yield {"domain": domain, "goal": "least_error", "category": category, "epsilon": epsilon}
    for kind, size in (("category", 0.02), ("value", 0.02), ("category", 0.005)):
        yield {"domain": domain, "goal": "within", kind: size, "users": 40_000}
    for width, confidence in itertools.product((3, 11), (0.6, 0.9)):
        yield {"domain": {"scale": [0, 101, width]}, "goal": "report_within", "confidence": confidence}
    for epsilon in (0.5, 2.0):
        yield {"domain": {"scale": [0, 101, 5]}, "goal": "least_mean_error", "epsilon": epsilon}
    yield {"domain": domain, "goal": "within", "category": 0.02, "users": 40_000, "shuffled": 1e-6}


def choices() -> Iterator[Request]:
    for options, within, confidence in itertools.product((5, 100, 1000), (10, 50), (0.9, 0.95)):
        yield {
            "options": options,
            "within": within,
            "confidence": confidence,
            "sensitivity": 1,
            "integer": True,
        }
    for rising in (False, True):
        yield {
            "options": 50,
            "within": 20,
            "confidence": 0.9,
            "sensitivity": 1,
            "integer": True,
            "rising": rising,
        }
        yield {"options": 50, "within": 0.5, "confidence": 0.9, "sensitivity": 0.02, "rising": rising}
    for top, delta in itertools.product((3, 10), (0.0, 1e-6)):
        yield {
            "options": 100,
            "within": 40,
            "confidence": 0.9,
            "sensitivity": 1,
            "integer": True,
            "top": top,
            "delta": delta,
        }
    yield {"options": 6, "within": 40, "confidence": 0.9, "sensitivity": 1, "integer": True, "top": 6}
    for epsilon in (0.2, 1.0):
        yield {"options": 100, "confidence": 0.9, "epsilon": epsilon, "sensitivity": 1, "integer": True}
        yield {"options": 100, "within": 30, "epsilon": epsilon, "sensitivity": 1, "integer": True}


def comparisons() -> Iterator[Request]:
    for users, wider in itertools.product(([1000, 1000], [100_000, 100_000], [300, 900]), (0.01, 0.05, 0.2)):
        yield {"users": users, "rate": 0.05, "wider": wider}
    for users, lift in (([2000, 2000], 0.05), ([20_000, 20_000], 0.02)):
        yield {"users": users, "rate": 0.1, "power": 0.8, "lift": lift}
    for users in ([500, 500], [20_000, 10_000]):
        yield {"users": users, "bounds": [0, 100], "spread": 20, "mean": 40, "wider": 0.05}
        yield {"users": users, "rate": 0.3, "wider": 0.1, "measure": "ratio"}


KINDS: dict[str, Callable[[], Iterator[Request]]] = {
    "one number": one_number,
    "many releases": many_releases,
    "Rényi": renyi,
    "relative": relative,
    "range": ranges,
    "lopsided": lopsided,
    "function": functions,
    "several": several,
    "vector": vectors,
    "inverse": inverse,
    "table": tables,
    "survey": surveys,
    "choice": choices,
    "comparison": comparisons,
}


# --------------------------------------------------------------------------------------------- answers


def _root(answer: int) -> tuple[float, float]:
    room = 2 + math.isqrt(answer)
    return answer - room, answer + room


def _tens(answer: int) -> tuple[float, float]:
    return answer - 3, answer // 10 * 10 + 12


FUNCTIONS = {"root": _root, "tens": _tens}


def _with_tuples(request: Request) -> Request:
    """JSON has lists where Python has tuples."""
    return {name: tuple(value) if isinstance(value, list) else value for name, value in request.items()}


def planned(request: Request) -> Figures:
    return figures(pbdp.plan(**_with_tuples(request)))


def of_function(request: Request) -> Figures:
    from pbdp.mechanism.custom import CustomRegion

    asked = dict(request)
    region = CustomRegion(interval=FUNCTIONS[asked.pop("function")], low=0, high=60)
    return figures(pbdp.plan(region=region, integer=True, **asked))


def figures(plan: Any) -> Figures:
    within = plan.within
    return {
        "epsilon": plan.epsilon,
        "confidence": plan.confidence,
        "within": within if isinstance(within, int | float) else None,
    }


def planned_together(request: Request) -> Figures:
    return {"epsilon": pbdp.plan(request["requirements"], delta=request["delta"]).epsilon}


def table(request: Request) -> Figures:
    from pbdp import tables as t

    made = {"count": t.Count, "people": t.People, "sum": t.Sum, "mean": t.Mean, "ratio": t.Ratio}
    asked = dict(request)
    asked["measures"] = [
        made[entry["kind"]](**{name: value for name, value in entry.items() if name != "kind"})
        for entry in request["measures"]
    ]
    query = t.Query(**asked)
    plan = query.plan()
    drawn = plan.strategies if query.margins else {number.label for number in plan.numbers}
    widths: Figures = {}
    for one in plan.query.measures:
        # of a mean what is promised, however that is split between its sum and its count
        own = {one.name: one.promised(plan)} if one.at_least is not None else {}
        widths |= own or {label: plan.cell_width(label) for label in one.labels if label in drawn}
    return {"epsilon": plan.epsilon, "within": widths}


def survey(request: Request) -> Figures:
    from pbdp.local import domain as d
    from pbdp.local import goal as g
    from pbdp.local import plan as p
    from pbdp.local import region_of

    if "blocks" in request["domain"]:
        low, high, size = request["domain"]["blocks"]
        domain: d.Domain = d.in_blocks(range(low, high), size)
    else:
        low, high, width = request["domain"]["scale"]
        domain = d.on_scale(range(low, high), width)
    goal: g.Goal
    if request["goal"] == "least_error":
        goal = g.LeastError(category=request["category"])
    elif request["goal"] == "least_mean_error":
        goal = g.LeastMeanError()
    elif request["goal"] == "report_within":
        goal = g.ReportWithin(
            region=region_of(domain, request["domain"]["scale"][2]), confidence=request["confidence"]
        )
    else:
        sizes = {name: request[name] for name in ("category", "value") if name in request}
        goal = g.Within(users=request["users"], **sizes)
    if "shuffled" in request:
        plan = p.plan_shuffled(domain, goal, delta=request["shuffled"], users=request["users"])
        return {"epsilon": plan.chosen.central.epsilon if plan.chosen.central else None}
    plan = p.plan_local(domain, goal, epsilon=request.get("epsilon"))
    return {"epsilon": plan.mechanism.epsilon, "cost": plan.chosen.cost}


def choice(request: Request) -> Figures:
    plan = pbdp.plan_choice(**request)
    return {"epsilon": plan.epsilon, "within": plan.within, "confidence": plan.confidence}


def comparison(request: Request) -> Figures:
    return {"epsilon": pbdp.plan_comparison(**_with_tuples(request)).epsilon}


ANSWERS: dict[str, Callable[[Request], Figures]] = {
    "several": planned_together,
    "function": of_function,
    "table": table,
    "survey": survey,
    "choice": choice,
    "comparison": comparison,
}


def answer(kind: str, request: Request) -> Figures:
    """Today's figures of a request."""
    return ANSWERS.get(kind, planned)(request)


def dearer(before: Figures, now: Figures) -> float:
    """By how much the worst figure got worse, as a share of it.

    Epsilon, widths and costs are worse when they grow; the share that may be off, when the confidence falls.
    """
    shares: list[float] = []
    for name in before.keys() & now.keys():
        old, new = before[name], now[name]
        pairs = [(old[key], new[key]) for key in old] if isinstance(old, dict) else [(old, new)]
        for one, other in pairs:
            if one is None or other is None:
                continue
            if name == "confidence":
                one, other = 1 - one, 1 - other  # noqa: PLW2901 - what may be off
            if one > 0:
                shares.append(other / one - 1)
    return max(shares, default=0.0)


def got_dearer(entry: dict[str, Any], now: Figures) -> float:
    """The same for an entry of the record; what is given is spent, and no figure.

    Entries that may cost more say by how much, and why: `dearer`, `because`.
    """
    figures = {name: value for name, value in entry["figures"].items() if name not in entry["request"]}
    return dearer(figures, now) - float(entry.get("dearer", 0.0))


def recorded() -> list[dict[str, Any]]:
    """The record: one entry per request, with `kind`, `request` and `figures`."""
    entries: list[dict[str, Any]] = json.loads(HERE.read_text(encoding="utf-8"))
    return entries


def main() -> int:
    parser = argparse.ArgumentParser(description="what requests cost, against the record")
    parser.add_argument("--write", action="store_true", help="record what is found")
    write = parser.parse_args().write
    asked: list[dict[str, Any]]
    if write:
        asked = [{"kind": kind, "request": request} for kind, make in KINDS.items() for request in make()]
    else:
        asked = recorded()
    entries, worse = [], 0
    for entry in asked:
        try:
            found = answer(entry["kind"], entry["request"])
        except PbdpError as error:
            print(f"refused: {entry['kind']} {json.dumps(entry['request'])}: {error}")
            worse += 1
            continue
        entries.append({"kind": entry["kind"], "request": entry["request"], "figures": found})
        if not write:
            share = got_dearer(entry, found)
            worse += share > ALLOWED
            if abs(share) > ALLOWED / 10:
                print(f"{share:+.2%} {entry['kind']} {json.dumps(entry['request'])}")
    if write:
        lines = ",\n".join(json.dumps(entry, ensure_ascii=False) for entry in entries)
        HERE.write_text(f"[\n{lines}\n]\n", encoding="utf-8")
    print(f"{len(entries)} answered, {worse} refused or dearer by more than {ALLOWED:.0%}")
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main())
