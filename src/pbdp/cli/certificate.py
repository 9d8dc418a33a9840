"""`pbdp certificate`: one page for people, of a plan, a release, a table or a budget."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING

from pbdp.cli.files import checked_target, json_text, new_file
from pbdp.cli.options import add
from pbdp.cli.parser import Parser
from pbdp.errors import ContradictionError, InputError
from pbdp.json_records import NotJsonError, content_of, json_of
from pbdp.kinds import TEXT
from pbdp.parameters import is_connection

if TYPE_CHECKING:
    from pbdp.report.certificates.statement import Statement

SQLITE = b"SQLite format 3\0"

EXAMPLES = """examples:
  pbdp certificate plan.json -o certificate.html
  pbdp release plan.json 1234 --manifest march.json
  pbdp certificate march.json -o certificate.html --publisher "City museum" --source "entrance counter"
  pbdp certificate visits.csv.manifest.json -o certificate.html
  pbdp certificate pbdp-ledger.db --dataset visits -o certificate.html

The page stands alone: it can be read offline, printed on one sheet, signed and checked by anyone.
"""


def declare(parser: Parser) -> None:
    """What the command takes."""
    parser.set_defaults(doing="Checking every claim")
    parser.description = (
        "Write a certificate that people can read: what is claimed, what must be true for it (with a\n"
        "place to sign), and how to check it. Every claim is computed again first."
    )
    parser.epilog = EXAMPLES
    parser.add_argument(
        "file",
        metavar="FILE",
        help="a plan, a release, a choice, a comparison, the manifest of a table, or a ledger",
    )
    parser.add_argument("--dataset", metavar="NAME", help="which budget, if the ledger has several")
    parser.add_argument(
        "--publisher", metavar="TEXT", help="who publishes (left blank for a pen if not given)"
    )
    parser.add_argument("--source", metavar="TEXT", help="where the data comes from (likewise)")
    add(parser, "--output", help="write to this file (default: NAME.certificate.html here)")
    add(parser, "--force", "--json")


def run(options: argparse.Namespace) -> str:
    """Read and check what the file claims, then write the page."""
    for name in ("publisher", "source"):
        if (text := getattr(options, name)) is not None:
            TEXT.check(name, text)
    given = options.output is not None
    target = checked_target(options.output, options.force, [options.file]) if given else None

    from pbdp.report.certificates.html_page import certificate_page

    statement = _statement(options)
    page = certificate_page(statement, publisher=options.publisher, source=options.source)
    if target is None:
        stem = Path(statement.name.removesuffix(".manifest.json").removesuffix(".json")).name
        options.output = f"{stem}.certificate.html"
        target = checked_target(options.output, options.force, [options.file])
    with new_file(target, options.force) as file:
        file.write(page.encode())
    if options.json:
        record = {"subject": statement.subject.lower(), "name": statement.name}
        return json_text("certificate", record | {"written_to": options.output})
    return f"Certificate in {options.output}"


def _statement(options: argparse.Namespace) -> Statement:
    if is_connection(options.file):
        return _of_budget(options)
    path = Path(options.file)
    content = content_of("FILE", path)
    if content.startswith(SQLITE):
        return _of_budget(options)
    if options.dataset is not None:
        raise ContradictionError("--dataset", "used with a ledger", path.name)
    try:
        record = json_of(content)
    except NotJsonError:
        record = None
    kind = record.get("format") if isinstance(record, dict) else None
    if kind == "pbdp-release":
        from pbdp.report.certificates.release_file import read_release
        from pbdp.report.certificates.statement import of_release

        return of_release(read_release(path), path.name)
    if kind == "pbdp-table":
        return _of_table(path)
    if kind == "pbdp-choice":
        from pbdp.choosing.plan import plan_from_record
        from pbdp.report.certificates.choice import of_choice

        return of_choice(plan_from_record(record, path.name), path.name)
    if kind == "pbdp-comparison":
        from pbdp.comparing.plan import from_record
        from pbdp.report.certificates.comparison import of_comparison

        return of_comparison(*from_record(record, path.name), path.name)
    if not str(kind).endswith("-plan"):
        manifest = path.with_name(f"{path.name}.manifest.json")
        if manifest.is_file():
            remedy = f"Did you mean {manifest.name}?"
            raise InputError("FILE", "the manifest of a table", f"{path.name}, the table itself", remedy)
        raise InputError(
            "FILE",
            "a plan, a release, a choice, a comparison, the manifest of a table, or a ledger",
            path.name,
            "They are made by `pbdp plan -o`, `pbdp release --manifest`, `pbdp choose -o`, "
            "`pbdp compare -o`, `pbdp tables -o` and `pbdp ledger`.",
        )
    from pbdp.planning.plan import Plan
    from pbdp.report.certificates.statement import of_plan

    return of_plan(Plan.load(path), path.name)


def _of_table(path: Path) -> Statement:
    from pbdp.report.certificates.statement import of_table
    from pbdp.tables.verify import verified_plan

    plan, record = verified_plan(path)
    return of_table(plan, record, path.name)


def _of_budget(options: argparse.Namespace) -> Statement:
    from pbdp.ledger import Ledger
    from pbdp.ledger.budget import Budget
    from pbdp.report.certificates.statement import of_budget

    with Ledger.open(options.file) as ledger:
        names = [state.name for state in ledger.datasets()]
        if options.dataset is None and len(names) != 1:
            raise ContradictionError(
                "--dataset", f"one of {', '.join(names)}" if names else "made first", "nothing"
            )
        *_, last = ledger.export()
        return of_budget(Budget.of(ledger, options.dataset or names[0]), json.loads(last)["end"])
