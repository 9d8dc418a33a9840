"""The values of a survey and their categories, as the options of `pbdp local plan` state them."""

from __future__ import annotations

import argparse

from pbdp.cli.files import text_in
from pbdp.cli.values import whole_numbers, whole_range
from pbdp.columns.files import TextRows
from pbdp.errors import ContradictionError, InputError
from pbdp.local.domain import (
    LARGEST_DOMAIN,
    CategoryDomain,
    Domain,
    Value,
    in_blocks,
    in_categories,
    on_scale,
    without_categories,
)

HEADER = ("value", "category")


def domain_of(options: argparse.Namespace) -> Domain:
    """The domain that the options state."""
    ways = ("category_size", "categories", "scale_width")
    given = [f"--{way.replace('_', '-')}" for way in ways if getattr(options, way) is not None]
    if len(given) > 1:
        raise ContradictionError("categories", "stated in one way", " and ".join(given))
    if options.ring and options.scale_width is None:
        raise ContradictionError("--ring", "used with --scale-width", "no --scale-width")
    values = _values(options)
    if options.categories is not None:
        return _from_table(options.categories, values, options.text)
    if values is None:
        raise ContradictionError(
            "values",
            "stated with --values, --values-file or --categories",
            "none",
            "Such as --values 10..100.",
        )
    if options.category_size is not None:
        return in_blocks(values, options.category_size)
    if options.scale_width is not None:
        return on_scale(values, options.scale_width, ring=options.ring)
    return without_categories(values)


def _values(options: argparse.Namespace) -> list[Value] | None:
    if options.values is not None and options.values_file is not None:
        raise ContradictionError("values", "stated in one way", "--values and --values-file")
    if options.values_file is not None:
        lines = [line.strip() for line in text_in("--values-file", options.values_file).splitlines()]
        while lines and not lines[-1]:
            lines.pop()
        return _typed(lines, "--values-file", options.text)
    if options.values is None:
        return None
    if (numbers := whole_range("--values", options.values, LARGEST_DOMAIN)) is not None:
        return [str(number) for number in numbers] if options.text else list(numbers)
    return _typed([part.strip() for part in options.values.split(",")], "--values", options.text)


def _typed(texts: list[str], option: str, text: bool) -> list[Value]:
    """Whole numbers if all of them are, else text; an empty one could not be told from a missing answer."""
    if "" in texts:
        raise InputError(
            option, "values that are not empty", f"an empty one at place {texts.index('') + 1:,}"
        )
    if not all(each.isprintable() for each in texts):
        raise InputError(option, "values of printable characters", "others")
    numbers = None if text else whole_numbers(texts)
    return list(texts) if numbers is None else list(numbers)


def _from_table(name: str, listed: list[Value] | None, text: bool) -> CategoryDomain:
    """Categories in the order in which the file first names them."""
    read = TextRows.of(text_in("--categories", name).splitlines(), "--categories").read()
    rows = [tuple(map(str.strip, row)) for row in read if row]
    if rows and rows[0] == HEADER:
        rows = rows[1:]
    for place, row in enumerate(rows, start=1):
        if len(row) != len(HEADER) or not row[1]:
            raise InputError(f"row {place:,} of --categories", "value,category", "something else")
    values = _typed([row[0] for row in rows], "--categories", text)
    parts: dict[str, list[Value]] = {}
    for value, (_, category) in zip(values, rows, strict=True):
        parts.setdefault(category, []).append(value)
    if listed is not None and set(values) != set(listed):
        raise ContradictionError(
            "--categories",
            "a line for each of the values that are stated, and no others",
            f"{len(set(listed) - set(values)):,} missing and {len(set(values) - set(listed)):,} others",
        )
    return in_categories(parts)
