"""The families of noise that the planner knows, simplest first; ties between them go to the simpler."""

from __future__ import annotations

FAMILIES = (
    "laplace",
    "gaussian",
    "staircase",
    "cut staircase",
    "generalized normal",
    "huber",
    "cosine",
    "linear program",
)
# Tried only when asked for by name: the table is long, and so is the plan file.
ON_REQUEST = ("free form",)
ALL_FAMILIES = (*FAMILIES, *ON_REQUEST)
