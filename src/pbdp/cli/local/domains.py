"""What people may answer, as options of the command line state it: values, and which of them belong
together.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from pbdp.cli.files import text_in
from pbdp.cli.parser import Parser, whole
from pbdp.errors import ContradictionError, InputError, shown
from pbdp.tables.written_keys import DASHED, whole_numbers, whole_range

if TYPE_CHECKING:
    from pbdp.local import Domain
    from pbdp.local.domain import CategoryDomain, Value
    from pbdp.noise.kernel import Array

# The first row of a file of categories, if it has names.
HEADER = ("value", "category")
# Of a file of what is expected.
EXPECTED = ("value", "people")
# Options that state a domain.
OPTIONS = ("values", "values_file", "text", "category_size", "categories", "scale_width", "ring")


def declare_domain(parser: Parser) -> None:
    """The options that state what people may answer."""
    values = parser.add_argument_group("what people may answer")
    values.add_argument(
        "--values", metavar="LIST", help="10..100 for whole numbers in a row, or a,b,c for a list"
    )
    values.add_argument("--values-file", metavar="FILE", help="or a file of values, one per line")
    values.add_argument(
        "--text", action="store_true", help="values are text even if they look like whole numbers"
    )
    near = parser.add_argument_group("which answers belong together (leave out if none do)")
    near.add_argument(
        "--category-size",
        type=whole,
        metavar="N",
        help="categories of N values in a row; the last has the rest",
    )
    near.add_argument(
        "--categories", metavar="FILE", help="or a CSV file with a line value,category for each value"
    )
    near.add_argument(
        "--scale-width",
        type=whole,
        metavar="W",
        help="or a rating scale: W values (odd) are near each value, itself in the middle",
    )
    near.add_argument("--ring", action="store_true", help="the last value of the scale is next to the first")


def domain_of(options: argparse.Namespace) -> Domain:
    """The domain that the options state."""
    from pbdp.local import in_blocks, on_scale, without_categories

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
    """The values that are listed; None if there is no list."""
    from pbdp.local.domain import LARGEST_DOMAIN

    if options.values is not None and options.values_file is not None:
        raise ContradictionError("values", "stated in one way", "--values and --values-file")
    if options.values_file is not None:
        lines = [line.strip() for line in text_in("--values-file", options.values_file).splitlines()]
        while lines and not lines[-1]:
            lines.pop()
        return _typed(lines, "--values-file", options.text)
    if options.values is None:
        return None
    if isinstance(options.values, list):
        return _typed([str(value).strip() for value in options.values], "values", options.text)
    if (numbers := whole_range("--values", options.values, LARGEST_DOMAIN)) is not None:
        return [str(number) for number in numbers] if options.text else list(numbers)
    if dashed := DASHED.fullmatch(options.values):
        how = f"Write {dashed[1]}..{dashed[2]} for all whole numbers from {dashed[1]} to {dashed[2]}."
        raise InputError("--values", "a list, or a range with two dots", shown(options.values), how)
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
    from pbdp.local import in_categories

    rows = _rows("--categories", name, HEADER)
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


def expected_in(path: str, domain: Domain) -> Array:
    """How many people are expected to hold each value, from a file with a line value,people for each."""
    import numpy as np

    from pbdp.local.value_codes import Lookup

    rows = _rows("--expected", path, EXPECTED)
    values = _typed([row[0] for row in rows], "--expected", text=isinstance(domain.values[0], str))
    codes = Lookup(values=domain.values).codes(np.array(values, dtype=object))
    if len(codes) and int(codes.min()) < 0:
        place = int(np.argmin(codes)) + 1
        raise InputError(f"row {place:,} of --expected", "a value of the survey and its people", "another")
    try:
        people = np.array([float(row[1]) for row in rows])
    except ValueError:
        raise InputError(
            "--expected", "lines with a value and a number of people", "something else"
        ) from None
    made = np.zeros(domain.count)
    np.add.at(made, codes, people)
    return made


def _rows(what: str, name: str, header: tuple[str, str]) -> list[tuple[str, str]]:
    """Rows of two cells, without their header."""
    from pbdp.columns.files import TextRows

    read = TextRows.of(text_in(what, name).splitlines(), what).read()
    rows = [tuple(map(str.strip, row)) for row in read if row]
    if rows and rows[0] == header:
        rows = rows[1:]
    found = []
    for place, row in enumerate(rows, start=1):
        if len(row) != len(header) or not row[1]:
            raise InputError(f"row {place:,} of {what}", ",".join(header), "something else")
        found.append((row[0], row[1]))
    return found
