"""The one comparison: what an older version said is still said, to the digits that machines share."""

from __future__ import annotations

import math
import re
from itertools import pairwise
from typing import Any

import numpy as np

from tests.frozen import reading

# Names and texts of files that a later version writes otherwise: the old one, then the new one.
RENAMED_FIELDS = {"neighbours": "neighbors", "centre": "center"}
RENAMED_WORDS = {"neighbour": "neighbor", "generalised": "generalized", "randomised": "randomized"}
# What plans no longer carry: figures as published are asked for apart, as they are no guarantees.
GONE = frozenset({"as_published", "published_epsilon", "description"})
# The noise of every coordinate is that of single numbers.
RENAMED_TEXTS = {"IndependentNoise": "Design"}
# Of what several packages of a plan take together.
BOUNDS = ("epsilon_lower", "epsilon_upper")
# Sentences for people: they have to be there, in whatever words.
SENTENCES = frozenset({"assumptions", "guarantee"})
# The version of a format may grow; the rest of the record must not suffer from it.
VERSIONS = frozenset({"version", "pbdp"})

# The epsilon in a statement was rounded to the nearest figure of six digits; now never down.
EPSILON = re.compile(r"\(([0-9.]+), ")

SAME_MACHINE = reading.index()["arithmetic"] == reading.arithmetic()
# On the same arithmetic the figures are the same but for the order of a sum, and for a root that is found
# more closely. On another the last digits differ, and so may all digits of what rounding leaves over.
RELATIVE, ABSOLUTE = (1e-11, 0.0) if SAME_MACHINE else (1e-9, 1e-12)
# The same in the units of a ledger, 1e-30.
MISSING_UNITS = 10**18


def assert_kept(old: Any, new: Any, place: str = "") -> None:
    """Refuse `new` unless it has every field of `old` with the same value; it may have more fields."""
    match old:
        case dict():
            assert isinstance(new, dict), place
            for name, value in old.items():
                _assert_field(name, value, new, f"{place}/{name}")
        case list():
            assert isinstance(new, list), place
            assert len(new) == len(old), f"{place}: {len(old)} entries, now {len(new)}"
            for number, (before, after) in enumerate(zip(old, new, strict=True)):
                assert_kept(before, after, f"{place}[{number}]")
        case bool() | None:
            assert new is old, f"{place}: {old}, now {new}"
        case int() | float():
            assert isinstance(new, int | float), place
            assert not isinstance(new, bool), place
            assert _close(old, new), f"{place}: {old!r}, now {new!r}"
        case _:
            assert new in (old, _respelled(old), RENAMED_TEXTS.get(old)), f"{place}: {old!r}, now {new!r}"


def assert_ordered(*ends: Any) -> None:
    """Refuse numbers, or arrays of them, that fall by more than machines differ."""
    for lower, higher in pairwise(np.asarray(end, dtype=float) for end in ends):
        assert np.all(lower <= higher + RELATIVE * np.abs(higher) + ABSOLUTE), (lower, higher)


def _is_guaranteed(entry: Any) -> bool:
    """Whether an alternative was certified, and not a figure as published."""
    return bool(entry["guaranteed"] if isinstance(entry, dict) else entry[3])


def _respelled(text: str) -> str:
    for old, new in RENAMED_WORDS.items():
        text = text.replace(old, new)
    return text


def _close(old: float, new: float) -> bool:
    # amounts of ledgers are whole, and too long for floats
    if SAME_MACHINE and isinstance(old, int) and isinstance(new, int):
        return old == new
    return math.isclose(old, new, rel_tol=RELATIVE, abs_tol=ABSOLUTE)


def _assert_field(name: str, value: Any, new: dict[str, Any], place: str) -> None:
    if name in GONE:
        return
    found = name if name in new else RENAMED_FIELDS.get(name, name)
    assert found in new, f"{place} is gone"
    if name in VERSIONS:
        return
    if name == "alternatives":
        value = [entry for entry in value if _is_guaranteed(entry)]
    if name in SENTENCES:
        assert bool(new[found]) == bool(value), place
        return
    if name == "prices":
        # what a plan costs follows from what is left of a budget now; what several take together is kept
        batch = value["batch"]
        value = {"batch": {end: batch[end] for end in BOUNDS} if isinstance(batch, dict) else batch}
    if name == "epsilon_upper" and isinstance(value, float):
        # for noise that changes with the answer, and for vectors, better pairs are known than before
        assert new["epsilon_lower"] <= new[found] <= value * (1 + 1e-6), place
        return
    if name == "statement":
        before, after = (float(EPSILON.findall(text)[0]) for text in (value, new[found]))
        assert 0 <= after - before <= 1.001e-5 * before, place
        assert_kept(EPSILON.sub("", value), EPSILON.sub("", new[found]), place)
        return
    if name == "missing" and isinstance(value, int) and not SAME_MACHINE:
        assert abs(new[found] - value) <= MISSING_UNITS, f"{place}: {value}, now {new[found]}"
        return
    assert_kept(value, new[found], place)
