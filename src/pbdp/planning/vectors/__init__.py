"""Answers with several coordinates: the least certified epsilon for a vector near the truth as a whole."""

from __future__ import annotations

from pbdp.planning.vectors.ask import plan_vector
from pbdp.planning.vectors.plan import VectorPlan

__all__ = ["VectorPlan", "plan_vector"]
