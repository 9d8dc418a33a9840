"""What --json prints: an object that says what it is, for every command, as docs/schema.json has it."""

from __future__ import annotations

from pathlib import Path

import pytest

from pbdp.cli.main import main, parser
from tests.cli.commands import every_command
from tests.cli.schema import SCHEMA, checked

PLAN = "plan --within 5 --confidence 0.9 --sensitivity 1 --integer --delta 1e-6 --families laplace"
PAID = "--ledger l.db --dataset visits"
TABLE = "tables visits.csv --unit user --by city=Rome,Paris --groups-per-person 1 --delta 1e-6"
SELECTED = (
    "tables visits.csv --unit user --by city=? --select 50 --people 20 --groups-per-person 1 --delta 1e-6"
)
ASK = "--within 50 --confidence 0.95 --sensitivity 1 --integer"
VECTOR = "plan --error-norm linf --dimensions 3 --within 30 --confidence 0.9 --sensitivity 1 --delta 1e-6"
CITIES = "--input visits.csv --by city --groups Rome,Paris"
# In this order, as later ones use what earlier ones write.
COMMANDS = [
    f"{PLAN} -o plan.json",
    "plan --within 5 --rdp-order 10 --confidence 0.9 --sensitivity 1 --families laplace",
    f"{VECTOR} -o vector.json",
    "plan together.toml -o joint.json",
    "noise plan.json --answer 12",
    "audit plan.json --draws 2000",
    "interval plan.json 12 --confidence 0.99",
    "ledger create visits --epsilon 5 --delta 1e-6 --ledger l.db --note x",
    "ledger create people --epsilon 5 --delta 1e-6 --ledger l.db --blocks north,south",
    f"release plan.json 12 {PAID}",
    "release plan.json 12 --interval --insecure-test-seed 3",
    "release plan.json --input visits.csv --column spend --disjoint -o out.csv",
    "release plan.json --input visits.csv --column spend --keep city --disjoint --interval",
    "release vector.json 1 2 3",
    "release joint.json visits=3 spend=4 --interval",
    f"ask 12 {ASK} {PAID}",
    f"ask --price {ASK} {PAID}",
    f"ask 1234 --within 20 --confidence 0.95 --sensitivity 1 --key march {PAID}",
    f"ask --price --within 10 --confidence 0.95 --sensitivity 1 --key march {PAID}",
    f"ask 1234 --within 10 --confidence 0.95 --sensitivity 1 --key march {PAID}",
    f"ask --price --within 15 --confidence 0.95 --sensitivity 1 --key march {PAID}",
    f"ask --price --within 10% --floor 20 --confidence 0.9 --sensitivity 1 --integer {PAID}",
    f"ask 1234 --within 10% --floor 20 --confidence 0.9 --sensitivity 1 --integer {PAID}",
    "ledger status --ledger l.db",
    "ledger history --ledger l.db",
    "ledger price plan.json --ledger l.db --dataset visits",
    "ledger price plan.json:500 --ledger l.db --dataset visits",
    f"ledger reserve plan.json:2 {PAID}",
    "ledger verify --ledger l.db",
    "ledger export --ledger l.db",
    "ledger export --ledger l.db -o export.jsonl",
    "ledger key export --ledger l.db -o keys.json",
    "ledger key import keys.json --ledger l.db",
    "ledger key rotate --ledger l.db",
    f"{TABLE} --people 50 --dry-run",
    f"{TABLE} --people 50 {PAID} -o table.csv",
    f"{TABLE} --people 50 {PAID} --dry-run",
    f"{TABLE} --people 50",
    f"{SELECTED} --dry-run",
    SELECTED,
    "choose --options 100 --within 50 --confidence 0.95 --sensitivity 1 --integer",
    "choose --input visits.csv --column spend --names user --within 3 --confidence 0.9 --sensitivity 1",
    "compare --users 1000,2000 --rate 0.2 --wider 5%",
    "compare 210 400 --users 1000,2000 --rate 0.2 --wider 5%",
    "compare --users 600,600 --rate 0.2 --wider 50% -o trial.json",
    "compare trial.json 70 61 -o letter.json",
    f"compare {CITIES} --column spend --bounds 0..6 --spread 2 --wider 50%",
    "certificate letter.json",
    "verify letter.json",
    "certificate plan.json",
    "certificate plan.json -o page.html",
    "keys create ./keys/office",
    "keys sign plan.json --key ./keys/office",
    "verify plan.json",
    "verify table.csv.manifest.json --ledger l.db",
    "local plan --values 1..10 --epsilon 1 -o survey.json",
    "local plan --values 1..10 --epsilon 1 --goal distribution --users 500 --shuffled -o wave.json",
    "local plan --values 1..10 --report-within 2 --confidence 0.8",
    "local questions poll.toml --epsilon 1 --users 500 -o poll",
    "local client",
    "local randomize survey.json 3",
    "local randomize survey.json --input ages.txt -o reports.csv --insecure-test-seed 1",
    "local estimate survey.json --input reports.csv",
    "demo",
    "local estimate survey.json --input reports.csv --of mean --asked 300",
    "local randomize wave.json --input ages.txt -o waves.csv",
    "local estimate wave.json --input waves.csv --of distribution",
    "local estimate wave.json --input waves.csv waves2.csv --of quantile",
]  # fmt: skip
REFUSED = ["release nothing.json 3", "plann", f"ask 12 {ASK} --ledger l.db --dataset vists"]
# Checked where they are made: reproduction/tests/test_command.py, tests/cli/test_ledger.py, tests/studio.
ELSEWHERE = {"pbdp-reproduction", "pbdp-ledger-repair", "pbdp-studio"}


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PBDP_STATE", str(tmp_path / "state"))
    rows = [f"{user},{'Rome' if user % 2 else 'Paris'},{user % 7}" for user in range(300)]
    texts = {
        "visits.csv": "\n".join(["user,city,spend", *rows]),
        "ages.txt": "\n".join(str(1 + person % 10) for person in range(200)),
        "poll.toml": "[age]\nvalues = '1..10'\n[mood]\nvalues = ['bad', 'good']",
        # all people at one end
        "waves2.csv": "\n".join(["-2"] * 200),
        "together.toml": "delta = 1e-6\n"
        "[requirements.visits]\nwithin = 20\nconfidence = 0.9\nsensitivity = 1\ninteger = true\n"
        "[requirements.spend]\nwithin = 200\nconfidence = 0.9\nsensitivity = 10\ninteger = true\n",
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(f"{text}\n", encoding="utf-8")
    return tmp_path


@pytest.mark.usefixtures("here")
def test_every_object_is_as_the_schema_says(capsys: pytest.CaptureFixture[str]) -> None:
    seen = set()
    for command in COMMANDS + REFUSED:
        code = main([*command.split(), "--json"])
        told = capsys.readouterr()
        record = checked(told.out or told.err)
        assert (record["format"] == "pbdp-error") == (code in (2, 3)) == (command in REFUSED), command
        assert len(told.out.splitlines()) <= 1 or record["format"] == "pbdp-plan"
        seen.add(record["format"])
    assert seen | ELSEWHERE == {name for name in SCHEMA["$defs"] if name.startswith("pbdp-")}


def test_every_command_takes_json() -> None:
    for command, options in every_command(parser()):
        assert "--json" in options, command
