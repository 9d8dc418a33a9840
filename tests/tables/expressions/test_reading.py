"""SQL is read as what it says, all of it, or refused; the canonical text is read as itself."""

from __future__ import annotations

import subprocess
import sys

import pytest

from pbdp.errors import InputError
from pbdp.tables.expressions.reading import expression_of


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        (
            "spend > 0 and extract(month from day) = 1",
            """((number("spend") > 0.0) and (extract(month from date("day")) = 1.0))""",
        ),
        ("a or b or c and d", """(boolean("a") or boolean("b") or (boolean("c") and boolean("d")))"""),
        ("a not between 1 and 2", """(not (number("a") between 1.0 and 2.0))"""),
        ("city not in ('Paris', 'Rome')", """(not (text("city") in ('Paris', 'Rome')))"""),
        ("name like 'A!%'", """(text("name") like 'A!!%' escape '!')"""),
        ("name not like '50#%%' escape '#'", """(not (text("name") like '50!%%' escape '!'))"""),
        ("name like '##_!' escape '#'", """(text("name") like '#_!!' escape '!')"""),
        ("case a when 1 then 'x' else 'y' end = b",
         """(case when (number("a") = 1.0) then 'x' else 'y' end = text("b"))"""),
        ("case when a then null else 1 end > 2",
         """(case when boolean("a") then number(null) else 1.0 end > 2.0)"""),
        ("day - date '2024-01-01' > 3", """((date("day") - date '2024-01-01') > 3.0)"""),
        ("a - b > 3", """((number("a") - number("b")) > 3.0)"""),
        ("date_trunc('week', day) = other", """(date_trunc('week', date("day")) = date("other"))"""),
        ("week(day) in (1, 53) and hour(at) < 7",
         """((extract(week from date("day")) in (1.0, 53.0)) and (extract(hour from time("at")) < 7.0))"""),
        ("bin(a, 5) % 2 = 1", """(mod((floor((number("a") / 5.0)) * 5.0), 2.0) = 1.0)"""),
        ("lower(a) || 'x' = b", """((lower(text("a")) || 'x') = text("b"))"""),
        ("coalesce(a, 'it''s') = b", """(coalesce(text("a"), 'it''s') = text("b"))"""),
        ("least(date(a), b) < date '2024-01-01'", """(least(date("a"), date("b")) < date '2024-01-01')"""),
        ("-a < - 3 and ln(abs(ceil(-(a)))) > 0.5e1",
         """(((-number("a")) < -3.0) and (ln(abs(ceil((-number("a"))))) > 5.0))"""),
        ("a is not null and number(b) is null", """((not ("a" is null)) and (number("b") is null))"""),
        ("a > .5 and b < 5. and a in (1, 1)",
         """((number("a") > 0.5) and (number("b") < 5.0) and (number("a") in (1.0, 1.0)))"""),
        ("row = 1 and date > 2 and Format = 3",
         """((number("row") = 1.0) and (number("date") > 2.0) and (number("Format") = 3.0))"""),
        ("number(a) <= b", """(number("a") <= number("b"))"""),
        ('"a ""b" = 1', '(number("a ""b") = 1.0)'),
    ],
)  # fmt: skip
def test_what_a_text_says(text: str, meant: str) -> None:
    """A manifest holds the canonical text, and is verified from it."""
    found = expression_of("where", text, wanted="boolean")
    assert found.text == meant
    assert expression_of("where", meant, wanted="boolean") == found


@pytest.mark.parametrize(
    "text",
    [
        "0x1F = 1", "1_000 > a", "1L > a", "a b", "a as b", "a, b", "a; b", "a > 1;", "a > 1 group by all",
        "a > 1 -- and b > 1", "a /* hidden */ > 1", "/*+ hint */ a > 1", "{fn abs(a)} > 1", "select 1",
        "a in (select 1)", "exists(select 1)", "a = any(select 1)", "a in b", "a in ()", "a in (1, null)",
        "a in (1, b)", "a = null and b = 1", "a like b", "a like any ('x')", "a like '!x' escape '!'",
        "a like 'x!' escape '!'", "a like 'x' escape 'ab'", "a ilike 'x'", "a glob 'x'", "a = 'x' 'y'",
        "a = n'x'", "u&'x' = a", "a similar to 'x'", "a collate x = 'b'", "?", ":a", "@a", "*", "a.*",
        "a.b > 1", "a[1] > 1", "a > all(b)", "sum(a) > 1", "sum(a) over () > 1", "count(*) > 1",
        "rand() > 1", "abs(distinct a) > 1", "abs(a) filter (where b) > 1", "coalesce(a, 1) over () > 1",
        "floor(a to day) > 1", "round(a, 2) > 1", "least(a) > 1", "least(a, 'x') = b", "abs(a, b) > 1",
        "mod(a) > 1", "exp(a) > 1", "a::int > 1", "cast(a as date) = b", "try_cast(a as int) > 1",
        "date '2024-02-30' = a", "date '24-2-3' = a", "timestamp '2024-01-01' = a", "date(a, 'x') = b",
        "a at time zone 'x' = b", "a + interval 1 day > b", "extract(dow from a) = 1",
        "extract(week(sunday) from a) = 1", "extract(epoch from a) = 1", "week(a, 1) = 1",
        "date_trunc('week(sunday)', a) = b", "date_trunc(week(sunday), a) = b",
        "date_trunc('month', a, 'UTC') = b", "date_trunc('hour', a) = b", "datediff(day, a, b) > 1",
        "a < b", "a = b", "a > 'x'", "true < false", "time(a) = time(b)", "bin(a, b) > 1", "bin(a, 0) > 1",
        "a > 1e19", "a > 1e-30", "a > 1e999", "a is true", "a is distinct from 1", "case end",
        "if(a, 1, 2) > 1", "(a, b) = (1, 2)", "`a` > 1", "'x", '"x', "(a", "a)", "", " ", "a\0",
        "current_date > a", "a -> 'x' = 'y'", "number(a, b) > 1", "text(a) > 1", "a between 1 and 'x'",
        "coalesce(a) > 'x'", "null = null", "mod(a, 2, 3) > 1", "mod(a, 2, a) > 1", "mod(a, 2, null) > 1",
        "mod(a, 2, _b) > 1",
        "abs(all a) > 1", "cast('2024-01-01' as date(3)) = a", "cast('2024-01-01' as date) = a",
        "'2024-01-01'::date = a", '"abs"(a) > 1',
    ],
)  # fmt: skip
def test_what_is_not_in_the_language_is_refused(text: str) -> None:
    with pytest.raises(InputError) as refused:
        expression_of("where", text, wanted="boolean")
    assert "\x1b" not in str(refused.value)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("a > 1 b", "Unexpected token at 'b'"),
        ("exp(a) > 1", "got 'exp'. There are comparisons"),
        ("extract(dow from a) = 1", "isodow is 1"),
        ("a < b", r"Say number\(a\), text\(a\)"),
        ("a > '2024-01-01'", "date '2024-12-31'"),
        ("a in (1, null)", "Write x is null"),
        ("a::int = 1", "without casts"),
    ],
)
def test_a_refusal_says_what_to_do(text: str, told: str) -> None:
    with pytest.raises(InputError, match=told):
        expression_of("where", text)


@pytest.mark.parametrize(
    "text",
    [
        "(" * 500 + "a" + ")" * 500, "not " * 101 + "a", "- " * 101 + "a > 1", "abs(" * 101 + "a" + ")" * 101,
        "case when " * 101 + "a" + " then true end" * 101, "a" + " + 1" * 101 + " > 1",
        "[" * 500 + "a" + "]" * 500,
    ],
)  # fmt: skip
def test_deep_nesting_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="100 levels"):
        expression_of("where", text)


def test_what_is_within_the_limits_is_read_however_deep_the_caller_is() -> None:
    deep = "(" * 80 + "a" + ")" * 80

    def called(levels: int) -> str:
        return called(levels - 1) if levels else expression_of("where", deep, wanted="boolean").text

    usual = sys.getrecursionlimit()
    assert called(400) == 'boolean("a")'
    assert sys.getrecursionlimit() == usual
    assert len(expression_of("where", "a" + " or a" * 3000, wanted="boolean").parts) == 3001
    with pytest.raises(InputError, match="20,000 bytes"):
        expression_of("where", "a = '" + "é" * 10_000 + "'")


def test_derived_columns_that_use_each_other_do_not_outgrow_what_engines_take() -> None:
    made = {"c0": expression_of("c0", "x + 1")}
    for number in range(11):
        made[f"c{number + 1}"] = expression_of("c", f"c{number} - c{number}", made)
    with pytest.raises(InputError, match="10,000 parts"):
        expression_of("c", "c11 - c11", made)


def test_sqlglot_is_not_imported_before_an_expression_is_read() -> None:
    script = (
        "import sys, pbdp.tables.query, pbdp.tables.engines.sql\n"
        "from pbdp.tables.expressions.reading import expression_of\n"
        "assert 'sqlglot' not in sys.modules\n"
        "expression_of('where', 'a > 1')\n"
        "sys.modules['sqlglot'] = None\n"
        "try: expression_of('where', 'a > 1')\n"
        "except ImportError as error: print(error)\n"
    )
    told = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert "pbdp[tables]" in told
