"""The choice of the top groups, checked: it keeps its promise, and the plan pays for what it reveals."""

from __future__ import annotations

from dataclasses import replace

from pbdp.checks import FaultError
from pbdp.choosing.coins import MOST_GAPS, Coins
from pbdp.choosing.ranking import score_scale
from pbdp.digits import percent_down
from pbdp.parameters import non_negative, whole
from pbdp.planning.plan import Plan, number_design
from pbdp.tables.plan import TablePlan
from pbdp.tables.query import Query
from pbdp.tables.top import (
    MOST_STEPS,
    PICKS,
    SCORES,
    TOP,
    Choosing,
    is_right,
    pick_plan,
    reveals_a_pick,
    scores_with,
)
from pbdp.tables.verify_file import Record


def top_from(query: Query, noise: Plan, record: Record) -> Choosing | None:
    """The way that a manifest says the top groups were chosen."""
    if query.top is None:
        return None
    known, plan = record["plan"].get("top"), pick_plan(query)
    if not isinstance(known, dict) or known.get("way") not in (SCORES, PICKS):
        raise FaultError("it is not said how the top groups were chosen")
    part = noise.part(TOP)
    made = scores_with(query, score_scale(plan.within, plan.asked, MOST_STEPS), number_design(part.design))
    if known["way"] == SCORES:
        return made
    coins = known["coins"]
    last = whole("last", coins["last"], least=0)
    if last > 2 * MOST_GAPS:
        raise FaultError("the coins of the picks are too many")
    law = Coins(fall=non_negative("fall", coins["fall"]), stride=whole("stride", coins["stride"]), last=last)
    asked = replace(part.requirement, sensitivity=1.0, releases=plan.asked.picks, integer=True)
    return replace(made, scale=plan.scale, requirement=asked, coins=law)


def check_top(plan: TablePlan) -> str:
    """What one person moves, what picks reveal, and how surely the right groups are listed."""
    top = plan.top
    if top is None:
        raise AssertionError("the query asks for the top groups")
    part, design, query = plan.part(TOP), top.design, plan.query
    plain = not (design.offset or design.clamp or design.boost) and design.decoder is None
    if not plain or part.requirement != top.requirement:
        raise FaultError("the choice of the top groups was planned for something else")
    if (part.requirement.delta, part.requirement.neighbors) != (query.delta, query.neighbors):
        raise FaultError("the choice of the top groups is for another delta or for other neighbors")
    if top.coins is None:
        right = design.grid.step == top.scale.step and is_right(top)
    else:
        # the count that stands for a pick is moved by one step
        if design.grid.step != 1 or not reveals_a_pick(
            design.table_at(0.0), top.coins.epsilon(top.scale.moved)
        ):
            raise FaultError("the picks reveal more than the certificate allows")
        right = top.confidence >= (top.top.confidence or 1.0)
    if not right:
        raise FaultError("the top groups are chosen less surely than promised")
    return (
        f"{top.top.groups:,} of {top.options:,} groups by {top.top.by}, within {top.top.within:g} with "
        f"confidence {percent_down(top.confidence)}"
    )
