"""What relative accuracy costs when looks come first, beside an oracle and beside noise fixed in advance.

The question is "within 5 %, or 50 where that is more, with 95 %" about a count, asked of a budget of epsilon
1 at delta 1e-6. Printed are

    cost      the mean precision that is bought at an answer, over that of an oracle who knows the answer and
              asks for its width at once,
    questions how many the budget pays for, each look priced from what is left as a ledger does, answers
              spread evenly in log; beside the same questions with the floor fixed in advance, in the law that
              costs least each time,
    maximum   all looks, over the floor fixed in advance with Gaussian-type noise,
    again     five steps, over the last of them asked for at once.

Takes a quarter of an hour.

Run: python benchmarks/bench_looks.py
"""

from __future__ import annotations

import sys

import numpy as np

from pbdp.ledger.averaging import Noise, look_more
from pbdp.ledger.looks.procedure import Procedure, Target, Width, gaussian_plan, sigma_for
from pbdp.ledger.looks.tuning import procedure_for
from pbdp.mechanism.absolute import AbsoluteRegion
from pbdp.mechanism.requirement import Requirement
from pbdp.planning.plan import Plan
from pbdp.planning.pricing import Terms
from pbdp.planning.pricing.choice import Affordable

TERMS = Terms(epsilon=1, delta=1e-6)
WIDTH = Width(theta=0.05, floor=50, confidence=0.95)
ASKED = Target(width=WIDTH, sensitivity=1, delta=1e-6, integer=True)
ANSWERS = (0, 100, 300, 600, 900, 1000, 1100, 1300, 1600, 2000, 3000, 10**4, 10**5, 10**6)
# Ranges of answers, and the seeds they are drawn with.
RANGES = ((100.0, 1e6, (1, 2, 3, 4, 5)), (1000.0, 1e6, (1,)))
GOLDEN = (5**0.5 - 1) / 2
STEPS = (50, 40, 20, 10, 5)

Spent = dict[str, int]


def paid(plan: Plan, spent: Spent) -> Spent | None:
    """What is spent after one more release of the plan; None if it does not fit."""
    cost = TERMS.cost(((plan, 1),), spent)
    return None if cost is None else {name: amount + cost[name] for name, amount in spent.items()}


def after_all(procedure: Procedure, sigmas: tuple[float, ...], spent: Spent) -> Spent | None:
    """What is spent after all these looks."""
    now: Spent | None = spent
    for sigma in sigmas:
        now = None if now is None else paid(procedure.plan(sigma), now)
    return now


def questions(procedure: Procedure, low: float, high: float, seed: int) -> tuple[int, int]:
    """How many questions the budget pays for, and how many of them were missed."""
    draw = np.random.default_rng(seed)
    spent = dict.fromkeys(TERMS.limits(), 0)
    count = missed = 0
    while True:
        # the maximum is priced where it might not fit; elsewhere that takes long and changes nothing
        if TERMS.share(spent) > 0.9 and after_all(procedure, procedure.longest(), spent) is None:
            return count, missed
        # evenly in log, in the order of the golden section, so that few of them are spread as all are
        place = (count * GOLDEN + seed / 7) % 1
        answer = round(low * (high / low) ** place)
        values: list[int] = []
        while (sigma := procedure.next_look(values)) is not None:
            now = paid(procedure.plan(sigma), spent)
            if now is None:
                return count, missed
            spent = now
            values.append(answer + round(sigma * float(draw.standard_normal())))
        count += 1
        missed += abs(values[-1] - answer) > max(0.05 * answer, 50)


def fixed_in_advance() -> int:
    """How many times the floor fits, in the law that costs least of what is left each time."""
    asked = Requirement(
        region=AbsoluteRegion.even(50), confidence=0.95, sensitivity=1, delta=1e-6, integer=True
    )
    spent, count = dict.fromkeys(TERMS.limits(), 0), 0
    while True:
        found = Affordable(terms=TERMS, spent=spent, blocks=TERMS.every_block).choice(asked)
        if found is None or found.price.cost is None:
            return count
        spent = {name: amount + found.price.cost[name] for name, amount in spent.items()}
        count += 1


def asked_again() -> float:
    """What five steps cost, over the last one at once, as priced from a new budget of epsilon 3."""
    terms = Terms(epsilon=3, delta=1e-6)

    def share(plans: list[Plan]) -> float:
        spent = dict.fromkeys(terms.limits(), 0)
        for plan in plans:
            cost = terms.cost(((plan, 1),), spent)
            if cost is None:
                raise SystemExit("the budget is too small")
            spent = {name: amount + cost[name] for name, amount in spent.items()}
        return terms.share(spent)

    plans: list[Plan] = []
    for half_width in STEPS:
        asked = ASKED.requirement(half_width)
        noises = tuple(filter(None, map(Noise.of, plans)))
        plan = look_more(noises, asked) if noises else gaussian_plan(asked)
        if plan is not None:
            plans.append(plan)
    return share(plans) / share([gaussian_plan(ASKED.requirement(STEPS[-1]))])


def figures() -> str:
    """All figures, in words and tables."""
    procedure = procedure_for(ASKED)
    ratios = {
        answer: procedure.precision_at(answer) * sigma_for(WIDTH.steps_at(answer, ASKED.grid), 0.95) ** 2
        for answer in (*ANSWERS, *(round(q) for q in np.geomspace(100, 1e6, 400)))
    }
    nothing = dict.fromkeys(TERMS.limits(), 0)
    all_looks = after_all(procedure, procedure.longest(), nothing)
    gaussian = paid(Procedure(target=ASKED, scouts=(), alone=1.0).plan(sigma_for(50, 0.95)), nothing)
    if all_looks is None or gaussian is None:
        raise SystemExit("the budget is too small")
    maximum = TERMS.share(all_looks) / TERMS.share(gaussian)
    print(
        f"maximum {maximum:.4f}, worst over the oracle {max(ratios.values()):.4f}",
        file=sys.stderr,
        flush=True,
    )
    fixed = fixed_in_advance()
    lines = [
        "Within 5 %, or 50 where that is more, with 95 %; a count; a budget of epsilon 1 at delta 1e-6.",
        "",
        "What it costs in the mean, over an oracle that knows the answer and asks for its width, with",
        f"the same kind of noise: at most {max(ratios.values()):.3f} times as much, up to a million.",
        "",
        "| answer | " + " | ".join(f"{answer:,}" for answer in ANSWERS) + " |",
        "|---|" + "---|" * len(ANSWERS),
        "| cost over the oracle's | " + " | ".join(f"{ratios[answer]:.2f}" for answer in ANSWERS) + " |",
        "",
        f"All looks together, the most it can cost, are {maximum:.3f} times the floor fixed in advance with",
        "Gaussian-type noise. How many questions the budget pays for, with the answers spread evenly in log:",
        "",
        "| answers | fixed in advance | looking first | times as many | missed their width |",
        "|---|---|---|---|---|",
    ]
    for low, high, seeds in RANGES:
        found = [questions(procedure, low, high, seed) for seed in seeds]
        print(low, high, fixed, found, file=sys.stderr, flush=True)
        counts = [count for count, _ in found]
        mean = sum(counts) / len(counts)
        missed = sum(miss for _, miss in found) / sum(counts)
        spread = f"{mean:.0f}" if len(counts) == 1 else f"{mean:.1f} ({min(counts)} to {max(counts)})"
        lines.append(
            f"| {low:,.0f} to {high:,.0f} | {fixed} | {spread} | {mean / fixed:.2f} | {missed:.1%} |"
        )
    steps = ", ".join(map(str, STEPS))
    lines += [
        "",
        f"Asking for a count in five steps (within {steps}) costs {asked_again():.3f} times the last one,",
        "asked for at once with Gaussian-type noise.",
    ]
    return "\n".join(lines)


def main() -> None:
    print(figures())


if __name__ == "__main__":
    main()
