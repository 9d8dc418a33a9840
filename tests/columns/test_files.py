"""Columns of files: blocks, places of rows, and refusals that tell nothing of what was read."""

from __future__ import annotations

import io
from decimal import Decimal
from itertools import accumulate
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pbdp.columns.files import BLOCK, Block, TextRows, Wanted, blocks_of, text_of
from pbdp.errors import InputError

# what no message may hold
PRIVATE = "private-7531"
MAIN = Wanted(column="n")


def read(path: Path, content: str | bytes | pa.Table, wanted: Wanted = MAIN) -> list[Block]:
    """The blocks of a file with this content."""
    if isinstance(content, pa.Table):
        pq.write_table(content, path)
    else:
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    return list(blocks_of(str(path), None, wanted))


def cells(blocks: list[Block]) -> list[Any]:
    return [cell for block in blocks for cell in block.cells]


def test_a_column_is_found_by_its_name(tmp_path: Path) -> None:
    wanted = Wanted(column="n", needed={"k": "--keep"}, known=("x", "y"))
    (block,) = read(tmp_path / "a.csv", '\ufeffk, n ,x\nA,1.10,7\n"B\nC",2,8\n', wanted)
    assert (block.held, block.cells) == ("text", ["1.10", "2"])
    assert block.more == {"k": ["A", "B\nC"], "x": ["7", "8"]}
    (block,) = read(tmp_path / "a.json", '[{"n": 1.10, "k": null}, {"n": 2, "k": "B", "x": 7}]', wanted)
    assert (block.held, block.cells) == ("json", [Decimal("1.10"), 2])
    assert block.more == {"k": [None, "B"], "x": [None, 7]}
    table = pa.table({"k": ["A", "B"], "n": [1, 2], "x": [7, 8], "z": [0, 0]})
    (block,) = read(tmp_path / "a.pq", table.replace_schema_metadata({"of": "me"}), wanted)
    assert (block.held, block.cells.to_pylist(), block.total) == ("arrow", [1, 2], 2)
    assert {name: column.to_pylist() for name, column in block.more.items()} == {"k": ["A", "B"], "x": [7, 8]}
    assert block.metadata[b"of"] == b"me"


def test_the_only_column_needs_no_name(tmp_path: Path) -> None:
    wanted = Wanted(column=None, usual="n")
    assert cells(read(tmp_path / "a.txt", "1\n2\n", wanted)) == ["1", "2"]
    # unless it has the usual one
    assert cells(read(tmp_path / "b.txt", "n\n2\n", wanted)) == ["2"]
    assert cells(read(tmp_path / "c.csv", "x,n\n1,2\n", wanted)) == ["2"]
    assert cells(read(tmp_path / "d.json", "[1, 2.5]", Wanted(column=None))) == [1, Decimal("2.5")]


@pytest.mark.parametrize("rows", [BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK])
def test_blank_lines_are_empty_cells_unless_nothing_follows(tmp_path: Path, rows: int) -> None:
    blocks = read(tmp_path / "a.csv", "n\n" + "5\n" * rows + "\n\n\n")
    assert cells(blocks) == ["5"] * rows
    blocks = read(tmp_path / "a.csv", "n\n" + "5\n" * rows + "\n\n6\n\n")
    assert cells(blocks) == [*["5"] * rows, "", "", "6"]
    ends = accumulate(len(block.cells) for block in blocks)
    assert [block.first for block in blocks] == [0, *ends][:-1]
    last = blocks[-1]
    assert last.place(rows + 2 - last.first) == f"row {rows + 3:,} (line {rows + 4:,})"


def test_rows_are_named_by_line_where_lines_are_rows(tmp_path: Path) -> None:
    assert read(tmp_path / "a.csv", "n\n1\n2\n")[0].place(1) == "row 2 (line 3)"
    assert read(tmp_path / "a.csv", 'n\n"1\n"\n2\n')[0].place(1) == "row 2"
    assert read(tmp_path / "a.txt", "1\n2\n", Wanted(column=None))[0].place(1) == "row 2"
    assert read(tmp_path / "a.json", '[{"n": 1}, {"n": 2}]')[0].place(1) == "row 2"


def test_rows_of_another_width_are_refused_or_counted(tmp_path: Path) -> None:
    text = f"n,k\n1,A\n{PRIVATE}\n2,B,{PRIVATE}\n3,C\n"
    with pytest.raises(InputError, match=r"every row must be 2 cells wide") as refused:
        read(tmp_path / "a.csv", text)
    assert PRIVATE not in str(refused.value)
    (block,) = read(tmp_path / "a.csv", text, Wanted(column="n", broken_rows=True))
    assert (block.cells, block.broken) == (["1", "3"], 2)


@pytest.mark.parametrize(
    ("name", "content", "wanted", "words"),
    [
        ("a.csv", f"{PRIVATE},1\n", MAIN, "--column must be the name of one column, as in the first row"),
        ("a.csv", "n,n\n1,2\n", MAIN, "several such"),
        ("a.csv", "n\n1\n", Wanted(column="n", needed={"k": "--keep"}), "--keep must be the name of one col"),
        ("a.csv", f"{PRIVATE}\n", Wanted(column=None, needed={"k": "--counts"}), "with names in its first"),
        ("a.csv", f"{PRIVATE},1\n", Wanted(column=None), "every row must be 1 cell wide"),
        ("a.csv", f'n\n"{PRIVATE}\n', MAIN, "line 2 of the input must be valid CSV"),
        ("a.csv", f"n\n{PRIVATE}\xff".encode("latin-1"), MAIN, "the input must be text in UTF-8"),
        ("a.json", f'["{PRIVATE}"]', MAIN, "every row must be an object"),
        ("a.json", f'[{{"{PRIVATE}": 1}}]', MAIN, "--column must be a name in the objects"),
        ("a.json", f'[{{"{PRIVATE}": 1}}]', Wanted(column=None), "given for an array of objects"),
        ("a.json", f'{{"{PRIVATE}": 1}}', MAIN, "a JSON object"),
        ("a.json", f'["{PRIVATE}",', MAIN, "something else at line 1"),
        ("a.json", "[" * 100_000, MAIN, "must be valid JSON"),
        ("a.parquet", PRIVATE, MAIN, "must be a Parquet file"),
        ("a.parquet", pa.table({"m": [1]}), MAIN, "no such name"),
        ("a.parquet", pa.table({"n": [1]}), Wanted(column=None), "given for Parquet"),
    ],
)
def test_what_cannot_be_read_is_refused(
    tmp_path: Path, name: str, content: Any, wanted: Wanted, words: str
) -> None:
    with pytest.raises(InputError, match=words) as refused:
        read(tmp_path / name, content, wanted)
    assert PRIVATE not in str(refused.value)


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    for name in ("nowhere.csv", ""):
        with pytest.raises(InputError, match="input must be readable"):
            list(blocks_of(str(tmp_path / name), None, MAIN))


def test_the_file_of_a_reader_that_is_closed_early_is_closed_too(tmp_path: Path) -> None:
    """A warning about a file that was left open would be an error here."""
    (tmp_path / "a.csv").write_text("n\n" + "5\n" * (BLOCK + 1))
    blocks = blocks_of(str(tmp_path / "a.csv"), None, MAIN)
    next(blocks)
    blocks.close()


def test_rows_hold_nothing_back_of_what_they_could_not_read() -> None:
    with text_of(io.BytesIO(f"{PRIVATE}\xff".encode("latin-1"))) as lines:
        rows = TextRows.of(lines, "cities.csv")
        with pytest.raises(InputError, match=r"cities\.csv must be text in UTF-8") as refused:
            rows.read()
    assert refused.value.__context__ is None
