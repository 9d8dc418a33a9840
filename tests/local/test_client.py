"""The JavaScript client, in Node and in a real browser: pbdp's own reports, memory and cap."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
from collections.abc import Callable, Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from pbdp.errors import PlanFileError
from pbdp.json_records import canonical
from pbdp.local import LocalMechanism, in_blocks, in_categories, on_scale, region_of, without_categories
from pbdp.local.boosted_response import boosted_response
from pbdp.local.center_response import center_response
from pbdp.local.configuration import configuration, mechanism_of
from pbdp.local.local_hashing import local_hashing
from pbdp.local.mean_response import mean_response
from pbdp.local.square_wave import square_wave
from pbdp.local.subset_selection import subset_selection
from pbdp.local.user_split import user_split
from tests.browser import node, opened, served
from tests.local.channels import MEMBERS
from tests.local.setups import DOMAINS

CLIENT = "pbdp-survey.js"
Run = Callable[..., Any]

LARGER: dict[str, LocalMechanism] = {
    **{f"boosted {name}": boosted_response(domain, 3.0, 1.5) for name, domain in DOMAINS.items()},
    "boosted, wide": boosted_response(on_scale(range(20_001), 5, ring=True), 12.0, 2.0),
    "subsets, wide": subset_selection(without_categories(range(5000)), 2.0),
    "sets in wide categories": subset_selection(in_blocks(range(4200), 7), 6.0, 2, by_category=True),
    "hashed": local_hashing(in_blocks(range(10, 101), 10), 2.0),
    "sets of ages": subset_selection(in_blocks(range(10, 101), 10), 5.0, 3, by_category=True),
    "subsets of ages": subset_selection(in_blocks(range(10, 101), 10), 1.0),
    "split ages": user_split(in_blocks(range(10, 101), 10), 1.0, 0.45),
    "wave of ages": square_wave(in_blocks(range(10, 101), 10), 1.0),
    "other scripts": subset_selection(in_categories({"côté": ["é", "\u007f", "日"], "b": ["😀", '"']}), 1.0),
}


def case(name: str, mechanism: LocalMechanism, vectors: int = 25) -> dict[str, Any]:
    """A configuration, and reports of random words, the least and the largest ones among them."""
    generator = np.random.default_rng(7)
    values, each = mechanism.domain.values, mechanism.words_per_user
    reports = []
    for number in range(vectors):
        words = generator.integers(0, 2**64, each, dtype=np.uint64).tolist()
        if number < 4:
            words[0] = (0, 2**64 - 1, 2**63, 2**64 - 8)[number]
        if number == 5:  # equal keys are lined up by number
            words[1:] = [words[-1]] * (each - 1)
        value = values[int(generator.integers(len(values)))]
        made = {"value": value, "words": list(map(str, words)), "report": mechanism.report_of(value, words)}
        reports.append(made)
    return {"name": name, "config": configuration(mechanism), "reports": reports}


@pytest.fixture(scope="module")
def cases() -> list[dict[str, Any]]:
    found = [case(name, mechanism) for name, mechanism in {**MEMBERS, **LARGER}.items()]
    return json.loads(json.dumps(found))  # type: ignore[no-any-return]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The client as it is shipped, and the checks beside it."""
    place = tmp_path_factory.mktemp("client")
    (place / CLIENT).write_bytes(files("pbdp.local").joinpath("client", CLIENT).read_bytes())
    for name in ("checks.js", "node.mjs"):
        shutil.copy(Path(__file__).parent / "client" / name, place)
    (place / "package.json").write_text('{"type": "module"}')
    (place / "index.html").write_text("<!doctype html><title>client</title>")
    return place


@pytest.fixture(scope="module", params=["node", "chromium"])
def run(request: pytest.FixtureRequest, folder: Path) -> Iterator[Run]:
    """Calls a check by its name, in Node or in Chromium."""
    if request.param == "node":

        def in_node(check: str, *given: Any) -> Any:
            done = subprocess.run(
                [node(), str(folder / "node.mjs")],
                input=json.dumps({"check": check, "given": given}),
                capture_output=True,
                text=True,
                check=False,
            )
            assert done.returncode == 0, done.stderr
            return json.loads(done.stdout)

        yield in_node
        return
    with opened() as started, served(folder) as address:
        page = started.new_page()
        page.goto(f"{address}/index.html")

        def in_page(check: str, *given: Any) -> Any:
            script = "async ([check, given]) => (await import('/checks.js'))[check](...given)"
            return page.evaluate(script, [check, list(given)])

        yield in_page


def test_all_reports_are_those_of_pbdp(run: Run, cases: list[dict[str, Any]]) -> None:
    found = run("checkVectors", cases)
    assert found["wrong"] == []
    assert found["vectors"] == 25 * (len(MEMBERS) + len(LARGER))
    assert run("bytesInOrder") == [0x04030201, 0x08070605]


def test_what_was_tampered_with_is_refused(run: Run) -> None:
    refused = run("checkRefusals", configuration(LARGER["boosted ages"]))
    assert refused.pop("untouched") is None
    assert "epsilon" in refused["weaker"]
    assert "no law" in refused["weights"]
    assert "changed" in refused["values"]
    assert "test vector" in refused["vector"]
    assert "not an answer" in refused["answer"]
    assert all(refused.values())


def forged(mechanism: LocalMechanism, **changes: Any) -> dict[str, Any]:
    """A configuration with changed parts of its domain or parameters, the fingerprint made to fit."""
    record: dict[str, Any] = json.loads(json.dumps(configuration(mechanism)))
    for place, value in changes.items():
        part, name = place.split("_", 1)
        record[part][name] = value
    shared = {name: record[name] for name in ("format", "version", "mechanism", "domain", "parameters")}
    fingerprint = hashlib.sha256(canonical(shared).encode()).hexdigest()[:16]
    return record | {"fingerprint": fingerprint, "test_vectors": [], "epsilon": 50}


def forgeries() -> dict[str, tuple[str, dict[str, Any]]]:
    """By name: what the client says, and the configuration. With each, some answers had another law."""
    ages, numbers = DOMAINS["ages"], without_categories(range(0, 30, 3))
    few = {"sizes": [1] * 9, "names": [str(n) for n in range(9)]}
    boosted, mean = boosted_response(ages, 3.0, 1.5), mean_response(numbers, 1.0)
    hashed, wave, sets = (made(numbers, 1.0) for made in (local_hashing, square_wave, subset_selection))
    near = center_response(without_categories(range(12)), region_of(without_categories(range(12)), 1), 1.0)
    ring = boosted_response(on_scale(range(12), 3, ring=True), 1.0, 0.5)
    own = boosted.parameters["own"]
    half = wave.parameters["far"]
    sizes = near.domain.record()["categories"]["sizes"]
    return {
        "a value in no category": ("hold all values", forged(sets, domain_categories=few)),
        "a center for no one": (
            "hold all values",
            forged(near, domain_categories={"sizes": [*sizes[:-1], sizes[-1] - 1], "names": few["names"]}),
        ),
        "half a category": ("hold all", forged(sets, domain_categories={"sizes": [0.5] * 20, "names": []})),
        "less than none": ("hold all", forged(sets, domain_categories={"sizes": [12, -2], "names": []})),
        "the same value twice": ("list of answers", forged(sets, domain_values=[1] * 10)),
        "numbers and texts": ("list of answers", forged(sets, domain_values=[*range(9), "a"])),
        "an even width": ("width", forged(ring, domain_scale={"width": 4, "ring": True})),
        "a weight too many": ("one weight", forged(boosted, parameters_own=[*own, own[0]])),
        "numbers below the least": ("low and step", forged(mean, parameters_low=15)),
        "numbers that go backwards": ("low and step", forged(mean, parameters_low=30, parameters_step=-3)),
        "numbers between places": ("low and step", forged(mean, parameters_step=2)),
        "half a digit": ("too small", forged(hashed, parameters_digits=1.5)),
        "half a window": ("half", forged(wave, parameters_half=0.5)),
        "a window like the rest": ("no law", forged(wave, parameters_near=half)),
        "a name of every object": ("does not know", forged(sets) | {"mechanism": "constructor"}),
    }


def test_forged_configurations_are_refused(run: Run) -> None:
    """The fingerprint is no seal: whoever forges a configuration computes it too."""
    made = forgeries()
    found = run("checkForged", {name: config for name, (_, config) in made.items()})
    assert {name: said for name, said in found.items() if made[name][0] not in (said or "")} == {}
    for _, config in made.values():
        with pytest.raises(PlanFileError):
            mechanism_of(config)


def test_a_survey_that_looks_like_one_that_was_paid_for_gets_nothing(run: Run) -> None:
    cheap, dear = (configuration(boosted_response(DOMAINS["ages"], epsilon, 0.2)) for epsilon in (1.0, 5.0))
    assert run("checkCollision", cheap, dear) == [True, None]


def test_means_of_very_many_numbers(run: Run) -> None:
    mechanism = mean_response(without_categories([0, 1, 199_999]), 1.0)
    assert 0 <= run("checkWide", configuration(mechanism)) < mechanism.cells


def test_a_device_remembers_and_keeps_its_cap(run: Run) -> None:
    survey, *others = (
        configuration(boosted_response(DOMAINS["ages"], epsilon, 0.2)) for epsilon in (1.0, 0.999, 0.998, 0.3)
    )
    found = run("checkDevice", survey, others)
    assert found == {
        "survey": survey["fingerprint"],
        "same": True,
        "sticks": True,
        "spent": pytest.approx(1),
        "writes": 1,
        "remembers": True,
        "memorized": True,
        "stale": True,
        "severalSpent": pytest.approx(3),
        "sent": [True, False, True],
        "stillAnswers": True,
        "within": True,
        "full": "full",
        "picked": 1,
        "spread": 4,
    }


def test_fresh_reports_have_the_weights_that_are_certified(run: Run) -> None:
    """Accepts the law that is drawn, and would reject one with a tenth more on the true value."""
    mechanism = boosted_response(without_categories(range(4)), 1.0, 1.0)
    found = run("drawn", configuration(mechanism), 2, 20_000)
    counts = np.array([found[str(value)] for value in range(4)])
    own, far = mechanism.shares.own[0], mechanism.shares.far[0]
    law = np.array([far, far, own, far])
    assert stats.chisquare(counts, 20_000 * law).pvalue > 1e-5
    wrong = law + np.array([-1, -1, 3, -1]) * own / 30
    assert stats.chisquare(counts, 20_000 * wrong).pvalue < 1e-5


def test_reports_take_less_than_a_millisecond(run: Run) -> None:
    for name in ("boosted ages", "subsets of ages", "split ages", "wave of ages"):
        assert run("speed", configuration(LARGER[name]), 500) < 1000


def test_the_text_behind_a_fingerprint_is_spelled_as_pbdp_spells_it(run: Run) -> None:
    thing = {"b": ["é", "\u007f", "😀", '"\\\n\t', 3, -7, None, True], "a": {"z": "", "y": "日本"}}
    assert run("text", thing) == canonical(thing)


def test_the_client_is_as_large_as_the_docs_say() -> None:
    import gzip

    content = files("pbdp.local").joinpath("client", CLIENT).read_bytes()
    page = (Path(__file__).parents[2] / "docs" / "wire-format.md").read_text(encoding="utf-8")
    assert f"{len(content) / 1000:.0f} kB" in page
    assert f"{len(gzip.compress(content, 9)) / 1000:.0f} kB" in page
    assert b"import " not in content.split(b"const TOTAL")[1]
