"""The job of `sections/tables.py` in PipelineDP's local backend: python pipelinedp_table.py FILE.

Reading the file into Python rows is not counted. PipelineDP 0.3.1 has no backend for several processes on
one machine any more; Beam and Spark are its others.
"""

from __future__ import annotations

import json
import sys
import time
from operator import itemgetter

import pipeline_dp  # type: ignore[import-not-found]  # it has an environment of its own
import pyarrow.parquet as pq


def main() -> None:
    table = pq.read_table(sys.argv[1])
    rows = list(zip(*(table[name].to_pylist() for name in ("user_id", "city", "spend")), strict=True))
    start, before = time.perf_counter(), time.process_time()
    budget = pipeline_dp.NaiveBudgetAccountant(total_epsilon=1, total_delta=1e-6)
    engine = pipeline_dp.DPEngine(budget, pipeline_dp.LocalBackend())
    metrics = pipeline_dp.Metrics
    result = engine.aggregate(
        rows,
        pipeline_dp.AggregateParams(
            metrics=[metrics.COUNT, metrics.PRIVACY_ID_COUNT, metrics.SUM],
            noise_kind=pipeline_dp.NoiseKind.LAPLACE,
            max_partitions_contributed=3,
            max_contributions_per_partition=5,
            min_value=0,
            max_value=100,
        ),
        pipeline_dp.DataExtractors(
            privacy_id_extractor=itemgetter(0),
            partition_extractor=itemgetter(1),
            value_extractor=itemgetter(2),
        ),
        public_partitions=[f"city{number:04d}" for number in range(1000)],
    )
    budget.compute_budgets()
    found = list(result)
    work, cpu = time.perf_counter() - start, time.process_time() - before
    print(json.dumps({"work": work, "cpu": cpu, "groups": len(found)}))


if __name__ == "__main__":
    main()
