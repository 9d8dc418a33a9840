"""Configurations as versioned JSON, for clients in any language, with test vectors.

    {"format": "pbdp-local", "version": 1, "fingerprint": "...", "epsilon": ...,
     "mechanism": "boosted response",
     "domain": {"values": [...], "categories": {"sizes": [...], "names": [...]}},
               (a scale has "scale": {"width": ..., "ring": ...} instead of "categories")
     "parameters": {...},
     "test_vectors": [{"value": ..., "words": ["<decimal>", ...], "report": ...}, ...]}

Values are numbered from 0 in their order; categories are runs of that order. Whole numbers that may pass 2^53
are strings. How words become a report is written at the top of each mechanism's file. A client
draws words from its system's secure generator; test vectors only check its arithmetic. A configuration that
is read is checked, not believed: weights must be a law, and epsilon and fingerprint are computed again.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from pbdp.errors import InputError
from pbdp.json_records import broken_refused, check_claims, file_content, of_format, record_in, write
from pbdp.local.boosted_response import BoostedResponse
from pbdp.local.center_response import CenterResponse
from pbdp.local.domain import CategoryDomain, Domain, ScaleDomain
from pbdp.local.local_hashing import LocalHashing
from pbdp.local.mean_response import MeanResponse
from pbdp.local.mechanism import FORMAT, MECHANISM, LocalMechanism
from pbdp.local.square_wave import SquareWave
from pbdp.local.subset_selection import SubsetSelection
from pbdp.local.user_split import UserSplit
from pbdp.signatures import checked

VECTORS = 12
# All that a configuration may name.
MEMBERS: dict[str, type[LocalMechanism]] = {
    member.kind: member
    for member in (
        BoostedResponse,
        CenterResponse,
        LocalHashing,
        MeanResponse,
        SquareWave,
        SubsetSelection,
        UserSplit,
    )
}


def configuration(mechanism: LocalMechanism) -> dict[str, Any]:
    """The configuration as one JSON object."""
    record = {
        **mechanism.shared_record(),
        "fingerprint": mechanism.fingerprint,
        "epsilon": mechanism.epsilon,
        "test_vectors": test_vectors(mechanism),
    }
    if isinstance(mechanism, BoostedResponse):
        record["epsilon0"] = mechanism.epsilon0
    return record


def test_vectors(mechanism: LocalMechanism) -> list[dict[str, Any]]:
    """Words in, report out: the ends of the words' range, then SHA-256 of the fingerprint and a counter."""
    values, each = mechanism.domain.values, mechanism.words_per_user
    vectors = []
    for number in range(VECTORS):
        value = values[number * (len(values) - 1) // (VECTORS - 1)]
        words = [_word(mechanism.fingerprint, number, place) for place in range(each)]
        if number < 2:
            words[0] = (0, (1 << 64) - 1)[number]
        report = mechanism.report_of(value, words)
        vectors.append({"value": value, "words": [str(word) for word in words], "report": report})
    return vectors


def _word(fingerprint: str, number: int, place: int) -> int:
    text = f"{fingerprint}/{number}/{place}"
    return int.from_bytes(hashlib.sha256(text.encode("ascii")).digest()[:8], "little")


@checked(mechanism=MECHANISM)
def save_configuration(mechanism: LocalMechanism, path: Path | str) -> None:
    """Write the configuration to a file."""
    write("configuration", path, file_content(configuration(mechanism)))


def load_configuration(path: Path | str) -> LocalMechanism:
    """Read a configuration from a file."""
    return mechanism_of(record_in("configuration", path, FORMAT), str(path))


def mechanism_of(given: object, name: str = "record") -> LocalMechanism:
    """The mechanism that a configuration describes; refused if it claims what it does not hold."""
    record = dict(of_format(given, FORMAT, name))
    with broken_refused(name):
        mechanism = _built(record)
        check_claims(configuration(mechanism), record, "configuration")
        return mechanism


def _built(record: dict[str, Any]) -> LocalMechanism:
    kind = MEMBERS.get(record["mechanism"])
    if kind is None:
        raise InputError("mechanism", f"one of {', '.join(MEMBERS)}", "another")
    return kind.of_record(_domain(record["domain"]), record)


def _domain(record: dict[str, Any]) -> Domain:
    values = tuple(record["values"])
    if "scale" in record:
        return ScaleDomain(values=values, width=record["scale"]["width"], ring=bool(record["scale"]["ring"]))
    parts = record["categories"]
    return CategoryDomain(values=values, sizes=tuple(parts["sizes"]), names=tuple(parts["names"]))
