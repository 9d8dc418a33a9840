"""Random command lines: each ends with an exit code and a line of what is wrong, none in a traceback.

Run: PYTHONPATH=. python tests/soak/any_command.py [command lines] [first seed]

Every command line is a sound one of `LINES` with one to three changes: values exchanged for others, words left
out, doubled or moved, options of the command added with any value. They run in this process, as `main` does it.
It is at fault if it ends in any error but a refusal, or takes more than `MOST_SECONDS`.
"""

from __future__ import annotations

import contextlib
import io
import os
import random
import resource
import shlex
import sys
import tempfile
import traceback
import warnings
from collections import Counter
from pathlib import Path

import pandas as pd

from pbdp.cli.main import main as pbdp
from pbdp.cli.main import parser
from tests.cli.commands import every_command
from tests.soak.any_call import MEMORY, TooSlowError, at_most

LINES_BY_DEFAULT = 38_000
MOST_SECONDS = 20.0
# 0 done, 1 something does not hold, 2 refused, 3 beyond the budget, 4 not all could be checked.
CODES = range(5)
PLAN = "plan --within 5 --confidence 0.9 --sensitivity 1 --delta 1e-6 --integer"
QUERY = (
    "tables visits.csv --unit who --by city=Rome,Paris --groups-per-person 1 --delta 1e-6 --rows-per-group 2"
)
LINES = [
    PLAN,
    f"{PLAN} --releases 3 --json --explain",
    f"{PLAN} --range 0..100 -o made.json --force",
    "plan --within 5%+10 --confidence 0.9 --sensitivity 1 --delta 1e-6 --nonnegative",
    "plan --within 5 --epsilon 1 --sensitivity 1 --delta 1e-6 --neighbors replace",
    "plan several.toml --delta 1e-6",
    "noise plan.json --answer 5 --json",
    "release plan.json 5 --interval 0.9",
    "release plan.json --input visits.csv --column x --disjoint",
    "release plan.json 5 --ledger budget.db --dataset visits --key march",
    "ask 5 --within 5 --confidence 0.9 --sensitivity 1 --integer --ledger budget.db --dataset visits --key may",
    "ask 500 --within 5% --floor 50 --expect 100..1e6 --confidence 0.9 --sensitivity 1 --ledger budget.db --dataset visits",
    "choose --within 50 --confidence 0.9 --sensitivity 1 --options 10 --integer --top 2",
    "choose --input visits.csv --column x --within 50 --confidence 0.9 --sensitivity 1",
    "compare --users 1000,1000 --rate 0.1 --wider 0.1",
    "compare 100 120 --users 1000,1000 --rate 0.1 --power 0.8 --lift 0.05",
    "interval plan.json 5 --confidence 0.8",
    f"{QUERY} --count 50 --sum x 0 10 300 --dry-run",
    f"{QUERY} --count 50 --mean x 0 10 1 100 --json --where 'x > 0' --derive 'y=x + 1'",
    f"{QUERY} --count --people --epsilon 1 --quality --minimum-size 5 --withhold --dry-run",
    f"{QUERY} --count 50 --tables city --tables total --no-add-up --dry-run",
    "tables visits.csv --one-row-per-person --by 'day=1..3' --running day --through 2 --count 50 --delta 1e-6 --json",
    "tables visits.csv --unit who --by 'city=?' --select 100 --people 20 --groups-per-person 1 --delta 1e-6",
    "tables visits.csv --one-row-per-person --by 'x=0..10 by 5' --top 1 by=count within=5 --count 50 --delta 1e-6",
    "tables visits.toml --dry-run --data visits.csv",
    "verify table.csv.manifest.json --table table.csv",
    "verify plan.json",
    "certificate plan.json -o page.html --force",
    "ledger create other --epsilon 3 --delta 1e-6 --ledger other.db",
    "ledger status --ledger budget.db --json",
    "ledger history visits --ledger budget.db",
    "ledger price plan.json:5 --ledger budget.db --dataset visits",
    "ledger verify --ledger budget.db",
    "local plan --values 10..100 --category-size 10 --within 1% --users 45222",
    "local plan --values a,b,c --epsilon 1 --json",
    "keys create key",
    "ledger reserve plan.json:2 --ledger budget.db --dataset visits --key june",
    "ledger export --ledger budget.db -o export.jsonl --force",
    "ledger verify --ledger budget.db --against export.jsonl --quiet",
    "ledger repair --ledger budget.db --gap known",
    "ledger key export --ledger budget.db -o ledger.key",
    "ledger key import --ledger budget.db ledger.key",
    "ledger key rotate --ledger budget.db",
    "ledger key replace --ledger budget.db --from export.jsonl",
    "audit plan.json --draws 10000 --answer 5 --confidence 0.99 --json",
    "local randomize survey.json 15 --json",
    "local randomize survey.json --input visits.csv --column age -o reports.csv --force",
    "local estimate survey.json --input reports.csv --of value --confidence 0.9 --json",
    "local estimate survey.json --input reports.csv --counts people --asked 10",
    "local client -o client.js --force",
    "local questions questions.toml --epsilon 1 --users 1000",
    "demo --json",
]
VALUES = [
    *("", "0", "1", "-1", "5", "0.5", "1e-320", "1e-6", "1e30", "1e308", "1e999999999", "inf", "-inf", "nan"),
    *(
        "9" * 400,
        "0.9",
        "90%",
        "5%",
        "5%+1",
        "5%+",
        "?",
        "1/3",
        "0,9",
        "1,234",
        "1..3",
        "3..1",
        "1..1e30",
        "..",
    ),
    *(
        "a=b",
        "=",
        "x",
        "city",
        "city=",
        "city=?",
        "city=Rome",
        "x > 0",
        "x >",
        "(" * 500,
        "'",
        '"',
        "\\",
        "\0",
    ),
    *(
        "plan.json",
        "visits.csv",
        "visits.toml",
        "budget.db",
        "none.json",
        "/",
        ".",
        "-",
        "--",
        "~",
        "x" * 5000,
    ),
    *(
        "\ud800",
        "é",
        "true",
        "false",
        "None",
        "linf",
        "add/remove",
        "postgresql://127.0.0.1:1/x",
        "2024-02-29",
    ),
    *(
        "count",
        "within=5",
        "by=count",
        "kind=mode",
        "decimal=,",
        "0..10 by 5",
        "0..1e300 by 1e-300",
        "*",
        "[]",
        "{}",
    ),
]
FILES = {
    "several.toml": """
[requirements.visits]
within = 5
confidence = 0.9
sensitivity = 1
integer = true

[requirements.spend]
within = 50
confidence = 0.9
sensitivity = 10
""",
    "questions.toml": """
[age]
values = "10..100"
category-size = 10

[mood]
values = ["bad", "so so", "good"]
""",
    "visits.toml": """
data = "visits.csv"
unit = "who"
groups_per_person = 1
rows_per_group = 2
delta = 1e-6

[by]
city = ["Rome", "Paris"]

[visits]
kind = "count"
within = 50
""",
}


def fill() -> None:
    """Put the files that the lines name into the folder."""
    rows = {"who": [1, 2, 3], "city": ["Rome", "Paris", "Rome"], "day": [1, 2, 3], "x": [1.5, 2.5, 3.5]}
    rows["age"] = [15, 20, 30]
    pd.DataFrame(rows).to_csv("visits.csv", index=False)
    for name, text in FILES.items():
        Path(name).write_text(text)
    for line in (
        f"{PLAN} -o plan.json",
        "ledger create visits --epsilon 100 --delta 1e-3 --ledger budget.db",
        "tables visits.toml -o table.csv",
        "ledger export --ledger budget.db -o export.jsonl",
        "local plan --values 10..100 --category-size 10 --within 1% --users 45222 -o survey.json",
        "local randomize survey.json --input visits.csv --column age -o reports.csv",
    ):
        if fault := fault_of(shlex.split(line)):
            raise AssertionError(fault)


def fault_of(words: list[str], seconds: float = MOST_SECONDS) -> str:
    """What is wrong with how a command line ends; nothing if it ends as it should."""
    told = io.StringIO()
    shown = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", errors="replace")
    try:
        with (
            contextlib.redirect_stdout(shown),
            contextlib.redirect_stderr(told),
            at_most(seconds),
            warnings.catch_warnings(),
        ):
            warnings.simplefilter("ignore")
            code: object = pbdp(words)
    except SystemExit as left:
        code = left.code
    except TooSlowError:
        return "too slow"
    except BaseException as error:  # noqa: BLE001 - whatever else it is, is at fault
        where = traceback.extract_tb(error.__traceback__)[-1]
        return f"{type(error).__name__} in {Path(where.filename).name}:{where.lineno}: {str(error)[:100]}"
    if code not in CODES:
        return f"exit code {code}"
    return "" if code != 2 or told.getvalue() else "refused without a word"


def options_of(words: list[str], known: dict[str, list[str]]) -> list[str]:
    """The options of the command that a line begins with, which has up to three words."""
    return next(known[name] for count in (3, 2, 1) if (name := " ".join(words[:count])) in known)


def changed(words: list[str], options: list[str], chance: random.Random) -> list[str]:
    """A command line with one to three changes behind the command itself."""
    made = list(words)
    for _ in range(chance.choice((1, 1, 1, 2, 3))):
        at = chance.randrange(1, len(made) + 1)
        match chance.randrange(6):
            case 0 | 1 | 2 if at < len(made):
                made[at] = chance.choice(VALUES)
            case 3 if at < len(made):
                del made[at]
            case 4:
                made[at:at] = [chance.choice(options), chance.choice(VALUES)]
            case _:
                made[at:at] = chance.choice(
                    ([chance.choice(options)], [chance.choice(VALUES)], made[at : at + 2])
                )
    return made


def main(lines: int, first: int) -> int:
    """Faults found, each kind on a line, then how many."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    found: Counter[str] = Counter()
    known = {" ".join(words): sorted(options) for words, options in every_command(parser())}
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        os.environ |= {"PBDP_STATE": str(Path(folder) / "state"), "PBDP_KEYS": str(Path(folder) / "keys")}
        sys.stdin = io.TextIOWrapper(io.BytesIO())
        fill()
        for seed in range(first, first + lines):
            chance = random.Random(seed)
            words = shlex.split(chance.choice(LINES))
            line = changed(words, options_of(words, known), chance)
            if fault := fault_of(line):
                kind = f"{line[0]}: {': '.join(fault.split(': ')[:1])}"
                found[kind] += 1
                if found[kind] == 1:
                    print(f"seed {seed}: {fault} {ascii(shlex.join(line))[:300]}", flush=True)
        os.chdir("/")
    print(f"{lines} command lines: {sum(found.values())} faults of {len(found)} kinds")
    return sum(found.values())


if __name__ == "__main__":
    numbers = [int(argument) for argument in sys.argv[1:]]
    sys.exit(main(*([*numbers, *[LINES_BY_DEFAULT, 0][len(numbers) :]][:2])) > 0)
