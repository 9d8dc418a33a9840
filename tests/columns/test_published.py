"""Columns of published numbers in files: every format that a command may write has a writer."""

from __future__ import annotations

import argparse
from contextlib import closing
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest

from pbdp.cli.files import WRITTEN
from pbdp.cli.main import parser
from pbdp.cli.parser import Parser
from pbdp.columns.files import Wanted, blocks_of
from pbdp.columns.published import READY, WRITERS, ready_columns, table_bytes


def test_every_format_has_a_writer() -> None:
    """A format without one would fail after numbers were drawn and paid for."""
    assert set(WRITTEN) == WRITERS.keys() == READY.keys()


@pytest.mark.parametrize("command", [["release"], ["local", "estimate"]], ids=" ".join)
def test_commands_take_the_formats_that_are_written(command: list[str]) -> None:
    found: argparse.ArgumentParser = parser()
    for name in command:
        if isinstance(found, Parser):
            found.declared()
        (commands,) = (one for one in found._actions if isinstance(one, argparse._SubParsersAction))
        found = commands.choices[name]
    assert isinstance(found, Parser)
    found.declared()
    (written,) = (action for action in found._actions if action.dest == "format")
    assert written.choices == WRITTEN


@pytest.mark.parametrize("written", WRITTEN)
def test_what_is_written_can_be_read(written: str, tmp_path: Path) -> None:
    kept = ready_columns({"region": ["north", "south"]}, written)
    file = tmp_path / f"published.{written}"
    file.write_bytes(table_bytes(kept | {"visits": np.array([1234, -5])}, written))

    with closing(blocks_of(str(file), None, Wanted(column="visits", known=("region",)))) as blocks:
        (block,) = blocks
    cells = block.cells if isinstance(block.cells, list) else block.cells.to_pylist()
    more = (
        block.more["region"] if isinstance(block.more["region"], list) else block.more["region"].to_pylist()
    )
    assert [Decimal(cell) for cell in cells] == [1234, -5]
    assert more == ["north", "south"]
