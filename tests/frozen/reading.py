"""All that these tests ask of pbdp: its names are used here, nowhere else in this folder.

What comes back is plain JSON, under names of this file's own, to be held against `frozen.json`.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import math
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import special

from pbdp.choosing.plan import ChoicePlan
from pbdp.cli.main import main
from pbdp.cli.tables.asked import asked_of
from pbdp.cli.tables.query_file import settings_in
from pbdp.comparing.compared import Compared
from pbdp.errors import PbdpError
from pbdp.local.configuration import configuration, load_configuration
from pbdp.local.counts import count_reports
from pbdp.local.estimate import estimate
from pbdp.mechanism.design import Design
from pbdp.planning.certificate import noise_delta
from pbdp.planning.older_files import as_written_now
from pbdp.planning.plan import Plan, number_design
from pbdp.planning.pricing import Priced, fingerprint
from pbdp.planning.pricing.priced import compose_plans
from pbdp.planning.store import plan_from_record
from pbdp.planning.together.joint import steps_of
from pbdp.release.keystream import InsecureTestSeedWarning
from pbdp.tables.query_record import key_of, query_from_record, query_record, query_text
from pbdp.tables.table import published_columns
from pbdp.tables.verify_plan import plan_of as table_plan_of

HERE = Path(__file__).parent
INDEX = HERE / "frozen.json"

Record = dict[str, Any]
# The delta of a plan that has none of its own.
DELTA = 1e-5
# The seeds of noise that is drawn again.
ONE, SEVERAL = 1, 2
PLACE = "somewhere/data.csv"


def index() -> Record:
    """What was true of every file when it was made."""
    record: Record = json.loads(INDEX.read_text(encoding="utf-8"))
    return record


def json_in(path: Path) -> Record:
    """The JSON of a file."""
    record: Record = json.loads(path.read_text(encoding="utf-8"))
    return record


def digests() -> dict[str, str]:
    """SHA-256 of every file in the folders beside this one."""
    files = (path for path in HERE.glob("*/**/*") if path.is_file() and "__pycache__" not in path.parts)
    return {
        path.relative_to(HERE).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(files)
    }


def arithmetic() -> str:
    """A digest of what this machine's floats give, to the last digit; another may round otherwise."""
    points = np.linspace(-30.0, 30.0, 4099)
    positive = np.abs(points) + 2.0**-20
    found = [
        *(f(points) for f in (np.exp, np.expm1, np.cos, np.tanh, special.log_ndtr, special.erf)),
        *(f(positive) for f in (np.log, np.log1p, np.sqrt, special.gammaln)),
        positive**1.7,
        np.cumsum(np.exp(points)),
        np.array([np.sum(np.exp(points)), np.dot(points, positive), math.exp(0.3), math.log(7.1)]),
        np.abs(np.fft.rfft(positive)),
    ]
    digest = hashlib.sha256()
    for column in found:
        digest.update(np.asarray(column, dtype="<f8").tobytes())
    return digest.hexdigest()


# ------------------------------------------------------------------------------------------ plans


def choice_facts(path: Path) -> Record:
    """What a plan that chooses claims, what a budget pays for, and what it chooses from these scores."""
    plan = ChoicePlan.load(path)
    scores = [(37 * place) % 101 * 1.5 for place in range(plan.asked.options)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InsecureTestSeedWarning)
        drawn = [plan.choose(scores, insecure_test_seed=seed) for seed in range(5)]
    return {
        "describe": plan.describe(),
        "epsilon": plan.epsilon,
        "confidence": plan.confidence,
        "claim": fingerprint(plan.claim),
        "chosen": drawn,
        "record": plan.record(),
    }


def comparison_facts(path: Path) -> Record:
    """What a comparison claims, what a budget pays for, and what was found."""
    compared = Compared.load(path)
    plan = compared.plan
    power = {"power": plan.power(*plan.asked.planned)} if plan.asked.lift else {}
    return {
        "claims": {
            "epsilon": plan.epsilon,
            "delta": plan.delta,
            "guessed_right": plan.risk(),
            "confidence": plan.confidence,
            "noise": fingerprint(plan.noise),
            "asked": plan.asked.record(),
            "privacy_cost": list(plan.users),
            "decided": compared.decided,
            "counts": list(compared.counts),
        },
        "found": {
            "wider": plan.wider,
            **power,
            "low": compared.low,
            "high": compared.high,
            "estimate": compared.estimate,
            "p_value": compared.p_value,
        },
    }


def plan_facts(path: Path, answers: Sequence[float]) -> Record:
    """What a plan for single numbers claims, what it costs, and what it publishes for these answers."""
    plan = Plan.load(path)
    released = released_by(plan, answers)
    published = released["several"]["value"]
    return {
        "fingerprint": fingerprint(plan),
        "epsilon": plan.epsilon,
        "delta": plan.delta,
        "rdp_order": plan.rdp_order,
        "confidence": plan.confidence,
        "within": _plain(plan.within),
        "family": plan.mechanism.name,
        "step": plan.grid.step,
        "limit": None if plan.limit is None else plan.limit.epsilon,
        "alternatives": [
            [other.family, other.epsilon, other.confidence, other.guaranteed] for other in plan.alternatives
        ],
        "prices": _prices(plan),
        "laws": [_law(plan, answer) for answer in answers],
        "released": released,
        "intervals": [
            {
                "published": number,
                "own": _plain(plan.interval(number)),
                "99": _plain(plan.interval(number, 0.99)),
            }
            for number in published[:3]
        ],
        "likelihood": _plain(plan.likelihood(published[0], list(answers)).tolist()),
    }


def plan_weights(path: Path, answers: Sequence[float]) -> list[str]:
    """A digest of every whole-number weight of the noise, for each of these answers."""
    plan = Plan.load(path)
    return [_weights(plan.design, plan.answer_in_steps(answer)) for answer in answers]


def plan_saved_again(path: Path, folder: Path) -> Record:
    """The file that a plan gives when it is loaded and saved."""
    Plan.load(path).save(folder / path.name)
    return json_in(folder / path.name)


def released_by(plan: Plan, answers: Sequence[float]) -> Record:
    """One number, and a list of them, with the noise of test seeds."""
    with seeded():
        one = plan.release(answers[0], interval=True, insecure_test_seed=ONE)
        several = plan.release(list(answers) * 3, disjoint=True, interval=True, insecure_test_seed=SEVERAL)
    return {
        name: {
            "value": _plain(made.value),
            "low": _plain(made.low),
            "high": _plain(made.high),
            "confidence": made.confidence,
        }
        for name, made in (("one", one), ("several", several))
    }


def vector_facts(path: Path) -> Record:
    """What a plan for vectors claims, what it costs, and what it publishes."""
    plan = Plan.load(path)
    with seeded():
        released = plan.release(
            [3 * place for place in range(plan.requirement.dimensions)], insecure_test_seed=ONE
        )
    return {
        "fingerprint": fingerprint(plan),
        "epsilon": plan.epsilon,
        "delta": plan.delta,
        "confidence": plan.confidence,
        "within": plan.within,
        "norm": plan.requirement.coordinates and plan.requirement.coordinates.norm,
        "dimensions": plan.requirement.dimensions,
        "sensitivity": plan.requirement.sensitivity,
        "family": plan.mechanism.name,
        "design": type(plan.mechanism).__name__,
        "alternatives": [
            [other.family, other.epsilon, other.confidence, other.guaranteed] for other in plan.alternatives
        ],
        "prices": _prices(plan),
        "released": _plain(released.value),
    }


def vector_saved_again(path: Path, folder: Path) -> Record:
    """What a vector plan claims that was loaded and saved in the format of today."""
    Plan.load(path).save(folder / path.name)
    return vector_facts(folder / path.name)


def joint_facts(path: Path) -> Record:
    """What a joint plan claims and what it costs."""
    joint = plan_from_record(json_in(path))
    return {
        "fingerprint": fingerprint(joint),
        "epsilon": joint.epsilon,
        "epsilon_lower": joint.certificate.epsilon_lower,
        "delta": joint.delta,
        "missing": joint.missing,
        "noise_delta": noise_delta(joint.delta or 0.0, joint.missing),
        "releases": joint.releases,
        "parts": [[part.design.name, part.confidence, part.releases, steps_of(part)] for part in joint.parts],
        "prices": _prices(joint),
    }


def joint_weights(path: Path) -> list[str]:
    """A digest of every weight of the noise of each part, at an answer of 0."""
    return [_weights(number_design(part.design), 0) for part in plan_from_record(json_in(path)).parts]


def joint_saved_again(path: Path, folder: Path) -> Record:
    """What a joint plan claims that was loaded and saved in the format of today."""
    Plan.load(path).save(folder / path.name)
    return joint_facts(folder / path.name)


def _prices(plan: Priced) -> Record:
    """What three packages of a plan take together; what one costs of a budget follows from what is left."""
    try:
        # of three packages the deltas add up, at most; a float just below is below what is written
        found = compose_plans([(plan, 3)]).epsilon_at(4 * (plan.delta or DELTA) * (1 - 2.0**-50))
    except PbdpError as refusal:
        return {"batch": type(refusal).__name__}
    return {"batch": {"epsilon_lower": found.lower, "epsilon_upper": found.upper}}


def _law(plan: Plan, answer: float) -> Record:
    law = plan.law_at(answer)
    distance = np.abs(law.output - float(answer))
    top = int(np.argmax(law.probability))
    return {
        "outputs": len(law.output),
        "first": float(law.output[0]),
        "last": float(law.output[-1]),
        "likeliest": [float(law.output[top]), float(law.probability[top])],
        "mean_distance": float(law.probability @ distance),
        "collision": float(law.probability @ law.probability),
    }


def _weights(design: Design, steps: int) -> str:
    table = design.table_at(float(steps))
    weights: npt.NDArray[Any] = np.asarray(table.weights)
    if weights.dtype.kind not in "iu":
        raise AssertionError("weights are whole numbers")
    return hashlib.sha256(f"{table.start}:".encode() + weights.astype("<i8").tobytes()).hexdigest()


def _plain(value: Any) -> Any:
    """Numbers as JSON has them: lists for tuples, texts for what is infinite."""
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


@contextlib.contextmanager
def seeded() -> Iterator[None]:
    """Noise from a test seed is wanted here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InsecureTestSeedWarning)
        yield


# ------------------------------------------------------------------------------------------ tables


def query_facts(path: Path) -> Record:
    """The query of a file: its record, and the texts that a ledger knows it by."""
    query = asked_of(settings_in(path), path.parent).query
    return {
        "record": json.loads(json.dumps(query_record(query), allow_nan=False)),
        "text": hashlib.sha256(query_text(query).encode()).hexdigest(),
        "key": key_of(query, PLACE),
    }


def query_read_again(record: Record) -> Record:
    """The record that a query of a record has."""
    again: Record = json.loads(json.dumps(query_record(query_from_record(record)), allow_nan=False))
    return again


def table_facts(manifest: Path) -> Record:
    """What `pbdp verify` finds; of its words only which claims they are about."""
    done = command(["verify", str(manifest), "--json"])
    return {
        # on purpose, a table whose ledger is not there to look at has an exit code of its own now
        "code": 0 if done["code"] == 4 and not done["out"]["complete"] else done["code"],
        "epsilon": done["out"]["epsilon"],
        "delta": done["out"]["delta"],
        "checks": [[check["name"], check["holds"]] for check in done["out"]["checks"]],
    }


def table_drawn_again(manifest: Path, data: Path) -> bytes:
    """The CSV file of a table that a test seed gave, from the plan and the seed in its manifest."""
    record = json_in(manifest)
    with seeded():
        table = table_plan_of(record, None).release(data, insecure_test_seed=record["insecure_test_seed"])
    # the same numbers; on purpose, confidences have fewer digits now than they had then
    table.__dict__["_drawn"] = published_columns(table.plan, table.values, clipped=True)
    return table.file_bytes("csv")


# ------------------------------------------------------------------------------------------ local model


def local_facts(path: Path) -> Record:
    """What a configuration claims, the reports of a test seed, and what is estimated from them."""
    mechanism = load_configuration(path)
    values = [mechanism.domain.values[place % mechanism.domain.count] for place in range(60)]
    with seeded():
        reports = mechanism.randomize(values, insecure_test_seed=ONE)
        counts = count_reports(mechanism, reports)
    estimates: Record = {}
    for kind in ("value", "category"):
        for method in ("normal", "guaranteed"):
            try:
                found = estimate(mechanism, counts, kind, confidence=0.9, method=method)
                made = [found.people.tolist(), found.low.tolist(), found.high.tolist()]
                estimates[f"{kind}, {method}"] = [column[:4] for column in made]
            except PbdpError as refusal:
                estimates[f"{kind}, {method}"] = type(refusal).__name__
    return {
        "fingerprint": mechanism.fingerprint,
        "kind": mechanism.kind,
        "epsilon": mechanism.epsilon,
        "words_per_user": mechanism.words_per_user,
        "reports": list(reports.values)[:20],
        "tally": hashlib.sha256(counts.tally.astype("<i8").tobytes()).hexdigest(),
        "estimates": estimates,
    }


def local_vectors(path: Path) -> list[Any]:
    """The reports that the words of the stored test vectors make of their values."""
    mechanism = load_configuration(path)
    return [
        mechanism.report_of(vector["value"], [int(word) for word in vector["words"]])
        for vector in json_in(path)["test_vectors"]
    ]


def local_saved_again(path: Path) -> Record:
    """The configuration that a loaded one gives."""
    record: Record = json.loads(json.dumps(configuration(load_configuration(path)), allow_nan=False))
    return record


def reports_drawn_again(configuration_file: Path, values: Path, target: Path) -> bytes:
    """The file of reports that `pbdp local randomize` writes with a test seed."""
    asked = ["local", "randomize", str(configuration_file), "--input", str(values), "--column", "age"]
    asked += ["-o", str(target), "--insecure-test-seed", str(ONE)]
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        code = main(asked)
    if code:
        raise AssertionError(f"exit code {code}")
    return target.read_bytes()


# ------------------------------------------------------------------------------------------ commands


def command(arguments: Sequence[str]) -> Record:
    """The exit code of a command, and the JSON that it printed."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
        code = main(list(arguments))
    return {"code": code, "out": json.loads(out.getvalue())}


def in_todays_format(printed: Record) -> Record:
    """What a command printed for a vector or for several requirements, as plans are written now."""
    if printed.get("format") == "pbdp-vector-plan":
        kept = {name: printed[name] for name in ("norm", "dimensions", "within", "alternatives")}
        now: Record = as_written_now(printed, "record")
        return now | kept
    if "parts" in printed and "method" in printed:
        parts = [
            {name: part[name] for name in ("name", "confidence", "releases", "mechanism")}
            for part in printed["parts"]
        ]
        certificate = {name: printed[name] for name in ("epsilon_lower", "method")}
        return {
            "epsilon": printed["epsilon"],
            "delta": printed["delta"],
            "parts": parts,
            "certificate": certificate,
        }
    return printed
