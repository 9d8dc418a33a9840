"""Parts of a row that the figures on one release and on many share."""

from __future__ import annotations

from pbdp.accounting.bounds import Bounds
from pbdp.planning.limit.of_plan import KnownLimit
from pbdp.planning.plan import Plan
from reproduction.accuracy.boosted_gaussian import BoostedGaussian
from reproduction.experiment import Row


def bounds_part(bounds: Bounds) -> Row:
    """A certified epsilon, and what is reached."""
    return {"epsilon": bounds.upper, "epsilon_lower": bounds.lower}


def kernel_part(gaussian: BoostedGaussian) -> Row:
    """The Gaussian behind it."""
    name = "boosted gaussian" if gaussian.boost > 0 else "gaussian"
    return {"family": name, "sigma": gaussian.sigma, "boost": gaussian.boost}


def planned_rows(plan: Plan, limit: KnownLimit | None) -> list[Row]:
    """The planner's choice and the limit, where one is proved."""
    rows: list[Row] = [
        {
            "kind": "planner",
            "epsilon": plan.epsilon,
            "epsilon_lower": plan.chosen.certificate.epsilon_lower,
            "family": plan.mechanism.name,
            "boost": plan.mechanism.boost,
        }
    ]
    if limit is not None:
        rows.append({"kind": "limit", "epsilon": limit.epsilon, "family": f"any {limit.subject}"})
    return rows
