"""Cards for notebooks: what an object says of itself, with a small picture."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from pbdp.digits import percent_up, plus_minus, rounded_down, rounded_up
from pbdp.mechanism.design import Design
from pbdp.noise.kernel import Array
from pbdp.planning.certificate import Certified
from pbdp.planning.plan import Part, Plan
from pbdp.report.pictures.svg import Bar, bars, card, columns, dots

if TYPE_CHECKING:
    from pbdp.choosing.plan import ChoicePlan
    from pbdp.comparing.compared import Compared
    from pbdp.comparing.plan import ComparisonPlan
    from pbdp.ledger.budget import Budget
    from pbdp.local import Estimate, LocalPlan
    from pbdp.planning.boosted import BoostedMechanism
    from pbdp.tables.table import ReleasedTable

# What is shown of a plan: other noise laws, columns, and the answer that is taken for the truth.
MOST_OTHERS = 2
# Noise that readers know, which is always shown.
KNOWN = ("gaussian", "laplace")
MOST_COLUMNS = 61
EXAMPLE = 1000
MOST_ROWS = 12
SHOWN = 2e-3
# Other laws of choosing that cost more, as a multiple, are not drawn.
FAR = 3.0


def plan_pictures(plan: Plan) -> list[str]:
    """The noise, and epsilon against that of others and the limit."""
    if plan.is_joint:
        return [noise_picture(part) for part in plan.parts if isinstance(part.design, Design)][:2]
    drawn = [noise_picture(plan.only)] if isinstance(plan.mechanism, Design) else []
    return [*drawn, bars(epsilon_bars(plan), title="epsilon: smaller is more private", width=460)]


def epsilon_bars(plan: Plan, others: Sequence[str] | None = None) -> list[Bar]:
    """The epsilons of other noise, the plan's own, and the proven limit; those others, or the best and known.

    Laws that tie in the digits that are shown stand on one line. Losses are rounded up, the limit down.
    """
    tied: dict[str, list[Certified]] = {}
    for entry in (plan.chosen, *plan.others):
        tied.setdefault(_three(rounded_up(entry.certificate.epsilon, digits=3)), []).append(entry)
    own = tied.pop(_three(rounded_up(plan.epsilon, digits=3)))
    best = list(tied)[:MOST_OTHERS]
    wanted = KNOWN if others is None else others
    rows = []
    for digits, entries in tied.items():
        named = [entry.design.name for entry in entries if entry.design.name in wanted]
        if named or (others is None and digits in best):
            names = [entry.design.name for entry in entries] if others is None else named
            rows.append(Bar(name=_joined(names), value=entries[-1].certificate.epsilon, digits=digits))
    rows.reverse()
    mine = _joined([entry.design.name for entry in own]) if others is None else "pbdp"
    rows.append(
        Bar(name=mine, value=plan.epsilon, digits=_three(rounded_up(plan.epsilon, digits=3)), own=True)
    )
    if plan.limit is not None and plan.limit.epsilon > 0:
        least = _three(rounded_down(plan.limit.epsilon, digits=3))
        rows.append(Bar(name="proven limit", value=plan.limit.epsilon, digits=least))
    return rows


def _joined(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more"


def _three(digits: str) -> str:
    """Three digits even where the last are zeros: 18.0."""
    return f"{float(digits):#.3g}" if 1e-3 <= float(digits) < 100 else digits


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LawColumns:
    """The law of a part around an answer in columns of `size` neighboring outputs each.

    `middle` is the output in the middle of a column, `height` its probability, and `inside` whether it meets
    the requirement, which accepts `accepted`.
    """

    answer: float
    size: int
    middle: Array
    height: Array
    inside: npt.NDArray[np.bool]
    ends: tuple[float, float]
    accepted: tuple[float, float]


def law_columns(part: Part, answer: float | None = None, most: int = MOST_COLUMNS) -> LawColumns:
    """At most so many columns, as far out as they can be seen; around an answer that is usual if left out."""
    requirement = part.requirement
    if answer is None:
        low, high = (requirement.bounds or requirement.region).answers
        answer = EXAMPLE if low <= EXAMPLE <= high else int((low + high) / 2)
    law = part.law_at(answer)
    kept = np.flatnonzero(law.probability > SHOWN * law.probability.max())
    first, last = int(kept[0]), int(kept[-1]) + 1
    size = -(-(last - first) // most)
    starts = np.arange(first, last, size)
    middle = law.output[np.minimum(starts + size // 2, last - 1)]
    below, above = (float(offset) for offset in requirement.region.offsets(float(answer)))
    accepted = answer - below, answer + above
    return LawColumns(
        answer=answer,
        size=size,
        middle=middle,
        height=np.add.reduceat(law.probability[:last], starts),
        inside=(middle >= accepted[0]) & (middle <= accepted[1]),
        ends=(float(law.output[first]), float(law.output[last - 1])),
        accepted=accepted,
    )


def noise_picture(part: Part) -> str:
    """Probabilities of what is published around an answer, those that meet the requirement on a shade."""
    law = law_columns(part)
    return columns(
        law.height.tolist(),
        law.inside.tolist(),
        title=f"{f'{part.name}: ' if part.name else ''}published when the truth is {law.answer:,}",
        ends=(f"{law.ends[0]:g}", f"{law.ends[1]:g}"),
    )


def table_pictures(table: ReleasedTable) -> list[str]:
    """The first groups of a table with their intervals, a picture for each measure."""
    from pbdp.report.pictures.table_figure import group_names

    shown = min(len(table), MOST_ROWS)
    names = group_names(table, shown)
    ends = {number: table.with_ends(number) for number in table.numbers} if shown else {}
    return [
        _dotted(names, value[:shown], low[:shown], high[:shown], number)
        for number, (value, low, high) in ends.items()
    ]


def estimate_card(found: Estimate) -> str:
    """Shares in per cent with their intervals, the largest first; or the mean with its own."""
    order = np.argsort(-found.share)[:MOST_ROWS]
    names = [str(found.names[place]) for place in order]
    scale, title = (1, "mean") if found.kind == "mean" else (100, "share of people, per cent")
    share, low, high = (
        scale * numbers[order] / found.users for numbers in (found.people, found.low, found.high)
    )
    picture = _dotted(names, share, low, high, title)
    return card("Estimates of a survey", found.describe().split("\n"), picture)


def local_plan_card(plan: LocalPlan) -> str:
    """The mechanism that was chosen, and what it means."""
    return card("Survey plan", plan.describe().split("\n"))


def budget_card(budget: Budget) -> str:
    """What is spent of a budget, and what it means."""
    spent = budget.spent
    rows = [
        Bar(name="spent", value=spent, digits=percent_up(spent), own=True),
        Bar(name="budget", value=1.0, digits="100 %"),
    ]
    return card(f"Budget of {budget.dataset}", budget.describe().split("\n"), bars(rows, title="share spent"))


def boosted_card(made: BoostedMechanism) -> str:
    """What the mechanism is, with its density around an answer."""
    return card("Boosted mechanism", [made.describe()], "")


def choice_card(plan: ChoicePlan) -> str:
    """What is chosen from what, and epsilon against other laws and the limit."""
    picture = bars(choice_bars(plan), title="epsilon: smaller is more private", width=520, names=210)
    return card("Choice", [*plan.describe().split("\n"), plan.risk_words()], picture)


def choice_bars(plan: ChoicePlan) -> list[Bar]:
    """The epsilons of the plan, of other laws for the same accuracy, and the proven limit."""
    rows = [Bar(name=plan.law, value=plan.epsilon, digits=rounded_up(plan.epsilon), own=True)]
    rows += [
        Bar(name=rival.name, value=rival.epsilon, digits=rounded_up(rival.epsilon))
        for rival in plan.alternatives
        # far worse ones would make the others hard to tell apart
        if rival.epsilon <= FAR * plan.epsilon
    ]
    if plan.limit is not None:
        rows.append(Bar(name="proven limit", value=plan.limit, digits=rounded_down(plan.limit)))
    return rows


def comparison_card(plan: ComparisonPlan) -> str:
    """What is compared, and how wide intervals are with noise and without it."""
    noisy, clear = plan.asked.width(plan.analysis), plan.asked.width(plan.asked.without)
    rows = [
        Bar(name="with noise", value=noisy, digits=f"{noisy:.4g}", own=True),
        Bar(name="without noise", value=clear, digits=f"{clear:.4g}"),
    ]
    picture = bars(rows, title="interval, plus and minus", width=460)
    return card("Comparison", plan.describe().split("\n"), picture)


def compared_card(found: Compared) -> str:
    """What was found, and the interval."""
    estimate, low, high = (np.array([number]) for number in (found.estimate, found.low, found.high))
    picture = _dotted([found.measure], estimate, low, high, f"{found.measure}, with interval")
    words = found.summary()
    return card("Comparison", [f"{words[0].upper()}{words[1:]}.", f"{found.cost()}."], picture)


def _dotted(names: Sequence[str], value: Array, low: Array, high: Array, title: str) -> str:
    """Dots with their intervals; what has none, or one without an end, is left out."""
    rows = [
        (
            name.replace(r"\$", "$"),
            own,
            least,
            most,
            plus_minus(own, max(most - own, own - least)),
        )
        for name, own, least, most in zip(names, value.tolist(), low.tolist(), high.tolist(), strict=True)
        if np.isfinite([own, least, most]).all()
    ]
    return dots(rows, title=title) if rows else ""
