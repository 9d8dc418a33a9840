"""A whole reproduction: cases, pictures, findings and the report, in one folder."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pbdp.cli.output.whole_file import new_file
from reproduction.experiment import Experiment
from reproduction.report.report import Made, record_of, report_of
from reproduction.report.result import Result, result_of
from reproduction.running.kept import CASES, KeptCases, code_version
from reproduction.running.run import Tell, compute_missing, rows_of

REPORT, FINDINGS = "report.html", "findings.json"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Reproduction:
    """What a run left in its folder."""

    folder: Path
    results: tuple[Result, ...]
    record: dict[str, Any]


def reproduce(
    folder: Path,
    chosen: Sequence[Experiment],
    *,
    known: Sequence[Experiment],
    quick: bool,
    fresh: bool,
    tell: Tell,
) -> Reproduction:
    """Compute what is missing of the chosen experiments and write everything.

    The report also holds those of the other known experiments whose cases are all kept from an earlier run.
    """
    kept = KeptCases(folder=folder / CASES, code=code_version())
    if fresh:
        for experiment in chosen:
            kept.clear(experiment)
    compute_missing(chosen, quick=quick, kept=kept, tell=tell)
    results, missing = [], []
    for experiment in known:
        rows = rows_of(experiment, quick, kept)
        if rows is None:
            missing.append(experiment.name)
        else:
            results.append(result_of(experiment, rows))
    for result in results:
        result.write(folder)
    made = Made(when=datetime.now(tz=UTC), quick=quick, code=kept.code, missing=tuple(missing))
    record = record_of(results, made)
    contents = {
        FINDINGS: json.dumps(record, indent=1, allow_nan=False, ensure_ascii=False),
        REPORT: report_of(results, made),
    }
    for name, content in contents.items():
        with new_file(folder / name, force=True) as file:
            file.write(content.encode())
    return Reproduction(folder=folder, results=tuple(results), record=record)
