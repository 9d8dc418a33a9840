"""Boosted randomized response: a report is the true value, one near it, or any other.

A report y has probability own if it is the true value, near if it is another value near the true one, far
otherwise. In every configuration the law is a mixture of two: with weight sum of far, a report that does not
depend on the true value at all (y with weight far_y); with the rest, `boost`, a value near the true one.
That makes it drawable by arithmetic on one random word, with no table for each value.

How a client draws, from one random word w below 2^64 (all numbers whole, `//` rounds down):
    u = w // 4;  B = sum over categories k of n_k far_k  (a scale of N values: N far)
    if u < B:   report value number y = first_k + (u - B_k) // far_k for the last category k with B_k <= u,
                B_k being the sum of n_i far_i over the categories i before k (a scale: y = u // far)
    else:       e = u - B - (own_j - far_j), with j the category of the true value x
                if e < 0, report x
                else k = e // (near_j - far_j) and report the value 1 + k places after x in its category
                (on a scale: in its neighborhood), going on at its first value after its last
Each report has exactly the weight the configuration says: far from the first case, own - far or near - far
from the second. Only look-ups depend on the true value; which case occurs does not.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from itertools import count
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from pbdp.errors import CannotCertifyError, InputError
from pbdp.local.blanket import AnswerPair, scale_pairs, set_pairs
from pbdp.local.domain import CategoryDomain, Codes, Domain, ScaleDomain
from pbdp.local.estimators import LARGEST_REST, NOT_KNOWABLE, Estimator, MatrixReports, SetReports
from pbdp.local.integer_weights import SHAVE, checked_epsilon, epsilon_of, largest_ratio
from pbdp.local.mechanism import CellBounds, EstimatedMechanism
from pbdp.local.region import Region
from pbdp.mechanism.weights import TOTAL
from pbdp.noise.kernel import Array, Words

LARGEST_SCALE, LARGEST_CONDITION = 4096, 1e10


@dataclass(frozen=True, slots=True, kw_only=True)
class Shares:
    """Probabilities of one report by its relation to the true value, for each category (one for a scale)."""

    own: tuple[float, ...]
    near: tuple[float, ...]
    far: tuple[float, ...]
    boost: float


def part_sizes(domain: Domain) -> tuple[int, ...]:
    """Neighborhood sizes for each part with weights of its own: the categories, or the one of a scale."""
    return domain.sizes if isinstance(domain, CategoryDomain) else (int(domain.size[0]),)


def part_values(domain: Domain) -> tuple[int, ...]:
    """How many values have the weights of each part."""
    return domain.sizes if isinstance(domain, CategoryDomain) else (domain.count,)


@dataclass(frozen=True, slots=True, kw_only=True)
class IntegerLaw:
    """Weights of reports, as whole multiples of 2^-62, for each category (one entry for a scale)."""

    own: tuple[int, ...]
    near: tuple[int, ...]
    far: tuple[int, ...]

    def check(self, domain: Domain) -> None:
        """Refuse weights that are no law: every row must add up to 2^62, with far <= near <= own."""
        sizes = part_sizes(domain)
        if not len(self.own) == len(self.near) == len(self.far) == len(sizes):
            raise InputError("weights", f"given for {len(sizes)} parts", "another number")
        base = self.base(domain)
        for own, near, far, size in zip(self.own, self.near, self.far, sizes, strict=True):
            if not 0 < far <= near <= own or own - far + (size - 1) * (near - far) != TOTAL - base:
                raise InputError("weights", "falling from own to far, each row adding up to 2^62", "others")

    def base(self, domain: Domain) -> int:
        """Weight of the reports that do not depend on the true value."""
        return sum(n * far for n, far in zip(part_values(domain), self.far, strict=True))

    def ratio(self, domain: Domain) -> Fraction:
        """The largest column ratio, over every column up to equal ones.

        The column of report y holds own once (y itself), near for each other x with y near x, and far for all
        others: no weights but the ones below. In a category of size n_j they all occur in every column (near
        if n_j > 1). On a scale they occur in the column of the first value, and columns in the middle, which
        may lack far, hold no others; so the largest ratio is exact there too.
        """
        return largest_ratio(
            (own, far, near) if size > 1 else (own, far)
            for own, near, far, size in set(
                zip(self.own, self.near, self.far, part_sizes(domain), strict=True)
            )
        )

    def distance(self, domain: Domain) -> Fraction:
        """Largest total variation distance between the reports of two values.

        In different categories it is the whole boost, TOTAL - base: what row x has above row x' is what it
        gives its own category beyond far. In one category it is own - near, which is less. On a scale it is
        the boost where neighborhoods are apart, and at most that elsewhere, as the rows share the rest.
        """
        if isinstance(domain, CategoryDomain) and len(domain.sizes) == 1:
            return Fraction(self.own[0] - (self.near[0] if domain.count > 1 else self.own[0]), TOTAL)
        return Fraction(TOTAL - self.base(domain), TOTAL)

    def shares(self, domain: Domain) -> Shares:
        """The probabilities that are really drawn, as floats."""
        return Shares(
            own=tuple(weight / TOTAL for weight in self.own),
            near=tuple(weight / TOTAL for weight in self.near),
            far=tuple(weight / TOTAL for weight in self.far),
            boost=(TOTAL - self.base(domain)) / TOTAL,
        )


def integer_law(domain: Domain, epsilon: float, epsilon0: float) -> IntegerLaw:
    """Integer weights whose certified epsilon is at most `epsilon`.

    The ideal law has own = e^epsilon far and near = r far, r = e^(epsilon - epsilon0). With d_j = e^epsilon +
    (n_j - 1) r - n_j, its boost is D = 1/(1 + sum n_j/d_j) and far_j = D/d_j: row j adds up to sum n_k far_k
    + far_j d_j = (1 - D) + D. For a scale of N values with neighborhoods of n, far = 1/(d + N), as in the
    paper's proposition, which the first formula gives for equal categories.

    far is rounded up, near down, and own takes what is left of its row. An allowance taken off epsilon keeps
    the exact ratio below e^epsilon; it is doubled until the certificate says so.
    """
    epsilon = checked_epsilon(epsilon)
    if not 0 <= epsilon0 <= epsilon:
        rule = "from 0 (only the category is reported) to epsilon (plain randomized response)"
        raise InputError("epsilon0", rule, f"{epsilon0:g}")
    for doublings in count():
        target = epsilon - max(epsilon, 1.0) * SHAVE * 2**doublings
        if target <= 0:
            raise CannotCertifyError(
                "No integer weights hold this epsilon. Use fewer values or more epsilon."
            )
        law = _rounded(domain, target, min(epsilon0, target))
        if epsilon_of(law.ratio(domain)) <= epsilon:
            return law
    raise AssertionError("unreachable")


def _rounded(domain: Domain, epsilon: float, epsilon0: float) -> IntegerLaw:
    values, sizes = part_values(domain), part_sizes(domain)
    near_gain = math.expm1(epsilon - epsilon0)
    gains = [math.expm1(epsilon) + (size - 1) * near_gain for size in sizes]
    if isinstance(domain, CategoryDomain):
        ideal = 1 / (1 + math.fsum(n / d for n, d in zip(sizes, gains, strict=True)))
        far = tuple(math.ceil(ideal / gain * TOTAL) for gain in gains)
    else:
        far = (math.ceil(TOTAL / (gains[0] + domain.count)),)
    boost = TOTAL - sum(n * weight for n, weight in zip(values, far, strict=True))
    if boost <= 0:
        raise CannotCertifyError(
            "So many values leave nothing of 2^62 for the true one. Use fewer, or more epsilon."
        )
    # at most an equal part of the boost, so that near never passes own
    extra = [
        min(math.floor(near_gain / gain * boost), boost // n) for gain, n in zip(gains, sizes, strict=True)
    ]
    law = IntegerLaw(
        own=tuple(w + boost - (n - 1) * more for w, n, more in zip(far, sizes, extra, strict=True)),
        near=tuple(w + more for w, more in zip(far, extra, strict=True)),
        far=far,
    )
    law.check(domain)
    return law


@dataclass(frozen=True, kw_only=True)
class BoostedResponse(EstimatedMechanism):
    """The paper's randomizer, for categories of any sizes and for scales; epsilon0 = epsilon is plain GRR."""

    kind: ClassVar[str] = "boosted response"
    law: IntegerLaw
    # what was asked for; the law says what is drawn
    epsilon0: float = field(compare=False)

    def __post_init__(self) -> None:
        self.law.check(self.domain)

    @property
    def name(self) -> str:
        return "plain randomized response" if self.plain else self.kind

    @property
    def plain(self) -> bool:
        """Whether no value is nearer than others."""
        sizes = part_sizes(self.domain)
        return all(
            n == 1 or near == far for n, near, far in zip(sizes, self.law.near, self.law.far, strict=True)
        )

    @cached_property
    def epsilon(self) -> float:
        return epsilon_of(self.law.ratio(self.domain))

    @property
    def distance(self) -> Fraction:
        return self.law.distance(self.domain)

    @property
    def shares(self) -> Shares:
        """The probabilities p, p_s and p_s-bar that are drawn."""
        return self.law.shares(self.domain)

    @property
    def parameters(self) -> dict[str, Any]:
        return {
            "total_bits": 62,
            "own": [str(weight) for weight in self.law.own],
            "near": [str(weight) for weight in self.law.near],
            "far": [str(weight) for weight in self.law.far],
        }

    @property
    def report_words(self) -> str:
        return "one of the values"

    @classmethod
    def of_record(cls, domain: Domain, record: dict[str, Any]) -> BoostedResponse:
        parameters = record["parameters"]
        law = IntegerLaw(**{k: tuple(map(int, parameters[k])) for k in ("own", "near", "far")})
        return cls(domain=domain, law=law, epsilon0=float(record["epsilon0"]))

    @cached_property
    def _drawn_from(self) -> tuple[Codes, Codes, Codes, Codes, Codes]:
        """By part: where its reports begin among u, its first value, far, own - far and near - far."""
        own, near, far = (
            np.array(part, dtype=np.int64) for part in (self.law.own, self.law.near, self.law.far)
        )
        values = np.array(part_values(self.domain), dtype=np.int64)
        # where near equals far nothing is left to divide, but numpy divides all
        return (
            np.cumsum(values * far) - values * far,
            np.cumsum(values) - values,
            far,
            own - far,
            np.maximum(near - far, 1),
        )

    def draw(self, codes: Codes, words: Words) -> npt.NDArray[Any]:
        domain, base = self.domain, self.law.base(self.domain)
        starts, firsts, far, more, nearer = self._drawn_from
        u = (words[:, 0] >> np.uint64(2)).view(np.int64)
        part = np.searchsorted(starts, u, side="right") - 1
        anywhere = firsts[part] + (u - starts[part]) // far[part]
        mine = domain.category_of[codes] if isinstance(domain, CategoryDomain) else np.zeros_like(codes)
        # negative numbers of places are the value itself
        places = np.maximum(1 + (u - base - more[mine]) // nearer[mine], 0)
        near = (domain.start[codes] + (domain.position[codes] + places) % domain.size[codes]) % domain.count
        return np.where(u < base, anywhere, near)

    def published(self, internal: npt.NDArray[Any], like: npt.NDArray[Any]) -> npt.NDArray[Any]:
        return self.lookup.restored(internal, like)

    def report_codes(self, reports: npt.NDArray[Any]) -> Codes:
        return self.lookup.codes(reports)

    @property
    def cells(self) -> int:
        return self.domain.count

    def _by_value(self) -> tuple[Array, Array, Array]:
        own, near, far = (
            np.repeat(part, part_values(self.domain))
            for part in (self.shares.own, self.shares.near, self.shares.far)
        )
        return own, near, far

    def cell_bounds(self, tally: Codes, users: int) -> list[CellBounds]:
        own, _, far = self._by_value()
        return [
            CellBounds(counts=tally.astype(float), users=users, least=far, most=own, names=self.domain.values)
        ]

    @cached_property
    def estimator(self) -> Estimator:
        """Sets of one value, or the matrix of a scale."""
        domain, law = self.domain, self.law
        if not isinstance(domain, CategoryDomain):
            return _scale_reports(domain, self.shares)
        several = np.array(domain.sizes) > 1
        held = [own - near for own, near in zip(law.own, law.near, strict=True)]
        spread = [n * (near - far) for n, near, far in zip(domain.sizes, law.near, law.far, strict=True)]
        boost = TOTAL - law.base(domain)
        return SetReports(
            domain=domain,
            n=np.array(domain.sizes, dtype=np.float64),
            d=np.ones(len(several)),
            other=np.array(law.far) / TOTAL,
            held=np.where(several, held, boost) / TOTAL,
            spread=np.where(several, spread, 0) / TOTAL,
        )

    @property
    def answer_pairs(self) -> tuple[AnswerPair, ...]:
        if isinstance(self.estimator, SetReports):
            return set_pairs(self.estimator)
        assert isinstance(self.domain, ScaleDomain)  # noqa: S101 - there are two kinds of domain
        return scale_pairs(
            self.domain, *(part[0] for part in (self.shares.own, self.shares.near, self.shares.far))
        )

    def near_enough(self, region: Region) -> float:
        """How likely a report is in the region of the true value, for the worst value."""
        domain, (own, near, far) = self.domain, self._by_value()
        if region.ring:
            both = np.minimum(region.size, domain.size)
            anywhere = region.size * far
        else:
            end = np.minimum(region.start + region.size, domain.start + domain.size)
            both = np.maximum(end - np.maximum(region.start, domain.start), 0)
            sums = np.concatenate([[0.0], np.cumsum(far)])
            anywhere = sums[region.start + region.size] - sums[region.start]
        # the region holds the value itself, and so does what is near it
        return float((anywhere + (both - 1) * (near - far) + (own - far)).min())


def boosted_response(domain: Domain, epsilon: float, epsilon0: float) -> BoostedResponse:
    """The randomizer with the given epsilon (an upper bound: the certified one may be 1e-12 less)."""
    return BoostedResponse(
        domain=domain, law=integer_law(domain, epsilon, epsilon0), epsilon0=float(epsilon0)
    )


def _scale_reports(domain: Domain, shares: Shares) -> MatrixReports:
    """L[group, report] with sum over y of P(y|x) L[g, y] = (1 if x is in g, else 0), or None.

    Where the matrix is singular some groups may still be estimable: on a ring with epsilon0 = 0 the count of
    a report tells its neighborhood, though not the values in it. The least such L is taken; as a solver
    always finds one, it is put in to see that it is a solution.
    """
    if domain.count > LARGEST_SCALE:
        raise CannotCertifyError(f"Scales have at most {LARGEST_SCALE:,} values. Use categories.")
    (own,), (near,), (far,) = shares.own, shares.near, shares.far
    near_one = domain.members()
    matrix = np.where(near_one, near, far)
    np.fill_diagonal(matrix, own)
    try:
        inverse: Array = np.asarray(np.linalg.inv(matrix.T), dtype=np.float64)
    except np.linalg.LinAlgError:
        inverse = np.full_like(matrix, np.inf)
    # that of a nearly singular matrix has huge entries: rare enough for the slow way
    if not np.abs(inverse).max() * own < LARGEST_CONDITION / domain.count:
        inverse = np.asarray(np.linalg.pinv(matrix.T, rcond=1 / LARGEST_CONDITION))

    def solution(members: Array) -> Array | None:
        found = members @ inverse
        return found if np.abs(found @ matrix.T - members).max() < LARGEST_REST else None

    return MatrixReports(
        domain=domain,
        chances=matrix,
        by_value=solution(np.eye(domain.count)),
        by_group=solution(near_one.astype(np.float64)),
        refusal=NOT_KNOWABLE,
    )
