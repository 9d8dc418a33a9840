"""`pbdp tables`: what the command takes, and its steps in order."""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from pbdp.cli.files import Outcome, checked_target, json_text, new_files, picture_of
from pbdp.cli.options import (
    Target,
    add,
    add_budget,
    add_written,
    check_budget,
    paying_budget,
    paying_of,
    target_of,
)
from pbdp.cli.parser import Parser
from pbdp.cli.tables.flags import add_flags, flags_given, settings_of
from pbdp.errors import ContradictionError, InputError
from pbdp.paying import PayingOnce
from pbdp.tables.measure_request import kind_names
from pbdp.tables.request import QueryRequest

if TYPE_CHECKING:
    from pbdp.cli.main import Progress
    from pbdp.cli.tables.asked import Asked
    from pbdp.ledger.budget import Budget
    from pbdp.tables.query import Query
    from pbdp.tables.signing import Signer
    from pbdp.tables.table import ReleasedTable

FORMATS = ("csv", "parquet")
_LARGEST_SEED = 2**63

EXAMPLES = f"""examples:
  pbdp tables visits.toml --dry-run
  pbdp tables visits.toml -o visits.csv --ledger pbdp-ledger.db --dataset visits
  pbdp tables visits.parquet --unit user_id --by city=Paris,Rome --by month=1..12 \\
      --groups-per-person 3 --rows-per-group 5 --count 50 --sum spend 0 100 5%+500 --delta 1e-6
  pbdp tables visits.csv --unit user_id --by 'city=?' --select 100 --people 20 \\
      --groups-per-person 2 --delta 1e-6 -o cities.parquet
  pbdp tables visits.csv --one-row-per-person --by city=Paris,Rome --count --epsilon 1 --delta 1e-6

a query file, in TOML (every table but [by] and [select] is a number to publish):
  data = "visits.parquet"      # from the folder of this file; or postgresql://... and table = "visits"
  unit = "user_id"             # or one_row_per_person = true
  groups_per_person = 3
  rows_per_group = 5
  delta = 1e-6

  [by]
  city = ["Paris", "Rome"]     # or keys = "cities.csv" above; or "?" with [select], people = 100
  month = "1..12"

  [visits]
  kind = "count"               # {kind_names()}
  within = 50

  [spend]
  kind = "sum"
  column = "spend"
  low = 0
  high = 100
  within = "5%+500"
  confidence = 0.9             # 0.95 unless it is said here or at the top

Check what came out: pbdp verify visits.csv.manifest.json
"""  # noqa: S608 - commands, no SQL


BRIEF = """examples:
  pbdp tables visits.toml --dry-run
  pbdp tables visits.csv --unit user_id --by city=Paris,Rome --groups-per-person 3 --rows-per-group 5 \\
      --count 50 --sum spend 0 100 500 --delta 1e-6 --ledger pbdp-ledger.db --dataset visits -o visits.csv

Other measures, selected groups, several tables, running totals, SQL and query files:
pbdp tables --help-all
"""
MOST_USED = frozenset(
    {
        *("-h", "--help-all", "--unit", "--one-row-per-person", "--groups-per-person"),
        *("--rows-per-group", "--by", "--where", "--count", "--sum", "--mean", "--delta", "--epsilon"),
        *("--ledger", "--dataset", "-o"),
    }
)


def declare(parser: Parser) -> None:
    """What the command takes."""
    parser.set_defaults(doing="Planning")
    parser.description = (
        "Publish counts, sums and means of groups with the accuracy that you ask for,\n"
        "with one guarantee for the whole table and everything that one person adds to it."
    )
    parser.epilog = EXAMPLES
    parser.most_used, parser.takes, parser.brief = MOST_USED, "QUERY.toml|DATA", BRIEF
    parser.add_argument(
        "asked", metavar="QUERY.toml|DATA", help="a query file, or data (.csv, .parquet, URL) and flags"
    )
    parser.add_argument("--data", metavar="DATA", help="use this data instead of what the query file names")
    parser.add_argument("--table", metavar="NAME", help="the table or view, if the data is a database")
    parser.add_argument(
        "--dry-run",
        action="store_true",
        help="print the cost and the accuracies; no data is read, nothing is spent",
    )
    add_flags(parser)
    add_publishing(parser)


def add_publishing(parser: argparse.ArgumentParser) -> None:
    """Declare what pays for a table, and where it goes."""
    add_budget(parser.add_argument_group("budget"), PayingOnce)
    output = parser.add_argument_group("output")
    add_written(output, FORMATS, ", and FILE.manifest.json")
    output.add_argument("--manifest", metavar="FILE", help="write the manifest to this file")
    output.add_argument(
        "--sign",
        metavar="KEY",
        help="sign the manifest with a key made by `pbdp keys create`: its name, or its file",
    )
    add(output, "--plot", "--json", "--insecure-test-seed")
    output.add_argument(
        "--plot-order", metavar="MEASURE", help="sort the picture by this measure, largest first"
    )
    parser.set_defaults(measures=None)


def run(options: argparse.Namespace) -> Outcome:
    """Read the question, check every file, then say what it costs, or pay, read, draw and write."""
    check(options)
    return publish(options, _asked(options))


def publish(options: argparse.Namespace, asked: Asked) -> Outcome:
    """Say what a question costs, or pay, read, draw and write."""
    data = [] if asked.data is None or "://" in asked.data else [asked.data]
    files = _files(options, asked.query, [*asked.read, *data])
    target = files.target
    signer = _signer(options, [*data, *files.tables, *([files.manifest] if files.manifest else [])])
    picture = picture_of(options)
    measures = [name for measure in asked.query.measures for name in measure.shown_columns]
    if options.plot_order is not None and (picture is None or options.plot_order not in measures):
        rule = f"used with --plot and one of {', '.join(measures)}"
        raise ContradictionError("--plot-order", rule, options.plot_order)
    progress: Progress = options.progress
    with paying_budget(options) as budget:
        if options.dry_run:
            return _dry_run(asked, budget, progress, as_json=options.json)
        release = partial(_released, asked, budget, progress, options)
        table = _written(files, progress, release, signer)
        if picture is not None and len(table):
            progress.now("Drawing the picture")
            _draw(table, picture, options.plot_order)
        from pbdp.report.words.tables import table_notes

        return Outcome(
            output=_output(table, target, options),
            notes=table_notes(table, budget, in_words=not options.json),
            released=target.path is None,
        )


def _signer(options: argparse.Namespace, files: Sequence[str | Path]) -> Signer | None:
    """The key to sign with, read before anything is paid."""
    if options.sign is None:
        return None
    if options.output is None:
        raise ContradictionError("--sign", "used with -o", "no -o", "It signs the manifest beside the file.")
    from pbdp.tables.signing import signer_at

    signer = signer_at(options.sign)
    signer.check_apart(files)
    return signer


def _manifest(options: argparse.Namespace, target: Target, read: Sequence[Path | str]) -> Path | None:
    """Where the manifest goes: beside the table, and nowhere without one."""
    if target.path is None:
        if options.manifest is not None:
            raise ContradictionError(
                "--manifest", "used with -o", "no -o", "It describes the file of the table."
            )
        return None
    options.manifest = options.manifest or f"{options.output}.manifest.json"
    path = checked_target(options.manifest, options.force, read, what="--manifest")
    if path == target.path:
        raise ContradictionError("--manifest", "another file than the table", options.manifest)
    return path


@dataclass(frozen=True, slots=True, kw_only=True)
class _Files:
    """The files of a release: its tables, and the manifest of all."""

    target: Target
    manifest: Path | None
    tables: tuple[Path, ...]


def _files(options: argparse.Namespace, query: Query, read: Sequence[Path | str | None]) -> _Files:
    """Where everything goes; looked at before anything is paid."""
    from pbdp.tables.manifest import file_names

    target = target_of(options, FORMATS, read=read)
    shown = options.json or options.dry_run or (options.format is None and sys.stdout.isatty())
    if target.path is None and query.margins is not None and not shown:
        remedy = "Name the first with -o; the others get names of their own. Or ask for --json."
        raise InputError("output", "files for several tables", "standard output", remedy)
    manifest = _manifest(options, target, [one for one in read if one is not None])
    if target.path is None:
        return _Files(target=target, manifest=None, tables=())
    labels = [""] if query.margins is None else query.margins.labels
    names = [str(target.path.with_name(name)) for name in file_names(target.path.name, labels)]
    others = [checked_target(name, options.force, read) for name in names[1:]]
    return _Files(target=target, manifest=manifest, tables=(target.path, *others))


def _dry_run(asked: Asked, budget: Budget | None, progress: Progress, *, as_json: bool) -> Outcome:
    from pbdp.report.words.table_plans import plan_facts, plan_words

    progress.now("Planning")
    plan = asked.query.plan()
    output = json_text("table-cost", plan_facts(plan, budget)) if as_json else plan_words(plan, budget)
    return Outcome(output=output, notes=_not_there(asked))


def _written(
    files: _Files, progress: Progress, release: Callable[[], ReleasedTable], signer: Signer | None
) -> ReleasedTable:
    """The released table, in its files and described by its manifest if there are such."""
    target, manifest = files.target, files.manifest
    if target.path is None or manifest is None:
        return release()
    from pbdp.tables.manifest import written_files

    # the tables are named last: they never stand without their manifest
    with new_files([manifest, *files.tables], target.force) as (beside, *others):
        table = release()
        progress.now("Writing")
        content, made = written_files(table, target.path.name, target.written, signer)
        beside.write(content)
        for opened, file in zip(others, made, strict=True):
            opened.write(file.content)
    return table


def _draw(table: ReleasedTable, picture: Path, order: str | None) -> None:
    from pbdp.report.pictures.canvas import save
    from pbdp.report.pictures.table_figure import draw_table

    with warnings.catch_warnings():
        # keys in a script that the font does not have are shown as boxes
        warnings.filterwarnings("ignore", message="Glyph")
        save(draw_table(table, order), picture)


def _released(
    asked: Asked, budget: Budget | None, progress: Progress, options: argparse.Namespace
) -> ReleasedTable:
    """Columns are checked before the plan is made, the plan before anything is paid, and then it is read."""
    from pbdp.release.keystream import InsecureTestSeedWarning
    from pbdp.tables.engines.interface import check_columns
    from pbdp.tables.engines.sources import source_of
    from pbdp.tables.release import release_table

    if asked.data is None:
        raise InputError("data", "named", "nothing", "In the query file, data = ..., or with --data.")
    try:
        source = source_of(asked.data, asked.table, asked.csv)
        check_columns(source, asked.query.aggregation)
        progress.now("Planning")
        plan = asked.query.plan()
        progress.now("Reading and drawing")
        with warnings.catch_warnings():
            # a note says it too, and always
            warnings.simplefilter("ignore", InsecureTestSeedWarning)
            return release_table(
                plan,
                source,
                budget=budget,
                insecure_test_seed=options.insecure_test_seed,
                named=asked.source,
                **paying_of(options, PayingOnce),
            )
    except OSError as error:
        # the file that is being written is open around this, and would be blamed
        named = "a database" if "://" in asked.data else Path(asked.data).name
        raise InputError("data", "readable", named, f"{error.strerror}.") from None


def _output(table: ReleasedTable, target: Target, options: argparse.Namespace) -> str | bytes:
    """One object, one line on the files, a table to look at, or the file itself."""
    from pbdp.report.tables import SHOWN
    from pbdp.report.words.tables import table_facts, table_words

    if options.json:
        return json_text("released-table", table_facts(table, options.output, options.manifest))
    if target.path is not None:
        groups = "1 group" if len(table) == 1 else f"{len(table):,} groups"
        more = f" and {len(table.others)} more tables beside it" if table.others else ""
        return f"{groups} published in {options.output}{more}, with a manifest in {options.manifest}"
    if options.format is None and sys.stdout.isatty():
        # what was drawn without a ledger cannot be had again, so all of it is shown
        return table_words(table, None if table.payment is None else SHOWN)
    return table.file_bytes(target.written)


def _asked(options: argparse.Namespace) -> Asked:
    """The question of a query file, or of the flags."""
    from pbdp.cli.tables.asked import asked_of
    from pbdp.cli.tables.query_file import ENDING, settings_in

    here = Path()
    if not options.asked.lower().endswith(ENDING):
        if options.data is not None:
            raise ContradictionError("--data", "used with a query file", options.asked)
        options.elsewhere = ("data",)
        settings = settings_of(options) | {"data": options.asked}
        return asked_of(settings | ({} if options.table is None else {"table": options.table}), here)
    if names := ", ".join(flags_given(options)):
        raise ContradictionError("a query file", "used without flags that ask for more", names)
    options.elsewhere = tuple(QueryRequest.settings())
    path = Path(options.asked)
    settings, folder = settings_in(path), path.parent
    own = ("data", "table", "through")
    given = {name: getattr(options, name) for name in own if getattr(options, name) is not None}
    if "data" in given and "://" not in given["data"]:
        given["data"] = str(Path(given["data"]).absolute())
    return asked_of(settings | given, folder, read=[path])


def check(options: argparse.Namespace) -> None:
    """Refuse options that do not belong together, before anything is read."""
    check_budget(options)
    seed = options.insecure_test_seed
    if seed is not None and not 0 <= seed < _LARGEST_SEED:
        raise InputError("--insecure-test-seed", "a number from 0 to 2^63", seed)


def _not_there(asked: Asked) -> tuple[str, ...]:
    """A word on data that is named but not there yet: a plan does not need it."""
    if asked.data is None or "://" in asked.data or set(asked.data) & set("*?["):
        return ()
    return (
        () if Path(asked.data).exists() else (f"Note: {asked.data} is not there yet; a plan needs no data.",)
    )
