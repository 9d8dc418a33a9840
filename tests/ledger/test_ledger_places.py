"""Which store keeps the ledger at a place."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from pbdp.errors import InputError
from pbdp.ledger import Ledger
from pbdp.ledger.stores.places import store_at
from pbdp.ledger.stores.postgres import PostgresStore
from pbdp.ledger.stores.sqlite import SqliteStore


@pytest.mark.parametrize("wrong", ["", "mysql://host/db", "host=localhost dbname=budgets", "a\0b"])
def test_places_that_cannot_be_are_refused(wrong: str) -> None:
    with pytest.raises(InputError, match="the path of a file or a postgresql:// URL"):
        Ledger.open(wrong)


def test_a_path_is_a_file_and_a_url_a_server(tmp_path: Path, postgres_url: str) -> None:
    with closing(store_at(tmp_path / "budget.db", wait=1)) as store:
        assert isinstance(store, SqliteStore)
    with closing(store_at(postgres_url, wait=1)) as store:
        assert isinstance(store, PostgresStore)


@pytest.mark.parametrize("wait", [-1, 86_401, float("nan")])
def test_nobody_waits_less_than_no_time_or_for_days(tmp_path: Path, wait: float) -> None:
    with pytest.raises(InputError, match="wait must be a number of seconds from 0 to 86400"):
        store_at(tmp_path / "budget.db", wait=wait)
