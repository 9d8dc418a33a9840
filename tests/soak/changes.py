"""Every small change of a module: a comparison, a sign, a rounding or a whole number becomes its neighbor."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
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
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
}
_PAIRS = (
    ("floor", "ceil"),
    ("min", "max"),
    ("minimum", "maximum"),
    ("argmin", "argmax"),
    ("upper", "lower"),
    ("any", "all"),
    ("left", "right"),
)
NAMES = {one: other for pair in _PAIRS for one, other in (pair, pair[::-1])}


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A module with one change in it: of the node at this place among all of its nodes.

    `first` to `last` are the lines of the statement it is in; outside of functions, it matters on import.
    """

    module: str
    node: int
    line: int
    what: str
    first: int
    last: int
    in_function: bool

    @property
    def path(self) -> Path:
        """The file of the module."""
        return path_of(self.module)

    def tree(self) -> ast.Module:
        """The module as it is with the change."""
        changed = ast.parse(self.path.read_text(encoding="utf-8"))
        _change(next(node for at, node in enumerate(ast.walk(changed)) if at == self.node), self.what)
        return changed

    def describe(self) -> str:
        """Where it is, and what it turns into what."""
        tree = ast.parse(self.path.read_text(encoding="utf-8"))
        node = next(node for at, node in enumerate(ast.walk(tree)) if at == self.node)
        before, column = ast.unparse(node), getattr(node, "col_offset", 0) + 1
        _change(node, self.what)
        return f"{self.module}.py:{self.line}:{column}  {before}  ->  {ast.unparse(node)}"


def path_of(module: str) -> Path:
    """The file of a module of pbdp."""
    return ROOT / "src/pbdp" / f"{module}.py"


def changes(module: str) -> Iterator[Change]:
    """Every change of a module, but of what its classes are made with and of annotations."""
    tree = ast.parse(path_of(module).read_text(encoding="utf-8"))
    numbers = {id(node): number for number, node in enumerate(ast.walk(tree))}
    yield from _changes_below(tree, module, numbers, (0, 0), in_function=False)


def _changes_below(
    node: ast.AST, module: str, numbers: dict[int, int], lines: tuple[int, int], *, in_function: bool
) -> Iterator[Change]:
    for field, value in ast.iter_fields(node):
        if field in {"decorator_list", "annotation", "returns"}:
            continue
        # what is in the body of a function is run with it; its defaults are not
        within = in_function or (
            field == "body" and isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        )
        for child in value if isinstance(value, list) else [value]:
            if not isinstance(child, ast.AST):
                continue
            # a statement counts as a whole, but not what is nested in it
            own = isinstance(child, ast.stmt) or (isinstance(child, ast.expr) and hasattr(node, "body"))
            span = (child.lineno, child.end_lineno or child.lineno) if own else lines  # type: ignore[attr-defined]
            for what in _neighbors(child):
                yield Change(
                    module=module,
                    node=numbers[id(child)],
                    line=getattr(child, "lineno", span[0]),
                    what=what,
                    first=span[0],
                    last=span[1],
                    in_function=within,
                )
            yield from _changes_below(child, module, numbers, span, in_function=within)


def _neighbors(node: ast.AST) -> list[str]:
    """What a node can be turned into."""
    match node:
        case (
            ast.Compare(ops=[operator])
            | ast.BinOp(op=operator)
            | ast.BoolOp(op=operator)
            | ast.AugAssign(op=operator)
        ):
            return [OPERATORS[type(operator)].__name__] if type(operator) in OPERATORS else []
        case ast.Attribute(attr=name) | ast.Name(id=name, ctx=ast.Load()):
            return [NAMES[name]] if name in NAMES else []
        case ast.Constant(value=bool() as value):
            return [str(not value)]
        case ast.Constant(value=int() as value):
            return [str(value + 1)]
        case ast.Constant(value=str() as value) if value in NAMES:
            return [NAMES[value]]
        case ast.UnaryOp(op=ast.Not() | ast.USub() | ast.Invert()):
            return ["nothing"]
    return []


def _change(node: ast.AST, what: str) -> None:
    match node:
        case ast.Compare(ops=[operator]):
            node.ops = [OPERATORS[type(operator)]()]  # type: ignore[list-item]
        case ast.BinOp(op=operator) | ast.BoolOp(op=operator) | ast.AugAssign(op=operator):
            node.op = OPERATORS[type(operator)]()  # type: ignore[assignment]
        case ast.Attribute():
            node.attr = what
        case ast.Name():
            node.id = what
        case ast.Constant(value=bool()):
            node.value = what == "True"
        case ast.Constant(value=int()):
            node.value = int(what)
        case ast.Constant():
            node.value = what
        case ast.UnaryOp(op=ast.Not()):
            # twice not
            node.operand = ast.copy_location(ast.UnaryOp(op=ast.Not(), operand=node.operand), node.operand)
        case ast.UnaryOp(op=ast.USub()):
            node.op = ast.UAdd()
        case ast.UnaryOp():
            # twice inverted
            node.operand = ast.copy_location(ast.UnaryOp(op=ast.Invert(), operand=node.operand), node.operand)
