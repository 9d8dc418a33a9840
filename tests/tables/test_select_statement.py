"""A SELECT is the query that is written by hand, or is refused at its place with what to write instead."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import pbdp
from pbdp.cli.main import main
from pbdp.tables import Count, Mean, Median, People, Quantile, Query, Sum
from pbdp.tables.query_record import query_text

CITIES = {"city": ["Paris", "Rome"]}
MONTHS = {"month": ["2024-01-01", "2024-02-01"]}
SHARE: dict[str, Any] = {"within": "1%", "at_least": 900}
PLACED: dict[str, Any] = {"unit": "who", "groups_per_person": 2, "rows_per_group": 3, "delta": 1e-6}

# Questions: the text, what stands beside it, and the same by hand.
ASKED: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "rows": ("SELECT COUNT(*) FROM t", {"within": {"count": 50}}, {"measures": [Count(within=50)]}),
    "a name": (
        "SELECT COUNT(*) AS visits FROM t",
        {"within": {"visits": 50}},
        {"measures": [Count(within=50, name="visits")]},
    ),
    "by a column": (
        "SELECT city, COUNT(*) FROM t GROUP BY city",
        {"within": {"count": 50}, "keys": CITIES},
        {"by": CITIES, "measures": [Count(within=50)]},
    ),
    "a semicolon and comments": (
        "-- visits\nselect city, count(*) /* all */ from t group by city;\n",
        {"within": {"count": 50}, "keys": CITIES},
        {"by": CITIES, "measures": [Count(within=50)]},
    ),
    "by two": (
        "SELECT city, n, COUNT(*) FROM t GROUP BY n, city",
        {"within": {"count": 50}, "keys": CITIES | {"n": [1, 2]}},
        {"by": {"n": [1, 2], **CITIES}, "measures": [Count(within=50)]},
    ),
    "keys that are not selected": (
        "SELECT COUNT(*) FROM t GROUP BY city",
        {"within": {"count": 50}, "keys": CITIES},
        {"by": CITIES, "measures": [Count(within=50)]},
    ),
    "people": (
        "SELECT COUNT(DISTINCT who) FROM t",
        {"within": {"people": 20}},
        {"measures": [People(within=20)]},
    ),
    "a percentage": (
        "SELECT COUNT(*) FROM t",
        {"within": {"count": "5%+20"}},
        {"measures": [Count(within="5%+20")]},
    ),
    "rows with a value": (
        "SELECT COUNT(x), AVG(x) FROM t",
        {"bounds": {"x": (0, 9)}, "within": {"count_x": 50, "mean_x": 1}, "at_least": {"mean_x": 500}},
        {
            "measures": [
                Count(column="x", within=50), Mean(column="x", low=0, high=9, within=1, at_least=500)
            ]
        },
    ),
    "a sum": (
        "SELECT SUM(x) AS total FROM t",
        {"bounds": {"x": [0, 100]}, "within": {"total": 500}},
        {"measures": [Sum(column="x", low=0, high=100, within=500, name="total")]},
    ),
    "a mean": (
        "SELECT AVG(x) FROM t",
        {"bounds": {"x": (0, 9)}, "within": {"mean_x": 1}, "at_least": {"mean_x": 500}},
        {"measures": [Mean(column="x", low=0, high=9, within=1, at_least=500)]},
    ),
    "a median": (
        "SELECT MEDIAN(x) FROM t",
        {"bounds": {"x": (0, 9)}, "step": {"x": 1}, "within": {"median_x": 50}},
        {"measures": [Median(column="x", low=0, high=9, step=1, within=50)]},
    ),
    "a quantile": (
        "SELECT PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY x) AS p90 FROM t",
        {"bounds": {"x": (0, 9)}, "step": {"x": 1}, "within": {"p90": "1%"}, "at_least": {"p90": 900}},
        {"measures": [Quantile(column="x", low=0, high=9, step=1, q=0.9, name="p90", **SHARE)]},
    ),
    "a condition": (
        "SELECT COUNT(*) FROM t WHERE x > 0 AND city <> 'Test'",
        {"within": {"count": 50}},
        {"where": "x > 0 and city <> 'Test'", "measures": [Count(within=50)]},
    ),
    "dates in a condition": (
        "SELECT COUNT(*) FROM t WHERE extract(isodow FROM day) IN (6, 7)",
        {"within": {"count": 50}},
        {"where": "extract(isodow from day) in (6, 7)", "measures": [Count(within=50)]},
    ),
    "a column that is made": (
        "SELECT date_trunc('month', day) AS month, COUNT(*) FROM t GROUP BY month",
        {"within": {"count": 50}, "keys": MONTHS},
        {"derive": {"month": "date_trunc('month', day)"}, "by": MONTHS, "measures": [Count(within=50)]},
    ),
    "grouped by what is selected": (
        "SELECT date_trunc('month', day) AS month, COUNT(*) FROM t GROUP BY date_trunc('month', day)",
        {"within": {"count": 50}, "keys": MONTHS},
        {"derive": {"month": "date_trunc('month', day)"}, "by": MONTHS, "measures": [Count(within=50)]},
    ),
    "bins": (
        "SELECT bin(x, 5) AS fare, COUNT(*) FROM t GROUP BY fare",
        {"within": {"count": 50}, "keys": {"fare": [0, 5, 10]}},
        {"derive": {"fare": "bin(x, 5)"}, "by": {"fare": [0, 5, 10]}, "measures": [Count(within=50)]},
    ),
    "a sum of an expression": (
        "SELECT SUM(fare + tip) AS paid FROM t",
        {"bounds": {"paid": (0, 90)}, "within": {"paid": 500}},
        {
            "derive": {"paid_of_row": "fare + tip"},
            "measures": [Sum(column="paid_of_row", low=0, high=90, within=500, name="paid")],
        },
    ),
    "one expression twice": (
        "SELECT SUM(fare / miles) AS a, AVG(fare / miles) AS b FROM t",
        {"bounds": {"a": (0, 9), "b": (0, 9)}, "within": {"a": 500, "b": 1}, "at_least": {"b": 500}},
        {
            "derive": {"a_of_row": "fare / miles"},
            "measures": [
                Sum(column="a_of_row", low=0, high=9, within=500, name="a"),
                Mean(column="a_of_row", low=0, high=9, within=1, at_least=500, name="b"),
            ],
        },
    ),
    "rows of a case": (
        "SELECT SUM(CASE WHEN x > 3 THEN 1 ELSE 0 END) AS far FROM t",
        {"bounds": {"far": (0, 1)}, "within": {"far": 50}},
        {
            "derive": {"far_of_row": "case when x > 3 then 1 else 0 end"},
            "measures": [Sum(column="far_of_row", low=0, high=1, within=50, name="far")],
        },
    ),
    "tables that add up": (
        "SELECT city, n, COUNT(*) FROM t GROUP BY ROLLUP (city, n)",
        {"within": {"count": 50}, "keys": CITIES | {"n": [1, 2]}},
        {
            "by": CITIES | {"n": [1, 2]},
            "tables": [["city", "n"], ["city"], []],
            "measures": [Count(within=50)],
        },
    ),
    "some tables": (
        "SELECT city, n, COUNT(*) FROM t GROUP BY GROUPING SETS ((city, n), n, ())",
        {"within": {"count": 50}, "keys": CITIES | {"n": [1, 2]}},
        {"by": CITIES | {"n": [1, 2]}, "tables": [["city", "n"], ["n"], []], "measures": [Count(within=50)]},
    ),
    "an epsilon": (
        "SELECT COUNT(*), SUM(x) FROM t",
        {"bounds": {"x": (0, 9)}, "epsilon": 1},
        {"measures": [Count(), Sum(column="x", low=0, high=9)], "epsilon": 1},
    ),
    "other settings": (
        "SELECT city, COUNT(*) AS visits FROM t GROUP BY city",
        {"within": {"visits": 50}, "keys": CITIES, "top": 1, "confidence": 0.9},
        {"by": CITIES, "measures": [Count(within=50, name="visits")], "top": 1, "confidence": 0.9},
    ),
    "names in quotes": (
        'SELECT "the city", COUNT(*) FROM "my visits" GROUP BY "the city"',
        {"within": {"count": 50}, "keys": {"the city": ["Paris"]}},
        {"by": {"the city": ["Paris"]}, "measures": [Count(within=50)]},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", ASKED)
def test_a_select_is_the_query_that_is_written_by_hand(name: str) -> None:
    text, beside, settings = ASKED[name]
    assert query_text(Query.sql(text, **PLACED, **beside)) == query_text(Query(**PLACED, **settings))


# Texts that are refused, and what the sentence says.
REFUSED: dict[str, str] = {
    "": "one SELECT",
    "   ": "one SELECT",
    "SELEC COUNT(*) FROM t": "one SELECT",
    "SELECT COUNT(*)": "FROM a table",
    "SELECT FROM t": "one SELECT|measure",
    "SELECT * FROM t": "Name the columns and the measures",
    "SELECT city FROM t GROUP BY city": "at least one measure",
    "SELECT city, COUNT(*) FROM t": "Group by city",
    "SELECT n, COUNT(*) FROM t GROUP BY city": "Group by n",
    "SELECT city AS place, COUNT(*) FROM t GROUP BY city": "keep their names",
    "SELECT COUNT(*) FROM t GROUP BY 1": "Give it a name",
    "SELECT COUNT(*) FROM t GROUP BY ALL": "Name the columns after GROUP BY",
    "SELECT COUNT(*) FROM t GROUP BY lower(city)": "Give it a name in SELECT",
    "SELECT city, n, COUNT(*) FROM t GROUP BY CUBE (city, n)": "GROUPING SETS",
    "SELECT city, n, COUNT(*) FROM t GROUP BY city, ROLLUP (n)": "nothing beside it",
    "SELECT city, COUNT(*) FROM t GROUP BY city WITH ROLLUP": "rollup|ROLLUP",
    "SELECT COUNT(*) FROM t JOIN u USING (who)": "Join the tables before",
    "SELECT COUNT(*) FROM t LEFT JOIN u ON t.a = u.a": "Join the tables before",
    "SELECT COUNT(*) FROM t, u": "Join the tables before",
    "SELECT COUNT(*) FROM t CROSS JOIN u": "Join the tables before",
    "SELECT COUNT(*) FROM t NATURAL JOIN u": "Join the tables before",
    "SELECT COUNT(*) FROM t v": "alias",
    "SELECT t.city, COUNT(*) FROM t GROUP BY t.city": "without it",
    "SELECT COUNT(t.x) FROM t": "without it",
    "SELECT AVG(t.x) AS m FROM t": "without it",
    "SELECT COUNT(*) FROM (SELECT * FROM t)": "a view of the database",
    "WITH u AS (SELECT 1) SELECT COUNT(*) FROM u": "a view of the database",
    "SELECT COUNT(*) FROM t WHERE x > (SELECT 1)": "made of what expressions have",
    "SELECT COUNT(*) FROM t WHERE x IN (SELECT 1)": "made of what expressions have|list of values",
    "SELECT COUNT(*) FROM t WHERE EXISTS (SELECT 1)": "made of what expressions have",
    "SELECT COUNT(*) FROM t WHERE COUNT(*) > 1": "made of what expressions have",
    "SELECT COUNT(*) FROM t WHERE x > random()": "made of what expressions have",
    "SELECT COUNT(*) FROM t WHERE x::int > 1": "without casts",
    "SELECT COUNT(*) FROM t WHERE x SIMILAR TO 'a'": "made of what expressions have",
    "SELECT COUNT(*) FROM t WHERE x ~ 'a'": "one SELECT",
    "SELECT COUNT(*) FROM t HAVING COUNT(*) > 5": "see select and top",
    "SELECT city, COUNT(*) FROM t GROUP BY city HAVING COUNT(*) > 5": "see select and top",
    "SELECT city, COUNT(*) FROM t GROUP BY city ORDER BY city": "sort what is published",
    "SELECT city, COUNT(*) FROM t GROUP BY city LIMIT 10": "top=10",
    "SELECT city, COUNT(*) FROM t GROUP BY city OFFSET 10": "offset",
    "SELECT city, COUNT(*) FROM t GROUP BY city FETCH FIRST 5 ROWS ONLY": "top=10",
    "SELECT TOP 5 COUNT(*) FROM t": "one SELECT",
    "SELECT DISTINCT city, COUNT(*) FROM t GROUP BY city": "For people",
    "SELECT DISTINCT ON (city) city, COUNT(*) FROM t GROUP BY city": "For people",
    "SELECT COUNT(*) FROM t QUALIFY 1 = 1": "by hand",
    "SELECT COUNT(*) OVER () FROM t": "running='day'",
    "SELECT SUM(x) OVER (ORDER BY day) AS s FROM t": "running='day'",
    "SELECT COUNT(*) FILTER (WHERE x > 0) FROM t": "Sum up a case",
    "SELECT COUNT_IF(x > 0) FROM t": "Sum up a case",
    "SELECT COUNT(DISTINCT city) FROM t": "What can be counted are the people",
    "SELECT COUNT(DISTINCT who, city) FROM t": "What can be counted are the people",
    "SELECT COUNT(x + 1) FROM t": "Count rows",
    "SELECT COUNT(x, y) FROM t": "by hand|Count rows",
    "SELECT APPROX_COUNT_DISTINCT(who) FROM t": "by hand",
    "SELECT MIN(x) FROM t": "quantile of 0.01",
    "SELECT MAX(x) FROM t": "quantile of 0.99",
    "SELECT SUM(x) / SUM(y) AS r FROM t": "Ratio",
    "SELECT SUM(x) + 1 AS r FROM t": "by hand",
    "SELECT ROUND(AVG(x), 2) AS r FROM t": "by hand",
    "SELECT SUM(DISTINCT x) FROM t": "all rows that count",
    "SELECT AVG(DISTINCT x) FROM t": "all rows that count",
    "SELECT SUM(fare + tip) FROM t": "Give it a name",
    "SELECT SUM(*) FROM t": "one SELECT|Give it a name|expressions have",
    "SELECT SUM(SUM(x)) AS s FROM t": "expressions have",
    "SELECT SUM(x) FROM t": "bounds of x must be given",
    "SELECT MEDIAN(x + 1) AS m FROM t": "bounds of m must be given",
    "SELECT PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY x) FROM t": "Give it a name",
    "SELECT PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY x DESC) AS p FROM t": "desc",
    "SELECT PERCENTILE_CONT(0.9) AS p FROM t": "by hand",
    "SELECT PERCENTILE_CONT(x) WITHIN GROUP (ORDER BY x) AS p FROM t": "a number",
    "SELECT PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY x, y) AS p FROM t": "one column",
    "SELECT MODE() WITHIN GROUP (ORDER BY x) AS p FROM t": "by hand",
    "SELECT STRING_AGG(city, ',') AS c FROM t": "by hand",
    "SELECT ARRAY_AGG(city) AS c FROM t": "by hand",
    "SELECT CORR(x, y) AS c FROM t": "by hand",
    "SELECT ANY_VALUE(city) AS c FROM t": "by hand",
    "SELECT 1 FROM t": "by hand",
    "SELECT 'a' AS a, COUNT(*) FROM t": "by hand",
    "SELECT x + 1 AS y, COUNT(*) FROM t": "by hand",
    "SELECT COUNT(*) FROM t TABLESAMPLE (10)": "by hand",
    "SELECT COUNT(*) FROM t FOR UPDATE": "by hand",
    "SELECT COUNT(*) FROM t UNION SELECT COUNT(*) FROM u": "two tables",
    "SELECT COUNT(*) FROM t EXCEPT SELECT COUNT(*) FROM u": "by hand",
    "SELECT COUNT(*) FROM t; SELECT COUNT(*) FROM u": "one SELECT",
    "SELECT COUNT(*) FROM t PIVOT (COUNT(*) FOR city IN ('a'))": "by hand",
    "SELECT COUNT(*) FROM UNNEST(x)": "by hand",
    "SELECT COUNT(*) FROM LATERAL t": "by hand",
    "SELECT COUNT(*) FROM VALUES (1)": "by hand",
    "SELECT COUNT(*) FROM read_csv('t.csv')": "by hand",
    "SELECT COUNT(*) INTO u FROM t": "by hand",
    "INSERT INTO t VALUES (1)": "by hand",
    "UPDATE t SET x = 1": "by hand",
    "DELETE FROM t": "Such as SELECT",
    "DROP TABLE t": "by hand|Such as SELECT",
    "CREATE TABLE u AS SELECT COUNT(*) FROM t": "by hand|Such as SELECT",
    "COPY t TO 'u'": "by hand|Such as SELECT|one SELECT",
    "SELECT COUNT(*) FROM t WHERE 'a": "quotes that end",
    "SELECT COUNT(*) FROM t WHERE mod(x, 2, 3) = 1": "expressions have",
    "SELECT COUNT(*) FROM t WHERE a AND": "one SELECT",
    "SELECT COUNT(*) FROM t WHERE " + "(" * 500 + "x" + ")" * 500 + " > 0": "levels deep",
    "SELECT COUNT(*) FROM t WHERE x IN (" + "1, " * 10_000 + "1)": "at most 20,000 bytes",
    "SELECT COUNT(*) FROM t\0": "one SELECT",
}


@pytest.mark.parametrize("text", REFUSED)
def test_what_is_no_query_is_refused_with_what_to_write(text: str) -> None:
    with pytest.raises(pbdp.InputError, match=REFUSED[text]) as refused:
        Query.sql(text, **PLACED, epsilon=1)
    assert "sqlglot" not in str(refused.value)


def test_a_refusal_says_where() -> None:
    with pytest.raises(pbdp.InputError, match="max in line 2, near column 3"):
        Query.sql("SELECT city,\nMAX(x) FROM t GROUP BY city", **PLACED, keys=CITIES, epsilon=1)


@pytest.mark.parametrize(
    ("beside", "said"),
    [
        ({"within": {"visit": 50}}, "Did you mean visits?"),
        ({"bounds": {"x": (0, 1)}}, "bounds must be left out here; got x"),
        ({"keys": CITIES, "within": {"visits": 50}}, "keys must be left out here; got city"),
        ({"within": 50}, "within must be values by name; got 50"),
        ({"within": {"visits": 50}, "where": "x > 0", "measures": [Count()]}, "as the SELECT says it"),
        ({"within": {"visits": 50}, "epsilon": 1}, "epsilon"),
    ],
)  # fmt: skip
def test_what_stands_beside_it_belongs_to_it(beside: dict[str, Any], said: str) -> None:
    with pytest.raises(pbdp.PbdpError) as refused:
        Query.sql("SELECT COUNT(*) AS visits FROM t", **PLACED, **beside)
    assert said in str(refused.value)


ROWS = "who,city,x\n" + "".join(f"{n % 40},{('Paris', 'Rome')[n % 2]},{n % 9}\n" for n in range(200))
TEXT = "SELECT city, COUNT(*) AS visits, AVG(x) AS x FROM visits WHERE x > 0 GROUP BY city"
FILE = f'''
data = "visits.csv"
sql = """
{TEXT};
"""
unit = "who"
groups_per_person = 1
rows_per_group = 2
delta = 1e-6

[by]
city = ["Paris", "Rome"]

[within]
visits = 30
x = 3

[at_least]
x = 50

[bounds]
x = [0, 9]
'''


def test_files_and_options_say_it_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, content in (("visits.csv", ROWS), ("visits.toml", FILE), ("visits.sql", TEXT)):
        Path(name).write_text(content)
    options = (
        "visits.csv --sql visits.sql --unit who --groups-per-person 1 --rows-per-group 2 --delta 1e-6 "
        "--by city=Paris,Rome --within visits=30 --within x=3 --at-least x=50 --bounds x=0..9"
    )
    found = []
    for words in (["visits.toml"], options.split()):
        assert main(["tables", *words, "--dry-run", "--json"]) == 0
        found.append(json.loads(capsys.readouterr().out))
    assert found[0]["epsilon"] == found[1]["epsilon"] > 0
    assert main(["tables", "visits.toml", "-o", "out.csv"]) == 0
    assert Path("out.csv").read_text().startswith('"city","visits",')
    capsys.readouterr()
    assert main(["tables", *options.split()[:-2]]) == 2
    assert "bounds of x must be given" in capsys.readouterr().err
