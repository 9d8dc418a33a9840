"""Plans inside other people's libraries: `bridges.dp_accounting` and `bridges.opendp`.

Each imports its library, which is not a dependency of pbdp: install it to use the bridge.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from pbdp.errors import MissingPackageError


@contextmanager
def needed_by(what: str, install: str) -> Iterator[None]:
    """Around the imports of other libraries: says what to install where one is missing."""
    try:
        yield
    except ModuleNotFoundError as missing:
        raise MissingPackageError(what, missing.name or install, install) from None
