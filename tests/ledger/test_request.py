"""Budgets and packages: what is charged, what fits, what is refused."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from pbdp.errors import InputError
from pbdp.ledger import BudgetExceededError, Ledger
from pbdp.ledger.errors import DatasetExistsError, PackageUsedUpError, UnknownDatasetError
from tests.ledger.asking import PLAN, RULE, ledger_with_visits, plan_number, request


def test_a_new_dataset_has_its_whole_budget(url: str) -> None:
    with Ledger.create(url) as ledger:
        state = ledger.create_dataset("visits", {"a": 5, "b": 0}, RULE, "replace", note="from the clinic")

        assert state == ledger.dataset("visits")
        assert (state.spent, state.remaining) == ({"a": 0, "b": 0}, {"a": 5, "b": 0})
        assert (state.rule, state.neighbors, state.note) == (RULE, "replace", "from the clinic")
        assert state.releases == 0


def test_a_spend_is_there_when_the_ledger_is_opened_again(url: str) -> None:
    with ledger_with_visits(url) as ledger:
        reservation = ledger.reserve(request())
        assert (reservation.charged, reservation.fresh) == ({"renyi": 10}, True)

    with Ledger.open(url) as ledger:
        assert ledger.dataset("visits").spent == {"renyi": 10}
        assert ledger.dataset("visits").releases == 1


def test_the_limit_can_be_reached_but_not_passed(url: str) -> None:
    with ledger_with_visits(url, limit=20) as ledger:
        ledger.reserve(request(plan=plan_number(1)))
        ledger.reserve(request(plan=plan_number(2)))

        with pytest.raises(BudgetExceededError) as refused:
            ledger.reserve(request(plan=plan_number(3), cost={"renyi": 1}))

        error = refused.value
        assert error.dataset == "visits"
        assert error.reason == "it costs 1 of renyi, but 0 is left of 20"
        assert "Nothing was spent" in str(error)
        assert ledger.dataset("visits").spent == {"renyi": 20}
        assert ledger.verify().records == 4  # genesis, dataset, two spends


def test_every_amount_has_to_fit(url: str) -> None:
    with Ledger.create(url) as ledger:
        ledger.create_dataset("visits", {"a": 100, "b": 3}, RULE, "add/remove")
        with pytest.raises(BudgetExceededError, match="of b"):
            ledger.reserve(request(cost={"a": 1, "b": 4}))
        ledger.reserve(request(cost={"a": 1, "b": 3}))
        assert ledger.dataset("visits").remaining == {"a": 99, "b": 0}


def test_amounts_beyond_64_bits_and_beyond_floats_are_exact(url: str) -> None:
    limit = 2**200 + 1
    with ledger_with_visits(url, limit=limit) as ledger:
        ledger.reserve(request(plan=plan_number(1), cost={"renyi": 2**200}))
        with pytest.raises(BudgetExceededError):
            ledger.reserve(request(plan=plan_number(2), cost={"renyi": 2}))
        ledger.reserve(request(plan=plan_number(3), cost={"renyi": 1}))
        assert ledger.dataset("visits").spent == {"renyi": limit}
        assert ledger.verify().sound


def test_a_package_is_paid_once_and_drawn_from(url: str) -> None:
    with ledger_with_visits(url) as ledger:
        first = ledger.reserve(request(package=5, values=2))
        second = ledger.reserve(request(package=5, values=3))
        assert (first.charged, first.units_left) == ({"renyi": 10}, 3)
        assert (second.charged, second.units_left) == ({"renyi": 0}, 0)
        assert ledger.dataset("visits").spent == {"renyi": 10}


def test_a_used_up_package_is_refused_until_paying_again_is_allowed(url: str) -> None:
    with ledger_with_visits(url) as ledger:
        ledger.reserve(request(package=5, values=4))
        with pytest.raises(PackageUsedUpError, match=r"4 were used.*again=True to pay"):
            ledger.reserve(request(package=5, values=3))
        assert ledger.dataset("visits").spent == {"renyi": 10}

        again = ledger.reserve(request(package=5, values=3, again=True))
        assert (again.charged, again.units_left) == ({"renyi": 10}, 3)
        # `again` allows a payment, it does not force one
        assert ledger.reserve(request(package=5, values=3, again=True)).charged == {"renyi": 0}
        assert ledger.dataset("visits").spent == {"renyi": 20}


def test_packages_of_different_plans_and_datasets_are_apart(url: str) -> None:
    with ledger_with_visits(url) as ledger:
        ledger.create_dataset("stays", {"renyi": 100}, RULE, "add/remove")
        ledger.reserve(request(package=5))
        assert ledger.reserve(request(package=5, plan=plan_number(1))).charged == {"renyi": 10}
        assert ledger.reserve(request(package=5, dataset="stays")).charged == {"renyi": 10}
        assert ledger.reserve(request(package=5)).charged == {"renyi": 0}


def test_disjoint_numbers_use_one_release_together(url: str) -> None:
    with ledger_with_visits(url) as ledger:
        assert ledger.reserve(request(package=2, values=1000, disjoint=True)).units_left == 1


def test_more_numbers_than_the_plan_is_for_are_refused_before_anything() -> None:
    with pytest.raises(InputError, match="at most the 5 that the plan is for; got 6"):
        request(package=5, values=6)


def test_another_neighboring_relation_is_refused(url: str) -> None:
    with ledger_with_visits(url) as ledger:
        with pytest.raises(InputError, match="'add/remove', as everything on visits; got 'replace'"):
            ledger.reserve(request(neighbors="replace"))
        assert ledger.dataset("visits").spent == {"renyi": 0}


def test_a_cost_in_other_amounts_is_refused(url: str) -> None:
    with ledger_with_visits(url) as ledger:
        for cost in ({"pure": 1}, {"renyi": 1, "pure": 1}):
            with pytest.raises(InputError, match=r"cost must be in the amounts .* \(renyi\)"):
                ledger.reserve(request(cost=cost))


def test_unknown_and_existing_datasets_are_refused(url: str) -> None:
    with ledger_with_visits(url) as ledger:
        ledger.create_dataset("stays", {"renyi": 1}, RULE, "add/remove")
        for ask in (ledger.dataset, lambda name: ledger.reserve(request(dataset=name)), ledger.history):
            with pytest.raises(UnknownDatasetError, match="known: visits, stays"):
                ask("nowhere")
        with pytest.raises(DatasetExistsError, match="cannot be changed"):
            ledger.create_dataset("visits", {"renyi": 1000}, RULE, "add/remove")
        assert ledger.dataset("visits").limits == {"renyi": 100}


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"dataset": ""}, "dataset must be 1 to 100 printable"),
        ({"dataset": "a\nb"}, "dataset must be 1 to 100 printable"),
        ({"dataset": " visits"}, "without spaces at the ends"),
        ({"plan": "not hex"}, "plan must be a fingerprint"),
        ({"plan_label": None}, "plan_label must be"),
        ({"cost": {"renyi": 1.0}}, r"cost\['renyi'\] must be a whole number \(int\); got float"),
        ({"cost": {"renyi": True}}, "got bool"),
        ({"cost": {"renyi": -1}}, "from 0 to"),
        ({"cost": {"renyi": 2**5000}}, "from 0 to"),
        ({"cost": {}}, "cost must be whole numbers"),
        ({"package": 0}, "package must be a whole number of at least 1"),
        ({"values": 1.0}, "values must be a whole number"),
        ({"plans": ()}, "plans must be one"),
        ({"plans": ((PLAN, "a", 1), ("cd" * 32, "a", 1))}, "plans must be one"),
        ({"neighbors": "both"}, "neighbors must be add/remove or replace; got 'both'"),
        ({"key": ""}, "key must be 1 to 200"),
        ({"key": "\ud800"}, "key must be 1 to 200"),
        ({"query": "\ud800"}, "UTF-8"),
        ({"query": "x" * 100_001}, "at most 100000"),
    ],
)
def test_bad_requests_are_refused_in_words(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        request(**wrong)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"name": "x" * 101}, "dataset must be"),
        ({"limits": {}}, "limits must be"),
        ({"limits": {"a": 0.5}}, "whole number"),
        ({"rule": ["list"]}, "rule must be a JSON object"),
        ({"rule": {"a": object()}}, "JSON cannot hold"),
        ({"rule": {"a": float("nan")}}, "JSON cannot hold"),
        ({"rule": {1: 2}}, "JSON would change"),
        ({"neighbors": "none"}, "neighbors must be"),
        ({"note": 5}, "note must be a text"),
    ],
)
def test_bad_datasets_are_refused_in_words(file: Path, wrong: dict[str, Any], message: str) -> None:
    usual: dict[str, Any] = {"name": "visits", "limits": {"a": 1}, "rule": RULE, "neighbors": "replace"}
    with Ledger.create(file) as ledger:
        with pytest.raises(InputError, match=message):
            ledger.create_dataset(**{**usual, **wrong})
        assert ledger.datasets() == []


@pytest.mark.parametrize("seed", range(3))
def test_random_requests_are_charged_as_a_list_of_them_says(url: str, seed: int) -> None:
    """Against brute force: everything is recomputed from the list of accepted requests, each time."""
    rng = random.Random(seed)
    limits = {"a": 300, "b": 200}
    sizes = {number: rng.randint(1, 6) for number in range(4)}
    costs = {number: {"a": rng.randint(0, 40), "b": rng.randint(0, 40)} for number in sizes}
    accepted: list[tuple[int, int]] = []

    def packages(requests: list[tuple[int, int]]) -> dict[int, int]:
        units = {number: sum(n for plan, n in requests if plan == number) for number in sizes}
        return {number: -(-units[number] // sizes[number]) for number in sizes}

    def spent(requests: list[tuple[int, int]]) -> dict[str, int]:
        paid = packages(requests)
        return {name: sum(paid[number] * costs[number][name] for number in sizes) for name in limits}

    with Ledger.create(url) as ledger:
        ledger.create_dataset("visits", limits, RULE, "add/remove")
        outcomes = set()
        for _ in range(60):
            number = rng.choice(list(sizes))
            values, again = rng.randint(1, sizes[number]), rng.random() < 0.6
            wanted = [*accepted, (number, values)]
            needs_new = packages(wanted)[number] > packages(accepted)[number]
            if needs_new and packages(accepted)[number] and not again:
                expected = "used up"
            elif needs_new and any(spent(wanted)[name] > limits[name] for name in limits):
                expected = "exceeded"
            else:
                expected, accepted = "accepted", wanted
            try:
                ledger.reserve(
                    request(
                        plan=plan_number(number),
                        cost=costs[number],
                        package=sizes[number],
                        values=values,
                        again=again,
                    )
                )
                outcome = "accepted"
            except BudgetExceededError:
                outcome = "exceeded"
            except PackageUsedUpError:
                outcome = "used up"
            assert outcome == expected
            assert ledger.dataset("visits").spent == spent(accepted)
            outcomes.add(outcome)
        assert "accepted" in outcomes
        assert len(outcomes) > 1
        assert ledger.verify().sound
