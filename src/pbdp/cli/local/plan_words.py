"""A survey's plan in words: what was chosen, what it costs, how far it is off, and what it beat."""

from __future__ import annotations

import math

from pbdp.cli.local.survey_domain import has_groups
from pbdp.cli.text import columns, percent, rounded_up
from pbdp.digits import percent_up
from pbdp.local.domain import CategoryDomain, Domain, ScaleDomain
from pbdp.local.estimate import GUARANTEED
from pbdp.local.goal import Goal, LeastError, Within
from pbdp.local.plan import Candidate, LocalPlan

BOOSTED = "boosted response"
REPORTS = {
    BOOSTED: "one of the values",
    "unary encoding": "a text of hexadecimal digits, a bit for each value",
    "local hashing": "a whole number that stands for a random hash and what it gave",
}


def plan_words(plan: LocalPlan, domain: Domain, users: int, *, stated: bool) -> str:
    """The plan as a short table; errors are those with `users` people."""
    chosen, goal, groups = plan.chosen, plan.goal, has_groups(domain)
    more = "" if stated else " (say how many with --users)"
    lines = [
        ("Answers", domain_words(domain)),
        ("Goal", _goal(goal)),
        ("Mechanism", _mechanism(chosen)),
        ("Privacy", f"epsilon {rounded_up(plan.epsilon)} for each report of a person   (certified)"),
        ("Accuracy", _errors(chosen, users, domain)),
        ("", f"with {users:,} people{more}; four times as many halve it"),
        ("A report is", _report(chosen)),
        ("Survey", f"{plan.mechanism.fingerprint}, which every report carries"),
    ]
    if isinstance(goal, Within):
        # the cost is the widest interval as a multiple of the one asked for
        widest = max(chosen.cost * width for width in goal.widths.values())
        lines.insert(5, ("", f"the widest interval is {percent_up(widest)} to each side"))
    header = ["", "mechanism", "epsilon", "epsilon0", *(["category error"] * groups), "value error"]
    rows = [
        header,
        *(_row(entry, users, groups, "*" * (entry is chosen)) for entry in (chosen, *plan.others)),
    ]
    table = columns(rows, right=tuple(range(2, len(header))))
    named = (f"{name:<12} {value}" for name, value in lines)
    return "\n".join([*named, "", "Compared (* is this plan), the best first:", table, ""])


def domain_words(domain: Domain) -> str:
    """How many values there are, and how they belong together."""
    kind = "whole numbers" if isinstance(domain.values[0], int) else "texts"
    words = f"{domain.count:,} {kind}, {domain.values[0]} to {domain.values[-1]}"
    if isinstance(domain, ScaleDomain):
        return f"{words}; the {domain.width} nearest belong together on a {'ring' if domain.ring else 'line'}"
    if not isinstance(domain, CategoryDomain) or not has_groups(domain):
        return f"{words}; no categories"
    least, most = min(domain.sizes), max(domain.sizes)
    sizes = f"{most}" if least == most else f"{least} to {most}"
    return f"{words}; {len(domain.sizes):,} categories of {sizes} values"


def _goal(goal: Goal) -> str:
    if isinstance(goal, Within):
        ((kind, width),) = goal.widths.items()
        held = "all of them together" if goal.joint else "each"
        proved = "proved for any number of people" if goal.method == GUARANTEED else "by the normal law"
        return (
            f"shares of a {kind} within {percent_up(width)} of all people, with confidence "
            f"{percent(goal.confidence)} ({held}; {proved})"
        )
    if not isinstance(goal, LeastError):
        raise AssertionError("there are two kinds of goal")
    if goal.category in (0, 1):
        return f"least error of {'categories' if goal.category else 'values'}"
    return f"least error, categories counting {goal.category:g} and values {1 - goal.category:g}"


def _mechanism(chosen: Candidate) -> str:
    if chosen.epsilon0 is None or chosen.family != BOOSTED:
        return chosen.family
    if chosen.value_error is None:
        return (
            f"{chosen.family}, epsilon0 {chosen.epsilon0:.4g}: for categories only (--goal 0.5 is for both)"
        )
    range_words = "from 0, for categories only, to epsilon, plain response"
    return f"{chosen.family}, epsilon0 {chosen.epsilon0:.4g} ({range_words})"


def _errors(chosen: Candidate, users: int, domain: Domain) -> str:
    """Root mean squared errors of shares for the worst truth, rounded up."""
    errors = {"value": chosen.value_error}
    if has_groups(domain):
        errors = {"category": chosen.category_error} | errors
    parts = [f"a {kind}'s by {_error(error, users)}" for kind, error in errors.items() if error is not None]
    return f"shares are off (root mean square, at most): {', '.join(parts)} of all people"


def _error(error: float, users: int) -> str:
    return percent_up(error / math.sqrt(users))


def _report(chosen: Candidate) -> str:
    words = REPORTS[chosen.mechanism.kind]
    if not chosen.reports_category:
        return words
    return f"{words}; PEOPLE PUT IN THE NAME OF THEIR CATEGORY, not their value"


def _row(entry: Candidate, users: int, groups: bool, mark: str) -> list[str]:
    own = entry.epsilon0 is not None and entry.family == BOOSTED
    epsilon0 = f"{entry.epsilon0:.4g}" if own else ""
    errors = [entry.category_error, entry.value_error] if groups else [entry.value_error]
    cells = ["-" if error is None else _error(error, users) for error in errors]
    return [mark, entry.family, rounded_up(entry.epsilon), epsilon0, *cells]
