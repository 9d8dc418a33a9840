"""What a table says, planned or published: what was asked, at which loss, and what to know first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pbdp.accounting.risk import delta_words
from pbdp.digits import percent_down
from pbdp.report.plans import RISK, loss_facts, risk_facts
from pbdp.report.statement import Caution, Fact, Rows, Statement, literal, statement
from pbdp.report.warnings import NO_LEDGER, UNSIGNED, insecure
from pbdp.tables.contribution_bounds import TouchedCount
from pbdp.tables.plan import TablePlan
from pbdp.tables.query import Query
from pbdp.tables.table import ReleasedTable

# Groups that are shown where a table is printed.
SHOWN = 20
PUBLIC_KEYS = Caution(
    code="public_keys",
    text="the listed groups count as public: they are published whatever the data hold.",
    remedy="List only keys that were known without the data.",
)


@statement.register
def table_plan_statement(plan: TablePlan, **_: bool) -> Statement:
    """What a table will cost, and how near each number will be."""
    large = delta_words(plan.delta)
    return Statement(
        kind="table plan",
        headline="{asked}; epsilon {epsilon} at {at} for the whole table.",
        sentences=(RISK,),
        facts=(Fact(name="asked", label="Asked", value=plan.asked), *_loss(plan)),
        warnings=(
            *([] if large is None else [Caution(code="large_delta", text=literal(large))]),
            *query_warnings(plan.query),
        ),
        rows=(
            Rows(
                columns=(
                    Fact(name="number", label="number", value=""),
                    Fact(name="accuracy", label="accuracy", value=""),
                    Fact(name="confidence", label="confidence", value="", unit="%", safe="down"),
                ),
                values=tuple(
                    (part.name, plan.accuracy(part.name), part.confidence)
                    for part in plan.noise.parts
                    if part.name not in plan.picked
                ),
                detail=True,
            ),
        ),
    )


@statement.register
def table_statement(table: ReleasedTable, **_: bool) -> Statement:
    """What was published, what it cost, and what the numbers do not say."""
    plan = table.plan
    groups = f"{len(table):,} group{'' if len(table) == 1 else 's'}"
    names = ", ".join(measure.name for measure in plan.query.measures)
    by = f" by {', '.join(plan.query.columns)}" if plan.query.columns else ""
    return Statement(
        kind="table",
        headline="{groups} of {asked}; epsilon {epsilon} at {at} for the whole table.",
        sentences=(RISK,),
        facts=(
            Fact(name="groups", label="Published", value=groups),
            Fact(name="asked", label="Asked", value=f"{names}{by}"),
            *_loss(plan),
        ),
        warnings=table_warnings(table),
        rows=(_shown(table),) if len(table) else (),
    )


def table_warnings(table: ReleasedTable) -> tuple[Caution, ...]:
    """All there is to know of a published table that is not in a file."""
    seed, query = table.insecure_test_seed, table.plan.query
    return (
        *([] if seed is None else [insecure(seed)]),
        *([NO_LEDGER] if table.payment is None else []),
        *query_warnings(query, table.bounds_touched),
        *_zero_keys(table),
    )


def manifest_warnings(query: Query, record: Mapping[str, Any]) -> tuple[Caution, ...]:
    """The same of a table as its file tells it."""
    touched = [TouchedCount(**one) for one in record.get("bounds_touched", ())]
    return (
        *([NO_LEDGER] if record["ledger"] is None else []),
        *([] if "signature" in record else [UNSIGNED]),
        *query_warnings(query, touched),
    )


def query_warnings(query: Query, touched: Sequence[TouchedCount] = ()) -> tuple[Caution, ...]:
    """What holds for every table of a query: what its limits take away, and which keys count as public."""
    bounded = any(map(query.is_bounded, query.measures))
    listed = bool(query.by) and (query.groups is not None or bool(query.only))
    return (*([cut(touched)] if bounded else []), *([PUBLIC_KEYS] if listed else []))


def cut(touched: Sequence[TouchedCount]) -> Caution:
    """That limits stand between the numbers and the truth; and, if published, for how many people."""
    limits = "intervals hold the numbers after your limits, not the true ones"
    if not touched:
        return Caution(
            code="limits_cut",
            text=f"{limits}; how many people that concerns is not published.",
        )
    everyone, people, *_ = touched
    most = min(people.high, everyone.high)
    return Caution(
        code="limits_cut",
        text=f"your limits changed what {people.low:,} to {most:,} of {everyone.interval} people count for "
        f"(confidence {percent_down(people.confidence)} each); {limits}.",
    )


def _zero_keys(table: ReleasedTable) -> list[Caution]:
    """Which public keys may not be in the data at all; it follows from what is published."""
    query = table.plan.query
    # bins are not spelled
    empty = {name: keys for name, keys in table.empty_keys.items() if name not in query.special.bins}
    if not empty:
        return []
    every = {name: len(dict.fromkeys(table.groups.columns[name].values.tolist())) for name in empty}
    where = "" if query.where is None else ", and the condition"
    if any(len(keys) == every[name] for name, keys in empty.items()):
        text = f"every number is compatible with 0: {', '.join(empty)}."
        remedy = f"Check that the keys are spelled as in the data{where}."
    else:
        told = [
            f"{name} = {', '.join(map(key_text, keys[:5]))}{' ...'[: 4 * (len(keys) > 5)]}"
            for name, keys in empty.items()
        ]
        text = f"every number for {'; '.join(told)} is compatible with 0."
        remedy = "Check the spelling of keys."
    return [Caution(code="zero_keys", text=literal(text), remedy=remedy)]


def _loss(plan: TablePlan) -> tuple[Fact, ...]:
    relation = plan.noise.neighbors.question
    return *loss_facts(plan.epsilon, plan.delta, None), *risk_facts(plan.risk(), relation)


def _shown(table: ReleasedTable) -> Rows:
    """The first groups: keys, and each number with its interval."""
    count = min(len(table), SHOWN)
    columns = [Fact(name=name, label=name, value="") for name in table.groups.columns]
    cells: list[list[object]] = [
        [key_text(key) for key in column.values[:count].tolist()] for column in table.groups.columns.values()
    ]
    for number in table.numbers:
        value, low, high = (column[:count].tolist() for column in table.with_ends(number))
        columns += [
            Fact(name=number, label=number, value=""),
            Fact(name=f"{number} interval", label="between", value="", unit="interval"),
        ]
        cells += [value, list(zip(low, high, strict=True))]
    more = f"The first {count} of {len(table):,} groups:" if count < len(table) else ""
    return Rows(columns=tuple(columns), values=tuple(zip(*cells, strict=True)), title=more)


def key_text(key: object) -> str:
    """A key on one line, whatever it holds."""
    match key:
        case bool():
            return "true" if key else "false"
        case str():
            return key if key.isprintable() and key.strip() == key and key else repr(key)
    return str(key)
