"""Why a plan chose the noise it did, in sentences with its own numbers."""

from __future__ import annotations

from pbdp.digits import rounded_down, rounded_up
from pbdp.mechanism.design import Design
from pbdp.noise.family import known_families
from pbdp.planning.plan import Certified, Plan


def explanation(plan: Plan) -> list[str]:
    """Sentences, most important first."""
    entries = [plan.chosen, *plan.others]
    least = min(entries, key=lambda entry: entry.certificate.epsilon)
    chosen = plan.chosen.design
    lines = [
        f"{len(entries)} noise laws meet the requirement and were certified. "
        f"{chosen.name} {_character(chosen) or 'was given'}."
    ]
    if least is not plan.chosen:
        more = 100 * (plan.epsilon / least.certificate.epsilon - 1)
        lines.append(f"{least.design.name} needs {more:.2g} % less, a tie, which goes to the simpler law.")
    if plan.limit is not None and plan.limit.epsilon > 0:
        lines.append(
            f"No {plan.limit.subject} can go below epsilon {rounded_down(plan.limit.epsilon)} "
            f"({plan.limit.kind})."
        )
    lines += _boosting(entries)
    lines += [
        f"{entry.design.name} needs {entry.certificate.epsilon / plan.epsilon:.3g} times the epsilon: "
        f"it {character}."
        for entry in plan.others
        if (character := _character(entry.design))
        and entry.design.kernel.family != chosen.kernel.family
        and entry.design.boost == 0
        and entry.certificate.epsilon > 1.01 * plan.epsilon
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


def _boosting(entries: list[Certified]) -> list[str]:
    """What boosting did for each kernel that was certified with and without it."""
    plain = {entry.design.name: entry.certificate.epsilon for entry in entries if entry.design.boost == 0}
    lines = []
    for entry in entries:
        name = entry.design.name.removeprefix("boosted ")
        if 0 < entry.design.boost < 1 and name in plain:
            before, after = plain[name], entry.certificate.epsilon
            if after < before:
                lines.append(f"Boosting takes {name} noise from {rounded_up(before)} to {rounded_up(after)}.")
    return lines
