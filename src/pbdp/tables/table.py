"""A published table: its groups and its columns (value, width, interval and confidence of every measure).

Widths and intervals speak of the bounded aggregate (`bounded`), and the columns' names say so: what a bound
has cut off is not known to anyone who may not see the data.
"""

from __future__ import annotations

import hashlib
import io
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from pbdp.digits import delta_text, rounded_up
from pbdp.errors import InputError, MissingPackageError, shown, unchangeable
from pbdp.json_records import place_of, write
from pbdp.mechanism.absolute import moved_down
from pbdp.noise.kernel import Array
from pbdp.parameters import instance
from pbdp.release.intervals import Intervals
from pbdp.reported import Reported
from pbdp.tables.contribution_bounds import TouchedCount, touched_counts
from pbdp.tables.keys import KeyTable, arrow_array
from pbdp.tables.measure import Column, Measure
from pbdp.tables.measure_request import level_of
from pbdp.tables.nonnegative import nonnegative_columns, nonnegative_names
from pbdp.tables.plan import TablePlan
from pbdp.tables.quality import quality_marks, small_groups

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

    from pbdp.tables.differences import Difference
    from pbdp.tables.query import Query

Columns = dict[str, Column]

FORMATS = ("csv", "parquet")
SEED_COLUMN = "insecure_test_seed"
# How a Parquet file begins.
PARQUET = b"PAR1"
MARK = "'"
# Some spreadsheets take fullwidth signs for the usual ones.
_FORMULA = ("=", "+", "-", "@", "\N{FULLWIDTH EQUALS SIGN}", "\N{FULLWIDTH PLUS SIGN}",
            "\N{FULLWIDTH HYPHEN-MINUS}", "\N{FULLWIDTH COMMERCIAL AT}", "\t", "\r", "\n", MARK)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Payment:
    """What paid for a table: the record of a ledger. `repeated` tables were released before."""

    ledger: str
    place: str
    dataset: str
    key: str
    sequence: int
    charged: Mapping[str, int]
    rule: Mapping[str, Any]
    repeated: bool
    blocks: list[str] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceName:
    """What the publisher calls the data that a table was made of, and which version of it."""

    name: str
    version: str = ""

    def __post_init__(self) -> None:
        for what in ("name", "version"):
            text = getattr(self, what)
            if not isinstance(text, str) or not text.isprintable() or (what == "name" and not text.strip()):
                raise InputError(f"{what} of the source", "printable text", shown(text))


@unchangeable("A released table", "It is what was drawn and paid for.")
@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ReleasedTable(Reported):
    """What was published: for every group and measure the value, its width, interval and confidence.

    They speak of the bounded aggregates, as the columns' names say. `insecure_test_seed` is None unless
    the noise came from such a seed, in which case nothing is protected. `source` is what the publisher calls
    the data, and `data_digest` a digest of it under the ledger's secret key, which tells nobody else a thing.
    Where several tables were asked for, this is the first of them, and `tables` has all by their names.
    """

    plan: TablePlan
    groups: KeyTable
    values: Mapping[str, Column]
    engine: str
    payment: Payment | None = None
    insecure_test_seed: int | None = None
    source: SourceName | None = None
    data_digest: str | None = None
    which: int = 0
    others: tuple[ReleasedTable, ...] = ()

    def __len__(self) -> int:
        return len(self.groups)

    @property
    def tables(self) -> dict[str, ReleasedTable]:
        """All tables of the release by their names: their columns, or `total`."""
        return {table.label: table for table in (self, *self.others)}

    @property
    def label(self) -> str:
        """The name of the table among those that were asked for."""
        margins = self.plan.query.margins
        return ", ".join(self.plan.query.columns) if margins is None else margins.labels[self.which]

    def __repr__(self) -> str:
        groups = f"{len(self):,} group{'' if len(self) == 1 else 's'}"
        groups += f" and {len(self.others)} more tables" if self.others else ""
        names = ", ".join(measure.name for measure in self.plan.query.measures)
        loss = f"epsilon {rounded_up(self.plan.epsilon)} at delta {delta_text(self.plan.delta)}"
        return f"<ReleasedTable: {names} of {groups}; {loss}{self._mark}>"

    @property
    def _mark(self) -> str:
        return "" if self.insecure_test_seed is None else "; FROM A TEST SEED, NOT PRIVATE"

    @cached_property
    def columns(self) -> Columns:
        """The published columns of the measures; what is withheld is NaN."""
        hidden = self.withheld
        if not hidden.any():
            return self._drawn
        named = withheld_names(self.plan.query)
        return {
            name: np.where(hidden, np.nan, column) if name in named else column
            for name, column in self._drawn.items()
        }

    @cached_property
    def _drawn(self) -> Columns:
        return published_columns(self.plan, self.values, which=self.which)

    @property
    def numbers(self) -> list[str]:
        """The columns of the published numbers themselves; of a distribution a few of them."""
        return [name for measure in self.plan.query.measures for name in measure.shown_columns]

    def with_ends(self, number: str) -> tuple[Array, Array, Array]:
        """A published number and the ends of its interval; the number itself where it has none.

        `number` is one of `numbers`.
        """
        value, low, high = (
            self.columns.get(f"{number}{suffix}", self.columns[number]).astype(np.float64)
            for suffix in ("", "_bounded_low", "_bounded_high")
        )
        return value, low, high

    @cached_property
    def withheld(self) -> npt.NDArray[np.bool]:
        """The groups whose numbers are withheld, because they are small."""
        if not self.plan.query.withhold:
            return np.zeros(len(self), dtype=bool)
        return small_groups(self.plan.query, self._drawn)

    @cached_property
    def bounds_touched(self) -> tuple[TouchedCount, ...]:
        """How many people the bounds touched, where the query asks for it."""
        return touched_counts(self.plan, self.values)

    def difference(
        self,
        measure: str,
        one: Mapping[str, object],
        other: Mapping[str, object],
        *,
        table: ReleasedTable | None = None,
    ) -> Difference:
        """How a number differs between two groups, or from that of another release, with an interval.

        It costs nothing. `measure` is the name of a count, a sum or a mean, say; `one` and `other` are the
        keys of two groups, {"city": "Paris"}, and `table` is where the other one is, if it is not here. What
        is returned is the number of `one` less that of `other`.
        """
        from pbdp.tables.differences import difference_of

        beside = self if table is None else table
        instance("table", beside, ReleasedTable, "a released table")
        return difference_of(measure, (self, one), (beside, other))

    def quantile(self, measure: str, q: float) -> Array:
        """A quantile of each group, read off a published distribution: it costs nothing.

        `measure` is the name of the distribution, and 0 < `q` < 1. With its confidence, the ranks of all
        quantiles that are ever read off are within the width of the distribution.
        """
        from pbdp.tables.distribution import Distribution

        known = {one.name: one for one in self.plan.query.measures if isinstance(one, Distribution)}
        if measure not in known:
            named = ", ".join(known) or "this table has none"
            raise InputError("measure", f"a distribution ({named})", shown(measure))
        return known[measure].quantile(self.columns, level_of("q", q))

    def to_arrow(self) -> pa.Table:
        """Keys and numbers as an Arrow table; null where a mean is of nothing and what is withheld."""
        import pyarrow as pa

        keys = self.groups.arrow()
        arrays = {name: keys.column(name) for name in keys.column_names}
        hidden = dict.fromkeys(withheld_names(self.plan.query), self.withheld)
        for name, column in self._drawn.items():
            nothing = np.isnan(column) if column.dtype.kind == "f" else np.zeros(len(self), dtype=bool)
            missing = nothing | hidden.get(name, nothing)
            arrays[name] = arrow_array(column, missing if missing.any() else None)
        if self.insecure_test_seed is not None:
            arrays[SEED_COLUMN] = arrow_array(np.full(len(self), self.insecure_test_seed, dtype=np.uint64))
        return pa.table(arrays)

    def to_pandas(self) -> pd.DataFrame:
        """The same in pandas."""
        _check_installed("pandas")
        frame: pd.DataFrame = self.to_arrow().to_pandas()
        return frame

    def to_polars(self) -> pl.DataFrame:
        """The same in polars."""
        _check_installed("polars")
        import polars as pl

        frame = pl.from_arrow(self.to_arrow())
        if not isinstance(frame, pl.DataFrame):
            raise AssertionError("a table is a data frame")
        return frame

    def file_bytes(self, written: str) -> bytes:
        """The table as a CSV or Parquet file.

        `written` is the format, csv or parquet.
        """
        instance("format", written, str, " or ".join(FORMATS))
        if written not in FORMATS:
            raise InputError("format", " or ".join(FORMATS), shown(written))
        sink = io.BytesIO()
        if written == "csv":
            from pyarrow import csv

            csv.write_csv(
                marked(self.to_arrow(), self.marked_columns), sink, csv.WriteOptions(quoting_style="needed")
            )
        else:
            from pyarrow import parquet

            parquet.write_table(self.to_arrow(), sink)
        return sink.getvalue()

    @cached_property
    def empty_keys(self) -> dict[str, list[object]]:
        """By column, public keys for which every published number is compatible with 0: misspelled, perhaps.

        It follows from what is published, so it costs nothing.
        """
        # totals of the first days are near 0
        measured = [one for one in self.plan.query.measures if not one.chosen]
        if self.plan.query.groups is None or self.plan.query.running is not None or not measured:
            return {}
        near_zero = np.ones(len(self), dtype=bool)
        for label in (label for one in measured for label in self.plan.labels(one)):
            found = _intervals(self.plan, label, self.values[label], self.which)
            near_zero &= (found.low <= 0) & (found.high >= 0)
        empty: dict[str, list[object]] = {}
        for name, column in self.groups.columns.items():
            with_some = set(column.values[~near_zero].tolist())
            if missing := [key for key in dict.fromkeys(column.values.tolist()) if key not in with_some]:
                empty[name] = missing
        return empty

    @property
    def marked_columns(self) -> list[str]:
        """Columns of a CSV file in which cells may be marked: keys that are text and come from the data."""
        if self.plan.query.select is None:
            return []
        return [name for name, column in self.groups.columns.items() if column.kind == "text"]

    def save(
        self,
        path: str | Path,
        manifest: str | Path | None = None,
        *,
        sign: str | Path | None = None,
        replace: bool = False,
    ) -> None:
        """Write a .csv or .parquet file, and beside it the manifest (`NAME.manifest.json` by default).

        Further tables get files of their own, `NAME.zone.csv`, and are in the same manifest.

        `sign` is the file of a private key that `pbdp keys create` made.

        `path` names the table. Files that are there stay as they are unless `replace` says otherwise.
        """
        from pbdp.tables.manifest import written_files
        from pbdp.tables.signing import signer_at

        target = place_of("output", path)
        if not target.name:
            raise InputError("output", "the name of a file", str(target))
        signer = None if sign is None else signer_at(sign)
        if signer is not None:
            signer.check_apart([target])
        usual = target.with_suffix(target.suffix + ".manifest.json")
        beside = usual if manifest is None else place_of("manifest", manifest)
        written = target.suffix.lower().lstrip(".")
        content, files = written_files(self, target.name, written, signer)
        made = {beside: content} | {target.with_name(file.name): file.content for file in files}
        if not replace and (there := [str(place) for place in made if place.exists()]):
            raise InputError(
                "output", "files that are not there yet", ", ".join(there), "Or say replace=True."
            )
        for place, written_bytes in made.items():
            write("manifest" if place == beside else "output", place, written_bytes)


def _check_installed(package: str) -> None:
    """Say what to install, before anything else fails for want of it."""
    if find_spec(package) is None:
        install = f"'pbdp[{package}]'. Without it there are to_arrow() and save()"
        raise MissingPackageError(f"to_{package}()", package, install)


def marked(table: pa.Table, names: Sequence[str]) -> pa.Table:
    """The table with an apostrophe before every text that a spreadsheet would take for a formula.

    Also before those that begin with an apostrophe, so that `unmarked` takes off exactly what was put on.
    Who can write into the data could else have a formula run where the published file is opened.
    """
    for name in names:
        texts = [MARK + text if text[:1] in _FORMULA else text for text in table[name].to_pylist()]
        table = _exchanged(table, name, texts)
    return table


def unmarked(table: pa.Table, names: Sequence[str]) -> pa.Table:
    """The table as it was before `marked`."""
    for name in names:
        table = _exchanged(table, name, [text.removeprefix(MARK) for text in table[name].to_pylist()])
    return table


def _exchanged(table: pa.Table, name: str, texts: list[str]) -> pa.Table:
    import pyarrow as pa

    return table.set_column(table.column_names.index(name), name, pa.array(texts, pa.string()))


def digest_of(content: bytes) -> str:
    """SHA-256 of a file."""
    return hashlib.sha256(content).hexdigest()


def published_columns(
    plan: TablePlan,
    values: Mapping[str, Column],
    measures: Sequence[Measure] | None = None,
    *,
    which: int = 0,
    shown: npt.NDArray[np.bool] | None = None,
) -> Columns:
    """The columns of these measures (all of them by default), for the released numbers by their labels.

    Of several tables `which` is theirs; `values` may be those of the `shown` groups alone.

    A number may be so far below what can be true that its interval holds nothing that can. It gets the
    interval of the nearest number that can be true then, which holds more than nothing. Confidences are
    rounded down.
    """
    columns: Columns = {}
    for measure in plan.query.measures if measures is None else measures:
        if measure.chosen:
            columns |= measure.chosen_columns(plan, values)
            continue
        released = [
            (values[label], _intervals(plan, label, values[label], which)) for label in plan.labels(measure)
        ]
        if len(released) == 1:
            least, most = measure.ends(plan.query)
            ((published, found),) = released
            low, high = found.low, found.high
            if np.any(beyond := (high < least) | (low > most)):
                label = measure.labels[0]
                near = np.clip(published.astype(np.float64), least, most)
                nearest = _intervals(plan, label, near, which, shown)
                low, high = (np.where(beyond, *ends) for ends in ((nearest.low, low), (nearest.high, high)))
                released = [(published, replace(found, low=low, high=high))]
        published, low, high, confidence = measure.estimate(plan, released)
        columns |= _columns(measure, published, low, high, confidence_shown(confidence))
    if measures is not None:
        return columns
    numbers = columns | {name: values[name] for name in nonnegative_names(plan.query) if name in values}
    return columns | quality_marks(plan.query, columns) | nonnegative_columns(plan.query, numbers)


def withheld_names(query: Query) -> set[str]:
    """The columns that are empty where a group is withheld: numbers, their widths and intervals."""
    if not query.withhold:
        return set()
    return {name for one in query.measures for name in one.columns[:-1]} | {*nonnegative_names(query)}


def confidence_shown(confidence: float) -> float:
    """A confidence with six digits behind the point, rounded down, or as it is if that is none."""
    return math.floor(confidence * 1e6) / 1e6 if 1e-6 <= confidence < 1 else confidence


def _intervals(
    plan: TablePlan,
    label: str,
    values: Column,
    which: int,
    shown: npt.NDArray[np.bool] | None = None,
) -> Intervals:
    if plan.query.margins is None:
        return plan.part(label).releaser.intervals(values.astype(np.float64), None, as_promised=True)
    widths, confidence = plan.widths(label, which)
    widths = widths if shown is None else widths[shown]
    # whole numbers are exact
    numbers = values.astype(np.float64)
    low, high = moved_down(numbers, widths), -moved_down(-numbers, widths)
    return Intervals(low=low, high=high, confidence=confidence)


def _columns(measure: Measure, values: Column, low: Array, high: Array, confidence: float) -> Columns:
    width = np.fmax(np.abs(values - low), np.abs(high - values))
    whole = values.dtype == np.int64
    beside = [_whole(column) if whole else column for column in (width, low, high)]
    columns = [values, *beside, np.full(len(values), confidence)]
    return dict(zip(measure.columns, columns, strict=True))


def _whole(column: Array) -> Column:
    """Whole numbers as such, where all of them are (infinite ends and relative widths are not)."""
    with np.errstate(invalid="ignore"):
        whole = bool(np.all(column - np.floor(column) == 0))
    return column.astype(np.int64) if whole else column
