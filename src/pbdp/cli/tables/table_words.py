"""A published table for people: aligned columns on a terminal, one object for programs, and the notes."""

from __future__ import annotations

import datetime
import math
from typing import TYPE_CHECKING, Any

from pbdp.cli.output.digits import outward_digits, plain_digits
from pbdp.cli.text import columns, percent, rounded_up
from pbdp.tables.manifest import column_notes, manifest_record

if TYPE_CHECKING:
    from pbdp.ledger.budget import Budget
    from pbdp.tables.measures import Measure
    from pbdp.tables.table import Payment, ReleasedTable

Record = dict[str, Any]
# Groups that are shown on a terminal where the whole table can be had again.
SHOWN = 20


def table_words(table: ReleasedTable, most: int | None) -> str:
    """Groups, numbers and intervals in aligned columns, the first `most` of them, and what they mean."""
    query = table.plan.query
    shown = len(table) if most is None else min(most, len(table))
    heads, cells, right = [], [], []
    for name, column in table.groups.columns.items():
        heads.append(name)
        cells.append([_key(key) for key in column.values[:shown].tolist()])
        if column.kind == "integer":
            right.append(len(heads) - 1)
    for measure in query.measures:
        values, intervals = _numbers(table, measure, shown)
        right.append(len(heads))
        heads += [measure.name, "between"]
        cells += [values, intervals]
    if not shown:
        return "No group was published: none had enough people.\n"
    rows = [heads, *(list(row) for row in zip(*cells, strict=True))]
    promises = {
        measure.name: percent(float(table.columns[f"{measure.name}_confidence"][0]))
        for measure in query.measures
    }
    sure = (
        f"with confidence {next(iter(promises.values()))} each"
        if len(set(promises.values())) == 1
        else f"with confidence {', '.join(f'{share} ({name})' for name, share in promises.items())}"
    )
    tail = f"The bounded number of a group is between the two ends {sure}."
    if shown < len(table):
        tail = (
            f"{shown} of {len(table):,} groups. Ask again with -o FILE for all of them: the table is stored, "
            f"and costs nothing more.\n{tail}"
        )
    return f"{columns(rows, right=right)}\n\n{tail}\n"


def table_facts(table: ReleasedTable, written_to: str | None, manifest: str | None) -> Record:
    """One object on the whole table; its rows are in it unless a file has them."""
    record = manifest_record(table)
    facts: Record = {"rows": len(table)}
    if written_to is None:
        facts["table"] = [
            {name: _json(value) for name, value in row.items()} for row in table.to_arrow().to_pylist()
        ]
    else:
        facts |= {"written_to": written_to, "manifest": manifest}
    return facts | {
        **record["certificate"],
        "columns": column_notes(table.plan.query),
        "engine": table.engine,
        "ledger": record["ledger"],
        "insecure_test_seed": table.insecure_test_seed,
    }


def notes(table: ReleasedTable, budget: Budget | None, in_words: bool) -> tuple[str, ...]:
    """What holds and who counts, unless an object says it, and always the warning of a test seed."""
    plan = table.plan
    found = []
    if in_words:
        found.append(f"epsilon {rounded_up(plan.epsilon)} for the whole table at delta {plan.delta:g}")
        found.append(_paid(table.payment, budget))
    if not len(table):
        found.append("No group was published: none had enough people. (There is nothing to draw, either.)")
    if table.insecure_test_seed is not None:
        found.append(
            f"INSECURE: drawn from test seed {table.insecure_test_seed}; nothing is protected. "
            "Never publish it."
        )
    return tuple(found)


def _paid(payment: Payment | None, budget: Budget | None) -> str:
    if payment is None or budget is None:
        return (
            "No ledger counts this release: every further one of the same people adds to its epsilon "
            "(--ledger and --dataset keep an account)."
        )
    if payment.repeated:
        return (
            f"This is the stored table of request {payment.key!r}; nothing was read, drawn or spent. For a "
            "new one, which is paid for again, give another --key."
        )
    rule = budget.rule
    cost = " and ".join(rule.in_words(name, amount) for name, amount in payment.charged.items() if amount)
    left = " and ".join(
        rule.in_words(name, budget.state.remaining[name])
        for name, amount in payment.charged.items()
        if amount
    )
    return (
        f"Paid from {payment.dataset} in {payment.place}: {cost or 'nothing'}; {left or 'as much as before'} "
        f"left. Request key: {payment.key}"
    )


def _numbers(table: ReleasedTable, measure: Measure, shown: int) -> tuple[list[str], list[str]]:
    """Values and intervals of the first groups, rounded to what the interval says (outwards, its ends)."""
    values, low, high = (
        table.columns[f"{measure.name}{suffix}"][:shown].tolist()
        for suffix in ("", "_bounded_low", "_bounded_high")
    )
    numbers, intervals = [], []
    for value, least, most in zip(values, low, high, strict=True):
        start, end = outward_digits(least, most)
        numbers.append(_rounded(value, most - least))
        intervals.append(f"{start} and {end}")
    return numbers, intervals


def _rounded(value: float, width: float) -> str:
    """A number without the digits that are far below the width of its interval; none for an empty group."""
    if isinstance(value, int):
        return str(value)
    if math.isnan(value):
        return "-"
    if not 0 < width < math.inf:
        return plain_digits(value)
    digits = max(0, 3 - math.floor(math.log10(width)))
    return f"{value:.{digits}f}"


def _key(key: object) -> str:
    """A key on one line, whatever it holds."""
    match key:
        case bool():
            return "true" if key else "false"
        case str():
            return key if key.isprintable() and key.strip() == key and key else repr(key)
    return str(key)


def _json(value: object) -> object:
    match value:
        case float() if not math.isfinite(value):
            return None
        case datetime.date():
            return value.isoformat()
    return value
