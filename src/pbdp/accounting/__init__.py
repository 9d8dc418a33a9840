"""Privacy accounting: what a mechanism loses, exactly, and what several lose together, from both sides."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """lower <= truth <= upper. The upper value is a guarantee, the lower one is reached by neighbors."""

    lower: float
    upper: float

    def __post_init__(self) -> None:
        if not self.lower <= self.upper:
            raise AssertionError(f"bounds crossed: {self.lower!r} > {self.upper!r}")
