"""The families of noise that the planner knows, simplest first; ties between them go to the simpler."""

from __future__ import annotations

FAMILIES = (
    "laplace",
    "gaussian",
    "staircase",
    "cut staircase",
    "generalised normal",
    "huber",
    "cosine",
    "linear program",
)
