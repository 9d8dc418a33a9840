"""SQL as sqlglot parses it: within limits, and with nothing left out.

Nothing else of sqlglot is used. Its stack would not hold hundreds of parentheses, and it drops some of what
it does not know: the first is refused before, the second found after.
"""

from __future__ import annotations

import sys
import threading
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from pbdp.errors import InputError, MissingPackageError
from pbdp.tables.expressions.tree import MOST_LEVELS

if TYPE_CHECKING:
    from sqlglot.expressions import Expr as Node

_LONGEST_TEXT = 20_000
# sqlglot takes about 17 calls of Python for a level of parentheses, case or functions.
_CALLS = 40 * MOST_LEVELS
_limit = threading.Lock()
AN_EXPRESSION = "Such as spend > 0 and city <> 'Test'; names with spaces stand in \"double quotes\"."
A_SELECT = "Such as SELECT city, COUNT(*) AS visits FROM visits GROUP BY city."

# Words that are no names of columns, nor of functions.
_WORDS = ("and", "or", "not", "in", "between", "like", "escape", "is", "case", "when", "then", "else", "end",
          "from")  # fmt: skip
# The same of statements.
CLAUSES = (*_WORDS, "select", "where", "group by", "as", "distinct", "within", "group", "order by")
CHAINED = ("And", "Or")  # as many as there are are one level


def parsed(what: str, text: object, *, statement: bool = False) -> tuple[list[Any], Node]:
    """The tokens and the tree of sqlglot, of an expression or of a statement, which may hold comments."""
    rule, such = ("one SELECT", A_SELECT) if statement else ("an SQL expression", AN_EXPRESSION)
    if not isinstance(text, str) or not text.strip() or "\0" in text:
        raise InputError(what, rule, shown_text(text), such)
    size = len(text.encode(errors="surrogateescape"))
    if size > _LONGEST_TEXT:
        raise InputError(what, f"at most {_LONGEST_TEXT:,} bytes", f"{size:,}", "Use derived columns.")
    try:
        from sqlglot import Tokenizer, errors, exp
        from sqlglot.parser import Parser
    except ImportError:
        raise MissingPackageError("Reading SQL", "sqlglot", "'pbdp[tables]'") from None

    try:
        tokens = Tokenizer().tokenize(text)
        if statement and tokens and tokens[-1].token_type.name == "SEMICOLON":
            tokens.pop()
        _check_tokens(what, tokens, rule, comments=statement)
        with _limit:
            usual = sys.getrecursionlimit()
            sys.setrecursionlimit(usual + _CALLS)
            try:
                parser = Parser()
                found = (
                    parser.parse(tokens, text)
                    if statement
                    else parser.parse_into(exp.Condition, tokens, text)
                )
            finally:
                sys.setrecursionlimit(usual)
    except errors.ParseError as error:
        first: dict[str, Any] = error.errors[0] if error.errors else {}
        place = f" at {first['highlight']!a}" if first.get("highlight") else ""
        said = str(first.get("description") or "")
        fault = "not complete" if "sqlglot" in said else said.partition("\n")[0].rstrip(".") or "none"
        raise InputError(what, rule, f"{shown_text(text)} ({fault}{place})", such) from None
    except errors.TokenError:
        raise InputError(what, "with quotes that end", shown_text(text), such) from None
    if len(found) != 1 or found[0] is None:
        raise InputError(what, rule, shown_text(text), such)
    _check_levels(what, found[0])
    return tokens, found[0]


def check_all_is_read(what: str, tokens: Sequence[Any], tree: Node, words: Sequence[str] = _WORDS) -> None:
    """Refuse what the parser left out: the 3 of mod(a, 2, 3) and the `all` of abs(all a) are in no tree."""
    said: Counter[str] = Counter()
    for before, token, after in zip([None, *tokens], tokens, [*tokens[1:], None], strict=False):
        kind, text = token.token_type.name, token.text.lower()
        follows = None if after is None else after.token_type.name
        is_value = kind in ("STRING", "NUMBER", "IDENTIFIER")
        is_word = any(map(str.isalnum, text)) and text not in words and follows != "L_PAREN"
        if is_value or (is_word and (text, follows) != ("date", "STRING")):
            said["0." * (before is not None and before.token_type.name == "DOT") + text] += 1
    read = Counter(
        {"Null": "null"}.get(type(node).__name__) or str(node.this).lower()
        for node in tree.walk()
        if type(node).__name__ in ("Literal", "Identifier", "Var", "Null", "Boolean")
    )
    if lost := list(said - read):
        raise InputError(
            what, "made of what expressions have", shown_text(lost[0]), "One of its parts is not."
        )


def _check_levels(what: str, tree: Node) -> None:
    """Refuse chains such as a + b + c + ..., each of whose signs is a level, where they are too long."""
    below: list[tuple[Node, int]] = [(tree, 1)]
    while below:
        node, level = below.pop()
        if level > MOST_LEVELS:
            raise InputError(what, f"nested at most {MOST_LEVELS} levels deep", "more")
        own = type(node).__name__
        chained = own in CHAINED
        below += [
            (part, level + (not chained or type(part).__name__ != own)) for part in node.iter_expressions()
        ]


def _check_tokens(what: str, tokens: Iterable[Any], rule: str, *, comments: bool) -> None:
    """Refuse what the parser would leave out, and what its stack would not hold."""
    levels = deepest = prefixes = 0
    for token in tokens:
        kind = token.token_type.name
        noted = token.comments and not comments
        if noted or kind in ("SEMICOLON", "L_BRACE", "HINT"):
            raise InputError(what, rule, "a comment" if noted else token.text)
        prefixes = prefixes + 1 if kind in ("NOT", "DASH", "PLUS", "TILDE") else 0
        levels += (kind in ("L_PAREN", "L_BRACKET", "CASE")) - (kind in ("R_PAREN", "R_BRACKET", "END"))
        deepest = max(deepest, levels + prefixes)
    if deepest > MOST_LEVELS:
        raise InputError(what, f"nested at most {MOST_LEVELS} levels deep", "more")


def shown_text(text: object) -> str:
    """The beginning of a text, as a message shows it."""
    shown = ascii(text)
    return shown if len(shown) <= 80 else f"{shown[:77]}..."


def name_of(node: Any) -> str:
    """What a part of the parsed tree is called."""
    return node if isinstance(node, str) else str(getattr(node, "key", type(node).__name__))
