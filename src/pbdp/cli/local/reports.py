"""Files of reports: written block by block, each report with its survey, and counted block by block.

What cannot be used is counted by its reason.
"""

from __future__ import annotations

import csv
import io
from abc import ABC, abstractmethod
from contextlib import closing
from dataclasses import dataclass, field, replace
from itertools import repeat
from types import TracebackType
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
import numpy.typing as npt

from pbdp.columns.files import Block, Wanted, blocks_of, pyarrow_modules
from pbdp.errors import InputError
from pbdp.local import Counts, count_groups, count_reports
from pbdp.local.counts import no_counts
from pbdp.local.false_reports import Repeating
from pbdp.local.value_codes import read_cells

if TYPE_CHECKING:
    from pbdp.cli.main import Progress
    from pbdp.local import LocalMechanism

Cells = npt.NDArray[Any]

# What this program writes into the metadata of Parquet files.
SURVEY_KEY = b"pbdp_survey"
SEED_KEY = b"pbdp_insecure_test_seed"
REPORT, SURVEY, SEED = "report", "survey", "insecure_test_seed"
BROKEN = "broken row"
# Numbers of people that floats hold exactly.
MOST_USERS = 1 << 53
# Any other fingerprint: an empty text is that of no survey.
NO_SURVEY = ""


# --------------------------------------------------------------------------------------------- writing


@dataclass(slots=True, kw_only=True)
class ReportFile(ABC):
    """Columns `report` and `survey`, and `insecure_test_seed` where the reports protect nothing."""

    file: BinaryIO
    fingerprint: str
    whole: bool
    seed: int | None = None

    @abstractmethod
    def write(self, reports: Cells) -> None:
        """Add a block of reports."""

    def __enter__(self) -> ReportFile:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # also after an error: a Parquet writer left open would write to its file when it is collected
        self.finish()

    @abstractmethod
    def finish(self) -> None:
        """Write what comes after the last block."""


@dataclass(slots=True, kw_only=True)
class CsvReports(ReportFile):
    """Text with names in the first row."""

    def __post_init__(self) -> None:
        names = [REPORT, SURVEY] if self.seed is None else [REPORT, SURVEY, SEED]
        self.file.write((",".join(names) + "\n").encode())

    def write(self, reports: Cells) -> None:
        text = io.StringIO()
        marks = [self.fingerprint] if self.seed is None else [self.fingerprint, str(self.seed)]
        csv.writer(text, lineterminator="\n").writerows(
            zip(reports.tolist(), *map(repeat, marks), strict=False)
        )
        self.file.write(text.getvalue().encode())

    def finish(self) -> None:
        return


@dataclass(slots=True, kw_only=True)
class ParquetReports(ReportFile):
    """Whole numbers as int64, others as text; the survey is in the metadata too, should its column go."""

    _writer: Any = field(init=False)
    _schema: Any = field(init=False)

    def __post_init__(self) -> None:
        pa, pq = pyarrow_modules()
        columns = [
            (REPORT, pa.int64() if self.whole else pa.string()),
            (SURVEY, pa.dictionary(pa.int32(), pa.string())),
        ]
        metadata = {SURVEY_KEY: self.fingerprint.encode()}
        if self.seed is not None:
            columns.append((SEED, pa.uint64()))
            metadata[SEED_KEY] = str(self.seed).encode()
        self._schema = pa.schema(columns, metadata=metadata)
        self._writer = pq.ParquetWriter(self.file, self._schema)

    def write(self, reports: Cells) -> None:
        pa, _ = pyarrow_modules()
        count = len(reports)
        survey = pa.DictionaryArray.from_arrays(pa.array(np.zeros(count, dtype=np.int32)), [self.fingerprint])
        made = [pa.array(reports, self._schema.field(REPORT).type), survey]
        if self.seed is not None:
            made.append(pa.array(np.full(count, self.seed, dtype=np.uint64)))
        self._writer.write_table(pa.table(made, schema=self._schema))

    def finish(self) -> None:
        self._writer.close()


WRITERS: dict[str, type[ReportFile]] = {"csv": CsvReports, "parquet": ParquetReports}


# -------------------------------------------------------------------------------------------- counting


@dataclass(frozen=True, slots=True, kw_only=True)
class Collected:
    """The counts of one file, and whether the file says which survey its reports are of."""

    name: str
    counts: Counts
    said: bool


def collected(
    mechanism: LocalMechanism,
    name: str,
    given_format: str | None,
    column: str | None,
    times: str | None,
    *,
    whole: bool,
    progress: Progress,
    repeating: Repeating,
) -> Collected:
    """Count a file of reports, or of reports with how often each occurs in the column `times`."""
    wanted = Wanted(
        column=column,
        usual=REPORT,
        needed={} if times is None else {times: "--counts"},
        known=(SURVEY, SEED),
        # a row of a grouped table may stand for any number of people, so it is not passed over
        broken_rows=times is None,
    )
    total, said, done = no_counts(mechanism), True, 0
    with closing(blocks_of(name, given_format, wanted)) as blocks:
        for block in blocks:
            reports = read_cells(block.cells, block.held, whole=whole)
            mine = _mine(mechanism, block, len(reports))
            said = said and mine is not None
            rows = np.ones(len(reports), dtype=bool) if mine is None else mine
            often = None if times is None else _times(block, times)
            repeating.add(reports[rows], None if often is None else often[rows])
            total += _counted(mechanism, block, reports, rows, often)
            if total.users >= MOST_USERS:
                raise InputError("input", "of fewer than 2^53 reports", "more")
            done += len(reports)
            progress.tell(f"counting {name}, row", done, block.total)
    return Collected(name=name, counts=total, said=said)


def _mine(mechanism: LocalMechanism, block: Block, count: int) -> npt.NDArray[np.bool_] | None:
    """Which rows say that they are of this survey; None where neither they nor the file say of which."""
    mine = mechanism.fingerprint
    if SURVEY in block.more:
        said = read_cells(block.more[SURVEY], block.held, whole=False)
        # numbers are no fingerprints
        return np.asarray(said == mine) if said.dtype == object else np.zeros(count, dtype=bool)
    if SURVEY_KEY in block.metadata:
        return np.full(count, block.metadata[SURVEY_KEY] == mine.encode())
    return None


def _counted(
    mechanism: LocalMechanism,
    block: Block,
    reports: Cells,
    mine: npt.NDArray[np.bool_],
    counts: Cells | None,
) -> Counts:
    total = no_counts(mechanism)
    if block.broken:
        total = replace(total, refused={BROKEN: block.broken})
    for rows, fingerprint in ((mine, mechanism.fingerprint), (~mine, NO_SURVEY)):
        if not rows.any():
            continue
        if counts is None:
            found = count_reports(mechanism, reports[rows], fingerprint=fingerprint)
        else:
            found = count_groups(mechanism, reports[rows], counts[rows], fingerprint=fingerprint)
        total += found
    marked = SEED_KEY in block.metadata
    if SEED in block.more:
        seeds = read_cells(block.more[SEED], block.held, whole=False)[mine].tolist()
        marked = marked or any(seed is not None for seed in seeds)
    return replace(total, insecure_test=marked and bool(mine.any()))


def _times(block: Block, times: str) -> Cells:
    """How often each report occurs; a row without a whole number refuses the file."""
    cells = read_cells(block.more[times], block.held, whole=True)
    if cells.dtype.kind in "iu":
        bad = (cells < 0) | (cells >= MOST_USERS)
    else:
        bad = np.array(
            [type(cell) is not int or not 0 <= cell < MOST_USERS for cell in cells.tolist()], dtype=bool
        )
    if bad.any():
        place = block.place(int(np.argmax(bad)))
        raise InputError(f"count in {place}", "a whole number from 0 to below 2^53", "something else")
    return cells.astype(np.int64)
