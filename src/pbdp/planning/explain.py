"""Why a plan chose the noise it did, in sentences with its own numbers."""

from __future__ import annotations

from pbdp.planning.plan import Certified, Plan

_CHARACTER = {
    "laplace": "loses the same amount at almost every output, which suits one release",
    "gaussian": "loses more and more the further an output is from the answer",
    "staircase": "is flat over stretches as wide as the sensitivity, with an edge on the edge of the region",
    "cut staircase": "is a staircase that ends, and spends delta on its ends",
    "generalized normal": "lies between Laplace and Gaussian noise, or beyond",
    "huber": "has a Gaussian center and Laplace tails, so its loss is bounded",
    "cosine": "has the least Fisher information, which counts when many losses add up",
    "linear program": "is what the linear program over all noise laws gives",
    "free form": "was optimized point by point for this number of releases",
}


def explanation(plan: Plan) -> list[str]:
    """Sentences, most important first."""
    entries = [plan.chosen, *plan.others]
    least = min(entries, key=lambda entry: entry.certificate.epsilon)
    chosen = plan.chosen.design
    lines = [
        f"{len(entries)} noise laws meet the requirement and were certified. "
        f"{chosen.name} {_CHARACTER.get(chosen.kernel.family, 'was given')}."
    ]
    if least is not plan.chosen:
        more = 100 * (plan.epsilon / least.certificate.epsilon - 1)
        lines.append(f"{least.design.name} needs {more:.2g} % less, a tie, which goes to the simpler law.")
    if plan.limit is not None and plan.limit.epsilon > 0:
        lines.append(
            f"No {plan.limit.subject} can go below epsilon {plan.limit.epsilon:.4g} ({plan.limit.kind})."
        )
    lines += _boosting(entries)
    lines += [
        f"{entry.design.name} needs {entry.certificate.epsilon / plan.epsilon:.3g} times the epsilon: "
        f"it {_CHARACTER[entry.design.kernel.family]}."
        for entry in plan.others
        if entry.design.kernel.family in _CHARACTER
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


def _boosting(entries: list[Certified]) -> list[str]:
    """What boosting did for each kernel that was certified with and without it."""
    plain = {entry.design.name: entry.certificate.epsilon for entry in entries if entry.design.boost == 0}
    lines = []
    for entry in entries:
        name = entry.design.name.removeprefix("boosted ")
        if 0 < entry.design.boost < 1 and name in plain:
            before, after = plain[name], entry.certificate.epsilon
            if after < before:
                lines.append(f"Boosting takes {name} noise from {before:.4g} to {after:.4g}.")
    return lines
