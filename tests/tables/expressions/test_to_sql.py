"""The SQL of an expression grows as the expression does, on every engine."""

from __future__ import annotations

import pytest

from pbdp.tables.engines.dialects import DUCKDB, POSTGRES, SPARK, Dialect
from pbdp.tables.expressions.reading import expression_of
from pbdp.tables.expressions.to_sql import SqlWriter

NESTED = {
    "round(a / {})": 18, "bin({}, 5)": 30, "mod(a, {})": 40, "mod({}, a)": 40, "ln({})": 40, "a / ({})": 15,
    "case when {} between 1 and 2 then a else b end": 30, "least({}, a)": 40, "floor({} * 1)": 30,
}  # fmt: skip


@pytest.mark.parametrize("dialect", [DUCKDB, POSTGRES, SPARK], ids=lambda one: str(one.engine))
@pytest.mark.parametrize("form", NESTED)
def test_sql_grows_linearly(dialect: Dialect, form: str) -> None:
    def size(levels: int) -> int:
        text = "c"
        for _ in range(levels):
            text = form.format(text)
        writer = SqlWriter(dialect=dialect, kinds=dict.fromkeys("abc", "number"), column=str, doubles={})
        return len(writer.written(expression_of("it", text, wanted="number")))

    most = NESTED[form]
    assert size(most) - size(most // 2) <= 3 * (most - most // 2) * (size(3) - size(2))
