"""The published file, read again: its keys and numbers must be those that the manifest speaks of."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from pbdp.errors import InputError
from pbdp.json_records import SAME
from pbdp.noise.kernel import Array
from pbdp.tables.keys import KeyTable, Kind, arrow_types, key_table, keys_from_record
from pbdp.tables.manifest import KEY, column_notes
from pbdp.tables.measure import Column, Measure
from pbdp.tables.nonnegative import SUFFIX, nonnegative_columns, nonnegative_names
from pbdp.tables.numbers import typed
from pbdp.tables.pairs import shared_of
from pbdp.tables.plan import TablePlan
from pbdp.tables.quality import quality_marks, quality_names, small_groups
from pbdp.tables.query import Query
from pbdp.tables.table import (
    PARQUET,
    SEED_COLUMN,
    Columns,
    confidence_shown,
    digest_of,
    published_columns,
    unmarked,
    withheld_names,
)
from pbdp.tables.top import Top
from pbdp.verification import Check, FaultError, MissingError

Record = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedFile:
    """The bytes of a table, with its manifest, what that says of the file, and which table it is."""

    content: bytes
    record: Record
    known: Record
    which: int = 0

    def read(self, kinds: dict[str, Kind], whole: tuple[str, ...] = (), texts: Sequence[str] = ()) -> Any:
        """An Arrow table. CSV has no types: keys are of these kinds or else text, other columns numbers."""
        import pyarrow as pa

        try:
            if str(self.known["file"]).lower().endswith(".parquet") or self._is_parquet:
                from pyarrow import parquet

                return parquet.read_table(io.BytesIO(self.content))
            return self._csv(pa, kinds, whole, texts)
        except pa.ArrowException:
            raise FaultError("the table cannot be read") from None

    @property
    def _is_parquet(self) -> bool:
        return self.content.startswith(PARQUET)

    def _csv(self, pa: Any, kinds: dict[str, Kind], whole: tuple[str, ...], texts: Sequence[str]) -> Any:
        from pyarrow import csv

        parsing = csv.ParseOptions(newlines_in_values=True)
        types = arrow_types()
        by = [name for name, note in self.known["columns"].items() if note == KEY]
        names = csv.open_csv(io.BytesIO(self.content), parse_options=parsing).schema.names
        columns = {name: pa.int64() if name in whole else pa.float64() for name in names}
        columns |= {name: types[kinds.get(name, "text")] for name in by}
        columns |= {name: pa.string() for name in texts}
        converting = csv.ConvertOptions(column_types=columns)
        table = csv.read_csv(io.BytesIO(self.content), parse_options=parsing, convert_options=converting)
        return unmarked(table, self.known.get("marked", ()))


def file_of(
    record: Record, place: Path, table: Path | None, which: int = 0
) -> tuple[PublishedFile | None, Check]:
    """The published file, one of several perhaps, and whether its bytes are those of the manifest."""
    known = record["table"] if which == 0 else record["tables"][which - 1]
    name = f"table {known['table']}" if "table" in known else "table"
    path = place.with_name(Path(known["file"]).name) if table is None else table
    try:
        content = path.read_bytes()
    except OSError as error:
        if table is not None:
            raise InputError("table", "readable", table, f"{error.strerror}.") from None
        return None, Check(
            name=name,
            holds=None,
            words=f"{path} is not there; name the table to have it checked",
            missing=True,
        )
    if digest_of(content) != known["sha256"]:
        return None, Check(name=name, holds=False, words=f"{path} is not the file that was published")
    made = PublishedFile(content=content, record=record, known=known, which=which)
    return made, Check(name=name, holds=True, words=f"{path}, unchanged")


def keys_in(file: PublishedFile) -> KeyTable:
    """The public keys in the file, where there are too many of them for the manifest."""
    by = file.record["query"]["by"]
    return _keys_read(tuple(by["columns"]), file.read(by["kinds"]))


def _keys_read(columns: Sequence[str], table: Any) -> KeyTable:
    """The groups of a published table."""
    return key_table(columns, {name: table[name].to_pylist() for name in columns})


def check_notes(record: Record, query: Query) -> str:
    """What the manifest says of the columns is what they are."""
    margins, every = query.margins, [record["table"], *record.get("tables", ())]
    if len(every) != (1 if margins is None else len(margins)):
        raise FaultError("there are more or fewer tables than the query asks for")
    for which, known in enumerate(every):
        if known["columns"] != column_notes(query, which):
            raise FaultError("the columns are described as something else than the query's")
        if margins is not None and known["table"] != margins.labels[which]:
            raise FaultError("the tables are not those of the query, in their order")
        groups = query.groups if margins is None else margins.tables[which].groups
        if query.listed is not None:
            _check_rows(query.listed, known["rows"], fewer=groups is None)
        elif groups is not None and known["rows"] != len(groups):
            raise FaultError(f"{len(groups):,} public groups are not {known['rows']} rows")
    counted = [f"{len(known['columns'])} columns, {known['rows']:,} rows" for known in every]
    return "; ".join(counted)


def _check_rows(top: Top, rows: int, *, fewer: bool) -> None:
    """As many groups as were asked for; groups of the data may be fewer."""
    if rows > top.groups or (rows < top.groups and not fewer):
        raise FaultError(f"the top {top.groups:,} groups are not {rows} rows")


def check_numbers(plan: TablePlan, file: PublishedFile | None) -> str:
    """Keys, widths, intervals and confidences, computed again from the query and the published values."""
    if file is None:
        raise MissingError("no table to look at")
    table = _read(plan, file)
    _check_keys(plan.query, table, file)
    top = plan.query.listed
    if top is not None and np.any(np.diff(_floats(table[top.by])) > 0):
        raise FaultError("the top groups are not in the order of their numbers")
    table = table.filter(_shown(plan.query, table))
    labels = whole_labels(plan)
    published = [label for label in labels if label in table.column_names]
    if empty := [label for label in published if table[label].null_count]:
        raise FaultError(f"numbers are missing in column {', '.join(empty)}")
    values: dict[str, Column] = {label: typed(table[label].to_numpy(), labels[label]) for label in published}
    values |= _centered(plan, table, values)
    for measure in (one for one in plan.query.measures if one.chosen):
        columns = {name: _floats(table[name]) for name in measure.value_columns}
        values |= measure.drawn_from(plan, columns)
    # a mean that follows from numbers in the table is made again
    single = [one for one in plan.query.measures if all(label in values for label in plan.labels(one))]
    means = [one for one in plan.query.measures if one not in single]
    shown = None if plan.query.margins is None else _shown(plan.query, _read(plan, file))
    found = published_columns(plan, values, single, which=file.which, shown=shown)
    _compare(found, table, "does not follow from the published numbers")
    for mean in means:
        _check_derived(plan, mean, table)
    measured = [one for one in plan.query.measures if not one.chosen]
    numbers = {name: _floats(table[name]) for one in measured for name in one.columns[:2]}
    for name, marks in quality_marks(plan.query, numbers).items():
        if table[name].to_pylist() != marks.tolist():
            raise FaultError(f"column {name} does not follow from the published numbers")
    _compare(_above_zero(plan, numbers), table, "does not follow from the published numbers")
    note = (
        "; sums and counts behind means are not in the table, so these are checked for consistency alone"
        if means
        else ""
    )
    return f"{len(table.column_names)} columns follow from the query and the numbers{note}"


def _centered(plan: TablePlan, table: Any, values: Mapping[str, Column]) -> dict[str, Column]:
    """Sums from the middle, which are not in the table: of the sums and counts that follow from them."""
    found = {}
    for one in shared_of(plan.query) if plan.follows else ():
        label, count = one.labels
        fixed, step = one.total.value(plan.query).fixed, plan.part(label).design.grid.step
        if table[one.total.name].null_count:
            raise FaultError(f"numbers are missing in column {one.total.name}")
        # a difference of doubles is next to the multiple of the step that was drawn
        steps = np.rint((_floats(table[one.total.name]) - values[count] * fixed.middle) / step)
        found[label] = typed(steps * step, fixed.whole)
    return found


def _above_zero(plan: TablePlan, values: Mapping[str, Column]) -> Columns:
    """The non-negative numbers that follow from those beside them; others follow from several tables."""
    apart = [label for label, strategy in plan.strategies.items() if not strategy.adds_up]
    alone = plan.query.margins is None or plan.query.running is not None or not plan.query.add_up
    found = nonnegative_columns(plan.query, values)
    return {name: column for name, column in found.items() if alone or name.removesuffix(SUFFIX) in apart}


def numbers_in(plan: TablePlan, file: PublishedFile, names: Sequence[str]) -> dict[str, Array]:
    """These columns of a file; what is withheld is NaN."""
    table = _read(plan, file)
    return {name: _floats(table[name]) for name in names}


def check_stored(
    plan: TablePlan, groups: KeyTable, values: Mapping[str, Column], file: PublishedFile
) -> None:
    """The file holds these numbers of these groups: what a ledger stored."""
    table = _read(plan, file)
    if table.num_rows != len(groups):
        raise FaultError("the ledger stored another number of groups than the table has")
    columns = published_columns(plan, values, which=file.which)
    shown = _shown(plan.query, table)
    if plan.query.withhold and not np.array_equal(shown, ~small_groups(plan.query, columns)):
        raise FaultError("other groups are withheld than those that the ledger stored as small")
    columns = {name: column[shown] for name, column in columns.items()}
    _compare(columns, table.filter(shown), "is not what the ledger stored")
    keys = groups.arrow()
    for name in groups.columns:
        if list(map(str, keys[name].to_pylist())) != list(map(str, table[name].to_pylist())):
            raise FaultError(f"column {name} is not what the ledger stored")


def _read(plan: TablePlan, file: PublishedFile) -> Any:
    """The table, if it has the columns of the query and no others."""
    query, record = plan.query, file.record
    known = [query.groups] if query.groups is not None else list(query.only)
    kinds = {name: column.kind for keys in known for name, column in keys.columns.items()}
    labels = [label for label, is_whole in whole_labels(plan).items() if is_whole]
    made = [name for name in nonnegative_names(query) if name.removesuffix(SUFFIX) in labels]
    whole = (*labels, *made)
    table = file.read(kinds, whole, quality_names(query))
    seeded = record["insecure_test_seed"] is not None
    expected = [*column_notes(query, file.which), *([SEED_COLUMN] if seeded else [])]
    if table.column_names != expected:
        strange = [name for name in table.column_names if name not in expected]
        what = f"other columns: {', '.join(strange)}" if strange else "fewer columns, or in another order"
        raise FaultError(f"the table has {what}")
    if table.num_rows != file.known["rows"]:
        raise FaultError(f"the table has {table.num_rows:,} rows, not {file.known['rows']}")
    return table


def whole_labels(plan: TablePlan) -> dict[str, bool]:
    """The released numbers that stand in the table as they are, and whether these are whole."""
    if plan.query.margins is None:
        return {number.label: number.requirement.integer for number in plan.numbers}
    return {label: strategy.is_whole and plan.step(label) == 1 for label, strategy in plan.strategies.items()}


def _shown(query: Query, table: Any) -> npt.NDArray[np.bool]:
    """The groups that are not withheld: of others nothing is told, but that they are small."""
    if not query.withhold:
        return np.ones(table.num_rows, dtype=bool)
    small = np.array([mark == "small" for mark in table[quality_names(query)[0]].to_pylist()], dtype=bool)
    named = withheld_names(query)
    if any(table[name].filter(small).null_count < small.sum() for name in named):
        raise FaultError("groups are small, but their numbers are not withheld")
    for name in quality_names(query):
        if any(mark != "small" for mark in table[name].filter(small).to_pylist()):
            raise FaultError(f"column {name} has other marks than the numbers that are withheld")
    return ~small


def _check_keys(query: Query, table: Any, file: PublishedFile) -> None:
    """Public groups are those of the query, in order; selected ones keep within what is public of them."""
    record, margins = file.record, query.margins
    columns = query.columns if margins is None else margins.tables[file.which].columns
    if table.num_rows == 0 or not columns:
        return
    keys = _keys_read(columns, table)
    if query.groups is not None:
        known = query.groups if margins is None else margins.tables[file.which].groups
        if query.listed is not None:
            if not keys.rows() <= known.rows():
                raise FaultError("the groups in the table are not among those of the query")
        elif keys.digest() != known.digest():
            raise FaultError("the groups in the table are not those of the query")
        return
    for one in record["query"]["by"].get("only", ()):
        for name, column in keys_from_record(one).columns.items():
            if not set(keys.columns[name].values.tolist()) <= set(column.values.tolist()):
                raise FaultError(f"groups in the table have other keys of {name} than the query")


def _check_derived(plan: TablePlan, measure: Measure, table: Any) -> None:
    """A number within its interval and bounds, the width that follows from both, and the right confidence."""
    value, within, low, high, confidence = (_floats(table[column]) for column in measure.columns)
    promised = confidence_shown(measure.confidence_of(plan))
    least, most = measure.ends(plan.query)
    known = ~np.isnan(value)
    width = np.fmax(np.abs(value - low), np.abs(high - value))
    sound = (
        np.allclose(confidence, promised, rtol=1e-12, atol=0)
        and bool(np.all((least <= low) & (low <= high) & (high <= most)))
        and bool(np.all((value[known] >= least) & (value[known] <= most)))
        and np.allclose(within[known], width[known], rtol=SAME, atol=0)
    )
    if not sound:
        raise FaultError(f"columns of {measure.name} contradict each other or the plan")


def _compare(found: Columns, table: Any, words: str) -> None:
    for name, column in found.items():
        if column.dtype == object:
            if table[name].to_pylist() != column.tolist():
                raise FaultError(f"column {name} {words}")
            continue
        have = _floats(table[name])
        want = column.astype(np.float64)
        # whole numbers as they are; ends of intervals may differ in the last digits on another machine
        same = have == want if column.dtype == np.int64 else np.isclose(have, want, SAME, 0, equal_nan=True)
        if not np.all(same):
            raise FaultError(f"column {name} {words}")


def _floats(column: Any) -> Array:
    return np.asarray(column.to_numpy(), dtype=np.float64)
