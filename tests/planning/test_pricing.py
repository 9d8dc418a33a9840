"""What plans cost of a budget: terms, costs and records, packages, blocks, and the words for them."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest

import pbdp
from pbdp.accounting.filters.rule import NATS, PROBABILITIES
from pbdp.errors import ContradictionError, InputError
from pbdp.mechanism.custom import CustomRegion
from pbdp.planning.plan import Plan, plan_of
from pbdp.planning.plan_file import plan_from_record, plan_record
from pbdp.planning.pricing import Amounts, Claim, Plans, Price, Priced, Terms, fingerprint, price
from pbdp.planning.pricing.priced import compose_plans
from pbdp.planning.pricing.terms import NO_END


@lru_cache(maxsize=32)
def count(**asked: object) -> Plan:
    """A plan for a count."""
    given = {"within": 5, "confidence": 0.9, "sensitivity": 1, "delta": 1e-9, "integer": True} | asked
    return pbdp.plan(**{name: value for name, value in given.items() if value is not None})  # type: ignore[arg-type]


@lru_cache(maxsize=1)
def per_answer() -> Plan:
    """A plan whose noise changes with the answer."""
    made = pbdp.boosted(pbdp.DiscreteGaussian(3), range=(0, 30), confidence=0.9, sensitivity=1)
    return made.plan(delta=1e-6)


@lru_cache(maxsize=4)
def vector(norm: str) -> Plan:
    return pbdp.plan(
        within=20, confidence=0.9, dimensions=3, norm=norm, sensitivity=1, delta=1e-9, integer=True
    )


EVERY: dict[str, Callable[[], Priced]] = {
    "a count": count,
    "ten counts": lambda: count(within=20, releases=10, delta=1e-6),
    "a real number": lambda: count(within=50, integer=False),
    "a relative width": lambda: count(within="5%+10", nonnegative=True),
    "a Rényi plan": lambda: count(within=50, delta=None, rdp_order=9),
    "noise that changes": per_answer,
    "a vector of counts": lambda: vector("linf"),
    "changes in the sum": lambda: vector("l1"),
    "a claim": lambda: Claim(epsilon=0.1, delta=1e-10),
}
TERMS = Terms(epsilon=3, delta=1e-6)


def one(plan: Priced, terms: Terms = TERMS, spent: Amounts | None = None) -> Price:
    return price(terms, ((plan, 1),), spent)


def after(found: Price) -> Amounts:
    """What is spent once it was paid."""
    assert found.cost is not None
    return {name: amount + found.cost[name] for name, amount in found.spent.items()}


def counted(terms: Terms, plans: Plans, most: int = 10**6) -> int:
    """How many fit, paid one by one."""
    spent = dict.fromkeys(terms.limits(), 0)
    for number in range(most):
        found = price(terms, plans, spent)
        if not found.fits:
            return number
        spent = after(found)
    return most


# ----------------------------------------------------------------------------------------------- terms


@pytest.mark.parametrize("what", EVERY)
def test_everything_is_priced_in_the_names_of_the_limits(what: str) -> None:
    cost = one(EVERY[what](), Terms(epsilon=9, delta=1e-5, reserve=0.2)).cost
    assert cost is not None
    assert cost.keys() == TERMS.limits().keys() == {"variance", "reach", "reserve"}
    assert all(type(amount) is int and amount >= 0 for amount in cost.values())
    assert cost["variance"] > 0
    assert cost["reach"] > 0


@pytest.mark.parametrize(
    "terms",
    [
        TERMS,
        Terms(epsilon=0.1, delta=1e-9, reserve=0.25, neighbors="replace"),
        Terms(epsilon=1, delta=0),
        Terms(epsilon=1, delta=1e-6, blocks=("north", "south")),
    ],
)
def test_terms_come_back_from_their_record(terms: Terms) -> None:
    back = Terms.from_record(json.loads(json.dumps(terms.record())))
    assert back == terms
    assert back.limits() == terms.limits()
    assert back.theory() == terms.theory()


def test_another_neighboring_relation_is_refused() -> None:
    for ask in (one, lambda plan: TERMS.cost(((plan, 1),), dict.fromkeys(TERMS.limits(), 0))):
        with pytest.raises(InputError, match="neighbors must be 'add/remove'"):
            ask(count(neighbors="replace"))


RECORD = TERMS.record()


@pytest.mark.parametrize(
    "record",
    [
        {},
        {name: value for name, value in RECORD.items() if name != "reserve"},
        RECORD | {"epsilon": 3},
        RECORD | {"epsilon": "-3.0"},
        RECORD | {"delta": "1.5"},
        RECORD | {"reserve": "2"},
        RECORD | {"neighbors": "nobody"},
        RECORD | {"blocks": "north"},
        RECORD | {"blocks": ["north", "north"]},
        RECORD | {"rule": "later"},
    ],
)
def test_broken_records_are_refused(record: dict[str, object]) -> None:
    with pytest.raises(InputError):
        Terms.from_record(record)


@pytest.mark.parametrize(
    ("given", "word"),
    [
        ({"epsilon": 0.0}, "epsilon"),
        ({"epsilon": 800.0}, "epsilon"),
        ({"epsilon": math.nan}, "epsilon"),
        ({"delta": 1.0}, "delta"),
        ({"delta": -1e-9}, "delta"),
        ({"reserve": -0.1}, "reserve"),
        ({"reserve": 1.1}, "reserve"),
        ({"neighbors": "nobody"}, "neighbors"),
        ({"blocks": ("a", "")}, "blocks"),
        ({"blocks": ("a\nb",)}, "blocks"),
        ({"blocks": ("a" * 81,)}, "blocks"),
        ({"blocks": ("a", "a")}, "blocks"),
        ({"blocks": tuple(map(str, range(257)))}, "blocks"),
    ],
)
def test_terms_that_cannot_be_are_refused(given: dict[str, Any], word: str) -> None:
    with pytest.raises(InputError, match=word):
        Terms(**({"epsilon": 3.0, "delta": 1e-6} | given))


def test_limits_start_below_what_they_stand_for() -> None:
    """h_v(epsilon) <= delta less the reserve, by the definition of the Gaussian curve in 50 digits."""
    import mpmath

    with mpmath.workdps(50):
        for epsilon, delta, share in ((3.0, 1e-6, 0.001), (0.1, 1e-9, 0.2), (20.0, 0.01, 0.0)):
            limits = Terms(epsilon=epsilon, delta=delta, reserve=share).limits()
            v = mpmath.mpf(limits["variance"]) / 10**15
            s, x = mpmath.sqrt(v), mpmath.mpf(epsilon)
            h = mpmath.ncdf(s / 2 - x / s) - mpmath.exp(x) * mpmath.ncdf(-s / 2 - x / s)
            rest = mpmath.mpf(str(delta)) - mpmath.mpf(limits["reserve"]) / PROBABILITIES
            assert h <= rest
            assert h >= rest * (1 - mpmath.mpf("1e-6"))
            assert limits["reserve"] <= Fraction(str(delta)) * Fraction(str(share)) * PROBABILITIES


# ------------------------------------------------------------------------------------------------ costs


@pytest.mark.parametrize("what", ["a count", "ten counts", "a real number", "a Rényi plan"])
def test_beyond_the_reach_lies_no_more_than_the_reserve_paid(what: str) -> None:
    plan = EVERY[what]()
    found = one(plan)
    assert found.cost is not None
    beyond = compose_plans([(plan, 1)]).delta_at(found.cost["reach"] / NATS)
    assert beyond.lower <= found.cost["reserve"] / PROBABILITIES


def test_what_fits_composes_to_less_than_epsilon() -> None:
    terms = Terms(epsilon=2, delta=1e-6, reserve=0.01)
    for plan in (
        count(within=50, delta=1e-9),
        count(within=50, delta=1e-6, families=("gaussian",)),
        per_answer(),
    ):
        times = counted(terms, ((plan, 1),))
        assert times > 0
        assert compose_plans([(plan, times)]).epsilon_at(1e-6).upper <= 2


def test_a_package_is_composed_exactly_and_is_one_step() -> None:
    """Bought first, it fits as long as its composition does."""
    plan = count(within=20)
    exact = compose_plans([(plan, 52)])
    epsilon = exact.epsilon_at(1e-6 * (1 - 0.001)).upper
    assert price(Terms(epsilon=epsilon * (1 + 1e-3), delta=1e-6), ((plan, 52),)).fits
    assert not price(Terms(epsilon=epsilon * (1 - 1e-3), delta=1e-6), ((plan, 52),)).fits
    assert counted(Terms(epsilon=epsilon * (1 + 1e-3), delta=1e-6), ((plan, 1),)) < 52


def test_plans_reserved_together_cost_less_than_one_after_the_other() -> None:
    """Never more; and the package is no cheaper than what it holds."""
    weekly, monthly = count(within=20), count(within=10)
    plans = ((weekly, 12), (monthly, 3))
    together = price(TERMS, plans)
    spent = dict.fromkeys(TERMS.limits(), 0)
    for plan, times in plans:
        for _ in range(times):
            spent = after(one(plan, TERMS, spent))
    assert together.cost is not None
    assert together.cost["variance"] <= spent["variance"] * (1 + 1e-3)
    assert together.cost["variance"] > price(TERMS, ((weekly, 12),)).cost["variance"]  # type: ignore[index]


def test_a_package_costs_reach_for_every_release_of_it() -> None:
    single, many = one(count()).cost, price(TERMS, ((count(), 5),)).cost
    assert single is not None
    assert many is not None
    # what is set aside differs a little
    assert many["reach"] == pytest.approx(5 * single["reach"], rel=1e-2)


@pytest.mark.parametrize(
    ("epsilon", "plan", "fit"),
    [
        (3.0, lambda: count(delta=1e-6), 7),
        (10.0, lambda: count(confidence=None, within=2, epsilon=1.0, families=("laplace",)), 10),
        (1.0, lambda: Claim(epsilon=0.1), 10),
        (0.3, lambda: Claim(epsilon=0.1), 3),
    ],
)
def test_epsilons_add_up_at_least(epsilon: float, plan: Callable[[], Priced], fit: int) -> None:
    assert counted(Terms(epsilon=epsilon, delta=1e-6), ((plan(), 1),), fit + 1) == fit


def test_noise_that_is_cut_off_needs_a_reserve_and_is_told_which() -> None:
    plan = count(within=50, delta=1e-6, families=("cut staircase",))
    found = one(plan)
    assert not found.fits
    assert found.cost is None
    assert found.lacks_reserve is not None
    words = found.describe()
    assert "does not fit" in words
    assert "smaller delta" in words
    share = float(words.split("--reserve ")[1].split(")")[0])
    # what is advised helps
    assert one(plan, Terms(epsilon=3, delta=1e-6, reserve=min(share * 1.02, 1))).fits
    assert one(count(within=50, delta=1e-10, families=("cut staircase",))).fits


def test_a_plan_that_sets_more_than_delta_aside_is_told_no_reserve() -> None:
    words = one(count(within=50, delta=1e-2, families=("cut staircase",))).describe()
    assert "smaller delta" in words
    assert "--reserve" not in words


@pytest.mark.parametrize("delta", [1e-9, 1e-7])
def test_a_claim_takes_its_delta_from_the_reserve(delta: float) -> None:
    terms = Terms(epsilon=3, delta=1e-6, reserve=0.5)
    found = one(Claim(epsilon=0.2, delta=delta), terms)
    assert found.cost is not None
    assert found.cost["reserve"] >= Fraction(str(delta)) * PROBABILITIES
    # a little less: some of the reserve is given for it
    assert 0.9999 * charged_nats(0.2) < found.cost["reach"] <= charged_nats(0.2)
    assert not one(Claim(epsilon=0.2, delta=6e-7), terms).fits


def charged_nats(epsilon: float) -> int:
    return math.ceil(Fraction(str(epsilon)) * NATS)


def test_a_budget_without_delta_is_for_pure_mechanisms() -> None:
    terms = Terms(epsilon=1, delta=0)
    assert one(Claim(epsilon=0.1), terms).times == (10, True)
    # the epsilons are those that were written, also in a package: ten of 0.1 are 1, and no more
    assert price(terms, ((Claim(epsilon=0.1), 10),)).fits
    assert price(terms, ((Claim(epsilon=0.1), 3), (Claim(epsilon=0.7), 1))).fits
    assert not price(terms, ((Claim(epsilon=0.1), 3), (Claim(epsilon=0.7000001), 1))).fits
    with pytest.raises(InputError, match="free of any delta"):
        one(Claim(epsilon=0.1, delta=1e-20), terms)
    with pytest.raises(InputError, match="Give the budget a delta"):
        one(count(), terms)


def test_a_budget_that_counts_everything_as_spent_has_room_for_nothing() -> None:
    """As a recovery leaves it."""
    spent = TERMS.limits()
    assert spent["reach"] == NO_END
    for plan in (count(), Claim(epsilon=1e-6), Claim(epsilon=0.0)):
        assert not one(plan, TERMS, spent).fits
    assert TERMS.share(spent) == 1
    assert TERMS.adds_up(spent) == 0


# ----------------------------------------------------------------------------------------------- blocks

BLOCKS = Terms(epsilon=3, delta=1e-6, blocks=("north", "south", "west"))


def test_only_the_blocks_that_are_read_pay() -> None:
    found = price(BLOCKS, ((count(), 1),), None, ["south", "north"])
    assert found.blocks == ("north", "south")
    assert found.cost is not None
    whole = one(count()).cost
    assert whole is not None
    for kind, amount in whole.items():
        assert found.cost[f"{kind} of north"] == found.cost[f"{kind} of south"] == amount
        assert found.cost[f"{kind} of west"] == 0
    every = price(BLOCKS, ((count(), 1),))
    assert every.cost is not None
    assert every.cost["variance of west"] == whole["variance"]


def test_a_price_follows_from_the_fullest_block_that_is_read() -> None:
    spent = dict.fromkeys(BLOCKS.limits(), 0)
    for _ in range(3):
        spent = after(price(BLOCKS, ((count(), 1),), spent, "north"))
    alone, both, other = (
        price(BLOCKS, ((count(), 1),), spent, blocks) for blocks in ("north", ["north", "west"], "west")
    )
    assert alone.spent_before == both.spent_before > other.spent_before == 0
    assert alone.times[0] == both.times[0] < other.times[0]  # type: ignore[operator]
    assert BLOCKS.share(spent, ("west",)) == 0 < BLOCKS.share(spent) == BLOCKS.share(spent, ("north",))


@pytest.mark.parametrize("blocks", ["east", ["north", "east"], [], [""]])
def test_unknown_blocks_are_refused(blocks: object) -> None:
    with pytest.raises(InputError, match="blocks must be among north, south, west"):
        price(BLOCKS, ((count(), 1),), None, blocks)


def test_blocks_of_a_budget_without_them_are_refused() -> None:
    with pytest.raises(ContradictionError, match="declared when the budget is made"):
        price(TERMS, ((count(), 1),), None, "north")


def test_blocks_are_refused_where_a_person_may_change_two() -> None:
    with pytest.raises(ContradictionError, match="Replacing one person by another may change two blocks"):
        Terms(epsilon=3, delta=1e-6, neighbors="replace", blocks=("north", "south"))


# ------------------------------------------------------------------------------------------ composition


def test_different_plans_compose_between_the_largest_and_the_sum() -> None:
    plans = [count(), count(within=7), count(within=9)]
    found = compose_plans([(plan, 1) for plan in plans]).epsilon_at(1e-6)
    assert max(plan.epsilon for plan in plans) < found.lower <= found.upper
    assert found.upper < sum(plan.epsilon for plan in plans) * (1 + 1e-4)
    assert found.upper / found.lower < 1 + 1e-3


def test_a_claim_has_no_lower_bound() -> None:
    found = compose_plans([(count(), 1), (Claim(epsilon=0.5, delta=1e-8), 2)]).epsilon_at(1e-6)
    assert found.lower == 0 < found.upper < (count().epsilon + 1.0) * (1 + 1e-4)


def test_noise_that_changes_composes_better_than_its_claim() -> None:
    plan = per_answer()
    own = compose_plans([(plan, 4)]).epsilon_at(1e-5)
    claim = compose_plans([(Claim(epsilon=plan.epsilon, delta=1e-6), 4)]).epsilon_at(1e-5)
    assert 0 < own.lower <= own.upper < 0.8 * claim.upper


def test_a_vector_of_counts_composes_as_its_coordinates() -> None:
    plan = vector("linf")
    assert compose_plans([(plan, 1)]).epsilon_at(1e-9).upper == pytest.approx(plan.epsilon, rel=1e-6)


# ------------------------------------------------------------------------------------------ fingerprint


def test_what_a_fingerprint_covers() -> None:
    """All of it, written out: a field more or less would make plans unknown to their ledgers."""
    plan = pbdp.plan(within=5, confidence=0.9, sensitivity=1, delta=1e-6, integer=True, families=("laplace",))
    record = plan_record(plan)
    covered = {
        "kind": "plan",
        "delta": 1e-6,
        "rdp_order": None,
        "neighbors": "add/remove",
        "sensitivity": 1.0,
        "releases": 1.0,
        "requirement": {
            "region": {"kind": "absolute", "below": 5.0, "above": 5.0},
            "confidence": 0.9,
            "simultaneous": False,
            "integer": True,
            "step": None,
            "scale": None,
            "bounds": None,
        },
        "mechanism": {
            "family": "laplace",
            "boost": 0.0,
            "kernel": "laplace",
            "parameters_in_steps": {"scale": record["mechanism"]["parameters_in_steps"]["scale"]},
            "region_in_steps": {"kind": "absolute", "below": 5.0, "above": 5.0},
            "offset_in_steps": 0.0,
            "clamp": False,
            "grid": {"kind": "linear", "step": 1.0, "rounded": False, "down": False, "whole": False},
        },
    }
    text = json.dumps(covered, sort_keys=True, separators=(",", ":"))
    assert fingerprint(plan) == hashlib.sha256(text.encode()).hexdigest()


def test_a_saved_plan_keeps_its_fingerprint(tmp_path: Path) -> None:
    for plan in (count(), EVERY["ten counts"](), EVERY["a relative width"]()):
        assert isinstance(plan, Plan)
        plan.save(tmp_path / "plan.json")
        assert fingerprint(Plan.load(tmp_path / "plan.json")) == fingerprint(plan)


def test_a_vector_from_its_record_keeps_its_fingerprint() -> None:
    for norm in ("linf", "l1"):
        plan = vector(norm)
        record = json.loads(json.dumps(plan_record(plan)))
        assert fingerprint(plan_from_record(record)) == fingerprint(plan)


def test_different_plans_have_different_fingerprints() -> None:
    plans: list[Priced] = [
        *(make() for make in EVERY.values()),
        count(within=6),
        count(confidence=0.91),
        count(delta=1e-8),
        count(neighbors="replace"),
        count(releases=2),
        count(families=("gaussian",)),
        Claim(epsilon=0.1),
        Claim(epsilon=0.1, label="other"),
    ]
    digests = [fingerprint(plan) for plan in plans]
    assert len(set(digests)) == len(digests)
    assert all(len(digest) == 64 for digest in digests)


def test_what_else_was_compared_does_not_change_the_fingerprint() -> None:
    assert fingerprint(plan_of(count().requirement, count().chosen)) == fingerprint(count())


def test_a_region_given_as_a_function_has_no_fingerprint_but_a_price() -> None:
    region = CustomRegion(interval=lambda answer: (answer - 3, answer + 4), low=0, high=20)
    plan = count(within=None, region=region, families=("gaussian",), delta=1e-6)
    with pytest.raises(InputError, match="free of functions"):
        fingerprint(plan)
    assert one(plan, Terms(epsilon=9, delta=1e-5)).fits


# ------------------------------------------------------------------------------------------------ price


def test_a_price_says_what_is_left_and_how_many_more_fit() -> None:
    terms = Terms(epsilon=1, delta=0)
    spent = {"variance": 0, "reach": 2 * 10**11, "reserve": 0}
    found = one(Claim(epsilon=0.3, label="survey"), terms, spent)
    assert (found.fits, found.times) == (True, (2, True))
    assert (found.spent_before, found.share, found.spent_after) == pytest.approx((0.2, 0.3, 0.5))
    assert found.describe().splitlines() == [
        "survey costs 30 % of the budget; afterwards 50 % is spent.",
        "After that, 1 more like it would fit.",
    ]
    record = json.loads(json.dumps(found.record()))
    assert (record["times"], record["fits"], record["advice"]) == (2, True, None)


def test_the_last_unit_counts() -> None:
    terms = Terms(epsilon=1, delta=0)
    claim = Claim(epsilon=0.5)
    half = {"variance": 0, "reach": 5 * 10**11, "reserve": 0}
    assert one(claim, terms, half).times == (1, True)
    assert "no more like it" in one(claim, terms, half).describe()
    assert not one(claim, terms, half | {"reach": 5 * 10**11 + 1}).fits


def test_any_number_of_nothing_fits() -> None:
    free = one(Claim(epsilon=0.0), Terms(epsilon=1, delta=0))
    assert free.times == (None, True)
    assert free.describe().splitlines() == [
        "claim costs next to nothing; afterwards 0 % is spent.",
        "Any number of the same would fit.",
    ]


@pytest.mark.parametrize(
    "plan",
    [
        lambda: count(within=20),
        lambda: count(within=30, delta=1e-6, families=("gaussian",)),
        lambda: Claim(epsilon=0.05),
        lambda: Claim(epsilon=0.04, delta=1e-12),
    ],
)
def test_how_many_fit_is_true_when_they_are_counted_one_by_one(plan: Callable[[], Priced]) -> None:
    told, exactly = one(plan()).times
    assert told is not None
    real = counted(TERMS, ((plan(), 1),))
    assert real == told if exactly else abs(told - real) <= max(0.04 * real, 1)


def test_a_price_that_does_not_fit_says_so_for_programs_too() -> None:
    record = one(count(within=1, confidence=0.99), Terms(epsilon=0.5, delta=1e-6)).record()
    assert (record["fits"], record["times"], record["cost"], record["share"]) == (False, 0, None, None)
    assert record["advice"] == "A larger width or a smaller confidence costs less."


def test_several_plans_are_named_with_their_times() -> None:
    found = price(TERMS, ((count(), 2), (Claim(epsilon=0.1, label="survey"), 1)))
    assert found.label == "laplace x 2 with survey"


def test_terms_say_which_guarantee_applies_and_why() -> None:
    words = TERMS.theory()
    assert "(3, 1e-06)-DP" in words
    assert "even after seeing answers" in words


def test_a_constant_costs_nothing() -> None:
    plan = count(range=(0, 10), delta=1e-6)
    assert plan.epsilon == 0
    found = price(Terms(epsilon=3, delta=1e-6), ((plan, 1),))
    assert found.cost is not None
    assert not any(found.cost.values())
    assert found.times == (None, True)
