"""Why a plan chose the noise it did, in sentences with its own numbers."""

from __future__ import annotations

from pbdp.digits import rounded_down, rounded_up
from pbdp.mechanism.design import Design
from pbdp.noise.family import known_families
from pbdp.planning.plan import Plan, number_design


def explanation(plan: Plan) -> list[str]:
    """Sentences, most important first."""
    entries = [
        (number_design(entry.design), entry.certificate.epsilon) for entry in (plan.chosen, *plan.others)
    ]
    least, least_epsilon = min(entries, key=lambda entry: entry[1])
    chosen = plan.design
    lines = [
        f"{len(entries)} noise laws meet the requirement and were certified. "
        f"{chosen.name} {_character(chosen) or 'was given'}."
    ]
    if least is not chosen:
        more = 100 * (plan.epsilon / least_epsilon - 1)
        lines.append(f"{least.name} needs {more:.2g} % less, a tie, which goes to the simpler law.")
    if plan.limit is not None and plan.limit.epsilon > 0:
        lines.append(
            f"No {plan.limit.subject} can go below epsilon {rounded_down(plan.limit.epsilon)} "
            f"({plan.limit.kind})."
        )
    lines += _boosting(entries)
    lines += [
        f"{design.name} needs {epsilon / plan.epsilon:.3g} times the epsilon: it {character}."
        for design, epsilon in entries[1:]
        if (character := _character(design))
        and design.kernel.family != chosen.kernel.family
        and design.boost == 0
        and epsilon > 1.01 * plan.epsilon
    ]
    releases = plan.requirement.releases
    if releases > 1:
        lines.append(
            f"Over {releases} releases losses average out: their spread counts more than their largest value."
        )
    return lines


def _character(design: Design) -> str | None:
    """What sets the design's noise apart; None for noise of no family."""
    family = known_families().get(design.kernel.family)
    return None if family is None else family.character


def _boosting(entries: list[tuple[Design, float]]) -> list[str]:
    """What boosting did for each kernel that was certified with and without it."""
    plain = {design.name: epsilon for design, epsilon in entries if design.boost == 0}
    lines = []
    for design, after in entries:
        name = design.name.removeprefix("boosted ")
        if 0 < design.boost < 1 and name in plain:
            before = plain[name]
            if after < before:
                lines.append(f"Boosting takes {name} noise from {rounded_up(before)} to {rounded_up(after)}.")
    return lines
