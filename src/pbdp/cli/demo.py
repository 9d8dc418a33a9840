"""`pbdp demo`: a guided tour. Every step is a command that can be typed, run here and its output shown."""

from __future__ import annotations

import argparse
import os
import shlex
import shutil
import sys
from collections.abc import Iterator
from contextlib import chdir, contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import pbdp
from pbdp.cli.files import Outcome
from pbdp.cli.options import add
from pbdp.cli.parser import Parser
from pbdp.errors import InputError

FOLDER = "pbdp-demo"
EXAMPLES = ("adult.parquet", "adult.toml", "SOURCE.md")
# A folder that the tour made has this file, and may be replaced.
MARK = "README.txt"


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """What is shown, and the command that shows it; `needs` names packages that it cannot do without."""

    words: str
    command: str
    needs: tuple[str, ...] = ()


TOUR = (
    Step(
        words="A count must be within 5 of the truth, 90 % of the time. Which noise costs the least privacy?",
        command="plan --within 5 --confidence 0.9 --sensitivity 1 --delta 1e-6 --integer -o visits.json",
    ),
    Step(
        words="Set a privacy budget for the people in the data, once.",
        command="ledger create visits --epsilon 3 --delta 1e-6",
    ),
    Step(
        words="Publish a count (the true one is 1234). The ledger is paid before the noise is drawn.",
        command="release visits.json 1234 --dataset visits --query 'visits in March' --manifest march.json",
    ),
    Step(
        words="A page for people who must trust the number: what is claimed, what it rests on, how to check.",
        command="certificate march.json --publisher 'City museum' -o certificate.html",
    ),
    Step(
        words="Or state the accuracy only: the budget picks the noise that leaves most for later.",
        command="ask 1234 --within 50 --confidence 0.95 --sensitivity 1 --integer --dataset visits",
    ),
    Step(
        words="Within 5 %, or 50 where that is more. Large answers cost next to nothing.",
        command="ask 128400 --within 5% --floor 50 --confidence 0.95 --sensitivity 1 --integer "
        "--dataset visits",
    ),
    Step(words="What is left?", command="ledger status"),
    Step(
        words="Can the sampler be trusted? A million draws, checked against the certificate.",
        command="audit visits.json --confidence 0.999999",
    ),
    Step(
        words="A whole table: 48,842 people from a census, with their own budget.",
        command="ledger create census --epsilon 5 --delta 1e-5",
        needs=("duckdb",),
    ),
    Step(
        words="What the table costs is known before any data is read.",
        command="tables adult.toml --dataset census --dry-run",
        needs=("duckdb",),
    ),
    Step(
        words="Publish it, with a manifest that others can check.",
        command="tables adult.toml --dataset census -o adult.csv",
        needs=("duckdb",),
    ),
    Step(
        words="Anyone can make that check.",
        command="verify adult.csv.manifest.json --ledger ledger.db",
        needs=("duckdb",),
    ),
)


def declare(parser: Parser) -> None:
    """What the command takes."""
    parser.description = "A guided tour: each step is a command that you can type yourself."
    add(parser, "--output", metavar="FOLDER", default=FOLDER, help=f"where its files go (default: {FOLDER})")
    add(parser, "--force", help="replace the folder of an earlier tour")
    add(parser, "--json", help="print the commands as one JSON object without running them")


def run(options: argparse.Namespace) -> Outcome:
    """Run the steps one after the other; the first that fails ends the tour."""
    from pbdp.cli.files import json_text
    from pbdp.cli.main import main

    if options.json:
        steps = [{"words": step.words, "command": f"pbdp {step.command}"} for step in TOUR]
        return Outcome(output=json_text("demo", {"steps": steps}))
    folder = _folder(Path(options.output), force=options.force)
    left_out = []
    with _inside(folder):
        for number, step in enumerate(TOUR, 1):
            if any(find_spec(name) is None for name in step.needs):
                left_out.append(step)
                continue
            print(f"\n{number}. {step.words}\n\n$ pbdp {step.command}\n", flush=True)
            code = main(shlex.split(step.command))
            sys.stderr.flush()
            if code:
                return Outcome(output="", code=code)
    lines = [f"\nFiles are in {options.output}; open certificate.html there."]
    if left_out:
        lines.append("The steps with tables need an extra: pip install 'pbdp[tables]'")
    there, program = shlex.quote(options.output), _program()
    studio = f"PBDP_STATE=state {program} studio adult.toml --ledger ledger.db"
    lines.append(f"Move the numbers yourself, on a page: cd {there} && {studio}")
    if any(find_spec(name) is None for name in ("starlette", "uvicorn")):
        lines.append("The page needs an extra: pip install 'pbdp[studio]'")
    lines.append(f"Try it on your own data: {program} --help")
    return Outcome(output="\n".join(lines))


def _program() -> str:
    """What to type: the command's place where the shell would not find it, as after `make demo`."""
    beside = Path(sys.executable).parent / "pbdp"
    return shlex.quote(str(beside)) if shutil.which("pbdp") is None and beside.exists() else "pbdp"


def _folder(folder: Path, *, force: bool) -> Path:
    """A new folder with the examples in it."""
    if folder.exists():
        own = folder.is_dir() and ((folder / MARK).is_file() or not any(folder.iterdir()))
        if not own:
            raise InputError("output", "a new folder", f"{folder}, which exists", "Name another with -o.")
        if not force and any(folder.iterdir()):
            raise InputError("output", "a new folder", f"{folder}, which exists", "Replace it with --force.")
        shutil.rmtree(folder)
    try:
        folder.mkdir()
    except OSError as error:
        raise InputError("output", "a folder that can be made", folder, f"{error.strerror}.") from None
    (folder / MARK).write_text("Made by `pbdp demo`. Delete it whenever you like.\n", encoding="utf-8")
    for name in EXAMPLES:
        shutil.copyfile(Path(pbdp.__file__).parent / "examples" / name, folder / name)
    return folder


@contextmanager
def _inside(folder: Path) -> Iterator[None]:
    """In the folder, with a ledger and keys of its own."""
    place = folder.resolve()
    own = {"PBDP_LEDGER": "ledger.db", "PBDP_STATE": str(place / "state")}
    before = {name: os.environ.get(name) for name in own}
    os.environ.update(own)
    try:
        with chdir(place):
            yield
    finally:
        _restore(before)


def _restore(before: dict[str, str | None]) -> None:
    for name, value in before.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value
