"""Estimates as a table for files, as an object, and in words; and what was left out, a line a file."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from pbdp.cli.output.table import Table
from pbdp.cli.text import columns, percent, rounded_up
from pbdp.local.estimate import GUARANTEED, Estimate

if TYPE_CHECKING:
    from pbdp.cli.local.collected import Collected
    from pbdp.local.mechanism import LocalMechanism


def estimate_table(found: Estimate) -> Table:
    """One row for each value or category; what is biased or from a test seed has a column that says so."""
    names = list(found.names)
    whole = isinstance(names[0], int)
    table: Table = {
        found.kind: np.array(names, dtype=np.int64) if whole else names,
        "estimate": found.people,
        "low": found.low,
        "high": found.high,
        "share": found.share,
    }
    marks = {"biased": found.biased, "insecure_test": found.insecure_test}
    return table | {name: ["true"] * len(names) for name, true in marks.items() if true}


def estimate_record(
    mechanism: LocalMechanism, found: Estimate, files: Sequence[Collected], *, joint: bool
) -> str:
    """One JSON object on the whole estimate."""
    rows = zip(found.names, found.people, found.low, found.high, found.share, strict=True)
    record: dict[str, Any] = {
        "survey": mechanism.fingerprint,
        "mechanism": mechanism.kind,
        "epsilon": mechanism.epsilon,
        "of": found.kind,
        "confidence": found.confidence,
        "joint": joint,
        "method": found.method,
        "biased": found.biased,
        "insecure_test": found.insecure_test,
        "users": found.users,
        "refused": dict(found.refused),
        "files": [
            {
                "name": file.name,
                "users": file.counts.users,
                "refused": dict(file.counts.refused),
                "survey_stated": file.said,
            }
            for file in files
        ],
        "estimates": [
            {
                found.kind: name,
                "estimate": float(people),
                "low": float(low),
                "high": float(high),
                "share": float(share),
            }
            for name, people, low, high, share in rows
        ],
    }
    return json.dumps(record, allow_nan=False)


def estimate_words(mechanism: LocalMechanism, found: Estimate, *, joint: bool) -> str:
    """A short head and the table, with intervals rounded outwards."""
    held = "all together" if joint else "each"
    proved = "proved for any number of people" if found.method == GUARANTEED else "by the normal law"
    lines = [
        ("Survey", f"{mechanism.fingerprint}, {mechanism.kind}, epsilon {rounded_up(mechanism.epsilon)}"),
        ("Reports", f"{found.users:,} used, {sum(found.refused.values()):,} refused"),
        ("Intervals", f"hold the truth with confidence {percent(found.confidence)} ({held}; {proved})"),
    ]
    if found.biased:
        lines.append(
            ("Estimates", "projected to a valid histogram: BIASED; intervals are of the unbiased ones")
        )
    rows = [[found.kind, "estimate", "low", "high", "share"]]
    rows += [
        [str(name), f"{people:,.0f}", f"{math.floor(low):,}", f"{math.ceil(high):,}", f"{100 * share:.2f} %"]
        for name, people, low, high, share in zip(
            found.names,
            found.people.tolist(),
            found.low.tolist(),
            found.high.tolist(),
            found.share.tolist(),
            strict=True,
        )
    ]
    table = columns(rows, right=(1, 2, 3, 4))
    return "\n".join([*(f"{name:<12} {value}" for name, value in lines), "", table])


def notes(found: Estimate, files: Sequence[Collected]) -> tuple[str, ...]:
    """What was refused in which file, files that do not say their survey, and the mark of a test seed."""
    said = []
    for file in files:
        refused = file.counts.refused_reports
        if refused:
            sent = refused + file.counts.users
            said.append(
                f"{file.name}: refused {refused:,} of {sent:,} reports: {_reasons(file.counts.refused)}"
            )
        if not file.said:
            said.append(f"{file.name}: has no column `survey`, so reports of another survey cannot be told")
    if found.biased:
        said.append("The estimates are biased: they were projected to a valid histogram.")
    if found.insecure_test:
        said.append("INSECURE: some reports were drawn from a test seed; they protect nothing.")
    return tuple(said)


def _reasons(refused: Mapping[str, int]) -> str:
    return ", ".join(f"{count:,} {why}" for why, count in refused.items())
