"""`pbdp plan`: the same words as in Python, JSON as promised, and one line for whatever cannot be used.

Which values are refused is tested where they are declared; here, that options are told by their names.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import pbdp
from pbdp.planning.plan import Plan
from tests.cli.commands import FAST, PBDP, PLAN, assert_refused, run, run_command, run_piped

Capture = pytest.CaptureFixture[str]
WIDTH = ["--within", "5"]
REST = ["--confidence", "0.9", "--sensitivity", "1", "--delta", "1e-5", "--integer", *FAST]
RANGE_REST = ["--confidence", "0.8", "--sensitivity", "1", "--delta", "1e-5", *FAST]


# ------------------------------------------------------------------------------------------ what is printed


def test_json_is_one_object_with_every_promised_key(capsys: Capture) -> None:
    done = run(capsys, *PLAN, "--json", "--explain")
    assert (done.code, done.err) == (0, "")
    record: dict[str, Any] = json.loads(done.out)
    promised = (
        "epsilon delta rdp_order confidence within sensitivity releases step mechanism alternatives limit"
    )
    assert set(promised.split()) <= record.keys()
    assert {"family", "boost"} <= record["mechanism"].keys()
    assert record["alternatives"]
    for other in record["alternatives"]:
        assert other.keys() == {"family", "epsilon", "confidence"}
    assert record["limit"] is None or {"epsilon", "kind"} <= record["limit"].keys()
    assert record["epsilon"] == pytest.approx(0.4147, abs=2e-4)
    assert record["confidence"] >= 0.9
    assert (record["delta"], record["rdp_order"], record["within"]) == (1e-5, None, 5)
    assert (record["sensitivity"], record["releases"], record["step"]) == (1, 1, 1)


def test_json_agrees_with_python(capsys: Capture) -> None:
    record = json.loads(run(capsys, *PLAN, "--json", *FAST).out)
    plan = pbdp.plan(within=5, confidence=0.9, sensitivity=1, delta=1e-5, integer=True, families=("laplace",))
    assert record["epsilon"] == plan.epsilon
    assert record["confidence"] == plan.confidence


def test_words_say_what_is_promised(capsys: Capture) -> None:
    done = run(capsys, *PLAN)
    assert (done.code, done.err) == (0, "")
    head, *rest = done.out.splitlines()
    assert head == "ε 0.4148 (limit 0.4147) at delta 1e-05 · within 5 of the truth, 90 % · laplace"
    assert "".join(rest).count("An attacker who starts at 50 : 50") == 1
    assert len(rest) <= 4
    for more in ("Compared", "as published", "Neighbors", "Proof"):
        assert more not in done.out


def test_other_noise_and_published_figures_are_shown_when_asked_why(capsys: Capture) -> None:
    out = run(capsys, *PLAN, "--explain").out
    starred = [line for line in out.splitlines() if line.startswith("*")]
    assert len(starred) == 1
    assert "boosted gaussian, as published: epsilon" in out
    assert "not a guarantee" in out
    for fact in ("Limit ", "Neighbors ", "Proof "):
        assert f"\n{fact}" in out


def test_epsilons_in_words_are_never_below_the_certified_ones(capsys: Capture) -> None:
    for within in range(1, 6):
        options = ["--within", str(within), *REST]
        record = json.loads(run(capsys, "plan", *options, "--json").out)
        words = run(capsys, "plan", *options).out
        shown = words.split()[1]
        assert record["epsilon"] <= float(shown) <= record["epsilon"] * 1.001


def test_output_writes_a_plan_that_loads(capsys: Capture, tmp_path: Path) -> None:
    file = tmp_path / "plan.json"
    done = run(capsys, *PLAN, *FAST, "-o", str(file), "--json")
    assert done.code == 0
    assert json.loads(done.out).items() >= json.loads(file.read_text(encoding="utf-8")).items()
    assert Plan.load(file).epsilon == json.loads(done.out)["epsilon"]
    assert_refused(run(capsys, *PLAN, *FAST, "--output", str(file)), "exists", "--force")
    assert str(file) in run(capsys, *PLAN, *FAST, "--output", str(file), "--force").out


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--within", "5%+10", *REST], {"within": "5%+10"}),
        (["--within", "50%+10", "--nonnegative", *REST], {"within": "50%+10"}),
        (["--within", "2..8", *REST], {"within": [2, 8]}),
        (["--within", "0..8", *REST], {"within": [0, 8]}),
        (["--within", "2..inf", *REST], {"within": [2, None]}),
        (["--within", "inf..8", *REST], {"within": [None, 8]}),
        (["--range", "0..100", "--scale", "3", *RANGE_REST], {"within": None}),
        (["--range", "-10..10", "--scale", "3", *RANGE_REST, "--integer"], {"within": None}),
        (["--range", "-1e3..-.5e2", "--scale", "30", *RANGE_REST, "--integer"], {"within": None}),
        ([*WIDTH, "--range", "-10..90", *REST], {"within": 5}),
        (
            [*WIDTH, "--confidence", "0.9", "--sensitivity", "1", "--rdp-order", "10", "--integer", *FAST],
            {"rdp_order": 10, "delta": None},
        ),
        ([*WIDTH, "--neighbors", "replace", *REST], {"neighbors": "replace"}),
        (["--within", "5", "--step", "0.5", *RANGE_REST], {"step": 0.5}),
        *(
            (
                ["--error-norm", norm, "--dimensions", "4", "--within", "20", *REST],
                {"norm": norm, "dimensions": 4},
            )
            for norm in ("linf", "l2", "l1")
        ),
        (
            ["--error-norm", "l2", "--change-norm", "l1", "--dimensions", "50", "--within", "30", *REST],
            {"norm": "l2", "change_norm": "l1"},
        ),
    ],
)
def test_every_kind_of_requirement_is_planned(
    options: list[str], expected: dict[str, object], capsys: Capture
) -> None:
    done = run(capsys, "plan", *options, "--json")
    assert (done.code, done.err) == (0, "")
    record = json.loads(done.out)
    assert {name: record[name] for name in expected} == expected


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--within", "2..8", *REST], "at most 2 below and 8 above the truth"),
        (["--range", "0..100", "--scale", "3", *RANGE_REST], "inside 0..100"),
        ([*WIDTH, "--step", "0.5", *RANGE_REST], "multiples of 0.5"),
        (
            [*WIDTH, "--confidence", "0.9", "--sensitivity", "1", "--rdp-order", "10", "--integer", *FAST],
            "at Rényi order 10",
        ),
        (
            ["--error-norm", "l2", "--dimensions", "50", "--within", "30", "--touches", "1", *REST],
            "one person changes one coordinate by at most 1",
        ),
    ],
)
def test_every_kind_of_requirement_is_put_in_words(options: list[str], words: str, capsys: Capture) -> None:
    done = run(capsys, "plan", *options, "--explain")
    assert (done.code, done.err) == (0, "")
    assert words in done.out


def test_an_epsilon_is_turned_into_a_confidence_or_a_width(capsys: Capture) -> None:
    afforded = ["--epsilon", "1", "--sensitivity", "1", "--delta", "1e-5", "--integer", *FAST]
    confidence = json.loads(run(capsys, "plan", *WIDTH, *afforded, "--json").out)
    assert confidence["epsilon"] <= 1
    assert confidence["confidence"] > 0.99
    width = json.loads(run(capsys, "plan", "--confidence", "0.9", *afforded, "--json").out)
    assert width["epsilon"] <= 1
    assert width["within"] == 2


# ------------------------------------------------------------------------------------------ what is refused

REFUSED: dict[str, tuple[list[str], list[str]]] = {
    "confidence x": ([*WIDTH, *REST, "--confidence", "x"], ["--confidence"]),
    "within x": (["--within", "x", *REST], ["within must be", "Write 5"]),
    "within 5%": (["--within", "5%", *REST], ["within must be", "5%+10"]),
    "sensitivity missing": (["--within", "5", "--confidence", "0.9", "--delta", "1e-5"], ["--sensitivity"]),
    "no delta, no order": (
        ["--within", "5", "--confidence", "0.9", "--sensitivity", "1"],
        ["--delta must be given", "--delta 1e-6", "--rdp-order 10"],
    ),
    "delta and order": ([*WIDTH, *REST, "--rdp-order", "10"], ["--delta and --rdp-order must be", "both"]),
    "range with one end": (["--range", "5", "--scale", "3", *RANGE_REST], ["--range must be two numbers"]),
    "step of whole numbers": ([*WIDTH, *REST, "--step", "0.5"], ["step must be a whole number"]),
    "releases 1.5": ([*WIDTH, *REST, "--releases", "1.5"], ["--releases"]),
    "family": ([*WIDTH, *REST, "--families", "uniform"], ["--families", "uniform"]),
    "neighbors": ([*WIDTH, *REST, "--neighbors", "friends"], ["--neighbors", "friends"]),
    "epsilon 1e-300": (
        [*WIDTH, "--epsilon", "1e-300", *REST[2:]],
        ["a finite number of at least 1e-15"],
    ),
    "nothing at all": ([], ["--sensitivity"]),
    "unknown option": ([*WIDTH, *REST, "--widht", "5"], ["--widht"]),
    "abbreviated option": (["--with", "5", *REST], ["--with"]),
    "one word too many": ([*WIDTH, *REST, "extra"], ["extra"]),
    "nothing certified": ([*WIDTH, *REST, "--delta", "1e-300"], ["No noise could be certified"]),
    "norm": (["--dimensions", "3", *WIDTH, *REST], ["--error-norm must be given"]),
    "another norm": (["--norm", "l3", "--dimensions", "3", *WIDTH, *REST], ["--norm", "l3"]),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_used_is_refused_in_one_line(name: str, capsys: Capture, tmp_path: Path) -> None:
    options, words = REFUSED[name]
    file = tmp_path / "plan.json"
    assert_refused(run(capsys, "plan", *options, "-o", str(file)), *words)
    assert not file.exists()


@pytest.mark.parametrize("place", ["", "missing/plan.json", "folder"])
def test_a_place_that_cannot_be_written_is_refused(place: str, capsys: Capture, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    done = run(capsys, *PLAN, *FAST, "-o", str(tmp_path / place))
    assert_refused(done, "--output must be")


def test_a_picture_without_matplotlib_is_refused_before_the_work(
    capsys: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    plan, picture = tmp_path / "plan.json", tmp_path / "plan.png"
    done = run(capsys, *PLAN, *FAST, "-o", str(plan), "--plot", str(picture))
    assert_refused(done, "needs matplotlib", "pbdp[plot]")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("arguments", [(), ("nonsense",), ("--nonsense",)])
def test_an_unknown_command_is_refused(arguments: tuple[str, ...], capsys: Capture) -> None:
    assert_refused(run(capsys, *arguments), "--help")


# ------------------------------------------------------------------------------------------ the real command


@pytest.mark.parametrize("arguments", [("--help",), ("plan", "--help"), ("noise", "--help"), ("--version",)])
def test_help_is_printed(arguments: tuple[str, ...]) -> None:
    done = run_command(*arguments)
    assert (done.code, done.err) == (0, "")
    assert "pbdp" in done.out


def test_the_installed_command_plans_and_refuses() -> None:
    done = run_command(*PLAN, *FAST, "--json")
    assert (done.code, done.err) == (0, "")
    assert json.loads(done.out)["epsilon"] == pytest.approx(0.4147, abs=2e-4)
    assert_refused(run_command(*PLAN, "--confidence", "2"), "confidence must be")
    assert_refused(run_command(*PLAN, *FAST, "-o", "/proc/plan.json"), "--output must be")


@pytest.mark.parametrize(("options", "reader"), [("--json", "head -1"), ("", "true")])
def test_a_closed_pipe_is_no_error(options: str, reader: str) -> None:
    done = run_piped(f"'{PBDP}' {' '.join([*PLAN, *FAST])} {options} | {reader}")
    assert (done.code, done.err) == (0, "")


def test_output_that_cannot_be_written_is_said() -> None:
    full = Path("/dev/full")
    if not full.exists():
        pytest.skip("no /dev/full here")
    with full.open("w", encoding="utf-8") as nowhere:
        done = subprocess.run(
            [PBDP, *PLAN, *FAST], stdout=nowhere, stderr=subprocess.PIPE, text=True, timeout=60, check=False
        )
    assert done.returncode == 2
    assert done.stderr.startswith("pbdp: the output cannot be written")
    assert "Traceback" not in done.stderr
