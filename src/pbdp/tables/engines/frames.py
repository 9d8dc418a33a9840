"""Tables in memory (Arrow, pandas, mappings) as Arrow: only the columns of a query are converted.

Types are the columns' own. Only a pandas column of Python objects, and a column given as a list, has none;
what it holds is then told from its entries, and a mixture is refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from pbdp.columns.given import comes_from
from pbdp.errors import InputError

if TYPE_CHECKING:
    import pyarrow as pa


def missing_package(package: str) -> InputError:
    """What to install."""
    remedy = "Run pip install 'pbdp[tables]'."
    return InputError("this kind of data", f"read with {package}", "no such package here", remedy)


def column_names(frame: Any) -> tuple[str, ...]:
    """The names of the columns; all must be different."""
    if isinstance(frame, Mapping):
        names = [str(name) for name in frame]
    else:
        names = [str(name) for name in (frame.columns if comes_from(frame, "pandas") else frame.schema.names)]
    if doubles := sorted({name for name in names if names.count(name) > 1}):
        raise InputError("data", "columns of different names", ", ".join(doubles))
    return tuple(names)


def is_dataset(frame: Any) -> bool:
    """Whether it is an Arrow data set, which DuckDB reads column by column itself."""
    return hasattr(frame, "scanner")


def type_of(frame: Any, name: str) -> pa.DataType | None:
    """The Arrow type of a column; None where its entries have no common type."""
    import pyarrow as pa

    if not isinstance(frame, Mapping) and not comes_from(frame, "pandas"):
        return frame.schema.field(name).type
    column = _column(frame, name)
    if comes_from(column, "pandas") and column.dtype != object:
        column = column.iloc[:0]
    try:
        return _array(column).type
    except (pa.ArrowException, TypeError, ValueError, NotImplementedError):
        return None


def arrow_table(frame: Any, names: Iterable[str]) -> Any:
    """These columns as an Arrow table, or the data set itself if it is one."""
    import pyarrow as pa

    wanted = list(names)
    if is_dataset(frame):
        return frame
    if isinstance(frame, pa.Table | pa.RecordBatch):
        return pa.table({name: frame.column(name) for name in wanted})
    return pa.table({name: _converted(frame, name) for name in wanted})


def _converted(frame: Any, name: str) -> pa.Array:
    import pyarrow as pa

    failed = False
    try:
        array = _array(_column(frame, name))
    except (pa.ArrowException, TypeError, ValueError, NotImplementedError):
        failed, array = True, None
    if failed:
        # raised here, so that Arrow's own message, which may quote an entry, does not hang on to this one
        raise InputError(
            f"column {name}", "entries of one kind", "a mixture", "Convert it to one type first."
        )
    return array


def _column(frame: Any, name: str) -> Any:
    if isinstance(frame, Mapping):
        return next(column for label, column in frame.items() if str(label) == name)
    return frame[next(label for label in frame.columns if str(label) == name)]


def _array(column: Any) -> pa.Array:
    import pyarrow as pa

    array = pa.array(column, from_pandas=True)
    return array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array
