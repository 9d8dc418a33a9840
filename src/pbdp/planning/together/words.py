"""Several requirements: made beforehand, or in the settings of `pbdp.plan`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from pbdp.errors import ContradictionError, InputError
from pbdp.mechanism.requirement import Requirement
from pbdp.planning.ask import requirement_of
from pbdp.planning.request import REQUIREMENTS, RequirementRequest
from pbdp.settings import renamed

Requirements = Mapping[str, Requirement | Mapping[str, Any]] | Sequence[Requirement | Mapping[str, Any]]


def named_requirements(
    given: object, delta: float | None = None, neighbors: str | None = None
) -> dict[str, Requirement]:
    """The requirements under their names, or numbers; `delta` and `neighbors` are those of all of them."""
    common = {"delta": delta, "neighbors": neighbors}
    entries = REQUIREMENTS.check("requirements", given)
    return {label: _made(label, entry, common) for label, entry in entries.items()}


def _made(label: str, entry: object, common: Mapping[str, Any]) -> Requirement:
    if isinstance(entry, Requirement):
        return entry
    if not isinstance(entry, RequirementRequest):
        raise InputError(
            "requirements", "one set of settings per part", f"{type(entry).__name__} for {label}"
        )
    shared = {name: value for name, value in common.items() if value is not None}
    with renamed(label):
        for name, value in shared.items():
            if getattr(entry, name) not in (None, value):
                raise ContradictionError(name, f"{value} as for all", getattr(entry, name))
        asked = replace(entry, **shared)
        asked.need("confidence")
        return requirement_of(asked)
