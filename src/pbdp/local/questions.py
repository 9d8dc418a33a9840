"""Several questions of one person: one of them each with all of epsilon, or all of them with a part each.

*One each*: a coin that does not look at the answers picks one of d questions for every person, who spends
all of epsilon on it. A question has n/d people then, a random part of all, so that its estimates for
everyone also have the error of a sample: at most (d - 1)/n times the variance of the answers. *All*: every
person answers every question with epsilon/d, and the losses add up to epsilon. Which is better depends on
the goal and on epsilon: noise grows faster than 1/epsilon^2 where epsilon is small, and the error of a
sample is left where it is large. Both are planned, and compared by the geometric mean of their errors over
the questions.

Open answers, such as words that nobody listed, are no question here: finding the frequent ones among all
texts ("heavy hitters") takes other protocols.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from pbdp.errors import InputError
from pbdp.kinds import PEOPLE, POSITIVE, TEXT, instance_of
from pbdp.local.distributions import LeastShapeError
from pbdp.local.domain import DOMAIN, CategoryDomain, Domain
from pbdp.local.goal import GOAL, Goal, LeastError, LeastMeanError
from pbdp.local.plan import LocalPlan, plan_local
from pbdp.parameters import iterated
from pbdp.signatures import checked

ONE, ALL = "one each", "all"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Question:
    """A question by its name: what people may answer, and which error is to be least."""

    name: str
    domain: Domain
    goal: Goal

    def __post_init__(self) -> None:
        TEXT.check("name", self.name)
        DOMAIN.check("domain", self.domain)
        GOAL.check("goal", self.goal)


SEVERAL = "a list of Question"
QUESTION = instance_of(Question, SEVERAL)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Asked:
    """One question as it is asked in some way, and the root mean squared error of what it tells."""

    question: Question
    plan: LocalPlan
    error: float


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class QuestionPlan:
    """The better way to ask, and the other one, with a survey for each question in each."""

    epsilon: float
    users: int
    way: str
    ways: dict[str, tuple[Asked, ...]]

    @property
    def asked(self) -> tuple[Asked, ...]:
        """The questions in the better way."""
        return self.ways[self.way]

    def record(self) -> dict[str, Any]:
        """The plan as JSON."""
        return {
            "epsilon": self.epsilon,
            "users": self.users,
            "way": self.way,
            "questions": [
                {
                    "name": each.question.name,
                    "survey": each.plan.mechanism.fingerprint,
                    "epsilon": each.plan.epsilon,
                    "mechanism": each.plan.chosen.name,
                    "error": each.error,
                    "other_way_error": other.error,
                }
                for each, other in zip(self.asked, self.ways[ALL if self.way == ONE else ONE], strict=True)
            ],
        }


@checked(epsilon=POSITIVE, users=PEOPLE)
def plan_questions(questions: Sequence[Question], *, epsilon: float, users: int) -> QuestionPlan:
    """The better way to ask questions that cost one person `epsilon` together."""
    questions = [QUESTION.check("questions", one) for one in iterated("questions", questions, SEVERAL)]
    if len(questions) < 2:
        raise InputError("questions", "two or more", f"{len(questions)}")
    if len({each.name for each in questions}) < len(questions):
        raise InputError("questions", "named differently", "two of one name")
    number = len(questions)
    if users < number:
        raise InputError("users", f"at least {number}, one for each question", users)
    ways = {
        ONE: tuple(_one(each, epsilon, users, number) for each in questions),
        ALL: tuple(_all(each, epsilon, users, number) for each in questions),
    }
    cost = {way: sum(math.log(each.error) for each in asked) for way, asked in ways.items()}
    return QuestionPlan(epsilon=epsilon, users=users, way=min(cost, key=cost.__getitem__), ways=ways)


def _one(question: Question, epsilon: float, users: int, number: int) -> Asked:
    """With a random part of the people, who spend everything on it."""
    part = users // number
    goal = _with_users(question.goal, part)
    plan = plan_local(question.domain, goal, epsilon=epsilon)
    if isinstance(goal, LeastShapeError):
        # simulated people are drawn at random already
        return Asked(question=question, plan=plan, error=plan.chosen.cost)
    sample = (number - 1) / users * _answers_variance(question)
    return Asked(question=question, plan=plan, error=math.sqrt(plan.chosen.cost / part + sample))


def _all(question: Question, epsilon: float, users: int, number: int) -> Asked:
    """With all people, who spend a part on it."""
    plan = plan_local(question.domain, _with_users(question.goal, users), epsilon=epsilon / number)
    shape = isinstance(question.goal, LeastShapeError)
    error = plan.chosen.cost if shape else math.sqrt(plan.chosen.cost / users)
    return Asked(question=question, plan=plan, error=error)


def _with_users(goal: Goal, users: int) -> Goal:
    return replace(goal, users=users) if isinstance(goal, LeastShapeError) else goal


def _answers_variance(question: Question) -> float:
    """The variance of people's own answers at most, as the goal weighs it."""
    goal, domain = question.goal, question.domain
    if isinstance(goal, LeastMeanError):
        numbers = [float(value) for value in domain.values]
        return (max(numbers) - min(numbers)) ** 2 / 4
    if not isinstance(goal, LeastError):
        raise InputError("goal", "a least error for several questions", "an accuracy")
    groups = len(domain.sizes) if isinstance(domain, CategoryDomain) else domain.count
    # the mean over k shares of f (1 - f) is largest where all are alike
    return (
        goal.category * (1 - 1 / groups) / groups
        + (1 - goal.category) * (1 - 1 / domain.count) / domain.count
    )
