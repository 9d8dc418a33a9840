"""The bounded aggregation of `sections/tables.py` by hand in DuckDB: python sql_table.py FILE rank|pairs.

Both ways bound as pbdp does: at most 3 groups a person by a random hash, more than 5 rows of a person in a
group with weight 5/n. `rank` numbers the groups of every row's person and then adds up what is left; `pairs`
adds up every person and group first. Plain doubles, public keys as small numbers, no noise.
(Without the second sort key of `pairs`, DuckDB 2.0 takes another way, which is half as fast.)
"""

from __future__ import annotations

import json
import sys
import time

import duckdb

KEYS = "create temp table keys as select printf('city%04d', range) as city, range::int as g from range(1000)"
CLAMPED = "least(greatest(spend, 0), 100)"
TOTALS = "g, count(*), sum(least(n, 5)), sum(case when n > 5 then s * 5 / n else s end)"
WAYS = {
    "rank": f"""
        with ranked as (
            select user_id, g, {CLAMPED} as v,
                dense_rank() over (partition by user_id order by hash(424242, user_id, g)) as place
            from '{{path}}' join keys using (city)
        ), pairs as (
            select user_id, g, count(*) as n, sum(v) as s from ranked where place <= 3 group by all
        )
        select {TOTALS} from pairs group by g""",  # noqa: S608 - constants
    "pairs": f"""
        with pairs as (
            select user_id, g, count(*) as n, sum({CLAMPED}) as s from '{{path}}' join keys using (city)
            group by all
        ), ranked as (
            select *, row_number() over (partition by user_id order by hash(424242, user_id, g), g) as place
            from pairs
        )
        select {TOTALS} from ranked where place <= 3 group by g""",  # noqa: S608 - constants
}


def main() -> None:
    path, way = sys.argv[1:]
    start, before = time.perf_counter(), time.process_time()
    with duckdb.connect() as connection:
        connection.execute(KEYS)
        found = connection.execute(WAYS[way].format(path=path)).fetchnumpy()
    work, cpu = time.perf_counter() - start, time.process_time() - before
    print(json.dumps({"work": work, "cpu": cpu, "groups": len(found["g"])}))


if __name__ == "__main__":
    main()
