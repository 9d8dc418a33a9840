"""`pbdp release`: what it prints, what it refuses, and what it never says."""

from __future__ import annotations

import json
import subprocess
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from pbdp.cli import main as main_module
from pbdp.cli.main import main
from pbdp.planning.plan import Plan
from tests.cli.commands import PBDP, Done, Terminal, assert_refused, run, run_piped
from tests.cli.plans import save_plans

Capture = pytest.CaptureFixture[str]
Plans = dict[str, Path]
PRIVATE = "987654321"


@pytest.fixture(scope="module")
def plans(tmp_path_factory: pytest.TempPathFactory) -> Plans:
    return save_plans(tmp_path_factory.mktemp("plans"))


def release(capsys: Capture, plan: Path, *options: str) -> Done:
    return run(capsys, "release", str(plan), *options)


def rows(done: Done) -> list[list[str]]:
    return [line.split(",") for line in done.out.splitlines()]


# ------------------------------------------------------------------------------------------ one number


def test_one_number_is_printed_alone_and_the_rest_is_said_beside_it(plans: Plans, capsys: Capture) -> None:
    done = release(capsys, plans["whole"], "1234")
    assert done.code == 0
    assert abs(int(done.out) - 1234) < 200
    assert done.out == f"{int(done.out)}\n"
    first, loss, risk, _, second = done.err.splitlines()
    assert (first, loss) == ("within 5 of the truth with confidence 80 %", "epsilon 0.2907 at delta 1e-05")
    assert risk.startswith(
        "An attacker who starts at 50 : 50 on whether you are in the data guesses right at most "
    )
    assert second.startswith("NO LEDGER: no ledger recorded this: other releases about the same people")


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("order", "at Rényi order 4"),
        ("three", "in total for 3 releases"),
        ("range", "inside -10..10 with confidence 100 %"),
        ("percentage", "within 40 % plus 3 of the truth"),
    ],
)
def test_every_kind_of_plan_says_what_holds(kind: str, words: str, plans: Plans, capsys: Capture) -> None:
    done = release(capsys, plans[kind], "7")
    assert done.code == 0
    assert words in done.err


def test_real_numbers_are_plain_digits_that_give_the_same_number_back(plans: Plans, capsys: Capture) -> None:
    for answer in ("0.1", "-3.75", "1e-9", "2e9", "1/3"):
        text = release(capsys, plans["real"], answer).out.strip()
        assert "e" not in text
        assert not text.endswith(".0")
        assert Fraction(text) % Fraction(1, 4) == 0
        assert abs(Fraction(text) - Fraction(answer)) < 100
    # the logarithmic grid publishes any double, at any size
    large = release(capsys, plans["log"], "1e40").out.strip()
    assert large.isdigit()
    assert len(large) > 30


def test_json_is_one_object_with_all_that_holds(plans: Plans, capsys: Capture) -> None:
    done = release(capsys, plans["whole"], "1234", "--json")
    assert (done.code, done.err) == (0, "")
    record, plan = json.loads(done.out), Plan.load(plans["whole"])
    assert isinstance(record["released"], int)
    assert (record["epsilon"], record["delta"], record["rdp_order"]) == (plan.epsilon, 1e-5, None)
    assert (record["confidence"], record["within"]) == (plan.confidence, 5)
    assert (record["releases"], record["disjoint"], record["count"]) == (1, False, 1)
    assert record["releases_enforced"] == "this call only"
    assert record["neighbors"] == "add/remove"
    assert "interval" not in record


@pytest.mark.parametrize("kind", ["whole", "real", "percentage", "log", "range", "bounds", "order"])
@pytest.mark.parametrize("confidence", [None, 0.99])
def test_intervals_are_those_of_the_published_number(
    kind: str, confidence: float | None, plans: Plans, capsys: Capture
) -> None:
    asked = ["--interval"] if confidence is None else ["--interval", str(confidence)]
    record = json.loads(release(capsys, plans[kind], "7", *asked, "--json").out)
    plan = Plan.load(plans[kind])
    low, high = plan.interval(record["released"], confidence)
    assert record["interval"]["low"] == low
    assert record["interval"]["high"] == high
    assert record["interval"]["confidence"] == (confidence or plan.confidence)
    words = release(capsys, plans[kind], "7", *asked)
    assert "the true answer is between" in words.err
    assert len(words.out.splitlines()) == 1


def test_the_numbers_are_drawn_from_the_plan(plans: Plans, tmp_path: Path, capsys: Capture) -> None:
    file, count = tmp_path / "same.txt", 40_000
    file.write_text("100\n" * count, encoding="utf-8")
    done = release(capsys, plans["whole"], "--input", str(file), "--disjoint")
    drawn = np.array([int(row[0]) for row in rows(done)[1:]]) - 100
    assert len(drawn) == count
    law = Plan.load(plans["whole"]).law_at(100)
    law_of_noise = dict(zip((law.output - 100).tolist(), law.probability.tolist(), strict=True))
    for noise in range(-6, 7):
        expected = law_of_noise[float(noise)]
        # six standard errors
        assert abs(np.mean(drawn == noise) - expected) < 6 * np.sqrt(expected / count)


def test_two_calls_do_not_repeat_their_noise(plans: Plans, capsys: Capture) -> None:
    assert len({release(capsys, plans["real"], "0").out for _ in range(12)}) > 3


# ------------------------------------------------------------------------------------------ exactness

BELOW = "0.12499999999999999999999999999"


@pytest.mark.parametrize("form", ["typed", "several", "text", "json"])
def test_a_decimal_just_below_a_rounding_boundary_is_not_rounded_up(
    form: str, plans: Plans, tmp_path: Path, capsys: Capture
) -> None:
    # 0.125 is half a step of the grid and rounded up; as a double, so would be what lies just below it
    assert float(BELOW) == 0.125

    def published(answer: str) -> Decimal:
        if form == "typed":
            return Decimal(release(capsys, plans["real"], answer, "--insecure-test-seed", "4").out)
        seeded = ["--disjoint", "--insecure-test-seed", "4"]
        if form == "several":
            done = release(capsys, plans["real"], answer, "7", *seeded)
        else:
            file = tmp_path / f"numbers.{'json' if form == 'json' else 'txt'}"
            text = f"[{answer}, 7]" if form == "json" else f"{answer}\n7\n"
            file.write_text(text, encoding="utf-8")
            done = release(capsys, plans["real"], "--input", str(file), *seeded)
        return Decimal(rows(done)[1][0])

    assert published(BELOW) == published("0")
    assert published("0.125") - published("0") == Decimal("0.25")
    assert published("-0.125") == published("0")


def test_large_whole_numbers_keep_every_digit(plans: Plans, capsys: Capture) -> None:
    large = 2**52 - 1001
    done = release(capsys, plans["whole"], str(large), "--insecure-test-seed", "4")
    noise = int(release(capsys, plans["whole"], "0", "--insecure-test-seed", "4").out)
    assert int(done.out) == large + noise


# ------------------------------------------------------------------------------------------ how many


def test_more_numbers_than_the_plan_covers_are_refused(plans: Plans, capsys: Capture) -> None:
    assert_refused(release(capsys, plans["whole"], "1", "2"), "one number", "--disjoint")
    assert release(capsys, plans["three"], "1", "2", "3").code == 0
    assert_refused(release(capsys, plans["three"], "1", "2", "3", "4"), "at most 3", "got 4")
    assert release(capsys, plans["three"], "1", "2", "3", "4", "--disjoint").code == 0


def test_the_note_says_how_many_releases_were_taken(plans: Plans, capsys: Capture) -> None:
    assert "This call uses" not in release(capsys, plans["whole"], "1").err
    assert "uses 2 of the plan's 3 releases" in release(capsys, plans["three"], "1", "2").err
    assert "uses 1 of the plan's 3 releases" in release(capsys, plans["three"], "1", "2", "--disjoint").err


def test_several_numbers_are_a_table(plans: Plans, capsys: Capture) -> None:
    done = release(capsys, plans["three"], "10", "-20", "1e2")
    assert rows(done)[0] == ["released"]
    for row, near in zip(rows(done)[1:], (10, -20, 100), strict=True):
        assert abs(int(row[0]) - near) < 200
    assert len(done.out.splitlines()) == 4
    record = json.loads(release(capsys, plans["three"], "10", "-20", "1e2", "--json").out)
    assert len(record["released"]) == 3


def test_options_may_stand_anywhere(plans: Plans, capsys: Capture) -> None:
    for order in (
        ["--disjoint", "1", "-2"],
        ["1", "--disjoint", "-2"],
        ["--disjoint", "--", "1", "-2"],
        ["1", "-2", "--disjoint", "--format", "csv"],
    ):
        done = release(capsys, plans["whole"], *order)
        assert done.code == 0, done
        assert len(rows(done)) == 3


# ------------------------------------------------------------------------------------------ test seeds


def test_a_test_seed_repeats_the_noise_and_marks_every_output(plans: Plans, capsys: Capture) -> None:
    seeded = ["--insecure-test-seed", "7"]
    twice = [release(capsys, plans["whole"], "5", *seeded) for _ in range(2)]
    assert twice[0].out == twice[1].out
    plan = Plan.load(plans["whole"])
    with pytest.warns(UserWarning, match="insecure_test_seed"):
        assert int(twice[0].out) == plan.release(5, insecure_test_seed=7).value
    assert "INSECURE" in twice[0].err
    table = release(capsys, plans["whole"], "5", "--format", "csv", *seeded)
    assert rows(table) == [["released", "insecure_test_seed"], [twice[0].out.strip(), "7"]]
    record = release(capsys, plans["whole"], "5", "--json", *seeded)
    assert json.loads(record.out)["insecure_test_seed"] == 7
    assert "INSECURE" in record.err
    array = json.loads(release(capsys, plans["whole"], "5", "--format", "json", *seeded).out)
    assert array == [{"released": int(twice[0].out), "insecure_test_seed": 7}]
    assert_refused(release(capsys, plans["whole"], "5", "--insecure-test-seed", "-1"), "--insecure-test-seed")


# ------------------------------------------------------------------------------------------ what is not said

LEAKS: list[list[str]] = [
    ["--interval", PRIVATE],
    ["--interval", f"{PRIVATE}x"],
    ["--format", PRIVATE],
    ["--input-format", PRIVATE],
    ["--neighbors", PRIVATE],
    ["--insecure-test-seed", f"{PRIVATE}.5", "1"],
    [f"--foo={PRIVATE}"],
    ["--foo", PRIVATE],
    [f"-x{PRIVATE}"],
    [f"-{PRIVATE}x"],
    [PRIVATE, PRIVATE],
    [f"{PRIVATE}x"],
    [f"{PRIVATE}/0"],
    [f"{PRIVATE * 200}x"],
    [PRIVATE, "--input", "x"],
    [PRIVATE, "--keep", "x"],
    [PRIVATE, "--output", "x.png"],
    [PRIVATE, "--json", "--format", "csv"],
]


@pytest.mark.parametrize("options", LEAKS, ids=" ".join)
def test_no_message_repeats_what_may_be_private(options: list[str], plans: Plans, capsys: Capture) -> None:
    done = release(capsys, plans["whole"], *options)
    assert_refused(done)
    assert PRIVATE not in done.err


@pytest.mark.parametrize("written", ["abc", "", " ", "1/0", "0x10", "1,5", "1e", "--1"])
def test_what_is_no_number_is_refused(written: str, plans: Plans, capsys: Capture) -> None:
    for kind in ("whole", "real"):
        assert_refused(release(capsys, plans[kind], "--", written), "NUMBER must be a number")
    assert_refused(release(capsys, plans["three"], "1", "--", written, "2"), "NUMBER must be a number")


@pytest.mark.parametrize(
    ("kind", "written", "counted"),
    [
        ("whole", "nan", "0"),
        ("whole", "1.5", "2"),
        ("whole", "-3/2", "-1"),
        ("whole", "inf", str(2**52)),
        ("whole", "-inf", str(-(2**52))),
        ("whole", "1e20", str(2**52)),
        ("real", "1e400", str(2**50)),
        ("real", "-1e999999999", str(-(2**50))),
        ("real", "1e-999999999", "0"),
        ("percentage", "-1", "0"),
        ("bounds", "1e6", "20"),
    ],
)
def test_every_number_is_taken_as_the_plan_counts_it(
    kind: str, written: str, counted: str, plans: Plans, capsys: Capture
) -> None:
    seeded = ["--insecure-test-seed", "7", "--", written]
    taken = release(capsys, plans[kind], *seeded)
    assert taken.code == 0, taken.err
    assert taken == release(capsys, plans[kind], *seeded[:-1], counted)


# ------------------------------------------------------------------------------------------ bad requests


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ([], "--input"),
        (["5", "--column", "x"], "--column must be used with --input"),
        (["5", "--input-format", "csv"], "--input-format must be used with --input"),
        (["--input", "x.csv", "--keep", "a"], "--keep must be used with --column"),
        (["--input", "x.csv", "--column", "a", "--keep", "a"], "the private one itself"),
        (["--input", "x.csv", "--column", "a", "--keep", "released"], "--keep must be none of"),
        (["5", "-o", "x.png"], "named .csv, .json or .parquet"),
        (["5", "-o", "/nowhere/x.csv"], "a folder that exists"),
        (["5", "-o", "/dev/null"], "an ordinary file"),
        (["5", "-o", "/"], "an ordinary file"),
        (["5", "--json", "--format", "csv"], "--format"),
        (["5", "--neighbors", "replace"], "replace neighbors"),
        (["5", "--interval", "0"], "--interval"),
        (["5", "--interval", "99"], "--interval"),
    ],
)
def test_bad_requests_are_refused(options: list[str], word: str, plans: Plans, capsys: Capture) -> None:
    assert_refused(release(capsys, plans["whole"], *options), word)


def test_files_that_are_no_plans_are_refused(capsys: Capture, tmp_path: Path) -> None:
    assert_refused(release(capsys, tmp_path / "missing.json", "5"), "plan file must be readable")
    broken = tmp_path / "broken.json"
    broken.write_text("{}", encoding="utf-8")
    assert_refused(release(capsys, broken, "5"), "must be")
    assert_refused(run(capsys, "release"), "PLAN")


# ------------------------------------------------------------------------------------------ the real command


def test_the_installed_command_reads_standard_input(plans: Plans) -> None:
    done = run_piped(f"seq 1 1000 | '{PBDP}' release '{plans['whole']}' --input - --disjoint")
    assert done.code == 0
    assert len(rows(done)) == 1001
    assert "within 5" in done.err
    as_json = run_piped(
        f"echo '[1, 2]' | '{PBDP}' release '{plans['whole']}' --input - --input-format json --disjoint --json"
    )
    assert len(json.loads(as_json.out)["released"]) == 2


def test_what_cannot_be_written_is_said_and_counts(plans: Plans) -> None:
    command = f"'{PBDP}' release '{plans['whole']}'"
    # more than a pipe holds, so that the command notices
    closed = run_piped(f"seq 1 200000 | {command} --input - --disjoint | head -n 1 >/dev/null")
    assert closed.code == 2
    assert "cannot be written" in closed.err
    assert "counts as released" in closed.err
    for options in ("5", "5 --format parquet"):
        full = run_piped(f"{command} {options} >/dev/full")
        assert_refused(full, "No space left", "counts as released")
    assert_refused(run_piped(f"{command} 5 >&-"), "standard output must be open")


def test_standard_input_that_is_closed_is_refused(plans: Plans) -> None:
    assert_refused(run_piped(f"'{PBDP}' release '{plans['whole']}' --input - <&-"), "standard input")


def test_help_says_that_kept_columns_are_published(capsys: Capture) -> None:
    text = " ".join(run(capsys, "release", "--help").out.split())
    assert "PUBLISHED AS IT IS" in text
    assert "Nothing else is copied" in text
    assert "history" in text


# ------------------------------------------------------------------------------------------ progress


def test_progress_is_shown_on_a_terminal_only(
    plans: Plans, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "numbers.txt"
    file.write_text("5\n" * 1000, encoding="utf-8")
    monkeypatch.setattr(main_module, "PATIENCE", 0.0)
    monkeypatch.setattr(main_module, "PAUSE", 0.0)
    arguments = ["release", str(plans["whole"]), "--input", str(file), "--disjoint", "--json"]
    assert run(capsys, *arguments).err == ""
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    assert main(arguments) == 0
    shown = terminal.getvalue()
    assert "reading row 1,000" in shown
    assert "drawing 1,000" in shown
    # and it leaves nothing behind
    assert shown.endswith("\r\x1b[K")


def test_progress_waits_and_says_little() -> None:
    terminal = Terminal()
    with main_module.Progress(stream=terminal) as progress:
        for done in range(1000):
            progress.tell("drawing", done, 1000)
    assert terminal.getvalue() == ""


def test_an_interrupted_release_leaves_one_line(plans: Plans) -> None:
    with subprocess.Popen(
        [PBDP, "release", str(plans["whole"]), "--input", "-", "--disjoint"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdin is not None
        assert process.stderr is not None
        # wait until it reads
        process.stdin.write("1\n" * 200_000)
        process.stdin.flush()
        process.send_signal(2)
        out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert (out, err) == ("", "pbdp: interrupted\n")
