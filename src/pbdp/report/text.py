"""Statements as plain text, and figures as digits: cut in the safe direction, here and nowhere else."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable, Sequence

from pbdp.digits import (
    delta_text,
    loss_text,
    order_text,
    outward,
    percent_down,
    percent_up,
    plain,
    rounded_down,
    rounded_up,
)
from pbdp.report.statement import Caution, Fact, Rows, Statement

WIDTH = 100
_LABEL = 12


def as_text(said: Statement, *, explain: bool = False) -> str:
    """The headline, its sentences, rows and warnings; with details, facts and reasons too."""
    blocks = ["\n".join(map(paragraph, lines_of(said)))]
    if explain:
        blocks.append(facts((fact.label, shown(fact)) for fact in said.facts if fact.label))
    blocks += [rows_text(rows) for rows in said.rows if explain or not rows.detail]
    if explain and said.reasons:
        reasons = (bullet(filled(reason, said)) for reason in said.reasons)
        blocks.append("\n".join(["Why:", *reasons]))
    return "\n\n".join(block for block in blocks if block)


def lines_of(said: Statement) -> list[str]:
    """The headline, the sentences and the warnings, each a line of any length."""
    sentences = [filled(sentence, said) for sentence in (said.headline, *said.sentences)]
    return sentences + [warning_text(warning, said) for warning in said.warnings]


def filled(template: str, said: Statement | None = None) -> str:
    """A sentence with the figures of its statement."""
    known = () if said is None else said.facts
    return template.format_map({fact.name: _named(fact) for fact in known})


def warning_text(warning: Caution, said: Statement | None = None) -> str:
    """A warning in one line, with what to do."""
    text = f"{filled(warning.text, said)} {filled(warning.remedy, said)}".rstrip()
    return f"{warning.code.replace('_', ' ').upper()}: {text}"


def shown(fact: Fact) -> str:
    """The value of a fact in digits, with its note."""
    return f"{_named(fact)} ({fact.note})" if fact.note else _named(fact)


def _named(fact: Fact) -> str:
    return f"{fact.before} {figure(fact.value, fact)}".lstrip()


def figure(value: object, how: Fact) -> str:
    """A value in digits: four of them, cut in the direction that is safe for it."""
    match value:
        case None:
            return "-"
        case bool():
            return "yes" if value else "no"
        case str():
            return value
        case int() if how.unit != "%":
            return f"{value:,}"
        case float() | int():
            return _digits(float(value), how)
        case (float() | int() as low, float() | int() as high) if how.unit == "interval":
            return " to ".join(outward(float(low), float(high)))
        case _ if isinstance(value, Iterable):
            return ", ".join(figure(each, how) for each in value)
    return str(value)


def _digits(value: float, how: Fact) -> str:
    if math.isnan(value):
        return "-"
    if how.unit == "%":
        return percent_down(value) if how.safe == "down" else percent_up(value)
    if how.unit == "delta":
        return delta_text(value)
    if how.unit == "order":
        return order_text(value)
    if how.safe == "nearest":
        return plain(value)
    if math.isinf(value):
        return "unbounded"
    if how.name == "epsilon":
        return loss_text(value)
    return rounded_up(value) if how.safe == "up" else rounded_down(value)


# ------------------------------------------------------------------------------------------------ layout


def rows_text(rows: Rows) -> str:
    """A small table with aligned columns; figures to the right."""
    heads = [column.label for column in rows.columns]
    cells = [[figure(v, how) for v, how in zip(row, rows.columns, strict=True)] for row in rows.values]
    right = [
        place
        for place in range(len(heads))
        if any(isinstance(row[place], int | float) for row in rows.values)
    ]
    table = columns([heads, *cells] if any(heads) else cells, right=right)
    return f"{rows.title}\n{table}" if rows.title else table


def columns(rows: Sequence[Sequence[str]], right: Sequence[int] = ()) -> str:
    """Rows with aligned columns; those listed in `right` are aligned to the right."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = []
    for row in rows:
        cells = [
            cell.rjust(w) if i in right else cell.ljust(w)
            for i, (cell, w) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


def facts(lines: Iterable[tuple[str, str]]) -> str:
    """Each fact behind its name, in lines that fit a terminal."""
    return "\n".join(
        textwrap.fill(
            words,
            WIDTH,
            initial_indent=f"{name:<{_LABEL}} ",
            subsequent_indent=" " * (_LABEL + 1),
            break_on_hyphens=False,
            break_long_words=False,
        )
        for name, words in lines
    )


def paragraph(text: str) -> str:
    """A long text in lines that fit a terminal."""
    return textwrap.fill(text, WIDTH, break_long_words=False, break_on_hyphens=False)


def bullet(text: str) -> str:
    """A sentence of several, in lines that fit a terminal."""
    return textwrap.indent(textwrap.fill(text, WIDTH - 2, break_on_hyphens=False), "  ")


def bar(share: float, most: float, width: int = 40) -> str:
    """A bar of at most `width` characters for a share of the largest one."""
    return "#" * round(width * share / most) if most > 0 else ""
