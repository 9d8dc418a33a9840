"""`pbdp tables`, as a user runs it: files in, tables and manifests out, and who paid."""

from __future__ import annotations

import csv
import io
import json
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from pbdp.cli.main import Progress, main
from tests.cli.commands import PBDP, Done, Terminal, assert_refused, run, run_command
from tests.cli.visits import COUNT, FLAGS, rows, true_counts, write_data, write_query

Capture = pytest.CaptureFixture[str]
TRUE = true_counts(rows())


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PBDP_LEDGER", raising=False)
    write_data(tmp_path)
    return tmp_path


def tables(capsys: Capture, *options: str) -> Done:
    return run(capsys, "tables", *options)


def with_ledger(capsys: Capture, epsilon: str = "2") -> list[str]:
    done = run(
        capsys, "ledger", "create", "shop", "--epsilon", epsilon, "--delta", "1e-5", "--ledger", "l.db"
    )
    assert done.code == 0, done.err
    return ["--ledger", "l.db", "--dataset", "shop"]


def read_csv(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def spent(capsys: Capture) -> float:
    found = json.loads(run(capsys, "ledger", "status", "--ledger", "l.db", "--json").out)
    share = found["datasets"][0]["share_spent"]
    assert isinstance(share, float)
    return share


def test_the_real_command_publishes_csv_with_a_manifest_that_verifies(folder: Path) -> None:
    write_query(folder)
    done = run_command("tables", "query.toml", "-o", "out.csv")
    assert (done.code, done.out.startswith("2 groups published in out.csv")) == (0, True), done.err
    assert "NO LEDGER: no ledger recorded this" in done.err
    published = read_csv((folder / "out.csv").read_text(encoding="utf-8"))
    assert [row["city"] for row in published] == ["Paris", "Rome"]
    for row in published:
        assert abs(int(row["visits"]) - TRUE[row["city"]]) < 300
        assert int(row["visits_bounded_within"]) == 50
        assert float(row["visits_confidence"]) >= 0.95
    assert run_command("verify", "out.csv.manifest.json").code == 0


@pytest.mark.parametrize("written", ["csv", "parquet"])
@pytest.mark.parametrize("data", ["visits.csv", "visits.parquet"])
def test_both_formats_go_in_and_out(data: str, written: str, folder: Path, capsys: Capture) -> None:
    seeded = ["--insecure-test-seed", "5"]
    done = tables(capsys, data, *COUNT, *seeded, "-o", f"out.{written}", "--manifest", "m.json")
    assert done.code == 0, done.err
    assert "INSECURE" in done.err
    if written == "csv":
        found: list[dict[str, Any]] = list(read_csv((folder / "out.csv").read_text(encoding="utf-8")))
    else:
        found = pq.read_table(folder / "out.parquet").to_pylist()
    assert [int(row["insecure_test_seed"]) for row in found] == [5, 5]
    # nobody exceeds the bounds, so the same seed gives the same numbers from both files
    again = tables(capsys, "visits.parquet", *COUNT, *seeded)
    assert [int(row["visits"]) for row in read_csv(again.out)] == [int(row["visits"]) for row in found]
    assert not list(folder.glob("*.manifest.json"))
    assert json.loads((folder / "m.json").read_text(encoding="utf-8"))["table"]["file"] == f"out.{written}"


def test_flags_and_query_file_are_the_same_request(folder: Path, capsys: Capture) -> None:
    ledger = with_ledger(capsys)
    write_query(folder)
    first = tables(capsys, "query.toml", *ledger)
    assert first.code == 0, first.err
    again = tables(capsys, "visits.parquet", *COUNT, *ledger)
    assert "stored table" in again.err
    assert again.out == first.out


def test_a_repeated_request_is_stored_and_another_key_is_paid_for(folder: Path, capsys: Capture) -> None:
    ledger = with_ledger(capsys)
    query = str(write_query(folder))
    first = tables(capsys, query, *ledger)
    once = spent(capsys)
    assert "Paid from shop" in first.err
    assert once > 0
    again = tables(capsys, query, *ledger)
    assert again.out == first.out
    assert "nothing was drawn or spent" in again.err
    assert "another --key" in again.err
    assert spent(capsys) == once
    outcomes = {tables(capsys, query, *ledger, "--key", key).out for key in "abc"}
    assert len(outcomes | {first.out}) > 1
    # a little more each time, as less is left
    assert 4 * once <= spent(capsys) <= 4.05 * once


def test_a_repeated_request_with_other_data_is_refused(folder: Path, capsys: Capture) -> None:
    ledger = with_ledger(capsys)
    first = tables(capsys, "visits.csv", *COUNT, *ledger)
    once, file = spent(capsys), folder / "visits.csv"
    before = file.read_bytes()
    file.write_bytes(b"".join(before.splitlines(keepends=True)[:-1]))
    refused = tables(capsys, "visits.csv", *COUNT, *ledger)
    assert_refused(refused, "The data changed; give a new key")
    assert spent(capsys) == once
    assert tables(capsys, "visits.csv", *COUNT, *ledger, "--key", "shorter").code == 0
    file.write_bytes(before)
    assert tables(capsys, "visits.csv", *COUNT, *ledger).out == first.out


def test_what_exceeds_the_budget_is_refused_and_leaves_nothing(folder: Path, capsys: Capture) -> None:
    ledger = with_ledger(capsys, "0.01")
    done = tables(capsys, "visits.parquet", *COUNT, *ledger, "-o", "out.csv")
    assert (done.code, done.out) == (3, "")
    assert "does not allow this" in done.err
    assert spent(capsys) == 0
    assert sorted(path.name for path in folder.glob("*out*")) == []


def test_selected_groups_have_enough_people(folder: Path, capsys: Capture) -> None:
    done = tables(
        capsys, "visits.csv", *FLAGS, "--by", "city", "--select", "100", "--people", "20", "-o", "s.csv"
    )
    assert done.code == 0, done.err
    found = read_csv((folder / "s.csv").read_text(encoding="utf-8"))
    # every city has about 200 people, which a threshold below 100 never misses
    assert [row["city"] for row in found] == sorted(TRUE)
    assert run(capsys, "verify", "s.csv.manifest.json").code == 0


@pytest.mark.parametrize("lines", ["", "1,Paris\n", "1,Paris\n2,Rome\n"])
@pytest.mark.parametrize("written", ["csv", "parquet"])
def test_a_selection_without_groups_is_an_empty_table_whatever_is_in_the_data(
    lines: str, written: str, folder: Path, capsys: Capture
) -> None:
    (folder / "few.csv").write_text(f"user_id,city\n{lines}", encoding="utf-8")
    asked = [*FLAGS, "--by", "city", "--select", "100", "--people", "20", "-o", f"o.{written}"]
    done = tables(capsys, "few.csv", *asked, "--plot", "p.svg")
    assert (done.code, done.out.startswith("0 groups published")) == (0, True), done.err
    assert "none had enough people" in done.err
    assert not (folder / "p.svg").exists()
    verified = run(capsys, "verify", f"o.{written}.manifest.json")
    assert verified.code == 0, verified.out


def test_a_dry_run_needs_no_data_and_spends_nothing(folder: Path, capsys: Capture) -> None:
    ledger = with_ledger(capsys)
    query = str(write_query(folder, data="nowhere.parquet"))
    done = tables(capsys, query, "--dry-run", *ledger)
    assert done.code == 0, done.err
    for words in ("2 public groups by city", "all rows with the same user_id", "Nobody counts in more than"):
        assert words in done.out
    for words in (
        "within 50 of the bounded number",
        "95 %",
        "delta 1e-06",
        "afterwards",
        "Nothing was read",
    ):
        assert words in done.out
    assert "nowhere.parquet is not there yet" in done.err
    assert spent(capsys) == 0
    facts = json.loads(tables(capsys, query, "--dry-run", "--json", *ledger).out)
    (number,) = facts["numbers"]
    assert (number["measure"], number["within"], number["sensitivity"]) == ("visits", 50.0, 1.0)
    assert number["noise"] in done.out
    assert facts["budget"]["fits"] is True
    assert facts["budget"]["paid_before_as"] is None
    # what it says is what is paid
    real = json.loads(tables(capsys, str(write_query(folder)), "--json", *ledger).out)
    assert real["epsilon"] == facts["epsilon"]
    assert real["ledger"]["charged"] == facts["budget"]["cost"]
    assert "costs nothing" in tables(capsys, query, "--dry-run", *ledger).out


def test_a_dry_run_says_when_it_does_not_fit(folder: Path, capsys: Capture) -> None:
    assert folder.is_dir()
    ledger = with_ledger(capsys, "0.01")
    done = tables(capsys, "nowhere.csv", *COUNT, "--dry-run", *ledger)
    assert "does not fit" in done.out
    assert (
        json.loads(tables(capsys, "x.csv", *COUNT, "--dry-run", "--json", *ledger).out)["budget"]["fits"]
        is False
    )
    replaced = tables(capsys, "x.csv", *COUNT, "--neighbors", "replace", "--dry-run", *ledger)
    assert "It would be refused" in replaced.out


def test_a_plan_without_data_named_is_fine_and_a_release_is_not(folder: Path, capsys: Capture) -> None:
    query = str(write_query(folder, data=None))
    assert tables(capsys, query, "--dry-run").code == 0
    assert_refused(tables(capsys, query), "data must be named")
    assert tables(capsys, query, "--data", "visits.csv").code == 0


def test_an_epsilon_finds_widths(folder: Path, capsys: Capture) -> None:
    assert folder.is_dir()
    asked = [*FLAGS, "--by", "city=Paris", "--people", "?", "--epsilon", "1"]
    facts = json.loads(tables(capsys, "x.csv", *asked, "--dry-run", "--json").out)
    assert 0.5 < facts["epsilon"] <= 1
    assert 1 <= facts["numbers"][0]["within"] < 20


def test_sums_with_negative_bounds_and_means(folder: Path, capsys: Capture) -> None:
    asked = [*FLAGS, "--by", "city=Paris", "--sum", "spend", "-20", "120", "4000", "name=total"]
    done = tables(
        capsys, "visits.csv", *asked, "--mean", "spend", "-20", "120", "count_within=60", "-o", "o.csv"
    )
    assert done.code == 0, done.err
    (row,) = read_csv((folder / "o.csv").read_text(encoding="utf-8"))
    paris = [entry["spend"] for entry in rows() if entry["city"] == "Paris"]
    assert abs(float(row["total"]) - sum(paris)) < 40_000
    assert -20 <= float(row["mean_spend_bounded_low"]) <= float(row["mean_spend_bounded_high"]) <= 120
    verified = run(capsys, "verify", "o.csv.manifest.json")
    assert verified.code == 0, verified.out


def test_one_json_object_holds_the_table(folder: Path, capsys: Capture) -> None:
    assert folder.is_dir()
    found = json.loads(tables(capsys, "visits.csv", *COUNT, "--json").out)
    assert [row["city"] for row in found["table"]] == ["Paris", "Rome"]
    assert found["rows"] == 2
    assert "differentially private" in found["statement"]
    written = json.loads(tables(capsys, "visits.csv", *COUNT, "--json", "-o", "o.csv").out)
    assert (written["written_to"], written["manifest"]) == ("o.csv", "o.csv.manifest.json")
    assert "table" not in written


def test_outputs_that_exist_are_refused_before_anything_is_paid(folder: Path, capsys: Capture) -> None:
    ledger = with_ledger(capsys)
    for name in ("out.csv", "out.csv.manifest.json"):
        (folder / name).write_text("mine", encoding="utf-8")
        assert_refused(tables(capsys, "visits.csv", *COUNT, "-o", "out.csv", *ledger), "--force")
        assert (folder / name).read_text(encoding="utf-8") == "mine"
        (folder / name).unlink()
    assert spent(capsys) == 0
    (folder / "out.csv").write_text("mine", encoding="utf-8")
    assert tables(capsys, "visits.csv", *COUNT, "-o", "out.csv", "--force", *ledger).code == 0
    assert run(capsys, "verify", "out.csv.manifest.json").code == 4


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["-o", "visits.csv", "--force"], "another file than those that are read"),
        (["-o", "o.csv", "--manifest", "visits.csv", "--force"], "another file than those that are read"),
        (["-o", "o.csv", "--manifest", "o.csv", "--force"], "another file than the table"),
        (["-o", "o.txt"], ".csv or .parquet"),
        (["-o", "no/o.csv"], "folder that exists"),
        (["-o", "."], "an ordinary file"),
        (["--manifest", "m.json"], "used with -o"),
        (["--plot", "p.bmp"], ".png"),
        (["--plot", "no/p.png"], "folder that exists"),
        (["--dataset", "shop"], "where there is nothing"),
        (["--key", "k"], "no ledger"),
        (["--ledger", "l.db"], "--dataset must be given"),
        (["--ledger", "nowhere.db", "--dataset", "shop"], "ledger"),
        (["--ledger", "l.db", "--dataset", "shop", "--insecure-test-seed", "1"], "without a ledger"),
        (["--insecure-test-seed", "-1"], "from 0"),
        (["--data", "visits.csv"], "used with a query file"),
        (["--table", "visits"], "table"),
        (["--json", "--format", "csv"], "--format"),
        (["--color"], "no option --color"),
    ],
)
def test_options_that_do_not_belong_together(
    options: list[str], words: str, folder: Path, capsys: Capture
) -> None:
    before = sorted(path.name for path in folder.iterdir())
    assert_refused(tables(capsys, "visits.csv", *COUNT, *options), words)
    assert sorted(path.name for path in folder.iterdir()) == before


def test_both_files_vanish_if_one_cannot_be_named(folder: Path, capsys: Capture, monkeypatch: Any) -> None:
    # the name of the table is taken by somebody else while it is being drawn
    from pbdp.tables.table import ReleasedTable

    plain = ReleasedTable.file_bytes

    def taken(table: ReleasedTable, written: str) -> bytes:
        (folder / "out.csv").write_text("somebody's", encoding="utf-8")
        return plain(table, written)

    monkeypatch.setattr(ReleasedTable, "file_bytes", taken)
    assert tables(capsys, "visits.csv", *COUNT, "-o", "out.csv").code == 2
    assert [path.name for path in folder.glob("*out*")] == ["out.csv"]
    assert [path.name for path in folder.glob(".*")] == []
    assert (folder / "out.csv").read_text(encoding="utf-8") == "somebody's"


def test_a_picture_is_drawn(folder: Path, capsys: Capture) -> None:
    done = tables(capsys, "visits.csv", *COUNT, "--plot", "p.svg")
    assert done.code == 0, done.err
    assert "Paris" in (folder / "p.svg").read_text(encoding="utf-8")


def on_a_terminal(folder: Path, *options: str) -> str:
    """What the command shows on a terminal of its own, made by `script`-like means of Python."""
    code = "import pty, sys; sys.exit(pty.spawn(sys.argv[1:]) >> 8)"
    done = subprocess.run(
        [sys.executable, "-c", code, PBDP, *options],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        cwd=folder,
        stdin=subprocess.DEVNULL,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_a_terminal_shows_an_aligned_table(
    folder: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = with_ledger(capsys)
    many = [*FLAGS, "--by", "month=1..30", "--count", "50", *ledger]
    shown = on_a_terminal(folder, "tables", "visits.csv", *many)
    assert "20 of 30 groups" in shown
    assert "month  count  between" in shown
    assert "nothing more" in shown
    # without a ledger the rest could not be had again
    monkeypatch.setattr("sys.stdout", alone := Terminal())
    assert main(["tables", "visits.csv", *many[: -len(ledger)]]) == 0
    lines = alone.getvalue().splitlines()
    assert sum(" and " in line and line.split()[0].isdecimal() for line in lines) == 30


def test_phases_are_told_on_a_terminal_only() -> None:
    import time

    for stream in (Terminal(), io.StringIO()):
        progress = Progress("planning", stream)
        progress._next = 0.0
        with progress:
            time.sleep(0.3)
        assert ("planning, seconds: 0" in stream.getvalue()) == isinstance(stream, Terminal)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["nowhere.csv", *COUNT], "nowhere.csv"),
        (["visits.txt", *COUNT], "data must be"),
        (["s3://bucket/x.parquet", *COUNT], "s3://..."),
        (["visits.csv", *FLAGS, "--by", "town=Paris", "--count", "50"], "town"),
        (["visits.csv", "--unit", "who", *FLAGS[2:], "--by", "city=Paris", "--count", "5"], "who"),
        (["visits.parquet", *FLAGS, "--by", "city=Paris", "--sum", "note", "0", "1", "5"], "numbers"),
        (["visits.parquet", *FLAGS, "--by", "city=1,2", "--count", "50"], "integer, as its keys are"),
        (["visits.parquet", *FLAGS, "--by", "spend=?", "--select", "9", "--count", "5"], "column spend"),
    ],
)
def test_data_that_does_not_fit_the_query_is_refused_before_it_is_paid(
    options: list[str], words: str, folder: Path, capsys: Capture
) -> None:
    ledger = with_ledger(capsys)
    (folder / "visits.txt").write_text("x", encoding="utf-8")
    done = tables(capsys, *options, *ledger)
    assert_refused(done, words)
    assert "private-" not in done.err
    assert spent(capsys) == 0


def test_columns_are_looked_at_before_a_plan_is_made(
    folder: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def too_early(*_: Any) -> None:
        raise AssertionError("planned")

    assert folder.is_dir()
    monkeypatch.setattr("pbdp.tables.planning.plan_table", too_early)
    done = tables(capsys, "visits.csv", *FLAGS, "--by", "town=Paris", "--count", "50")
    assert_refused(done, "town", "user_id, city, month, spend, note")


def test_data_that_breaks_on_the_way_tells_nothing_of_it(folder: Path, capsys: Capture) -> None:
    (folder / "broken.csv").write_text("user_id,city\n1,Paris\nsecret-1,Rome,secret-2\n", encoding="utf-8")
    done = tables(capsys, "broken.csv", *COUNT, "-o", "out.csv")
    assert_refused(done)
    assert "secret" not in done.err
    assert not list(folder.glob("*out*"))


def test_a_damaged_ledger_is_refused(folder: Path, capsys: Capture) -> None:
    ledger = with_ledger(capsys)
    with sqlite3.connect(folder / "l.db") as database:
        (name,) = database.execute("select name from sqlite_master where type = 'table' limit 1").fetchone()
        database.execute(f"drop table {name}")
    database.close()
    done = tables(capsys, "visits.csv", *COUNT, *ledger)
    assert done.code == 2
    assert "Traceback" not in done.err


def test_an_interrupt_leaves_no_file(folder: Path, capsys: Capture, monkeypatch: Any) -> None:
    from pbdp.tables import release

    def interrupted(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(release, "release_table", interrupted)
    assert tables(capsys, "visits.csv", *COUNT, "-o", "out.csv").code == 130
    assert sorted(path.name for path in folder.iterdir()) == ["visits.csv", "visits.parquet"]


def test_errors_of_files_are_not_blamed_on_the_output(
    folder: Path, capsys: Capture, monkeypatch: Any
) -> None:
    from pbdp.tables import release

    def vanished(*_: Any, **__: Any) -> None:
        raise FileNotFoundError(2, "No such file or directory")

    assert folder.is_dir()
    monkeypatch.setattr(release, "release_table", vanished)
    assert_refused(tables(capsys, "visits.csv", *COUNT, "-o", "out.csv"), "data must be readable")


def test_help_shows_both_ways(capsys: Capture) -> None:
    done = run(capsys, "tables", "--help-all")
    assert done.code == 0
    for words in ("--by", "[visits]", "--dry-run", "pbdp verify", "5%+500"):
        assert words in done.out


def test_the_top_groups_are_planned_published_paid_and_verified(folder: Path, capsys: Capture) -> None:
    write_query(folder, by={"city": ["Paris", "Rome", "Oslo", "Bonn"]}, top=2, bounds_touched=False)
    shown = tables(capsys, "query.toml", "--dry-run")
    assert shown.code == 0
    assert "the top 2 of 4 public groups by city" in shown.out
    assert "None that is left out is more than 50" in " ".join(shown.out.split())
    paid = with_ledger(capsys)
    done = tables(capsys, "query.toml", *paid, "--key", "top", "-o", "top.csv")
    assert done.code == 0, done.err
    assert "None that is left out" in done.err
    published = read_csv((folder / "top.csv").read_text())
    assert len(published) == 2
    assert {row["city"] for row in published} <= {"Paris", "Rome", "Oslo"}
    again = tables(capsys, "query.toml", *paid, "--key", "top", "-o", "again.csv")
    assert again.code == 0
    assert (folder / "again.csv").read_bytes() == (folder / "top.csv").read_bytes()
    checked = run(capsys, "verify", "top.csv.manifest.json", "--ledger", "l.db")
    assert checked.code == 0, checked.out
    assert "the table is the one that the ledger stored" in checked.out


@pytest.mark.usefixtures("folder")
def test_the_top_groups_in_flags(capsys: Capture) -> None:
    def top(*words: str) -> Done:
        flags = [
            *FLAGS,
            "--by",
            "city=Paris,Rome,Oslo",
            "--count",
            "50",
            "name=visits",
            "--bounds-touched",
            "false",
        ]
        return tables(capsys, "visits.parquet", *flags, "--top", *words, "--dry-run", "--json")

    shown = top("1", "within=30", "confidence=0.9")
    assert shown.code == 0, shown.err
    found = json.loads(shown.out)["top"]
    assert (found["groups"], found["by"], found["within"], found["of"]) == (1, "visits", 30, 3)
    assert found["confidence"] >= 0.9
    assert_refused(top("1", "near=3"), "settings of top")
    assert_refused(top("3"), "top", "below 3")
    assert_refused(top("1", "30"), "settings of top")
    assert_refused(top("some"), "groups of top")
    assert_refused(top("1", "among=few"), "among")


def test_several_tables_are_written_with_one_manifest_and_paid_for_once(
    folder: Path, capsys: Capture
) -> None:
    asked = [*FLAGS, "--by", "city=Paris,Rome", "--by", "month=1..12", "--count", "80", "name=visits"]
    asked += ["--tables", "city,month", "--tables", "city", "--tables", "total", "-o", "out.csv"]
    done = tables(capsys, "visits.parquet", *asked, *with_ledger(capsys))
    assert done.code == 0, done.err
    found = [read_csv((folder / name).read_text()) for name in ("out.csv", "out.city.csv", "out.total.csv")]
    assert [len(rows) for rows in found] == [24, 2, 1]
    assert len({sum(int(row["visits"]) for row in rows) for rows in found}) == 1
    assert run(capsys, "ledger", "history", "--ledger", "l.db").out.count("visits") <= 2
    checked = run(capsys, "verify", "out.csv.manifest.json", "--ledger", "l.db")
    assert checked.code == 0, checked.out + checked.err
    assert "sums agree" in checked.out
    refused = tables(capsys, "visits.parquet", *asked[:-8], "--tables", "town", "-o", "x.csv")
    assert_refused(refused, "columns of tables")


def test_running_totals_go_on_under_one_key(folder: Path, capsys: Capture) -> None:
    asked = ["--one-row-per-person", "--by", "month=1..12", "--running", "month", "--delta", "1e-6"]
    asked += ["--count", "80", "name=visits"]
    paid = with_ledger(capsys)
    found = []
    for last in (3, 7):
        written = ["--through", str(last), "-o", f"{last}.csv"]
        done = tables(capsys, "visits.parquet", *asked, *written, *paid)
        assert done.code == 0, done.err
        found.append([row["visits"] for row in read_csv((folder / f"{last}.csv").read_text())])
        checked = run(capsys, "verify", f"{last}.csv.manifest.json", "--ledger", "l.db")
        assert checked.code == 0, checked.out + checked.err
        assert ("nothing; " in done.err + done.out) == (last == 7)
    assert [len(one) for one in found] == [3, 7]
    assert found[1][:3] == found[0]
    planned = tables(capsys, "visits.parquet", *asked, "--dry-run")
    assert "every number is the total up to its month" in planned.out
    assert_refused(tables(capsys, "visits.parquet", *asked, "--through", "13"), "one of the keys")


def test_people_in_many_groups_are_told_how_running_totals_go_on(folder: Path, capsys: Capture) -> None:
    asked = [
        "--unit",
        "user_id",
        "--groups-per-person",
        "2",
        "--rows-per-group",
        "1",
        "--bounds-touched",
        "false",
    ]
    asked += ["--by", "month=1..12", "--running", "month", "--delta", "1e-6", "--count", "80", "name=visits"]
    asked += ["--through", "3"]
    assert folder.is_dir()
    assert_refused(tables(capsys, "visits.parquet", *asked), "say --append-only")
    planned = tables(capsys, "visits.parquet", *asked, "--append-only", "--dry-run")
    assert planned.code == 0, planned.err
    assert "the first ones by month" in " ".join(planned.out.split())
    done = tables(capsys, "visits.parquet", *asked, "--append-only", "-o", "3.csv")
    assert done.code == 0, done.err
    assert len(read_csv((folder / "3.csv").read_text())) == 3


def test_the_last_day_of_a_query_file_may_be_a_flag(folder: Path, capsys: Capture) -> None:
    (folder / "running.toml").write_text(
        'data = "visits.parquet"\none_row_per_person = true\ndelta = 1e-6\nrunning = "month"\n'
        'through = 2\n[by]\nmonth = "1..12"\n[visits]\nkind = "count"\nwithin = 80\n'
    )
    for more, count in (((), 2), (("--through", "5"), 5)):
        done = tables(capsys, "running.toml", *more, "-o", "r.csv", "--force")
        assert done.code == 0, done.err
        assert len(read_csv((folder / "r.csv").read_text())) == count
