"""Surveys in words: what was planned, what it beat, what was estimated, and which reports were left out."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from pbdp.cli.words.layout import columns, facts, paragraph
from pbdp.cli.words.releases import insecure_words
from pbdp.digits import (
    delta_text,
    epsilon_text,
    outward,
    percent_down,
    percent_up,
    rounded_down,
    rounded_up,
)
from pbdp.local.distribution import Distribution
from pbdp.local.domain import CategoryDomain, Domain, ScaleDomain
from pbdp.local.estimate import GUARANTEED, NORMAL, SCORE, Estimate
from pbdp.local.goal import Goal, LeastError, LeastMeanError, ReportWithin, Within
from pbdp.local.plan import CUMULATIVE, Candidate, LocalPlan
from pbdp.local.questions import ALL, ONE
from pbdp.local.randomizers import BOOSTED, SPLIT
from pbdp.local.shape import DISTRIBUTION, LeastShapeError

if TYPE_CHECKING:
    from pbdp.cli.local.estimate import Read
    from pbdp.local.mechanism import LocalMechanism
    from pbdp.local.questions import Asked, QuestionPlan
    from pbdp.local.shuffled import Shuffled

Facts = list[tuple[str, str]]

# Ratios to the limit: below this one it is reached to rounding, from that one on it is shown as a multiple.
REACHED, FAR = 1 + 1e-5, 1.5
# Of all people who send false reports, for an example.
FALSE = 0.01


# ------------------------------------------------------------------------------------------ plans


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
        NORMAL: "by the normal law",
    }[method]
    return f"with confidence {percent_down(confidence)} ({held}; {proved})"


def _goal(goal: Goal) -> str:
    who = "" if goal.expected is None else ", for the people expected"
    if isinstance(goal, ReportWithin):
        if goal.confidence is None:
            return f"reports near the true answer, {goal.region.words}, as often as possible"
        return f"every report {goal.region.words} with confidence {percent_down(goal.confidence)}"
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
    return f"least error, categories counting {goal.category:g} and values {1 - goal.category:g}{who}"


def _mechanism(chosen: Candidate, goal: Goal) -> str:
    if chosen.family == SPLIT and chosen.setting is not None:
        asked = percent_up(chosen.setting)
        return f"{SPLIT}: {asked} of people are asked for their category, the others for the value"
    if chosen.epsilon0 is None or chosen.family != BOOSTED:
        return chosen.family
    if chosen.value_error is None:
        both = "" if isinstance(goal, ReportWithin) else " (--goal 0.5 is for both)"
        meaning = f": for categories only{both}"
    else:
        meaning = " (from 0, for categories only, to epsilon, plain response)"
    return f"{chosen.family}, epsilon0 {epsilon_text(chosen.epsilon0)}{meaning}"


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
        what = "the distribution is off by" if goal.kind == DISTRIBUTION else "deciles are off by"
        return [("Accuracy", f"{what} {rounded_up(chosen.cost)} {unit}, with {users:,} people{more}")]
    if "mean" in chosen.errors:
        error = rounded_up(chosen.errors["mean"] / math.sqrt(users))
        return [("Accuracy", f"the mean is off by {error} (root mean square, at most)"), ("", with_users)]
    kinds = ["category", "value"] if plan.domain.grouped else ["value"]
    parts = [f"a {kind}'s by {_error(chosen.errors[kind], users)}" for kind in kinds if kind in chosen.errors]
    if not parts:
        return [("Accuracy", "of estimates: none of shares; the reports are for what they say one by one")]
    said = f"shares are off (root mean square, at most): {', '.join(parts)} of all people"
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
        moved = plan.goal.moved_by(plan.mechanism, FALSE)
        said = f"{percent_up(FALSE)} of false reports, all the same, moved the distribution"
        lines = [("Poisoning", f"{said} by {rounded_up(moved)} (simulated; no bound is proved)")]
        reach = plan.false_report.get(CUMULATIVE)
        if reach is not None:
            curve = "a false report moves the cumulative curve that intervals are of, which is not smoothed,"
            few = f"{percent_up(FALSE)} of them by up to {percent_up(min(FALSE * reach, 1.0))}"
            lines.append(("", f"{curve} by up to {rounded_up(reach, 3)} people (proved); {few}"))
        return lines
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
    boosted = any(entry.family == BOOSTED for entry in (plan.chosen, *plan.others))
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
    cells = ["*" * (entry is plan.chosen), entry.family, rounded_up(entry.epsilon)]
    cells += [] if entry.central is None else [rounded_up(entry.central.epsilon)]
    if boosted:
        own = entry.epsilon0 if entry.family == BOOSTED else None
        cells.append("" if own is None else epsilon_text(own))
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
        people = "the worst people" if goal.expected is None else "the people expected"
        return f"All of these estimates are unbiased; errors are for {people}."
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
        rows.append(["", one.question.name, chosen.plan.chosen.family, *errors])
    why = (
        "Errors are root mean squares for everyone, for the worst people; those of one question each include "
        "that a random part of the people was asked."
    )
    return f"{facts(lines)}\n\n{columns(rows, right=(3, 4))}\n\n{paragraph(why)}\n"


def _question_error(asked: Asked) -> str:
    return percent_up(asked.error) if isinstance(asked.question.goal, LeastError) else rounded_up(asked.error)


# ------------------------------------------------------------------------------------------ reports


def report_notes(mechanism: LocalMechanism, seed: int | None) -> tuple[str, ...]:
    """What a report costs, and the warning of a test seed."""
    cost = (
        f"Survey {mechanism.fingerprint}: a report costs its person epsilon {rounded_up(mechanism.epsilon)}."
    )
    said = (cost, mechanism.risk_words())
    return said if seed is None else (*said, insecure_words(seed, "collect"))


# ------------------------------------------------------------------------------------------ estimates


def estimate_words(
    mechanism: LocalMechanism, found: Estimate | Distribution, *, of: str, joint: bool, read: Read
) -> str:
    """A short head and the table, with intervals rounded outwards."""
    sure = confidence_words(found.confidence, joint=joint, method=found.method)
    refused = sum(read.counts.refused.values())
    lines = [
        ("Survey", f"{mechanism.fingerprint}, {mechanism.kind}, epsilon {rounded_up(mechanism.epsilon)}"),
        ("Reports", f"{found.users:,} used, {refused:,} refused"),
    ]
    if read.asked is not None:
        answered = percent_down(found.users / read.asked)
        missing = read.asked - found.users
        lines.append(
            (
                "Asked",
                f"{read.asked:,} people, {answered} reported; "
                f"nothing is estimated about the other {missing:,}",
            )
        )
    lines.append(("Intervals", f"hold the truth {sure}"))
    if isinstance(found, Estimate):
        if found.biased:
            lines.append(
                ("Estimates", "projected to a valid histogram: BIASED; intervals are of the unbiased ones")
            )
        rows = _mean_rows(found) if found.kind == "mean" else _people_rows(found)
    else:
        lines.append(("Estimates", _shape_words(found)))
        rows = _quantile_rows(found) if of == "quantile" else _curve_rows(found)
    return f"{facts(lines)}\n\n{columns(rows, right=tuple(range(1, len(rows[0]))))}"


def _shape_words(found: Distribution) -> str:
    how = "smoothed (EM): BIASED at peaks and edges" if found.smoothed else "cut at zero: BIASED"
    return f"{how}; intervals are of the unbiased curve; mean {rounded_up(found.mean)}"


def _people_rows(found: Estimate) -> list[list[str]]:
    rows = [[found.kind, "estimate", "low", "high", "share"]]
    rows += [
        [
            str(name),
            f"{round(people):,}",
            f"{math.floor(low):,}",
            f"{math.ceil(high):,}",
            f"{100 * share:z.2f} %",
        ]
        for name, people, low, high, share in zip(
            found.names,
            found.people.tolist(),
            found.low.tolist(),
            found.high.tolist(),
            found.share.tolist(),
            strict=True,
        )
    ]
    return rows


def _mean_rows(found: Estimate) -> list[list[str]]:
    low, high = outward(float(found.low[0] / found.users), float(found.high[0] / found.users))
    return [["", "estimate", "low", "high"], ["mean", f"{found.share[0]:.6g}", low, high]]


def _quantile_rows(found: Distribution) -> list[list[str]]:
    rows = [["people below", "value", "low", "high"]]
    return rows + [
        [percent_down(level), str(value), str(low), str(high)]
        for level, value, low, high in found.quantiles()
    ]


def _curve_rows(found: Distribution) -> list[list[str]]:
    rows = [["value", "share", "up to it", "low", "high"]]
    columns_of = (found.share, found.cumulative, found.low, found.high)
    return rows + [
        [str(name), *(f"{100 * figure:.2f} %" for figure in figures)]
        for name, *figures in zip(found.names, *(column.tolist() for column in columns_of), strict=True)
    ]


def estimate_notes(found: Estimate | Distribution, read: Read) -> tuple[str, ...]:
    """What was refused in which file, what is alarming, and the mark of a test seed."""
    said = []
    for file in read.files:
        refused = file.counts.refused_reports
        if refused:
            sent = refused + file.counts.users
            reasons = ", ".join(f"{count:,} {why}" for why, count in file.counts.refused.items())
            said.append(f"{file.name}: refused {refused:,} of {sent:,} reports: {reasons}")
        if not file.said:
            said.append(f"{file.name}: has no column `survey`, so reports of another survey cannot be told")
    said += [f"ALARM: {alarm.words} (p at most {rounded_up(alarm.p_value, 2)})" for alarm in read.alarms]
    if isinstance(found, Estimate) and found.biased:
        said.append("The estimates are biased: they were projected to a valid histogram.")
    if found.insecure_test:
        said.append("INSECURE: some reports were drawn from a test seed; they protect nothing.")
    return tuple(said)
