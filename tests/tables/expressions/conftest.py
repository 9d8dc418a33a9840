"""The engines of the tests beside these."""

from __future__ import annotations

from tests.tables.engines.conftest import engine

__all__ = ["engine"]
