"""Messages: passwords are in none and never become file names, and odd numbers end in one, not in a crash."""

from __future__ import annotations

from contextlib import suppress
from decimal import Decimal
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import pandas as pd
import polars as pl
import pytest

import pbdp
from pbdp.errors import InputError, PbdpError, without_passwords
from pbdp.ledger import Ledger, verify_ledger
from pbdp.parameters import is_connection
from pbdp.tables.engines.sources import source_of
from tests.cli.commands import run

SECRET = "hunter2"  # noqa: S105
WITH_PASSWORD = [
    f"postgresql://me:{SECRET}@127.0.0.1:1/db",
    f"postgres://me:{SECRET}@127.0.0.1:1/db?ledger=clinic",
    f"postgresql://me:a%40{SECRET}@127.0.0.1:1/db",
    f"postgresql://me:a@{SECRET}@127.0.0.1:1/db",
    f"postgresql://me:a/{SECRET}@127.0.0.1:1/db",
    f"postgresql://me:a?{SECRET}@127.0.0.1:1/db",
    f"postgresql://me:a?ledger={SECRET}@127.0.0.1:1/db",
    f"postgresql://me:a:{SECRET}@127.0.0.1:1/db",
    f"postgresql://me:a {SECRET}@127.0.0.1:1/db",
    f"postgresql://127.0.0.1:1/db?user=me&password={SECRET}",
    f"postgresql://127.0.0.1:1/db?user=me&password={SECRET}&ledger=Upper",
    f"postgresql://127.0.0.1:1/db?sslpassword={SECRET}",
    f"postgresql://127.0.0.1:1/host%3Dx%20password%3D{SECRET}",
    f"postgresql://me:{SECRET}@[::1/db",
    f"postgresql://me:{SECRET}@127.0.0.1:port/db",
    f"PostgreSQL://me:{SECRET}@127.0.0.1:1/db",
    f"postgresql:/me:{SECRET}@127.0.0.1:1/db",
    f"postgresql:me:{SECRET}@127.0.0.1:1/db",
    f" postgresql://me:{SECRET}@127.0.0.1:1/db",
    f"'postgresql://me:{SECRET}@127.0.0.1:1/db'",
    f"mysql+pymysql://me:{SECRET}@127.0.0.1:1/db",
    f"me:{SECRET}@127.0.0.1/db",
    f"//me:{SECRET}@127.0.0.1/db",
    f"host=127.0.0.1 port=1 dbname=db user=me password={SECRET}",
    f"host = 127.0.0.1 password = '{SECRET} two'",
    f"PASSWORD={SECRET}",
    f"dbname=db password='a\\'{SECRET}'",
]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PBDP_STATE", str(tmp_path / "state"))
    return tmp_path


def _said(error: BaseException) -> str:
    """Everything that a log would hold."""
    return f"{error} {error!r} {vars(error)}"


@pytest.mark.parametrize("place", WITH_PASSWORD)
@pytest.mark.parametrize("act", [Ledger.create, Ledger.open, verify_ledger], ids=lambda act: act.__name__)
def test_no_password_of_a_ledger_is_shown_or_becomes_a_file(here: Path, place: str, act: object) -> None:
    try:
        shown = str(act(place))  # type: ignore[operator]
    except PbdpError as refused:
        shown = _said(refused)
    assert SECRET not in shown
    assert not [path for path in here.rglob("*") if SECRET in str(path)]


@pytest.mark.parametrize("place", WITH_PASSWORD)
def test_no_password_of_data_is_shown(here: Path, place: str) -> None:
    with pytest.raises(PbdpError) as refused:
        source_of(place, "visits").kinds()
    assert SECRET not in _said(refused.value)
    assert not list(here.iterdir())


@pytest.mark.parametrize("place", WITH_PASSWORD)
def test_no_password_is_shown_by_the_command_line(
    here: Path, place: str, capsys: pytest.CaptureFixture[str]
) -> None:
    made = ("ledger", "create", "visits", "--epsilon", "1", "--delta", "1e-6", "--ledger", place)
    for asked in (made, ("ledger", "status", "--ledger", place), ("ledger", "verify", "--ledger", place)):
        done = run(capsys, *asked)
        assert SECRET not in done.out + done.err
        assert done.code != 0
    for mistake in (("ledger", place), ("ledger", "status", "visits", place), ("plan", "--within", place)):
        assert SECRET not in run(capsys, *mistake).err
    assert not [path for path in here.rglob("*") if SECRET in str(path)]


@pytest.mark.parametrize(
    "name",
    [
        "budget.db",
        "/srv/a b/budget.db",
        "C:\\ledgers\\budget.db",
        "a?mode=memory",
        ":memory:",
        "day=1/host=a/part.parquet",
        "user=5",
        "me@home.db",
        "passwords.db",
        "./me:x@home",
    ],
)
def test_names_of_files_are_names_of_files(name: str) -> None:
    assert not is_connection(name)
    assert without_passwords(f"there is no file {name}") == f"there is no file {name}"


def test_a_message_keeps_what_is_not_secret() -> None:
    text = (
        "The ledger postgresql://db.example:5432/shop?ledger=clinic cannot be reached: no password supplied."
    )
    assert without_passwords(text) == text
    assert (
        without_passwords(f"postgresql://me:{SECRET}@db/shop is down") == "postgresql://***@db/shop is down"
    )
    error = InputError("data", "there", f"s3://key:{quote(SECRET)}@bucket/x")
    assert (str(error), error.value) == ("data must be there; got s3://***@bucket/x.", "s3://***@bucket/x")


def test_a_number_of_thousands_of_digits_is_refused_in_words() -> None:
    assert "thousands of digits" in str(InputError("width", "smaller", 10**5000))


ODD: dict[str, object] = {
    "signalling NaN in a list": [Decimal("sNaN"), 1],
    "signalling NaN in an array": np.array([Decimal("sNaN"), 1], dtype=object),
    "signalling NaN in pandas": pd.Series([Decimal("sNaN"), 1], dtype=object),
    "128 bits": pl.Series([1, 2**100], dtype=pl.Int128),
    "128 bits without a sign": pl.Series([1, 2**127], dtype=pl.UInt128),
    "thousands of digits": [10**5000, 1],
}


@pytest.mark.parametrize("answers", ODD.values(), ids=ODD)
@pytest.mark.parametrize("integer", [True, False])
def test_odd_answers_are_released_or_refused_in_words(answers: object, integer: bool) -> None:
    plan = pbdp.plan(within=5, confidence=0.9, sensitivity=1, delta=1e-6, integer=integer)
    with suppress(PbdpError):
        plan.release(answers, disjoint=True)


@pytest.mark.parametrize("name", ["within", "confidence", "sensitivity", "delta", "releases", "epsilon"])
@pytest.mark.parametrize(
    "value", [Decimal("sNaN"), 10**5000, Decimal("1e999999")], ids=["sNaN", "10^5000", "dec"]
)
def test_odd_settings_are_refused_in_words(name: str, value: object) -> None:
    asked: dict[str, Any] = {"within": 5, "confidence": 0.9, "sensitivity": 1, "delta": 1e-6, "integer": True}
    if name == "epsilon":
        asked.pop("confidence")
    with pytest.raises(PbdpError):
        pbdp.plan(**(asked | {name: value}))
