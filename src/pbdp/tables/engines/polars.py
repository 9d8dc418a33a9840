"""Polars: eager and lazy frames, in Polars itself.

    rows     one streaming pass over the frame: rows with a person p and a group g, and values in steps
    places   a place for each of a person's groups: 32 bits of a hash of (choice key, person, group), or the
             rank of its key along a column, then 32 bits of the group's number, so that groups have
             different places and a tie goes to the group
    kept     the rows in each person's first `groups_per_person` places: a dense rank of rows
    pairs    per person and group: n rows, and for each value column c values and their sum w
    totals   per group: the capped sums over persons
    cut      if asked whom the bounds touch: the pairs once more, by person, and then by what cut them
    others   for each other table that people are counted in: the pairs once more, by its groups

Kept and pairs run on one part of the persons after the other, split by a hash: that takes a third of the
memory that all persons at once would. The number of a group is its row in the public keys, or its rank among
the groups of the data. All that a place takes from such a rank is which of two groups comes first, so that
other people's rows have no say in it, and the hash is of the keys themselves.

Polars wraps around where a sum does not fit. The bounds in `fixed_point` exclude that for up to `most_rows`
rows, and a table with more of them is refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from pbdp.noise.kernel import Index
from pbdp.tables.bounded import MOST_STEPS, Aggregates, BoundedAggregation, Value
from pbdp.tables.engines.interface import ColumnKind, EngineError
from pbdp.tables.engines.sql import aggregates_from, found_kinds, row_digest
from pbdp.tables.expressions.to_polars import polars_of
from pbdp.tables.keys import KeyTable, Kind

if TYPE_CHECKING:
    import polars as pl

# About a million rows at a time are fastest; more than 64 parts would be scanned for too often.
_ROWS_IN_PART = 1 << 20
_MOST_PARTS = 64
_PART_BITS = 16
_GROUP_BITS = 32
_MOST_UINT32 = (1 << 32) - 1


@dataclass(frozen=True, slots=True, eq=False)
class PolarsSource:
    """A Polars frame. A LazyFrame is run once, and once more to list the groups if they are not public.

    Categories are text. Where the person is a number, NaN is nobody, as null is.
    """

    frame: pl.DataFrame | pl.LazyFrame

    @property
    def engine(self) -> str:
        import polars as pl

        return f"Polars {pl.__version__}"

    @property
    def place(self) -> None:
        return None

    def kinds(self) -> Mapping[str, ColumnKind]:
        return {name: _kind_of(held) for name, held in self._schema().items()}

    def digest(self, asked: BoundedAggregation) -> bytes:
        import polars as pl

        schema = self._schema()
        places = {name: pl.nth(place) for place, name in enumerate(schema)}
        # the number of a category depends on other rows
        columns = [_person(places[name], schema[name]).alias(f"c{j}") for j, name in enumerate(asked.columns)]
        rows = self.frame.lazy().select(pl.struct(columns or [pl.lit(0).alias("c0")]).hash(0).alias("h"))
        # added up modulo 2^64
        found = self._collected(rows.select(n=pl.len(), h=pl.col("h").sum()))
        return row_digest(*found.row(0))

    def unreadable(self, asked: BoundedAggregation) -> Mapping[str, int]:
        import polars as pl

        schema, read = self._schema(), found_kinds(asked, self.kinds())
        places = {name: pl.nth(place) for place, name in enumerate(schema)}
        wrong = {
            name: _key(places[name], schema[name], kind).is_null()
            & _person(places[name], schema[name]).is_not_null()
            for name, kind in read.items()
            if name not in dict(asked.derived) and kind == "integer" and _kind_of(schema[name]) == "number"
        }
        if not wrong:
            return {}
        counted = [one.sum().alias(f"n{place}") for place, one in enumerate(wrong.values())]
        return dict(
            zip(wrong, map(int, self._collected(self.frame.lazy().select(counted)).row(0)), strict=True)
        )

    def aggregate(self, asked: BoundedAggregation, choice_key: int) -> Aggregates:
        import polars as pl

        read = found_kinds(asked, self.kinds())
        rows, keys = self._rows(asked, read, choice_key), _key_names(asked)
        selected = asked.keys is None and bool(asked.by)
        if asked.unit is None:
            found = self._collected(_totals(_single(rows, asked), asked, keys if selected else ["g"]))
            return self._answer(found, asked, read)
        groups = None
        if selected:
            groups = _numbered(self._collected(rows.select(keys).unique().sort(keys)), asked, choice_key)
            rows = rows.join(groups.lazy(), on=keys)
        placed = self._collected(_with_places(rows, asked, choice_key))
        parts, cut = [], []
        anew = {
            at: np.zeros(int(of_key.max()) + 1, dtype=np.int64) for at, of_key in asked.counted_anew.items()
        }
        for part in _by_parts(placed, asked):
            pairs = self._collected(part) if asked.parts else part
            cut += [self._collected(_cut(pairs.lazy(), asked))] if asked.cuts else []
            kept = _kept(pairs.lazy(), asked)
            parts.append(self._collected(_totals(kept, asked, ["g"])))
            for at, people in anew.items():
                counted = self._collected(_people_in(kept, asked.tables[at]))
                np.add.at(people, counted["m"].to_numpy(), counted["people"].to_numpy())
        found = pl.concat(parts).group_by("g").sum()
        found = found if groups is None else found.join(groups, on="g").drop("g")
        answer = self._answer(found, asked, read)
        for counted in cut:
            np.add.at(answer.touched, counted["cut"].to_numpy(), counted["people"].to_numpy())
        return replace(answer, people_in=asked.people_in(answer, anew))

    def _schema(self) -> pl.Schema:
        """Names and types of the columns."""
        failure = ""
        try:
            return self.frame.lazy().collect_schema()
        except Exception as error:  # noqa: BLE001  # a lazy frame runs the user's own functions
            failure = type(error).__name__
        raise EngineError(self.engine, failure)

    def _collected(self, query: pl.LazyFrame) -> pl.DataFrame:
        """The rows of a query; errors are told without their message, which may quote the data."""
        import polars as pl

        failure = ""
        try:
            return query.collect(engine="streaming")
        except pl.exceptions.PanicException:
            failure = "PanicException"
        except Exception as error:  # noqa: BLE001  # a lazy frame runs the user's own functions
            failure = type(error).__name__
        # raised here rather than where it was caught, so that the original does not hang on to it
        raise EngineError(self.engine, failure)

    def _rows(self, asked: BoundedAggregation, read: Mapping[str, Kind], choice_key: int) -> pl.LazyFrame:
        """Rows with a person p, keys k0, k1, ... (with g and h where they are public), steps v0, v1, ..."""
        import polars as pl

        schema: dict[str, pl.DataType] = dict(self._schema())
        # by its place in the schema: pl.col("*") and pl.col("^a.*$") would mean other columns
        places = {name: pl.nth(place) for place, name in enumerate(schema)}
        condition = None if asked.where is None else polars_of(asked.where, places, schema)
        made = {name: polars_of(expression, places, schema) for name, expression in asked.derived}
        person = None if asked.unit is None else _person(places[asked.unit], schema[asked.unit])
        places |= made
        schema |= {name: _type_of(expression.type) for name, expression in asked.derived}
        columns = {
            key: _key(places[name], schema[name], read[name])
            for key, name in zip(_key_names(asked), asked.by, strict=True)
        }
        for place, value in enumerate(asked.values):
            columns[f"v{place}"] = _steps(places[value.column], value)
            if _is_outside_told(asked, value):
                columns[f"o{place}"] = _outside(places[value.column], value)
        if person is not None:
            columns["p"] = person
        if condition is not None:
            columns["where"] = condition
        if not asked.by:
            columns["g"] = pl.lit(0, dtype=pl.UInt32)
        needed = [*_key_names(asked), *(["p"] if asked.unit is not None else [])]
        # first added and then selected, because a constant alone would be one row
        rows = self.frame.lazy().with_columns(**columns).select(*columns)
        rows = rows if condition is None else rows.filter("where").drop("where")
        rows = rows.drop_nulls(needed) if needed else rows
        for table in asked.only:
            listed = _key_frame(table, asked)
            rows = rows.join(listed.lazy(), on=listed.columns, how="semi")
        if asked.keys is None or not asked.by:
            return rows
        return rows.join(
            _numbered(_key_frame(asked.keys, asked), asked, choice_key).lazy(), on=_key_names(asked)
        )

    def _answer(self, found: pl.DataFrame, asked: BoundedAggregation, read: Mapping[str, Kind]) -> Aggregates:
        """The totals in the form that all engines have, unless sums may have wrapped around."""
        most = min((value.fixed.most_rows for value in asked.values), default=None)
        if most is not None and int(found["read"].sum()) > most:
            failure = f"there are more than {most:,} rows, for which sums may not fit into 64 bits"
            raise EngineError(self.engine, failure, "Raise most_rows.")
        columns = {name: found[name].to_numpy() for name in found.columns if name != "read"}
        return aggregates_from(columns, asked, read)


def _kind_of(held: pl.DataType) -> ColumnKind:
    import polars as pl

    if held.is_integer():
        return "integer"
    if held.is_numeric():
        return "number"
    if held == pl.Date:
        return "date"
    if held.is_temporal():
        return "time" if isinstance(held, pl.Datetime) and held.time_zone is None else "zoned"
    # an instance of Categorical with categories of its own is not equal to the class
    if isinstance(held, pl.String | pl.Categorical | pl.Enum):
        return "text"
    # a column of nothing but null can be read as anything
    others: dict[pl.DataType, ColumnKind] = {pl.Boolean(): "boolean", pl.Null(): "untyped"}
    return others.get(held, "other")


def _key_names(asked: BoundedAggregation) -> list[str]:
    return [f"k{place}" for place in range(len(asked.by))]


def _key_frame(table: KeyTable, asked: BoundedAggregation) -> pl.DataFrame:
    """Public keys, with the names that the columns have in the query."""
    import polars as pl

    names = dict(zip(asked.by, _key_names(asked), strict=True))
    return pl.DataFrame(
        [
            pl.Series(key, table.columns[name].values, dtype=_type_of(table.columns[name].kind))
            for name, key in names.items()
            if name in table.columns
        ]
    )


def _numbered(groups: pl.DataFrame, asked: BoundedAggregation, choice_key: int) -> pl.DataFrame:
    """The groups with their numbers g and hashes h, or their places along a column."""
    import polars as pl

    hashed = pl.lit(0, dtype=pl.UInt64)
    for key in groups.columns:
        # hashed again for each column, so that the order of the columns counts
        hashed = hashed.hash(choice_key) ^ pl.col(key).hash(choice_key)
    if asked.along is not None:
        hashed = pl.col(_key_names(asked)[asked.by.index(asked.along)]).rank("dense").cast(pl.UInt64)
    return groups.with_row_index("g").with_columns(pl.col("g").cast(pl.UInt32), h=hashed)


def _type_of(kind: str) -> pl.DataType:
    import polars as pl

    types = {"text": pl.String(), "integer": pl.Int64(), "boolean": pl.Boolean(), "date": pl.Date()}
    return types.get(kind, pl.Float64())


def _key(column: pl.Expr, held: pl.DataType, kind: Kind) -> pl.Expr:
    """A key column as the kind of its keys, null where it is none: 1.5 is no whole number, nor is 2^64."""
    import polars as pl

    key = column.cast(_type_of(kind), strict=False)
    if kind == "integer" and not held.is_integer():
        return pl.when(key.cast(held, strict=False) == column).then(key)
    return key


def _person(column: pl.Expr, held: pl.DataType) -> pl.Expr:
    """Whose row it is. The number of a category depends on other rows: it is the text that is hashed."""
    import polars as pl

    if held.is_float():
        return pl.when(column.is_not_nan()).then(column)
    return column.cast(pl.String) if isinstance(held, pl.Categorical | pl.Enum) else column


def _number(column: pl.Expr) -> pl.Expr:
    """A value as a double, null where it is none."""
    import polars as pl

    number = column.cast(pl.Float64, strict=False)
    # clip lets NaN pass
    return pl.when(number.is_not_nan()).then(number)


def _is_outside_told(asked: BoundedAggregation, value: Value) -> bool:
    """Whether rows say if this value is outside of its bounds."""
    return asked.touched and (value.per == "row" or asked.unit is None)


def _outside(column: pl.Expr, value: Value) -> pl.Expr:
    """Whether the bounds of rows cut a value; null where there is none."""
    number = _number(column)
    return (number < value.fixed.low) | (number > value.fixed.high)


def _outside_names(asked: BoundedAggregation) -> list[str]:
    return [f"o{place}" for place, value in enumerate(asked.values) if _is_outside_told(asked, value)]


def _steps(column: pl.Expr, value: Value) -> pl.Expr:
    """A value in steps: per row counted from low, in 32 bits if they suffice; null where there is none."""
    import polars as pl

    number, fixed = _number(column), value.fixed
    furthest = MOST_STEPS * fixed.step
    low, high = (fixed.low, fixed.high) if value.per == "row" else (-furthest, furthest)
    steps = (number.clip(low, high) * fixed.per_unit + 0.5).floor().cast(pl.Int64, strict=False)
    if value.per == "row":
        steps = steps - fixed.low_steps
        steps = steps.cast(pl.UInt32) if fixed.width <= _MOST_UINT32 else steps
    return steps


def _with_places(rows: pl.LazyFrame, asked: BoundedAggregation, choice_key: int) -> pl.LazyFrame:
    """The columns p, part, g or place, v0, v1, ...: all that is kept in memory of a row."""
    import polars as pl

    person = pl.col("p").hash(choice_key)
    place = pl.col("g").cast(pl.UInt32)
    if _is_ranked(asked):
        first = pl.col("h")
        if asked.along is None:
            first = (person.hash(choice_key) ^ first).hash(choice_key) // (1 << _GROUP_BITS)
        place = (first * (1 << _GROUP_BITS)) | place.cast(pl.UInt64)
    # of another hash than the one that places start with
    part = (person.hash(choice_key + 1) % (1 << _PART_BITS)).cast(pl.UInt16)
    told = [*_value_names(asked), *_outside_names(asked)]
    return rows.select("p", place.alias("place"), part.alias("part"), *told)


def _is_ranked(asked: BoundedAggregation) -> bool:
    """Whether somebody may be in too many groups."""
    return asked.groups_per_person is not None and bool(asked.by)


def _value_names(asked: BoundedAggregation) -> list[str]:
    return [f"v{place}" for place in range(len(asked.values))]


def _by_parts(placed: pl.DataFrame, asked: BoundedAggregation) -> Iterator[pl.LazyFrame]:
    """The pairs of one part of the persons after the other."""
    import polars as pl

    parts = min(_MOST_PARTS, -(-placed.height // _ROWS_IN_PART)) or 1
    edges = [number * (1 << _PART_BITS) // parts for number in range(parts + 1)]
    for start, end in pairwise(edges):
        rows = placed.lazy()
        if parts > 1:
            rows = rows.filter(pl.col("part").is_between(start, end, closed="left"))
        rank = pl.col("place").rank("dense").over("p")
        if _is_ranked(asked) and asked.touched:
            rows = rows.with_columns(rank=rank).filter(pl.col("rank") <= (asked.groups_per_person or 1) + 1)
        elif _is_ranked(asked):
            rows = rows.filter(rank <= asked.groups_per_person)
        pairs = rows.group_by("p", "place").agg(
            n=pl.len().cast(pl.Int64),
            **{f"c{v[1:]}": pl.col(v).count().cast(pl.Int64) for v in _value_names(asked)},
            **{
                f"w{v[1:]}": pl.col(v).cast(pl.Int64 if value.per == "row" else pl.Int128).sum()
                for v, value in zip(_value_names(asked), asked.values, strict=True)
            },
            **{o: pl.col(o).any() for o in _outside_names(asked)},
            **({"rank": pl.col("rank").min()} if _is_ranked(asked) and asked.touched else {}),
        )
        yield pairs.with_columns(g=(pl.col("place") % (1 << _GROUP_BITS)).cast(pl.UInt32))


def _is_kept(asked: BoundedAggregation) -> pl.Expr:
    """Whether a pair is of a group that counts."""
    import polars as pl

    return pl.col("rank") <= asked.groups_per_person if _is_ranked(asked) and asked.touched else pl.lit(True)


def _kept(pairs: pl.LazyFrame, asked: BoundedAggregation) -> pl.LazyFrame:
    return pairs.filter(_is_kept(asked)) if asked.touched else pairs


def _people_in(pairs: pl.LazyFrame, of_key: Index) -> pl.LazyFrame:
    """How many people are in each group of another table."""
    import polars as pl

    keys = pl.LazyFrame({"g": np.arange(len(of_key), dtype=np.uint32), "m": of_key})
    persons = pairs.select("p", "g").join(keys, on="g").select("p", "m").unique()
    return persons.group_by("m").agg(people=pl.len().cast(pl.Int64))


def _cut(pairs: pl.LazyFrame, asked: BoundedAggregation) -> pl.LazyFrame:
    """How many people each set of bounds cuts."""
    import polars as pl

    kept = _is_kept(asked)
    outside = [pl.col(o) for o in _outside_names(asked)]
    for place, value in enumerate(asked.values):
        if value.per == "person":
            total = pl.col(f"w{place}")
            outside.append((total < value.fixed.low_steps) | (total > value.fixed.high_steps))
    told = {"groups": ~kept}
    if asked.rows_per_group is not None:
        told["rows"] = kept & (pl.col("n") > asked.rows_per_group)
    if outside:
        told["values"] = kept & pl.any_horizontal(outside)
    each = [told[name].any().cast(pl.Int32) * (1 << bit) for bit, name in enumerate(asked.cutting)]
    persons = pairs.group_by("p").agg(cut=pl.sum_horizontal(each))
    return persons.group_by("cut").agg(people=pl.len().cast(pl.Int64))


def _single(rows: pl.LazyFrame, asked: BoundedAggregation) -> pl.LazyFrame:
    """Pairs where every row is a person of its own."""
    import polars as pl

    return rows.with_columns(
        n=pl.lit(1, dtype=pl.Int64),
        **{f"c{v[1:]}": pl.col(v).is_not_null().cast(pl.Int64) for v in _value_names(asked)},
        **{f"w{v[1:]}": pl.col(v).cast(pl.Int64).fill_null(0) for v in _value_names(asked)},
        **({"o": pl.any_horizontal(*_outside_names(asked)).fill_null(False)} if asked.cuts else {}),
    )


def _totals(pairs: pl.LazyFrame, asked: BoundedAggregation, by: list[str]) -> pl.LazyFrame:
    """The sums over persons: `people`, `read` (all rows), `rows`, c0, s0, c1, s1, ..."""
    import polars as pl

    most = asked.rows_per_group
    counted = {"people": pl.len().cast(pl.Int64), "read": pl.col("n").sum(), "rows": _capped("n", most).sum()}
    for place, value in enumerate(asked.values):
        count, total = pl.col(f"c{place}"), pl.col(f"w{place}")
        if value.per == "person":
            total = total.clip(value.fixed.low_steps, value.fixed.high_steps).cast(pl.Int64)
        elif most is not None:
            # floor(w * most / c) without a product beyond 64 bits
            part = total // count * most + total % count * most // count
            total = pl.when(count > most).then(part).otherwise(total)
        counted |= {f"c{place}": _capped(f"c{place}", most).sum(), f"s{place}": total.sum()}
    if asked.cuts and asked.unit is None:
        counted["o"] = pl.col("o").sum().cast(pl.Int64)
    return pairs.group_by(by).agg(**counted)


def _capped(count: str, most: int | None) -> pl.Expr:
    import polars as pl

    return pl.col(count) if most is None else pl.col(count).clip(upper_bound=most)
