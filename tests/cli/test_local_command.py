"""`pbdp local`: a survey from its plan to its estimates, by the real command line."""

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

from pbdp.columns.files import BLOCK
from pbdp.local.boosted import BoostedResponse
from pbdp.local.configuration import load_configuration
from pbdp.local.counts import count_reports
from pbdp.local.domain import in_blocks
from pbdp.local.estimate import estimate
from pbdp.local.goal import LeastError, Within
from pbdp.local.plan import plan_local
from reproduction.age_errors import adult_ages
from tests.cli.commands import PBDP, Done, assert_refused, run, run_command, run_piped

Capture = pytest.CaptureFixture[str]
AGES = ["--values", "10..100", "--category-size", "10"]
# Standard errors that a right estimate passes once in 10^9 runs or so, all groups together.
FAR = 7.0


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A survey of ages, another one, and the Adult ages as text and as Parquet."""
    place = tmp_path_factory.mktemp("survey")
    for name, epsilon in (("survey", "5"), ("other", "4")):
        done = run_command(
            "local", "plan", *AGES, "--epsilon", epsilon, "--goal", "0.5", "-o", str(place / f"{name}.json")
        )
        assert done.code == 0, done
    ages = np.repeat(list(adult_ages()), list(adult_ages().values()))
    np.random.default_rng(1).shuffle(ages)
    (place / "ages.txt").write_text("".join(f"{age}\n" for age in ages))
    pq.write_table(pa.table({"id": np.arange(len(ages)), "age": ages}), place / "people.parquet")
    for source, made in (("ages.txt", "reports.csv"), ("people.parquet", "reports.parquet")):
        column = ["--column", "age"] if source.endswith("parquet") else []
        out = str(place / made)
        done = run_command(
            "local",
            "randomize",
            str(place / "survey.json"),
            "--input",
            str(place / source),
            *column,
            "-o",
            out,
        )
        assert done.code == 0, done
    return place


def local(capsys: Capture, folder: Path, *words: str) -> Done:
    """Run a part with names of files in the folder, which start with `@`."""
    return run(capsys, "local", *(str(folder / word[1:]) if word[0] == "@" else word for word in words))


def estimates(capsys: Capture, folder: Path, *words: str) -> dict[str, Any]:
    done = local(capsys, folder, "estimate", "@survey.json", *words, "--json")
    assert done.code == 0, done
    record: dict[str, Any] = json.loads(done.out)
    return record


class TestPlan:
    def test_says_what_the_library_found(self, capsys: Capture) -> None:
        done = run(capsys, "local", "plan", *AGES, "--epsilon", "5", "--goal", "0.5", "--json")
        expected = plan_local(in_blocks(range(10, 101), 10), LeastError(category=0.5), epsilon=5.0)
        record = json.loads(done.out)
        assert {name: record[name] for name in expected.record()} == expected.record()
        assert record["fingerprint"] == expected.mechanism.fingerprint

    def test_words_name_the_mechanism_its_cost_and_its_rivals(self, capsys: Capture) -> None:
        done = run(capsys, "local", "plan", *AGES, "--epsilon", "5", "--goal", "0.5", "--users", "45222")
        made = plan_local(in_blocks(range(10, 101), 10), LeastError(category=0.5), epsilon=5.0)
        assert made.chosen.category_error is not None
        assert "91 whole numbers, 10 to 100; 10 categories of 1 to 10 values" in done.out
        assert "epsilon 5 for each report" in done.out
        shown = next(line for line in done.out.splitlines() if line.startswith("*")).split()
        assert float(shown[-4]) == pytest.approx(100 * made.chosen.category_error / 45222**0.5, rel=1e-3)
        for other in made.others:
            assert other.family in done.out

    def test_finds_the_least_epsilon_for_an_accuracy(self, capsys: Capture) -> None:
        asked = ["--within", "1%", "--confidence", "0.9", "--users", "45222", "--joint"]
        record = json.loads(run(capsys, "local", "plan", *AGES, *asked, "--json").out)
        goal = Within(users=45222, category=0.01, confidence=0.9, joint=True)
        assert record["epsilon"] == plan_local(in_blocks(range(10, 101), 10), goal).epsilon
        assert record["meets"] is True
        single = [*asked[:-1], "--of", "value"]
        of_values = json.loads(run(capsys, "local", "plan", *AGES, *single, "--json").out)
        goal = Within(users=45222, value=0.01, confidence=0.9)
        assert of_values["epsilon"] == plan_local(in_blocks(range(10, 101), 10), goal).epsilon
        proved = json.loads(run(capsys, "local", "plan", *AGES, *asked, "--guaranteed", "--json").out)
        assert proved["epsilon"] > record["epsilon"]

    def test_takes_a_given_epsilon0_and_shows_the_best_beside_it(
        self, capsys: Capture, tmp_path: Path
    ) -> None:
        out = str(tmp_path / "survey.json")
        done = run(capsys, "local", "plan", *AGES, "--epsilon", "5", "--epsilon0", "2", "-o", out, "--json")
        record = json.loads(done.out)
        assert record["chosen"]["epsilon0"] == 2
        best = next(entry for entry in record["others"] if entry["family"] == "boosted response")
        assert best["cost"] < record["chosen"]["cost"]
        made = load_configuration(out)
        assert isinstance(made, BoostedResponse)
        assert made.epsilon0 == 2

    def test_takes_another_mechanism_of_those_compared(self, capsys: Capture, tmp_path: Path) -> None:
        out = str(tmp_path / "survey.json")
        words = ["local", "plan", *AGES, "--epsilon", "2", "-o", out, "--use"]
        assert_refused(run(capsys, *words, "magic"), "use must be one of", "unary encoding")
        assert run(capsys, *words, "unary encoding of categories").code == 0
        made = load_configuration(out)
        assert (made.kind, made.domain.values[0]) == ("unary encoding", "10..19")

    def test_says_when_people_put_in_their_category(self, capsys: Capture) -> None:
        words = ["local", "plan", *AGES, "--epsilon", "2", "--use", "unary encoding of categories"]
        assert "PEOPLE PUT IN THE NAME OF THEIR CATEGORY" in " ".join(run(capsys, *words).out.split())

    def test_categories_come_from_a_table(self, capsys: Capture, tmp_path: Path) -> None:
        (tmp_path / "map.csv").write_text('value,category\ntea,hot\ncola,cold\ncocoa,hot\n"a, b",cold\n')
        words = ["local", "plan", "--categories", str(tmp_path / "map.csv"), "--epsilon", "2"]
        assert run(capsys, *words, "-o", str(tmp_path / "made.json")).code == 0
        made = load_configuration(tmp_path / "made.json").domain
        assert (made.values, made.groups) == (("tea", "cocoa", "cola", "a, b"), ("hot", "cold"))
        assert_refused(run(capsys, *words, "--values", "tea,cola,milk"), "1 missing and 2 others")

    def test_values_come_from_a_file_and_keep_their_leading_zeros(
        self, capsys: Capture, tmp_path: Path
    ) -> None:
        (tmp_path / "codes.txt").write_text("01\n02\n10\n\n")
        words = ["local", "plan", "--values-file", str(tmp_path / "codes.txt"), "--epsilon", "2"]
        done = run(capsys, *words, "-o", str(tmp_path / "made.json"))
        assert load_configuration(tmp_path / "made.json").domain.values == ("01", "02", "10")
        assert "no categories" in done.out
        assert "boosted" not in done.out

    @pytest.mark.parametrize(("extra", "expected"), [([], (1, 2, 3)), (["--text"], ("1", "2", "3"))])
    def test_values_are_numbers_or_text(
        self, capsys: Capture, tmp_path: Path, extra: list[str], expected: tuple[object, ...]
    ) -> None:
        out = str(tmp_path / "made.json")
        run(capsys, "local", "plan", "--values", "1, 2,3", *extra, "--epsilon", "2", "-o", out)
        assert load_configuration(out).domain.values == expected

    def test_scales_go_round(self, capsys: Capture, tmp_path: Path) -> None:
        out = str(tmp_path / "made.json")
        words = ["--values", "-5..5", "--scale-width", "3", "--ring", "--epsilon", "2", "-o", out]
        assert "the 3 nearest belong together on a ring" in run(capsys, "local", "plan", *words).out
        assert load_configuration(out).domain.start[0] == 10

    @pytest.mark.parametrize(
        ("words", "named"),
        [
            (["--epsilon", "1"], "values"),
            (["--values", "1..9"], "--epsilon or --within"),
            (["--values", "1..9", "--epsilon", "1", "--within", "1%", "--users", "9"], "both"),
            (["--values", "1..9", "--within", "1%"], "--users"),
            (["--values", "1..9", "--within", "2", "--users", "99"], "--within"),
            (["--values", "1..9", "--within", "x%", "--users", "99"], "--within"),
            (["--values", "1..9", "--within", "1%", "--users", "0"], "--users"),
            (["--values", "1..9", "--within", "1%", "--users", "9", "--confidence", "95"], "--confidence"),
            (["--values", "1..9", "--within", "0.001%", "--users", "9"], "No epsilon"),
            (["--values", "1..9", "--epsilon", "1", "--joint"], "--joint"),
            (["--values", "1..9", "--within", "1%", "--users", "9", "--goal", "value"], "--goal"),
            (["--values", "1..9", "--epsilon", "1", "--goal", "category"], "category"),
            (["--values", "1..9", "--epsilon", "1", "--goal", "0.5"], "--goal"),
            (["--values", "1..9", "--category-size", "3", "--epsilon", "1", "--goal", "2"], "--goal"),
            (["--values", "1..9", "--category-size", "3", "--epsilon", "1", "--epsilon0", "2"], "epsilon0"),
            (["--values", "1..9", "--category-size", "0", "--epsilon", "1"], "category size"),
            (["--values", "1..9", "--category-size", "3", "--scale-width", "3", "--epsilon", "1"], "one way"),
            (["--values", "1..9", "--scale-width", "4", "--epsilon", "1"], "width"),
            (["--values", "1..9", "--ring", "--epsilon", "1"], "--ring"),
            (["--values", "9..1", "--epsilon", "1"], "--values"),
            (["--values", "1..999999999999", "--epsilon", "1"], "--values"),
            (["--values", "01..12", "--epsilon", "1"], "leading zeros"),
            (["--values", "a,,b", "--epsilon", "1"], "empty"),
            (["--values", "a,b,a", "--epsilon", "1"], "twice"),
            (["--values", "a\udcff,b", "--epsilon", "1"], "printable"),
            (["--values", "1..9", "--epsilon", "-1"], "epsilon"),
            (["--values", "1..9", "--epsilon", "nan"], "epsilon"),
            (["--values-file", "/nowhere", "--epsilon", "1"], "--values-file"),
            (["--categories", "/nowhere", "--epsilon", "1"], "--categories"),
            (["--values", "1..9", "--epsilon", "1", "--plot", "x.gif"], "plot"),
        ],
    )
    def test_refuses_what_it_cannot_use(
        self, capsys: Capture, tmp_path: Path, words: list[str], named: str
    ) -> None:
        out = tmp_path / "made.json"
        assert_refused(run(capsys, "local", "plan", *words, "-o", str(out)), named)
        assert not list(tmp_path.iterdir())

    def test_replaces_a_file_only_if_told(self, capsys: Capture, tmp_path: Path) -> None:
        words = ["local", "plan", "--values", "1..9", "--epsilon", "1", "-o", str(tmp_path / "made.json")]
        assert run(capsys, *words).code == 0
        assert_refused(run(capsys, *words), "--force")
        assert run(capsys, *words, "--force").code == 0


class TestRandomize:
    def test_gives_one_report_a_row_with_its_survey(self, folder: Path) -> None:
        survey = load_configuration(folder / "survey.json")
        with (folder / "reports.csv").open() as file:
            rows = list(csv.DictReader(file))
        assert len(rows) == sum(adult_ages().values())
        assert {row["survey"] for row in rows} == {survey.fingerprint}
        assert {int(row["report"]) for row in rows} == set(range(10, 101))
        table = pq.read_table(folder / "reports.parquet")
        assert table.column_names == ["report", "survey"]
        assert table.schema.metadata[b"pbdp_survey"] == survey.fingerprint.encode()

    def test_keeps_the_order_of_the_rows(self, folder: Path) -> None:
        """As many reports as the law says are of the person's own category; out of order, 2 in 10 are."""
        survey = load_configuration(folder / "survey.json")
        assert isinstance(survey, BoostedResponse)
        own, near = survey.shares.own, survey.shares.near
        held = [
            (people, own[age // 10 - 1] + 9 * near[age // 10 - 1]) for age, people in adult_ages().items()
        ]
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
        self, capsys: Capture, folder: Path, tmp_path: Path
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

    def test_json_has_types(self, capsys: Capture, folder: Path, tmp_path: Path) -> None:
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

    def test_one_typed_answer_gives_one_report(self, folder: Path) -> None:
        done = run_command("local", "randomize", str(folder / "survey.json"), "37")
        assert 10 <= int(done.out) <= 100
        assert load_configuration(folder / "survey.json").fingerprint in done.err

    def test_reads_and_writes_pipes(self, folder: Path) -> None:
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
            ("37\n5,2\n", "row 2", "1 cell wide"),
            ("37,1\n52,2\n", "row 1", "--column"),
            ('37\n"52\n', "line", "CSV"),
            ("", "input", "none"),
            ("\n\n", "input", "none"),
        ],
    )
    def test_refuses_a_file_by_the_row_never_by_the_answer(  # noqa: PLR0917 - three are the case
        self, capsys: Capture, folder: Path, tmp_path: Path, content: str, where: str, got: str
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
        self, capsys: Capture, folder: Path, tmp_path: Path
    ) -> None:
        (tmp_path / "in.csv").write_text("age,x\n" + "37,0\n" * 150_000 + "5,0\n")
        words = ["randomize", "@survey.json", "--input", str(tmp_path / "in.csv"), "--column", "age"]
        assert_refused(local(capsys, folder, *words), "row 150,001 (line 150,002)")
        assert_refused(local(capsys, folder, *words, "-o", str(tmp_path / "out.parquet")), "row 150,001")
        assert [path.name for path in tmp_path.iterdir()] == ["in.csv"]

    def test_a_blank_line_between_two_blocks_is_an_empty_cell(
        self, capsys: Capture, folder: Path, tmp_path: Path
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
        self, capsys: Capture, folder: Path, tmp_path: Path, column: pa.Array, where: str
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
            (["37", "--insecure-test-seed", "-1"], "insecure_test_seed"),
        ],
    )
    def test_refuses_options_that_do_not_belong_together(
        self, capsys: Capture, folder: Path, words: list[str], named: str
    ) -> None:
        done = run(
            capsys,
            *("local", "randomize", str(folder / "survey.json")),
            *(str(folder / word[1:]) if word.startswith("@") else word for word in words),
        )
        assert_refused(done, named)

    def test_refuses_a_survey_that_was_changed(self, capsys: Capture, folder: Path, tmp_path: Path) -> None:
        record = json.loads((folder / "survey.json").read_text())
        record["epsilon"] /= 2
        (tmp_path / "survey.json").write_text(json.dumps(record))
        assert_refused(run(capsys, "local", "randomize", str(tmp_path / "survey.json"), "37"), "epsilon")
        assert_refused(run(capsys, "local", "randomize", str(folder / "ages.txt"), "37"), "JSON")


class TestEstimate:
    @pytest.mark.parametrize("kind", ["category", "value"])
    @pytest.mark.parametrize("source", ["reports.csv", "reports.parquet"])
    def test_the_adult_ages_come_back(self, capsys: Capture, folder: Path, kind: str, source: str) -> None:
        record = estimates(capsys, folder, "--input", f"@{source}", "--of", kind)
        ages = adult_ages()
        truth: dict[Any, int] = dict.fromkeys(range(10, 101), 0) | ages
        if kind == "category":
            truth = Counter()
            for age, people in ages.items():
                truth[f"{age // 10}0..{age // 10}9"] += people
        spread = load_configuration(folder / "survey.json").spread(kind)
        errors = np.sqrt(spread.at(np.array([ages.get(age, 0) for age in range(10, 101)], dtype=np.float64)))
        assert record["users"] == sum(ages.values())
        assert len(record["estimates"]) == len(errors)
        for row, error in zip(record["estimates"], errors, strict=True):
            assert abs(row["estimate"] - truth.get(row[kind], 0)) < FAR * error
            assert row["low"] < row["estimate"] < row["high"]
            assert row["share"] == pytest.approx(row["estimate"] / record["users"])
            assert row["high"] - row["low"] == pytest.approx(2 * 1.96 * error, rel=0.1)

    def test_is_the_library_s_estimate(self, capsys: Capture, folder: Path) -> None:
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

    def test_several_collectors_add_up_however_they_count(
        self, capsys: Capture, folder: Path, tmp_path: Path
    ) -> None:
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

    def test_bad_reports_are_counted_named_and_left_out(
        self, capsys: Capture, folder: Path, tmp_path: Path
    ) -> None:
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

    def test_json_reports_are_counted(self, capsys: Capture, folder: Path, tmp_path: Path) -> None:
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

    def test_nothing_but_another_survey_is_refused(
        self, capsys: Capture, folder: Path, tmp_path: Path
    ) -> None:
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

    def test_parquet_says_its_survey_without_the_column(
        self, capsys: Capture, folder: Path, tmp_path: Path
    ) -> None:
        table = pq.read_table(folder / "reports.parquet").select(["report"])
        pq.write_table(table, tmp_path / "bare.parquet")
        name = str(tmp_path / "bare.parquet")
        assert_refused(
            local(capsys, folder, "estimate", "@other.json", "--input", name), "another configuration"
        )
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
        self, capsys: Capture, folder: Path, tmp_path: Path, column: pa.Array, why: dict[str, int]
    ) -> None:
        pq.write_table(pa.table({"report": column}), tmp_path / "in.parquet")
        record = estimates(capsys, folder, "--input", "@reports.csv", str(tmp_path / "in.parquet"))
        assert record["files"][1]["refused"] == why

    @pytest.mark.parametrize("ending", ["csv", "parquet"])
    def test_a_test_seed_leaves_its_mark(
        self, capsys: Capture, folder: Path, tmp_path: Path, ending: str
    ) -> None:
        made = str(tmp_path / f"reports.{ending}")
        words = ["--input", "@ages.txt", "--insecure-test-seed", "3", "-o", made]
        assert local(capsys, folder, "randomize", "@survey.json", *words).code == 0
        words = ["--input", made, "-o", str(tmp_path / "out.csv")]
        done = local(capsys, folder, "estimate", "@survey.json", *words)
        assert "INSECURE" in done.err
        assert (tmp_path / "out.csv").read_text().splitlines()[1].endswith(",true")

    def test_prints_and_writes_a_table(self, capsys: Capture, folder: Path, tmp_path: Path) -> None:
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

    def test_draws_a_picture(self, capsys: Capture, folder: Path, tmp_path: Path) -> None:
        picture = tmp_path / "ages.svg"
        words = ["--input", "@reports.csv", "--plot", str(picture)]
        assert local(capsys, folder, "estimate", "@survey.json", *words).code == 0
        text = picture.read_text()
        assert "30..39" in text
        assert "95 % interval" in text

    def test_a_picture_that_cannot_be_written_leaves_no_table(
        self, capsys: Capture, folder: Path, tmp_path: Path
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
    def test_refuses_what_it_cannot_use(
        self, capsys: Capture, folder: Path, words: list[str], named: str
    ) -> None:
        assert_refused(local(capsys, folder, "estimate", "@survey.json", *words), named)

    def test_counts_are_whole_and_not_too_many(self, capsys: Capture, folder: Path, tmp_path: Path) -> None:
        for count in ("-1", "1.5", "x", "", "9" * 17, "9" * 30):
            (tmp_path / "grouped.csv").write_text(f"report,n\n37,1\n38,{count}\n")
            words = ["--input", str(tmp_path / "grouped.csv"), "--counts", "n"]
            assert_refused(local(capsys, folder, "estimate", "@survey.json", *words), "count in row 2")


@pytest.mark.parametrize("mechanism", ["unary encoding", "local hashing", "plain randomized response"])
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
        load_configuration(survey).spread("value").at(np.array(list(truth.values()), dtype=float))
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
