"""Tests of `pbdp tables` ask about the same visits again and again."""

from __future__ import annotations

from tests.tables.planned_once import planned_once

__all__ = ["planned_once"]
