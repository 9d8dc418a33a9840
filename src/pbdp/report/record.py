"""Statements as objects for programs: every figure as it is, every sentence with its digits."""

from __future__ import annotations

import math
from typing import Any

from pbdp.report.statement import Caution, Rows, Statement
from pbdp.report.text import filled

Record = dict[str, Any]


def as_json(said: Statement) -> Record:
    """All that is said, as JSON has it."""
    return {
        "kind": said.kind,
        "headline": filled(said.headline, said),
        "sentences": [filled(sentence, said) for sentence in said.sentences],
        "warnings": warning_records(said),
        "facts": {fact.name: _plain(fact.value) for fact in said.facts if fact.label},
        "rows": [_rows(rows) for rows in said.rows],
        "reasons": [filled(reason, said) for reason in said.reasons],
    }


def warning_records(said: Statement) -> list[Record]:
    """What a reader must know first, each with a code that stays the same."""
    return [_warning(warning, said) for warning in said.warnings]


def _warning(warning: Caution, said: Statement) -> Record:
    return {
        "code": warning.code,
        "text": filled(warning.text, said),
        "remedy": filled(warning.remedy, said),
    }


def _rows(rows: Rows) -> Record:
    return {
        "title": rows.title,
        "columns": [column.name for column in rows.columns],
        "values": [[_plain(value) for value in row] for row in rows.values],
    }


def _plain(value: object) -> Any:
    """A figure as JSON has it, where what is unbounded or unknown is null."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, str | int):
        return value
    if isinstance(value, tuple | list):
        return [_plain(each) for each in value]
    return str(value)
