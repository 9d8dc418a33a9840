"""Reports counted where they are: a group-by in DuckDB gives the same counts as counting them here."""

from __future__ import annotations

from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import pytest

from pbdp.local import LocalMechanism, count_groups, count_reports, estimate
from pbdp.local.boosted_response import boosted_response
from pbdp.local.local_hashing import local_hashing
from pbdp.local.subset_selection import subset_selection
from tests.local.setups import DOMAINS

MECHANISMS = {
    "boosted": boosted_response(DOMAINS["ages"], 3.0, 1.5),
    "sets": subset_selection(DOMAINS["ages"], 1.0),
    "hashed": local_hashing(DOMAINS["ages"], 1.0),
}


@pytest.mark.parametrize("mechanism", MECHANISMS.values(), ids=MECHANISMS)
def test_a_group_by_over_files_is_the_same_as_counting_here(
    mechanism: LocalMechanism, tmp_path: Path
) -> None:
    values = np.random.default_rng(2).choice(np.array(mechanism.domain.values), 5000)
    reports = mechanism.randomize(values)
    column = pd.DataFrame({"report": reports.values})
    column[:2000].to_parquet(tmp_path / "first.parquet")
    column[2000:].to_parquet(tmp_path / "second.parquet")

    query = f"select report, count(*) as n from '{tmp_path}/*.parquet' group by report"  # noqa: S608 - own path
    with duckdb.connect() as engine:
        grouped = engine.execute(query).df()
    counts = count_groups(mechanism, grouped["report"], grouped["n"], fingerprint=mechanism.fingerprint)

    here = count_reports(mechanism, reports)
    assert np.array_equal(counts.tally, here.tally)
    assert counts.users == here.users == 5000
    found, expected = estimate(mechanism, counts), estimate(mechanism, here)
    assert np.array_equal(found.people, expected.people)
