"""Plans in a plain sentence, and numbers and noise as people write them."""

from __future__ import annotations

import re
from decimal import Decimal

from pbdp.digits import NO_LOSS, epsilon_text, percent_down, rounded_up
from pbdp.planning.plan import Plan
from pbdp.studio.form import Asked

# Noise that readers know, to compare with.
KNOWN = ("gaussian", "laplace")
_PEOPLE = re.compile(r"gaussian|laplace|huber")


def noise_words(name: str) -> str:
    """The name of a law as people write it: Boosted Laplace, Huber."""
    named = _PEOPLE.sub(lambda found: found[0].capitalize(), name)
    return named[:1].upper() + named[1:]


def out_of(confidence: float) -> str:
    """A confidence as a count, never above it: 90 of 100, 9,963 of 10,000."""
    shown = Decimal(percent_down(confidence).removesuffix(" %"))
    places = max(0, -int(shown.normalize().as_tuple().exponent))
    return f"{int(shown.scaleb(places)):,} of {100 * 10**places:,}"


def sentence(plan: Plan, asked: Asked) -> str:
    """What the plan promises, costs, and what other noise would cost."""
    requirement, releases = plan.requirement, plan.releases
    # of what kind answers are is said in the form
    near = requirement.describe().replace(", answers of 0 or more", "")
    often = out_of(requirement.confidence if asked.solve == "epsilon" else plan.confidence)
    total = f" for all {releases:,} releases together" if releases > 1 else ""
    noise = noise_words(plan.mechanism.name)
    if releases > 1 and requirement.simultaneous:
        land = f"All {releases:,} answers land {near} in {often} cases"
    else:
        land = f"Answers land {near} in {often} releases"
    if asked.solve == "epsilon":
        loss = (
            "next to no ε is needed" if plan.epsilon <= NO_LOSS else f"the least ε is {_epsilon(plan)}{total}"
        )
        return f"{land}; {loss}, {noise}{_other(plan)}."
    afforded = f"With ε {rounded_up(asked.parameters['epsilon'])}{total}"
    if asked.solve == "confidence":
        return f"{afforded}, {land[0].lower()}{land[1:]} at best, {noise}{_other(plan)}."
    width = near.removeprefix("within ").replace(" of the truth", "").replace(" and inside", ", inside")
    return (
        f"{afforded}, the narrowest width that holds in {often} releases is {width}; it takes ε "
        f"{_epsilon(plan)}, {noise}{_other(plan)}."
    )


def _epsilon(plan: Plan) -> str:
    return epsilon_text(plan.epsilon)


def _other(plan: Plan) -> str:
    """What the noise that readers know would cost for the same, if it is another and was certified."""
    for known in KNOWN:
        for other in plan.alternatives:
            if other.family.startswith(known) and other.epsilon > plan.epsilon:
                return f"; {noise_words(other.family)} would need {epsilon_text(other.epsilon)}"
    return ""
