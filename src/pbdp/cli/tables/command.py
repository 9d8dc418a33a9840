"""`pbdp tables`: what the command takes, and its steps in order."""

from __future__ import annotations

import argparse
import json
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from pbdp.cli.ledger import add_place, place_of
from pbdp.cli.outcome import Outcome
from pbdp.cli.progress import Progress
from pbdp.cli.tables.flags import add_flags, flags_given, settings_of
from pbdp.errors import ContradictionError, InputError

if TYPE_CHECKING:
    from pbdp.cli.tables.asked import Asked
    from pbdp.cli.tables.outputs import Targets
    from pbdp.cli.tables.phases import Phases
    from pbdp.ledger.budget import Budget
    from pbdp.tables.table import ReleasedTable

FORMATS = ("csv", "parquet")
_LARGEST_SEED = 2**63

EXAMPLES = """examples:
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
  kind = "count"               # count, people, sum or mean
  within = 50

  [spend]
  kind = "sum"
  column = "spend"
  low = 0
  high = 100
  within = "5%+500"
  confidence = 0.9             # 0.95 unless it is said here or at the top

Check what came out: pbdp verify visits.csv.manifest.json
"""


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the command."""
    parser = commands.add_parser(
        "tables",
        help="publish counts, sums and means of groups from a file or a database",
        description="Publish counts, sums and means of groups with the accuracy that you ask for,\n"
        "with one guarantee for the whole table and everything that one person adds to it.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument(
        "asked", metavar="QUERY.toml|DATA", help="a query file, or data (.csv, .parquet, URL) and flags"
    )
    parser.add_argument("--data", metavar="DATA", help="other data than the query file names")
    parser.add_argument("--table", metavar="NAME", help="the table or view, if the data is a database")
    parser.add_argument(
        "--dry-run",
        action="store_true",
        help="print the cost and the accuracies; no data is read, nothing is spent",
    )
    add_flags(parser)
    budget = parser.add_argument_group("who counts")
    add_place(budget)
    budget.add_argument(
        "--dataset", metavar="NAME", help="the dataset whose budget pays; needed with a ledger"
    )
    budget.add_argument(
        "--key", help="a name for this request: repeating it gives the same table, another one a new table"
    )
    output = parser.add_argument_group("output")
    output.add_argument(
        "-o", "--output", metavar="FILE", help="write a .csv or .parquet file, and FILE.manifest.json"
    )
    output.add_argument("--manifest", metavar="FILE", help="write the manifest to this file")
    output.add_argument("--format", choices=FORMATS, help="default: by the ending of FILE, else csv")
    output.add_argument("--force", action="store_true", help="replace files that exist")
    output.add_argument("--plot", metavar="FILE", help="draw the table into a .png, .svg or .pdf file")
    output.add_argument("--json", action="store_true", help="print one JSON object")
    output.add_argument(
        "--insecure-test-seed",
        type=int,
        metavar="N",
        help="FOR TESTS ONLY: noise that anyone can take off again; the output is marked",
    )
    parser.set_defaults(run=run, measures=None)


def run(options: argparse.Namespace) -> Outcome:
    """Read the question, check every file, then say what it costs, or pay, read, draw and write."""
    from pbdp.cli.tables.outputs import checked_targets

    _check(options)
    asked = _asked(options)
    files = [] if asked.data is None or "://" in asked.data else [Path(asked.data)]
    targets = checked_targets(options, [*asked.read, *files])
    with Progress() as progress:
        from pbdp.cli.tables.phases import Phases

        with Phases(progress) as phases, _budget(options) as budget:
            if options.dry_run:
                return _dry_run(asked, budget, phases, as_json=options.json)
            return _published(asked, targets, budget, phases, options)


def _dry_run(asked: Asked, budget: Budget | None, phases: Phases, *, as_json: bool) -> Outcome:
    from pbdp.cli.tables.plan_words import plan_facts, plan_words

    phases.now("planning")
    plan = asked.query.plan()
    output = (
        json.dumps(plan_facts(plan, budget), indent=2, allow_nan=False)
        if as_json
        else plan_words(plan, budget)
    )
    return Outcome(output=output, notes=_not_there(asked))


def _published(
    asked: Asked, targets: Targets, budget: Budget | None, phases: Phases, options: argparse.Namespace
) -> Outcome:
    from pbdp.cli.tables.outputs import both_files
    from pbdp.cli.tables.table_words import notes
    from pbdp.tables.manifest import manifest_bytes

    if targets.table is None or targets.manifest is None:
        table = _released(asked, budget, phases, options)
    else:
        with both_files(targets.table, targets.manifest, options.force) as (file, manifest):
            table = _released(asked, budget, phases, options)
            phases.now("writing")
            content = table.file_bytes(targets.written)
            file.write(content)
            manifest.write(manifest_bytes(table, targets.table.name, content))
    if targets.picture is not None and len(table):
        from pbdp.figures.canvas import save
        from pbdp.figures.table_figure import draw_table

        phases.now("drawing the picture")
        with warnings.catch_warnings():
            # keys in a script that the font does not have are shown as boxes
            warnings.filterwarnings("ignore", message="Glyph")
            save(draw_table(table), targets.picture)
    return Outcome(
        output=_output(table, targets, options),
        notes=notes(table, budget, in_words=not options.json),
        released=targets.table is None,
    )


def _released(
    asked: Asked, budget: Budget | None, phases: Phases, options: argparse.Namespace
) -> ReleasedTable:
    """Columns are checked before the plan is made, the plan before anything is paid, and then it is read."""
    from pbdp.cli.tables.phases import ToldSource
    from pbdp.release.keystream import InsecureTestSeedWarning
    from pbdp.tables.engines.at import source_of
    from pbdp.tables.engines.interface import check_columns
    from pbdp.tables.release import release_table

    if asked.data is None:
        raise InputError("data", "named", "nothing", "In the query file, data = ..., or with --data.")
    try:
        source = source_of(asked.data, asked.table)
        check_columns(source, asked.query.aggregation)
        phases.now("planning")
        plan = asked.query.plan()
        phases.now("drawing")
        with warnings.catch_warnings():
            # a note says it too, and always
            warnings.simplefilter("ignore", InsecureTestSeedWarning)
            return release_table(
                plan,
                ToldSource(source=source, phases=phases),
                budget=budget,
                key=options.key,
                insecure_test_seed=options.insecure_test_seed,
            )
    except OSError as error:
        # the file that is being written is open around this, and would be blamed
        named = "a database" if "://" in asked.data else Path(asked.data).name
        raise InputError("data", "readable", named, f"{error.strerror}.") from None


def _output(table: ReleasedTable, targets: Targets, options: argparse.Namespace) -> str | bytes:
    """One object, one line on the files, a table to look at, or the file itself."""
    from pbdp.cli.tables.table_words import SHOWN, table_facts, table_words

    manifest = None if targets.manifest is None else options.manifest or f"{options.output}.manifest.json"
    if options.json:
        written_to = None if targets.table is None else options.output
        return json.dumps(table_facts(table, written_to, manifest), allow_nan=False)
    if targets.table is not None:
        groups = "1 group" if len(table) == 1 else f"{len(table):,} groups"
        return f"{groups} published in {options.output}, with a manifest in {manifest}"
    if options.format is None and sys.stdout.isatty():
        # what was drawn without a ledger cannot be had again, so all of it is shown
        return table_words(table, None if table.payment is None else SHOWN)
    return table.file_bytes(targets.written)


def _asked(options: argparse.Namespace) -> Asked:
    """The question of a query file, or of the flags."""
    from pbdp.cli.tables.asked import asked_of
    from pbdp.cli.tables.query_file import ENDING, settings_in

    here = Path()
    if not options.asked.lower().endswith(ENDING):
        if options.data is not None:
            raise ContradictionError("--data", "used with a query file", options.asked)
        settings = settings_of(options) | {"data": options.asked}
        return asked_of(settings | ({} if options.table is None else {"table": options.table}), here)
    if names := ", ".join(flags_given(options)):
        raise ContradictionError("a query file", "used without flags that ask for more", names)
    path = Path(options.asked)
    settings, folder = settings_in(path), path.parent
    given = {name: getattr(options, name) for name in ("data", "table") if getattr(options, name) is not None}
    if "data" in given and "://" not in given["data"]:
        given["data"] = str(Path(given["data"]).absolute())
    return asked_of(settings | given, folder, read=[path])


@contextmanager
def _budget(options: argparse.Namespace) -> Iterator[Budget | None]:
    """The budget that pays, in its open ledger; None if there is none."""
    if options.ledger is None:
        yield None
        return
    from pbdp.ledger import Ledger
    from pbdp.ledger.budget import Budget

    with Ledger.open(options.ledger) as ledger:
        yield Budget.of(ledger, options.dataset)


def _check(options: argparse.Namespace) -> None:
    """Refuse options that do not belong together, before anything is read."""
    options.ledger = place_of(options, default=None)
    seed = options.insecure_test_seed
    if options.ledger is None:
        for name in ("dataset", "key"):
            if getattr(options, name) is not None:
                raise ContradictionError(f"--{name}", "used with --ledger (or PBDP_LEDGER)", "no ledger")
    elif options.dataset is None:
        raise ContradictionError("--dataset", "given with a ledger", "nothing", "Say whose budget pays.")
    elif seed is not None:
        raise ContradictionError("--insecure-test-seed", "used without a ledger", "both")
    if seed is not None and not 0 <= seed < _LARGEST_SEED:
        raise InputError("--insecure-test-seed", "a number from 0 to 2^63", seed)
    if options.json and options.format and options.output is None:
        raise ContradictionError("--format", "left out with --json, or used with -o", options.format)


def _not_there(asked: Asked) -> tuple[str, ...]:
    """A word on data that is named but not there yet: a plan does not need it."""
    if asked.data is None or "://" in asked.data or set(asked.data) & set("*?["):
        return ()
    return (
        () if Path(asked.data).exists() else (f"Note: {asked.data} is not there yet; a plan needs no data.",)
    )
