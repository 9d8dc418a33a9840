"""One SELECT with GROUP BY, read as the settings of the query that is written by hand.

    SELECT city, COUNT(*) AS visits, AVG(spend) AS spend, MEDIAN(spend) AS typical
    FROM visits
    WHERE spend > 0
    GROUP BY city

COUNT(*), COUNT(column), COUNT(DISTINCT unit), SUM, AVG, MEDIAN and PERCENTILE_CONT(q) WITHIN GROUP (ORDER BY
column) are measures, whose names are those after AS. What they add up may be an expression: it becomes a
derived column, as what is grouped by does. ROLLUP and GROUPING SETS make several tables that add up. What SQL
does not say stands beside it: `within` and `at_least` by measure; `bounds` and `step` by column, or by
measure where it is of an expression; `keys` by column that is grouped by. Everything else that SQL has is
refused, with what to write instead.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NoReturn

from pbdp.errors import ContradictionError, InputError, did_you_mean
from pbdp.tables.expressions.parsing import A_SELECT, CLAUSES, check_all_is_read, name_of, parsed
from pbdp.tables.expressions.reading import Typing
from pbdp.tables.request import SelectRequest

if TYPE_CHECKING:
    from sqlglot.expressions import Expr as Node

    from pbdp.settings import Request
    from pbdp.tables.expressions.tree import Expression, Type

WHAT = "sql"
# What is said of columns and measures beside the text.
BESIDE = ("within", "at_least", "bounds", "step", "keys")
_BY_HAND = "Write the query by hand for this: pbdp.tables.Query has more settings."
# What a SELECT may hold, and what to do about the rest.
_CLAUSES = ("expressions", "from_", "where", "group")
_INSTEAD = {
    "joins": "Join the tables before, and publish of the result.",
    "having": "Which groups are published must not depend on their exact numbers: see select and top.",
    "order": "Tables are published in the order of their keys; sort what is published.",
    "limit": "For the highest groups: top=10.",
    "with_": "Write what it selects as a view of the database, or as derived columns.",
    "distinct": "For people: COUNT(DISTINCT unit).",
    "all": "Name the columns after GROUP BY.",
    "Star": "Name the columns and the measures.",
    "Filter": "Sum up a case: SUM(case when x then 1 else 0 end).",
    "Window": "Running totals are a setting: running='day'.",
    "Min": "The least value is one person's: ask for a quantile of 0.01.",
    "Max": "The largest value is one person's: ask for a quantile of 0.99.",
    "Cube": "List the tables: GROUPING SETS ((a, b), (a), (b), ()).",
    "Subquery": "Write it as a view of the database, or as derived columns.",
    "Div": "A ratio of sums is a measure of its own: pbdp.tables.Ratio.",
    "Union": "Publish two tables.",
    "CountIf": "Sum up a case: SUM(case when x then 1 else 0 end).",
}
_OF_COLUMN = {"Sum": "sum", "Avg": "mean", "Median": "median"}


def query_settings(kind: type[Request], given: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a query of which some are said in SQL; of the columns, `by` has the keys."""
    own = SelectRequest.settings()
    select = SelectRequest(**{name: value for name, value in given.items() if name in own})
    settings = {name: value for name, value in given.items() if name not in own}
    beside = {name: getattr(select, name) for name in own if name != "sql"}
    unit = None if settings.get("one_row_per_person") else settings.get("unit")
    said = settings_of_select(select.sql, beside | {"keys": settings.pop("by", None)}, unit)
    for name in said:
        if name in settings and name in kind.settings():
            raise ContradictionError(name, "left out, as the SELECT says it", "both")
    return settings | said


def settings_of_select(text: object, beside: Mapping[str, Any], unit: object) -> dict[str, Any]:
    """The settings of a query that a SELECT says, with what is said `beside` it."""
    tokens, tree = parsed(WHAT, text, statement=True)
    if type(tree).__name__ != "Select":
        _refused(tree)
    select = _Select(
        text=str(text), beside={name: _mapping(name, beside.get(name)) for name in BESIDE}, unit=unit
    )
    found = select.settings(tree)
    check_all_is_read(WHAT, tokens, tree, CLAUSES)
    select.check_all_is_used()
    return found


def source_of(text: object) -> str:
    """The name after FROM."""
    _, tree = parsed(WHAT, text, statement=True)
    return str(tree.args["from_"].this.name)


def _mapping(name: str, value: object) -> Mapping[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        raise InputError(name, "by name, beside sql", f"something of type {type(value).__name__}")
    return value


def _refused(node: Any, remedy: str = "", part: str = "") -> NoReturn:
    """Refuse a part of the text, at its place."""
    own = part or type(node).__name__
    told = remedy or _INSTEAD.get(own, "") or (A_SELECT if own in ("Delete", "Command") else _BY_HAND)
    place = (
        next((one.meta for one in node.walk() if "line" in one.meta), None) if hasattr(node, "walk") else None
    )
    where = f" in line {place['line']}, near column {place['col']}" if place else ""
    raise InputError(WHAT, "made of what one table needs", f"{name_of(part.strip('_') or node)}{where}", told)


@dataclass(slots=True)
class _Select:
    """A statement that is read: what is used of what stands beside it, and the columns that it derives."""

    text: str
    beside: Mapping[str, Mapping[str, Any]]
    unit: object
    used: set[tuple[str, str]] = field(default_factory=set)
    derived: dict[str, Expression] = field(default_factory=dict)

    def settings(self, tree: Node) -> dict[str, Any]:
        _held(tree, *_CLAUSES)
        self._source(tree)
        projected = [_named(node) for node in tree.args["expressions"]]
        by, tables = self._groups(tree.args.get("group"), projected)
        measures = [
            self._measure(node, name, by) for node, name in projected if not self._is_key(node, name, by)
        ]
        if not measures:
            raise InputError(WHAT, "a SELECT of at least one measure", "columns alone", A_SELECT)
        found: dict[str, Any] = {"measures": measures}
        if by:
            found["by"] = {name: self._said("keys", name, name) for name in by}
        if tables is not None:
            found["tables"] = tables
        if (where := tree.args.get("where")) is not None:
            found["where"] = self._typed(where.this, "boolean").text
        if self.derived:
            found["derive"] = {name: expression.text for name, expression in self.derived.items()}
        return found

    def check_all_is_used(self) -> None:
        """Refuse what is said of names that are not in the text."""
        for name, said in self.beside.items():
            for key in said:
                if (name, key) not in self.used:
                    known = [used for of, used in self.used if of == name]
                    rule = f"of {', '.join(known)}" if known else "left out here"
                    raise InputError(name, rule, key, did_you_mean(key, known))

    def _source(self, tree: Node) -> None:
        source = tree.args.get("from_")
        if source is None:
            raise InputError(WHAT, "FROM a table", "none", A_SELECT)
        if type(source.this).__name__ != "Table" or type(source.this.this).__name__ != "Identifier":
            _refused(source.this)
        _held(source.this, "this", "db", "catalog")

    def _typed(self, node: Any, wanted: Type | None) -> Expression:
        return Typing(WHAT, self.text, {}).typed(node, wanted)

    def _derive(self, node: Any, name: str, wanted: Type | None) -> str:
        """The column that a node is, or one of this name that is derived for it."""
        if (column := _column(node)) is not None:
            return column
        made = self._typed(node, wanted)
        for known, before in self.derived.items():
            if before == made:
                return known
        self.derived[name] = made
        return name

    # -------------------------------------------------------------------------------------- groups

    def _groups(
        self, group: Any, projected: list[tuple[Any, str]]
    ) -> tuple[list[str], list[list[str]] | None]:
        """The columns that are grouped by, and those of each table where there are several."""
        if group is None:
            return [], None
        parts = _held(group, "expressions")[0] or []
        expressions = {name: node for node, name in projected if name}
        if not any(type(part).__name__ in ("Rollup", "Cube", "GroupingSets") for part in parts):
            return list(dict.fromkeys(self._key(part, expressions) for part in parts)), None
        if len(parts) > 1:
            _refused(group, "ROLLUP or GROUPING SETS, and nothing beside it.", "group")
        (part,) = parts
        if type(part).__name__ == "Cube":
            _refused(part)
        listed = _held(part, "expressions")[0]
        if type(part).__name__ == "Rollup":
            columns = [self._key(one, expressions) for one in listed]
            return columns, [columns[:size] for size in range(len(columns), -1, -1)]
        tables = [[self._key(one, expressions) for one in _members(table)] for table in listed]
        return list(dict.fromkeys(name for table in tables for name in table)), tables

    def _key(self, node: Any, projected: Mapping[str, Any]) -> str:
        """A column, or an expression that has a name in SELECT."""
        column = _column(node)
        if column is not None:
            meant = projected.get(column)
            return (
                self._derive(meant, column, None) if meant is not None and _column(meant) is None else column
            )
        for name, meant in projected.items():
            if meant == node:
                return self._derive(meant, name, None)
        _refused(node, "Give it a name in SELECT, and group by that: date_trunc('month', day) AS month.")

    def _is_key(self, node: Any, name: str, by: list[str]) -> bool:
        column = _column(node)
        if column is None:
            return name in by
        if column not in by:
            _refused(node, f"Group by {column}, or say what of it: AVG({column}).")
        if name not in ("", column):
            _refused(node, "Columns that are grouped by keep their names.")
        return True

    # -------------------------------------------------------------------------------------- measures

    def _said(self, what: str, *names: str) -> Any:
        """What is said of the first of these names that it is said of."""
        for name in names:
            self.used.add((what, name))
        return next((self.beside[what][name] for name in names if name in self.beside[what]), None)

    def _measure(self, node: Any, name: str, by: list[str]) -> dict[str, Any]:
        if not name and type(node).__name__ == "WithinGroup":
            _refused(node, "Give it a name: ... AS typical.")
        made = dict(self._kind(node, name))
        if name:
            made["name"] = name
        published = name or _usual(made)
        if published in by:
            raise InputError(
                WHAT, "without a name twice", published, "Give the measure another name after AS."
            )
        for setting in ("within", "at_least"):
            if (value := self._said(setting, published)) is not None:
                made[setting] = value
        return made

    def _kind(self, node: Any, name: str) -> Iterator[tuple[str, Any]]:
        """The kind of a measure, and what it is of."""
        own = type(node).__name__
        if own == "Count":
            yield from self._count(node)
        elif own in _OF_COLUMN:
            yield "kind", _OF_COLUMN[own]
            yield from self._of(_held(node, "this")[0], name, ranked=own == "Median")
        elif own == "WithinGroup":
            level, order = _held(node, "this", "expression")
            if type(level).__name__ not in ("PercentileCont", "PercentileDisc"):
                _refused(level)
            ordered, *others = _held(order, "expressions")[0]
            share = _held(level, "this")[0]
            if others or type(share).__name__ != "Literal" or share.is_string:
                _refused(
                    node, "PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY x), with a number and one column."
                )
            (this,) = _held(ordered, "this", noted=("nulls_first",))
            yield "kind", "quantile"
            yield "q", float(share.name)
            yield from self._of(this, name, ranked=True)
        else:
            _refused(node)

    def _count(self, node: Node) -> Iterator[tuple[str, Any]]:
        (this,) = _held(node, "this", noted=("big_int",))
        if type(this).__name__ == "Distinct":
            columns = [_column(one) for one in _held(this, "expressions")[0]]
            if columns != [self.unit]:
                _refused(
                    this, "What can be counted are the people: COUNT(DISTINCT unit), with the unit's column."
                )
            yield "kind", "people"
            return
        yield "kind", "count"
        if type(this).__name__ != "Star":
            if (column := _column(this)) is None:
                _refused(this, "Count rows: COUNT(*), or those with a value in a column.")
            yield "column", column

    def _of(self, this: Any, name: str, *, ranked: bool) -> Iterator[tuple[str, Any]]:
        """What a measure is of: a column, with its bounds."""
        if type(this).__name__ == "Distinct":
            _refused(this, "Sums and means are of all rows that count.")
        if not name and _column(this) is None:
            _refused(this, "Give it a name: SUM(fare + tip) AS paid.")
        column = self._derive(this, f"{name}_of_row", "number")
        names = (column, name) if column in self.derived else (column,)
        bounds = self._said("bounds", *names)
        if not isinstance(bounds, list | tuple) or len(bounds) != 2:
            got = "none" if bounds is None else "something else"
            remedy = (
                f"bounds={{{names[-1]!r}: (0, 100)}}, say: what lies outside counts as the nearest of both."
            )
            raise InputError(f"bounds of {names[-1]}", "given, a low and a high one", got, remedy)
        yield "column", column
        yield from zip(("low", "high"), bounds, strict=True)
        if ranked:
            step = self._said("step", *names)
            if step is None:
                remedy = f"step={{{names[-1]!r}: 0.5}}, say: values are rounded to it, and so is the result."
                raise InputError(f"step of {names[-1]}", "given", "none", remedy)
            yield "step", step


def _held(node: Any, *wanted: str, noted: tuple[str, ...] = ()) -> list[Any]:
    """The parts of a node by their names; one that holds anything else is refused."""
    for name, part in node.args.items():
        if name not in (*wanted, *noted) and part not in (None, False, []):
            _refused(part if hasattr(part, "walk") else node, _INSTEAD.get(name, ""), name)
    return [node.args.get(name) for name in wanted]


def _named(node: Any) -> tuple[Any, str]:
    """What is selected, and the name after AS."""
    if type(node).__name__ != "Alias":
        return node, ""
    this, alias = _held(node, "this", "alias")
    return this, str(alias.name)


def _column(node: Any) -> str | None:
    """The name, of a column alone."""
    if type(node).__name__ == "Paren":
        return _column(node.this)
    if type(node).__name__ != "Column" or type(node.this).__name__ != "Identifier":
        return None
    if len([part for part in node.args.values() if part]) > 1:
        _refused(node, "There is one table: columns are written without it.")
    return str(node.this.name)


def _members(table: Any) -> list[Any]:
    """The columns of one of several tables: (a, b), (a), a or ()."""
    match type(table).__name__:
        case "Tuple":
            return list(_held(table, "expressions")[0] or [])
        case "Paren":
            return [table.this]
    return [table]


def _usual(made: Mapping[str, Any]) -> str:
    """The name of a measure that is given none."""
    from pbdp.tables.measure_request import MEASURES

    given = {name: value for name, value in made.items() if name != "kind"}
    return MEASURES[made["kind"]](**given).name
