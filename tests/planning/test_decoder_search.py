"""Decoders: the confidence over all answers, the best one there is, and how far from any mechanism at all."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.sparse import coo_array

import pbdp
from pbdp.errors import PlanFileError
from pbdp.mechanism.custom import CustomRegion
from pbdp.mechanism.decoder import Decoder
from pbdp.mechanism.design import Design
from pbdp.mechanism.fixed_range import FixedRegion
from pbdp.mechanism.grid import LinearGrid, whole_numbers
from pbdp.mechanism.requirement import Requirement
from pbdp.mechanism.weights import TOTAL, WeightTable
from pbdp.mechanism.within import region_within
from pbdp.noise.family import Problem
from pbdp.noise.grid_kernel import GridKernel
from pbdp.noise.huber import Huber
from pbdp.noise.kernel import Index, LatticeKernel
from pbdp.planning.certificate import Certified, certified, goal_on
from pbdp.planning.decoder_search import CLOSE, Answers, Law, Line, _fits, _shape, widest
from pbdp.planning.plan import Plan
from pbdp.planning.plan_file import plan_from_record, plan_record
from pbdp.planning.planner import plan_for
from pbdp.release.keystream import InsecureTestSeedWarning
from pbdp.report.explanation import a_hair_wider, explanation
from tests.planning.listed import law_of, lost
from tests.report.saying import warned

ASKED: dict[str, dict[str, Any]] = {
    "half": {"within": "50%+2.5", "confidence": 0.8, "nonnegative": True},
    "fifth": {"within": "20%+5", "confidence": 0.9, "nonnegative": True},
    "tenth": {"within": "10%+5", "confidence": 0.9, "nonnegative": True},
    "twentieth": {"within": "5%+10", "confidence": 0.9, "nonnegative": True},
    "signed": {"within": "20%+5", "confidence": 0.9},
    "signed, wide": {"within": "50%+25", "confidence": 0.8},
    "signed, nearly all": {"within": "80%+30", "confidence": 0.9},
    "no room at zero": {"within": "90%+0.3", "confidence": 0.9, "nonnegative": True},
    "far apart": {"within": "20%+5", "confidence": 0.9, "sensitivity": 4, "nonnegative": True},
    "several": {"within": "20%+5", "confidence": 0.9, "releases": 10, "nonnegative": True},
    "rényi": {"within": "20%+5", "confidence": 0.9, "delta": None, "rdp_order": 10},
    "0..20": {"within": 5, "confidence": 0.9, "range": (0, 20)},
    "0..40": {"within": 5, "confidence": 0.9, "range": (0, 40)},
    "0..20, far apart": {"within": 5, "confidence": 0.9, "range": (0, 20), "sensitivity": 10},
    "0..100": {"within": 5, "confidence": 0.9, "range": (0, 100)},
    "-7..9": {"within": (2, 4), "confidence": 0.7, "range": (-7.5, 9.2), "sensitivity": 3},
    "relative in a range": {"within": "20%+5", "confidence": 0.9, "range": (0, 60)},
    "real": {"within": "10%+2", "confidence": 0.8, "integer": False, "step": 0.125},
    "real in a range": {"within": 2, "confidence": 0.8, "range": (0.3, 9.1), "integer": False, "step": 0.125},
    "flush": {"within": 2, "confidence": 0.8, "range": (-3, 9), "integer": False, "step": 0.125},
    "flush, lopsided": {
        "within": (0, 3),
        "confidence": 0.8,
        "range": (-1.5, 6),
        "integer": False,
        "step": 0.25,
        "sensitivity": 0.7,
    },
}
# What is known of them at delta 1e-6: an upper bound for epsilon, and what it was without a decoder.
KNOWN = {
    "half": (0.186, 0.62),
    "fifth": (0.2623, 0.41),
    "tenth": (0.3092, 0.41),
    "twentieth": (0.1782, 0.21),
    "signed, wide": (0.02506, 0.063),
    "signed, nearly all": (0.01302, 0.075),
    "0..20": (0.2909, 0.41),
    "0..40": (0.3784, 0.41),
    "0..100": (0.4098, 0.41),
    "0..20, far apart": (2.113, 2.85),
}


FAMILIES = {
    "far apart": "staircase",
    "0..20, far apart": "staircase",
    "several": "huber",
    "rényi": "gaussian",
}


@cache
def planned(name: str) -> Plan:
    asked = {"sensitivity": 1, "delta": 1e-6, "integer": True, **ASKED[name]}
    region = region_within(asked.pop("within"), asked.pop("nonnegative", False))
    ends = asked.pop("range", None)
    bounds = None if ends is None else FixedRegion(low=ends[0], high=ends[1])
    requirement = Requirement(region=region, bounds=bounds, **asked)
    return plan_for(requirement, (FAMILIES.get(name, "laplace"),))


def decoded(plan: Plan) -> Iterator[tuple[Certified, Design, Decoder]]:
    for entry in (plan.chosen, *plan.others):
        if isinstance(entry.design, Design) and entry.design.decoder is not None:
            yield entry, entry.design, entry.design.decoder


@pytest.mark.parametrize("name", KNOWN)
def test_less_epsilon_than_without_a_decoder(name: str) -> None:
    plan, (most, before) = planned(name), KNOWN[name]
    assert plan.mechanism.decoder is not None
    assert plan.epsilon <= most
    plain = [entry.certificate.epsilon for entry in plan.others if entry.design.decoder is None]
    assert min(plain) >= before


def test_a_decoder_in_blocks_is_no_longer_than_tables_may_be() -> None:
    plan = pbdp.plan(
        within="30%+1000", confidence=0.9, sensitivity=20, delta=1e-6, integer=True, families=("laplace",)
    )
    assert plan.epsilon <= 0.02753
    assert plan.mechanism.decoder is not None


# ------------------------------------------------------------------ the confidence, by listing everything


def accepts(plan: Plan, truth: Fraction, output: Fraction) -> bool:
    """Whether an output is acceptable for a true answer, from the words of the request alone."""
    within = plan.within
    if isinstance(within, str):
        percent, plus = within.split("%+")
        room = Fraction(percent) / 100 * abs(truth) + Fraction(plus)
        return abs(output - truth) <= room
    below, above = within if isinstance(within, list) else (within, within)
    assert below is not None
    assert above is not None
    return truth - Fraction(below) <= output <= truth + Fraction(above)


def truths_at(plan: Plan, steps: int) -> list[Fraction]:
    """The true answers that are mapped to a grid point, or the ends of the interval of them."""
    step, asked = Fraction(plan.grid.step), plan.requirement
    if asked.integer:
        return [Fraction(steps)]
    assert isinstance(plan.grid, LinearGrid)
    first = steps if plan.grid.down else steps - Fraction(1, 2)
    ends = [first * step, (first + 1) * step]
    if asked.bounds is not None:
        low, high = (Fraction(end) for end in asked.bounds.answers)
        ends = [min(max(end, low), high) for end in ends]
    return ends


@pytest.mark.parametrize("name", ASKED)
def test_every_answer_keeps_the_confidence(name: str) -> None:
    """Answers by themselves: all of a small range; where there is no end, the hardest and their neighbors."""
    plan = planned(name)
    entry, design, decoder = next(decoded(plan))
    region = plan.grid.region_in_steps(plan.requirement.region)
    answers, weights = decoder.weights(design.drawn_table(), region)
    listed = np.concatenate((answers[np.argsort(weights)[:3]], answers[:2], answers[-1:])).tolist()
    claimed = min(entry.certificate.confidence, plan.requirement.confidence_each)
    for answer in sorted(set(listed)):
        law = law_of(design, answer)
        step = Fraction(plan.grid.step)
        inside = sum(
            weight
            for output, weight in law.items()
            if all(accepts(plan, truth, output * step) for truth in truths_at(plan, answer))
        )
        assert inside >= int(weights[answers.tolist().index(answer)]), answer
        assert Fraction(inside, TOTAL) >= Fraction(claimed), answer


@pytest.mark.parametrize(
    "name", ["half", "signed", "signed, wide", "0..20", "real in a range", "flush", "flush, lopsided"]
)
def test_weights_of_the_acceptable_are_those_of_a_list(name: str) -> None:
    plan = planned(name)
    for _, design, decoder in itertools.islice(decoded(plan), 2):
        region = plan.grid.region_in_steps(plan.requirement.region)
        answers, weights = decoder.weights(design.drawn_table(), region)
        for place in range(len(answers) // 9, len(answers) - 1, max(1, len(answers) // 7)):
            answer = int(answers[place])
            below, above = (math.floor(float(offset)) for offset in region.offsets(float(answer)))
            law = law_of(design, answer)
            inside = sum(w for y, w in law.items() if answer - below <= y <= answer + above)
            assert inside == int(weights[place])


@pytest.mark.parametrize("name", ["half", "signed", "signed, wide", "several", "rényi", "real"])
def test_answers_further_out_keep_more_than_the_last_that_is_listed(name: str) -> None:
    plan = planned(name)
    for _, design, decoder in decoded(plan):
        region = plan.grid.region_in_steps(plan.requirement.region)
        answers, weights = decoder.weights(design.drawn_table(), region)
        drawn = design.drawn_table()
        for answer in (int(answers[-1]) + extra for extra in (1, 2, 17, 500, 10**4, 10**6, 10**12)):
            outputs = decoder.output_of(answer * decoder.parts + drawn.values())
            below, above = (math.floor(float(offset)) for offset in region.offsets(float(answer)))
            inside = (outputs >= answer - below) & (outputs <= answer + above)
            assert int(drawn.weights[inside].sum()) >= int(weights[-1])


# --------------------------------------------------------------------------- the privacy, by listing it too


@pytest.mark.parametrize(
    "name",
    ["half", "far apart", "signed, wide", "0..20", "-7..9", "real in a range", "flush", "flush, lopsided"],
)
def test_what_is_published_is_as_private_as_claimed(name: str) -> None:
    plan = planned(name)
    entry, design, decoder = next(decoded(plan))
    delta, growth = plan.delta, Fraction(math.exp(entry.certificate.epsilon))
    assert delta is not None
    shift = plan.grid.sensitivity_in_steps(plan.requirement.sensitivity)
    low = 0 if decoder.first is None else decoder.first
    high = low + 60 if decoder.last is None else decoder.last
    for answer in sorted({low, (low + high) // 2, high - shift}):
        laws = [law_of(design, a) for a in (answer, answer + shift)]
        for first, second in (laws, laws[::-1]):
            assert lost([first], [second], growth) <= Fraction(delta) * (1 + Fraction(1, 10**9))


@pytest.mark.parametrize("name", ["half", "signed", "0..20", "real in a range", "flush"])
def test_what_is_said_of_the_law_is_the_list(name: str) -> None:
    plan = planned(name)
    design, decoder = plan.design, plan.design.decoder
    assert decoder is not None
    answer = 3 if plan.requirement.integer else 3.125
    steps = plan.answer_in_steps(answer)
    law, listed = plan.law_at(answer), law_of(design, steps)
    assert {y: p for y, p in zip(law.output.tolist(), law.probability.tolist(), strict=True) if p} == {
        y * plan.grid.step: weight / TOTAL for y, weight in listed.items() if weight
    }
    for output in sorted(listed)[:: max(1, len(listed) // 9)]:
        number = output * plan.grid.step
        assert plan.likelihood(number, [answer])[0] == listed[output] / TOTAL


@pytest.mark.parametrize("name", ["half", "signed", "0..20", "real in a range", "flush"])
def test_an_interval_holds_the_answer_as_often_as_it_says(name: str) -> None:
    plan = planned(name)
    for answer in (0, 4, 9) if plan.requirement.integer else (0.5, 4.0, 8.875):
        law = plan.law_at(answer)
        for confidence in (None, 0.95):
            low, high = plan.interval(law.output, confidence)
            holds = float(np.sum(law.probability[(low <= answer) & (answer <= high)]))
            assert holds >= (confidence or plan.confidence) - 1e-12


@pytest.mark.parametrize("name", ["half", "signed", "0..100", "real in a range", "flush"])
def test_draws_follow_the_law(name: str) -> None:
    plan, answer, count = planned(name), 5, 20_000
    with pytest.warns(InsecureTestSeedWarning):
        drawn = plan.release(np.full(count, answer), disjoint=True, insecure_test_seed=7).value
    law, seen = plan.law_at(answer), Counter(float(y) for y in drawn)
    listed = dict(zip(law.output.tolist(), law.probability.tolist(), strict=True))
    assert seen.keys() <= listed.keys()
    spread = sum((seen[y] - count * p) ** 2 / (count * p) for y, p in listed.items() if count * p > 5)
    cells = sum(count * p > 5 for p in listed.values())
    assert spread < cells + 5 * math.sqrt(2 * cells)


# ------------------------------------------------------------------------------------- the best there is


def answers_of(lows: list[int], highs: list[int]) -> Answers:
    """Answers 0, 1, ... with these acceptable outputs, and no others published."""
    size = len(lows)
    return Answers(
        parts=1,
        block=1,
        zero=min(lows),
        answers=np.arange(size),
        lowest=np.array(lows),
        highest=np.array(highs),
        floor=0,
        ceiling=size - 1,
        low=None,
        high=None,
    )


def law_with(weights: Index, wanted: int) -> Law:
    """Noise around 0 with these weights."""
    return Law(sums=np.concatenate(([0], np.cumsum(weights))), start=-(len(weights) // 2), wanted=wanted)


def few_answers(seed: int, size: int, reach: int) -> tuple[list[int], list[int], Index]:
    """Random acceptable outputs of so many answers, and the weights of noise that falls from the middle."""
    rng = np.random.default_rng(seed)
    lows = np.maximum.accumulate(np.arange(size) - rng.integers(0, 3, size)).clip(0).tolist()
    highs = [min(a + int(r), size - 1) for a, r in enumerate(rng.integers(0, 3, size))]
    half = np.sort(rng.integers(1, 9, reach + 1))
    weights = np.concatenate((half, half[:-1][::-1])).astype(np.int64) * (TOTAL // 128)
    weights[reach] += TOTAL - int(weights.sum())
    return lows, highs, weights


@pytest.mark.parametrize("seed", range(40))
def test_thresholds_lie_between_the_least_and_the_greatest_of_all_that_will_do(seed: int) -> None:
    """All thresholds that never fall are listed, with those that keep the confidence for every answer."""
    size, reach = 4, 2
    lows, highs, weights = few_answers(seed, size, reach)
    whole = answers_of(lows, highs)
    sums = {
        noisy: int(weights[: max(noisy + reach, 0)].sum()) for noisy in range(-reach - size, 2 * size + reach)
    }
    noisy = range(-reach, size + reach + 1)
    least_of_all, greatest_of_all = noisy[0], noisy[-1]
    for share in (0.3, 0.5, 0.7, 0.9):
        law = law_with(weights, int(share * TOTAL))
        fitting = []
        for inner in itertools.combinations_with_replacement(noisy, size - 1):
            t = (least_of_all, *inner, greatest_of_all)
            if all(sums[t[highs[a] + 1] - a] - sums[t[lows[a]] - a] >= law.wanted for a in range(size)):
                fitting.append(inner)
        least = whole.least(law)
        opposite = whole.mirrored().least(law.mirrored())
        decoder = whole.decoder(law)
        assert (least is None) == (opposite is None) == (decoder is None) == (not fitting)
        if least is not None and opposite is not None:
            zero = min(lows)
            inside = slice(1 - zero, size - zero)
            limits = least[inside], -opposite[::-1][inside]
            listed = np.array(fitting)
            assert np.array_equal(np.clip(limits[0], least_of_all, None), listed.min(axis=0))
            assert np.array_equal(np.clip(limits[1], None, greatest_of_all), listed.max(axis=0))


@pytest.mark.parametrize("seed", range(12))
def test_no_map_that_never_falls_does_better(seed: int) -> None:
    """All such maps are listed, of the few noisy numbers that occur."""
    size, reach = 5, 2
    lows, highs, weights = few_answers(seed, size, reach)
    noise = weights.tolist()
    region = CustomRegion(interval=lambda a: (lows[a], highs[a]), low=0, high=size - 1)
    maps = itertools.combinations_with_replacement(range(size), size + 2 * reach)
    # outputs[answer + n] is what is published for the answer and noise n - reach
    best = max(
        min(sum(w for n, w in enumerate(noise) if lows[a] <= outputs[a + n] <= highs[a]) for a in range(size))
        for outputs in maps
    )
    table = WeightTable(start=-reach, weights=weights)
    for wanted in (best, best + 1):
        found = answers_of(lows, highs).decoder(law_with(weights, wanted))
        assert (found is not None) == (wanted == best)
        if found is not None:
            assert int(found.weights(table, region)[1].min()) == best


@cache
def lined(name: str) -> tuple[Line, Problem]:
    requirement = planned(name).requirement
    grid = planned(name).grid
    goal = goal_on(grid, requirement)
    line = Line.of(grid, requirement, goal.confidence)
    assert line is not None
    return line, Problem(below=line.points // 2, above=line.points // 2, goal=goal)


@pytest.mark.parametrize("family", ["laplace", "gaussian", "staircase", "huber"])
@pytest.mark.parametrize(
    "name", ["half", "tenth", "signed", "far apart", "several", "0..40", "-7..9", "real", "flush, lopsided"]
)
def test_the_scale_has_a_decoder_and_wider_noise_has_none(name: str, family: str) -> None:
    line, problem = lined(name)
    shape = _shape(family, problem)
    scale = widest(line, shape)
    assert line.decoded(shape.kernel(scale)) is not None
    assert all(_fits(line, shape, scale * share) for share in (0.05, 0.5, 0.9, 0.999))
    assert not any(_fits(line, shape, scale * share) for share in (1 + 1.01 * CLOSE, 1.01, 1.1, 1.5, 4.0))


def best_confidence(lows: list[int], highs: list[int], outputs: int, epsilon: float, delta: float) -> float:
    """The linear program over all laws, one for each answer: the largest confidence at (epsilon, delta)."""
    answers, growth = len(lows), math.exp(epsilon)
    pairs = [(a, b) for a in range(answers) for b in (a - 1, a + 1) if 0 <= b < answers]
    width = (answers + len(pairs)) * outputs + 1
    entries: list[tuple[int, int, float]] = []
    most: list[float] = []
    for k, (a, b) in enumerate(pairs):
        for y in range(outputs):
            spare = (answers + k) * outputs + y
            terms = ((a * outputs + y, 1.0), (b * outputs + y, -growth), (spare, -1.0))
            entries += [(len(most), *term) for term in terms]
            most.append(0.0)
        entries += [(len(most), (answers + k) * outputs + y, 1.0) for y in range(outputs)]
        most.append(delta)
    for a in range(answers):
        entries += [(len(most), a * outputs + y, -1.0) for y in range(lows[a], highs[a] + 1)]
        entries.append((len(most), width - 1, 1.0))
        most.append(0.0)
    rows, columns, values = zip(*entries, strict=True)
    sums: Any = coo_array(
        (np.ones(answers * outputs), (np.repeat(np.arange(answers), outputs), np.arange(answers * outputs))),
        shape=(answers, width),
    )
    cost = np.zeros(width)
    cost[-1] = -1.0
    limits: Any = coo_array((values, (rows, columns)), shape=(len(most), width))
    found: Any = linprog(cost, A_ub=limits, b_ub=most, A_eq=sums, b_eq=np.ones(answers))
    return -float(found.fun)


@pytest.mark.parametrize(("name", "last", "near"), [("half", 12, 0.98), ("0..20", 20, 0.998)])
def test_no_mechanism_at_all_does_much_better(name: str, last: int, near: float) -> None:
    """With `near` times the epsilon no laws, one for each of some of the answers, keep the confidence."""
    plan = planned(name)
    region, bounds = plan.requirement.region, plan.requirement.bounds
    below, above = region.offsets(np.arange(last + 1.0))
    lows = np.maximum(np.arange(last + 1) - np.floor(below).astype(int), 0).tolist()
    highs = (np.arange(last + 1) + np.floor(above).astype(int)).tolist()
    if bounds is not None:
        highs = [min(high, last) for high in highs]
    assert plan.delta is not None
    reached = best_confidence(lows, highs, max(highs) + 1, plan.epsilon * near, plan.delta)
    assert reached < plan.requirement.confidence
    assert best_confidence(lows, highs, max(highs) + 1, plan.epsilon, plan.delta) >= plan.confidence - 1e-6


# ------------------------------------------------------------------------------------------------ ranges


def test_a_number_that_suits_every_answer_costs_nothing() -> None:
    plan = pbdp.plan(within=5, range=(0, 10), confidence=0.9, sensitivity=1, delta=1e-6, integer=True)
    assert (plan.epsilon, plan.confidence) == (0.0, 1.0)
    assert plan.release([0, 3, 10], disjoint=True) == [5, 5, 5]
    assert plan.interval(5) == (0, 10)


@pytest.mark.parametrize(
    ("within", "ends", "most"),
    [(5, (0, 10), 0.0), (0.25, (-0.25, 0.25), 0.0), (5, (0, 20), 0.3223), (5, (-20, 20), 0.4186)],
)
def test_a_real_range_of_so_many_widths_takes_no_region_more(
    within: float, ends: tuple[float, float], most: float
) -> None:
    """Rounding to the nearest would lose a step of each width: 0.3227 in 0..10, 0.392 in 0..20."""
    asked: dict[str, Any] = {"range": ends, "confidence": 0.9, "sensitivity": 1, "delta": 1e-6}
    plan = pbdp.plan(within=within, families=("laplace",), **asked)
    assert isinstance(plan.grid, LinearGrid)
    assert plan.grid.down
    assert plan.epsilon <= most
    # a little more width is as good, but for what rounding takes: one step of 512 on either side
    assert plan.epsilon <= 1.004 * pbdp.plan(within=1.002 * within, families=("laplace",), **asked).epsilon


def test_other_ranges_are_not_rounded_down() -> None:
    asked: dict[str, Any] = {"confidence": 0.9, "sensitivity": 1, "delta": 1e-6, "families": ("laplace",)}
    for more in ({"within": 0.1, "range": (0, 1)}, {"within": 5, "range": (0.1, 20)}, {"within": 5}):
        grid = pbdp.plan(**asked, **more).grid
        assert isinstance(grid, LinearGrid)
        assert not grid.down


@pytest.mark.parametrize("name", ["real in a range", "real"])
def test_answers_of_another_plan_cannot_be_said_to_be_rounded_down(name: str) -> None:
    record = plan_record(planned(name))
    record["mechanism"]["grid"]["down"] = True
    with pytest.raises(PlanFileError):
        plan_from_record(record)


def test_the_sensitivity_is_at_most_the_length_of_the_range() -> None:
    asked: dict[str, Any] = {
        "within": 2,
        "confidence": 0.9,
        "delta": 1e-6,
        "integer": True,
        "range": (0.5, 9.5),
    }
    assert pbdp.plan(sensitivity=100, **asked) == pbdp.plan(sensitivity=8, **asked)
    scale: dict[str, Any] = {"range": (0, 3), "scale": 1, "confidence": 0.8, "delta": 1e-6}
    assert pbdp.plan(sensitivity=50, **scale).requirement.sensitivity == 3


def test_a_range_without_a_whole_number_is_refused() -> None:
    with pytest.raises(pbdp.InputError, match="holds a whole number"):
        pbdp.plan(within=5, range=(0.2, 0.8), confidence=0.9, sensitivity=1, delta=1e-6, integer=True)


# ------------------------------------------------------------------------------------------------- files


@pytest.mark.parametrize("name", ["half", "signed", "0..20", "real in a range", "several", "rényi", "flush"])
def test_a_plan_with_a_decoder_is_read_as_it_was_written(name: str, tmp_path: Path) -> None:
    planned(name).save(tmp_path / "plan.json")
    assert pbdp.Plan.load(tmp_path / "plan.json") == planned(name)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("outputs", lambda old: [y + 1 for y in old]),
        ("outputs", lambda old: old[::-1]),
        ("outputs", lambda old: [float(y) for y in old]),
        ("edges", lambda old: [edge + 16 for edge in old]),
        ("edges", lambda old: old[1:]),
        ("parts", lambda old: old // 2),
        ("parts", lambda old: old + 1),
        ("first", lambda old: old + 1),
        ("last", lambda old: old - 1),
        ("last", lambda _: None),
    ],
)
def test_a_decoder_that_was_changed_is_refused(field: str, value: Any) -> None:
    record = plan_record(planned("0..20"))
    decoder = record["mechanism"]["decoder"]
    decoder[field] = value(decoder[field])
    with pytest.raises(PlanFileError):
        plan_from_record(record)


def test_it_says_what_a_decoder_does() -> None:
    (decoder,) = [line for line in explanation(planned("half")) if "decoder" in line]
    assert "takes epsilon from 0.6246 to 0.1858" in decoder
    constant = pbdp.plan(within=5, range=(0, 10), confidence=0.9, sensitivity=1, delta=1e-6, integer=True)
    assert explanation(constant) == [
        "5 meets the requirement for every answer: it is published whatever the data are."
    ]


def test_whole_numbers_are_published_for_whole_answers() -> None:
    assert planned("half").grid == whole_numbers()
    assert isinstance(planned("half").release(7), int)


# ------------------------------------------------------------------------------------------- what is compared


def test_families_that_cannot_win_are_decoded_when_alternatives_are_asked_for() -> None:
    asked: dict[str, Any] = {"within": "50%+2.5", "confidence": 0.8, "sensitivity": 1, "delta": 1e-6}
    plan = pbdp.plan(**asked)
    assert plan.design.name.endswith("decoded")
    epsilons = {entry.design.name: entry.certificate.epsilon for entry in plan.others}
    assert epsilons.keys() > {
        "gaussian, decoded",
        "huber, decoded",
        "laplace",
        "gaussian",
    }
    assert min(epsilons["gaussian, decoded"], epsilons["huber, decoded"]) > 1.01 * plan.epsilon


def test_other_families_that_are_asked_for_win_where_delta_is_large() -> None:
    asked: dict[str, Any] = {"within": "10%+726", "confidence": 0.9, "sensitivity": 1, "delta": 1e-4}
    plan = pbdp.plan(integer=True, families=("laplace", "huber"), **asked)
    assert plan.design.name == "huber, decoded"
    laplace = next(entry for entry in plan.others if entry.design.name == "laplace, decoded")
    assert laplace.certificate.epsilon > 1.02 * plan.epsilon


def test_noise_on_a_log_scale_is_looked_at_where_it_may_win() -> None:
    plan = pbdp.plan(within="5%+10", confidence=0.9, sensitivity=200, delta=1e-6, integer=True)
    names = [entry.design.name for entry in (plan.chosen, *plan.others)]
    assert plan.design.name.endswith("log scale")
    assert len([name for name in names if "log scale" in name]) >= 2


@pytest.mark.parametrize("family", ["huber", "gaussian"])
def test_any_family_that_is_asked_for_is_decoded(family: str) -> None:
    asked: dict[str, Any] = {"within": "20%+5", "confidence": 0.9, "sensitivity": 1, "delta": 1e-6}
    for integer in (True, False):
        alone = pbdp.plan(integer=integer, families=(family,), **asked)
        assert alone.design.name == f"{family}, decoded"
        assert alone.epsilon > pbdp.plan(integer=integer, **asked).epsilon


def huber(knee: float, sigma: float) -> LatticeKernel:
    return Huber(sigma=sigma, knee=knee).on_grid()


def test_the_knee_of_huber_noise_is_nearly_the_best_one() -> None:
    """No other knee saves 0.5 %: they are listed, each at its widest scale."""
    plan, (line, problem) = planned("several"), lined("several")
    assert isinstance(plan.design, Design)
    known = plan.design.kernel
    assert isinstance(known, GridKernel)
    assert isinstance(known.continuous, Huber)
    for share in (0.6, 0.8, 1.25, 1.6):
        shape = replace(_shape("huber", problem), kernel=partial(huber, share * known.continuous.knee))
        other = line.decoded(shape.kernel(widest(line, shape)))
        assert other is not None
        entry = certified(plan.requirement, other)
        assert entry is not None
        assert entry.certificate.epsilon > 0.995 * plan.epsilon


def test_answers_are_looked_at_as_far_as_that_can_be_done() -> None:
    asked: dict[str, Any] = {"within": "0.518%+2.972", "confidence": 0.8, "sensitivity": 1, "delta": 7.95e-05}
    plan = pbdp.plan(**asked, integer=True, releases=2, families=("laplace",))
    assert plan.epsilon < 1.1237


def test_noise_for_wide_floors_is_decoded_on_steps_that_suit_the_sensitivity() -> None:
    """On a finer grid decoders would end before noise is as wide as they allow."""
    asked: dict[str, Any] = {"confidence": 0.9, "delta": 1e-6, "nonnegative": True}
    real = pbdp.plan(within="40%+1690", sensitivity=2.2, **asked)
    whole = pbdp.plan(within="40%+16900", sensitivity=22, integer=True, **asked)
    assert real.grid.step == pytest.approx(2.2, rel=2e-3)
    assert whole.grid.step == 11
    # within the floor alone costs 0.003
    assert whole.epsilon == pytest.approx(real.epsilon, rel=5e-3)
    assert real.epsilon < 0.0013
    assert float(whole.release(100_000)) % 11 == 0


@pytest.mark.parametrize(
    ("ends", "wider"), [((0.2, 0.4), 0.0), ((0, 0.4), 0.163), ((0, 0.5), None), ((0, 0.2), 0.0)]
)
def test_a_range_of_a_whole_number_of_widths_says_what_a_hair_more_costs(
    ends: tuple[float, float], wider: float | None
) -> None:
    plan = pbdp.plan(within=0.1, range=ends, confidence=0.9, sensitivity=0.01, delta=1e-6)
    found = a_hair_wider(plan)
    assert (found is None) == (wider is None)
    if found is not None and wider is not None:
        assert found.epsilon <= wider + 1e-12
        assert any("A hair more width" in line for line in warned(plan))
