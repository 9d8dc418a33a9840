"""Surveys in words: what was planned, what it beat, what was estimated, and which reports were left out."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from pbdp.cli.words.layout import columns, facts
from pbdp.cli.words.plans import insecure_words
from pbdp.digits import epsilon_text, percent_down, percent_up, rounded_up
from pbdp.local.domain import CategoryDomain, Domain, ScaleDomain
from pbdp.local.estimate import GUARANTEED, Estimate
from pbdp.local.goal import Goal, LeastError, Within
from pbdp.local.plan import Candidate, LocalPlan

if TYPE_CHECKING:
    from pbdp.cli.local.reports import Collected
    from pbdp.local.mechanism import LocalMechanism

BOOSTED = "boosted response"
REPORTS = {
    BOOSTED: "one of the values",
    "unary encoding": "a text of hexadecimal digits, a bit for each value",
    "local hashing": "a whole number that stands for a random hash and what it gave",
}


# ------------------------------------------------------------------------------------------ plans


def survey_words(plan: LocalPlan, domain: Domain, users: int, *, stated: bool) -> str:
    """The plan as a short table; errors are those with `users` people."""
    chosen, goal = plan.chosen, plan.goal
    more = "" if stated else " (say how many with --users)"
    lines = [
        ("Answers", domain_words(domain)),
        ("Goal", _goal(goal)),
        ("Mechanism", _mechanism(chosen)),
        ("Privacy", f"epsilon {rounded_up(plan.epsilon)} for each report of a person   (certified)"),
        ("", plan.mechanism.risk_words()),
        ("Accuracy", _errors(chosen, users, domain)),
        *_widest(goal, chosen),
        ("", f"with {users:,} people{more}; four times as many halve it"),
        ("A report is", _report(chosen)),
        ("Survey", f"{plan.mechanism.fingerprint}, which every report carries"),
    ]
    header = ["", "mechanism", "epsilon", "epsilon0", *(["category error"] * domain.grouped), "value error"]
    rows = [_row(entry, users, domain.grouped, "*" * (entry is chosen)) for entry in (chosen, *plan.others)]
    table = columns([header, *rows], right=tuple(range(2, len(header))))
    return f"{facts(lines)}\n\nCompared (* is this plan), the best first:\n{table}\n"


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
    proved = "proved for any number of people" if method == GUARANTEED else "by the normal law"
    return f"with confidence {percent_down(confidence)} ({held}; {proved})"


def _goal(goal: Goal) -> str:
    if isinstance(goal, Within):
        ((kind, width),) = goal.widths.items()
        sure = confidence_words(goal.confidence, joint=goal.joint, method=goal.method)
        return f"shares of a {kind} within {percent_up(width)} of all people, {sure}"
    if not isinstance(goal, LeastError):
        raise AssertionError("there are two kinds of goal")
    if goal.category in (0, 1):
        return f"least error of {'categories' if goal.category else 'values'}"
    return f"least error, categories counting {goal.category:g} and values {1 - goal.category:g}"


def _mechanism(chosen: Candidate) -> str:
    if chosen.epsilon0 is None or chosen.family != BOOSTED:
        return chosen.family
    if chosen.value_error is None:
        meaning = ": for categories only (--goal 0.5 is for both)"
    else:
        meaning = " (from 0, for categories only, to epsilon, plain response)"
    return f"{chosen.family}, epsilon0 {epsilon_text(chosen.epsilon0)}{meaning}"


def _errors(chosen: Candidate, users: int, domain: Domain) -> str:
    """Root mean squared errors of shares for the worst truth, rounded up."""
    errors = {"value": chosen.value_error}
    if domain.grouped:
        errors = {"category": chosen.category_error} | errors
    parts = [f"a {kind}'s by {_error(error, users)}" for kind, error in errors.items() if error is not None]
    return f"shares are off (root mean square, at most): {', '.join(parts)} of all people"


def _widest(goal: Goal, chosen: Candidate) -> list[tuple[str, str]]:
    if not isinstance(goal, Within):
        return []
    # the cost is the widest interval as a multiple of the one asked for
    widest = max(chosen.cost * width for width in goal.widths.values())
    return [("", f"the widest interval is {percent_up(widest)} to each side")]


def _error(error: float, users: int) -> str:
    return percent_up(error / math.sqrt(users))


def _report(chosen: Candidate) -> str:
    words = REPORTS[chosen.mechanism.kind]
    if not chosen.reports_category:
        return words
    return f"{words}; PEOPLE PUT IN THE NAME OF THEIR CATEGORY, not their value"


def _row(entry: Candidate, users: int, groups: bool, mark: str) -> list[str]:
    own = entry.epsilon0 if entry.family == BOOSTED else None
    epsilon0 = "" if own is None else epsilon_text(own)
    errors = [entry.category_error, entry.value_error] if groups else [entry.value_error]
    cells = ["-" if error is None else _error(error, users) for error in errors]
    return [mark, entry.family, rounded_up(entry.epsilon), epsilon0, *cells]


# ------------------------------------------------------------------------------------------ reports


def report_notes(mechanism: LocalMechanism, seed: int | None) -> tuple[str, ...]:
    """What a report costs, and the warning of a test seed."""
    cost = (
        f"Survey {mechanism.fingerprint}: a report costs its person epsilon {rounded_up(mechanism.epsilon)}."
    )
    said = (cost, mechanism.risk_words())
    return said if seed is None else (*said, insecure_words(seed, "collect"))


# ------------------------------------------------------------------------------------------ estimates


def estimate_words(mechanism: LocalMechanism, found: Estimate, *, joint: bool) -> str:
    """A short head and the table, with intervals rounded outwards."""
    sure = confidence_words(found.confidence, joint=joint, method=found.method)
    lines = [
        ("Survey", f"{mechanism.fingerprint}, {mechanism.kind}, epsilon {rounded_up(mechanism.epsilon)}"),
        ("Reports", f"{found.users:,} used, {sum(found.refused.values()):,} refused"),
        ("Intervals", f"hold the truth {sure}"),
    ]
    if found.biased:
        lines.append(
            ("Estimates", "projected to a valid histogram: BIASED; intervals are of the unbiased ones")
        )
    rows = [[found.kind, "estimate", "low", "high", "share"]]
    rows += [
        [str(name), f"{people:,.0f}", f"{math.floor(low):,}", f"{math.ceil(high):,}", f"{100 * share:.2f} %"]
        for name, people, low, high, share in zip(
            found.names,
            found.people.tolist(),
            found.low.tolist(),
            found.high.tolist(),
            found.share.tolist(),
            strict=True,
        )
    ]
    return f"{facts(lines)}\n\n{columns(rows, right=(1, 2, 3, 4))}"


def estimate_notes(found: Estimate, files: Sequence[Collected]) -> tuple[str, ...]:
    """What was refused in which file, files that do not say their survey, and the mark of a test seed."""
    said = []
    for file in files:
        refused = file.counts.refused_reports
        if refused:
            sent = refused + file.counts.users
            reasons = ", ".join(f"{count:,} {why}" for why, count in file.counts.refused.items())
            said.append(f"{file.name}: refused {refused:,} of {sent:,} reports: {reasons}")
        if not file.said:
            said.append(f"{file.name}: has no column `survey`, so reports of another survey cannot be told")
    if found.biased:
        said.append("The estimates are biased: they were projected to a valid histogram.")
    if found.insecure_test:
        said.append("INSECURE: some reports were drawn from a test seed; they protect nothing.")
    return tuple(said)
