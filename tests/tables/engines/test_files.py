from __future__ import annotations

import datetime
import gzip
from pathlib import Path
from urllib.parse import quote

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pbdp.errors import InputError
from pbdp.tables.engines.files import Csv
from pbdp.tables.engines.interface import EngineError
from pbdp.tables.engines.sources import source_of
from tests.tables.engines.asking import SECRET, answered, asking, hides, people, value
from tests.tables.forms import as_csv
from tests.tables.random_tables import random_case
from tests.tables.reference import reference


def test_csv_files_are_read_as_the_keys_are(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    for _ in range(12):
        case = random_case(rng, csv=True, public=True)
        found = answered(source_of(as_csv(case, tmp_path / "x.csv")), case.asked)
        assert found == reference(case.rows, case.asked)


def _csv(folder: Path, text: str, name: str = "x.csv") -> Path:
    path = folder / name
    path.write_bytes(text.encode())
    return path


def test_junk_in_a_number_column_is_null(tmp_path: Path) -> None:
    fields = ["abc", "", " 7 ", "1e400", "-1e400", "nan", "inf", "1,5", '""', "0x1F", "7.5", "1e-400", "None"]
    lines = "".join(f"{n};{field}\n" for n, field in enumerate(fields))
    source = source_of(_csv(tmp_path, "user;spend\n" + lines))
    asked = asking({}, unit="user", values=[value("spend", -10, 10, whole=True)])
    # 7, 10, -10, 10, 7.5 rounded to 8, 0
    assert answered(source, asked) == {(): (13, 13, (6,), (25 + 6 * 10,))}


def test_csv_keys_of_every_kind(tmp_path: Path) -> None:
    lines = ["5,true,2024-02-29,x", "5.0,TRUE,2024-2-29,x", "5.4,maybe,29.2.2024,X", ",,,", '"5","t","x",""']
    source = source_of(_csv(tmp_path, "n,flag,day,text\n" + "\n".join(lines)))
    assert set(source.kinds().values()) == {"untyped"}
    assert people(answered(source, asking({"n": [5]}))) == {(5,): 3}
    assert people(answered(source, asking({"flag": [True]}))) == {(True,): 3}
    day = datetime.date(2024, 2, 29)
    assert people(answered(source, asking({"day": [day]}))) == {(day,): 2}
    assert people(answered(source, asking({"text": ["x", ""]}))) == {("x",): 2, ("",): 1}


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
def test_csv_as_programs_write_it(separator: str, tmp_path: Path) -> None:
    lines = [["user", "the, city;|\t"], ["1", 'say "x"'], ["2", "two\nlines"], ["3", "🙂"], ["4", ""]]
    text = "\r\n".join(
        separator.join('"' + field.replace('"', '""') + '"' for field in line) for line in lines
    )
    keys = [line[1] for line in lines[1:]]
    expected = {(key,): 1 for key in keys}
    asked = asking({"the, city;|\t": keys}, unit="user")
    assert people(answered(source_of(_csv(tmp_path, "\ufeff" + text + "\r\n")), asked)) == expected
    packed = tmp_path / "x.csv.gz"
    packed.write_bytes(gzip.compress(text.encode()))
    assert people(answered(source_of(packed), asked)) == expected
    if separator == "\t":
        assert people(answered(source_of(_csv(tmp_path, text, "x.TSV")), asked)) == expected


@pytest.mark.parametrize(
    ("line", "failure"),
    [
        (f"1,{SECRET},3", "more or fewer fields"),
        (SECRET, "more or fewer fields"),
        (f'1,"{SECRET}', "quote that does not end"),
        (f'1,"{SECRET}"x', "quote that does not end"),
    ],
)
def test_a_broken_csv_line_is_refused_without_its_text(line: str, failure: str, tmp_path: Path) -> None:
    source = source_of(_csv(tmp_path, f"user,city\n1,Rome\n{line}\n2,Rome\n"))
    with pytest.raises(EngineError, match=failure) as refused:
        answered(source, asking({"city": ["Rome"]}, unit="user"))
    hides(refused.value)
    # a query that does not need the broken field either
    with pytest.raises(EngineError, match=failure):
        answered(source, asking({}, unit="user"))


def test_text_that_is_not_utf8_is_refused_without_it(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    lines = b"".join(b"%d,Rome\n" % n for n in range(100_000))
    path.write_bytes(b"user,city\n" + lines + SECRET.encode() + b",\xff\xfe\n")
    with pytest.raises(EngineError, match="UTF-8") as refused:
        answered(source_of(path), asking({"city": ["Rome"]}, unit="user"))
    hides(refused.value)
    path.write_bytes(b"user,\xff\xfe\n1,2\n")
    with pytest.raises(InputError, match="UTF-8"):
        source_of(path).kinds()


@pytest.mark.parametrize("text", ["", "\n", ",,\n1,2,3\n", "city,City\n1,2\n", "a,a\n1,2\n"])
def test_csv_needs_a_header(text: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="header"):
        source_of(_csv(tmp_path, text)).kinds()


def test_csv_files_of_one_table_have_one_header(tmp_path: Path) -> None:
    paths = [_csv(tmp_path, "user,city\n1,Rome\n", "a.csv"), _csv(tmp_path, "user,city\n2,Rome\n", "b.csv")]
    assert people(answered(source_of(paths), asking({"city": ["Rome"]}, unit="user"))) == {("Rome",): 2}
    _csv(tmp_path, "city,user\nRome,3\n", "b.csv")
    with pytest.raises(InputError, match=r"another header in b\.csv"):
        source_of(paths).kinds()


def test_a_file_name_with_signs_of_patterns_means_itself(tmp_path: Path) -> None:
    _csv(tmp_path, "user\n1\n2\n3\n", "x1.csv")
    for name in ("x[1].csv", "x*.csv", "x?.csv", "it's.csv", "[.csv"):
        source = source_of(_csv(tmp_path, "user\n1\n", name))
        assert people(answered(source, asking({}, unit="user"))) == {(): 1}


def test_folders_of_parquet_files_are_columns(tmp_path: Path) -> None:
    held = {("Köln", "01234"): [1, 2], ("Köln", "50667"): [3], ("Bonn", "01234"): [1]}
    for (city, code), who in held.items():
        folder = tmp_path / f"city={quote(city)}" / f"code={code}"
        folder.mkdir(parents=True)
        pq.write_table(pa.table({"user": who}), folder / "rows.parquet")
    # a code with a zero in front stays a text
    found = answered(
        source_of(tmp_path), asking({"city": ["Köln", "Bonn"], "code": ["01234", "50667"]}, unit="user")
    )
    assert people(found) == {key: len(who) for key, who in held.items()}
    only = source_of(tmp_path / "city=Bonn" / "*" / "*.parquet")
    assert people(answered(only, asking({"code": ["01234"]}, unit="user"))) == {("01234",): 1}


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize(
    ("usual", "other", "told"), [("\r\n", "\n", "CRLF.*got LF"), ("\n", "\r", "LF.*got CR")]
)
def test_a_line_that_ends_in_another_way_is_found_before_anything_is_read(
    tmp_path: Path, usual: str, other: str, told: str, packed: bool
) -> None:
    lines = ["user,city", *(f'{n},"Par""is{usual}{other}"' for n in range(40_000))]
    text = usual.join(lines[:30_000]) + other + usual.join(lines[30_000:])
    path = tmp_path / ("x.csv.gz" if packed else "x.csv")
    path.write_bytes(gzip.compress(text.encode()) if packed else text.encode())
    # quoted line ends may be any, and are counted
    line = 1 + text[: len(usual.join(lines[:30_000]))].replace("\r\n", "\n").replace("\r", "\n").count("\n")
    with pytest.raises(InputError, match=f"line {line:,} of {path.name} must be ended with {told}"):
        source_of(path).check_whole()
    path.write_bytes(b"user,city\r\n1,Paris\r\n")
    source_of(_csv(tmp_path, usual.join(lines), "y.csv")).check_whole()


def test_a_date_is_told_to_be_in_the_format_that_was_named(tmp_path: Path) -> None:
    from pbdp.tables.engines.interface import check_readable

    source = source_of(
        _csv(tmp_path, "user,day\n1,31.12.2024\n2,2024-12-31\n"), csv=Csv(dates={"day": "%d.%m.%Y"})
    )
    asked = asking({"day": [datetime.date(2024, 12, 31)]}, unit="user", groups=1)
    with pytest.raises(InputError, match=r"\(day: dates written %d.%m.%Y\); got others in 1 row of day"):
        check_readable(source, asked)


@pytest.mark.parametrize("name", ["x.jsonl", "x.ndjson", "x.json", "x.jsonl.gz"])
def test_json_lines_are_named(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match=f"JSON lines are not read.*COPY .FROM '{name}'. TO 'x.parquet'"):
        source_of(_csv(tmp_path, "{}", name))


def test_one_file_under_two_names_is_one_file(tmp_path: Path) -> None:
    first = _csv(tmp_path, "user\n1\n")
    (tmp_path / "link.csv").symlink_to(first)
    (tmp_path / "hard.csv").hardlink_to(first)
    for other in (tmp_path / "link.csv", tmp_path / "hard.csv", tmp_path / ".." / tmp_path.name / "x.csv"):
        with pytest.raises(InputError, match="some twice"):
            source_of([first, other])
