"""The form of a table: what was clicked and typed, as the record of a query file, and back.

What is priced is the query file that can be taken away: the form is written as TOML, and the text is read
like any other query file. What names files (data, keys), and what the form has no field for (derived columns,
how CSV is written), comes from the query file that was named on the command line, never from a request.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pbdp.cli.files import toml_in
from pbdp.cli.tables.asked import Asked, asked_of
from pbdp.cli.tables.query_file import DATA, settings_from
from pbdp.errors import InputError, PbdpError, shown, without_passwords
from pbdp.parameters import is_connection
from pbdp.settings import Setting, renamed
from pbdp.studio.code_to_copy import spelled, toml_text
from pbdp.studio.form import number_typed
from pbdp.studio.opened import Opened
from pbdp.tables.measures import KINDS
from pbdp.tables.request import OPEN, QueryRequest
from pbdp.tables.selection import Selection
from pbdp.tables.written_keys import NO_KEYS, keys_in_range, keys_written, listed, looked_at, typed

Form = Mapping[str, Any]
Record = dict[str, Any]

# Settings of the form, as the query declares them: numbers as they were typed, texts, and what is on or off.
_SETTINGS = {name: own for name, own in QueryRequest.settings().items() if own.option}
NUMBERS = tuple(name for name, own in _SETTINGS.items() if own.kind.form == "number")
TEXTS = tuple(name for name, own in _SETTINGS.items() if own.kind.form in ("text", "choice"))
TRUTHS = {name: bool(own.default) for name, own in _SETTINGS.items() if own.kind.form in ("truth", "touched")}
LISTS = ("by", "measures")
SELECT = tuple(Selection.settings())
MOST_LISTED = 20
LONGEST_TEXT = 10_000
MOST_GROUPS = 100_000


class Base:
    """What stays as it is in every query of this studio: the data, and settings without a field."""

    def __init__(self, opened: Opened) -> None:
        self.opened = opened
        path = opened.query_file
        self.folder = Path() if path is None else path.parent
        record = {} if path is None else toml_in("query file", path)
        self.form, self.kept = _split(record)
        if opened.data is not None:
            self.kept["data"] = opened.data if "://" in opened.data else str(Path(opened.data).absolute())
        if opened.table is not None:
            self.kept["table"] = opened.table

    @property
    def shown(self) -> Record:
        """What is kept, as it may be written down: an address with a password is left out."""
        data = self.kept.get("data", "")
        secret = isinstance(data, str) and is_connection(data) and without_passwords(data) != data
        return {name: value for name, value in self.kept.items() if not (secret and name == "data")}

    def text(self, form: Form) -> str:
        """The query file of a form."""
        return toml_text(self._record(form))

    @property
    def data(self) -> str | None:
        """The data as it was named, with all that its address holds."""
        return self.kept.get("data")

    def _record(self, form: Form) -> Record:
        """The settings in the order in which people write them, the groups, and a table for each measure."""
        _check(form)
        settings: Record = {name: text for name in TEXTS if (text := form.get(name, "").strip())}
        settings |= {name: form[name] for name, usual in TRUTHS.items() if form.get(name, usual) is not usual}
        settings |= {
            name: _whole(number)
            for name in NUMBERS
            if (number := number_typed(name, form.get(name))) is not None
        }
        if settings.get("one_row_per_person"):
            # what is about several rows does not matter then
            for name in ("unit", "groups_per_person", "rows_per_group"):
                settings.pop(name, None)
        shown = self.shown
        record = {name: shown[name] for name in ("data", "table") if name in shown} | settings
        record |= {name: value for name, value in shown.items() if name not in record}
        by = _by(form.get("by", ()))
        record |= {"by": by} if by else {}
        select = {
            name: _whole(number)
            for name in SELECT
            if (number := number_typed(f"{name} of select", form.get("select", {}).get(name))) is not None
        }
        record |= {"select": select} if select else {}
        return record | _measures(form.get("measures", ()), record)


def asked_in(text: str, folder: Path, data: str | None) -> tuple[Record, Asked]:
    """The settings of a query file, its query and the data that it is for."""
    try:
        record = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        raise InputError("the form", "made of texts that can be written down", "others") from None
    settings = settings_from(record)
    _check_groups(settings.get("by"))
    return settings, asked_of(settings | ({} if data is None else {"data": data}), folder)


def _whole(number: float) -> float | int:
    return int(number) if number.is_integer() and abs(number) < 2**53 else number


def _check_groups(by: object) -> None:
    """Refuse tables of more groups than are planned while somebody waits."""
    count = 1
    for keys in by.values() if isinstance(by, Mapping) else ():
        listed_keys = keys_written("by", keys)
        every: Any = getattr(listed_keys, "labels", None) or getattr(listed_keys, "keys", listed_keys)
        count *= 1 if every is None else len(every)
    if count > MOST_GROUPS:
        remedy = "The studio answers while you wait; `pbdp tables` on the command line takes larger tables."
        raise InputError("keys", f"those of at most {MOST_GROUPS:,} groups here", f"{count:,}", remedy)


# ------------------------------------------------------------------------------------------ from a form


def _check(form: Form) -> None:
    """Refuse what no form is: the page never sends it."""
    _check_names("fields", form, (*NUMBERS, *TEXTS, *TRUTHS, *LISTS, "select"))
    for name in TEXTS:
        _check_text(name, form.get(name, ""))
    for name in TRUTHS:
        if not isinstance(form.get(name, False), bool):
            raise InputError(name, "true or false", type(form[name]).__name__)
    if not isinstance(form.get("select", {}), Mapping):
        raise InputError("select", "an object", type(form["select"]).__name__)
    _check_names("select", form.get("select", {}), SELECT)
    for name in LISTS:
        rows = form.get(name, [])
        if not isinstance(rows, list) or not all(isinstance(row, Mapping) for row in rows):
            raise InputError(name, "a list of objects", type(rows).__name__)
        if len(rows) > MOST_LISTED:
            raise InputError(name, f"at most {MOST_LISTED} here", len(rows))
        for row in rows:
            if name == "by":
                _check_names(name, row, ("column", "keys", "rest"))
            for field, value in row.items():
                # settings of measures may be numbers and truths
                if name == "by" or field in ("kind", "name") or not isinstance(value, bool | int | float):
                    _check_text(f"{field} of {name}", value)


def _check_names(what: str, given: Form, known: Sequence[str]) -> None:
    if strange := [name for name in given if name not in known]:
        raise InputError(f"names of {what}", f"among {', '.join(known)}", shown(strange[0]))


def _check_text(name: str, text: object) -> None:
    if not isinstance(text, str) or len(text) > LONGEST_TEXT:
        raise InputError(name, f"a text of at most {LONGEST_TEXT:,} characters", type(text).__name__)


def _by(rows: Sequence[Form]) -> Record:
    """The columns to group by, with their keys."""
    made: Record = {}
    for row in rows:
        column = row.get("column", "")
        if not column or column in made:
            raise InputError(f"keys of {column or 'a group'}", "those of a column, given once", "others")
        made[column] = _keys(row)
    return made


def _keys(row: Form) -> Any:
    """Keys as they are written on the command line: Paris,Rome or 1..12 or 0..100 by 5, or ? for none."""
    column, text = row["column"], str(row.get("keys", "")).strip()
    if text in ("", NO_KEYS):
        return NO_KEYS
    if " by " in text:
        return {"bins": text}
    written = listed(column, text)
    keys = typed(column, written)
    if rest := str(row.get("rest", "")).strip():
        return {"keys": list(keys), "rest": rest}
    is_range = len(written) == 1 and not written[0].quoted and keys_in_range(column, text) is not None
    return text if is_range else list(keys)


def _measures(rows: Sequence[Form], others: Mapping[str, Any]) -> Record:
    """A table for each measure, under its name where no setting has that."""
    made: Record = {}
    for place, row in enumerate(rows, start=1):
        settings: Record = {}
        for name, given in row.items():
            with renamed(str(row.get("name") or usual_name(row))):
                value = _setting(settings_of_kind(row.get("kind")), name, given)
            if value is not None and value is not False:
                settings[name] = value
        name = settings.pop("name", None) or usual_name(settings)
        taken = name in others or name in made or name in (*DATA, *_SETTINGS)
        heading = f"measure_{place}" if taken else name
        kind = {"kind": settings.pop("kind", "")}
        made[heading] = kind | ({"name": name} if heading != name else {}) | settings
    return made


def _setting(known: Mapping[str, Setting], name: str, given: Any) -> Any:
    """A setting as what it is, from what was typed; None if nothing was. `2 / 8` is below and above."""
    if isinstance(given, str) and name != "kind":
        text = given.strip()
        if not text or text == OPEN:
            return None
        below, slash, above = text.partition("/")
        if slash and name in known and known[name].kind.form == "width":
            text = f"{below.strip()}..{above.strip()}"
        given = known[name].typed(name, text) if name in known else text
        given = list(given) if isinstance(given, tuple) else given
    return _whole(given) if isinstance(given, float) else given


def settings_of_kind(kind: object) -> Mapping[str, Setting]:
    """The settings of a kind of measure; none of what is no kind."""
    return KINDS[kind].settings() if isinstance(kind, str) and kind in KINDS else {}


def usual_name(settings: Mapping[str, Any]) -> str:
    """What the library calls a measure that has no name."""
    kind = str(settings.get("kind") or "measure")
    if "of" in settings and "over" in settings:
        return f"{settings['of']}_per_{settings['over']}"
    return f"{kind}_{settings['column']}" if "column" in settings else kind


# ------------------------------------------------------------------------------------------ to a form


def _split(record: Record) -> tuple[Record, Record]:
    """The form that a query file fills, and what it keeps."""
    form: Record = dict.fromkeys((*NUMBERS, *TEXTS), "") | TRUTHS
    kept = dict(record)
    for name in (*NUMBERS, *TEXTS):
        if name in kept and isinstance(kept[name], str | int | float):
            form[name] = _shown(kept.pop(name))
    for name in TRUTHS:
        if isinstance(kept.get(name), bool):
            form[name] = kept.pop(name)
    form["by"] = _rows(kept.pop("by", {}))
    select = kept.pop("select") if isinstance(kept.get("select"), dict) else {}
    form["select"] = {name: _shown(select.get(name, "")) for name in SELECT}
    measures = {
        name: kept.pop(name) for name, value in record.items() if isinstance(value, dict) and "kind" in value
    }
    form["measures"] = [
        {"name": name} | {setting: _shown(value) for setting, value in table.items()}
        for name, table in measures.items()
    ]
    return form, kept


def _shown(value: Any) -> Any:
    """A setting as it is typed; what is on or off stays so."""
    match value:
        case bool() | str():
            return value
        case list():
            return " / ".join(spelled(side) for side in value)
    return spelled(value)


def _rows(by: object) -> list[Record]:
    if isinstance(by, list):
        return [{"column": str(name), "keys": NO_KEYS, "rest": ""} for name in by]
    if not isinstance(by, Mapping):
        return []
    tables = {column: keys if isinstance(keys, Mapping) else {"keys": keys} for column, keys in by.items()}
    return [
        {
            "column": column,
            "keys": _written(keys.get("bins", keys.get("keys", ""))),
            "rest": str(keys.get("rest", "")),
        }
        for column, keys in tables.items()
    ]


def _written(keys: object) -> str:
    """Keys as they are typed: in double quotes where they would else be taken for something else."""
    if not isinstance(keys, list):
        return str(keys)
    if all(isinstance(key, str) for key in keys):
        strange = looked_at(keys) != keys or any(
            '"' in key or "," in key or key.strip() != key or ".." in key or not key for key in keys
        )
        return ", ".join('"' + key.replace('"', '""') + '"' if strange else key for key in keys)
    return ", ".join(str(key).lower() if isinstance(key, bool) else str(key) for key in keys)


# ------------------------------------------------------------------------------------------ whose mistake


def kinds_of_measures() -> dict[str, list[str]]:
    """The kinds of measures there are, with their settings in order."""
    return {kind: list(made.settings()) for kind, made in KINDS.items()}


def _listed(form: Form, name: str) -> list[tuple[int, Form]]:
    """The rows of a form that are such, with their places."""
    rows = form.get(name)
    found = enumerate(rows if isinstance(rows, list) else ())
    return [(place, row) for place, row in found if isinstance(row, Mapping)]


def field_of(error: PbdpError, form: Form) -> str | None:
    """The field that a mistake is about: `delta`, `by.0.keys`, `measures.1.within`."""
    if not isinstance(error, InputError):
        return None
    what, _, whose = error.name.partition(" of ")
    for place, row in _listed(form, "by"):
        column = row.get("column")
        # of several columns it is said beside the first
        if (whose and f"{whose}, ".startswith(f"{column}, ")) or error.name == f"column {column}":
            return f"by.{place}.{'rest' if what == 'rest' else 'keys'}"
    for place, row in _listed(form, "measures"):
        name = row.get("name") or usual_name({key: value for key, value in row.items() if value})
        if whose in (name, f"measure {name}", f"[{name}]") or what == f"measure {name}":
            known = kinds_of_measures().get(str(row.get("kind")), [])
            setting = next((word for word in what.replace(",", " ").split() if word in known), "kind")
            return f"measures.{place}.{setting}"
        if error.name == "names" and name in str(error.value).split(", "):
            return f"measures.{place}.name"
        if error.name == f"column {row.get('column')}":
            return f"measures.{place}.column"
    if whose == "select":
        return f"select.{what}"
    every = (*NUMBERS, *TEXTS, *TRUTHS)
    return next((word for word in error.name.replace(",", " ").split() if word in every), None)
