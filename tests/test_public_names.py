"""The names that users hold: they can be found, and no type is left open."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import pydoc
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cached_property
from types import ModuleType
from typing import Any, get_overloads

import pytest

import pbdp
import pbdp.tables
from pbdp.tables.measure import Measure

MODULES = (pbdp, pbdp.tables)
# Made by functions and methods that are documented; nobody makes them by hand.
FOUND = {
    "Budget",
    "ChoicePlan",
    "Compared",
    "ComparisonPlan",
    "Ledger",
    "Plan",
    "ReleasedTable",
    "TablePlan",
}


def functions() -> Iterator[tuple[str, Any]]:
    """Every public function, constructor and method."""
    for module in MODULES:
        for name in module.__all__:
            thing = getattr(module, name)
            if not inspect.isclass(thing):
                yield name, thing
            elif not issubclass(thing, Exception):
                if name not in FOUND:
                    yield name, thing
                yield from methods(name, thing)


def methods(name: str, kind: type) -> Iterator[tuple[str, Any]]:
    for own, held in vars(kind).items():
        # how a measure is planned is between it and the planner
        if own.startswith("_") or (issubclass(kind, Measure) and hasattr(Measure, own)):
            continue
        found = held
        if isinstance(held, classmethod | staticmethod):
            found = held.__func__
        elif isinstance(held, property):
            found = held.fget
        elif isinstance(held, cached_property):
            found = held.func
        if inspect.isfunction(found):
            yield f"{name}.{own}", found


CASES = dict(functions())


def parameters(found: Any) -> list[inspect.Parameter]:
    return [one for one in inspect.signature(found).parameters.values() if one.name not in ("self", "cls")]


@pytest.mark.parametrize("label", CASES)
def test_no_type_is_left_open(label: str) -> None:
    found = CASES[label]
    for each in (found, *get_overloads(found)):
        types = {one.name: one.annotation for one in parameters(each)}
        if not inspect.isclass(each):
            types["the result"] = inspect.signature(each).return_annotation
        open_ones = [name for name, kind in types.items() if re.search(r"\bAny\b", str(kind))]
        assert open_ones == []
        assert inspect.Signature.empty not in types.values()


# What comes back from public functions: every field of it has a type.
RESULTS = {
    "pbdp.report.certificates.release_file": ["ReleaseFile"],
    "pbdp.choosing.choose": ["Chosen"],
    "pbdp.ledger.ask": ["Asked", "Look"],
    "pbdp.ledger.budget": ["Reserved"],
    "pbdp.local.estimates": ["Estimate"],
    "pbdp.local.plan": ["LocalPlan"],
    "pbdp.planning.plan": ["Alternative", "Part", "Plan"],
    "pbdp.planning.pricing": ["Price"],
    "pbdp.release.releaser": ["Released"],
    "pbdp.tables": ["ReleasedTable", "TablePlan"],
}


@pytest.mark.parametrize(("module", "name"), [(m, name) for m, names in RESULTS.items() for name in names])
def test_no_field_of_a_result_is_left_open(module: str, name: str) -> None:
    kind = getattr(importlib.import_module(module), name)
    fields = [one for one in dataclasses.fields(kind) if not one.name.startswith("_")]
    assert fields
    assert [one.name for one in fields if re.search(r"(?<!str, )\bAny\b", str(one.type))] == []


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_names_are_shown_before_anything_is_loaded(module: ModuleType) -> None:
    code = f"import {module.__name__} as module, sys; print(*dir(module)); print('numpy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    names, loaded = done.stdout.splitlines()
    assert set(module.__all__) <= set(names.split())
    assert loaded == "False"
    assert "import_module" not in names


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_help_shows_them(module: ModuleType) -> None:
    shown = pydoc.plain(pydoc.render_doc(module))
    for name in module.__all__:
        assert name in shown
