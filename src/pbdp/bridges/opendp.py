"""OpenDP: a plan as a measurement, so that it works inside a pipeline.

Needs `dp.enable_features("contrib", "honest-but-curious")`:

    counting >> then_plan_release(plan)

**The function** clamps each true answer into those that the plan serves (2^52 steps, or zero and more, say)
and publishes it with fresh, independent noise. Clamping moves no two answers apart, and after it no answer is
refused: an error would tell where an answer lies.

**The privacy map.** Let d be the distance of two inputs, at most the plan's sensitivity (after rounding down,
if the numbers are whole). In every metric that is admitted no number moves by more than d. Those that do
not move have the same law for both inputs, and at most as many move as the plan has releases: so what is
published is (epsilon, delta)-indistinguishable by the plan's certificate. Larger distances are refused; the
certificate says nothing of them. The sensitivity of a plan for vectors is measured in a norm, which a
distance in the same norm bounds, or one in a larger norm: |x|_1 >= |x|_2 >= |x|_inf. Vectors of another
length than the plan's are refused; at a finite distance both inputs have the same.

Which datasets are neighbors is said in OpenDP's own terms, by the distance asked of the whole pipeline.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from pbdp.bridges import needed_by
from pbdp.digits import delta_text
from pbdp.errors import CannotCertifyError, ContradictionError, InputError
from pbdp.planning.plan import Plan
from pbdp.planning.pricing.priced import compose_plans

with needed_by("The bridge to OpenDP", "opendp"):
    import opendp.prelude as dp
    from opendp.extras._utilities import to_then
    from opendp.mod import AtomDomain, Domain, Measurement, Metric, VectorDomain, _PartialConstructor

WHOLE = ("i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "usize")
REAL = ("f32", "f64")
NORMS = {"L1Distance": 1, "L2Distance": 2, "LInfDistance": math.inf}
_OF_PLANS = {"l1": 1, "l2": 2, "linf": math.inf}
# OpenDP's types by numpy's names.
_TYPES = {"i": "int", "u": "uint", "f": "float"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Space:
    """One number (`norm` None), or a vector of `size` numbers, None if any; `atom` is OpenDP's name for them.

    `norm` is the power in which the changes of the numbers add up: 1, 2 or infinity.
    """

    atom: str
    size: int | None = 1
    norm: float | None = None

    @property
    def is_vector(self) -> bool:
        """Whether inputs are vectors."""
        return self.norm is not None

    @property
    def is_whole(self) -> bool:
        """Whether the numbers are whole."""
        return self.atom in WHOLE

    def moved(self, distance: float, norm: float = math.inf) -> float:
        """The most that two inputs at this distance differ by in a norm that is at most the space's own.

        By default the most that one number differs by. Whole numbers differ by whole ones, and so do their
        sums, but not their Euclidean lengths.
        """
        whole = self.is_whole and (norm != 2 or self.norm == 1)
        return math.floor(distance) if whole else distance

    def changed(self, distance: float) -> float:
        """The most numbers that two inputs at this distance differ in.

        Whole numbers that differ do so by one at least: with d the distance, at most d of them (sum of
        absolute values) or d² of them (Euclidean).
        """
        most = math.inf if self.size is None else self.size
        if not self.is_whole or self.norm not in (1, 2):
            return most
        return min(most, math.floor(Fraction(distance) ** int(self.norm)))


def space_of(input_domain: Domain, input_metric: Metric) -> Space:
    """The space of a domain and a metric; refused where a distance says nothing of the numbers."""
    name = str(input_metric.type).rpartition("::")[2].partition("<")[0]
    match input_domain:
        case AtomDomain() if name == "AbsoluteDistance":
            return Space(atom=_atom(input_domain))
        case VectorDomain() if name in NORMS:
            atom = _atom(input_domain.element_domain)
            return Space(atom=atom, size=input_domain.size, norm=NORMS[name])
    raise InputError(
        "input space",
        "numbers with absolute_distance, or vectors of them with l1_distance, l2_distance or linf_distance",
        f"{input_domain} with {input_metric}",
        "Put the transformation before it that ends in such numbers: a count, a sum, counts by category.",
    )


def _atom(domain: Domain) -> str:
    atom = str(domain.carrier_type)
    if not isinstance(domain, AtomDomain) or atom not in WHOLE + REAL:
        raise InputError("input_domain", "of numbers", f"{domain}")
    if atom in REAL and domain.nan:
        raise InputError(
            "input_domain",
            "free of NaN",
            f"{domain}",
            "Say nan=False, or replace them before: a release that fails on them would tell of them.",
        )
    return atom


def opendp_measurement(plan: Plan, *, size: int | None = None, delta: float | None = None) -> Measurement:
    """The measurement of one number, or of a vector of `size` numbers, each moved by the sensitivity at most.

    Whole numbers for a plan made with `integer`, else real ones, in OpenDP's default types. A plan for
    vectors has its own size and the distance of its norm; whole numbers of which one person changes but some
    have the sum of absolute values, which says how many change.
    """
    asked = _taken(plan).requirement
    kind = int if asked.integer else float
    atoms = dp.atom_domain(T=kind, nan=None if kind is int else False)
    if asked.coordinates is None and size is None:
        return make_plan_release(atoms, dp.absolute_distance(T=kind), plan, delta)
    norm = "linf"
    if asked.coordinates is not None:
        size = asked.dimensions if size is None else size
        some = asked.integer and asked.touched < asked.dimensions
        norm = "l1" if some else asked.coordinates.changed_in
    distances: dict[str, Callable[..., Metric]] = {
        "l1": dp.l1_distance, "l2": dp.l2_distance, "linf": dp.linf_distance
    }  # fmt: skip
    return make_plan_release(dp.vector_domain(atoms, size=size), distances[norm](T=kind), plan, delta)


def then_plan_release(plan: Plan, delta: float | None = None) -> _PartialConstructor:
    """The same for the output of the transformation that it is chained to, with `>>`."""
    return to_then(make_plan_release)(plan, delta)


def make_plan_release(
    input_domain: Domain, input_metric: Metric, plan: Plan, delta: float | None = None
) -> Measurement:
    """The measurement on a given space, in approximate(max_divergence()).

    Its loss is the plan's own (epsilon, delta), or epsilon at another `delta`; a Rényi plan needs one, as
    its figure is for the law before it was rounded to the table that is drawn from.

    Vectors may be longer than the plan has releases where their distance says that few enough numbers
    change: counts by category with `l1_distance`, of which one person changes one.
    """
    space, coordinates = space_of(input_domain, input_metric), _taken(plan).requirement.coordinates
    if coordinates is not None and space.size is None:
        space = replace(space, size=coordinates.dimensions)
    release = _Release(plan=plan, space=space)
    kind = "i64" if release.publishes_whole else "f64"
    return dp.m.make_user_measurement(
        input_domain,
        input_metric,
        dp.approximate(dp.max_divergence()),
        function=release.many if release.space.is_vector else release.one,
        privacy_map=_privacy_map(release, _loss(plan, delta)),
        TO=f"Vec<{kind}>" if release.space.is_vector else kind,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Release:
    """The function of the measurement."""

    plan: Plan
    space: Space

    def __post_init__(self) -> None:
        if self.plan.requirement.integer and not self.space.is_whole:
            raise ContradictionError(
                "plan",
                "made without `integer` for real numbers",
                "one for whole numbers",
                "It would round them, and promises its accuracy for whole ones.",
            )
        coordinates = self.plan.requirement.coordinates
        if coordinates is not None:
            if not self.space.is_vector or self.space.size != coordinates.dimensions:
                rule = f"of vectors with size={coordinates.dimensions}, the dimensions of the plan"
                raise InputError("input_domain", rule, f"size {self.space.size}")
            if (self.space.norm or 1) > self._norm:
                rule = f"{coordinates.changed_in}_distance, or one that is never smaller"
                raise InputError("input_metric", rule, "another", "The plan's sensitivity is of that norm.")
        if not self.space.is_whole or self.space.norm == math.inf:
            most = math.inf if self.space.size is None else self.space.size
            _check_changed(self.plan, most)

    @property
    def _norm(self) -> float:
        """The norm that the plan's sensitivity is measured in: of each number, unless it is for vectors."""
        coordinates = self.plan.requirement.coordinates
        return math.inf if coordinates is None else _OF_PLANS[coordinates.changed_in]

    def moved(self, distance: float) -> float:
        """The most that the answer moves between inputs at this distance, as the sensitivity measures it."""
        return self.space.moved(distance, self._norm)

    @property
    def publishes_whole(self) -> bool:
        """Whether whole numbers come out."""
        return self.space.is_whole and self.plan.grid.whole_outputs

    def one(self, answer: Any) -> Any:
        """One published number."""
        return self.many([answer])[0]

    def many(self, answers: Any) -> list[Any]:
        """Published numbers; their number is not checked here, the privacy map has taken it into account."""
        given = np.asarray(answers, dtype=_numpy_type(self.space.atom))
        published: list[Any] = self.plan.release(given, disjoint=True).tolist()
        return published


def _numpy_type(atom: str) -> npt.DTypeLike:
    bits = atom[1:].replace("size", "64")
    return np.dtype(_TYPES[atom[0]] + bits)


def _privacy_map(release: _Release, loss: tuple[float, float]) -> Callable[[Any], tuple[float, float]]:
    sensitivity = release.plan.requirement.sensitivity

    def privacy_map(d_in: Any) -> tuple[float, float]:
        if not 0 <= d_in < math.inf or release.moved(d_in) > sensitivity:
            raise InputError(
                "d_in",
                f"at most the plan's sensitivity, {sensitivity:g}",
                f"{d_in!r}",
                "Plan with the sensitivity that the transformations before it have: their `map(d_in)`.",
            )
        if release.moved(d_in) == 0:
            return 0.0, 0.0
        _check_changed(release.plan, release.space.changed(d_in))
        return loss

    return privacy_map


def _check_changed(plan: Plan, changed: float) -> None:
    releases = plan.releases
    if changed > releases:
        raise InputError(
            "releases, or touches of a vector,",
            "as many as there are numbers that one person may change",
            f"a plan with {releases} for {'vectors of any size' if math.isinf(changed) else changed}",
            "Plan with more, say the vector's size, or use l1_distance on whole numbers.",
        )


def _loss(plan: Plan, delta: float | None) -> tuple[float, float]:
    """(epsilon, delta) of the package, from the table that is drawn from."""
    if delta is None:
        if plan.delta is None:
            raise InputError("delta", "given for a Rényi plan", "nothing", "Say delta=1e-6, for example.")
        return plan.epsilon, plan.delta
    epsilon = compose_plans([(plan, 1)]).epsilon_at(delta).upper
    if math.isinf(epsilon):
        raise CannotCertifyError(
            f"The plan has no finite epsilon at delta {delta_text(delta)}. Use a larger one."
        )
    return epsilon, float(delta)


def _taken(plan: object) -> Plan:
    if not isinstance(plan, Plan):
        raise InputError("plan", "a plan for numbers, as made by pbdp.plan", f"a {type(plan).__name__}")
    if plan.is_joint:
        raise InputError(
            "plan",
            "one for a number, several releases of it or a vector",
            f"one for {', '.join(part.name for part in plan.parts)}",
            "OpenDP has one distance for all numbers of an answer, not one for each part.",
        )
    return plan
