"""The PostgreSQL database: several ledgers in one, its settings, and errors in words."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest

from pbdp.errors import InputError
from pbdp.ledger import Ledger, LedgerError
from pbdp.ledger.errors import (
    DamagedLedgerError,
    LedgerExistsError,
    LockedLedgerError,
    MissingKeyError,
    NotALedgerError,
    ReadOnlyLedgerError,
    UnreachableLedgerError,
)
from pbdp.ledger.keys import Key
from tests.ledger.asking import ledger_with_visits, plan_number, request
from tests.ledger.tampering import after, record_of


def schema_of(postgres_url: str) -> tuple[str, str]:
    plain, _, name = postgres_url.partition("?ledger=")
    return plain, f"pbdp_ledger_{name}"


def test_several_ledgers_live_in_one_database(postgres: str, postgres_url: str) -> None:
    with Ledger.create(postgres) as plain, ledger_with_visits(postgres_url) as named:
        assert plain.identity != named.identity
        assert plain.datasets() == []
        assert [state.name for state in named.datasets()] == ["visits"]
        assert plain.place == postgres.replace("pbdp@", "")
        assert named.place.endswith(postgres_url.rpartition("/")[2])


def test_a_place_that_is_taken_is_refused(postgres_url: str) -> None:
    ledger_with_visits(postgres_url).close()
    with pytest.raises(LedgerExistsError):
        Ledger.create(postgres_url)


def test_a_place_without_a_ledger_is_refused(postgres_url: str) -> None:
    with pytest.raises(NotALedgerError, match="where there is no ledger"):
        Ledger.open(postgres_url)


@pytest.mark.parametrize("name", ["", "Upper", "a;drop table", "x" * 41, "a&ledger=b"])
def test_bad_names_in_the_url_are_refused(postgres: str, name: str) -> None:
    with pytest.raises(InputError, match="ledger in the URL"):
        Ledger.open(f"{postgres}?ledger={name}")


def test_other_options_of_the_url_reach_the_driver(postgres: str, postgres_url: str) -> None:
    ledger_with_visits(postgres_url).close()
    with Ledger.open(f"{postgres_url}&application_name=abc") as ledger:
        connection = ledger._log.store._connection  # type: ignore[attr-defined]
        assert connection.execute("SHOW application_name").fetchone() == ("abc",)
    with pytest.raises(InputError, match="a URL that cannot be read"):
        Ledger.open(f"{postgres}?no_such_option=1")


def test_a_server_that_does_not_answer_is_named_without_the_password() -> None:
    with pytest.raises(UnreachableLedgerError) as refused:
        Ledger.open("postgresql://me:hunter2@127.0.0.1:1/db")
    assert "127.0.0.1:1/db" in str(refused.value)
    assert "hunter2" not in str(refused.value)


def test_a_url_that_cannot_be_read_does_not_show_its_password() -> None:
    with pytest.raises(InputError) as refused:
        Ledger.open("postgresql://me:hunter2@[::1/db")
    assert "hunter2" not in str(refused.value)


def test_commits_are_durable_even_where_the_database_is_set_otherwise(postgres_url: str) -> None:
    ledger_with_visits(postgres_url).close()
    with Ledger.open(f"{postgres_url}&options=-c%20synchronous_commit%3Doff") as ledger:
        store: Any = ledger._log.store
        assert store._connection.execute("SHOW synchronous_commit").fetchone() == ("off",)
        within = store._transaction(store._writing(), lambda run: run("SHOW synchronous_commit", ()))
        assert within == [("on",)]


def test_a_server_without_fsync_is_noted(postgres_url: str) -> None:
    with ledger_with_visits(postgres_url) as ledger:
        assert ledger.notes == (
            "The server runs with fsync=off: a power loss there can lose what was spent.",
        )


def test_records_cannot_be_changed_by_accident(postgres_url: str) -> None:
    ledger_with_visits(postgres_url).close()
    plain, schema = schema_of(postgres_url)
    for change in ("UPDATE {}.record SET time = ''", "DELETE FROM {}.record", "TRUNCATE {}.record CASCADE"):
        with psycopg.connect(plain) as connection, pytest.raises(psycopg.Error, match="only ever appended"):
            connection.execute(change.format(schema))


def test_a_lock_that_is_held_too_long_is_said_and_nothing_is_spent(postgres_url: str) -> None:
    """The owner's, of the whole table: nobody else can take one that keeps writers out."""
    ledger_with_visits(postgres_url).close()
    plain, schema = schema_of(postgres_url)
    with Ledger.open(postgres_url, wait=0.1) as ledger, psycopg.connect(plain) as owner:
        owner.execute(f"LOCK TABLE {schema}.record IN SHARE ROW EXCLUSIVE MODE")
        with pytest.raises(LockedLedgerError, match="Nothing was spent"):
            ledger.reserve(request())
        owner.rollback()
        assert ledger.dataset("visits").spent == {"renyi": 0}
        ledger.reserve(request())


def test_a_role_that_may_only_read_stops_nobody(roles: Callable[[str], str]) -> None:
    plain, schema = schema_of(roles("reading"))
    strongest = f"LOCK TABLE {schema}.record IN ACCESS SHARE MODE"
    with psycopg.connect(plain) as reading, Ledger.open(roles("releasing"), wait=5) as ledger:
        reading.execute(strongest)
        reading.execute("SELECT pg_advisory_lock(id) FROM generate_series(1, 1000) AS id")
        table = f"'{schema}.record'::regclass::oid::bigint"
        lock = int.from_bytes(b"pbdp") << 32
        reading.execute(f"SELECT pg_advisory_lock({lock}), pg_advisory_lock({lock} | {table})")
        with pytest.raises(psycopg.errors.InsufficientPrivilege), reading.transaction():
            reading.execute(strongest.replace("ACCESS SHARE", "ROW EXCLUSIVE"))
        assert ledger.release(request(key="k"), lambda: b"x") == b"x"


def test_a_role_that_may_not_write_is_told_so(postgres_url: str) -> None:
    ledger_with_visits(postgres_url).close()
    with Ledger.open(f"{postgres_url}&options=-c%20default_transaction_read_only%3Don") as ledger:
        ledger.reserve(request())  # a session's default is overruled
    plain, schema = schema_of(postgres_url)
    with psycopg.connect(plain) as connection:
        connection.execute(f"CREATE ROLE reader_{schema} LOGIN")
        connection.execute(f"GRANT USAGE ON SCHEMA {schema} TO reader_{schema}")
        connection.execute(f"GRANT SELECT ON ALL TABLES IN SCHEMA {schema} TO reader_{schema}")
    with Ledger.open(postgres_url.replace("pbdp@", f"reader_{schema}@")) as ledger:
        assert ledger.dataset("visits").spent == {"renyi": 10}
        with pytest.raises(ReadOnlyLedgerError, match="permission denied"):
            ledger.reserve(request(plan=plan_number(1)))


def test_a_role_that_may_read_and_append_is_enough_and_can_change_nothing(postgres_url: str) -> None:
    """As docs/security.md says."""
    ledger_with_visits(postgres_url).close()
    plain, schema = schema_of(postgres_url)
    role = f"releasing_{schema}"
    with psycopg.connect(plain) as connection:
        connection.execute(f"CREATE ROLE {role} LOGIN")
        connection.execute(f"GRANT USAGE ON SCHEMA {schema} TO {role}")
        connection.execute(f"GRANT SELECT, INSERT ON ALL TABLES IN SCHEMA {schema} TO {role}")
    with Ledger.open(postgres_url.replace("pbdp@", f"{role}@")) as ledger:
        assert ledger.release(request(key="k"), lambda: b"x") == b"x"
        assert ledger.verify().sound
    for change in (
        "UPDATE {}.record SET time = ''",
        "TRUNCATE {}.record CASCADE",
        "ALTER TABLE {}.record DISABLE TRIGGER ALL",
        "DROP SCHEMA {} CASCADE",
    ):
        with (
            psycopg.connect(plain.replace("pbdp@", f"{role}@")) as connection,
            pytest.raises(psycopg.errors.InsufficientPrivilege),
        ):
            connection.execute(change.format(schema))


@pytest.fixture
def roles(postgres_url: str) -> Callable[[str], str]:
    """A ledger with the roles of docs/security.md; its URL for a role. The releasing side has the key."""
    plain, schema = schema_of(postgres_url)
    text = (Path(__file__).parents[3] / "docs" / "security.md").read_text(encoding="utf-8")
    (granted,) = re.findall(r"```sql\n(CREATE ROLE.*?)```", text, flags=re.DOTALL)
    ledger_with_visits(postgres_url, limit=10).close()
    with psycopg.connect(plain, autocommit=True) as owner:
        for role in ("releasing", "reading"):
            granted = granted.replace(role, f"{role}_{schema}")
        owner.execute(granted.replace("SCHEMA pbdp_ledger ", f"SCHEMA {schema} "))
    return lambda role: postgres_url.replace("pbdp@", f"{role}_{schema}@")


def refused(url: str, statement: str) -> bool:
    """Whether the server refuses this to the role of the URL."""
    plain, schema = schema_of(url)
    with psycopg.connect(plain, autocommit=True) as connection:
        connection.execute(f"SET search_path = {schema}")
        try:
            connection.execute(statement)
        except psycopg.errors.InsufficientPrivilege:
            return True
    return False


INSERT = "INSERT INTO record SELECT 99, time, kind, payload, previous, hash, key_id, mac FROM record"
CHANGES = [
    "UPDATE record SET payload = '{}'",
    "DELETE FROM record",
    "TRUNCATE record",
    "ALTER TABLE record DISABLE TRIGGER ALL",
    "DROP TABLE record",
    "DROP FUNCTION refuse_change CASCADE",
    "CREATE TABLE more (x int)",
]


def test_the_documented_roles_can_do_what_they_need_and_no_more(roles: Callable[[str], str]) -> None:
    with Ledger.open(roles("releasing")) as ledger:
        assert ledger.release(request(key="k"), lambda: b"x") == b"x"
        assert ledger.verify().macs
    with Ledger.open(roles("reading")) as ledger:
        assert ledger.dataset("visits").spent == {"renyi": 10}
        assert ledger.verify().sound
        with pytest.raises(ReadOnlyLedgerError, match="permission denied"):
            ledger.create_dataset("more", {"renyi": 1}, {}, "add/remove")
    for change in CHANGES:
        assert refused(roles("releasing"), change), change
        assert refused(roles("reading"), change), change
    assert refused(roles("reading"), INSERT)
    assert not refused(roles("releasing"), f"{INSERT} WHERE false")


def test_the_releasing_role_without_the_key_cannot_forge(
    roles: Callable[[str], str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One INSERT, which it may make, is noticed by the next open and by the next spend; nothing is given."""
    with Ledger.open(roles("releasing")) as ledger:
        ledger.release(request(key="k"), lambda: b"x")
        with monkeypatch.context() as elsewhere:
            elsewhere.setenv("PBDP_KEYS", str(tmp_path / "none"))
            with Ledger.open(roles("releasing")) as keyless, pytest.raises(MissingKeyError):
                keyless.reserve(request(plan=plan_number(1)))
        content = record_of(ledger, 2).content | {
            "key": "forged",
            "cost": {"renyi": 0},
            "spent": {"renyi": 0},
        }
        record = after(ledger, "spend", content, Key.fresh())
        plain, schema = schema_of(roles("releasing"))
        with psycopg.connect(plain, autocommit=True) as role:
            places = ", ".join(["%s"] * 9)
            role.execute(f"INSERT INTO {schema}.record VALUES ({places})", record.row())  # noqa: S608
        with pytest.raises(DamagedLedgerError, match="record 4 is under another key than those before it"):
            ledger.reserve(request(plan=plan_number(1)))
    with pytest.raises(DamagedLedgerError, match="record 4 is under another key than those before it"):
        Ledger.open(roles("releasing"))


def test_a_lost_connection_is_an_error_once_and_then_made_again(postgres_url: str) -> None:
    with ledger_with_visits(postgres_url) as ledger:
        connection = ledger._log.store._connection  # type: ignore[attr-defined]
        backend = connection.info.backend_pid
        with psycopg.connect(postgres_url.partition("?")[0]) as other:
            other.execute("SELECT pg_terminate_backend(%s)", [backend])
        with pytest.raises(LedgerError, match="repeat it with the same request key"):
            ledger.release(request(key="k"), lambda: b"x")
        assert ledger.release(request(key="k"), lambda: b"y") == b"y"
        assert ledger.dataset("visits").spent == {"renyi": 10}
