"""The local model: people randomize at home, and a server estimates how often each value occurs.

domain = in_blocks(range(10, 101), 10)                           local.domain
plan = plan_local(domain, Within(category=0.01, users=45_222))   local.plan, local.goal
save_configuration(plan.mechanism, "survey.json")                local.configuration
reports = load_configuration("survey.json").randomize(ages)      at home; in JavaScript: local/client
counts = count_reports(plan.mechanism, reports)                  local.counts
estimate(plan.mechanism, counts, "category")                     local.estimates, local.distributions
alarms(plan.mechanism, [("all", counts)])                        local.false_reports
shuffled(plan.mechanism, users=45_222, delta=1e-6)               local.shuffling

Mechanisms, a file each: boosted_response, center_response, local_hashing, subset_selection, user_split,
square_wave, mean_response.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from pbdp.errors import did_you_mean

if TYPE_CHECKING:
    from pbdp.local.configuration import load_configuration, save_configuration
    from pbdp.local.counts import Counts, count_groups, count_reports
    from pbdp.local.distributions import Distribution, LeastShapeError, distribution
    from pbdp.local.domain import Domain, in_blocks, in_categories, on_scale, without_categories
    from pbdp.local.estimates import Estimate, estimate
    from pbdp.local.false_reports import alarms
    from pbdp.local.goal import LeastError, LeastMeanError, ReportWithin, Within
    from pbdp.local.mechanism import LocalMechanism
    from pbdp.local.plan import LocalPlan, plan_local, plan_shuffled
    from pbdp.local.questions import Question, plan_questions
    from pbdp.local.region import region_of
    from pbdp.local.request import plan_survey
    from pbdp.local.shuffling import shuffled

__all__ = [
    "Counts",
    "Distribution",
    "Domain",
    "Estimate",
    "LeastError",
    "LeastMeanError",
    "LeastShapeError",
    "LocalMechanism",
    "LocalPlan",
    "Question",
    "ReportWithin",
    "Within",
    "alarms",
    "count_groups",
    "count_reports",
    "distribution",
    "estimate",
    "in_blocks",
    "in_categories",
    "load_configuration",
    "on_scale",
    "plan_local",
    "plan_questions",
    "plan_shuffled",
    "plan_survey",
    "region_of",
    "save_configuration",
    "shuffled",
    "without_categories",
]

_LATER = {
    "configuration": ("load_configuration", "save_configuration"),
    "counts": ("Counts", "count_groups", "count_reports"),
    "distributions": ("Distribution", "LeastShapeError", "distribution"),
    "domain": ("Domain", "in_blocks", "in_categories", "on_scale", "without_categories"),
    "estimates": ("Estimate", "estimate"),
    "false_reports": ("alarms",),
    "goal": ("LeastError", "LeastMeanError", "ReportWithin", "Within"),
    "mechanism": ("LocalMechanism",),
    "plan": ("LocalPlan", "plan_local", "plan_shuffled"),
    "questions": ("Question", "plan_questions"),
    "region": ("region_of",),
    "request": ("plan_survey",),
    "shuffling": ("shuffled",),
}
_MODULES = {name: module for module, names in _LATER.items() for name in names}


def __getattr__(name: str) -> object:
    """The names above, imported on first use."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}. {did_you_mean(name, __all__)}")
    value: object = getattr(import_module(f"pbdp.local.{_MODULES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """The public names, for tab completion and `help`, whether they are loaded or not."""
    return sorted([*__all__, "__doc__", "__name__", "__path__", "__spec__"])
