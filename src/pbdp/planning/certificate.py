"""The certificate of a design: what is guaranteed, by which argument, and under which assumptions.

A search ends with it, and loading a plan computes it again.

**What budgets can pay.** Noise that ends has outputs that a neighbor can never produce. A budget pays for
them from the reserve that it sets aside of its delta, 0.1 % unless told otherwise, and refuses a law that
needs more. Laws that fit such a reserve of their own delta are therefore preferred, see `cheapest`.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, TypeVar

from pbdp.accounting import RESERVE
from pbdp.accounting.exact.tables import Bounds, table_epsilon
from pbdp.digits import delta_text, order_text
from pbdp.errors import CannotCertifyError, ContradictionError, InputError
from pbdp.mechanism.design import AnyDesign, Design, rounded_down
from pbdp.mechanism.grid import Grid, LinearGrid
from pbdp.mechanism.region import Region
from pbdp.mechanism.requirement import Requirement
from pbdp.mechanism.weights import TOTAL, WeightTable
from pbdp.noise.family import Goal
from pbdp.parameters import fraction, non_negative, probability
from pbdp.planning.limit.closed_form import ROUNDING

if TYPE_CHECKING:
    # of which plans for single numbers need nothing
    from pbdp.accounting.composition.loss_law import Release

# The shares of delta that are set aside in turn for the rounding of answer-dependent tables.
RESERVES = (1e-4, 1e-3, 1e-2)
# No table is as exact as a delta of 1 over e to this power.
LARGEST = 50.0
# What a law that needs more than a budget's usual reserve has to save to be chosen.
WORTH = 0.01
# Epsilons this close (relative) are a tie, which goes to the simpler family.
TIE = 1e-4
# An epsilon of no more than this is none for all purposes.
NO_LOSS = 1e-9

FROM_TABLE = "sum over the table of integer weights, every shift"
OVER_ANSWERS = "exact law, every pair of neighboring answers, plus the distance of the tables from it"
COMPOSED = "convolution of the privacy losses of the table of integer weights, every shift"
ADDED = "sum over the table of integer weights, every shift, added up over the releases"
CONSTANT = "the same output for every answer"
IDEAL_RENYI = "exact law before rounding to a table, every pair of neighboring answers"

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Certificate:
    """`epsilon` is guaranteed; `epsilon_lower` is reached, or 0 where that is not known.

    `confidence` holds for every answer: for each number, for a vector as a whole, for the least sure part of
    several. `table_error` is how far what is drawn may be from the law before it was rounded to a table, in
    total variation; the guarantee takes it into account.
    """

    epsilon: float
    epsilon_lower: float
    delta: float | None
    rdp_order: float | None
    confidence: float
    method: str
    table_error: float

    def __post_init__(self) -> None:
        non_negative("epsilon", self.epsilon)
        if not 0 <= self.epsilon_lower <= self.epsilon:
            raise InputError("epsilon_lower", f"0 to {self.epsilon:.9g}", f"{self.epsilon_lower:.9g}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Certified:
    """A design together with its certificate."""

    design: AnyDesign
    certificate: Certificate


class ProvenDesign(AnyDesign):
    """Noise with a proof of its own for any requirement it is meant for: of whole vectors, or listed laws."""

    __slots__ = ()

    @property
    def follows_answer(self) -> bool:
        return True

    @abstractmethod
    def describe(self, requirement: Requirement) -> str:
        """The law in words."""

    @abstractmethod
    def certificate(self, requirement: Requirement) -> Certificate | None:
        """The proof, or None if the confidence falls short. No finite epsilon: `CannotCertifyError`."""

    @abstractmethod
    def release(self, requirement: Requirement) -> Release:
        """What one answer reveals in a composition, at no delta."""

    def unhidden(self, requirement: Requirement) -> float:  # noqa: ARG002 - for those that have some
        """P(the output is one that a neighbor can never produce), at most."""
        return 0.0

    @abstractmethod
    def assumptions(self, requirement: Requirement) -> tuple[str, ...]:
        """What the proof rests on, beyond the neighbors and the sensitivity."""


def goal_on(grid: Grid, requirement: Requirement) -> Goal:
    """What a design on a grid has to reach."""
    each = requirement.confidence_each
    if isinstance(grid, LinearGrid) and grid.whole and requirement.region.follows_answer and each < 1:
        # a width that leaves less over is dearer, so that an epsilon tells its width: by half of what one
        # more step is worth, as Laplace noise misses a region of so many steps with e^-(steps · loss)
        left, steps = math.modf(requirement.region.width / grid.step - float(grid.lost))
        each -= (1 - each) * math.log1p(-each) / (2 * steps + 1) * (1 - left)
    return Goal(
        confidence=each,
        sensitivity=grid.sensitivity_in_steps(requirement.sensitivity),
        delta=requirement.delta,
        order=requirement.rdp_order,
        releases=requirement.releases,
    )


def certified(requirement: Requirement, design: AnyDesign) -> Certified | None:
    """A design with its certificate, or None if some answer would fall short of the confidence."""
    if isinstance(design, ProvenDesign):
        found = design.certificate(requirement)
        return None if found is None else Certified(design=design, certificate=found)
    joint = proven_confidence(requirement, design)
    if joint is None:
        return None
    if not isinstance(design, Design):
        raise AssertionError("a design is for numbers or for vectors")
    each = requirement.each
    region, goal = design.grid.region_in_steps(each.region), goal_on(design.grid, each)
    certificate = certify(design, region, goal)
    if requirement.rdp_order is not None:
        # that of the law before it is rounded to a table
        joint = requirement.joint_confidence_of(certificate.confidence)
    return Certified(design=design, certificate=replace(certificate, confidence=joint))


def proven_confidence(requirement: Requirement, design: AnyDesign) -> float | None:
    """The confidence that every answer has, from the table, or None if one falls short of what is asked."""
    if isinstance(design, ProvenDesign):
        proof = design.certificate(requirement)
        return None if proof is None else proof.confidence
    if not isinstance(design, Design):
        raise AssertionError("a design is for numbers or for vectors")
    if requirement.coordinates is not None and requirement.coordinates.norm != "linf":
        joint = confidence_of_sum(requirement, design)
        return None if joint < requirement.confidence else joint
    each = requirement.each
    found = design.confidence_in(each.region)
    return None if found < each.confidence_each else requirement.joint_confidence_of(found)


@lru_cache
def confidence_of_sum(requirement: Requirement, design: Design) -> float:
    """P(the error of a whole vector is within the width), from the table of its coordinates; kept."""
    from pbdp.planning.vectors.error_law import Sizes

    if not isinstance(design.grid, LinearGrid) or not design.follows_answer or design.offset:
        return 0.0
    return Sizes.allowed(requirement, design.grid).mass(design.table_at(0.0))


def certify(design: Design, region: Region, goal: Goal) -> Certificate:
    """Account for a design; `region` is the requirement's own, in steps."""
    delta, rdp_order = goal.delta, goal.order
    epsilon, method = _epsilon(design, goal)
    if math.isinf(epsilon.upper):
        raise CannotCertifyError(
            f"{design.name} noise has no finite epsilon at "
            + (f"delta {delta_text(delta)}" if delta is not None else f"order {order_text(rdp_order or 0.0)}")
            + "; outputs that only one of two neighbors can produce are too likely. "
            + _working_delta(design, goal)
        )
    return Certificate(
        epsilon=epsilon.upper,
        epsilon_lower=epsilon.lower,
        delta=delta,
        rdp_order=rdp_order,
        confidence=_confidence(design, region, goal),
        method=method,
        table_error=design.table_error(),
    )


def _working_delta(design: Design, goal: Goal) -> str:
    """What to do where outputs that only one of two neighbors can produce weigh more than delta."""
    if not design.follows_answer or design.decoder is not None:
        return "Use a larger delta."
    least = goal.releases * _at_an_end(design, goal.sensitivity)
    return f"Use a delta above {delta_text(least)}{'' if goal.releases == 1 else ', or fewer releases'}."


def _confidence(design: Design, region: Region, goal: Goal) -> float:
    """From the table; a Rényi figure is for the law before it, whose confidence may be that much smaller."""
    confidence = rounded_down(design.least_weight(region))
    if goal.order is None or design.clamp:
        return confidence
    return max(min(confidence, goal.confidence), confidence - design.table_error())


def _composed(table: WeightTable, goal: Goal, delta: float) -> tuple[Bounds, str]:
    """The total epsilon of several releases of one table.

    T releases at (epsilon, delta/T) each are (T·epsilon, delta) together; that simple bound is taken where
    the convolution, whose errors are added to delta, has none to offer.
    """
    from pbdp.accounting.composition.composed import compose
    from pbdp.accounting.composition.loss_law import table_release

    found = compose([(table_release(table, goal.sensitivity), goal.releases)]).epsilon_at(delta)
    if math.isfinite(found.upper):
        return found, COMPOSED
    simple = goal.releases * table_epsilon(table, goal.sensitivity, delta / goal.releases).upper
    return Bounds(lower=min(found.lower, simple), upper=simple * (1 + ROUNDING)), ADDED


def _epsilon(design: Design, goal: Goal) -> tuple[Bounds, str]:
    """The total epsilon of all releases, and how it was found."""
    mechanism, delta = design.mechanism, goal.delta
    if design.decoder is not None and design.decoder.is_constant:
        return Bounds(lower=0.0, upper=0.0), CONSTANT
    if goal.order is not None:
        from pbdp.accounting.exact.accountant import ExactAccountant

        one = ExactAccountant(mechanism=mechanism, sensitivity=goal.sensitivity).renyi_at(goal.order)
        lower = goal.releases * one.lower if _shown(design) else 0.0
        return Bounds(lower=lower, upper=goal.releases * one.upper), IDEAL_RENYI
    if delta is None:
        raise AssertionError("a requirement has a delta or an order")
    if mechanism.follows_answer:
        table = design.table_at(0.0)
        if goal.releases > 1:
            found, method = _composed(table, goal, delta)
        else:
            found, method = table_epsilon(table, goal.sensitivity, delta), FROM_TABLE
        return Bounds(lower=found.lower if _shown(design) else 0.0, upper=found.upper), method
    if goal.releases > 1:
        raise CannotCertifyError("Noise that changes with the answer is certified for one release only.")
    return _over_answers(design, goal, delta)


def _shown(design: Design) -> bool:
    """Whether the noisy number itself is published for some answers, so that all of its loss is reached."""
    return design.decoder is None or design.decoder.first is None or design.decoder.last is None


def _over_answers(design: Design, goal: Goal, delta: float) -> tuple[Bounds, str]:
    """epsilon of noise that changes with the answer.

    |delta of tables - delta of ideal laws| <= (1 + e^eps) · table_error
    """
    # loaded for such noise only, as its search over all answers is large
    from pbdp.accounting.exact.accountant import ExactAccountant, epsilon_of_pair

    mechanism = design.mechanism
    accountant = ExactAccountant(mechanism=mechanism, sensitivity=goal.sensitivity)
    # all neighbors together have no smaller epsilon than one pair: shares too small for it are left out
    first, last = design.region.answers
    place = first if math.isfinite(first) else 0.0
    one = epsilon_of_pair(mechanism, place, min(place + goal.sensitivity, last), delta).lower
    least = (1 + math.exp(min(one, LARGEST))) * design.table_error() / delta
    for reserve in (share for share in RESERVES if least <= share):
        bounds = accountant.epsilon_at(delta * (1 - reserve))
        if bounds.upper < LARGEST and (1 + math.exp(bounds.upper)) * design.table_error() <= delta * reserve:
            worst = accountant.worst_pair_at(bounds.upper, tolerance=WORTH)
            reached = epsilon_of_pair(mechanism, worst.answer, worst.other, delta * (1 + reserve))
            return Bounds(lower=min(reached.lower, bounds.upper), upper=bounds.upper), OVER_ANSWERS
    raise CannotCertifyError(
        f"delta {delta_text(delta)} is too small for noise that changes with the answer: its tables are "
        "exact to "
        f"{design.table_error():.1g}. Use a larger delta."
    )


def noise_delta(delta: float, missing: float) -> float:
    """The largest float d > 0 with d + missing <= delta, as exact numbers; refused if there is none."""
    probability("delta", delta)
    fraction("missing", missing)
    left = delta - missing
    while left > 0 and Fraction(left) + Fraction(missing) > Fraction(delta):
        left = math.nextafter(left, 0.0)
    if left <= 0:
        raise ContradictionError(
            "missing",
            "below delta",
            f"{missing:g} of {delta_text(delta)}",
            "Leave a part of delta for the noise.",
        )
    return left


def unhidden(requirement: Requirement, design: AnyDesign) -> float:
    """P(some output is one that a neighbor can never produce) over all releases, at most.

    It is the mass at an end of the table, as wide as the sensitivity. Noise that changes with the answer, and
    that of whole vectors, has its own proof of privacy and no such ends.
    """
    if isinstance(design, ProvenDesign):
        return design.unhidden(requirement)
    if requirement.delta is None or not isinstance(design, Design) or not design.follows_answer:
        return 0.0
    steps = design.grid.sensitivity_in_steps(requirement.sensitivity)
    return requirement.releases * requirement.touched * _at_an_end(design, steps)


def _at_an_end(design: Design, steps: int) -> float:
    """The mass of so many values at an end of the table, the heavier one."""
    weights = design.table_at(0.0).weights
    return max(int(weights[:steps].sum()), int(weights[-steps:].sum())) / TOTAL


def is_payable(requirement: Requirement, design: AnyDesign) -> bool:
    """Whether the reserve of a budget with the requirement's own delta covers what a neighbor never has."""
    return requirement.delta is None or unhidden(requirement, design) <= RESERVE * requirement.delta


def cheapest(entries: Sequence[T], epsilon: Callable[[T], float], payable: Callable[[T], bool]) -> list[T]:
    """The entries to choose from, least epsilon first: payable ones unless another saves more than 1 %."""
    ranked = sorted(entries, key=epsilon)
    paid = [entry for entry in ranked if payable(entry)]
    return paid if paid and epsilon(paid[0]) * (1 - WORTH) <= epsilon(ranked[0]) else ranked
