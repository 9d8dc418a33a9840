"""An answer on its way from a worker to the browser."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

JSON = "application/json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """Bytes with their type and the status of HTTP; `name` is that of a file to save, if it is one."""

    content: bytes
    media: str = JSON
    status: int = 200
    name: str = ""

    @classmethod
    def of(cls, record: Any, status: int = 200) -> Answer:
        """A record as JSON."""
        return cls(content=json.dumps(record, allow_nan=False).encode(), status=status)

    @classmethod
    def refusal(cls, message: str, status: int = 422) -> Answer:
        """One mistake that belongs to no field."""
        return cls.of({"errors": [{"field": None, "message": message}]}, status)

    def head(self) -> bytes:
        """All but the content, in one line."""
        record = {
            "media": self.media,
            "status": self.status,
            "name": self.name,
            "length": len(self.content),
        }
        return json.dumps(record).encode() + b"\n"
