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


def comparison_of(asked: ComparisonRequest) -> ComparisonPlan:
    """The noise with the least epsilon for comparing two arms, groups or periods.

    Say what the analysis needs: intervals at most `wider` than without privacy (0.05 for 5 %), or `power` to
    find a `lift`. To compare how many say yes, give their `rate`; to compare means, `bounds` and `spread`.
    """
    shared = ("users", "confidence", "lift", "measure", "in_both", "delta", "neighbors")
    own = ("rate",) if asked.rate is not None else ("bounds", "spread", "mean", "guaranteed")
    kind: type[Experiment[Any]] = Rates if asked.rate is not None else Means
    made = kind(**{name: getattr(asked, name) for name in (*shared, *own)})
    return _planned(made, wider=asked.wider, power=asked.power)


plan_comparison = takes(ComparisonRequest)(comparison_of)


def _planned(asked: Experiment[Any], *, wider: float | None, power: float | None) -> ComparisonPlan:
    """The plan of about the least loss that is enough, and never of one that is not."""
    if power is not None and (best := asked.power(asked.without, *asked.planned)) <= power:
        raise CannotCertifyError(
            f"Without any noise the power is {percent_down(best)}. Take larger groups, or look for a "
            "larger lift."
        )
    guess = asked.guess(wider=wider, power=power)
    asked = asked.prepared(guess)

    def short(loss: float) -> float:
        analysis = asked.at(loss)
        if power is not None:
            return power - asked.power(analysis, *asked.planned)
        return asked.wider(analysis) - (wider or 0.0)

    spare = _SPARE * (wider or 1.0)
    return ComparisonPlan(asked=asked, loss=least_enough(short, guess, close=_CLOSE, spare=spare))


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
