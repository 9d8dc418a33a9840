"""Configurations: a round trip, test vectors, and a client that has nothing else."""

from __future__ import annotations

import json
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pbdp.errors import PlanFileError
from pbdp.local import Domain, LocalMechanism, in_blocks, load_configuration, on_scale, save_configuration
from pbdp.local.boosted_response import boosted_response
from pbdp.local.configuration import configuration, mechanism_of
from pbdp.local.local_hashing import local_hashing
from tests.local import reference_client
from tests.local.channels import MEMBERS
from tests.local.setups import DOMAINS

MECHANISMS: dict[str, LocalMechanism] = {
    **{name: boosted_response(domain, 3.0, 1.5) for name, domain in DOMAINS.items()},
    "only categories": boosted_response(DOMAINS["ages"], 3.0, 0.0),
    "hashed ages": local_hashing(DOMAINS["ages"], 2.0),
    "hashed words": local_hashing(DOMAINS["words"], 3.0),
}
# Those that the reference client of this folder knows; all are made by the JavaScript one too.
SPELLED_OUT = tuple(MECHANISMS)
MECHANISMS |= {f"member {name}": member for name, member in MEMBERS.items()}


@pytest.mark.parametrize("name", MECHANISMS)
def test_a_round_trip_keeps_everything(name: str, tmp_path: Path) -> None:
    mechanism = MECHANISMS[name]
    save_configuration(mechanism, tmp_path / "c.json")
    again = load_configuration(tmp_path / "c.json")
    assert again == mechanism
    assert again.fingerprint == mechanism.fingerprint
    assert again.epsilon == mechanism.epsilon
    assert configuration(again) == configuration(mechanism)


@pytest.mark.parametrize("name", SPELLED_OUT)
def test_a_client_that_has_only_the_json_gives_the_same_reports(name: str) -> None:
    mechanism = MECHANISMS[name]
    record = json.loads(json.dumps(configuration(mechanism)))
    for vector in record["test_vectors"]:
        words = [int(word) for word in vector["words"]]
        assert reference_client.report(record, vector["value"], words) == vector["report"]
    generator = np.random.default_rng(6)
    for value in mechanism.domain.values:
        for _ in range(12):
            words = generator.integers(0, 2**64, mechanism.words_per_user, dtype=np.uint64).tolist()
            assert reference_client.report(record, value, words) == mechanism.report_of(value, words)


@pytest.mark.parametrize(
    "domain",
    [in_blocks(range(3000), 29), on_scale(range(20_001), 5, ring=True), on_scale(range(20_001), 5)],
    ids=["categories", "ring", "line"],
)
def test_domains_too_large_for_a_table(domain: Domain) -> None:
    mechanism = boosted_response(domain, 12.0, 2.0)
    record = json.loads(json.dumps(configuration(mechanism)))
    generator = np.random.default_rng(6)
    last = domain.count - 1
    for code in (0, 1, 2, 28, 29, 1500, last - 2, last - 1, last):
        for _ in range(40):
            words = generator.integers(0, 2**64, 1, dtype=np.uint64).tolist()
            assert reference_client.report(record, code, words) == mechanism.report_of(code, words)


def test_many_at_once_are_the_same_as_one_by_one() -> None:
    generator = np.random.default_rng(6)
    for mechanism in MECHANISMS.values():
        words = generator.integers(0, 2**64, (200, mechanism.words_per_user), dtype=np.uint64)
        codes = generator.integers(0, mechanism.domain.count, 200)
        values = np.array(mechanism.domain.values, dtype=object)[codes]
        many = mechanism.published(mechanism.draw(codes, words), values).tolist()
        assert many == [
            mechanism.report_of(v, w) for v, w in zip(values.tolist(), words.tolist(), strict=True)
        ]


def test_fingerprints_differ() -> None:
    prints = {mechanism.fingerprint for mechanism in MECHANISMS.values()}
    prints.add(boosted_response(DOMAINS["ages"], 3.0, 1.500001).fingerprint)
    assert len(prints) == len(MECHANISMS) + 1


def weaker(record: dict[str, Any]) -> None:
    record["epsilon"] /= 2


def other_weights(record: dict[str, Any]) -> None:
    record["parameters"]["own"][0] = str(int(record["parameters"]["own"][0]) + 1)


def other_values(record: dict[str, Any]) -> None:
    record["domain"]["values"][0] = -5


def other_vector(record: dict[str, Any]) -> None:
    record["test_vectors"][0]["report"] = 17


def newer(record: dict[str, Any]) -> None:
    record["version"] = 2


def other_format(record: dict[str, Any]) -> None:
    record["format"] = "pbdp-plan"


def incomplete(record: dict[str, Any]) -> None:
    del record["domain"]


def unknown_mechanism(record: dict[str, Any]) -> None:
    record["mechanism"] = "magic"


def words_for_weights(record: dict[str, Any]) -> None:
    record["parameters"]["far"] = "many"


@pytest.mark.parametrize(
    "change",
    [
        weaker,
        other_weights,
        other_values,
        other_vector,
        newer,
        other_format,
        incomplete,
        unknown_mechanism,
        words_for_weights,
    ],
)
def test_a_changed_configuration_is_refused(change: Any) -> None:
    record = deepcopy(configuration(MECHANISMS["ages"]))
    change(record)
    with pytest.raises(PlanFileError):
        mechanism_of(record)


@pytest.mark.parametrize("text", ["", "[]", "{}", "7", "{"])
def test_a_file_of_another_kind_is_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "c.json").write_text(text, encoding="utf-8")
    with pytest.raises(PlanFileError):
        load_configuration(tmp_path / "c.json")


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PlanFileError):
        load_configuration(tmp_path / "none.json")
