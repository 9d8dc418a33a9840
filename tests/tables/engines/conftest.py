"""Every engine that runs in the tests' own process, or on a server that they start."""

from __future__ import annotations

import pytest

from tests.tables.engines.holding import Holding, in_duckdb, in_postgres


@pytest.fixture(scope="package", params=["duckdb", "postgres"])
def engine(request: pytest.FixtureRequest) -> tuple[str, Holding]:
    """The name of an engine, and a function that puts the rows of a random table into it."""
    if request.param == "postgres":
        return "postgres", in_postgres(request.getfixturevalue("postgres"))
    return "duckdb", in_duckdb
