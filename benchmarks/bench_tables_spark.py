"""A bounded aggregation on Spark against the same job written by hand in Spark SQL, in turns, in one run.

The hand-written job adds up doubles, as one would; SparkSource adds up whole numbers and brings its keys.
Processor time is printed beside the time, as it depends less on what else the machine does.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pbdp.mechanism.fixed_point import FixedPoint
from pbdp.tables.bounded import BoundedAggregation, Value
from pbdp.tables.engines.spark import SparkSource
from pbdp.tables.keys import crossed, key_column

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

ROWS, PEOPLE, GROUPS = 2_000_000, 200_000, 1_000
TURNS = 5
CHOICE_KEY = 0x1234_5678_9ABC_DEF0
BY_HAND = """
    WITH source AS (
        SELECT person, id, CASE WHEN NOT isnan(spend) THEN least(greatest(spend, 0D), 100D) END AS spend
        FROM visits JOIN (SELECT /*+ BROADCAST */ * FROM cities) USING (city) WHERE person IS NOT NULL
    ), ranked AS (
        SELECT *, dense_rank() OVER (
            PARTITION BY person ORDER BY xxhash64(:choice_key, person, id), id) AS place
        FROM source
    ), pairs AS (
        SELECT person, id, count(*) AS n, count(spend) AS c, coalesce(sum(spend), 0D) AS total
        FROM ranked WHERE place <= 3 GROUP BY person, id
    )
    SELECT id, count(*) AS people, sum(least(n, 2)) AS n, sum(least(c, 2)) AS c,
           sum(CASE WHEN c > 2 THEN total * 2 / c ELSE total END) AS total
    FROM pairs GROUP BY id
"""


def main() -> None:
    """Make the data, run both in turns, and print the ratio."""
    if shutil.which("java") is None:
        print("Spark needs Java 17 or newer; there is none here.")
        return
    with tempfile.TemporaryDirectory() as folder:
        session = started(Path(folder))
        frame = data(session, Path(folder))
        for groups_per_person in (3, None):
            compare(session, frame, groups_per_person)
        session.stop()


def started(folder: Path) -> SparkSession:
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    os.environ["SPARK_LOCAL_DIRS"] = str(folder / "local")
    builder = SparkSession.builder.master("local[2]").appName("bench_tables_spark")
    for name, setting in {
        "spark.driver.host": "127.0.0.1",
        "spark.driver.memory": "3g",
        "spark.sql.shuffle.partitions": "4",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }.items():
        builder = builder.config(name, setting)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    return session


def data(session: SparkSession, folder: Path) -> DataFrame:
    """Visits in a Parquet file; the last cities are not among the public keys."""
    made = session.range(ROWS, numPartitions=4).selectExpr(
        f"pmod(xxhash64(id, 1), {PEOPLE}) AS person",
        f"concat('city ', pmod(xxhash64(id, 2), {GROUPS + 100})) AS city",
        "pmod(xxhash64(id, 3), 15000) / 100D AS spend",
    )
    made.write.parquet(str(folder / "visits"))
    frame = session.read.parquet(str(folder / "visits"))
    frame.createTempView("visits")
    session.range(GROUPS).selectExpr("id", "concat('city ', id) AS city").createTempView("cities")
    return frame


def compare(session: SparkSession, frame: DataFrame, groups_per_person: int | None) -> None:
    asked = BoundedAggregation(
        unit="person",
        by=("city",),
        keys=crossed({"city": key_column("city", [f"city {number}" for number in range(GROUPS)])}),
        values=(Value(column="spend", fixed=FixedPoint(low=0, high=100)),),
        groups_per_person=groups_per_person,
        rows_per_group=2,
    )
    by_hand = BY_HAND if groups_per_person else BY_HAND.replace("FROM ranked WHERE place <= 3", "FROM source")
    source = SparkSource(frame)

    def theirs() -> pa.Table:
        return session.sql(by_hand, {"choice_key": CHOICE_KEY}).toArrow()

    aggregates, table = source.aggregate(asked, CHOICE_KEY), theirs()
    if table.column("people").to_numpy().sum() != aggregates.people.sum():
        raise AssertionError("the two jobs are not the same")
    total = float(aggregates.sums[0].sum()) * asked.values[0].fixed.step
    print(
        f"{ROWS:,} rows, {PEOPLE:,} people, {GROUPS:,} groups, {groups_per_person or 'all'} of them a person"
    )
    print(f"  sums {total:,.2f} and by hand {table.column('total').to_numpy().sum():,.2f}")

    gateway: Any = session.sparkContext._gateway
    process = gateway.proc.pid
    runs = (theirs, lambda: source.aggregate(asked, CHOICE_KEY))
    spent = np.array([[seconds(run, process) for run in runs] for _ in range(TURNS)])
    for place, what in enumerate(("time", "processor time")):
        by_hand_s, ours_s = np.median(spent[:, :, place], axis=0)
        ratio = np.median(spent[:, 1, place] / spent[:, 0, place])
        print(
            f"  {what:14} by hand {by_hand_s:6.2f} s, {source.engine} here {ours_s:6.2f} s: ratio "
            f"{ours_s / by_hand_s:.2f} of the medians, {ratio:.2f} the median of the turns (at most 1.3)"
        )


def seconds(run: Callable[[], object], process: int) -> tuple[float, float]:
    """How long a run takes, and the processor time that Spark's process spends on it."""
    start, before = time.perf_counter(), processor_seconds(process)
    run()
    return time.perf_counter() - start, processor_seconds(process) - before


def processor_seconds(process: int) -> float:
    after_name = Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(after_name[11]) + int(after_name[12])) / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    main()
