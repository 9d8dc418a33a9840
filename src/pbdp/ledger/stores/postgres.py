"""A ledger in a PostgreSQL database, for several machines.

Each ledger has a schema of its own: `postgresql://host/database` is the one in `pbdp_ledger`, and
`postgresql://host/database?ledger=clinic` the one in `pbdp_ledger_clinic`.

No lock is taken: a row is added under its number, the table's primary key, so of two that come at once one is
refused, and its writer reads on and tries again. A role that may only read can hold nothing that stops this.
synchronous_commit is on: COMMIT returns when the write-ahead log is on disk. Everything is set per
transaction, so that connection poolers do no harm. A client that vanishes in the middle loses its
transaction, at the latest after `IDLE`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, LiteralString

from pbdp.errors import InputError, PbdpError, without_passwords
from pbdp.ledger.errors import (
    DamagedLedgerError,
    LedgerExistsError,
    LockedLedgerError,
    NotALedgerError,
    ReadOnlyLedgerError,
    UnreachableLedgerError,
)
from pbdp.ledger.keys import random_bytes
from pbdp.ledger.record import Row
from pbdp.ledger.stores.sql import APPEND, TABLE, Run, SqlStore

if TYPE_CHECKING:
    import psycopg

SCHEMA = "pbdp_ledger"
CONNECT_SECONDS = 10
# Seconds that the server waits for the next statement of a transaction before it takes it back.
IDLE = 60
_NAME = re.compile(r"[a-z][a-z0-9_]{0,39}")
_HOW = "In a password write @ as %40, : as %3A, / as %2F and ? as %3F."
_PLAIN = {
    "host": re.compile(r"[\w.,:%/\[\]-]*"),
    "hostaddr": re.compile(r"[\w.,:%-]*"),
    "port": re.compile(r"[\d,]*"),
    "dbname": re.compile(r"[^@:/=?]*"),
}

_SCHEMA = (
    TABLE.format(number="BIGINT", blob="BYTEA"),
    "CREATE OR REPLACE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS "
    "$$ BEGIN RAISE EXCEPTION 'a ledger is only ever appended to'; END $$",
    "CREATE TRIGGER not_to_change BEFORE UPDATE OR DELETE OR TRUNCATE ON record "
    "FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()",
)

_BEGIN_WRITING = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE"
_BEGIN_READING = "BEGIN ISOLATION LEVEL READ COMMITTED READ ONLY"
# `remote_apply` is the one setting that is stronger than `on`.
_DURABLE = (
    "SELECT set_config('synchronous_commit', CASE current_setting('synchronous_commit') "
    "WHEN 'remote_apply' THEN 'remote_apply' ELSE 'on' END, true)"
)


def _split(url: str) -> tuple[str, str]:
    """The URL as libpq knows it, and the schema that its `ledger` part names."""
    base, _, query = url.partition("?")
    options = [option for option in query.split("&") if option]
    names = [option.removeprefix("ledger=") for option in options if option.startswith("ledger=")]
    if not all(_NAME.fullmatch(name) for name in names) or len(names) > 1:
        rule = "a letter and then up to 39 letters, digits or underscores, all lower case"
        raise InputError("ledger in the URL", rule, "another name" if len(names) == 1 else "two names")
    rest = "&".join(option for option in options if not option.startswith("ledger="))
    schema = f"{SCHEMA}_{names[0]}" if names else SCHEMA
    return (f"{base}?{rest}" if rest else base), schema


class PostgresStore(SqlStore):
    """`url` names the database and the ledger in it; `wait` is how many seconds to wait for a lock."""

    def __init__(self, url: str, *, wait: float) -> None:
        try:
            import psycopg
        except ImportError:
            remedy = "Install it: pip install 'pbdp[postgres]'."
            raise InputError("ledger", "a file where psycopg is not installed", "a URL", remedy) from None
        self._driver = psycopg
        url, self._schema = _split(url)
        rule = "postgresql://user@host:port/database"
        try:
            self._parameters = psycopg.conninfo.conninfo_to_dict(url)
        except psycopg.ProgrammingError:
            # the driver's message may quote the URL, and with it a password
            raise InputError("ledger", rule, "a URL that cannot be read", _HOW) from None
        known = {name: str(value) for name, value in self._parameters.items()}
        # parts of a password that holds @ : / or ? would be taken for these, and shown
        if not all(_PLAIN[name].fullmatch(known.get(name, "")) for name in _PLAIN):
            raise InputError("ledger", rule, "a URL whose parts cannot be told apart", _HOW)
        super().__init__(wait)

    @property
    def place(self) -> str:
        known = self._parameters
        host, database = known.get("host", "localhost"), known.get("dbname", "")
        port = f":{known['port']}" if "port" in known else ""
        ledger = self._schema.removeprefix(SCHEMA)
        return f"postgresql://{host}{port}/{database}" + (f"?ledger={ledger[1:]}" if ledger else "")

    def create(self, rows: Iterable[Row]) -> None:
        """Make the schema and the table; see the interface."""
        kinds = self._driver.errors

        def make(run: Run) -> None:
            if run("SELECT to_regclass(?)", (f"{self._schema}.record",))[0][0] is not None:
                raise LedgerExistsError(self.place)
            run(f"CREATE SCHEMA IF NOT EXISTS {self._schema}", ())
            self._fill(run, rows)

        with self._words():
            try:
                self._transaction(self._writing(), make)
            except (kinds.UniqueViolation, kinds.DuplicateTable, kinds.DuplicateSchema):  # another was first
                raise LedgerExistsError(self.place) from None

    def _fill(self, run: Run, rows: Iterable[Row]) -> None:
        run(f"SET LOCAL search_path = {self._schema}", ())
        for statement in _SCHEMA:
            run(statement, ())
        for row in rows:
            run(APPEND, row)

    def append(self, row: Row) -> bool:
        """Add a row, unless there is one of its number."""
        begin = f"{self._writing()}; SET LOCAL search_path = {self._schema}"
        with self._words():
            try:
                self._transaction(begin, lambda run: run(APPEND, row))
            except self._driver.errors.UniqueViolation:
                return False
        return True

    def replace(self, rows: Iterable[Row]) -> str:
        """A new table in the place of this one, which gets another name."""
        old = f"record_damaged_{random_bytes(4).hex()}"

        def put(run: Run) -> None:
            run(f"ALTER TABLE {self._schema}.record RENAME TO {old}", ())
            self._fill(run, rows)

        with self._words():
            self._transaction(self._writing(), put)
        return f"{self.place}, table {self._schema}.{old} (grant the roles their rights on the new one again)"

    def fault(self) -> str | None:
        """The server looks after its own files."""
        return None

    def notes(self) -> list[str]:
        """Settings of the server that are not safe."""

        def look(run: Run) -> list[str]:
            return [name for name in ("fsync", "full_page_writes") if run(f"SHOW {name}", ())[0][0] == "off"]

        with self._words():
            off = self._transaction("BEGIN READ ONLY", look)
        return [
            f"The server runs with {name}=off: a power loss there can lose what was spent." for name in off
        ]

    def _reading(self) -> str:
        return f"{_BEGIN_READING}; SET LOCAL search_path = {self._schema}"

    def _writing(self) -> str:
        return (
            f"{_BEGIN_WRITING}; {_DURABLE}; "
            f"SET LOCAL lock_timeout = {max(1, int(1000 * self._wait))}; "
            f"SET LOCAL idle_in_transaction_session_timeout = {1000 * IDLE}"
        )

    def _transaction(self, begin: str, work: Callable[[Run], Any]) -> Any:
        # The driver can be interrupted in the middle of its own work. Then the connection is given up, by one
        # call into C, before which no signal handler can run; the server takes the transaction back.
        connection: psycopg.Connection[tuple[Any, ...]] | None = None
        try:
            connection = mine = self._connected()

            def run(statement: str, values: tuple[object, ...]) -> Sequence[tuple[Any, ...]]:
                done = mine.execute(_placed(statement), values or None)
                return done.fetchall() if done.description else ()

            connection.execute(_placed(begin))
            done = work(run)
            self._refuse_fork()
            connection.execute("COMMIT")
        except (PbdpError, self._driver.Error):
            # a child that was forked meanwhile has no connection
            if connection is not None and connection is self._connection:
                try:
                    connection.execute("ROLLBACK")
                except self._driver.Error:
                    connection.pgconn.finish()
                except BaseException:
                    connection.pgconn.finish()
                    raise
            raise
        except BaseException:
            if connection is not None and connection is self._connection:
                connection.pgconn.finish()
            raise
        return done

    def _connected(self) -> psycopg.Connection[tuple[Any, ...]]:
        self._refuse_fork()
        if self._connection is None or self._connection.closed:
            options: dict[str, Any] = {"connect_timeout": CONNECT_SECONDS, **self._parameters}
            # statements prepared on the server do not go together with connection poolers
            self._connection = self._driver.connect(**options, autocommit=True, prepare_threshold=None)
        connection: psycopg.Connection[tuple[Any, ...]] = self._connection
        return connection

    @contextmanager
    def _words(self) -> Iterator[None]:
        """The driver's errors as ours."""
        try:
            yield
        except self._driver.Error as problem:
            raise self._worded(problem) from None

    def _worded(self, problem: psycopg.Error) -> Exception:
        kinds = self._driver.errors
        text = problem.diag.message_primary or str(problem).partition("\n")[0]
        for name in ("password", "sslpassword"):
            if secret := self._parameters.get(name):
                text = text.replace(str(secret), "***")
        text = without_passwords(text)
        if isinstance(problem, kinds.UndefinedTable | kinds.UndefinedColumn | kinds.InvalidSchemaName):
            return NotALedgerError(self.place, "where there is no ledger of this version", empty=True)
        if isinstance(problem, kinds.LockNotAvailable):
            return LockedLedgerError(self.place, self._wait)
        if isinstance(problem, kinds.ReadOnlySqlTransaction | kinds.InsufficientPrivilege):
            return ReadOnlyLedgerError(self.place, text)
        if isinstance(problem, self._driver.OperationalError | self._driver.InterfaceError):
            return UnreachableLedgerError(self.place, text)
        return DamagedLedgerError(self.place, f"PostgreSQL says: {text}")


def _placed(statement: str) -> LiteralString:
    """A statement in the driver's spelling. Values never stand in statements, only a checked schema name."""
    return statement.replace("?", "%s")
