"""The plan that a manifest describes, made again from its query and its noise."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from pbdp.checks import FaultError
from pbdp.planning.plan import Plan, number_design
from pbdp.planning.store import plan_from_record
from pbdp.tables.centered import centered_of, followers_of, in_order
from pbdp.tables.numbers import TOUCHED, Number, numbers_of
from pbdp.tables.plan import SELECTION, TablePlan
from pbdp.tables.query import Query
from pbdp.tables.query_record import query_from_record
from pbdp.tables.selection import Threshold
from pbdp.tables.verify_file import PublishedFile, Record, keys_in
from pbdp.tables.verify_several import several_plan
from pbdp.tables.verify_top import top_from


def plan_of(record: Record, file: PublishedFile | None) -> TablePlan:
    """The plan that the manifest describes; its epsilon is composed again from the tables of noise."""
    touched = TOUCHED in record["plan"]["numbers"]
    query = query_from_record(record["query"], None if file is None else keys_in(file), touched=touched)
    noise = _noise(record["plan"], query)
    if query.margins is not None:
        return several_plan(query, noise, record)
    follows = _follows(query, record)
    numbers, threshold = _numbers(query, noise, record, follows)
    top = top_from(query, noise, record)
    return TablePlan(query=query, numbers=numbers, noise=noise, threshold=threshold, top=top, follows=follows)


def _follows(query: Query, record: Record) -> dict[str, tuple[str, str]]:
    """The measures that follow from two numbers, as the manifest says: all that can, or none."""
    known, possible = record["plan"].get("follows", {}), followers_of(centered_of(query))
    if known and {name: tuple(labels) for name, labels in known.items()} != possible:
        raise FaultError("measures follow from other numbers than those of their columns")
    return possible if known else {}


def asked_of_numbers(query: Query, follows: Collection[str]) -> list[Number]:
    """What is asked of the numbers of a plan in which these measures follow from others."""
    own = {number.label: number for number in numbers_of(query, 1.0, without=follows)}
    totals = [one.number(query, 1.0) for one in centered_of(query) if follows]
    return in_order(own | {number.label: number for number in totals})


def _noise(record: Record, query: Query) -> Plan:
    """The plan of the noise; that of a first version calls its parts by number."""
    if "noise" in record:
        return plan_from_record(record["noise"], "plan")
    plan = plan_from_record(record["joint"], "plan")
    labels = [number.label for number in numbers_of(query, 1.0)] + [SELECTION] * (query.select is not None)
    if len(labels) != len(plan.parts):
        raise FaultError("the plan is for other numbers than the query asks for")
    named = tuple(replace(part, name=label) for part, label in zip(plan.parts, labels, strict=True))
    return replace(plan, parts=named)


def _numbers(
    query: Query, noise: Plan, record: Record, follows: Collection[str]
) -> tuple[tuple[Number, ...], Threshold | None]:
    """The numbers with the requirements of the plan's parts, and the threshold of the last part."""
    asked = asked_of_numbers(query, follows)
    expected = len(asked) + (query.listed is not None) + (query.select is not None)
    if [number.label for number in asked] != record["plan"]["numbers"] or len(noise.parts) != expected:
        raise FaultError("the plan is for other numbers than the query asks for")
    numbers = tuple(
        replace(number, requirement=part.requirement)
        for number, part in zip(asked, noise.parts, strict=False)
    )
    if query.select is None:
        return numbers, None
    last, threshold = noise.parts[-1], record["plan"]["threshold"]
    if isinstance(threshold, bool) or not isinstance(threshold, int):
        raise FaultError("the selection has no threshold")
    return numbers, Threshold(
        threshold=threshold, requirement=last.requirement, design=number_design(last.design)
    )
