"""Requirements as they are given: made beforehand, or in the words of `pbdp.plan`, one dict per part."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from pbdp.errors import ContradictionError, InputError, did_you_mean
from pbdp.json_records import names_now
from pbdp.mechanism.coordinates import coordinates_of
from pbdp.mechanism.requirement import Requirement
from pbdp.planning.ask import capped, fixed_region, region_of

T = TypeVar("T")
Words = Mapping[str, Any]
Requirements = Mapping[str, Requirement | Words] | Sequence[Requirement | Words]

# What all parts have in common, and what each says of itself.
COMMON = frozenset({"delta", "neighbors"})
WIDTH = frozenset({"within", "nonnegative", "range", "region"})
NOISE = frozenset({"confidence", "sensitivity", "integer", "releases", "simultaneous", "step", "scale"})
VECTOR = frozenset({"dimensions", "norm", "error_norm", "change_norm", "touches"})
_HOW = "Write [dict(within=5, confidence=0.9, sensitivity=1, integer=True), ...], or give each a name."
# Words of `pbdp.plan` that speak of all parts at once.
_ELSEWHERE = {
    "epsilon": "Parts share one epsilon: narrowest_together finds the widths that it pays for.",
    "families": "Give them once, for all parts: plan_together(..., families=...).",
    "rdp_order": "The joint epsilon holds at a delta.",
}


def named_requirements(given: object, delta: float | None = None) -> dict[str, Requirement]:
    """The requirements under their names, or numbers; `delta` is that of all which do not say theirs."""
    if isinstance(given, Mapping):
        entries = dict(given)
    elif isinstance(given, Sequence) and not isinstance(given, str):
        entries = numbered("part", given)
    else:
        raise InputError("requirements", "a list, or a mapping from names", type(given).__name__, _HOW)
    common = {} if delta is None else {"delta": delta}
    return {name: _made(name, entry, common) for name, entry in entries.items()}


def numbered(word: str, entries: Sequence[T]) -> dict[str, T]:
    """Entries without names, counted from 1."""
    return {f"{word} {number}": entry for number, entry in enumerate(entries, start=1)}


def _made(name: object, entry: object, common: Words) -> Requirement:
    if isinstance(entry, Requirement):
        return entry
    if not isinstance(entry, Mapping):
        raise InputError("requirements", "one set of words per part", f"{entry!r} for {name}", _HOW)
    return requirement_of(f"{name}", names_now(entry), common)


def requirement_of(label: str, words: Words, common: Words) -> Requirement:
    """What the words ask of one part; `label` names it in errors."""
    known = COMMON | WIDTH | NOISE | VECTOR
    if unknown := sorted(str(word) for word in words if word not in known):
        near = _ELSEWHERE.get(unknown[0]) or did_you_mean(unknown[0], known)
        raise InputError(f"words of {label}", f"among {', '.join(sorted(known))}", ", ".join(unknown), near)
    within, region, ends = (words.get(word) for word in ("within", "region", "range"))
    width = region if within is None else within
    for needed, value in (
        ("within", ends if width is None else width),
        *((word, words.get(word)) for word in ("confidence", "sensitivity")),
    ):
        if value is None:
            raise InputError(f"{needed} of {label}", "given", "nothing")
    for word in COMMON & set(words) & set(common):
        if words[word] != common[word]:
            raise ContradictionError(f"{word} of {label}", f"{common[word]} as for all", words[word])
    bounds = None if ends is None else fixed_region(ends)
    rest = {word: value for word, value in words.items() if word not in WIDTH | VECTOR}
    whole = {word: value for word, value in words.items() if word in VECTOR}
    if whole and "dimensions" not in whole:
        remedy = "It is the number of coordinates of a vector."
        raise InputError(f"dimensions of {label}", f"given beside {min(whole)}", "nothing", remedy)
    return capped(
        Requirement(
            region=region_of(within, bounds, region, words.get("nonnegative", False)),
            bounds=None if width is None else bounds,
            coordinates=coordinates_of(**whole) if whole else None,
            **{**common, **rest},
        )
    )
