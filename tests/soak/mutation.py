"""One small change at a time to code that guarantees rest on; some test must notice it.

    PYTHONPATH=src:. python tests/soak/mutation.py [changes] [seed]

A change turns a comparison, a sign, a rounding or a whole number into its neighbor. Prints how many were
noticed and where the others are: a change that makes no difference (a wider search, a larger buffer) survives
rightly, any other one is a test that is missing.
"""

from __future__ import annotations

import ast
import copy
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# Modules of src/pbdp whose tests lie at the same path under tests, as `test_<name>*.py`.
TARGETS = (
    "accounting/composition/curve",
    "accounting/composition/loss_distribution",
    "accounting/exact/tables",
    "accounting/filters/amounts",
    "accounting/filters/package",
    "accounting/filters/potential",
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
    "planning/limit/certificate",
    "release/alias",
    "release/intervals",
    "tables/fixed_point",
)
OF_PLANS = [ROOT / "tests/planning/test_plan.py", ROOT / "tests/frozen/test_plans.py"]
SECONDS = 600
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
        """Whether a test fails, or ends not in time: the module's own, those beside them, those of plans."""
        beside = ROOT / "tests" / self.module
        own = sorted(beside.parent.glob(f"test_{beside.name}*.py"))
        with tempfile.TemporaryDirectory() as folder:
            shutil.copytree(ROOT / "src", Path(folder) / "src")
            (Path(folder) / "src/pbdp" / f"{self.module}.py").write_text(self.text, encoding="utf-8")
            sources = Path(folder) / "src"
            return any(_fails(tests, sources) for tests in (own, [beside.parent], OF_PLANS))


def _fails(tests: Sequence[Path], sources: Path) -> bool:
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *map(str, tests)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join((str(sources), str(ROOT)))}
    try:
        done = subprocess.run(
            command, cwd=ROOT, env=environment, capture_output=True, timeout=SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        return True
    return done.returncode != 0


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


def main(wanted: int, seed: int) -> None:
    """Print what became of so many changes, drawn from all of them."""
    every = [change for module in TARGETS for change in changes(module)]
    drawn = random.Random(seed).sample(every, min(wanted, len(every)))
    survivors = [change for change in drawn if not change.is_noticed()]
    print(f"changes            {len(drawn):,} of {len(every):,} in {len(TARGETS)} modules")
    print(f"noticed            {len(drawn) - len(survivors):,}")
    for change in sorted(survivors, key=lambda change: (change.module, change.line)):
        print(f"survived           {change.module}.py, line {change.line}: {change.what}")


if __name__ == "__main__":
    arguments = [int(float(a)) for a in sys.argv[1:]]
    main(*arguments[:2], *(1_000, 0)[len(arguments) :])
