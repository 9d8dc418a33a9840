"""The search for a comparison: of all noise that gives the analysis what it needs, that of least epsilon."""

from __future__ import annotations

from typing import Any

from pbdp.comparing.experiment import Experiment
from pbdp.comparing.means import Means
from pbdp.comparing.plan import Compared, ComparisonPlan
from pbdp.comparing.rates import Rates
from pbdp.comparing.request import CompareRequest, ComparisonRequest
from pbdp.digits import percent_down
from pbdp.errors import CannotCertifyError, ContradictionError
from pbdp.root_finding import least_enough
from pbdp.settings import takes

# The search ends this near to the least loss.
_CLOSE = 1e-3
# Or where power, or such a part of `wider`, is exceeded by less.
_SPARE = 1e-3


def experiment_of(asked: ComparisonRequest) -> Experiment[Any]:
    """The kind of comparison that is asked for: of rates, or of means."""
    kind: type[Experiment[Any]] = Rates if asked.rate is not None else Means
    return kind(**asked.given())


def comparison_of(asked: ComparisonRequest) -> ComparisonPlan:
    """The noise with the least epsilon for comparing two arms, groups or periods.

    Say what the analysis needs: intervals at most `wider` than without privacy (0.05 for 5 %), or `power` to
    find a `lift`. To compare how many say yes, give their `rate`; to compare means, `bounds` and `spread`.
    """
    made = experiment_of(asked)
    if made.power is not None and (best := made.power_at(made.without, *made.planned)) <= made.power:
        raise CannotCertifyError(
            f"Without any noise the power is {percent_down(best)}. Take larger groups, or look for a "
            "larger lift."
        )
    spare = _SPARE * (made.wider or 1.0)
    return ComparisonPlan(asked=made, loss=least_enough(made.short, made.guess(), close=_CLOSE, spare=spare))


plan_comparison = takes(ComparisonRequest)(comparison_of)


def compared_of(asked: CompareRequest) -> Compared:
    """Compare two groups at once: plan the noise, publish, analyze; see `plan_comparison`.

    Nothing counts what is spent: `Budget` does.
    """
    sizes, groups = asked.users, (asked.first, asked.second)
    if sizes is None:
        if not all(hasattr(group, "__len__") for group in groups):
            raise ContradictionError(
                "users", "given with counts", "nothing", "How many people has each group?"
            )
        sizes = (len(asked.first), len(asked.second))  # type: ignore[arg-type]
    return comparison_of(asked.comparison(sizes)).compare(*groups)


compare = takes(CompareRequest)(compared_of)
