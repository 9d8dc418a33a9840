"""What surveys found, in words: reports that were made, estimates from them, and which were left out."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from pbdp.digits import outward, percent_down, rounded_up
from pbdp.local import Distribution, Estimate
from pbdp.report.text import columns, facts, warning_text
from pbdp.report.warnings import insecure
from pbdp.report.words.surveys import confidence_words

if TYPE_CHECKING:
    from pbdp.local import LocalMechanism


# ------------------------------------------------------------------------------------------ reports


def report_notes(mechanism: LocalMechanism, seed: int | None) -> tuple[str, ...]:
    """What a report costs, and the warning of a test seed."""
    cost = (
        f"Survey {mechanism.fingerprint}: a report costs its person epsilon {rounded_up(mechanism.epsilon)}."
    )
    said = (cost, mechanism.risk_words())
    return said if seed is None else (*said, warning_text(insecure(seed, "collect")))


# ------------------------------------------------------------------------------------------ estimates


def estimate_words(
    mechanism: LocalMechanism, found: Estimate | Distribution, *, of: str, joint: bool, read: Any
) -> str:
    """A short head and the table, with intervals rounded outwards."""
    sure = confidence_words(found.confidence, joint=joint, method=found.method)
    refused = sum(read.counts.refused.values())
    lines = [
        ("Survey", f"{mechanism.fingerprint}, {mechanism.name}, epsilon {rounded_up(mechanism.epsilon)}"),
        ("Reports", f"{found.users:,} used, {refused:,} refused"),
    ]
    if read.asked is not None:
        answered = percent_down(found.users / read.asked)
        missing = read.asked - found.users
        lines.append(
            (
                "Asked",
                f"{read.asked:,} people, {answered} reported; "
                f"nothing is estimated about the other {missing:,}",
            )
        )
    lines.append(("Intervals", f"hold the truth {sure}"))
    if isinstance(found, Estimate):
        if found.biased:
            lines.append(
                ("Estimates", "projected to a valid histogram: BIASED; intervals are of the unbiased ones")
            )
        rows = _mean_rows(found) if found.kind == "mean" else _people_rows(found)
    else:
        lines.append(("Estimates", _shape_words(found)))
        rows = _quantile_rows(found) if of == "quantile" else _curve_rows(found)
    return f"{facts(lines)}\n\n{columns(rows, right=tuple(range(1, len(rows[0]))))}"


def _shape_words(found: Distribution) -> str:
    how = "smoothed (EM): BIASED at peaks and edges" if found.smoothed else "cut at zero: BIASED"
    return f"{how}; intervals are of the unbiased curve; mean {rounded_up(found.mean)}"


def _people_rows(found: Estimate) -> list[list[str]]:
    rows = [[found.kind, "estimate", "low", "high", "share"]]
    rows += [
        [
            str(name),
            f"{round(people):,}",
            f"{math.floor(low):,}",
            f"{math.ceil(high):,}",
            f"{100 * share:z.2f} %",
        ]
        for name, people, low, high, share in zip(
            found.names,
            found.people.tolist(),
            found.low.tolist(),
            found.high.tolist(),
            found.share.tolist(),
            strict=True,
        )
    ]
    return rows


def _mean_rows(found: Estimate) -> list[list[str]]:
    low, high = outward(float(found.low[0] / found.users), float(found.high[0] / found.users))
    return [["", "estimate", "low", "high"], ["mean", f"{found.share[0]:.6g}", low, high]]


def _quantile_rows(found: Distribution) -> list[list[str]]:
    rows = [["people below", "value", "low", "high"]]
    return rows + [
        [percent_down(level), str(value), str(low), str(high)]
        for level, value, low, high in found.quantiles()
    ]


def _curve_rows(found: Distribution) -> list[list[str]]:
    rows = [["value", "share", "up to it", "low", "high"]]
    columns_of = (found.share, found.cumulative, found.low, found.high)
    return rows + [
        [str(name), *(f"{100 * figure:.2f} %" for figure in figures)]
        for name, *figures in zip(found.names, *(column.tolist() for column in columns_of), strict=True)
    ]


def estimate_notes(found: Estimate | Distribution, read: Any) -> tuple[str, ...]:
    """What was refused in which file, what is alarming, and the mark of a test seed."""
    said = []
    for file in read.files:
        refused = file.counts.refused_reports
        if refused:
            sent = refused + file.counts.users
            reasons = ", ".join(f"{count:,} {why}" for why, count in file.counts.refused.items())
            said.append(f"{file.name}: refused {refused:,} of {sent:,} reports: {reasons}")
        if not file.said:
            said.append(f"{file.name}: has no column `survey`, so reports of another survey cannot be told")
    said += [f"ALARM: {alarm.words} (p at most {rounded_up(alarm.p_value, 2)})" for alarm in read.alarms]
    if isinstance(found, Estimate) and found.biased:
        said.append("The estimates are biased: they were projected to a valid histogram.")
    if found.insecure_test:
        said.append("INSECURE: some reports were drawn from a test seed; they protect nothing.")
    return tuple(said)
