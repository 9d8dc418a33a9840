"""`pbdp local estimate`: reports of any number of files, estimated as the library does."""

from __future__ import annotations

import csv
import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pbdp.local import count_reports, estimate, load_configuration
from reproduction.age_errors import adult_ages
from tests.cli.commands import assert_refused, run
from tests.cli.local.survey import AGES, FAR, estimates, local

Capture = pytest.CaptureFixture[str]


@pytest.mark.parametrize("kind", ["category", "value"])
@pytest.mark.parametrize("source", ["reports.csv", "reports.parquet"])
def test_the_adult_ages_come_back(capsys: Capture, folder: Path, kind: str, source: str) -> None:
    record = estimates(capsys, folder, "--input", f"@{source}", "--of", kind)
    ages = adult_ages()
    truth: dict[Any, int] = dict.fromkeys(range(10, 101), 0) | ages
    if kind == "category":
        truth = Counter()
        for age, people in ages.items():
            truth[f"{age // 10}0..{age // 10}9"] += people
    spread = load_configuration(folder / "survey.json").variances(kind)
    errors = np.sqrt(spread.at(np.array([ages.get(age, 0) for age in range(10, 101)], dtype=np.float64)))
    assert record["users"] == sum(ages.values())
    assert len(record["estimates"]) == len(errors)
    for row, error in zip(record["estimates"], errors, strict=True):
        assert abs(row["estimate"] - truth.get(row[kind], 0)) < FAR * error
        # an estimate may be negative, an interval of people may not
        assert 0 <= row["low"] <= max(row["estimate"], 0) <= row["high"]
        assert row["share"] == pytest.approx(row["estimate"] / record["users"])
        if row["low"] > 0:
            assert row["high"] - row["low"] == pytest.approx(2 * 1.96 * error, rel=0.1)


def test_is_the_library_s_estimate(capsys: Capture, folder: Path) -> None:
    survey = load_configuration(folder / "survey.json")
    reports = pq.read_table(folder / "reports.parquet").column("report").to_numpy()
    for flags, settings in (
        ([], {}),
        (["--joint", "--confidence", "0.99"], {"joint": True, "confidence": 0.99}),
        (["--guaranteed"], {"method": "guaranteed"}),
    ):
        made: Any = estimate(survey, count_reports(survey, reports), "category", **settings)
        record = estimates(capsys, folder, "--input", "@reports.parquet", *flags)
        assert [row["low"] for row in record["estimates"]] == made.low.tolist()
        assert [row["high"] for row in record["estimates"]] == made.high.tolist()
    record = estimates(capsys, folder, "--input", "@reports.parquet", "--of", "value", "--projected")
    made = estimate(survey, count_reports(survey, reports)).projected()
    assert [row["estimate"] for row in record["estimates"]] == made.people.tolist()
    assert record["biased"] is True


def test_several_collectors_add_up_however_they_count(capsys: Capture, folder: Path, tmp_path: Path) -> None:
    """Rows, groups and Parquet give what one file of everything gives."""
    lines = (folder / "reports.csv").read_text().splitlines()
    head, rows = lines[0], lines[1:]
    (tmp_path / "north.csv").write_text("\n".join([head, *rows[:20_000]]))
    groups = Counter(rows[20_000:])
    grouped = [f"{row},{count}" for row, count in groups.items()]
    (tmp_path / "south.csv").write_text("\n".join([f"{head},people", *grouped]))
    whole = estimates(capsys, folder, "--input", "@reports.csv")
    north = estimates(capsys, folder, "--input", str(tmp_path / "north.csv"))
    south = estimates(capsys, folder, "--input", str(tmp_path / "south.csv"), "--counts", "people")
    assert north["users"] + south["users"] == whole["users"]
    for i, row in enumerate(whole["estimates"]):
        parts = north["estimates"][i]["estimate"] + south["estimates"][i]["estimate"]
        assert parts == pytest.approx(row["estimate"], abs=1e-6)
    rest = tmp_path / "rest.csv"
    rest.write_text("\n".join([head, *rows[20_000:]]))
    together = estimates(capsys, folder, "--input", str(tmp_path / "north.csv"), str(rest))
    assert together["estimates"] == whole["estimates"]
    assert [file["users"] for file in together["files"]] == [20_000, len(rows) - 20_000]


def test_bad_reports_are_counted_named_and_left_out(capsys: Capture, folder: Path, tmp_path: Path) -> None:
    mine = load_configuration(folder / "survey.json").fingerprint
    other = load_configuration(folder / "other.json").fingerprint
    bad = ["7777", "x", "37.5", "", "  "]
    rows = [*(f"{report},{mine}" for report in bad), f"37,{other}", "37,", f"37,{mine},more", "", "37"]
    (tmp_path / "bad.csv").write_text("\n".join(["report,survey", *rows, f"37,{mine}", "", ""]))
    words = ["estimate", "@survey.json", "--input", "@reports.csv", str(tmp_path / "bad.csv")]
    done = local(capsys, folder, *words, "--json")
    record, clean = json.loads(done.out), estimates(capsys, folder, "--input", "@reports.csv")
    expected = {
        "unknown value": 1,
        "wrong type": 2,
        "another configuration": 3,
        "null": 2,
        "broken row": 2,
    }
    assert record["refused"] == expected
    assert record["files"][1]["users"] == 1
    assert record["users"] == clean["users"] + 1
    assert f"{tmp_path / 'bad.csv'}: refused 10 of 11 reports" in done.err
    assert "7777" not in done.err


def test_json_reports_are_counted(capsys: Capture, folder: Path, tmp_path: Path) -> None:
    mine = load_configuration(folder / "survey.json").fingerprint
    rows = [{"report": report, "survey": mine} for report in (37, 38, "37", None)]
    (tmp_path / "all.json").write_text(json.dumps([*rows, {"report": 37, "survey": "x"}]))
    (tmp_path / "bare.json").write_text("[37, 7777]")
    words = ["--input", str(tmp_path / "all.json"), str(tmp_path / "bare.json")]
    first, second = estimates(capsys, folder, *words)["files"]
    assert first["refused"] == {"wrong type": 1, "null": 1, "another configuration": 1}
    assert (first["users"], first["survey_stated"]) == (2, True)
    assert second["refused"] == {"unknown value": 1}
    assert (second["users"], second["survey_stated"]) == (1, False)


def test_nothing_but_another_survey_is_refused(capsys: Capture, folder: Path, tmp_path: Path) -> None:
    for ending in ("csv", "parquet"):
        words = [
            "estimate",
            "@other.json",
            "--input",
            f"@reports.{ending}",
            "-o",
            str(tmp_path / "out.csv"),
        ]
        done = local(capsys, folder, *words)
        assert_refused(done, "none", f"{sum(adult_ages().values())} another configuration")
    assert not list(tmp_path.iterdir())


def test_parquet_says_its_survey_without_the_column(capsys: Capture, folder: Path, tmp_path: Path) -> None:
    table = pq.read_table(folder / "reports.parquet").select(["report"])
    pq.write_table(table, tmp_path / "bare.parquet")
    name = str(tmp_path / "bare.parquet")
    assert_refused(local(capsys, folder, "estimate", "@other.json", "--input", name), "another configuration")
    assert estimates(capsys, folder, "--input", name)["files"][0]["survey_stated"] is True
    pq.write_table(table.replace_schema_metadata(None), tmp_path / "none.parquet")
    done = local(capsys, folder, "estimate", "@survey.json", "--input", str(tmp_path / "none.parquet"))
    assert done.code == 0
    assert "has no column `survey`" in done.err


@pytest.mark.parametrize(
    ("column", "why"),
    [
        (pa.array([37.0, None, 38.0]), {"null": 1, "wrong type": 2}),
        (pa.array([37, None, 7777]), {"null": 1, "unknown value": 1}),
        (pa.array(["37", "38", None]), {"null": 1, "wrong type": 2}),
        (pa.array([True, False, None]), {"null": 1, "wrong type": 2}),
    ],
)
def test_parquet_of_other_types_is_counted(
    capsys: Capture, folder: Path, tmp_path: Path, column: pa.Array, why: dict[str, int]
) -> None:
    pq.write_table(pa.table({"report": column}), tmp_path / "in.parquet")
    record = estimates(capsys, folder, "--input", "@reports.csv", str(tmp_path / "in.parquet"))
    assert record["files"][1]["refused"] == why


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_test_seed_leaves_its_mark(capsys: Capture, folder: Path, tmp_path: Path, ending: str) -> None:
    made = str(tmp_path / f"reports.{ending}")
    words = ["--input", "@ages.txt", "--insecure-test-seed", "3", "-o", made]
    assert local(capsys, folder, "randomize", "@survey.json", *words).code == 0
    words = ["--input", made, "-o", str(tmp_path / "out.csv")]
    done = local(capsys, folder, "estimate", "@survey.json", *words)
    assert "INSECURE" in done.err
    assert (tmp_path / "out.csv").read_text().splitlines()[1].endswith(",true")


def test_means_distributions_and_quantiles(capsys: Capture, folder: Path, tmp_path: Path) -> None:
    mean = sum(age * people for age, people in adult_ages().items()) / sum(adult_ages().values())
    for goal, family in (("mean", "mean response"), ("distribution", "square wave")):
        out = str(tmp_path / f"{goal}.json")
        words = ["--values", "10..100", "--epsilon", "3", "--goal", goal, "-o", out]
        assert run(capsys, "local", "plan", *words).code == 0
        assert load_configuration(out).kind == family
        reports = str(tmp_path / f"{goal}.csv")
        done = local(capsys, folder, "randomize", out, "--input", "@ages.txt", "-o", reports)
        assert done.code == 0
    found = json.loads(
        run(
            capsys,
            "local",
            "estimate",
            str(tmp_path / "mean.json"),
            "--input",
            reports_of(tmp_path, "mean"),
            "--json",
        ).out
    )
    assert found["of"] == "mean"
    assert abs(found["estimates"][0]["estimate"] - mean) < FAR * 0.14
    wave = [
        "local",
        "estimate",
        str(tmp_path / "distribution.json"),
        "--input",
        reports_of(tmp_path, "distribution"),
    ]
    shown = json.loads(run(capsys, *wave, "--json").out)
    assert (shown["of"], shown["biased"], len(shown["estimates"])) == ("distribution", True, 91)
    assert sum(row["share"] for row in shown["estimates"]) == pytest.approx(1)
    deciles = json.loads(run(capsys, *wave, "--of", "quantile", "--json").out)["estimates"]
    assert abs(deciles[4]["estimate"] - 37) <= 2
    assert all(row["low"] <= row["high"] for row in deciles)
    done = run(capsys, *wave, "--of", "quantile", "--plot", str(tmp_path / "wave.svg"))
    assert "smoothed (EM): BIASED at peaks and edges" in done.out
    assert "Up to each value" in (tmp_path / "wave.svg").read_text()
    assert_refused(run(capsys, *wave, "--projected"), "--projected")
    assert_refused(run(capsys, *wave, "--of", "category"), "--of")
    for of, columns in (("distribution", "value,share,cumulative"), ("quantile", "quantile,estimate")):
        table = tmp_path / f"{of}-table.csv"
        assert run(capsys, *wave, "--of", of, "-o", str(table)).code == 0
        assert table.read_text().startswith(columns)


def reports_of(place: Path, goal: str) -> str:
    return str(place / f"{goal}.csv")


def test_false_reports_raise_an_alarm_and_those_who_did_not_answer_are_counted(
    capsys: Capture, folder: Path, tmp_path: Path
) -> None:
    out, made = str(tmp_path / "hashed.json"), tmp_path / "hashed.csv"
    run(capsys, "local", "plan", "--values", "10..100", "--epsilon", "1", "--use", "local hashing", "-o", out)
    assert local(capsys, folder, "randomize", out, "--input", "@ages.txt", "-o", str(made)).code == 0
    honest = run(capsys, "local", "estimate", out, "--input", str(made), "--asked", "50000")
    assert "ALARM" not in honest.err
    assert "50,000 people, 90.44 % reported; nothing is estimated about the other 4,778" in " ".join(
        honest.out.split()
    )
    rows = made.read_text().splitlines()
    fingerprint = load_configuration(out).fingerprint
    rows[1:2001] = [f"0,{fingerprint}"] * 2000
    made.write_text("\n".join(rows))
    done = run(capsys, "local", "estimate", out, "--input", str(made), "--json")
    assert " = 0, where 15,074.00 are expected" in done.err
    assert {alarm["kind"] for alarm in json.loads(done.out)["alarms"]} == {"marks"}
    assert_refused(
        run(capsys, "local", "estimate", out, "--input", str(made), "--asked", "10"), "--asked", "45,222"
    )


def test_prints_and_writes_a_table(capsys: Capture, folder: Path, tmp_path: Path) -> None:
    shown = local(capsys, folder, "estimate", "@survey.json", "--input", "@reports.csv")
    record = estimates(capsys, folder, "--input", "@reports.csv")
    first = record["estimates"][0]
    row = next(line for line in shown.out.splitlines() if line.startswith("10..19")).split()
    assert row[1] == f"{first['estimate']:,.0f}"
    assert int(row[2].replace(",", "")) <= first["low"]
    assert int(row[3].replace(",", "")) >= first["high"]
    for ending in ("csv", "json", "parquet"):
        out = tmp_path / f"table.{ending}"
        words = ["--input", "@reports.csv", "-o", str(out)]
        assert local(capsys, folder, "estimate", "@survey.json", *words).code == 0
        rows: list[dict[str, Any]]
        if ending == "csv":
            rows = list(csv.DictReader(out.read_text().splitlines()))
        elif ending == "json":
            rows = json.loads(out.read_text())
        else:
            rows = pq.read_table(out).to_pylist()
        assert list(rows[0]) == ["category", "estimate", "low", "high", "share"]
        assert [float(row["estimate"]) for row in rows] == [r["estimate"] for r in record["estimates"]]


def test_draws_a_picture(capsys: Capture, folder: Path, tmp_path: Path) -> None:
    picture = tmp_path / "ages.svg"
    words = ["--input", "@reports.csv", "--plot", str(picture)]
    assert local(capsys, folder, "estimate", "@survey.json", *words).code == 0
    text = picture.read_text()
    assert "30..39" in text
    assert "95 % interval" in text


def test_a_picture_that_cannot_be_written_leaves_no_table(
    capsys: Capture, folder: Path, tmp_path: Path
) -> None:
    words = [
        "--input",
        "@reports.csv",
        "-o",
        str(tmp_path / "a.csv"),
        "--plot",
        str(tmp_path / "no/a.png"),
    ]
    assert_refused(local(capsys, folder, "estimate", "@survey.json", *words), "plot")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["--input", "@nowhere.csv"], "nowhere.csv"),
        (["--input", "@reports.csv", "@reports.csv"], "twice"),
        (["--input", "-", "-"], "twice"),
        (["--input", "@reports.csv", "--counts", "people"], "--counts"),
        (["--input", "@reports.csv", "--counts", "survey"], "count in row 1"),
        (["--input", "@ages.txt", "--counts", "people"], "names"),
        (["--input", "@reports.csv", "--column", "age"], "no such name"),
        (["--input", "@people.parquet"], "'report' (no such name)"),
        (["--input", "@reports.csv", "--confidence", "95"], "--confidence"),
        (["--input", "@reports.csv", "-o", "@x.txt"], ".csv, .json or .parquet"),
        (["--input", "@reports.csv", "-o", "@reports.csv", "--force"], "another file"),
        (["--input", "@reports.csv", "--plot", "x.gif"], "plot"),
        (["--input", "@reports.csv", "--format", "csv"], "--format"),
    ],
)
def test_refuses_what_it_cannot_use(capsys: Capture, folder: Path, words: list[str], named: str) -> None:
    assert_refused(local(capsys, folder, "estimate", "@survey.json", *words), named)


def test_counts_are_whole_and_not_too_many(capsys: Capture, folder: Path, tmp_path: Path) -> None:
    for count in ("-1", "1.5", "x", "", "9" * 17, "9" * 30):
        (tmp_path / "grouped.csv").write_text(f"report,n\n37,1\n38,{count}\n")
        words = ["--input", str(tmp_path / "grouped.csv"), "--counts", "n"]
        assert_refused(local(capsys, folder, "estimate", "@survey.json", *words), "count in row 2")


@pytest.mark.parametrize("mechanism", ["subset selection", "local hashing", "plain randomized response"])
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_every_mechanism_makes_the_round_trip(
    capsys: Capture, tmp_path: Path, mechanism: str, ending: str
) -> None:
    survey, source, made = (str(tmp_path / name) for name in ("s.json", "in.txt", f"out.{ending}"))
    words = ["local", "plan", "--values", "tea,cola,a b", "--epsilon", "3", "--use", mechanism, "-o", survey]
    assert run(capsys, *words).code == 0
    truth = {"tea": 3000, "cola": 1000, "a b": 0}
    Path(source).write_text("".join(f"{drink}\n" * people for drink, people in truth.items()))
    assert run(capsys, "local", "randomize", survey, "--input", source, "-o", made).code == 0
    done = run(capsys, "local", "estimate", survey, "--input", made, "--json")
    found = json.loads(done.out)["estimates"]
    errors = np.sqrt(
        load_configuration(survey).variances("value").at(np.array(list(truth.values()), dtype=float))
    )
    for row, error in zip(found, errors, strict=True):
        assert abs(row["estimate"] - truth[row["value"]]) < FAR * error
    assert done.err == ""


def test_values_of_a_survey_for_categories_only_are_not_made_up(capsys: Capture, tmp_path: Path) -> None:
    survey = str(tmp_path / "s.json")
    assert run(capsys, "local", "plan", *AGES, "--epsilon", "5", "-o", survey).code == 0
    (tmp_path / "in.txt").write_text("37\n" * 10)
    made = str(tmp_path / "out.csv")
    assert (
        run(capsys, "local", "randomize", survey, "--input", str(tmp_path / "in.txt"), "-o", made).code == 0
    )
    assert run(capsys, "local", "estimate", survey, "--input", made).code == 0
    assert_refused(run(capsys, "local", "estimate", survey, "--input", made, "--of", "value"))
