"""Functions of expressions: what they are of and give is said once, and their text is read again."""

from __future__ import annotations

import pytest

from pbdp.errors import InputError
from pbdp.tables.expressions import reading
from pbdp.tables.expressions.reading import expression_of


@pytest.mark.parametrize(
    "text",
    [
        "min(date(a), b) < 2024-01-01",
        "max(a, 2024-01-01) == b",
        "min(a, b, 3) < 4",
        "if(max(date(a), b) > 2024-01-01, 1, 2)",
        "coalesce(min(date(a), b), 2024-02-02)",
        'coalesce(a, "none")',
        "weekday(a) in [6, 7] and hour(b) < 7",
        "bin(abs(a), 5) - floor(b) * round(c)",
        'case when year(a) == 2024 then "now" else b end',
    ],
)
def test_the_text_of_an_expression_is_read_as_the_same(text: str) -> None:
    """A manifest holds it with all types said, and is verified from it."""
    found = expression_of("where", text)
    assert expression_of("where", found.text) == found


def test_the_type_of_a_function_is_what_it_gives(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that gives a text is compared with a text, whatever it is of."""
    named = reading._Function(of=("date", "number"), gives="text")
    monkeypatch.setitem(reading._FUNCTIONS, "named", named)
    found = expression_of("where", "named(a, b) == c")
    assert found.text == "(named(date(`a`), number(`b`)) == text(`c`))"
    with pytest.raises(
        InputError, match=r"functions among .*, bin, named, min, max, coalesce, if.*named of 1"
    ):
        expression_of("where", 'named(a) == "x"')
    with pytest.raises(InputError, match="number where that is needed; got text"):
        expression_of("where", "named(a, b) + 1")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("exp(a) > 1", "exp of 1"),
        ("exp(a) > b", "exp of 1"),
        ("min(a) > 1", "min of 1"),
        ("greatest(a) > 1", "max of 1"),
        ('max(a, "x") == b', "numbers or dates in max; got text"),
        ("hour(a, b) > 1", "hour of 2"),
    ],
)
def test_functions_that_there_are_not_are_refused(text: str, told: str) -> None:
    with pytest.raises(InputError, match=told):
        expression_of("where", text)
