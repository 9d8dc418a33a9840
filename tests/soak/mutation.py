"""One small change at a time to code that guarantees rest on; some test must notice it.

    PYTHONPATH=src:. python tests/soak/mutation.py [changes] [seed] [module ...]

A change turns a comparison, a sign, a rounding or a whole number into its neighbor. Prints each change that
no test noticed when it is found, then how many were: a change that makes no difference (a wider search, a
larger buffer) survives rightly, any other one is a test that is missing.
"""

from __future__ import annotations

import ast
import copy
import importlib.abc
import importlib.util
import os
import random
import signal
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]
# Modules of src/pbdp whose tests lie at the same path under tests, as `test_<name>*.py`, or beside those.
TARGETS = (
    "accounting/composition/curve",
    "accounting/composition/loss_distribution",
    "accounting/exact/accountant",
    "accounting/exact/all_neighbors",
    "accounting/exact/pairs",
    "accounting/exact/pieces",
    "accounting/exact/tables",
    "accounting/filters/package",
    "accounting/filters/rule",
    "accounting/filters/steps",
    "ledger/guard",
    "ledger/keys",
    "ledger/request",
    "ledger/verification",
    "mechanism/grid",
    "mechanism/log_grid",
    "mechanism/reweighted",
    "mechanism/weights",
    "planning/certificate",
    "planning/limit/certificate",
    "release/intervals",
    "release/sampler",
    "tables/fixed_point",
)
# Folders whose tests take too long to run all of them for every change.
LONG = ("planning", "ledger", "tables")
OF_PLANS = [ROOT / "tests/planning/test_plan.py", ROOT / "tests/frozen/test_plans.py"]
SECONDS = 600
# What takes long to import.
SHARED = ("mpmath", "numpy", "scipy.optimize", "scipy.special", "scipy.stats")
# How often it is told how many were noticed.
EVERY = 10
OPERATORS: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Div,
    ast.And: ast.Or,
    ast.Or: ast.And,
}
NAMES = {
    "floor": "ceil",
    "ceil": "floor",
    "min": "max",
    "max": "min",
    "minimum": "maximum",
    "maximum": "minimum",
    "upper": "lower",
    "lower": "upper",
    "any": "all",
    "all": "any",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A module with one change in it."""

    module: str
    line: int
    what: str
    text: str

    def is_noticed(self) -> bool:
        """Whether a test fails, or does not end in time."""
        return any(_fails(tests, self) for tests in tests_of(self.module))


@dataclass(frozen=True, slots=True)
class _Changed(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Imports the changed module instead of the one on disk."""

    change: Change

    def find_spec(self, fullname: str, path: object = None, target: object = None) -> ModuleSpec | None:
        del path, target
        if fullname != f"pbdp.{self.change.module.replace('/', '.')}":
            return None
        return importlib.util.spec_from_loader(fullname, self)

    def exec_module(self, module: ModuleType) -> None:
        exec(compile(self.change.text, f"{self.change.module}.py", "exec"), module.__dict__)  # noqa: S102


def tests_of(module: str) -> list[list[Path]]:
    """The module's own tests, then all beside them or, where that takes long, those of plans."""
    beside = ROOT / "tests" / module
    own = sorted(beside.parent.glob(f"test_{beside.name}*.py"))
    others = OF_PLANS if module.split("/", maxsplit=1)[0] in LONG else [beside.parent]
    return [tests for tests in (own, others) if tests]


def _fails(tests: Sequence[Path], change: Change | None = None) -> bool:
    """Whether tests fail in a process of their own, which has what they all import but nothing of pbdp."""
    child = os.fork()
    if child:
        return os.waitpid(child, 0)[1] != 0
    signal.alarm(SECONDS)
    if change is not None:
        sys.meta_path.insert(0, _Changed(change))
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    options = ["-x", "-q", "-p", "no:cacheprovider", "--rootdir", str(ROOT)]
    os._exit(int(pytest.main([*options, *map(str, tests)])) != 0)


def changes(module: str) -> Iterator[Change]:
    """Every change of a module, but of what its classes are made with."""
    tree = ast.parse((ROOT / "src/pbdp" / f"{module}.py").read_text(encoding="utf-8"))
    makers = {
        id(part)
        for node in ast.walk(tree)
        for decorator in getattr(node, "decorator_list", [])
        for part in ast.walk(decorator)
    }
    for number, node in enumerate(ast.walk(tree)):
        for what in [] if id(node) in makers else _neighbors(node):
            changed = copy.deepcopy(tree)
            other = next(found for at, found in enumerate(ast.walk(changed)) if at == number)
            _change(other, what)
            text = ast.unparse(changed)
            yield Change(module=module, line=getattr(node, "lineno", 0), what=what, text=text)


def _neighbors(node: ast.AST) -> list[str]:
    """What a node can be turned into."""
    match node:
        case ast.Compare(ops=[operator]) | ast.BinOp(op=operator) | ast.BoolOp(op=operator):
            return [OPERATORS[type(operator)].__name__] if type(operator) in OPERATORS else []
        case ast.Attribute(attr=name) | ast.Name(id=name, ctx=ast.Load()):
            return [NAMES[name]] if name in NAMES else []
        case ast.Constant(value=int() as value) if not isinstance(value, bool):
            return [str(value + 1)]
        case ast.Constant(value=bool() as value):
            return [str(not value)]
        case ast.UnaryOp(op=ast.Not() | ast.USub()):
            return ["UAdd"]
    return []


def _change(node: ast.AST, what: str) -> None:
    match node:
        case ast.Compare(ops=[operator]):
            node.ops = [OPERATORS[type(operator)]()]  # type: ignore[list-item]
        case ast.BinOp(op=operator) | ast.BoolOp(op=operator):
            node.op = OPERATORS[type(operator)]()  # type: ignore[assignment]
        case ast.Attribute():
            node.attr = what
        case ast.Name():
            node.id = what
        case ast.Constant():
            node.value = what == "True" if what in {"True", "False"} else int(what)
        case ast.UnaryOp():
            node.op = ast.UAdd()


def main(wanted: int, seed: int, modules: Sequence[str]) -> None:
    """Print what became of so many changes, drawn from all of them."""
    for name in SHARED:
        importlib.import_module(name)
    for tests in {tuple(tests): tests for module in modules for tests in tests_of(module)}.values():
        if _fails(tests):
            raise SystemExit(f"Fails with nothing changed: {', '.join(map(str, tests))}")
    every = [change for module in modules for change in changes(module)]
    drawn = random.Random(seed).sample(every, min(wanted, len(every)))
    noticed = 0
    for done, change in enumerate(drawn, start=1):
        if change.is_noticed():
            noticed += 1
        else:
            print(f"survived           {change.module}.py, line {change.line}: {change.what}", flush=True)
        if done % EVERY == 0 or done == len(drawn):
            told = f"{noticed:,} noticed of {done:,}; {len(every):,} in {len(modules)} modules"
            print(f"changes            {told}", flush=True)


if __name__ == "__main__":
    wanted, seed, *modules = [*sys.argv[1:], *("1000", "0")[len(sys.argv) - 1 :]]
    main(int(float(wanted)), int(seed), modules or TARGETS)
