"""How the files in this folder were made: `python -m tests.frozen.make`, run once, with pbdp 0.1.0.

The files are kept as they are: they stand for what users have on their disks, and every later version must
read them and say the same. This script is here so that a reader sees where they come from; running it again
would freeze whatever pbdp does by then. Noise, ids and times come from seeds, so that the same version on the
same machine makes the same bytes.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

import pbdp
from pbdp.cli.tables.asked import asked_of
from pbdp.cli.tables.query_file import settings_in
from pbdp.ledger import Ledger, Request
from pbdp.ledger.budget import Budget
from pbdp.local.boosted import boosted_response
from pbdp.local.configuration import save_configuration
from pbdp.local.domain import in_blocks, in_categories, on_scale, without_categories
from pbdp.local.hashing import local_hashing
from pbdp.local.mechanism import LocalMechanism
from pbdp.local.unary import unary_encoding
from pbdp.planning.joint_storage import joint_record
from pbdp.planning.plan import Plan
from pbdp.planning.pricing import fingerprint
from pbdp.planning.together import JointPlan, plan_together
from pbdp.planning.vectors.ask import plan_vector
from pbdp.planning.vectors.plan import VectorPlan
from pbdp.requirement.requirement import Requirement
from pbdp.requirement.within import region_within
from pbdp.sampling.keystream import InsecureTestKeystream
from pbdp.tables.table import ReleasedTable
from tests.frozen import reading
from tests.frozen.asked import (
    ANSWERS,
    CITIES,
    COMMANDS,
    DATA,
    FEW,
    PEOPLE,
    PLANS,
    QUERIES,
    RANGE,
    REAL_ANSWERS,
    TOGETHER,
    USUAL,
    VECTORS,
)
from tests.frozen.reading import HERE, Record

# ------------------------------------------------------------------------------------------ plans


def make_plans(folder: Path) -> Record:
    """Save every plan, and note what it says."""
    facts: Record = {}
    for name, (asked, law) in PLANS.items():
        made = pbdp.plan(**asked)
        path = folder / file_name(name)
        _named(made, law).save(path)
        answers = ANSWERS if asked.get("integer") else REAL_ANSWERS
        if name == "percentage, signed":
            answers = (-17.3, *answers)
        facts[path.name] = {
            "answers": list(answers),
            "facts": reading.plan_facts(path, answers),
            "weights": reading.plan_weights(path, answers),
        }
    return facts


def file_name(name: str) -> str:
    """The file of something with this name."""
    return f"{name.replace(',', '').replace(' ', '-')}.json"


def _named(plan: Plan, law: str | None) -> Plan:
    if law is None:
        return plan
    (entry,) = [entry for entry in (plan.chosen, *plan.others) if entry.design.name == law]
    return replace(plan, chosen=entry, others=())


def make_vectors(folder: Path) -> Record:
    """Save every plan for vectors."""
    facts: Record = {}
    for name, (asked, law) in VECTORS.items():
        made = plan_vector(**(USUAL | asked))
        if law is not None:
            (entry,) = [entry for entry in (made.chosen, *made.others) if entry.design.name == law]
            made = VectorPlan(requirement=made.requirement, chosen=entry)
        path = folder / file_name(name)
        made.save(path)
        facts[path.name] = {"facts": reading.vector_facts(path)}
    return facts


def _asked(within: Any, *, nonnegative: bool = False, **changes: Any) -> Requirement:
    usual: Record = {"confidence": 0.9, "sensitivity": 1.0, "delta": 1e-6, "integer": True}
    return Requirement(region=region_within(within, nonnegative), **(usual | changes))


def make_joint(folder: Path) -> Record:
    """Save every joint plan."""
    ranged = pbdp.plan(**(RANGE | {"delta": 1e-6, "families": ("gaussian",)}))
    (boosted,) = [entry for entry in ranged.others if entry.design.name == "boosted gaussian"]
    plans: dict[str, JointPlan] = {
        "plain": plan_together([_asked(20.0), _asked(30.0, sensitivity=2.0, releases=2)], FEW),
        "missing": plan_together([_asked(5.0), _asked(9.0, releases=3)], FEW, missing=1e-8),
        "mixed": plan_together(
            [
                _asked("20%+10", nonnegative=True),
                _asked(6.0, integer=False, step=0.5),
                _asked((2.0, 7.0), sensitivity=2.0),
                _asked(20.0, releases=4, simultaneous=True),
            ],
            FEW,
        ),
        "replace": plan_together([_asked(9.0, neighbours="replace", releases=2)], FEW, missing=1e-9),
        "per answer": plan_together(
            [_asked(9.0)], FEW, given=[[(ranged.requirement, boosted.design)]], missing=1e-9
        ),
    }
    facts: Record = {}
    for name, joint in plans.items():
        path = folder / file_name(name)
        _write_json(path, joint_record(joint))
        facts[path.name] = {"facts": reading.joint_facts(path), "weights": reading.joint_weights(path)}
    return facts


# ------------------------------------------------------------------------------------- tables and ledgers


def write_data(path: Path) -> None:
    """Visits of people, each in one or two cities, by arithmetic alone."""
    lines = ["person,city,member,month,day,spend,hours"]
    for person in range(PEOPLE):
        for visit in range(1 + person % 2):
            city = CITIES[(person * 7 + visit) % 3]
            day = ("2024-02-29", "2024-03-01")[(person // 2) % 2]
            member = str(person % 3 == 0).lower()
            spend, hours = person * 37 % 140 - 20, person * 11 % 70
            lines.append(f"{person},{city},{member},{1 + person % 3},{day},{spend}.5,{hours}")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


@contextlib.contextmanager
def repeatable(state: Path) -> Iterator[None]:
    """Ids, times and noise that are the same in every run; witnesses in `state`."""
    numbers, seconds = count(1), count(0)

    def token(size: int) -> str:
        return f"{next(numbers):0{2 * size}x}"

    def now() -> str:
        return f"2026-01-01T00:00:{next(seconds):02}.000000Z"

    with contextlib.ExitStack() as patches:
        patches.enter_context(mock.patch.dict(os.environ, {"PBDP_STATE": str(state)}))
        patches.enter_context(mock.patch.object(secrets, "token_hex", token))
        patches.enter_context(mock.patch.object(secrets, "randbits", return_value=5))
        patches.enter_context(mock.patch("pbdp.ledger.record.utc_now", now))
        patches.enter_context(
            mock.patch("pbdp.tables.release.SecureKeystream", partial(InsecureTestKeystream, 11))
        )
        clock = patches.enter_context(mock.patch("pbdp.tables.manifest.datetime"))
        clock.datetime.now.return_value.isoformat.return_value = "2026-01-01T00:00:00+00:00"
        yield


def make_tables(tables: Path, ledgers: Path) -> tuple[Record, Record, list[Record]]:
    """Publish every table, two of them from a budget, and fill the ledgers. Queries, tables and requests."""
    write_data(tables / DATA)
    queries: Record = {}
    for name, text in QUERIES.items():
        path = tables / f"{name}.toml"
        path.write_text(text.lstrip(), encoding="utf-8")
        queries[path.name] = reading.query_facts(path)
    plans = {name: asked_of(settings_in(tables / f"{name}.toml"), tables).query.plan() for name in QUERIES}
    data, requests = tables / DATA, []

    def publish(name: str, budget: Budget | None = None, seed: int | None = None) -> None:
        with reading.seeded():
            key = None if budget is None else f"table {name}"
            table = plans[name].release(data, budget=budget, key=key, insecure_test_seed=seed)
            _save(table, tables / f"{name}.csv")

    with Ledger.create(ledgers / "renyi.db") as ledger:
        visits = Budget.create(ledger, "visits", epsilon=6, delta=1e-4, note="Visits to shops.")
        replaced = Budget.create(
            ledger, "stays", epsilon=3, delta=1e-5, order=8, neighbours="replace", rule="renyi"
        )
        requests += [
            _spent(visits, "readme", [1236], key="march", query="visits in March"),
            _spent(visits, "ten releases", [5, 7, -2], key="three of ten", query=None),
            _spent(visits, "ten releases", [11, 12, 13], key="one of ten", query=None, disjoint=True),
            _spent(visits, "order", [40], key="Rényi", query="größte Zahl"),
            _spent(visits, "real, step", [2.5], key="real", query=None),
            _spent(replaced, "replace", [0], key="replaced", query=None),
        ]
        publish("public", visits)
        # paid for, and never answered
        ledger.reserve(_request(visits, "huber", "waiting"))
    with Ledger.create(ledgers / "sum.db") as ledger:
        budget = Budget.create(ledger, "shop", epsilon=20, delta=1e-4, rule="sum", neighbours="replace")
        requests.append(_spent(budget, "replace", [8], key="first", query=None))
        publish("selected", budget)
    with Ledger.create(ledgers / "batch.db") as ledger:
        batch = [(_plan("readme"), 2), (_plan("gaussian"), 1)]
        budget = Budget.create(ledger, "fixed", epsilon=5, delta=1e-4, rule="batch", plans=batch)
        requests.append(_spent(budget, "readme", [3], key="a", query=None))
        requests.append(_spent(budget, "gaussian", [-4], key="b", query=None))
    _make_recovered(ledgers / "recovered.db")
    publish("means")
    publish("found")
    publish("seeded", seed=4)
    return queries, _table_facts(tables, ledgers), requests


def _plan(name: str) -> Plan:
    return Plan.load(HERE / "plans" / file_name(name))


def _request(budget: Budget, name: str, key: str) -> Request:
    plan = _plan(name)
    return Request(
        dataset=budget.dataset,
        plan=fingerprint(plan),
        plan_label=plan.mechanism.name,
        cost=budget.rule.cost(plan),
        package=plan.requirement.releases,
        values=1,
        neighbours=plan.requirement.neighbours,
        key=key,
    )


def _spent(
    budget: Budget,
    name: str,
    numbers: Sequence[float],
    *,
    key: str,
    query: str | None,
    disjoint: bool = False,
) -> Record:
    """Pay for a plan and store these numbers; the request, to be made again."""
    drawn: Callable[[], Any] = lambda: np.array(numbers)  # noqa: E731 - typed as the budget wants it
    budget.paid(_plan(name), len(numbers), drawn, key=key, query=query, disjoint=disjoint)
    return {
        "ledger": Path(budget.ledger.place).name,
        "dataset": budget.dataset,
        "plan": f"plans/{file_name(name)}",
        "count": len(numbers),
        "key": key,
        "query": query,
        "disjoint": disjoint,
    }


def _make_recovered(path: Path) -> None:
    """A ledger that was taken back to a state before its last spend, which was then counted."""
    with Ledger.create(path) as ledger:
        budget = Budget.create(ledger, "visits", epsilon=3, delta=1e-4)
        _spent(budget, "readme", [2], key="kept", query=None)
    backup = path.with_suffix(".backup")
    shutil.copy(path, backup)
    with Ledger.open(path) as ledger:
        _spent(Budget.of(ledger, "visits"), "huber", [4], key="lost", query=None)
    backup.replace(path)
    with Ledger.recover(path, "known"):
        pass


def _save(table: ReleasedTable, path: Path) -> None:
    """Save the table; the manifest names the ledger by its file alone."""
    if table.payment is not None:
        table = replace(table, payment=replace(table.payment, place=Path(table.payment.place).name))
    table.save(path)


def _table_facts(tables: Path, ledgers: Path) -> Record:
    paid = {"public.csv": ledgers / "renyi.db", "selected.csv": ledgers / "sum.db"}
    facts: Record = {}
    for name in QUERIES:
        table = f"{name}.csv"
        manifest = tables / f"{table}.manifest.json"
        facts[table] = {"alone": reading.table_facts(manifest, None)}
        if table in paid:
            facts[table]["ledger"] = f"ledgers/{paid[table].name}"
            facts[table]["paid"] = reading.table_facts(manifest, paid[table])
    return facts


# ------------------------------------------------------------------------------------- local model, commands


def make_local(folder: Path) -> Record:
    """Save every configuration."""
    ages = in_blocks(range(10, 51), 10)
    words = in_categories({"fruit": ["apple", "fig", "pear"], "root": ["beet"], "leaf": ["kale", "chard"]})
    mechanisms: dict[str, LocalMechanism] = {
        "boosted ages": boosted_response(ages, 3.0, 1.5),
        "boosted words": boosted_response(words, 2.0, 0.5),
        "boosted line": boosted_response(on_scale(range(1, 11), 3), 3.0, 1.5),
        "boosted ring": boosted_response(on_scale(range(12), 5, ring=True), 3.0, 1.5),
        "plain": boosted_response(without_categories(range(7)), 1.0, 1.0),
        "only categories": boosted_response(ages, 3.0, 0.0),
        "unary words": unary_encoding(words, 1.0),
        "unary ages": unary_encoding(ages, 2.0),
        "hashed words": local_hashing(words, 3.0),
        "hashed ages": local_hashing(ages, 2.0),
    }
    facts: Record = {}
    for name, mechanism in mechanisms.items():
        path = folder / file_name(name)
        save_configuration(mechanism, path)
        facts[path.name] = {"facts": reading.local_facts(path)}
    return facts


def make_commands(tables: Path, local: Path) -> list[Record]:
    """What commands print, run in this folder."""
    (tables / "together.toml").write_text(TOGETHER.lstrip(), encoding="utf-8")
    values = "".join(f"{10 + place % 41}\n" for place in range(60))
    (local / "values.csv").write_text(f"age\n{values}", encoding="utf-8")
    reading.reports_drawn_again(local / "boosted-ages.json", local / "values.csv", local / "reports.csv")
    with contextlib.chdir(HERE):
        return [{"command": asked, **reading.command([*asked, "--json"])} for asked in COMMANDS]


# ------------------------------------------------------------------------------------------ all of it


def _write_json(path: Path, record: object) -> None:
    text = json.dumps(record, indent=1, ensure_ascii=False, allow_nan=False)
    path.write_text(text + "\n", encoding="utf-8")


def _write_index(record: Record) -> None:
    """The index with one line for each file, request and command."""
    parts = []
    for name, part in record.items():
        entries = [_line(entry) for entry in part] if isinstance(part, list) else None
        if isinstance(part, dict):
            entries = [f"{_line(key)}: {_line(entry)}" for key, entry in part.items()]
        ends = "{}" if isinstance(part, dict) else "[]"
        listed = _line(part) if entries is None else f"{ends[0]}\n" + ",\n".join(entries) + f"\n{ends[1]}"
        parts.append(f"{_line(name)}: {listed}")
    reading.INDEX.write_text("{\n" + ",\n".join(parts) + "\n}\n", encoding="utf-8")


def _line(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def run() -> None:
    """Make everything anew."""
    folders = {name: HERE / name for name in ("plans", "vectors", "joint", "tables", "ledgers", "local")}
    for folder in folders.values():
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
    with tempfile.TemporaryDirectory() as kept:
        state, aside = Path(kept) / "state", Path(kept)
        record: Record = {
            "pbdp": pbdp.__version__,
            "arithmetic": reading.arithmetic(),
            "plans": make_plans(folders["plans"]),
            "vectors": make_vectors(folders["vectors"]),
            "joint": make_joint(folders["joint"]),
            "local": make_local(folders["local"]),
        }
        with repeatable(state):
            queries, tables, requests = make_tables(folders["tables"], folders["ledgers"])
            ledgers = {
                path.name: reading.ledger_facts(path, aside)
                for path in sorted(folders["ledgers"].glob("*.db"))
            }
            again = [
                {
                    "request": asked,
                    "answer": reading.answered_again(aside / asked["ledger"], asked["dataset"], asked),
                }
                for asked in requests
            ]
            export = folders["ledgers"] / "renyi.jsonl"
            lines = reading.exported(folders["ledgers"] / "renyi.db")
            export.write_text("\n".join(lines) + "\n", encoding="utf-8")
        shutil.copytree(state, folders["ledgers"] / "state")
        record |= {
            "queries": queries,
            "tables": tables,
            "ledgers": ledgers,
            "requests": again,
            "export": reading.export_facts(export),
            "commands": make_commands(folders["tables"], folders["local"]),
        }
        record["files"] = reading.digests()
    _write_index(record)


if __name__ == "__main__":
    run()
