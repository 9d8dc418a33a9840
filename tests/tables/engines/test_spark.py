"""Spark on a cluster of two executors, in processes of their own, on this machine.

The tests of a process share one cluster. Those that kill an executor come last: the one that takes its place
is cold.
"""

from __future__ import annotations

import datetime
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pytest

from pbdp import Budget, Ledger
from pbdp.errors import InputError
from pbdp.mechanism.fixed_point import FixedPoint
from pbdp.tables import Count, Query, Sum
from pbdp.tables.bounded import Aggregates, BoundedAggregation, Per, Value
from pbdp.tables.engines import spark as spark_engine
from pbdp.tables.engines.interface import EngineError, check_columns
from pbdp.tables.engines.spark import SparkSource
from pbdp.tables.expressions.reading import expression_of
from pbdp.tables.keys import crossed, key_column
from tests.effort import FULL, cases
from tests.java import java_home, packaged_home
from tests.tables.engines.changes import ASKED, OTHERS, ROWS, Row
from tests.tables.engines.holding import in_duckdb
from tests.tables.expressions.interpreter import value_of
from tests.tables.expressions.test_engines_agree import HELD, asked_of_zone, check_agreement, zoned_rows
from tests.tables.expressions.test_engines_agree import rows as expression_rows
from tests.tables.forms import as_arrow
from tests.tables.random_tables import Case, Held, random_case
from tests.tables.reference import Group, Measured, as_reference, reference, touched, touched_told

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

pytestmark = [
    # py4j leaves it to the garbage collector to close its sockets
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    # said when a test sends a Python function to the executors
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning"),
]
CHOICE_KEY = 0x1234_5678_9ABC_DEF0
EXECUTORS = 2
# The first compiler alone, no threads for garbage, and Spark's classes taken as they are: for a minute of
# small queries that is faster.
JAVA = (
    "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:+UnlockDiagnosticVMOptions -XX:-BytecodeVerificationRemote"
)


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    import pyspark
    from pyspark.sql import SparkSession

    folder = tmp_path_factory.mktemp("spark")
    home = folder / "home"  # executors write their logs into Spark's home, which would be in the .venv
    home.mkdir()
    for entry in Path(pyspark.__file__).parent.iterdir():
        (home / entry.name).symlink_to(entry)
    settings: dict[str, Any] = {
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.extraJavaOptions": JAVA,
        "spark.executor.extraJavaOptions": JAVA,
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.sql.shuffle.partitions": "3",
        # tasks wait until both executors are there
        "spark.scheduler.minRegisteredResourcesRatio": "1.0",
        "spark.scheduler.maxRegisteredResourcesWaitingTime": "60s",
        "spark.task.maxFailures": "2",
        # rows that were collected would not fit into this
        "spark.driver.maxResultSize": "1m",
        # the same cluster for sessions of Spark Connect
        "spark.plugins": "org.apache.spark.sql.connect.SparkConnectPlugin",
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": "0",
    }
    with pytest.MonkeyPatch.context() as patch:
        if (java := java_home(folder)) is not None:
            patch.setenv("JAVA_HOME", java)
        patch.setenv("SPARK_HOME", str(home))
        patch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
        patch.setenv("SPARK_LOCAL_DIRS", str(folder / "local"))
        patch.setenv("PYSPARK_PYTHON", sys.executable)
        builder = SparkSession.builder.master(f"local-cluster[{EXECUTORS},1,1024]").appName("pbdp")
        started = builder.config(map=settings).getOrCreate()
        started.sparkContext.setLogLevel("OFF")
        yield started
        started.stop()


@pytest.fixture(scope="module")
def remote(session: SparkSession) -> Iterator[SparkSession]:
    """A session of Spark Connect, whose server is the driver of the other one."""
    from pyspark.sql.connect.session import SparkSession as ConnectSession

    service = getattr(session._jvm, "org.apache.spark.sql.connect.service.SparkConnectService$")
    port = getattr(service, "MODULE$").localPort()
    started = ConnectSession.builder.remote(f"sc://127.0.0.1:{port}").create()
    yield cast("SparkSession", started)
    started.client.close()


def test_the_java_of_the_package_index_starts_as_spark_starts_it(tmp_path: Path) -> None:
    command = [f"{packaged_home(tmp_path)}/bin/java", "--add-modules=jdk.incubator.vector", "-version"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, "version" in done.stderr) == (0, True), done.stderr


@contextmanager
def with_settings(session: SparkSession, settings: dict[str, str]) -> Iterator[None]:
    before = {name: session.conf.get(name) for name in settings}
    try:
        for name, setting in settings.items():
            session.conf.set(name, setting)
        yield
    finally:
        for name, old in before.items():
            session.conf.set(name, str(old))


@pytest.fixture(params=["true", "false"], ids=["ansi", "no-ansi"])
def ansi(session: SparkSession, request: pytest.FixtureRequest) -> Iterator[str]:
    with with_settings(session, {"spark.sql.ansi.enabled": request.param}):
        yield request.param


def answered(frame: DataFrame, asked: BoundedAggregation, key: int = CHOICE_KEY) -> dict[Group, Measured]:
    source = SparkSource(frame)
    check_columns(source, asked)
    return as_reference(source.aggregate(asked, key), asked)


def in_spark(session: SparkSession, case: Case) -> DataFrame:
    return session.createDataFrame(as_arrow(case))


def visits(rng: np.random.Generator, rows: int) -> Case:
    """People, most of them in more cities and there more often than allowed, with and without a spend."""
    spend = np.round(rng.normal(40, 30, rows), 2)
    odd = np.nonzero(rng.random(rows) < 0.1)[0]
    spend[odd] = rng.choice([np.nan, np.inf, -np.inf], len(odd))
    columns: dict[str, list[Any]] = {
        "person": [None if x == 150 else x for x in rng.integers(0, 151, rows).tolist()],
        "city": [None if x > 9 else f"city {x}" for x in rng.integers(0, 11, rows).tolist()],
        "spend": [
            x if some else None for x, some in zip(spend.tolist(), rng.random(rows) < 0.9, strict=True)
        ],
    }
    return Case(
        rows=[dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)],
        held={"person": "integer", "city": "text", "spend": "number"},
        asked=BoundedAggregation(
            unit="person",
            by=("city",),
            keys=crossed({"city": key_column("city", [f"city {x}" for x in range(12)])}),
            values=(Value(column="spend", fixed=FixedPoint(low=-5, high=90.5, most_rows=1 << 20)),),
            groups_per_person=3,
            rows_per_group=2,
        ),
    )


@pytest.mark.parametrize("number", range(cases(20)))
def test_random_tables_give_the_integers_of_the_definition(session: SparkSession, number: int) -> None:
    case = random_case(np.random.default_rng(number))
    with with_settings(session, {"spark.sql.ansi.enabled": ("true", "false")[number % 2]}):
        found = answered(in_spark(session, case), case.asked)
    assert found == reference(case.rows, case.asked)
    if case.asked.cutting:
        asked = replace(case.asked, touched=True)
        numbers = SparkSource(in_spark(session, case)).aggregate(asked, CHOICE_KEY)
        assert as_reference(numbers, asked) == found
        assert touched_told(numbers, asked) == touched(case.rows, asked)


def test_order_and_partitioning_of_the_rows_do_not_matter(session: SparkSession) -> None:
    rng = np.random.default_rng(1)
    case = visits(rng, 3000)
    once = answered(in_spark(session, case).coalesce(1), case.asked)
    shuffled = in_spark(session, case.shuffled(rng))
    ordered = shuffled.repartition(7).orderBy("spend", ascending=False)
    by_person = shuffled.repartition(4, "person").sortWithinPartitions("city")
    assert len(once) == 10
    assert [answered(frame, case.asked) for frame in (shuffled, ordered, by_person)] == [once] * 3


def test_a_person_keeps_groups_that_their_own_rows_alone_decide(session: SparkSession) -> None:
    case = visits(np.random.default_rng(2), 3000)
    few = replace(case, rows=[row for row in case.rows if row["person"] in (3, 4, 5)])
    kept = {}
    for person in (3, 4, 5):
        alone = replace(few, rows=[row for row in few.rows if row["person"] == person])
        kept[person] = list(answered(in_spark(session, alone), few.asked))
        assert len(kept[person]) == 3
    expected = reference(few.rows, few.asked, lambda person, _: kept[int(str(person))])
    assert answered(in_spark(session, few), few.asked) == expected
    first = replace(few.asked, along="city")
    expected = reference(few.rows, first, lambda _, groups: sorted(groups)[:3])
    assert answered(in_spark(session, few), first) == expected


def test_people_of_several_tables_are_counted_as_elsewhere(session: SparkSession) -> None:
    case = visits(np.random.default_rng(3), 400)
    cells = np.arange(len(case.asked.keys or ()))
    # nobody exceeds the groups, so that engines need not choose the same ones
    asked = replace(case.asked, groups_per_person=None, tables=(cells, cells // 5, cells * 0))
    found = SparkSource(in_spark(session, case)).aggregate(asked, CHOICE_KEY).people_in
    expected = in_duckdb(case).aggregate(asked, CHOICE_KEY).people_in
    assert [people.tolist() for people in found] == [people.tolist() for people in expected]
    assert found[0].sum() > found[1].sum() > found[2].sum() > 100


def test_the_choice_of_groups_is_even_and_depends_on_the_key(session: SparkSession) -> None:
    people, groups = 2000, 4
    frame = session.range(people * groups).selectExpr(f"id % {people} AS p", f"id DIV {people} AS g")
    keys = crossed({"g": key_column("g", range(groups))})
    asked = BoundedAggregation(unit="p", by=("g",), keys=keys, groups_per_person=1)
    first, second = answered(frame, asked, key=1), answered(frame, asked, key=2**63 - 1)
    assert first != second
    for found in (first, second):
        counts = [found[(group,)][0] for group in range(groups)]
        assert sum(counts) == people
        assert np.abs(np.array(counts) - people / groups).max() < 5 * np.sqrt(people / groups)


def test_two_executors_work_and_tasks_that_fail_halfway_are_run_again_with_the_same_result(
    session: SparkSession, tmp_path: Path
) -> None:
    case = visits(np.random.default_rng(3), 3000)
    calm = in_spark(session, case).repartition(4)
    folder = str(tmp_path)

    def failing(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import os
        from pathlib import Path

        from pyspark import TaskContext

        task = TaskContext.get()
        if task is None:
            raise AssertionError("this runs in a task")
        (Path(folder) / f"{os.getppid()}-{task.partitionId()}-{task.attemptNumber()}").touch()
        for batch in batches:
            yield batch.slice(0, batch.num_rows // 2)
            if task.attemptNumber() == 0:
                raise ConnectionError("this executor is lost")
            yield batch.slice(batch.num_rows // 2)

    found = answered(calm.mapInArrow(failing, calm.schema), case.asked)
    tasks = [path.name.split("-") for path in tmp_path.iterdir()]
    assert {(partition, attempt) for _, partition, attempt in tasks} >= {
        (str(partition), str(attempt)) for partition in range(4) for attempt in range(2)
    }
    assert len({executor for executor, _, _ in tasks}) == EXECUTORS
    assert found == answered(calm, case.asked)


def test_rows_are_read_once_and_nothing_stays_behind(session: SparkSession) -> None:
    case = visits(np.random.default_rng(5), 3000)
    read = session.sparkContext.accumulator(0)

    def counted(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            read.add(batch.num_rows)
            yield batch

    frame = in_spark(session, case)
    cells = np.arange(len(case.asked.keys or ()))
    asked = replace(case.asked, touched=True, tables=(cells // 5, cells // 2))
    expected = SparkSource(frame).aggregate(asked, CHOICE_KEY)
    found = SparkSource(frame.mapInArrow(counted, frame.schema)).aggregate(asked, CHOICE_KEY)
    assert touched_told(found, asked) == touched_told(expected, asked)
    assert [one.tolist() for one in found.people_in] == [one.tolist() for one in expected.people_in]
    assert read.value == len(case.rows)
    assert session._jsparkSession.sharedState().cacheManager().isEmpty()
    assert session.catalog.listTables() == []


def test_rows_are_not_collected(session: SparkSession) -> None:
    rows = 400_000
    frame = session.range(rows).selectExpr(
        "xxhash64(id) AS p", "id % 3 AS g", "xxhash64(id, id) / 1e18D AS v"
    )
    value = Value(column="v", fixed=FixedPoint(low=-1, high=1))
    keys = crossed({"g": key_column("g", range(2))})
    asked = BoundedAggregation(unit="p", by=("g",), keys=keys, values=(value,), groups_per_person=2)
    found = answered(frame, asked)
    assert sum(people for people, *_ in found.values()) == (2 * rows + 2) // 3
    with pytest.raises(Exception, match="maxResultSize"):
        frame.toArrow()


def test_a_large_key_table_is_not_broadcast_and_gives_the_same(
    session: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = visits(np.random.default_rng(4), 1000)
    expected = answered(in_spark(session, case), case.asked)
    monkeypatch.setattr(spark_engine, "_BROADCAST_BYTES", 0)
    with with_settings(session, {"spark.sql.autoBroadcastJoinThreshold": "-1"}):
        assert answered(in_spark(session, case), case.asked) == expected


def test_types_of_numbers_dates_and_truth(session: SparkSession, ansi: str) -> None:
    day, other = datetime.date(2024, 2, 29), datetime.date(1582, 10, 4)
    columns = "p smallint, day date, yes boolean, whole decimal(22,3), d decimal(38,18), f float, t tinyint"
    rows = [
        (1, day, True, Decimal("2.000"), Decimal("0.100000000000000001"), 0.5, 7),
        (1, day, True, Decimal("2.000"), Decimal("99999999999999999999.5"), float("nan"), -128),
        (2, day, True, Decimal("2.000"), Decimal("-3.3"), float("-inf"), None),
        (2, other, False, Decimal("-7.000"), None, 0.1015625, 3),
        (3, other, False, Decimal("-7.001"), Decimal("1.1"), 1.0, 3),
        (3, None, False, Decimal("2.000"), Decimal("1.1"), 1.0, 3),
        (None, day, True, Decimal("2.000"), Decimal("1.1"), 1.0, 3),
    ]  # fmt: skip
    names = [column.split()[0] for column in columns.split(", ")]
    asked = BoundedAggregation(
        unit="p",
        by=("day", "yes", "whole"),
        keys=crossed({
            "day": key_column("day", [day, other]),
            "yes": key_column("yes", [True, False]),
            "whole": key_column("whole", [2, -7]),
        }),
        values=tuple(
            Value(column=name, fixed=FixedPoint(low=-2.5, high=6.25)) for name in ("d", "f", "t", "yes")
        ),
        groups_per_person=2,
        rows_per_group=5,
    )  # fmt: skip
    found = answered(session.createDataFrame(rows, columns), asked)
    assert found == reference([dict(zip(names, row, strict=True)) for row in rows], asked)
    assert set(found) == {(day, True, 2), (other, False, -7)}, ansi


def test_whole_keys_meet_numbers_exactly(session: SparkSession, ansi: str) -> None:
    numbers = [2.0**63, -(2.0**63), 1.5, 3.0, -0.0, float("nan"), float("inf"), None]
    keys = crossed({"n": key_column("n", [2**63 - 1, -(2**63), 1, 2, 3, 0])})
    asked = BoundedAggregation(unit=None, by=("n",), keys=keys)
    found = answered(session.createDataFrame([(x,) for x in numbers], "n double"), asked)
    assert found == reference([{"n": x} for x in numbers], asked), ansi
    assert set(found) == {(-(2**63),), (3,), (0,)}


def test_groups_of_the_data_are_found(session: SparkSession, ansi: str) -> None:
    columns = "p string, day date, n bigint"
    rows = [
        ("a", datetime.date(1, 1, 1), -(2**63)),
        ("a", datetime.date(9999, 12, 31), None),
        ("", datetime.date(1, 1, 1), 5),
    ]
    asked = BoundedAggregation(unit="p", by=("day", "n"), keys=None, rows_per_group=1)
    found = answered(session.createDataFrame(rows, columns), asked)
    assert found == {(rows[0][1], -(2**63)): (1, 1, (), ()), (rows[2][1], 5): (1, 1, (), ())}, ansi


def test_an_empty_frame_has_no_groups(session: SparkSession) -> None:
    case = visits(np.random.default_rng(5), 0)
    assert answered(in_spark(session, case), case.asked) == {}
    found = SparkSource(in_spark(session, case)).aggregate(replace(case.asked, keys=None), CHOICE_KEY)
    assert len(found) == 0


def test_rows_can_be_counted_without_any_column(session: SparkSession) -> None:
    asked = BoundedAggregation(unit=None, by=(), keys=None)
    found = SparkSource(session.range(1001)).aggregate(asked, CHOICE_KEY)
    assert (found.people.tolist(), found.rows.tolist()) == ([1001], [1001])


def test_columns_may_have_any_name(session: SparkSession) -> None:
    names = ["c1", "a`b", "x.y", "select", "naïve ☃", "", "{df}", "`", "C0", "c0"]
    rows = [tuple(range(number, number + len(names))) for number in range(4)]
    frame = session.createDataFrame(rows, [f"n{place}" for place in range(len(names))]).toDF(*names)
    for unit, key, value in (names[:3], names[3:6], names[6:9], ("c0", "c1", "`")):
        asked = BoundedAggregation(
            unit=unit,
            by=(key,),
            keys=crossed({key: key_column(key, range(3, 20))}),
            values=(Value(column=value, fixed=FixedPoint(low=0, high=100, whole=True)),),
            groups_per_person=1,
        )
        expected = reference([dict(zip(names, row, strict=True)) for row in rows], asked)
        assert answered(frame, asked) == expected


def test_names_that_differ_in_case_alone_need_a_session_that_tells_them_apart(session: SparkSession) -> None:
    frame = session.range(3).selectExpr("id AS k", "id + 5 AS p").toDF("K", "k")
    asked = BoundedAggregation(unit="K", by=("k",), keys=crossed({"k": key_column("k", [6, 7, 8])}))
    with pytest.raises(InputError, match="upper and lower case"):
        answered(frame, asked)
    with with_settings(session, {"spark.sql.caseSensitive": "true"}):
        assert answered(frame, asked) == {(6,): (1, 1, (), ()), (7,): (1, 1, (), ())}


@pytest.mark.parametrize(
    ("ansi", "unit", "per"),
    [("true", "one", "row"), ("false", "one", "row"), ("false", "one", "person"), ("false", None, "row")],
    indirect=["ansi"],
)
def test_a_sum_that_does_not_fit_is_refused(
    session: SparkSession, ansi: str, unit: str | None, per: Per
) -> None:
    value = Value(column="v", fixed=FixedPoint(low=0, high=2.0**50, whole=True, most_rows=4096), per=per)
    keys = crossed({"g": key_column("g", [0])})
    asked = BoundedAggregation(unit=unit, by=("g",), keys=keys, values=(value,))

    def frame(rows: int) -> DataFrame:
        return session.range(rows).selectExpr("1 AS one", "0 AS g", f"{2**50} AS v")

    assert answered(frame(8191), asked)[(0,)][3] == (2**50 if per == "person" else 8191 * 2**50,)
    if per == "person":
        # what one person has is added up in wider numbers, and then moved to the bound
        assert answered(frame(8192), asked)[(0,)][3] == (2**50,)
    else:
        with pytest.raises(EngineError, match="more rows than most_rows"):
            answered(frame(8192), asked)
    assert session.conf.get("spark.sql.ansi.enabled") == ansi


def test_an_error_does_not_repeat_the_data(session: SparkSession) -> None:
    case = visits(np.random.default_rng(6), 5)

    def failing(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        raise ValueError(f"4711 is in {list(batches)}")

    frame = in_spark(session, case)
    with pytest.raises(EngineError) as caught:
        answered(frame.mapInArrow(failing, frame.schema), case.asked)
    assert "4711" not in str(caught.value)
    assert "city" not in str(caught.value)
    assert caught.value.__context__ is None
    assert caught.value.__cause__ is None
    assert session.catalog.listTables() == []


def test_text_that_is_not_unicode_is_an_error_without_the_text(session: SparkSession) -> None:
    frame = session.sql("SELECT 1 AS p, CAST(X'66FF34373131' AS STRING) AS city")
    with pytest.raises(EngineError) as caught:
        answered(frame, BoundedAggregation(unit="p", by=("city",), keys=None))
    assert "4711" not in str(caught.value)
    assert caught.value.__context__ is None


def test_the_session_is_left_as_it_was_and_its_settings_do_not_matter(session: SparkSession) -> None:
    case = visits(np.random.default_rng(7), 500)
    frame = in_spark(session, case).cache()
    expected = answered(frame, case.asked)
    unusual = {
        "spark.sql.adaptive.enabled": "false",
        "spark.sql.ansi.doubleQuotedIdentifiers": "true",
        "spark.sql.ansi.enabled": "true",
        "spark.sql.ansi.enforceReservedKeywords": "true",
        "spark.sql.autoBroadcastJoinThreshold": "-1",
        "spark.sql.caseSensitive": "true",
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.crossJoin.enabled": "false",
        "spark.sql.execution.arrow.maxRecordsPerBatch": "3",
        "spark.sql.execution.arrow.useLargeVarTypes": "true",
        "spark.sql.groupByAliases": "false",
        "spark.sql.groupByOrdinal": "false",
        "spark.sql.parser.escapedStringLiterals": "true",
        "spark.sql.session.timeZone": "Asia/Kolkata",
        "spark.sql.shuffle.partitions": "5",
    }
    with with_settings(session, unusual):
        before = session.conf.getAll
        assert answered(frame, case.asked) == expected
        assert session.conf.getAll == before
    assert frame.storageLevel.useMemory
    assert session.catalog.listTables() == []
    frame.unpersist()


def test_columns_are_told_by_the_schema_alone(session: SparkSession) -> None:
    kinds = {
        "text": "string, string collate UTF8_LCASE",
        "integer": "tinyint, smallint, int, bigint",
        "number": "float, double, decimal(5,2)",
        "boolean": "boolean",
        "date": "date",
        "time": "timestamp_ntz",
        "zoned": "timestamp",
        "untyped": "void",
        "other": "binary, array<int>, map<int,int>, struct<a:int>, interval day to second",
    }
    for kind, types in kinds.items():
        written = ", ".join(f"c{place} {name}" for place, name in enumerate(types.split(", ")))
        found = SparkSource(session.createDataFrame([], written)).kinds()
        assert set(found.values()) == {kind}
        assert len(found) == len(types.split(", "))
    frame = session.range(3).selectExpr("id", "now() AS at")
    for asked in (
        BoundedAggregation(unit="id", by=("at",), keys=None),
        BoundedAggregation(
            unit="id", by=(), keys=None, values=(Value(column="at", fixed=FixedPoint(low=0, high=1)),)
        ),
    ):
        with pytest.raises(InputError, match="column at"):
            answered(frame, asked)


def test_frames_without_a_fixed_meaning_are_refused(session: SparkSession) -> None:
    with pytest.raises(InputError, match="a stream"):
        SparkSource(session.readStream.format("rate").load())
    with pytest.raises(InputError, match="different names"):
        SparkSource(session.range(1).selectExpr("id", "id + 1 AS id"))
    collated = session.sql("SELECT 'Ann' COLLATE UTF8_LCASE AS p")
    with pytest.raises(InputError, match="byte by byte"):
        answered(collated, BoundedAggregation(unit="p", by=(), keys=None))
    assert SparkSource(collated).engine.startswith("Spark 4")


def test_text_keys_match_byte_by_byte_whatever_the_collation(session: SparkSession) -> None:
    frame = session.sql(
        "SELECT id, split('Paris,paris,paris ', ',')[id] COLLATE UTF8_LCASE AS city FROM range(3)"
    )
    keys = crossed({"city": key_column("city", ["paris", "PARIS"])})
    found = answered(frame, BoundedAggregation(unit="id", by=("city",), keys=keys))
    assert found == {("paris",): (1, 1, (), ())}


def test_rows_have_one_digest_in_any_order_and_other_rows_another(session: SparkSession) -> None:
    schema = "who BIGINT, city STRING, x DOUBLE, y DOUBLE"

    def digest(rows: list[Row]) -> bytes:
        return SparkSource(session.createDataFrame(rows, schema)).digest(ASKED)

    assert digest(ROWS[::-1]) == digest(ROWS)
    for change in ("another column", "zero for none", "two rows have each other's value", "no rows"):
        assert digest(OTHERS[change]) != digest(ROWS), change


@pytest.mark.parametrize("number", range(40, 40 + cases(20)))
def test_spark_connect_gives_the_integers_of_the_definition(remote: SparkSession, number: int) -> None:
    case = random_case(np.random.default_rng(number))
    asked = replace(case.asked, touched=bool(case.asked.cutting))
    with with_settings(remote, {"spark.sql.ansi.enabled": ("true", "false")[number % 2]}):
        found = SparkSource(in_spark(remote, case)).aggregate(asked, CHOICE_KEY)
    assert as_reference(found, asked) == reference(case.rows, asked)
    if asked.touched:
        assert touched_told(found, asked) == touched(case.rows, asked)


def test_spark_connect_answers_as_the_classic_session(session: SparkSession, remote: SparkSession) -> None:
    case = visits(np.random.default_rng(9), 1000)
    here, there = (SparkSource(in_spark(one, case)) for one in (session, remote))
    assert type(there.frame).__module__.startswith("pyspark.sql.connect")
    assert as_reference(there.aggregate(case.asked, CHOICE_KEY), case.asked) == answered(
        here.frame, case.asked
    )
    assert (there.digest(case.asked), there.kinds(), there.engine) == (
        here.digest(case.asked),
        here.kinds(),
        here.engine,
    )
    one = Query(
        unit="person", by={"city": ["city 1"]}, measures=[Count(within=50)], rows_per_group=2, delta=1e-6
    )
    assert one.plan().release(there.frame).engine.startswith("Spark 4")
    assert remote.catalog.listTables() == []


def test_errors_of_spark_connect_are_told_without_the_data(remote: SparkSession) -> None:
    value = Value(column="v", fixed=FixedPoint(low=0, high=2.0**50, whole=True, most_rows=4096))
    asked = BoundedAggregation(unit="one", by=(), keys=None, values=(value,))
    with pytest.raises(EngineError, match="more rows than most_rows"):
        answered(remote.range(8192).selectExpr("1 AS one", f"{2**50} AS v"), asked)
    broken = remote.sql("SELECT 1 AS one, raise_error('4711 is a secret') AS g")
    with pytest.raises(EngineError) as caught:
        answered(broken.selectExpr("one", "cast(g AS string) AS g"), replace(asked, by=("g",), values=()))
    assert "4711" not in str(caught.value)
    assert caught.value.__context__ is None
    assert remote.catalog.listTables() == []
    with pytest.raises(InputError, match="a stream"):
        SparkSource(remote.readStream.format("rate").load())


def test_expressions_are_as_everywhere(session: SparkSession) -> None:
    def holding(case: Case) -> SparkSource:
        return SparkSource(in_spark(session, case))

    assert check_agreement(holding, np.random.default_rng(23), 1000 if FULL else 20) > 200


def test_moments_are_read_in_the_zone_of_the_query_and_not_of_the_session(session: SparkSession) -> None:
    rows = zoned_rows("Europe/Paris")
    asked = asked_of_zone("Europe/Paris", len(rows))
    written = [
        "CAST(row AS BIGINT) AS row",
        "timestamp_seconds(at) AS at",
        "CAST(day AS DATE) AS day",
        "hour",
    ]
    plain = [
        (row["row"], row["at"] and int(row["at"].timestamp()), row["day"] and str(row["day"]), row["hour"])
        for row in rows
    ]
    frame = session.createDataFrame(plain, "row int, at long, day string, hour int").selectExpr(*written)
    usual = session.conf.get("spark.sql.session.timeZone")
    try:
        for own in ("America/Los_Angeles", "UTC"):
            session.conf.set("spark.sql.session.timeZone", own)
            check_columns(SparkSource(frame), asked)
            assert sorted(SparkSource(frame).aggregate(asked, 1).group.tolist()) == list(range(len(rows)))
    finally:
        session.conf.set("spark.sql.session.timeZone", str(usual))


def test_nested_rounding_is_answered(session: SparkSession) -> None:
    """What needs its argument several times is computed once, however deep it stands."""
    nested = "c"
    for name in "ababababab":
        nested = f"round({name} / {nested})"
    rows: list[dict[str, Any]] = [
        {"row": 1, "a": 7.5, "b": 3.25, "c": 0.75},
        {"row": 2, "a": None, "b": 1.0, "c": 0.0},
    ]
    held: dict[str, Held] = {"row": "integer", "a": "number", "b": "number", "c": "number"}
    where = expression_of("where", f"{nested} > 0 or {nested} <= 0")
    keys = crossed({"row": key_column("row", [1, 2])})
    asked = BoundedAggregation(unit=None, by=("row",), keys=keys, where=where)
    source = SparkSource(in_spark(session, Case(rows=rows, held=held, asked=asked)))
    assert source.aggregate(asked, 1).group.tolist() == [
        place for place, row in enumerate(rows) if value_of(where, row)
    ]


def test_fractions_are_told(session: SparkSession) -> None:
    data = expression_rows(np.random.default_rng(23))
    keys = crossed({"row": key_column("row", range(len(data)))})
    asked = BoundedAggregation(unit=None, by=("row",), keys=keys)
    frame = in_spark(session, Case(rows=data, held=dict(HELD), asked=asked))
    fractions = replace(asked, by=("b",), keys=crossed({"b": key_column("b", [1, 2])}))
    wrong = sum(row["b"] is not None and row["b"] != int(row["b"]) for row in data)
    assert SparkSource(frame).unreadable(fractions) == {"b": wrong}


def dying_once(marks: str) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Rows as they are, but the executor of the last part is killed when all others are done.

    `marks` is a folder: it tells when the aggregation begins, and is told which executor has done which part.
    """

    def dying(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import os
        import signal
        import time
        from pathlib import Path

        from pyspark import TaskContext

        task, folder = TaskContext.get(), Path(marks)
        if task is None:
            raise AssertionError("this runs in a task")
        # a task is a child of the daemon that the executor's Java process has started
        executor = int(Path(f"/proc/{os.getppid()}/stat").read_text().rpartition(")")[2].split()[1])
        for batch in batches:
            yield batch.slice(0, batch.num_rows // 2)
            if task.partitionId() == 3 and (folder / "aggregating").exists():
                while len(list(folder.glob("done-*"))) < 3:
                    time.sleep(0.02)
                if not (folder / "killed").exists():
                    if b"CoarseGrainedExecutorBackend" not in Path(f"/proc/{executor}/cmdline").read_bytes():
                        raise AssertionError("this is not an executor")
                    (folder / "killed").touch()
                    os.kill(executor, signal.SIGKILL)
                    time.sleep(10)
            yield batch.slice(batch.num_rows // 2)
        if (folder / "aggregating").exists():
            (folder / f"done-{task.partitionId()}-{executor}").touch()

    return dying


@pytest.mark.parametrize("kind", ["session", "remote"][: 2 if FULL else 1])
def test_an_executor_that_dies_changes_no_number_and_nothing_is_paid_or_drawn_twice(
    kind: str, request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = visits(np.random.default_rng(8), 3000)
    calm = in_spark(request.getfixturevalue(kind), case).repartition(4)
    folder = tmp_path / "tasks"
    folder.mkdir()
    asked: list[tuple[BoundedAggregation, int, Aggregates]] = []
    aggregate = SparkSource.aggregate

    def watched(self: SparkSource, query: BoundedAggregation, choice_key: int) -> Aggregates:
        (folder / "aggregating").touch()
        asked.append((query, choice_key, aggregate(self, query, choice_key)))
        return asked[-1][-1]

    plan = Query(
        unit="person",
        by={"city": [f"city {x}" for x in range(12)]},
        measures=[Count(within=50), Sum(column="spend", low=-5, high=90.5, within=2000)],
        groups_per_person=3,
        rows_per_group=2,
        delta=1e-6,
    ).plan()
    monkeypatch.setenv("PBDP_STATE", str(tmp_path / "state"))
    monkeypatch.setattr(SparkSource, "aggregate", watched)
    with Ledger.create(tmp_path / "ledger.db") as ledger:
        budget = Budget.create(ledger, "visits", epsilon=20, delta=1e-5)
        table = plan.release(
            calm.mapInArrow(dying_once(str(folder)), calm.schema), budget=budget, key="visits"
        )
        again = plan.release(calm, budget=budget, key="visits")
        kinds = [entry.kind for entry in ledger.history("visits")]
    assert (folder / "killed").exists()
    # what the lost executor had done before is done once more in another one
    assert len(list(folder.glob("done-*"))) > 4
    ((query, choice_key, found),) = asked
    undisturbed = aggregate(SparkSource(calm), query, choice_key)
    assert as_reference(found, query) == as_reference(undisturbed, query)
    assert touched_told(found, query) == touched_told(undisturbed, query)
    assert kinds.count("spend") == 1
    assert again.payment is not None
    assert again.payment.repeated
    assert again.to_arrow().equals(table.to_arrow())
