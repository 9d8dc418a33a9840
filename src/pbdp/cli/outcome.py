"""What a command leaves for `main` to print: its output, notes beside it, and the exit code."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """`output` goes to standard output (bytes as they are), `notes` to standard error, a line each.

    `released` says that the output holds released numbers. They count as released even if only a part of them
    could be written, so that a reader who leaves early is an error then.
    """

    output: str | bytes
    notes: tuple[str, ...] = ()
    code: int = 0
    released: bool = False
