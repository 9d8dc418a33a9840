"""Which datasets count as neighbours; part of every guarantee."""

from __future__ import annotations

NEIGHBOURS = {
    "add/remove": "one person is added or removed",
    "replace": "one person's data is replaced",
}
