"""Plans of surveys in words: what was planned, what it beat, and what no randomizer can go below."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from pbdp.digits import (
    delta_text,
    epsilon_text,
    percent_down,
    percent_up,
    rounded_down,
    rounded_up,
)
from pbdp.local import Domain, LeastError, LeastMeanError, LeastShapeError, LocalPlan, ReportWithin, Within
from pbdp.local.distributions import DISTRIBUTION
from pbdp.local.domain import CategoryDomain, ScaleDomain
from pbdp.local.estimates import GUARANTEED, SCORE
from pbdp.local.goal import Goal
from pbdp.local.plan import CUMULATIVE, Candidate
from pbdp.local.questions import ALL, ONE
from pbdp.local.user_split import UserSplit
from pbdp.mechanism.weights import TOTAL
from pbdp.report.text import columns, facts, paragraph

if TYPE_CHECKING:
    from pbdp.local.questions import Asked, QuestionPlan
    from pbdp.local.shuffling import Shuffled

Facts = list[tuple[str, str]]

# Ratios to the limit: below this one it is reached to rounding, from that one on it is shown as a multiple.
REACHED, FAR = 1 + 1e-5, 1.5
# Of all people who send false reports, for an example.
FALSE = 0.01


def survey_words(plan: LocalPlan, users: int, *, stated: bool, central: Shuffled | None = None) -> str:
    """The plan as a short table; errors are those with `users` people."""
    chosen, goal = plan.chosen, plan.goal
    lines = [
        ("Answers", domain_words(plan.domain)),
        ("Goal", _goal(goal)),
        ("Mechanism", _mechanism(chosen, goal)),
        ("Privacy", f"epsilon {rounded_up(plan.epsilon)} per report   (certified)"),
        ("", plan.mechanism.risk_words()),
        *_shuffled(central),
        ("One report", _report(plan)),
        *_accuracy(plan, users, stated=stated),
        *_limit(plan, users, shuffled=central is not None),
        *_false(plan),
        ("A report is", plan.mechanism.report_words),
        ("Survey", f"{plan.mechanism.fingerprint} (sent with every report)"),
    ]
    head = f"{facts(lines)}\n\nCompared (* is this plan), the best first:"
    return f"{head}\n{_table(plan, users)}\n\n{paragraph(_assumed(goal))}\n"


def domain_words(domain: Domain) -> str:
    """How many values there are, and how they belong together."""
    kind = "whole numbers" if isinstance(domain.values[0], int) else "texts"
    words = f"{domain.count:,} {kind}, {domain.values[0]} to {domain.values[-1]}"
    if isinstance(domain, ScaleDomain):
        return f"{words}; the {domain.width} nearest belong together on a {'ring' if domain.ring else 'line'}"
    if not isinstance(domain, CategoryDomain) or not domain.grouped:
        return f"{words}; no categories"
    least, most = min(domain.sizes), max(domain.sizes)
    sizes = f"{most}" if least == most else f"{least} to {most}"
    return f"{words}; {len(domain.sizes):,} categories of {sizes} values"


def confidence_words(confidence: float, *, joint: bool, method: str) -> str:
    """How sure, for what, and proved in which way."""
    held = "all together" if joint else "each"
    proved = {
        GUARANTEED: "proved for any number of people",
        SCORE: "score intervals",
    }[method]
    return f"with confidence {percent_down(confidence)} ({held}; {proved})"


def _goal(goal: Goal) -> str:
    who = "" if goal.expected is None else ", for the people expected"
    if isinstance(goal, ReportWithin):
        if goal.confidence is None:
            return f"reports {goal.region.words} as often as possible"
        return f"every report {goal.region.words}, with confidence {percent_down(goal.confidence)}"
    if isinstance(goal, Within):
        ((kind, width),) = goal.widths.items()
        sure = confidence_words(goal.confidence, joint=goal.joint, method=goal.method)
        if kind == "mean":
            return f"the mean within {rounded_up(width)} of the truth, {sure}{who}"
        return f"shares of a {kind} within {percent_up(width)} of all people, {sure}{who}"
    if isinstance(goal, LeastMeanError):
        return f"least error of the mean{who}"
    if isinstance(goal, LeastShapeError):
        what = "distance from the true distribution" if goal.kind == DISTRIBUTION else "error of the deciles"
        return f"least {what}, of {goal.users:,} people{who}"
    if not isinstance(goal, LeastError):
        raise AssertionError("there are five kinds of goal")
    if goal.category in (0, 1):
        return f"least error of {'categories' if goal.category else 'values'}{who}"
    return f"least error, weighing categories {goal.category:g} and values {1 - goal.category:g}{who}"


def _mechanism(chosen: Candidate, goal: Goal) -> str:
    if isinstance(chosen.mechanism, UserSplit) and chosen.mechanism.of_value is not None:
        asked = percent_up(chosen.mechanism.share / TOTAL)
        return f"{chosen.name}: {asked} of people are asked for their category, the others for the value"
    if chosen.epsilon0 is None:
        return chosen.name
    if chosen.value_error is None:
        both = "" if isinstance(goal, ReportWithin) else " (--goal 0.5 is for both)"
        meaning = f": for categories only{both}"
    else:
        meaning = " (from 0, for categories only, to epsilon, plain response)"
    return f"{chosen.name}, epsilon0 {epsilon_text(chosen.epsilon0)}{meaning}"


def _shuffled(central: Shuffled | None) -> Facts:
    if central is None:
        return []
    cost = f"epsilon {rounded_up(central.epsilon)} at delta {delta_text(central.delta)}"
    return [
        ("Shuffled", f"{cost} once the reports of {central.users:,} people are shuffled   (certified)"),
        ("", "holds for reports without names, times or order, whatever the others answer"),
    ]


def _report(plan: LocalPlan) -> str:
    """How near to the truth one report is, and how near it could be."""
    most = percent_up(plan.most_confidence)
    where = plan.region.words if int(plan.region.size.max()) > 1 else "the true answer"
    if plan.chosen.near is None:
        none = f"at this epsilon no report could be {where} more than {most} of the time"
        return f"is not an answer by itself; {none}"
    near = percent_down(plan.chosen.near)
    return f"is {where} with confidence {near}; at this epsilon no more than {most} is possible"


def _accuracy(plan: LocalPlan, users: int, *, stated: bool) -> Facts:
    """Root mean squared errors for the worst truth (or the one expected), rounded up."""
    chosen, goal = plan.chosen, plan.goal
    more = "" if stated else " (say how many with --users)"
    with_users = f"with {users:,} people{more}; four times as many halve it"
    if isinstance(goal, LeastShapeError):
        unit = "on average (simulated)"
        what = "the distance from the truth is" if goal.kind == DISTRIBUTION else "the error of deciles is"
        return [("Accuracy", f"{what} {rounded_up(chosen.cost)} {unit}, with {users:,} people{more}")]
    if "mean" in chosen.errors:
        error = rounded_up(chosen.errors["mean"] / math.sqrt(users))
        return [("Accuracy", f"the mean has a standard error of at most {error}"), ("", with_users)]
    kinds = ["category", "value"] if plan.domain.grouped else ["value"]
    plural = {"category": "categories", "value": "values"}
    parts = [
        f"{_error(chosen.errors[kind], users)} for {plural[kind]}" for kind in kinds if kind in chosen.errors
    ]
    if not parts:
        return [("Accuracy", "shares are not estimated; each report is meant to be read by itself")]
    said = f"shares have a standard error (root mean square) of at most {' and '.join(parts)}"
    return [("Accuracy", said), *_widest(goal, chosen), ("", with_users)]


def _widest(goal: Goal, chosen: Candidate) -> Facts:
    if not isinstance(goal, Within):
        return []
    # the cost is the widest interval as a multiple of the one asked for
    widest = max(chosen.cost * width for width in goal.widths.values())
    return [("", f"the widest interval is {percent_up(widest)} to each side")]


def _limit(plan: LocalPlan, users: int, *, shuffled: bool) -> Facts:
    """How far the plan is from what nothing can go below, where that is known."""
    limit, ratio = plan.limit, plan.above_limit
    if limit is None or ratio is None:
        return []
    least = {
        "epsilon": f"epsilon {rounded_down(limit.value)}",
        "misses": f"elsewhere {percent_down(limit.value)} of the time",
        "error": f"an error {_in_error(plan, limit.value, users)}",
    }[limit.figure]
    if ratio < REACHED:
        above = "reaches it"
    elif ratio < FAR:
        above = f"is {rounded_up(100 * (ratio - 1), 2)} % above it"
    else:
        above = f"is {rounded_up(ratio, 3)} times that"
    # after shuffling, one that costs more before it may cost the same
    where = ""
    if shuffled:
        where = " before shuffling" if limit.figure == "epsilon" else " with this epsilon before shuffling"
    return [("Limit", f"{least}: no {limit.subject} can do better{where}; this plan {above}")]


def _in_error(plan: LocalPlan, value: float, users: int) -> str:
    figure = value / math.sqrt(users)
    if isinstance(plan.goal, LeastMeanError):
        return f"of {rounded_down(figure)}"
    weighed = isinstance(plan.goal, LeastError) and 0 < plan.goal.category < 1
    return f"of {percent_down(figure)}{' averaged over both with these weights' if weighed else ''}"


def _false(plan: LocalPlan) -> Facts:
    """What false reports can do at most."""
    if isinstance(plan.goal, LeastShapeError):
        reach = plan.false_report.get(CUMULATIVE)
        if reach is None:
            return []
        curve = "a false report moves the unbiased cumulative curve"
        few = f"{percent_up(FALSE)} of them by up to {percent_up(min(FALSE * reach, 1.0))}"
        return [("Poisoning", f"{curve} by up to {rounded_up(reach, 3)} people; {few}")]
    moves = plan.false_report
    # what the plan is for, if it is for an estimate
    asked = [kind for kind in ("mean", "category", "value") if kind in (plan.goal.needs or moves)]
    kind = next((kind for kind in asked if kind in moves), None)
    if kind is None:
        return []
    if kind == "mean":
        few = f"{percent_up(FALSE)} of false reports move the mean by up to {rounded_up(FALSE * moves[kind])}"
        return [("Poisoning", few)]
    each = f"a false report counts as up to {rounded_up(moves[kind], 3)} people in a {kind}"
    few = f"{percent_up(FALSE)} of them move its share by up to {percent_up(FALSE * moves[kind])}"
    return [("Poisoning", f"{each}; {few}")]


def _error(error: float, users: int) -> str:
    return percent_up(error / math.sqrt(users))


def _table(plan: LocalPlan, users: int) -> str:
    """The mechanisms that were compared, with what matters for the goal."""
    goal, grouped = plan.goal, plan.domain.grouped
    header = ["", "mechanism", "epsilon"]
    boosted = any(entry.epsilon0 is not None for entry in (plan.chosen, *plan.others))
    header += ["shuffled"] * (plan.chosen.central is not None)
    header += ["epsilon0"] * boosted
    if isinstance(goal, ReportWithin):
        header += ["confidence"]
    elif isinstance(goal, LeastShapeError):
        header += ["distance" if goal.kind == DISTRIBUTION else "error of deciles"]
    elif "mean" in goal.needs:
        header += ["error of the mean"]
    else:
        header += [*(["category error"] * grouped), "value error"]
    rows = [_row(plan, entry, users, boosted) for entry in (plan.chosen, *plan.others)]
    return columns([header, *rows], right=tuple(range(2, len(header))))


def _row(plan: LocalPlan, entry: Candidate, users: int, boosted: bool) -> list[str]:
    goal = plan.goal
    cells = ["*" * (entry is plan.chosen), entry.name, rounded_up(entry.epsilon)]
    cells += [] if entry.central is None else [rounded_up(entry.central.epsilon)]
    if boosted:
        cells.append("" if entry.epsilon0 is None else epsilon_text(entry.epsilon0))
    if isinstance(goal, ReportWithin):
        return [*cells, "-" if entry.near is None else percent_down(entry.near)]
    if isinstance(goal, LeastShapeError):
        return [*cells, rounded_up(entry.cost)]
    if "mean" in goal.needs:
        error = entry.errors.get("mean")
        return [*cells, "-" if error is None else rounded_up(error / math.sqrt(users))]
    errors = [entry.category_error, entry.value_error] if plan.domain.grouped else [entry.value_error]
    return [*cells, *("-" if error is None else _error(error, users) for error in errors)]


def _assumed(goal: Goal) -> str:
    """What the figures compared assume about the people."""
    if isinstance(goal, ReportWithin):
        return "No assumption about the people: each figure holds for the worst answer."
    if not isinstance(goal, LeastShapeError):
        people = "worst-case over all answers" if goal.expected is None else "those of the people expected"
        return f"All of these estimates are unbiased; errors are {people}."
    shapes = "four shapes (even, one hill, two hills, falling)"
    people = shapes if goal.expected is None else "the people expected"
    return (
        f"Errors are of simulated surveys of {people}. The square wave is smoothed (EM): it assumes a "
        "smooth distribution, and is BIASED where there are peaks, heaps at round numbers or edges. The "
        "others assume nothing, but their negative shares are cut at zero, which is biased too."
    )


def questions_words(made: QuestionPlan) -> str:
    """Both ways to ask, question by question."""
    number = len(made.asked)
    each = rounded_up(made.asked[0].plan.epsilon)
    better = {
        ONE: f"each person answers one of the {number} questions, drawn at random, with all of epsilon",
        ALL: f"each person answers all {number} questions, with epsilon {each} for each",
    }[made.way]
    lines = [
        ("Questions", f"{number}, of {made.users:,} people"),
        ("Privacy", f"epsilon {rounded_up(made.epsilon)} for all that a person reports   (certified)"),
        ("Way", better),
    ]
    rows = [["", "question", "mechanism", "one each", "all"]]
    for one, every in zip(made.ways[ONE], made.ways[ALL], strict=True):
        chosen = one if made.way == ONE else every
        errors = [_question_error(one), _question_error(every)]
        rows.append(["", one.question.name, chosen.plan.chosen.name, *errors])
    why = (
        "Errors are root mean squares for everyone, worst-case over all answers; those of one question each "
        "include that a random part of the people was asked."
    )
    return f"{facts(lines)}\n\n{columns(rows, right=(3, 4))}\n\n{paragraph(why)}\n"


def _question_error(asked: Asked) -> str:
    return percent_up(asked.error) if isinstance(asked.question.goal, LeastError) else rounded_up(asked.error)
