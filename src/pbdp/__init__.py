"""pbdp: differential privacy that meets your accuracy requirement.

    plan = pbdp.plan(within=5, confidence=0.9, sensitivity=1, delta=1e-6, integer=True)
    plan.epsilon       # the least privacy loss that meets it, certified
    plan.release(1234) # a number with that noise

`import pbdp` loads nothing heavy; the planner is loaded when it is first asked for.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from pbdp.errors import CannotCertifyError, InputError, PbdpError
from pbdp.errors import did_you_mean as _did_you_mean
from pbdp.version import __version__ as __version__

if TYPE_CHECKING:
    from pbdp.choosing.choose import choose
    from pbdp.choosing.plan import ChoicePlan
    from pbdp.choosing.search import plan_choice
    from pbdp.comparing.compared import Compared
    from pbdp.comparing.plan import ComparisonPlan, compare, plan_comparison
    from pbdp.ledger.budget import Budget, budget
    from pbdp.ledger.ledger import Ledger
    from pbdp.noise.binomial import Binomial
    from pbdp.noise.gaussian import DiscreteGaussian, Gaussian
    from pbdp.noise.laplace import DiscreteLaplace, Laplace
    from pbdp.noise.staircase import Staircase
    from pbdp.noise.table import TableKernel
    from pbdp.planning.ask import plan
    from pbdp.planning.boosted import boosted
    from pbdp.planning.boosted_box import boosted_box
    from pbdp.planning.plan import Plan
    from pbdp.tables.bounds import bounds

__all__ = [
    "Binomial",
    "Budget",
    "CannotCertifyError",
    "ChoicePlan",
    "Compared",
    "ComparisonPlan",
    "DiscreteGaussian",
    "DiscreteLaplace",
    "Gaussian",
    "InputError",
    "Laplace",
    "Ledger",
    "PbdpError",
    "Plan",
    "Staircase",
    "TableKernel",
    "boosted",
    "boosted_box",
    "bounds",
    "budget",
    "choose",
    "compare",
    "plan",
    "plan_choice",
    "plan_comparison",
]

_LATER = {
    "Binomial": "pbdp.noise.binomial",
    "Budget": "pbdp.ledger.budget",
    "ChoicePlan": "pbdp.choosing.plan",
    "Compared": "pbdp.comparing.compared",
    "ComparisonPlan": "pbdp.comparing.plan",
    "DiscreteGaussian": "pbdp.noise.gaussian",
    "DiscreteLaplace": "pbdp.noise.laplace",
    "Gaussian": "pbdp.noise.gaussian",
    "Laplace": "pbdp.noise.laplace",
    "Ledger": "pbdp.ledger.ledger",
    "Plan": "pbdp.planning.plan",
    "Staircase": "pbdp.noise.staircase",
    "TableKernel": "pbdp.noise.table",
    "boosted": "pbdp.planning.boosted",
    "boosted_box": "pbdp.planning.boosted_box",
    "bounds": "pbdp.tables.bounds",
    "budget": "pbdp.ledger.budget",
    "choose": "pbdp.choosing.choose",
    "compare": "pbdp.comparing.plan",
    "plan": "pbdp.planning.ask",
    "plan_choice": "pbdp.choosing.search",
    "plan_comparison": "pbdp.comparing.plan",
}

# `pbdp.tables.Query` works without an import of its own.
_MODULES = ("tables",)


def __getattr__(name: str) -> object:
    """The planner's names, imported on first use."""
    if name in _MODULES:
        return import_module(f"pbdp.{name}")
    if name not in _LATER:
        tables = import_module("pbdp.tables").__all__
        where = "It is in pbdp.tables." if name in tables else _did_you_mean(name, __all__)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}. {where}".strip())
    value: object = getattr(import_module(_LATER[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """The public names, for tab completion and `help`, whether they are loaded or not."""
    return sorted([*__all__, *_MODULES, "__doc__", "__name__", "__path__", "__spec__", "__version__"])
