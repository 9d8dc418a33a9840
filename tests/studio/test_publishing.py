"""Publishing from the page: only at the price that was agreed upon, and once for each key."""

from __future__ import annotations

import base64
import json
import subprocess
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pbdp import Budget, Ledger, Plan
from pbdp.studio.opened import Opened
from pbdp.studio.query_form import Base
from pbdp.studio.tables import table_price_view
from pbdp.studio.views import answer_to
from tests.studio.running import PBDP, Reply, Studio, running
from tests.studio.test_tables import FORM as BOTH

FORM = BOTH | {"measures": BOTH["measures"][:1]}


@pytest.fixture
def opened(shop: Path) -> Opened:
    return Opened(asked=str(shop / "visits.toml"), ledger=str(shop / "budget.db"))


def agreed(opened: Opened, dataset: str = "visits") -> dict[str, Any]:
    """What the page sends once somebody has agreed."""
    view = table_price_view(Base(opened), FORM, {})
    (price,) = [price for price in view["prices"] if price["dataset"] == dataset]
    return {"table": FORM, "dataset": dataset, "key": view["key"], "agreed": price["share"]}


def spends(shop: Path) -> list[str | None]:
    with Ledger.open(shop / "budget.db") as ledger:
        return [entry.key for entry in ledger.history("visits") if entry.kind == "spend"]


def publish(opened: Opened, body: dict[str, Any]) -> tuple[int, Any]:
    answer = answer_to(opened, "publish", body)
    return answer.status, json.loads(answer.content)


def test_a_published_table_is_paid_for_and_verifies(opened: Opened, shop: Path) -> None:
    body = agreed(opened)
    with Ledger.open(shop / "budget.db") as ledger:
        before = Budget.of(ledger, "visits").spent
    status, view = publish(opened, body)
    assert status == 200, view
    assert view["rows"] == 6
    assert not view["repeated"]
    with Ledger.open(shop / "budget.db") as ledger:
        assert Budget.of(ledger, "visits").spent == pytest.approx(before + body["agreed"])
    for file in view["files"]:
        (shop / file["name"]).write_bytes(base64.b64decode(file["base64"]))
    done = subprocess.run(
        [PBDP, "verify", "table.csv.manifest.json", "--ledger", "budget.db"],
        cwd=shop,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert view["columns"] == ["city", "month", "visits"]
    assert view["shown"][0][:2] == ["Paris", "1"]


def test_asked_again_it_comes_back_and_costs_nothing(opened: Opened, shop: Path) -> None:
    body = agreed(opened)
    _, first = publish(opened, body)
    assert table_price_view(Base(opened), FORM, {})["paid_from"] == "visits"
    status, again = publish(opened, body)
    assert status == 200
    assert again["repeated"]
    assert again["files"][0] == first["files"][0]
    assert spends(shop).count(body["key"]) == 1
    # the command line knows it too
    (shop / "visits.toml").write_text(Base(opened).text(FORM), encoding="utf-8")
    done = subprocess.run(
        [PBDP, "tables", "visits.toml", "--ledger", "budget.db", "--dataset", "visits", "-o", "again.csv"],
        cwd=shop,
        check=False,
        capture_output=True,
    )
    assert done.returncode == 0
    assert (shop / "again.csv").read_bytes() == base64.b64decode(first["files"][0]["base64"])
    assert len(spends(shop)) == 2


def test_a_double_click_pays_once_and_nothing_of_the_data_is_written_down(opened: Opened, shop: Path) -> None:
    body = agreed(opened)
    other = FORM | {"where": "month > 0"}
    later = {"table": other, "key": table_price_view(Base(opened), other, {})["key"]}
    replies: list[Reply] = []
    with running(shop, "visits.toml", "--ledger", "budget.db") as studio:

        def click(asked: Studio) -> None:
            replies.append(asked.answer("/api/publish", body))

        clicks = [threading.Thread(target=click, args=(studio,)) for _ in range(2)]
        for one in clicks:
            one.start()
        for one in clicks:
            one.join()
        (shop / "visits.csv").write_text("user_id,city,month,spend\nu1,Paris,1,4711.5\nu2,Paris,x,4712.5\n")
        price = studio.answer("/api/table/price", {"table": other, "dataset": "visits"}).record["prices"][0]
        refused = studio.answer("/api/publish", body | later | {"agreed": price["share"]})
    assert refused.status == 422
    assert "471" not in refused.content.decode()
    assert (shop / "studio.err").read_text() == ""
    assert [reply.status for reply in replies] == [200, 200], [reply.content for reply in replies]
    first, second = (reply.record for reply in replies)
    assert first["files"][0] == second["files"][0]
    assert spends(shop).count(body["key"]) == 1


def test_another_price_than_was_shown_is_refused(opened: Opened, shop: Path, small: Plan) -> None:
    body = agreed(opened)
    with Ledger.open(shop / "budget.db") as ledger:
        Budget.of(ledger, "visits").release(small, 1, key="april", again=True)
    status, told = publish(opened, body)
    assert status == 422
    assert "price has changed" in told["errors"][0]["message"]
    assert spends(shop) == ["march", "april"]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"dataset": None}, "dataset"),
        ({"dataset": "nobody"}, "nobody"),
        ({"key": ""}, "key"),
        ({"key": "another"}, "key must be that of this table"),
        ({"table": FORM | {"where": "spend > 3"}}, "key must be that of this table"),
        ({"agreed": None}, "agreed"),
        ({"agreed": True}, "agreed"),
        ({"agreed": 0.0}, "price has changed"),
        ({"blocks": "north"}, "blocks"),
        ({"blocks": ["north"]}, "blocks"),
    ],
)
def test_what_was_not_agreed_upon_is_not_published(
    opened: Opened, shop: Path, changes: dict[str, Any], words: str
) -> None:
    status, told = publish(opened, agreed(opened) | changes)
    assert status == 422
    assert words in told["errors"][0]["message"]
    assert spends(shop) == ["march"]


def test_a_ledger_in_doubt_is_trusted_by_whoever_starts_the_studio(
    opened: Opened, shop: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    body = agreed(opened)
    monkeypatch.setenv("PBDP_STATE", str(tmp_path / "another machine"))
    status, told = publish(opened, body)
    assert status == 422
    assert told["errors"][0]["message"].endswith("start the studio with --trust-ledger.")
    assert spends(shop) == ["march"]
    assert publish(replace(opened, trust=True), body)[0] == 200


def test_what_does_not_fit_is_refused_with_advice(opened: Opened, shop: Path) -> None:
    dear = FORM | {"measures": [{"kind": "count", "name": "visits", "within": "1"}]}
    (price, _) = (view := table_price_view(Base(opened), dear, {}))["prices"]
    assert not price["fits"]
    asked = {"table": dear, "key": view["key"], "agreed": 1.0}
    status, told = publish(opened, agreed(opened) | asked)
    assert status == 422
    assert "does not fit" in told["errors"][0]["message"]
    assert spends(shop) == ["march"]


def test_keys_that_changed_meanwhile_are_another_table(
    opened: Opened, shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file that the query names is read again: what was agreed upon was another table."""
    monkeypatch.chdir(shop)
    (shop / "keys.csv").write_text("city\nParis\nRome\n", encoding="utf-8")
    (shop / "visits.toml").write_text('data = "visits.csv"\nkeys = "keys.csv"\n', encoding="utf-8")
    form = FORM | {"by": []}
    view = table_price_view(Base(opened), form, {"dataset": "visits"})
    body = {
        "table": form,
        "dataset": "visits",
        "key": view["key"],
        "agreed": view["prices"][0]["share"],
    }
    (shop / "keys.csv").write_text("city\nParis\nOslo\n", encoding="utf-8")
    status, told = publish(opened, body)
    assert (status, spends(shop)) == (422, ["march"]), told
    now = table_price_view(Base(opened), form, {"dataset": "visits"})["key"]
    assert now != body["key"]
    status, view = publish(opened, body | {"key": now})
    assert (status, [row[0] for row in view["shown"]]) == (200, ["Paris", "Oslo"]), view


def test_some_blocks_of_people_have_a_price_of_their_own(opened: Opened, shop: Path, small: Plan) -> None:
    with Ledger.open(shop / "budget.db") as ledger:
        budget = Budget.create(ledger, "regions", epsilon=3, delta=1e-6, blocks=("north", "south"))
        budget.release(small, 1, key="north only", blocks=["north"])

    def price(**given: Any) -> dict[str, Any]:
        view = table_price_view(Base(opened), FORM, {"dataset": "regions", **given})
        (found,) = view["prices"]
        return {**found, "key": view["key"]}

    whole, south = price(), price(blocks=["south"])
    assert whole["blocks"] == ["north", "south"]
    assert south["before"] == 0 < whole["before"]
    for blocks in ([], ["west"], "south", [3]):
        given = {"table": FORM, "dataset": "regions", "blocks": blocks}
        body = {**given, "key": south["key"], "agreed": south["share"]}
        assert publish(opened, body)[0] == 422, blocks
    body = {"table": FORM, "dataset": "regions", "key": south["key"], "agreed": south["share"]}
    status, view = publish(opened, body | {"blocks": ["south"]})
    assert status == 200, view
    with Ledger.open(shop / "budget.db") as ledger:
        terms, state = Budget.of(ledger, "regions").terms, ledger.dataset("regions")
        assert terms.share(state.spent, ("south",)) == pytest.approx(south["share"])
        assert terms.share(state.spent, ("north",)) == pytest.approx(whole["before"])
    status, again = publish(opened, body | {"blocks": ["south"]})
    assert (status, again["repeated"]) == (200, True), again
