"""Files of reports as they are written: block by block, each report with the survey that it belongs to."""

from __future__ import annotations

import csv
import io
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from itertools import repeat
from types import TracebackType
from typing import Any, BinaryIO

import numpy as np

from pbdp.cli.input.parquet import pyarrow_modules
from pbdp.cli.local.cells import Cells
from pbdp.cli.local.rows import SEED_KEY, SURVEY_KEY

REPORT, SURVEY, SEED = "report", "survey", "insecure_test_seed"


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
