"""What the page shows of a plan is what the library gives, and what is taken away gives it again."""

from __future__ import annotations

import ast
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import pbdp
from pbdp.digits import epsilon_text, rounded_down
from pbdp.report.certificates.html_page import certificate_page
from pbdp.report.certificates.statement import of_plan
from pbdp.studio.code_to_copy import spelled
from pbdp.studio.explore import FILES, download, losses_view, plan_of, plan_view, sample_view
from pbdp.studio.form import read_form
from pbdp.studio.words import noise_words, out_of, sentence
from tests.studio.running import COUNT, PBDP

RELATIVE = COUNT | {"kind": "relative", "percent": "20", "plus": "5", "nonnegative": True}
FORMS: dict[str, dict[str, Any]] = {
    "absolute": COUNT,
    "real": COUNT | {"integer": False, "within": "5.5"},
    "relative": RELATIVE,
    "range": COUNT | {"kind": "range", "low": "0", "high": "100"},
    "scale": COUNT
    | {"kind": "range", "low": "0", "high": "100", "within": "", "scale": "3", "integer": False},
    "releases": COUNT | {"releases": "10", "within": "20", "simultaneous": True},
    "confidence": COUNT | {"solve": "confidence", "epsilon": "1"},
    "width": COUNT | {"solve": "within", "epsilon": "1", "neighbors": "replace"},
    "part of a width": RELATIVE | {"solve": "within", "percent": "20", "epsilon": "0.5"},
}


@pytest.fixture(params=FORMS, scope="module")
def form(request: pytest.FixtureRequest) -> dict[str, Any]:
    return FORMS[request.param]


def test_the_page_shows_what_the_library_gives(form: dict[str, Any], tmp_path: Path) -> None:
    """And the lines that can be copied give the same plan."""
    view = plan_view(form)
    scope: dict[str, Any] = {}
    exec(view["python"].replace("print(", "str("), scope)  # noqa: S102  # that is what people do with it
    made: pbdp.Plan = scope["plan"]
    assert made.requirement == plan_of(read_form(form)).requirement
    if form in (FORMS["relative"], FORMS["width"]):
        words = shlex.split(view["command"].replace("\\\n", ""))
        subprocess.run([PBDP, *words[1:]], cwd=tmp_path, check=True, capture_output=True)
        assert pbdp.Plan.load(tmp_path / "plan.json").epsilon == made.epsilon
    assert view["epsilon"] == made.epsilon
    assert view["epsilon_text"] == epsilon_text(made.epsilon)
    shown = {(family["name"], family["epsilon"]) for family in view["families"]}
    assert shown == {
        (noise_words(made.mechanism.name), made.epsilon),
        *((noise_words(other.family), other.epsilon) for other in made.alternatives),
    }
    assert [family["name"] for family in view["families"] if family["chosen"]] == [
        noise_words(made.mechanism.name)
    ]
    if made.limit is None:
        assert view["limit"] is None
    else:
        assert view["limit"]["epsilon"] == made.limit.epsilon
        assert view["limit"]["epsilon_text"] == rounded_down(made.limit.epsilon)
    assert view["risk"] == made.risk_words()
    losses = losses_view(form)
    assert losses == {name: view[name] for name in losses}


def test_the_law_that_is_drawn_is_that_of_the_plan(form: dict[str, Any]) -> None:
    law = plan_view(form | {"answer": "40"})["law"]
    made = plan_of(read_form(form))
    outputs = made.law_at(40)
    assert law["answer"] == 40
    assert sum(law["probability"]) == pytest.approx(1, abs=0.02)
    if law["size"] == 1:
        known = dict(zip(outputs.output.tolist(), outputs.probability.tolist(), strict=True))
        assert [known[output] for output in law["output"]] == law["probability"]
    below, above = (float(offset) for offset in made.requirement.region.offsets(40.0))
    inside = [40 - below <= output <= 40 + above for output in law["output"]]
    assert law["inside"] == inside


def test_what_was_found_can_be_asked_for(form: dict[str, Any]) -> None:
    """Its digits are rounded so that whoever asks with them pays no more than was said, or what was given."""
    view = plan_view(form)
    if form.get("solve", "epsilon") == "epsilon":
        assert float(view["found"]["text"]) >= view["epsilon"]
        return
    again = form | {"solve": "epsilon", view["found"]["field"]: view["found"]["text"]}
    assert plan_view(again)["epsilon"] <= float(form["epsilon"]) * (1 + 1e-4)


@pytest.mark.parametrize("value", ["a'b", 'a"b', "a\nb", "5%+10", 1e-6, 1e22, 1e-12, 12.5, 7.0, True, None])
def test_python_is_spelled_as_it_is_read(value: object) -> None:
    assert eval(spelled(value)) == value  # noqa: S307  # of values that are written above
    assert eval(spelled([value, (value,)])) == [value, (value,)]  # noqa: S307


@pytest.mark.parametrize(
    ("confidence", "words"),
    [
        (0.9, "90 of 100"),
        (0.99637, "9,963 of 10,000"),
        (0.999999, "999,999 of 1,000,000"),
        (0.5, "50 of 100"),
    ],
)
def test_a_confidence_is_a_count(confidence: float, words: str) -> None:
    assert out_of(confidence) == words


@pytest.mark.parametrize(
    ("name", "words"),
    [
        (
            "absolute",
            "Answers land within 5 of the truth in 90 of 100 releases; the least ε is 0.4148, Laplace; "
            "Gaussian would need 1.28.",
        ),
        ("releases", "All 10 answers land within 20 of the truth in 90 of 100 cases; the least ε is"),
        ("confidence", "With ε 1, answers land within 5 of the truth in 9,963 of 10,000 releases at best"),
        ("width", "With ε 1, the narrowest width that holds in 90 of 100 releases is 2; it takes ε 0.8833"),
        ("part of a width", "the narrowest width that holds in 90 of 100 releases is 20 % plus"),
        ("relative", "Answers land within 20 % plus 5 of the truth in 90 of 100 releases; the least ε is"),
        ("scale", "Answers land inside 0..100 in 90 of 100 releases"),
    ],
)
def test_the_sentence(name: str, words: str) -> None:
    asked = read_form(FORMS[name])
    assert words in sentence(plan_of(asked), asked)


# ------------------------------------------------------------------------------------------ simulations


def test_a_simulation_is_marked_and_repeats() -> None:
    first, again, other = (sample_view(COUNT | {"answer": "40"}, seed) for seed in (7, 7, 8))
    assert first == again
    assert first["values"] != other["values"]
    assert "not a release" in first["notice"]
    assert len(first["values"]) == 100
    assert first["inside"] == [35 <= value <= 45 for value in first["values"]]
    assert f"{sum(first['inside'])} of these 100" in first["words"]


def test_simulations_have_the_law_of_the_plan() -> None:
    met = [sum(sample_view(COUNT, seed)["inside"]) for seed in range(30)]
    # 3,000 draws at 0.9: five standard errors are 82
    assert abs(sum(met) - 2700) < 82


@pytest.mark.parametrize("seed", [-1, 1.5, "x", None, True])
def test_a_seed_is_a_whole_number(seed: object) -> None:
    with pytest.raises(pbdp.InputError, match="seed must be a whole number"):
        sample_view(COUNT, seed)


# ------------------------------------------------------------------------------------------ files


def test_a_plan_that_is_taken_away_is_read_back(form: dict[str, Any], tmp_path: Path) -> None:
    file = tmp_path / "plan.json"
    file.write_bytes(download(form, "plan.json").content)
    assert pbdp.Plan.load(file).epsilon == plan_view(form)["epsilon"]


def test_the_certificate_is_that_of_the_command_line(tmp_path: Path) -> None:
    answer = download(COUNT, "certificate.html")
    (tmp_path / "plan.json").write_bytes(download(COUNT, "plan.json").content)
    subprocess.run([PBDP, "certificate", "plan.json"], cwd=tmp_path, check=True, capture_output=True)
    assert answer.content == (tmp_path / "plan.certificate.html").read_bytes()
    assert certificate_page(of_plan(plan_of(read_form(COUNT)), "plan.json")) == answer.content.decode()


@pytest.mark.parametrize(("name", "begins"), [("plan.svg", b"<?xml"), ("plan.png", b"\x89PNG")])
def test_pictures_are_pictures(name: str, begins: bytes) -> None:
    answer = download(COUNT, name)
    assert answer.content.startswith(begins)
    assert answer.name == name
    assert answer.media == FILES[name][0]


def test_other_files_are_refused() -> None:
    with pytest.raises(pbdp.InputError, match=r"what must be plan\.json or"):
        download(COUNT, "../../etc/passwd")


@pytest.mark.parametrize(
    ("loaded", "never"),
    [
        ("pbdp.studio.views", ("starlette", "uvicorn")),  # workers serve nothing
        ("pbdp.studio.app", ("numpy", "scipy", "pbdp.planning", "pbdp.tables")),  # servers compute nothing
    ],
)
def test_each_process_loads_what_it_needs(loaded: str, never: tuple[str, ...]) -> None:
    code = f"import {loaded}, sys; print([m for m in {never} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ast.literal_eval(done.stdout) == []
