"""dp-accounting: its privacy loss distributions in and out, and an accountant that knows plans.

Either compose here, with all rounding bounded, or take a plan's distribution there:

    PlanAccountant().compose(PlanEvent(plan)).compose(GaussianDpEvent(4.0), count=10).get_epsilon(1e-6)
    plan_to_pld(plan).compose(other).get_epsilon_for_delta(1e-6)

A budget pays for events, too: `budget.reserve(priced_event(GaussianDpEvent(4.0)))`.
"""

from __future__ import annotations

from pbdp.bridges import needed_by

with needed_by("The bridge to dp-accounting", "dp-accounting attrs"):
    from pbdp.bridges.dp_accounting.accountant import PlanAccountant, PlanEvent, PldEvent, priced_event
    from pbdp.bridges.dp_accounting.distributions import from_dp_accounting, plan_to_pld, to_dp_accounting

__all__ = [
    "PlanAccountant",
    "PlanEvent",
    "PldEvent",
    "from_dp_accounting",
    "plan_to_pld",
    "priced_event",
    "to_dp_accounting",
]
