"""`pbdp tables`: private group-by tables, asked for in a query file or with flags."""

from __future__ import annotations

from pbdp.cli.tables.command import declare, run

__all__ = ["declare", "run"]
