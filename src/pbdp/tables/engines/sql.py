"""The query of `pbdp.tables.bounded` as one SQL text, for the engines that speak SQL.

    source   rows with a person p and a key: values in steps, and a hash h of (choice key, person, group)
             or, where groups are kept along a column, its key
    kept     the rows in each person's first `groups_per_person` groups by (h, group): a rank of rows, so that
             (person, group) pairs are aggregated only once, for the groups that stay
    pairs    per person and group: n rows, and for each value column c values and their sum w
    last     per group: the capped sums over persons
    counted  if asked whom the bounds touch: the pairs once more, by person, with a bit for each bound that
             cuts them, and then by what cut them
    histogram  a text of its own for each grid of values: kept rows by person, group and candidate, and by
             group and candidate what persons add
    others   for each other table whose people are asked for: the pairs once more, by its groups

What is used more than once, the pairs, is computed once: where an engine does not do that by itself
(`hold`), it is held until the end.

Without a unit each row is a person of its own, and the last step reads the source. The bound on groups does
not rest on the hash: a person's kept rows have at most `groups_per_person` different (h, group), and so at
most that many groups, even if an engine hashed equal persons differently. A row has one key at most, because
keys are different from each other and dialects compare them exactly; so the join repeats no row.

To tell who is in too many groups, pairs of one group more are made, and left out of the sums. Whom the bounds
touch comes as rows of the same result: `part` is 0 in the rows of groups, -1 - b in those of people whom the
bounds in b touch, and 1, 2, ... in those of other tables.

All names that the query makes up stand in subqueries of their own, and columns of the data are always
written with the alias of the data, so a column may have any name.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import numpy.typing as npt

from pbdp.errors import InputError, shown
from pbdp.noise.kernel import Index
from pbdp.tables.bounded import MOST_STEPS, Aggregates, BoundedAggregation, Value, ValueGrid
from pbdp.tables.engines.dialects import DUCKDB, POSTGRES, SPARK, Dialect
from pbdp.tables.engines.interface import ColumnKind, with_derived
from pbdp.tables.expressions.to_sql import SqlWriter
from pbdp.tables.keys import ARRAYS, KeyColumn, KeyTable, Kind, arrow_array

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = [
    "DUCKDB",
    "POSTGRES",
    "SPARK",
    "Dialect",
    "aggregates_from",
    "aggregation_sql",
    "digest_sql",
    "found_kinds",
    "key_arrow",
    "key_tables",
    "name_parts",
    "queries_of",
    "row_digest",
    "unreadable_sql",
]
_MOST_INT32 = (1 << 31) - 1
# Numbers so near to 0 have squares of 0.
_NO_SQUARE = 1e-140


def found_kinds(asked: BoundedAggregation, kinds: Mapping[str, ColumnKind]) -> dict[str, Kind]:
    """What group columns are read as: the kind of their public keys, or their own; a CSV file's are text."""
    tables = [*([asked.keys] if asked.keys is not None else []), *asked.only]
    public = {name: column.kind for table in tables for name, column in table.columns.items()}
    kinds = with_derived(asked, kinds)
    own: dict[str, Kind] = {
        name: "text" if kinds[name] == "untyped" else cast(Kind, kinds[name])
        for name in asked.by
        if name not in public
    }
    return {name: public.get(name) or own[name] for name in asked.by}


def public_tables(asked: BoundedAggregation) -> list[KeyTable]:
    """The tables of keys to join; one without columns joins nothing."""
    return [table for table in ([asked.keys] if asked.keys is not None else asked.only) if table.columns]


def key_tables(asked: BoundedAggregation) -> tuple[KeyTable, ...]:
    """The public tables that the query joins: the groups, or else the restrictions of single columns.

    Their columns are called k0, k1, ... by their place in `asked.by`; the public groups also need the columns
    of `key_arrow`.
    """
    places = {name: f"k{place}" for place, name in enumerate(asked.by)}
    return tuple(
        KeyTable(columns={places[name]: column for name, column in table.columns.items()})
        for table in public_tables(asked)
    )


def key_arrow(table: KeyTable, asked: BoundedAggregation) -> pa.Table:
    """A key table with the row numbers g, and for each table 1, 2, ... whose people are counted the row m1,
    m2, ... that a group has there.
    """
    made = table.arrow()
    numbers = {"g": np.arange(len(table)), **{f"m{at}": of for at, of in asked.counted_anew.items()}}
    for name, column in numbers.items():
        made = made.append_column(name, arrow_array(column.astype(np.int32)))
    return made


def aggregation_sql(
    asked: BoundedAggregation,
    dialect: Dialect,
    *,
    choice_key: int,
    data: str,
    keys: Sequence[str],
    kinds: Mapping[str, ColumnKind],
    doubles: Mapping[str, str] | None = None,
) -> str:
    """The query, with the columns g, people, rows, c0, s0, c1, s1, ..., all BIGINT.

    Where the groups are those of the data, k0, k1, ... (of `found_kinds`) stand in place of g; without
    columns to group by, g is 0. A table without rows gives no group. `data` is a table or a subquery in
    parentheses; `keys` names the tables of `key_tables`, in their order. `doubles` holds expressions for
    value columns that a plain cast would not turn into the nearest double (the data has the alias d there).
    """
    return queries_of(
        asked, dialect, choice_key=choice_key, data=data, keys=keys, kinds=kinds, doubles=doubles
    )[0]


def queries_of(
    asked: BoundedAggregation,
    dialect: Dialect,
    *,
    choice_key: int,
    data: str,
    keys: Sequence[str],
    kinds: Mapping[str, ColumnKind],
    doubles: Mapping[str, str] | None = None,
    hold: Callable[[str], str] | None = None,
) -> list[str]:
    """That query, and one for each grid, with the columns g (or k0, k1, ...), b (the candidate), and n.

    `hold` computes a query once and gives the name of its result, where `WITH` does not.
    """
    text = _Text(
        asked=asked,
        dialect=dialect,
        choice_key=choice_key,
        data=data,
        keys=tuple(keys),
        kinds=with_derived(asked, kinds),
        writer=SqlWriter(
            dialect=dialect,
            kinds=kinds,
            column=lambda name: f"d.{dialect.name(name)}",
            doubles=doubles or {},
            time_zone=asked.time_zone,
        ),
        doubles=doubles or {},
        hold=hold,
    )
    return [text.query(), *map(text.histogram, asked.grids)]


def digest_sql(columns: Sequence[str], dialect: Dialect, *, data: str) -> str:
    """How many rows there are, and the sum of their hashes, as texts n and h."""
    written = dialect.digest([f"d.{dialect.name(name)}" for name in columns])
    text = dict(dialect.types)["text"]
    return f"SELECT CAST(count(*) AS {text}) AS n, {written} AS h FROM {data} AS d"  # noqa: S608  # quoted


def unreadable_sql(
    asked: BoundedAggregation, dialect: Dialect, *, kinds: Mapping[str, ColumnKind]
) -> dict[str, str]:
    """By column, the number of rows with something that cannot be read: aggregates of the data, called d.

    A column may be read in several ways, as a key and in an expression, say; one that fails is enough.
    """
    derived = dict(asked.derived)
    read = {name: kind for name, kind in found_kinds(asked, kinds).items() if name not in derived}
    wanted: list[tuple[str, str]] = [
        (name, f"key {kind}")
        for name, kind in read.items()
        if kind != "text" and (kinds[name] == "untyped" or (kinds[name], kind) == ("number", "integer"))
    ]
    numbers = [(name, "number") for name in asked.numeric if name not in derived]
    leaves = [(leaf.name, leaf.type) for one in asked.expressions for leaf in one.columns()]
    wanted += [
        (name, kind)
        for name, kind in [*numbers, *leaves]
        if kind not in ("text", "any") and kinds[name] == "untyped"
    ]
    wrong: dict[str, list[str]] = {}
    for name, kind in dict.fromkeys(wanted):
        column, held = f"d.{dialect.name(name)}", kinds[name]
        match kind:
            case "number":
                made = dialect.number(column, held)
            case "date":
                made = dialect.day(column, held)
            case "time":
                made = dialect.moment(column, held)
            case _:
                made = dialect.key(column, held, cast(Kind, kind.removeprefix("key ")))
        wrong.setdefault(name, []).append(f"{made} IS NULL")
    there = {name: dialect.person(f"d.{dialect.name(name)}", kinds[name]) for name in wrong}
    return {
        name: f"count(CASE WHEN {there[name]} IS NOT NULL AND ({' OR '.join(all_of)}) THEN 1 END)"
        for name, all_of in wrong.items()
    }


def row_digest(rows: object, hashed: object) -> bytes:
    """SHA-256 of what `digest_sql` finds."""
    return hashlib.sha256(f"{rows} rows {hashed}".encode()).digest()


Columns = Mapping[str, npt.NDArray[Any]]


def aggregates_from(
    columns: Columns,
    asked: BoundedAggregation,
    kinds: Mapping[str, ColumnKind],
    histograms: Sequence[Columns] = (),
) -> Aggregates:
    """The columns of the queries' results, as numpy arrays, as what every engine returns."""
    touched = np.zeros(asked.cuts, dtype=np.int64)
    anew: dict[int, Index] = {}
    if "part" in columns:
        part, counted = columns["part"].astype(np.int64), columns["people"].astype(np.int64)
        np.add.at(touched, -1 - part[part < 0], counted[part < 0])
        for at, table in asked.counted_anew.items():
            anew[at] = np.zeros(int(table.max()) + 1, dtype=np.int64)
            anew[at][columns["g"][part == at + 1].astype(np.int64)] = counted[part == at + 1]
        columns = {name: column[part == 0] for name, column in columns.items()}
    whole = {name: column.astype(np.int64) for name, column in columns.items() if name[0] != "k"}
    if "o" in whole:
        touched[:] = [(whole["people"] - whole["o"]).sum(), whole["o"].sum()]
    people, values = whole["people"], range(len(asked.values))
    found = None
    if asked.keys is None:
        read = found_kinds(asked, kinds)
        found = KeyTable(
            columns={
                name: KeyColumn(kind=kind, values=columns[f"k{place}"].astype(ARRAYS[kind]))
                for place, (name, kind) in enumerate(read.items())
            }
        )
    made = Aggregates(
        group=whole["g"] if "g" in whole else np.arange(len(people), dtype=np.int64),
        people=people,
        rows=whole["rows"],
        counts=tuple(whole[f"c{j}"] for j in values),
        sums=tuple(whole[f"s{j}"] for j in values),
        found=found,
        touched=touched,
    )
    by_value = (_histogram(made, grid, own) for grid, own in zip(asked.grids, histograms, strict=True))
    return replace(made, people_in=asked.people_in(made, anew), histograms=tuple(by_value))


def _histogram(made: Aggregates, grid: ValueGrid, columns: Columns) -> Index:
    """A row of counts for each group; what is of no group, as data changed meanwhile, is left out."""
    if made.found is None:
        places = np.full(int(max(made.group.max(initial=-1), columns["g"].max(initial=-1))) + 1, -1)
        places[made.group] = np.arange(len(made))
        of = places[columns["g"].astype(np.int64)]
    else:
        keys = [column.values.tolist() for column in made.found.columns.values()]
        groups = {key: place for place, key in enumerate(zip(*keys, strict=True))}
        own = [
            columns[f"k{place}"].astype(ARRAYS[column.kind]).tolist()
            for place, column in enumerate(made.found.columns.values())
        ]
        of = np.array([groups.get(key, -1) for key in zip(*own, strict=True)], dtype=np.int64)
    found = np.zeros((len(made), grid.candidates), dtype=np.int64)
    known = of >= 0
    found[of[known], columns["b"].astype(np.int64)[known]] = columns["n"].astype(np.int64)[known]
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class _Text:
    """The parts of the query."""

    asked: BoundedAggregation
    dialect: Dialect
    choice_key: int
    data: str
    keys: tuple[str, ...]
    kinds: Mapping[str, ColumnKind]
    doubles: Mapping[str, str]
    writer: SqlWriter
    hold: Callable[[str], str] | None

    @property
    def group(self) -> list[str]:
        """The columns that say which group it is."""
        chosen = self.asked.keys is not None or not self.asked.by
        return ["g"] if chosen else [f"k{place}" for place in range(len(self.asked.by))]

    def query(self) -> str:
        asked = self.asked
        source = f"({self.source()}) AS source"
        if asked.unit is None:
            return self.last(source, self.numbers_of_rows())
        if self.ranked:
            columns = ["p", *self.group, *self.values, *self.outside]
            source = self.kept(source, columns, self.most_groups + asked.touched)
        pairs = self.pairs(source)
        if not asked.parts:
            return self.last(f"({pairs}) AS pairs", self.numbers_of_pairs())
        kept = f"pairs WHERE place <= {self.most_groups}" if self.placed else "pairs"
        groups = self.last(kept, {"part": "0"} | self.numbers_of_pairs())
        others = [*([self.cut()] if asked.touched else []), *self.others(kept)]
        held = f"MATERIALIZED ({pairs})" if self.hold is None else f"(SELECT * FROM {self.hold(pairs)})"  # noqa: S608
        return f"WITH pairs AS {held} {' UNION ALL '.join([groups, *others])}"

    def kept(self, source: str, columns: Sequence[str], most: int) -> str:
        """The rows in each person's first groups."""
        rank = f"dense_rank() OVER (PARTITION BY p ORDER BY h, {', '.join(self.group)})"
        ranked = f"SELECT {', '.join(columns)}, {rank} AS place FROM {source}"  # noqa: S608
        return f"({ranked}) AS kept WHERE place <= {most}"

    def histogram(self, grid: ValueGrid) -> str:
        """How many rows count at each candidate of a grid, for every group that has any."""
        asked, keys, total = self.asked, ", ".join(self.group), self.dialect.total
        names = "CAST(g AS BIGINT) AS g" if self.group == ["g"] else keys
        rows = f"({self.source(self.candidate(grid))}) AS source"
        if asked.unit is None:
            return f"SELECT {names}, b, count(*) AS n FROM {rows} WHERE b IS NOT NULL GROUP BY {keys}, b"  # noqa: S608
        if self.ranked:
            rows = self.kept(rows, ["p", *self.group, "b"], self.most_groups)
        if grid.of != "all":
            end = "max" if grid.of == "largest" else "min"
            each = f"SELECT p, {keys}, {end}(b) AS b FROM (SELECT p, {keys}, b FROM {rows}) AS kept_rows"  # noqa: S608
            each += f" WHERE b IS NOT NULL GROUP BY p, {keys}"
            return f"SELECT {names}, b, count(*) AS n FROM ({each}) AS own GROUP BY {keys}, b"  # noqa: S608
        own = f"SELECT p, {keys}, b, count(*) AS f FROM (SELECT p, {keys}, b FROM {rows}) AS kept_rows"  # noqa: S608
        own += f" WHERE b IS NOT NULL GROUP BY p, {keys}, b"
        person, most = f"PARTITION BY p, {keys}", asked.rows_per_group or 1
        summed = f"CAST(sum(f) OVER ({person} ORDER BY b) AS BIGINT) AS up_to"
        summed += f", CAST(sum(f) OVER ({person}) AS BIGINT) AS c"
        running = f"SELECT {keys}, b, f, {summed} FROM ({own}) AS own"  # noqa: S608

        def counted(up_to: str) -> str:
            # floor(F * m / c + 1/2)
            return f"((2 * ({up_to}) * {most} + c) {self.dialect.divided} (2 * c))"

        n = total(f"CASE WHEN c > {most} THEN {counted('up_to')} - {counted('up_to - f')} ELSE f END")
        return f"SELECT {names}, b, {n} AS n FROM ({running}) AS running GROUP BY {keys}, b"  # noqa: S608

    def candidate(self, grid: ValueGrid) -> dict[str, str]:
        """The place of a row's value in a grid: floor((clamped value - low) / step + 1/2), null of none."""
        dialect, number = self.dialect, self.number(grid.column)
        if grid.values:
            place = self.place(number, grid, 0, len(grid.values) - 1)
            return {"b": f"CASE WHEN {self.there(grid.column)} THEN CAST({place} AS INTEGER) END"}
        low, high = dialect.literal(grid.low), dialect.literal(grid.high)
        clamped = f"least(greatest({number}, {low}), {high})"
        place = dialect.floor(f"({clamped} - {low}) / {dialect.literal(grid.step)} + {dialect.literal(0.5)}")
        return {"b": f"CASE WHEN {self.there(grid.column)} THEN CAST({place} AS INTEGER) END"}

    def place(self, number: str, grid: ValueGrid, first: int, last: int) -> str:
        """The place among given values, by halves: of the next larger one, or of the next smaller one."""
        if first == last:
            return str(first)
        middle = (first + last) // 2
        up = grid.of == "largest"
        beyond = self.dialect.literal(grid.values[middle if up else middle + 1])
        lower = f"{number} <= {beyond}" if up else f"{number} < {beyond}"
        halves = self.place(number, grid, first, middle), self.place(number, grid, middle + 1, last)
        return f"CASE WHEN {lower} THEN {halves[0]} ELSE {halves[1]} END"

    @property
    def most_groups(self) -> int:
        return self.asked.groups_per_person or 1

    @property
    def ranked(self) -> bool:
        """Whether somebody may be in too many groups; without columns to group by there is one."""
        return self.asked.groups_per_person is not None and bool(self.asked.by)

    @property
    def placed(self) -> bool:
        """Whether there are pairs of one group more, and pairs say which group of their person they are."""
        return self.ranked and self.asked.touched

    @property
    def values(self) -> list[str]:
        return [f"v{place}" for place in range(len(self.asked.values))]

    @property
    def outside(self) -> list[str]:
        """The column that says whether a value of a row is outside of its bounds, if that is asked."""
        by_row = [value for value in self.asked.values if value.per == "row" or self.asked.unit is None]
        return ["o"] if self.asked.touched and (by_row or self.asked.grids) else []

    def column(self, name: str) -> str:
        derived = dict(self.asked.derived)
        return self.writer.written(derived[name]) if name in derived else f"d.{self.dialect.name(name)}"

    def source(self, more: Mapping[str, str] | None = None) -> str:
        """Rows with a person and a key; with values and what bounds cut, or with `more` columns instead."""
        asked, dialect = self.asked, self.dialect
        read = found_kinds(asked, self.kinds)
        own = [dialect.key(self.column(name), self.kinds[name], read[name]) for name in asked.by]
        joins: list[str] = []
        public: dict[str, str] = {}
        for number, (name, table) in enumerate(zip(self.keys, public_tables(asked), strict=True)):
            places = [asked.by.index(column) for column in table.columns]
            same = [f"{own[place]} = t{number}.k{place}" for place in places]
            public |= {f"k{place}": f"t{number}.k{place}" for place in places}
            joins.append(f"JOIN {name} AS t{number} ON {' AND '.join(same)}")
        if self.group == ["g"]:
            made = {"g": "t0.g" if asked.by else "0"}
        else:
            made = dict(zip(self.group, own, strict=True)) | public
        wanted = [f"{made[key]} IS NOT NULL" for key in self.group if self.group != ["g"]]
        if asked.where is not None:
            wanted.append(self.writer.written(asked.where))
        if asked.unit is not None:
            person = dialect.person(f"d.{dialect.name(asked.unit)}", self.writer.kinds[asked.unit])
            wanted.append(f"{person} IS NOT NULL")
            if self.ranked:
                if asked.along is None:
                    made["h"] = dialect.hash(self.choice_key, [person, *(made[key] for key in self.group)])
                else:
                    made["h"] = public[f"k{asked.by.index(asked.along)}"]
            made["p"] = person
        if more is None:
            made |= dict(zip(self.values, map(self.value, asked.values), strict=True))
        else:
            made |= more
        if self.outside and more is None:
            made["o"] = f"CASE WHEN {' OR '.join(self.beyond())} THEN 1 ELSE 0 END"
        columns = ", ".join(f"{written} AS {name}" for name, written in made.items())
        where = f" WHERE {' AND '.join(wanted)}" if wanted else ""
        selected = f"SELECT {columns} FROM {self.data} AS d"  # noqa: S608  # names are quoted by the dialect
        return " ".join([selected, *joins]) + where

    def value(self, value: Value) -> str:
        """A value in steps: per row counted from low and not negative, per person within the larger bound."""
        dialect, fixed, number = self.dialect, value.fixed, self.number(value.column)
        if (base := value.square_of) is not None:
            clamped = f"least(greatest({number}, {dialect.literal(base.low)}), {dialect.literal(base.high)})"
            far = f"({clamped} - {dialect.literal(base.middle)})"
            # products that underflow are errors in some engines; these are less than a quarter of a step
            tiny, none = dialect.literal(_NO_SQUARE), dialect.literal(0.0)
            number = f"(CASE WHEN abs({far}) < {tiny} THEN {none} ELSE {far} * {far} END)"
        furthest = MOST_STEPS * fixed.step
        low, high = (fixed.low, fixed.high) if value.per == "row" else (-furthest, furthest)
        steps = dialect.steps(number, low, high, fixed.per_unit)
        if value.per == "row":
            steps = f"{steps} - {dialect.literal(float(fixed.low_steps))}"
        kind = "INTEGER" if value.per == "row" and fixed.width <= _MOST_INT32 else "BIGINT"
        return f"CASE WHEN {self.there(value.column)} THEN CAST({steps} AS {kind}) END"

    def number(self, column: str) -> str:
        """What a row holds, as a double."""
        exact = None if column in dict(self.asked.derived) else self.doubles.get(column)
        return exact or self.dialect.number(self.column(column), self.kinds[column])

    def there(self, column: str) -> str:
        """Whether that is a number."""
        number, held = self.number(column), self.kinds[column]
        return f"{number} IS NOT NULL" if held in ("integer", "boolean") else self.dialect.is_number(number)

    def beyond(self) -> list[str]:
        """Whether the bounds of rows cut a value."""
        by_row = [one for one in self.asked.values if one.per == "row" or self.asked.unit is None]
        ends = [(one.column, *_ends(one)) for one in by_row]
        ends += [(one.column, one.low, one.high) for one in self.asked.grids]
        return [
            f"({self.there(column)} AND ({number} < {self.dialect.literal(low)} "
            f"OR {number} > {self.dialect.literal(high)}))"
            for column, low, high in ends
            for number in [self.number(column)]
        ]

    def pairs(self, source: str) -> str:
        """Rows, values and sums of every person in every group."""
        made = ["count(*) AS n"]
        for j, (v, value) in enumerate(zip(self.values, self.asked.values, strict=True)):
            total = self.dialect.total(v)
            if value.per == "person":
                wide = self.dialect.wide_total(v)
                total = f"CAST({_clamped(wide, value)} AS BIGINT)"
                if self.asked.touched:
                    made.append(f"CASE WHEN {wide} = {_clamped(wide, value)} THEN 0 ELSE 1 END AS x{j}")
            made.append(f"count({v}) AS c{j}, {total} AS w{j}")
        if self.placed:
            made.append("min(place) AS place")
        if self.asked.touched:
            made += [f"max({o}) AS {o}" for o in self.outside]
        keys = ", ".join(["p", *self.group])
        return f"SELECT {', '.join([keys, *made])} FROM {source} GROUP BY {keys}"  # noqa: S608

    def cutting(self) -> str:
        """The bounds that cut a pair, a bit for each; one group more stands for the bound on groups alone."""
        told = {
            "rows": f"n > {self.asked.rows_per_group}",
            "values": " OR ".join(f"{flag} = 1" for flag in self.flags),
        }
        each = [
            f"CASE WHEN {told[name]} THEN {1 << bit} ELSE 0 END"
            for bit, name in enumerate(self.asked.cutting)
            if name != "groups"
        ]
        others = " + ".join(each) or "0"
        return f"CASE WHEN place > {self.most_groups} THEN 1 ELSE {others} END" if self.ranked else others

    def cut(self) -> str:
        """How many people each set of bounds cuts, in the columns of the result: the others hold nothing."""
        read = found_kinds(self.asked, self.kinds)
        none = ["CAST(0 AS BIGINT)"] if self.group == ["g"] else map(self.dialect.nothing, read.values())
        persons = f"SELECT bit_or({self.cutting()}) AS cut FROM pairs GROUP BY p"  # noqa: S608
        columns = ", ".join([*none, "-1 - cut", "count(*)", *self._nothing()])
        return f"SELECT {columns} FROM ({persons}) AS persons GROUP BY cut"  # noqa: S608

    def _nothing(self) -> list[str]:
        return ["0"] * (len(self.numbers_of_pairs()) - 1)

    def others(self, kept: str) -> list[str]:
        """How many people are in the groups of other tables, in the same columns."""
        made = []
        for at in self.asked.counted_anew:
            of = f"SELECT DISTINCT kept.p AS p, t.m{at} AS m FROM (SELECT p, g FROM {kept}) AS kept "  # noqa: S608
            of += f"JOIN {self.keys[0]} AS t ON kept.g = t.g"
            columns = ", ".join(["CAST(m AS BIGINT)", str(at + 1), "count(*)", *self._nothing()])
            made.append(f"SELECT {columns} FROM ({of}) AS persons GROUP BY m")  # noqa: S608
        return made

    @property
    def flags(self) -> list[str]:
        """Columns of pairs that say whether bounds of values cut."""
        return [
            *self.outside,
            *(f"x{j}" for j, value in enumerate(self.asked.values) if value.per == "person"),
        ]

    def numbers_of_pairs(self) -> dict[str, str]:
        """The last columns, from what each person has in a group."""
        total, most = self.dialect.total, self.asked.rows_per_group
        made = {"people": "count(*)", "rows": total(_capped("n", most))}
        for j, value in enumerate(self.asked.values):
            c, w = f"c{j}", f"w{j}"
            made[c] = total(_capped(c, most))
            if value.per == "row" and most is not None:
                # floor(w * most / c) without a product beyond 64 bits
                over = self.dialect.divided
                part = f"(({w} {over} {c}) * {most} + (({w} % {c}) * {most}) {over} {c})"
                w = f"CASE WHEN {c} > {most} THEN {part} ELSE {w} END"
            made[f"s{j}"] = total(w)
        return made

    def numbers_of_rows(self) -> dict[str, str]:
        """The last columns, where every row is a person."""
        made = {"people": "count(*)", "rows": "count(*)"}
        for j, (v, value) in enumerate(zip(self.values, self.asked.values, strict=True)):
            made[f"c{j}"] = f"count({v})"
            made[f"s{j}"] = self.dialect.total(
                v if value.per == "row" else _clamped(f"coalesce({v}, 0)", value)
            )
        if self.asked.touched:
            made["o"] = self.dialect.total("o")
        return made

    def last(self, source: str, numbers: Mapping[str, str]) -> str:
        group = self.group
        names = [f"CAST({group[0]} AS BIGINT) AS g"] if group == ["g"] else list(group)
        names += [f"{written} AS {self.dialect.name(name)}" for name, written in numbers.items()]
        return f"SELECT {', '.join(names)} FROM {source} GROUP BY {', '.join(group)}"  # noqa: S608


def _capped(number: str, most: int | None) -> str:
    return number if most is None else f"least({number}, {most})"


def _ends(value: Value) -> tuple[float, float]:
    """The bounds of the column itself."""
    fixed = value.square_of or value.fixed
    return fixed.low, fixed.high


def _clamped(steps: str, value: Value) -> str:
    return f"least(greatest({steps}, {value.fixed.low_steps}), {value.fixed.high_steps})"


def name_parts(table: str) -> tuple[str, ...]:
    """The schema, if given, and the name of a table: `visits`, `shop.visits`, `"my.shop"."the visits"`."""
    parts = re.findall(r'(?:^|\.)(?:"((?:[^"]|"")+)"|([^".]+))', table)
    written = ".".join(f'"{quoted}"' if quoted else plain for quoted, plain in parts)
    if not parts or written != table:
        raise InputError(
            "table", "a name, with its schema perhaps", shown(table), "Write visits or shop.visits."
        )
    return tuple(quoted.replace('""', '"') or plain for quoted, plain in parts)
