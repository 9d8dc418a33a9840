"""Why a plan chose the noise it did, and what its guarantee rests on, in sentences with its own numbers."""

from __future__ import annotations

import math
from dataclasses import replace
from importlib import import_module

from pbdp.accounting.risk import delta_words
from pbdp.digits import epsilon_text, percent_up, plain, rounded_down, rounded_up
from pbdp.errors import PbdpError
from pbdp.mechanism.absolute import AbsoluteRegion
from pbdp.mechanism.design import AnyDesign, Design
from pbdp.mechanism.grid import Grid, LinearGrid
from pbdp.mechanism.relative import RelativeRegion
from pbdp.mechanism.requirement import Requirement
from pbdp.noise.family import known_families
from pbdp.planning.certificate import NO_LOSS, is_payable
from pbdp.planning.plan import Part, Plan, number_design
from pbdp.report.statement import Caution, literal
from pbdp.reported import has_reproduction


def explanation(plan: Plan, *, in_seconds: bool = False) -> list[str]:
    """Sentences, most important first; with what takes seconds to prove, or without."""
    entries = [(entry.design, entry.certificate.epsilon) for entry in (plan.chosen, *plan.others)]
    least, least_epsilon = min(entries, key=lambda entry: entry[1])
    chosen = plan.mechanism
    if (always := _always(plan)) is not None:
        return [always]
    lines = [
        f"{len(entries)} noise laws meet the requirement and were certified. "
        f"{chosen.name} {_character(chosen) or 'was given'}."
    ]
    if least is not chosen:
        less = f"{least.name} needs {percent_up(1 - least_epsilon / plan.epsilon)} less"
        if is_payable(plan.requirement, least):
            lines.append(f"{less}, a tie, which goes to the simpler law.")
        else:
            lines.append(f"{less}, but ends where a neighbor's noise goes on: few budgets can pay for that.")
    lines += _decoding(entries)
    if plan.limit is not None and plan.limit.epsilon > 0:
        lines.append(
            f"No {plan.limit.subject} can go below epsilon {rounded_down(plan.limit.epsilon)} "
            f"({plan.limit.kind})."
        )
    known = 0.0 if plan.limit is None else plan.limit.epsilon
    if in_seconds and (any_law := plan.limit_of_any_law()) is not None and any_law.epsilon > known:
        above = rounded_up(100 * (plan.epsilon / any_law.epsilon - 1), 2)
        lines.append(
            f"No {any_law.subject} can go below epsilon {rounded_down(any_law.epsilon)}, not even with a law "
            f"of its own for every answer ({any_law.kind}): this plan is {above} % above."
        )
    lines += _boosting(entries)
    lines += [
        f"{design.name} needs {rounded_down(epsilon / plan.epsilon, 3)} times the epsilon: it {character}."
        for design, epsilon in entries[1:]
        if (character := _character(design))
        and _family_of(design) != _family_of(chosen)
        and _boost_of(design) == 0
        and epsilon > WORTH_A_HAIR * plan.epsilon > 0
    ]
    releases = plan.requirement.releases
    if releases > 1:
        lines.append(
            f"Over {releases} releases losses average out: their spread counts more than their largest value."
        )
    return lines


# A step of one's own is spoken of when it costs so many times the epsilon of a better one.
DEAR_STEP = 1.05
# A little more width is spoken of when what is asked for costs so many times as much; it is so many steps.
WORTH_A_HAIR, HAIR = 1.01, 2.0
# A relative width costs nearly what its floor costs, from this share of it on.
NEARLY = 0.75


def _always(plan: Plan) -> str | None:
    """That one number is published whatever the answer is, if it is."""
    design = plan.mechanism
    if design.decoder is None or not design.decoder.is_constant:
        return None
    number = design.decoder.outputs[0] * design.grid.step
    return f"{number:g} meets the requirement for every answer: it is published whatever the data are."


def remarks(plan: Plan) -> tuple[Caution, ...]:
    """What is unusual: a large delta, a width between whole numbers, no loss, a step that costs much."""
    found = [_caution("large_delta", delta_words(plan.delta))]
    found += [_caution("width", width_words(part.requirement)) for part in plan.parts]
    found += [_caution("percentage", _vector_floor_words(part)) for part in plan.parts]
    if not plan.is_joint and plan.requirement.coordinates is None:
        found += [
            _caution("constant", _always(plan)),
            _caution("no_loss", _no_loss_words(plan)),
            _caution("step", _step_words(plan)),
            _caution("width", _hair_words(plan)),
            _caution("percentage", _floor_words(plan)),
        ]
    return tuple(warning for warning in found if warning is not None)


def _caution(code: str, words: str | None) -> Caution | None:
    return None if words is None else Caution(code=code, text=literal(words))


def _no_loss_words(plan: Plan) -> str | None:
    """That delta pays for all of it, if it does."""
    if plan.delta is None or plan.epsilon > NO_LOSS or _always(plan) is not None:
        return None
    return (
        "delta alone allows this accuracy: the noise is so wide that one person hardly ever changes what "
        "is published, so next to no epsilon is needed. Ask for a narrower width or a smaller delta."
    )


def _step_words(plan: Plan) -> str | None:
    """What a step of one's own costs, where that is much."""
    better = better_step(plan)
    if better is None:
        return None
    more = 100 * (plan.epsilon / better.epsilon - 1)
    return (
        f"A step of {plan.grid.step:g} costs {rounded_up(more, 2)} % more than {better.grid.step:.6g} would "
        f"(epsilon {rounded_up(better.epsilon)}); leave the step out to have it found."
    )


def _hair_words(plan: Plan) -> str | None:
    """What a little more width saves, where a range then takes a region less."""
    wider = a_hair_wider(plan)
    if wider is None:
        return None
    return (
        f"A hair more width costs less: {wider.requirement.region.describe()}, epsilon is "
        f"{rounded_up(wider.epsilon)}. The range is a whole number of widths long, and rounding answers "
        "to a grid takes a little of each."
    )


def _floor_words(plan: Plan) -> str | None:
    """That a percentage saves next to nothing, where it does."""
    region = plan.requirement.region
    if not isinstance(region, RelativeRegion) or plan.epsilon <= NO_LOSS:
        return None
    # noise that is neither decoded nor on a logarithmic scale keeps to the floor everywhere
    floor = min(
        (
            entry.certificate.epsilon
            for entry in (plan.chosen, *plan.others)
            if (design := number_design(entry.design)).decoder is None
            and isinstance(design.grid, LinearGrid)
            and (design.boost == 0 or design.follows_answer)
        ),
        default=math.inf,
    )
    if plan.epsilon < NEARLY * floor:
        return None
    spared = rounded_down(100 * (1 - plan.epsilon / floor), 2)
    saved = f"only {spared} %" if plan.epsilon < 0.995 * floor else "nothing"
    return (
        f"Fixed in advance, the percentage saves {saved}: within {region.tau:g} costs epsilon "
        f"{rounded_up(floor)}. `ask` with a floor looks until it is accurate enough, and pays less for large "
        "answers."
    )


def _vector_floor_words(part: Part) -> str | None:
    """That a percentage of a whole vector's size costs what its floor costs."""
    region = part.requirement.region
    if part.requirement.is_one_by_one or not isinstance(region, RelativeRegion):
        return None
    return (
        f"The percentage saves nothing: noise for {part.name or 'the whole vector'} keeps to its floor, "
        f"within {region.tau:g}, whatever the answer is. A higher floor costs less; for single numbers `ask` "
        "with a floor looks first, and pays less for large ones."
    )


def width_words(requirement: Requirement) -> str | None:
    """What a width between whole numbers acts as, where answers and outputs are whole."""
    within, joint = requirement.region.within, requirement.coordinates is not None
    if not requirement.integer or joint or not isinstance(within, float | int | list):
        return None
    sides = within if isinstance(within, list) else [within]
    if all(math.isinf(side) or side == math.floor(side) for side in sides):
        return None
    acts = " and ".join(plain(side if math.isinf(side) else math.floor(side)) for side in sides)
    return f"A width of {' and '.join(map(plain, sides))} acts as {acts}: answers and outputs are whole."


def better_step(plan: Plan) -> Plan | None:
    """The plan on the grid that would have been found, where the step asked for costs much more."""
    asked = plan.requirement
    if asked.step is None or (asked.integer and asked.step == 1) or not isinstance(plan.mechanism, Design):
        return None
    from pbdp.planning.grids import grids_of
    from pbdp.planning.planner import plan_for

    region, free = asked.region, replace(asked, step=None)
    if region.follows_answer and not _is_coarse(plan.grid, grids_of(free)[0], asked):
        return None
    try:
        better = plan_for(free)
    except PbdpError:
        return None
    return better if plan.epsilon > DEAR_STEP * better.epsilon else None


def a_hair_wider(plan: Plan) -> Plan | None:
    """The plan for a width that makes up for rounding, where a range then takes a region less."""
    asked = plan.requirement
    if asked.integer or asked.bounds is None or plan.epsilon <= NO_LOSS or not asked.region.follows_answer:
        return None
    if not isinstance(plan.grid, LinearGrid) or plan.grid.down:
        return None
    if not asked.takes_more_regions(plan.grid.step):
        return None
    from pbdp.planning.planner import plan_for

    width = sum(float(offset) for offset in asked.region.offsets(0.0))
    wider = asked.region.scaled(1 + HAIR * plan.grid.step / width, whole=False)
    if asked.step is not None or not isinstance(wider, AbsoluteRegion):
        return None
    short = AbsoluteRegion(below=_shortened(wider.below), above=_shortened(wider.above))
    try:
        found = plan_for(replace(asked, region=short))
    except PbdpError:
        return None
    return found if plan.epsilon > WORTH_A_HAIR * found.epsilon else None


def _shortened(offset: float) -> float:
    """About this width, in few digits."""
    return offset if math.isinf(offset) or offset == 0 else float(f"{offset:.4g}")


def _is_coarse(grid: Grid, other: Grid, asked: Requirement) -> bool:
    """Whether a grid loses more of width and sensitivity than another, so that a look may pay."""

    def rate(grid: Grid) -> float:
        below, above = grid.region_in_steps(asked.region).offsets(0.0)
        return grid.sensitivity_in_steps(asked.sensitivity) / (float(below + above) + 1)

    return rate(grid) > 1.02 * rate(other)


def _family_of(design: AnyDesign) -> str:
    return design.kernel.family if isinstance(design, Design) else design.name.split(",")[0]


def _boost_of(design: AnyDesign) -> float:
    return design.boost if isinstance(design, Design) else 0.0


def _character(design: AnyDesign) -> str | None:
    """What sets the design's noise apart; None for noise of no family."""
    family = known_families().get(_family_of(design))
    return None if family is None else family.character


def _decoding(entries: list[tuple[AnyDesign, float]]) -> list[str]:
    """What the decoder of the chosen noise does, and what it saves."""
    chosen = entries[0][0]
    if chosen.decoder is None:
        return []
    line = (
        "A decoder, a public table in the plan, turns each noisy number into one that is acceptable to the "
        "answers around it; that costs no privacy"
    )
    without = min((epsilon for design, epsilon in entries if design.decoder is None), default=None)
    saved = (
        ""
        if without is None
        else f" and takes epsilon from {rounded_up(without)} to {rounded_up(entries[0][1])}"
    )
    return [f"{line}{saved}."]


def _boosting(entries: list[tuple[AnyDesign, float]]) -> list[str]:
    """What boosting did for each kernel that was certified with and without it."""
    plain = {design.name: epsilon for design, epsilon in entries if _boost_of(design) == 0}
    lines = []
    for design, after in entries:
        name = design.name.removeprefix("boosted ")
        if 0 < _boost_of(design) < 1 and name in plain:
            before = plain[name]
            if after < before:
                lines.append(f"Boosting takes {name} noise from {rounded_up(before)} to {rounded_up(after)}.")
    return lines


def published(plan: Plan) -> list[str]:
    """What the paper's own formulas give the boosted laws among those compared; they guarantee nothing.

    Nothing where the paper's reproduction is not installed.
    """
    if not has_reproduction():
        return []
    published_figures = import_module("reproduction.published.figure").published_figures
    laws = [entry.design for entry in (plan.chosen, *plan.others)]
    figures = published_figures(plan.requirement, [law for law in laws if isinstance(law, Design)])
    return [
        f"{figure.design.name}, as published: epsilon {epsilon_text(figure.epsilon)}. That is not a "
        "guarantee."
        for figure in figures
    ]
