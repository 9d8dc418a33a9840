"""OpenDP: a plan as a measurement inside a pipeline, and OpenDP's measurements as what a budget pays for.

Needs `dp.enable_features("contrib", "honest-but-curious")`:

    counting >> then_plan_release(plan)
    budget.reserve(priced_measurement(measurement, 1), key="theirs")

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
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from pbdp.bridges import curve, needed_by
from pbdp.digits import delta_text
from pbdp.errors import CannotCertifyError, ContradictionError, InputError
from pbdp.mechanism.neighbors import Neighbors
from pbdp.planning.plan import Plan
from pbdp.planning.pricing.priced import Claim, Measured, compose_plans

with needed_by("The bridge to OpenDP", "opendp"):
    import opendp.prelude as dp
    from opendp.extras._utilities import to_then
    from opendp.mod import AtomDomain, Domain, Measurement, Metric, VectorDomain, _PartialConstructor

# numpy's types of OpenDP's numbers.
WHOLE = {
    f"{sign}{bits}": f"{kind}{bits}"
    for sign, kind in (("i", "int"), ("u", "uint"))
    for bits in (8, 16, 32, 64)
} | {"usize": "uint64"}
REAL = {"f32": "float32", "f64": "float64"}
NORMS = {"L1Distance": 1, "L2Distance": 2, "LInfDistance": math.inf}
_OF_PLANS = {"l1": 1, "linf": math.inf}
# Who are neighbors at a distance of one between datasets.
_RELATIONS = {
    "SymmetricDistance": Neighbors.ADD_REMOVE,
    "InsertDeleteDistance": Neighbors.ADD_REMOVE,
    "ChangeOneDistance": Neighbors.REPLACE,
    "HammingDistance": Neighbors.REPLACE,
}


def priced_measurement(
    measurement: Measurement, d_in: Any, *, neighbors: str | None = None, label: str = "measurement"
) -> Claim | Measured:
    """An OpenDP measurement as a budget pays for it, by its own privacy map at `d_in`.

    With (epsilon, delta) it is a claim; with a privacy profile, which zero-concentrated loss is turned into,
    it is paid for by its curve. Whoever calls it answers for OpenDP's map. `neighbors` follows from datasets
    at a distance of 1, and has to be given elsewhere.
    """
    metric = _name(measurement.input_metric)
    if neighbors is None:
        if metric not in _RELATIONS or d_in != 1:
            rule = "given, unless datasets are at a distance of 1"
            raise InputError("neighbors", rule, f"{metric} and {d_in!r}", f"One of {', '.join(Neighbors)}.")
        neighbors = _RELATIONS[metric]
    if str(measurement.output_measure) == "ZeroConcentratedDivergence":
        measurement = dp.c.make_zCDP_to_approxDP(measurement)
    loss: Any = measurement.map(d_in)  # type: ignore[no-untyped-call]  # OpenDP annotates no results
    match str(measurement.output_measure):
        case "SmoothedMaxDivergence":
            return curve(loss.delta, loss.epsilon, neighbors, label)
        case "MaxDivergence":
            return Claim(epsilon=loss, neighbors=neighbors, label=label)
        case "Approximate(MaxDivergence)":
            return Claim(epsilon=loss[0], delta=loss[1], neighbors=neighbors, label=label)
    rule = "max_divergence, its approximate or smoothed form, or zero_concentrated_divergence"
    raise InputError("output measure", rule, f"{measurement.output_measure}")


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
    distance = dp.l1_distance if norm == "l1" else dp.linf_distance
    return make_plan_release(dp.vector_domain(atoms, size=size), distance(T=kind), plan, delta)


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
    atom, size, norm = _space(input_domain, input_metric)
    coordinates = _taken(plan).requirement.coordinates
    if coordinates is not None and size is None:
        size = coordinates.dimensions
    release = _Release(plan=plan, atom=atom, size=size, norm=norm, loss=_loss(plan, delta))
    kind = "i64" if release.is_whole and plan.grid.whole_outputs else "f64"
    vector = norm is not None
    return dp.m.make_user_measurement(
        input_domain,
        input_metric,
        dp.approximate(dp.max_divergence()),
        function=release.many if vector else release.one,
        privacy_map=release.privacy_map,
        TO=f"Vec<{kind}>" if vector else kind,
    )


def _space(input_domain: Domain, input_metric: Metric) -> tuple[str, int | None, float | None]:
    """OpenDP's name of the numbers, how many there are (None: any), and the power in which changes add up.

    That is None for one number. Refused where a distance says nothing of the numbers.
    """
    name = _name(input_metric)
    match input_domain:
        case AtomDomain() if name == "AbsoluteDistance":
            return _atom(input_domain), 1, None
        case VectorDomain() if name in NORMS:
            return _atom(input_domain.element_domain), input_domain.size, NORMS[name]
    raise InputError(
        "input space",
        "numbers with absolute_distance, or vectors of them with l1_distance, l2_distance or linf_distance",
        f"{input_domain} with {input_metric}",
        "Put the transformation before it that ends in such numbers: a count, a sum, counts by category.",
    )


def _name(metric: Metric) -> str:
    return str(metric.type).rpartition("::")[2].partition("<")[0]


def _atom(domain: Domain) -> str:
    atom = str(domain.carrier_type)
    if not isinstance(domain, AtomDomain) or atom not in WHOLE | REAL:
        raise InputError("input_domain", "of numbers", f"{domain}")
    if atom in REAL and domain.nan:
        raise InputError(
            "input_domain",
            "free of NaN",
            f"{domain}",
            "Say nan=False, or replace them before: a release that fails on them would tell of them.",
        )
    return atom


@dataclass(frozen=True, slots=True, kw_only=True)
class _Release:
    """The function and the map of a measurement of numbers, as `_space` has them."""

    plan: Plan
    atom: str
    size: int | None
    norm: float | None
    loss: tuple[float, float]

    def __post_init__(self) -> None:
        asked = self.plan.requirement
        if asked.integer and not self.is_whole:
            raise ContradictionError(
                "plan",
                "made without `integer` for real numbers",
                "one for whole numbers",
                "It would round them, and promises its accuracy for whole ones.",
            )
        coordinates = asked.coordinates
        if coordinates is not None:
            if self.norm is None or self.size != coordinates.dimensions:
                rule = f"of vectors with size={coordinates.dimensions}, the dimensions of the plan"
                raise InputError("input_domain", rule, f"size {self.size}")
            if self.norm > _OF_PLANS[coordinates.changed_in]:
                rule = f"{coordinates.changed_in}_distance, or one that is never smaller"
                raise InputError("input_metric", rule, "another", "The plan's sensitivity is of that norm.")
        if not self.is_whole or self.norm == math.inf:
            self._check_changed(math.inf if self.size is None else self.size)

    @property
    def is_whole(self) -> bool:
        """Whether the numbers are whole."""
        return self.atom in WHOLE

    def one(self, answer: Any) -> Any:
        """One published number."""
        return self.many([answer])[0]

    def many(self, answers: Any) -> list[Any]:
        """Published numbers; their number is not checked here, the privacy map has taken it into account."""
        given = np.asarray(answers, dtype=(WHOLE | REAL)[self.atom])
        published: list[Any] = self.plan.release(given, disjoint=True).tolist()
        return published

    def privacy_map(self, d_in: Any) -> tuple[float, float]:
        """(epsilon, delta) at a distance; whole numbers differ by whole ones, and so do their sums."""
        sensitivity = self.plan.requirement.sensitivity
        moved = math.floor(d_in) if self.is_whole and math.isfinite(d_in) else d_in
        if not 0 <= d_in < math.inf or moved > sensitivity:
            raise InputError(
                "d_in",
                f"at most the plan's sensitivity, {sensitivity:g}",
                f"{d_in!r}",
                "Plan with the sensitivity that the transformations before it have: their `map(d_in)`.",
            )
        if moved == 0:
            return 0.0, 0.0
        most = math.inf if self.size is None else self.size
        if self.is_whole and self.norm in (1, 2):
            # whole numbers that differ do so by one at least: at most d of them, or d² in Euclidean length
            most = min(most, math.floor(Fraction(d_in) ** int(self.norm or 1)))
        self._check_changed(most)
        return self.loss

    def _check_changed(self, changed: float) -> None:
        if changed > self.plan.releases:
            many = "vectors of any size" if math.isinf(changed) else changed
            raise InputError(
                "releases, or touches of a vector,",
                "as many as there are numbers that one person may change",
                f"a plan with {self.plan.releases} for {many}",
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
