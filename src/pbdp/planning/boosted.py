"""`pbdp.boosted`: the paper's mechanism by name, a kernel that is boosted in a preferred region (PB-DP).

Given the true answer Q, the output has density (paper, Eq. 2)

    f(y - Q) w(y) / (1 - q·pbar(Q)),      w = 1 in the region of Q, 1 - q outside,

with f the kernel, pbar(Q) its mass outside the region and q the boost, given or from the confidence (Eq. 3).

Every figure is for the law itself, over all neighbors and all shifts up to the sensitivity, rounded up. What
is drawn is a table of whole weights on a grid: `drawn` has the same figures for it. Theorem 1 and its
propositions are not used (they are no upper bounds); `reproduction.published` has them as printed.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypedDict, Unpack, overload

import numpy as np
import numpy.typing as npt

from pbdp.accounting.composition.composed import compose
from pbdp.accounting.composition.loss_distribution import LossDistribution, dominating
from pbdp.accounting.composition.loss_law import LARGEST_LOSS, LossLaw, Release
from pbdp.accounting.exact.accountant import ExactAccountant, smallest_epsilon
from pbdp.accounting.exact.all_neighbors import listed_neighbors, some_neighbors
from pbdp.accounting.exact.divergences import Renyi, largest_deltas
from pbdp.accounting.exact.pairs import Pairs, neighbors
from pbdp.accounting.filters.steps import design_release, symmetric_law
from pbdp.digits import percent_down
from pbdp.errors import CannotCertifyError, ContradictionError, InputError, shown
from pbdp.mechanism.custom import CustomRegion
from pbdp.mechanism.design import Boosted, Design, boost_for, region_masses
from pbdp.mechanism.fixed_range import FixedRegion
from pbdp.mechanism.grid import whole_numbers
from pbdp.mechanism.neighbors import Neighbors
from pbdp.mechanism.region import Region
from pbdp.mechanism.requirement import Requirement
from pbdp.mechanism.within import region_within
from pbdp.noise.binomial import Binomial
from pbdp.noise.family import stretched
from pbdp.noise.gaussian import DiscreteGaussian, Gaussian
from pbdp.noise.kernel import Array, Kernel, LatticeKernel, LogConcave
from pbdp.noise.laplace import DiscreteLaplace, Laplace
from pbdp.noise.staircase import Staircase
from pbdp.parameters import (
    above_one,
    finite,
    fraction,
    non_negative,
    positive,
    probability,
    promised_level,
    whole,
)
from pbdp.planning.certificate import certified
from pbdp.planning.grids import grids_of
from pbdp.planning.plan import Plan, plan_of
from pbdp.planning.scales import least_on
from pbdp.release.releaser import Releaser
from pbdp.reported import Reported
from pbdp.root_finding import CLOSEST, least_enough

Within = float | str | tuple[float, float]
Interval = Callable[[int], tuple[float, float]]
LAW, TABLE = "the law", "the table that is drawn"

# What rounding can take off a coverage (`mechanism.design.KERNEL_ERROR`, twice).
_ROUNDING = 1e-11
# Loss distributions have dp-accounting's usual step where that is not too many points.
STEP = 1e-4
_MOST_POINTS = 1 << 16
# Pairs of neighbors times points that take a second, and points of a search over all answers.
_MOST_ENTRIES, _SEARCHED_POINTS = 1 << 24, 48
# How close, relatively, each of its deltas is found where neighbors have to be searched for.
_DELTA_TOLERANCE = 3e-6
# A distribution ends where what is left of delta cannot be told from rounding.
_LEAST_DELTA = 1e-13
# Scales that are looked at first, in multiples of the widest plain one, and rows that are closer.
_SCALES, _CLOSER = np.geomspace(1.0, 40.0, 24), 3
_SEARCH_TOLERANCE = 1e-6


@dataclass(frozen=True, kw_only=True, repr=False)  # no slots: what is found is kept
class BoostedMechanism(Reported):
    """A kernel that is boosted in a preferred region: the paper's PB-DP mechanism (`pbdp.boosted` makes it).

    `sensitivity` is the most that one person can change the answer; `boost` is the paper's q, and
    `confidence` is what every answer keeps of its region. Figures are for this law itself, rounded up; those
    of `drawn` are for the table of whole weights that a release draws from.
    """

    kernel: Kernel
    region: Region
    boost: float
    sensitivity: float
    confidence: float

    @property
    def figures_for(self) -> str:
        """What the figures are for: the law itself."""
        return LAW

    @property
    def mechanism(self) -> Boosted:
        """The law that is accounted for."""
        return Boosted(kernel=self.kernel, region=self.region, boost=self.boost)

    @property
    def added_losses(self) -> tuple[float, float]:
        """The paper's L1 and L2 (Eq. 4): the largest log C(Q')/C(Q) of neighbors, and -log(1 - q)."""
        mechanism = self.mechanism
        first, other = _pairs(mechanism, self.sensitivity)
        constants = [mechanism.normalizer(*self.region.offsets(answers)) for answers in (first, other)]
        return float(np.max(np.abs(np.log(constants[1] / constants[0])))), mechanism.boost_loss

    def coverage(self, answer: float | None = None) -> float:
        """P(the output is in the region of this answer), or the least of all answers; rounded down.

        `answer` is a true answer.
        """
        answers = self.region.hardest_answers(self.kernel) if answer is None else self._answers(answer)
        inside, _ = region_masses(self.kernel, *self.region.offsets(answers))
        kept = inside / self.mechanism.normalizer(*self.region.offsets(answers))
        least = float(np.min(kept))
        return 1.0 if self.boost == 1 else min(least * (1 - _ROUNDING), 1.0)

    def density(self, y: npt.ArrayLike, answer: float) -> Array:
        """Eq. 2: the density of the outputs `y` at a true answer; their probabilities on whole numbers."""
        (given,) = self._answers(answer)
        below, above = (float(side) for side in self.region.offsets(given))
        noise = np.asarray(y, dtype=np.float64) - given
        weight = np.where((noise >= -below) & (noise <= above), 1.0, 1 - self.boost)
        return np.asarray(
            self.kernel.density(noise) * weight / float(self.mechanism.normalizer(below, above))
        )

    def delta(self, epsilon: float) -> float:
        """The smallest delta with (`epsilon`, delta)-DP."""
        return self._accountant.delta_at(epsilon).upper

    def epsilon(self, delta: float) -> float:
        """The smallest epsilon with (epsilon, `delta`)-DP; infinite where there is none, as often at 0."""
        return self._accountant.epsilon_at(fraction("delta", delta)).upper

    def renyi(self, order: float) -> float:
        """The smallest Rényi loss of this order, which is above one; infinite where there is none."""
        return self._accountant.renyi_at(above_one("order", order)).upper

    def loss_distribution(self, step: float = STEP) -> LossDistribution:
        """The privacy loss distribution (Theorem 1, done exactly): one that dominates all neighbors.

        Its losses are multiples of `step`, or of the least that is not too fine; delta is exact there.
        """
        usual = positive("step", step) == STEP
        law, width = self._losses if usual else _loss_law(self.mechanism, self.sensitivity, step)
        return dominating((law,), width)

    def compose(self, releases: int) -> Composition:
        """The same for so many `releases` with noise of their own (Algorithm 1, done exactly)."""
        return Composition(parts=((self, whole("releases", releases)),))

    @property
    def drawn(self) -> Composition:
        """The same figures for one release of the table that is drawn from."""
        return Composition(parts=((self, 1),), drawn=True)

    def release(self, answer: float) -> float:
        """Draw an output for a true `answer`. Nothing is counted: a plan in a ledger is (see `plan`)."""
        made: float = self._releaser.release(float(self._answers(answer)[0]))
        return made

    def plan(
        self,
        delta: float | None = None,
        *,
        rdp_order: float | None = None,
        releases: int = 1,
        neighbors: str = Neighbors.ADD_REMOVE,
    ) -> Plan:
        """A plan with this noise, for a file or a ledger, at a `delta` or an `rdp_order`.

        Its epsilon is for the table that is drawn, for so many `releases`, under the relation `neighbors`.
        """
        requirement = replace(
            self._requirement, delta=delta, rdp_order=rdp_order, releases=releases, neighbors=neighbors
        )
        found = certified(requirement, self._design)
        if found is None or math.isinf(found.certificate.epsilon):
            raise CannotCertifyError(
                f"{self._design.name} noise has no finite epsilon there. Use a larger delta."
            )
        return plan_of(requirement, found)

    def planned(self, delta: float, neighbors: str) -> tuple[Requirement, Design]:
        """What a plan at a `delta` meets under the relation `neighbors`, and its noise."""
        return replace(self._requirement, delta=delta, neighbors=neighbors), self._design

    def __repr__(self) -> str:
        return f"<{self.describe()}>"

    def describe(self) -> str:
        """The mechanism in one line."""
        kept = percent_down(self.confidence)
        return (
            f"{self.kernel.family} kernel boosted by {self.boost:.4g}: {self.region.describe()}, {kept} of "
            f"the time, sensitivity {self.sensitivity:g}"
        )

    @property
    def _accountant(self) -> ExactAccountant:
        return ExactAccountant(mechanism=self.mechanism, sensitivity=self.sensitivity)

    def _answers(self, answer: object) -> Array:
        """An answer that may occur; in a fixed range any may, and is clamped into it first."""
        given, (low, high) = finite("answer", answer), self.region.answers
        if self.region.stands_still:
            given = min(max(given, low), high)
        if not low <= given <= high:
            raise InputError("answer", f"{low:g} to {high:g}", "one outside")
        if _is_whole(self.kernel, self.region) and given != math.floor(given):
            raise InputError("answer", "a whole number", "another", "The noise is for whole answers.")
        return np.array([given])

    @cached_property
    def _requirement(self) -> Requirement:
        """What a plan with this noise meets."""
        return Requirement(
            region=self.region,
            confidence=min(self.confidence, self._design.confidence_in(self.region)),
            sensitivity=self.sensitivity,
            delta=0.5,  # that of the plan takes its place
            integer=_is_whole(self.kernel, self.region),
            scale=_spread(self.kernel) if self.region.stands_still else None,
        )

    @cached_property
    def _design(self) -> Design:
        """The same on a grid: whole numbers for whole answers, else one that is fine against the width."""
        asked = Requirement(
            region=self.region,
            confidence=0.5,
            sensitivity=self.sensitivity,
            delta=0.5,
            integer=_is_whole(self.kernel, self.region),
            scale=_spread(self.kernel) if self.region.stands_still else None,
        )
        grid = whole_numbers() if asked.integer else grids_of(asked)[0]
        kernel = self.kernel if isinstance(self.kernel, LatticeKernel) else _on_grid(self.kernel, grid.step)
        return Design(grid=grid, kernel=kernel, region=grid.region_in_steps(self.region), boost=self.boost)

    @cached_property
    def _releaser(self) -> Releaser:
        return Releaser(requirement=self._requirement, design=self._design, confidence=self.confidence)

    @cached_property
    def _losses(self) -> tuple[LossLaw, float]:
        return _loss_law(self.mechanism, self.sensitivity, STEP)

    @cached_property
    def _law_release(self) -> Release:
        law, _ = self._losses
        return Release(covered=(law,), actual=(law,))

    @cached_property
    def _table_release(self) -> Release:
        design = self._design
        return design_release(design, design.grid.sensitivity_in_steps(self.sensitivity))


@dataclass(frozen=True, slots=True, kw_only=True)
class Composition:
    """Releases of boosted mechanisms with noise of their own, accounted together.

    Figures are upper bounds, over all neighbors of each: for the laws themselves, or where `drawn` for the
    tables of whole weights that are drawn from.
    """

    parts: tuple[tuple[BoostedMechanism, int], ...]
    drawn: bool = False

    @property
    def figures_for(self) -> str:
        """What the figures are for: the law itself, or the table that is drawn."""
        return TABLE if self.drawn else LAW

    def delta(self, epsilon: float) -> float:
        """The smallest delta with (`epsilon`, delta)-DP."""
        return compose(self._releases).delta_at(non_negative("epsilon", epsilon)).upper

    def epsilon(self, delta: float) -> float:
        """The smallest epsilon with (epsilon, `delta`)-DP; infinite where there is none."""
        return compose(self._releases).epsilon_at(fraction("delta", delta)).upper

    def renyi(self, order: float) -> float:
        """The smallest Rényi loss of this order; infinite for a table, which ends."""
        above_one("order", order)
        return math.inf if self.drawn else math.fsum(part.renyi(order) * count for part, count in self.parts)

    def loss_distribution(self, step: float = STEP) -> LossDistribution:
        """The privacy loss distribution of one release, on multiples of `step`."""
        if len(self.parts) > 1 or self.parts[0][1] > 1:
            raise CannotCertifyError("One release has a loss distribution here; compose those of several.")
        return dominating(self._releases[0][0].covered, positive("step", step))

    def compose(self, releases: int) -> Composition:
        """All of these so many times (`releases`)."""
        times = whole("releases", releases)
        return replace(self, parts=tuple((part, count * times) for part, count in self.parts))

    @property
    def _releases(self) -> list[tuple[Release, int]]:
        return [(part._table_release if self.drawn else part._law_release, n) for part, n in self.parts]


@dataclass(frozen=True, slots=True, kw_only=True)
class BoostedFamily:
    """A family of kernels with its scale left open, boosted in a region: `best` finds scale and boost."""

    family: type[Kernel]
    region: Region
    confidence: float
    sensitivity: float

    def at(self, scale: float) -> BoostedMechanism:
        """The mechanism with a kernel of this `scale`, and the boost that the confidence asks for (Eq. 3)."""
        kernel = _KERNELS[self.family](positive("scale", scale), self.region, self.sensitivity)
        return _made(kernel, self.region, self.sensitivity, None, self.confidence)

    def best(self, delta: float | None = None, *, order: float | None = None) -> BoostedMechanism:
        """The mechanism of least epsilon at `delta`, or of least Rényi loss of this `order` (Algorithm 2).

        Scales are looked at in rows, as the loss need not have a single valley.
        """
        if (delta is None) == (order is None):
            raise ContradictionError("delta and order", "given one at a time", "both or neither")
        loss = (
            _epsilon_near(probability("delta", delta))
            if order is None
            else _renyi_near(above_one("order", order))
        )

        def losses(scales: Array) -> Array:
            return np.array([self._loss(scale, loss) for scale in scales.tolist()])

        scale = least_on(losses, self._plain_scale() * _SCALES, _CLOSER)
        if scale is None:
            raise CannotCertifyError(
                f"No scale of {self.family.__name__} noise has a finite loss for this requirement. Allow a "
                "wider error, or a larger delta."
            )
        return self.at(scale)

    def _plain_scale(self) -> float:
        """The largest scale that keeps the confidence unboosted, or a small one if none does."""
        make = _KERNELS[self.family]

        def short(steepness: float) -> float:
            return boost_for(make(1 / steepness, self.region, self.sensitivity), self.region, self.confidence)

        width = self.region.width if math.isfinite(self.region.width) else self.sensitivity
        start = 1 / max(width, self.sensitivity / 8)
        found = least_enough(short, start, close=CLOSEST, beside=2.0, most=256 * start)
        return 1 / found if math.isfinite(found) else self.sensitivity / 4

    def _loss(self, scale: float, loss: Callable[[Boosted, float], float]) -> float:
        try:
            made = self.at(scale)
        except InputError:  # a scale that the family does not have
            return math.inf
        return loss(made.mechanism, self.sensitivity)


class RegionAsked(TypedDict, total=False):
    """How a region is asked for."""

    within: Within | None
    range: tuple[float, float] | None
    region: Region | Interval | None
    answers: tuple[int, int] | None
    nonnegative: bool


@overload
def boosted(
    kernel: Kernel,
    *,
    confidence: float | None = None,
    boost: float | None = None,
    sensitivity: float,
    **asked: Unpack[RegionAsked],
) -> BoostedMechanism: ...


@overload
def boosted(
    kernel: type[Kernel], *, confidence: float, sensitivity: float, **asked: Unpack[RegionAsked]
) -> BoostedFamily: ...


def boosted(
    kernel: Kernel | type[Kernel],
    *,
    within: Within | None = None,
    range: tuple[float, float] | None = None,  # noqa: A002
    region: Region | Interval | None = None,
    answers: tuple[int, int] | None = None,
    nonnegative: bool = False,
    confidence: float | None = None,
    boost: float | None = None,
    sensitivity: float,
) -> BoostedMechanism | BoostedFamily:
    """The paper's mechanism: a `kernel` that is boosted in the preferred region of the true answer.

    The region is `within` a width (5, "5%+10" with `nonnegative` answers or not, or a pair below and above,
    either of which may be infinite), a fixed `range` of outputs, or a `region` that is a function from a
    whole answer to an interval, for all `answers` between two whole numbers. The boost is given (`boost`) or
    follows from the `confidence` (Eq. 3). `sensitivity` is the most that one person can change the answer.

    With a family of kernels instead of a kernel, such as `pbdp.Gaussian`, its scale is open (`best`).
    """
    found = _region(within, range, region, answers, nonnegative)
    changed = positive("sensitivity", sensitivity)
    if isinstance(kernel, type):
        if kernel not in _KERNELS:
            names = ", ".join(each.__name__ for each in _KERNELS)
            raise InputError("kernel", f"a kernel, or a family with a scale ({names})", kernel.__name__)
        if confidence is None or boost is not None:
            raise ContradictionError("confidence", "given where the scale is open, and no boost", "others")
        level = promised_level("confidence", confidence)
        return BoostedFamily(family=kernel, region=found, confidence=level, sensitivity=changed)
    if not isinstance(kernel, Kernel):
        raise InputError("kernel", "a kernel such as pbdp.Gaussian(3.0)", shown(kernel))
    if (confidence is None) == (boost is None):
        how = "Eq. 3 finds the boost that a confidence asks for."
        raise ContradictionError("confidence and boost", "given one at a time", "both or neither", how)
    return _made(kernel, found, changed, boost, confidence)


# ------------------------------------------------------------------------------------------------ making it


def _made(
    kernel: Kernel, region: Region, sensitivity: float, boost: float | None, confidence: float | None
) -> BoostedMechanism:
    if _is_whole(kernel, region) and sensitivity != math.floor(sensitivity):
        raise InputError("sensitivity", "a whole number for noise on whole numbers", f"{sensitivity:g}")
    inside, _ = region_masses(kernel, *region.offsets(region.hardest_answers(kernel)))
    if not np.all(inside > 0):
        raise InputError("kernel", "one with some mass in the region of every answer", kernel.family)
    if boost is None:
        boost = boost_for(kernel, region, promised_level("confidence", confidence))
    if not 0 <= non_negative("boost", boost) <= 1:
        raise InputError("boost", "between 0 and 1", boost)
    made = BoostedMechanism(
        kernel=kernel, region=region, boost=float(boost), sensitivity=sensitivity, confidence=1.0
    )
    kept = made.coverage()
    return replace(made, confidence=kept if confidence is None else max(kept, float(confidence)))


def _region(
    within: Within | None,
    limits: tuple[float, float] | None,
    region: Region | Interval | None,
    answers: tuple[int, int] | None,
    nonnegative: bool,
) -> Region:
    given = [each is not None for each in (within, limits, region)]
    if sum(given) != 1:
        how = "within=5, within='5%+10', range=(0, 100), or a function and its answers."
        raise ContradictionError(
            "within, range and region", "given one at a time", f"{sum(given)} of them", how
        )
    if (answers is not None) != (callable(region)):
        raise ContradictionError(
            "answers", "given beside a region that is a function, and only there", answers
        )
    if within is not None:
        return region_within(within, nonnegative)
    if limits is not None:
        low, high = limits
        return FixedRegion(low=finite("range", low), high=finite("range", high))
    if callable(region) and answers is not None:
        return CustomRegion(interval=region, low=answers[0], high=answers[1])
    if not isinstance(region, Region):
        raise InputError("region", "a function from an answer to an interval", shown(region))
    return region


def _is_whole(kernel: Kernel, region: Region) -> bool:
    """Whether answers are whole numbers: noise on these is for no others."""
    return isinstance(kernel, LatticeKernel) or region.only_whole_answers


def _spread(kernel: Kernel) -> float:
    """About the width of the noise."""
    return max(float(kernel.reach(0.3)), 1e-9)


def _on_grid(kernel: Kernel, step: float) -> LatticeKernel:
    """The law on the whole numbers that follows a continuous kernel, in steps."""
    if not isinstance(kernel, LogConcave):
        raise InputError("kernel", "one that can be put on a grid", kernel.family)
    return stretched(kernel.on_grid(), 1 / step)


def _staircase(scale: float, region: Region, sensitivity: float) -> Staircase:
    """Steps as wide as the sensitivity, one of their edges on the edge of the region."""
    width, narrow = int(sensitivity), region.tightest()
    center = min(narrow.below, narrow.above)
    return Staircase(loss=1 / scale, width=width, center=int(center) % width if math.isfinite(center) else 0)


def _binomial(scale: float, region: Region, sensitivity: float) -> Binomial:  # noqa: ARG001
    return Binomial(2 * max(1, round(2 * scale * scale)))


# The kernel of a scale: the standard deviation of Gaussian and binomial noise, that of Laplace, 1/loss.
_KERNELS: dict[type[Kernel], Callable[[float, Region, float], Kernel]] = {
    Gaussian: lambda scale, *_: Gaussian(scale),
    Laplace: lambda scale, *_: Laplace(scale),
    DiscreteGaussian: lambda scale, *_: DiscreteGaussian(scale),
    DiscreteLaplace: lambda scale, *_: DiscreteLaplace(scale),
    Staircase: _staircase,
    Binomial: _binomial,
}


# ----------------------------------------------------------------------------------------------- its losses


def _pairs(mechanism: Boosted, sensitivity: float) -> tuple[Array, Array]:
    """Neighbors that hold the worst, or a sample of them where these have to be searched for."""
    listed = listed_neighbors(mechanism, sensitivity)
    return some_neighbors(mechanism, sensitivity) if listed is None else listed


def _loss_law(mechanism: Boosted, sensitivity: float, step: float) -> tuple[LossLaw, float]:
    """The law that dominates all neighbors, and the step of its losses.

    It is that of the curve of the largest delta at multiples of the step: connecting the dots, so that delta
    is exact there and next to nothing too large between. It goes as far as delta can be told from rounding.
    """
    answers, others = _pairs(mechanism, sensitivity)
    pairs = neighbors(mechanism, answers, others)

    def curve(epsilons: Array) -> tuple[Array, Array]:
        return largest_deltas(mechanism, pairs, epsilons)

    hidden = float(curve(np.array([LARGEST_LOSS]))[1][0]) * (1 + _SEARCH_TOLERANCE) + _LEAST_DELTA
    furthest = smallest_epsilon(curve, hidden, 1e-3).upper
    if math.isinf(furthest):
        raise CannotCertifyError("The privacy loss has no distribution that can be told from rounding.")
    searched = listed_neighbors(mechanism, sensitivity) is None
    # where the losses have no closed form, outputs are added up one by one
    cells = 1 if mechanism.kernel.loss_law is not None else math.ceil(mechanism.kernel.reach(1e-20) / 4)
    most = _SEARCHED_POINTS if searched else min(_MOST_POINTS, _MOST_ENTRIES // (cells * len(pairs)) + 64)
    width = max(step, furthest / most)
    epsilons = width * np.arange(math.ceil(furthest / width) + 1, dtype=np.float64)
    deltas = ExactAccountant(mechanism=mechanism, sensitivity=sensitivity).deltas_at(
        epsilons, _DELTA_TOLERANCE
    )
    return symmetric_law(width, deltas * (1 + 1e-14)), width


def _epsilon_near(delta: float) -> Callable[[Boosted, float], float]:
    """About the epsilon at delta, from neighbors that hold the worst or a sample of all."""

    def loss(mechanism: Boosted, sensitivity: float) -> float:
        pairs = neighbors(mechanism, *_pairs(mechanism, sensitivity))
        return smallest_epsilon(lambda e: largest_deltas(mechanism, pairs, e), delta, _SEARCH_TOLERANCE).upper

    return loss


def _renyi_near(order: float) -> Callable[[Boosted, float], float]:
    def loss(mechanism: Boosted, sensitivity: float) -> float:
        pairs: Pairs = neighbors(mechanism, *_pairs(mechanism, sensitivity))
        return float(np.max(Renyi(order).of(mechanism, pairs)[1]))

    return loss
