"""The job of `sections/tables.py` in OpenDP with Polars: python opendp_table.py FILE ROWS documented|fastest.

`documented` follows OpenDP's guide to identifier truncation: rows first, sampled (its default), then groups.
`fastest` is the fastest of the ways we tried: groups first, and the first rows and groups rather than
random ones, which the guide warns may bias the numbers.

In OpenDP 0.16.0 sampling groups (`truncate_num_groups(..., keep="sample")`, its default) fails on all data,
as two fields get the same name, so both ways keep the first groups; and `truncate_num_groups(k)` keeps k - 1
groups, so both ask for 4 to keep the 3 that the others keep.
"""

from __future__ import annotations

import json
import sys
import time

import opendp.prelude as dp
import polars as pl
from opendp.extras.polars import Margin, dp_len

GROUPS, ROWS = 3, 5


def main() -> None:
    path, length, way = sys.argv[1:]
    dp.enable_features("contrib")
    start = time.perf_counter()
    context = dp.Context.compositor(
        data=pl.scan_parquet(path),
        privacy_unit=dp.unit_of(contributions=1, identifier="user_id"),
        privacy_loss=dp.loss_of(epsilon=1.0),
        split_evenly_over=1,
        margins=[Margin(by=["city"], max_length=int(length), max_groups=1000)],
    )
    query = context.query()
    if way == "documented":
        query = query.truncate_per_group(ROWS, by=["city"])
        query = query.truncate_num_groups(GROUPS + 1, by=["city"], keep="first")
    else:
        query = query.truncate_num_groups(GROUPS + 1, by=["city"], keep="first")
        query = query.truncate_per_group(ROWS, by=["city"], keep="first")
    query = (
        query.group_by("city")
        .agg(
            dp_len(signed=True),
            pl.col("user_id").dp.n_unique(signed=True),  # type: ignore[attr-defined]  # OpenDP adds `dp`
            pl.col("spend").fill_nan(0.0).fill_null(0.0).dp.sum((0.0, 100.0)),  # type: ignore[attr-defined]
        )
        .with_keys(pl.DataFrame({"city": [f"city{number:04d}" for number in range(1000)]}))
    )
    release = query.release()  # finds the scales; nothing is read yet
    planned, before = time.perf_counter(), time.process_time()
    found = release.collect()
    work, cpu = time.perf_counter() - planned, time.process_time() - before
    print(json.dumps({"plan": planned - start, "work": work, "cpu": cpu, "groups": len(found)}))


if __name__ == "__main__":
    main()
