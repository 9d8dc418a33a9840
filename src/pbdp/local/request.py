"""What a survey may be asked: its settings, declared once, and the goal that they state."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pbdp.errors import ContradictionError, InputError, shown
from pbdp.kinds import (
    ANYTHING,
    CONFIDENCE,
    FLAG,
    NON_NEGATIVE,
    PEOPLE,
    POSITIVE,
    SHARE,
    TEXT,
    Kind,
    number_typed,
    one_of,
)
from pbdp.parameters import positive, whole
from pbdp.settings import Request, request, setting
from pbdp.signatures import takes

if TYPE_CHECKING:
    from pbdp.local.domain import Domain
    from pbdp.local.goal import Goal
    from pbdp.local.plan import LocalPlan
    from pbdp.noise.kernel import Array

# For errors in per cent where the number of people is not known.
USUAL_USERS = 10_000
USUAL_DELTA = 1e-6
KINDS = ("category", "value", "mean")
ORDERED = ("distribution", "quantile")
GOALS = (*KINDS, *ORDERED)
# The name of the goal that is a report in its category, as in `local.region`.
CATEGORY = "category"

PRIVACY = "either: an epsilon"
ACCURACY = "or: an accuracy, for which the least epsilon is found"
BOTH = "both"
SHUFFLED = "where reports are shuffled before anyone sees them"


def _goal(name: str, value: object) -> str | float:
    if isinstance(value, str):
        if value in GOALS:
            return value
    elif not isinstance(value, bool) and isinstance(value, int | float) and 0 <= value <= 1:
        return float(value)
    raise InputError(name, f"{', '.join(GOALS)}, or a weight from 0 to 1", shown(value))


def _goal_typed(name: str, text: str) -> str | float:
    return text if text in GOALS else _number_or_text(name, text)


def _near(name: str, value: object) -> str | int:
    if isinstance(value, str) and value == CATEGORY:
        return CATEGORY
    try:
        return whole(name, value, least=0)
    except InputError:
        raise InputError(name, "a whole number of 0 or more, or category", shown(value)) from None


def _number_or_text(name: str, text: str) -> float | str:
    try:
        return number_typed(name, text)
    except InputError:
        return text


GOAL = Kind(
    check=_goal, read=_goal_typed, schema={"anyOf": [{"enum": list(GOALS)}, {"type": "number"}]}, form="text"
)
NEAR = Kind(
    check=_near,
    read=_number_or_text,
    schema={"anyOf": [{"const": CATEGORY}, {"type": "integer", "minimum": 0}]},
)
WIDTH = Kind(check=positive, read=SHARE.read, schema=POSITIVE.schema, form="number")


@request("plan_survey")
class SurveyRequest(Request):
    """An epsilon, or an accuracy, for the answers of a survey."""

    domain: Domain = setting(ANYTHING, "what people may answer: in_blocks(range(100), 10)", kw_only=False)
    epsilon: float | None = setting(
        POSITIVE, "what one report may cost a person", default=None, group=PRIVACY
    )
    goal: str | float | None = setting(
        GOAL,
        "which error to minimize: category, value, a weight for categories from 0 to 1, mean, distribution "
        "or quantile; default: category if there are any, else value",
        default=None,
        group=PRIVACY,
    )
    epsilon0: float | None = setting(
        NON_NEGATIVE,
        "boosted response with this part of epsilon for the value in its category (found if left out)",
        default=None,
        group=PRIVACY,
    )
    within: float | None = setting(
        WIDTH,
        "how far an estimated share may be off: 1% (of all people) or 0.01; a mean: in its own unit",
        default=None,
        group=ACCURACY,
    )
    report_within: int | str | None = setting(
        NEAR,
        "or how far a report itself may be from the true answer: 3, or category",
        default=None,
        group=ACCURACY,
    )
    confidence: float | None = setting(
        CONFIDENCE, "how often it must hold; default: 0.95", default=None, group=ACCURACY
    )
    of: str | None = setting(
        one_of(KINDS),
        "what must be that close; default: category if there are any",
        default=None,
        group=ACCURACY,
    )
    joint: bool = setting(FLAG, "the confidence is for all estimates together", default=False, group=ACCURACY)
    guaranteed: bool = setting(
        FLAG,
        "proved for any number of people (wider than the normal approximation)",
        default=False,
        group=ACCURACY,
    )
    users: int | None = setting(
        PEOPLE, f"people who will report; default: {USUAL_USERS:,}", default=None, group=BOTH, metavar="N"
    )
    expected: Array | None = setting(
        ANYTHING, "how many people hold each value: plan for these instead of the worst ones", default=None
    )
    use: str | None = setting(
        TEXT, "use this mechanism of those compared, not the best", default=None, group=BOTH, metavar="NAME"
    )
    shuffled: bool = setting(
        FLAG,
        "say what a report costs among the reports of all users; with an accuracy, minimize that",
        default=False,
        group=SHUFFLED,
    )
    central_epsilon: float | None = setting(
        POSITIVE, "instead of an epsilon: what it may cost after shuffling", default=None, group=SHUFFLED
    )
    delta: float | None = setting(
        SHARE, f"delta of the epsilon after shuffling; default: {USUAL_DELTA:g}", default=None, group=SHUFFLED
    )

    def agree(self) -> None:
        """One way to say what is wanted, and nothing that belongs to another."""
        self._check_ways()
        if self.epsilon0 is not None and self.use is not None:
            raise ContradictionError("epsilon0", "used without use", "both")
        for name in ("within", "shuffled", "central_epsilon"):
            if getattr(self, name) not in (None, False) and self.users is None:
                raise ContradictionError("users", f"given with {name}", "nothing", "How many will report?")
        if self.delta is not None and not self.is_shuffled:
            raise ContradictionError("delta", "used with shuffled or central_epsilon", "neither")

    def _check_ways(self) -> None:
        ways = [way for way in ("epsilon", "within", "central_epsilon") if getattr(self, way) is not None]
        if self.report_within is not None:
            if self.within is not None:
                raise ContradictionError("report_within", "used without within", "both")
            given = len(ways) + (self.confidence is not None)
            if given != 1:
                got = "none" if given == 0 else f"{given} of them"
                rule = "given with report_within, one of them"
                raise ContradictionError("confidence, epsilon or central_epsilon", rule, got)
            stray = ["goal", "epsilon0", "of", "joint", "guaranteed", "expected"]
        elif len(ways) != 1:
            got = "neither" if not ways else "both" if len(ways) == 2 else "all"
            raise ContradictionError("epsilon or within", "given, one of the two", got)
        elif self.within is None:
            stray = ["confidence", "of", "joint", "guaranteed"]
            stray += ["epsilon0"] if self.epsilon is None else []
        else:
            stray = ["goal", "epsilon0"]
        beside = "epsilon" if self.within is not None else "within"
        for name in stray:
            value = getattr(self, name)
            if value is not None and value is not False:
                way = "without report_within" if self.report_within is not None else f"with {beside}"
                got = "both" if self.report_within is not None else f"no {beside}"
                raise ContradictionError(name, f"used {way}", got)

    @property
    def is_shuffled(self) -> bool:
        """Whether what counts is what a report costs after shuffling."""
        return self.shuffled or self.central_epsilon is not None

    @property
    def central_delta(self) -> float:
        """The delta of that."""
        return USUAL_DELTA if self.delta is None else self.delta

    def wanted(self) -> Goal:
        """The goal that is stated."""
        from pbdp.local.estimates import GUARANTEED, SCORE
        from pbdp.local.goal import ReportWithin, Within
        from pbdp.local.region import region_of

        if self.report_within is not None:
            return ReportWithin(region=region_of(self.domain, self.report_within), confidence=self.confidence)
        if self.within is None:
            return goal_of_error(self.goal, self.domain, self.users or USUAL_USERS, self.expected)
        kind = _kind(self.of, self.domain)
        if kind != "mean" and self.within >= 1:
            raise InputError("within", "a share of all people such as 1% or 0.01", f"{self.within:g}")
        return Within(
            users=self.users or USUAL_USERS,
            **{name: self.within if name == kind else None for name in KINDS},
            confidence=0.95 if self.confidence is None else self.confidence,
            joint=self.joint,
            method=GUARANTEED if self.guaranteed else SCORE,
            expected=self.expected,
        )


def _kind(stated: str | None, domain: Domain) -> str:
    """What is estimated: as stated, else categories if there are any."""
    kind = stated or (CATEGORY if domain.grouped else "value")
    if kind == CATEGORY and not domain.grouped:
        raise ContradictionError(
            "category", "asked for where there are categories", "none", "Such as --category-size 10."
        )
    return kind


def goal_of_error(
    stated: str | float | None, domain: Domain, users: int, expected: Array | None = None
) -> Goal:
    """The goal of least error that is stated, or the usual one."""
    from pbdp.local.distributions import LeastShapeError
    from pbdp.local.goal import LeastError, LeastMeanError

    kind: Any = stated if isinstance(stated, float) else _kind(stated, domain)
    if kind == "mean":
        return LeastMeanError(expected=expected)
    if kind in ORDERED:
        return LeastShapeError(kind=kind, users=users, expected=expected)
    weight = {CATEGORY: 1.0, "value": 0.0}.get(kind, kind)
    if weight and not domain.grouped:
        raise ContradictionError("goal", "value where there are no categories", shown(stated))
    return LeastError(category=weight, expected=expected)


def survey_of(asked: SurveyRequest) -> LocalPlan:
    """The best mechanism at an epsilon, or the one that meets an accuracy with the least epsilon."""
    from pbdp.local.domain import DOMAIN
    from pbdp.local.plan import plan_local, plan_shuffled

    DOMAIN.check("domain", asked.domain)
    goal = asked.wanted()
    if asked.central_epsilon is None and not (asked.shuffled and goal.asks):
        return plan_local(asked.domain, goal, epsilon=asked.epsilon, epsilon0=asked.epsilon0, use=asked.use)
    return plan_shuffled(
        asked.domain,
        goal,
        epsilon=asked.central_epsilon,
        delta=asked.central_delta,
        users=asked.users or USUAL_USERS,
        use=asked.use,
    )


plan_survey = takes(SurveyRequest)(survey_of)
