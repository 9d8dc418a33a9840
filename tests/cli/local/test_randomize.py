"""`pbdp local randomize`: one report for each answer, and never a word on an answer."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pbdp.columns.files import BLOCK
from pbdp.local import load_configuration
from pbdp.local.boosted_response import BoostedResponse
from reproduction.age_errors import adult_ages
from tests.cli.commands import PBDP, assert_refused, run, run_command, run_piped
from tests.cli.local.survey import FAR, local

Capture = pytest.CaptureFixture[str]


def test_gives_one_report_a_row_with_its_survey(folder: Path) -> None:
    survey = load_configuration(folder / "survey.json")
    with (folder / "reports.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == sum(adult_ages().values())
    assert {row["survey"] for row in rows} == {survey.fingerprint}
    assert {int(row["report"]) for row in rows} == set(range(10, 101))
    table = pq.read_table(folder / "reports.parquet")
    assert table.column_names == ["report", "survey"]
    assert table.schema.metadata[b"pbdp_survey"] == survey.fingerprint.encode()


def test_keeps_the_order_of_the_rows(folder: Path) -> None:
    """As many reports as the law says are of the person's own category; out of order, 2 in 10 are."""
    survey = load_configuration(folder / "survey.json")
    assert isinstance(survey, BoostedResponse)
    own, near = survey.shares.own, survey.shares.near
    held = [(people, own[age // 10 - 1] + 9 * near[age // 10 - 1]) for age, people in adult_ages().items()]
    total = sum(people for people, _ in held)
    expected = sum(people * chance for people, chance in held) / total
    error = (sum(people * chance * (1 - chance) for people, chance in held)) ** 0.5 / total
    true = (folder / "ages.txt").read_text().split()
    with (folder / "reports.csv").open() as file:
        made = [row["report"] for row in csv.DictReader(file)]
    same = np.mean([a[:-1] == b[:-1] for a, b in zip(true, made, strict=True)])
    assert abs(same - expected) < FAR * error
    assert expected > 0.7


def test_draws_as_the_library_does_and_marks_a_test_seed(
    capsys: Capture, folder: Path, tmp_path: Path
) -> None:
    (tmp_path / "few.csv").write_text("name,age\nx,37\ny,52\nz,18\n")
    words = ["randomize", "@survey.json", "--input", str(tmp_path / "few.csv"), "--column", "age"]
    done = local(capsys, folder, *words, "--insecure-test-seed", "7")
    survey = load_configuration(folder / "survey.json")
    with pytest.warns(UserWarning, match="tests only"):
        expected = survey.randomize([37, 52, 18], insecure_test_seed=7)
    rows = list(csv.reader(done.out.splitlines()))
    assert rows[0] == ["report", "survey", "insecure_test_seed"]
    assert rows[1:] == [[str(report), survey.fingerprint, "7"] for report in expected.values]
    assert "INSECURE" in done.err


def test_json_has_types(capsys: Capture, folder: Path, tmp_path: Path) -> None:
    file = tmp_path / "in.json"
    words = ["randomize", "@survey.json", "--input", str(file), "--insecure-test-seed", "7"]
    made = []
    for text, column in (("[37, 52]", []), ('[{"age": 37}, {"x": 0, "age": 52}]', ["--column", "age"])):
        file.write_text(text)
        made.append(local(capsys, folder, *words, *column).out.splitlines()[1:])
    survey = load_configuration(folder / "survey.json")
    with pytest.warns(UserWarning, match="tests only"):
        expected = survey.randomize([37, 52], insecure_test_seed=7)
    assert made == [[f"{report},{survey.fingerprint},7" for report in expected.values]] * 2
    for text, got in (
        ('[37, "52"]', "another type"),
        ("[37, null]", "an empty cell"),
        ("[37, 7]", "else"),
    ):
        file.write_text(text)
        assert_refused(local(capsys, folder, *words), "row 2", got)


def test_one_typed_answer_gives_one_report(folder: Path) -> None:
    done = run_command("local", "randomize", str(folder / "survey.json"), "37")
    assert 10 <= int(done.out) <= 100
    assert load_configuration(folder / "survey.json").fingerprint in done.err


def test_reads_and_writes_pipes(folder: Path) -> None:
    survey = folder / "survey.json"
    made = run_piped(f"head -5 {folder / 'ages.txt'} | {PBDP} local randomize {survey} --input -")
    assert made.code == 0
    assert len(made.out.splitlines()) == 6


@pytest.mark.parametrize(
    ("content", "where", "got"),
    [
        ("37\n52\n7777\n18\n", "row 3", "something else"),
        ("37\n\n18\n", "row 2", "an empty cell"),
        ("37\nsecret\n", "row 2", "another type"),
        ("37\n52.5\n", "row 2", "another type"),
        ("37\n1_0\n", "row 2", "another type"),
        ("37\n99999999999999999999999\n", "row 2", "something else"),
        ("age\n37\n", "row 1", "--column"),
        ("37\n5,2\n", "every row", "1 cell wide"),
        ("37,1\n52,2\n", "every row", "--column"),
        ('37\n"52\n', "line", "CSV"),
        ("", "input", "none"),
        ("\n\n", "input", "none"),
    ],
)
def test_refuses_a_file_by_the_row_never_by_the_answer(  # noqa: PLR0917 - three are the case
    capsys: Capture, folder: Path, tmp_path: Path, content: str, where: str, got: str
) -> None:
    (tmp_path / "in.txt").write_text(content)
    words = ["randomize", "@survey.json", "--input", str(tmp_path / "in.txt")]
    for ending in ("csv", "parquet"):
        done = local(capsys, folder, *words, "-o", str(tmp_path / f"out.{ending}"))
        assert_refused(done, where, got)
        for private in ("7777", "secret", "52.5", "99999", "1_0"):
            assert private not in done.err
    assert [path.name for path in tmp_path.iterdir()] == ["in.txt"]


def test_a_bad_row_behind_many_good_ones_leaves_nothing(
    capsys: Capture, folder: Path, tmp_path: Path
) -> None:
    (tmp_path / "in.csv").write_text("age,x\n" + "37,0\n" * 150_000 + "5,0\n")
    words = ["randomize", "@survey.json", "--input", str(tmp_path / "in.csv"), "--column", "age"]
    assert_refused(local(capsys, folder, *words), "row 150,001 (line 150,002)")
    assert_refused(local(capsys, folder, *words, "-o", str(tmp_path / "out.parquet")), "row 150,001")
    assert [path.name for path in tmp_path.iterdir()] == ["in.csv"]


def test_a_blank_line_between_two_blocks_is_an_empty_cell(
    capsys: Capture, folder: Path, tmp_path: Path
) -> None:
    """Blank lines are passed over at the end of the file only, wherever blocks of rows end."""
    words = ["randomize", "@survey.json", "--input", str(tmp_path / "in.txt")]
    for rows in (BLOCK - 1, BLOCK, BLOCK + 1):
        (tmp_path / "in.txt").write_text("37\n" * rows + "\n37\n")
        assert_refused(local(capsys, folder, *words), f"row {rows + 1:,} must", "an empty cell")
        (tmp_path / "in.txt").write_text("37\n" * rows + "\n\n")
        assert len(local(capsys, folder, *words).out.splitlines()) == rows + 1


@pytest.mark.parametrize(
    ("column", "where"),
    [
        (pa.array([37, None, 5]), "row 2 must be a value of the survey; got an empty cell"),
        (pa.array([37, 5, None]), "row 2 must be a value of the survey; got something else"),
        (pa.array([37, 52, 5], pa.uint8()), "row 3 must be a value of the survey; got something else"),
        (pa.array([37.0, 52.0]), "row 1 must be a value of the survey; got something of another type"),
        (pa.array(["37"]), "row 1 must be a value of the survey; got something of another type"),
        (pa.array([[37]]), "row 1 must be a value of the survey; got something of another type"),
        (pa.array([37, 5]).dictionary_encode(), "row 2 must be a value of the survey"),
    ],
)
def test_refuses_parquet_by_the_row(
    capsys: Capture, folder: Path, tmp_path: Path, column: pa.Array, where: str
) -> None:
    pq.write_table(pa.table({"age": column}), tmp_path / "in.parquet")
    words = ["randomize", "@survey.json", "--input", str(tmp_path / "in.parquet")]
    assert_refused(local(capsys, folder, *words), "--column")
    assert_refused(local(capsys, folder, *words, "--column", "age"), where)


@pytest.mark.parametrize(
    ("words", "named"),
    [
        ([], "answers"),
        (["37", "--input", "@ages.txt"], "both"),
        (["37", "38"], "several"),
        (["7"], "the answer"),
        (["", "--column", "age"], "--column"),
        (["37", "-o", "x.csv"], "--output"),
        (["--input", "@nowhere.txt"], "nowhere.txt"),
        (["--input", "@ages.txt", "--column", "age"], "no such name"),
        (["--input", "@ages.txt", "--input-format", "parquet", "--column", "age"], "Parquet"),
        (["--input", "@ages.txt", "-o", "@out.xyz"], ".csv or .parquet"),
        (["--input", "@ages.txt", "-o", "@ages.txt", "--force"], "another file"),
        (["--input", "@ages.txt", "-o", "@reports.csv"], "--force"),
        (["37", "--insecure-test-seed", "-1"], "--insecure-test-seed"),
    ],
)
def test_refuses_options_that_do_not_belong_together(
    capsys: Capture, folder: Path, words: list[str], named: str
) -> None:
    done = run(
        capsys,
        *("local", "randomize", str(folder / "survey.json")),
        *(str(folder / word[1:]) if word.startswith("@") else word for word in words),
    )
    assert_refused(done, named)


def test_refuses_a_survey_that_was_changed(capsys: Capture, folder: Path, tmp_path: Path) -> None:
    record = json.loads((folder / "survey.json").read_text())
    record["epsilon"] /= 2
    (tmp_path / "survey.json").write_text(json.dumps(record))
    assert_refused(run(capsys, "local", "randomize", str(tmp_path / "survey.json"), "37"), "epsilon")
    assert_refused(run(capsys, "local", "randomize", str(folder / "ages.txt"), "37"), "JSON")
