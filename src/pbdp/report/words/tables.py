"""Published tables in words and as objects."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pbdp.columns.published import json_value
from pbdp.digits import outward, percent_down, plain
from pbdp.report.record import warning_records
from pbdp.report.statement import statement
from pbdp.report.tables import key_text
from pbdp.report.text import bar, columns, lines_of, warning_text
from pbdp.report.words.ledgers import table_paid_words
from pbdp.tables.contribution_bounds import is_coarse
from pbdp.tables.manifest import column_notes, manifest_record
from pbdp.tables.measure import Measure
from pbdp.tables.nonnegative import SUFFIX as NONNEGATIVE
from pbdp.tables.quality import SUFFIX

if TYPE_CHECKING:
    from pbdp.ledger.budget import Budget
    from pbdp.tables.table import ReleasedTable

Record = dict[str, Any]
NOT_CERTIFIED = "No width is certified for the numbers that are kept at 0 or above."
EMPTY = "No group was published: none had enough people."


def table_words(table: ReleasedTable, most: int | None) -> str:
    """Groups, numbers and intervals in aligned columns, the first `most` of them, and what they mean."""
    if table.others:
        others = [replace(one, others=()) for one in table.tables.values()]
        return "\n".join(f"{one.label}:\n{table_words(one, most)}" for one in others)
    query = table.plan.query
    shown = len(table) if most is None else min(most, len(table))
    heads, cells, right = [], [], []
    for name, column in table.groups.columns.items():
        heads.append(name)
        cells.append([key_text(key) for key in column.values[:shown].tolist()])
        if column.kind == "integer":
            right.append(len(heads) - 1)
    for measure in query.measures:
        if measure.chosen:
            ranks = [one for one in (f"{measure.name}_rank_within",) if one in table.columns]
            right += range(len(heads), len(heads) + len(measure.shown_columns) + len(ranks))
            heads += [*measure.shown_columns, *(["rank within"] if ranks else [])]
            cells += [
                [plain(value) for value in table.columns[name][:shown].tolist()]
                for name in [*measure.shown_columns, *ranks]
            ]
            continue
        values, intervals = _numbers(table, measure, shown)
        right.append(len(heads))
        heads += [measure.name, "between"]
        cells += [values, intervals]
        if (marks := table.columns.get(measure.name + SUFFIX)) is not None:
            heads.append("")
            cells.append(list(map(str, marks[:shown].tolist())))
        if (above := table.columns.get(measure.name + NONNEGATIVE)) is not None:
            right.append(len(heads))
            heads.append("not below 0")
            widths = table.columns[f"{measure.name}_bounded_within"]
            both = zip(above[:shown].tolist(), widths[:shown].tolist(), strict=True)
            cells.append([_rounded(number, 2 * width) for number, width in both])
    if not shown:
        return f"{EMPTY}\n"
    rows = [heads, *(list(row) for row in zip(*cells, strict=True))]
    promises = {
        measure.name: percent_down(float(table.columns[f"{measure.name}_confidence"][0]))
        for measure in query.measures
    }
    sure = (
        f"with confidence {next(iter(promises.values()))} each"
        if len(set(promises.values())) == 1
        else f"with confidence {', '.join(f'{share} ({name})' for name, share in promises.items())}"
    )
    bounded = any(map(query.is_bounded, query.measures))
    what = f"The {'bounded' if bounded else 'true'} number of a group is between the two ends"
    if readings := list(dict.fromkeys(one.reading for one in query.measures if one.chosen)):
        said = ", and ".join(readings)
        alone = all(one.chosen for one in query.measures)
        what = said[0].upper() + said[1:] if alone else f"{what}, and {said},"
    tail = f"{what} {sure}."
    if query.nonnegative:
        tail = f"{tail} {NOT_CERTIFIED}"
    if table.bounds_touched:
        tail = f"{tail}\n{_touched_bars(table)}"
    if shown < len(table):
        tail = (
            f"{shown} of {len(table):,} groups. Ask again with -o FILE for all of them: the table is stored, "
            f"and costs nothing more.\n{tail}"
        )
    return f"{columns(rows, right=right)}\n\n{tail}\n"


def _touched_bars(table: ReleasedTable) -> str:
    """Whom the bounds touched, with a bar for everybody and for each bound."""
    counts = table.bounds_touched
    most = max(one.value for one in counts)
    rows = [[one.meaning, f"{one.value:,}", one.interval, bar(max(one.value, 0), most, 30)] for one in counts]
    heads = ["", "published", "between", ""]
    return f"\n{columns([heads, *rows], right=(1,))}"


def table_facts(table: ReleasedTable, written_to: str | None, manifest: str | None) -> Record:
    """One object on the whole table; its rows are in it unless a file has them."""
    record = manifest_record(table)
    facts: Record = {"rows": len(table)}
    if written_to is None:
        facts["table"] = _json_rows(table)
        if table.others:
            facts["tables"] = {one.label: _json_rows(one) for one in table.tables.values()}
    else:
        facts |= {"written_to": written_to, "manifest": manifest}
    return facts | {
        **record["certificate"],
        "guessed_right": table.plan.risk(),
        "columns": column_notes(table.plan.query),
        **({"bounds_touched": record["bounds_touched"]} if table.bounds_touched else {}),
        "engine": table.engine,
        "ledger": record["ledger"],
        "insecure_test_seed": table.insecure_test_seed,
        "warnings": warning_records(statement(table)),
    }


def _json_rows(table: ReleasedTable) -> list[Record]:
    return [{name: json_value(value) for name, value in row.items()} for row in table.to_arrow().to_pylist()]


def table_notes(table: ReleasedTable, budget: Budget | None, in_words: bool) -> tuple[str, ...]:
    """What holds, who paid and every warning; beside an object, only what concerns this call."""
    said = statement(table)
    if not in_words:
        urgent = ("insecure", "zero_keys")
        found = [warning_text(one, said) for one in said.warnings if one.code in urgent]
    else:
        found = lines_of(said)
        found += [table_paid_words(table.payment, budget)] if table.payment is not None else []
        found += [] if table.plan.top is None else [table.plan.top.describe()]
        if table.bounds_touched and is_coarse(table.bounds_touched):
            found.append("For a more precise number of these people, say how precise: --bounds-touched 100.")
        hidden = int(table.withheld.sum())
        found += [f"{hidden:,} small group{'s'[: hidden > 1]} withheld."] if hidden else []
    if not len(table):
        found.append(f"{EMPTY} (There is nothing to draw, either.)")
    return tuple(found)


def _numbers(table: ReleasedTable, measure: Measure, shown: int) -> tuple[list[str], list[str]]:
    """Values and intervals of the first groups, rounded to what the interval says (outwards, its ends)."""
    values, low, high = (
        table.columns[f"{measure.name}{suffix}"][:shown].tolist()
        for suffix in ("", "_bounded_low", "_bounded_high")
    )
    numbers, intervals = [], []
    for value, least, most in zip(values, low, high, strict=True):
        start, end = outward(least, most)
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
        return plain(value)
    digits = max(0, 3 - math.floor(math.log10(width)))
    return f"{value:.{digits}f}"
