"""Which datasets count as neighbors; part of every guarantee."""

from __future__ import annotations

NEIGHBORS = {
    "add/remove": "one person is added or removed",
    "replace": "one person's data is replaced",
}
