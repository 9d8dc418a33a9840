"""The law of boosted randomized response: ideal shares, and the integer weights that are drawn.

A report y has probability own if it is the true value, near if it is another value near the true one, far
otherwise. In every configuration the law is a mixture of two: with weight sum of far, a report that does not
depend on the true value at all (y with weight far_y); with the rest, `boost`, a value near the true one.
That makes it drawable by arithmetic on one random word, with no table for each value.

What a randomizer certifies, this one or another, is the logarithm of its largest column ratio, rounded up.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import ROUND_CEILING, Context
from fractions import Fraction
from itertools import count

from pbdp.errors import CannotCertifyError, InputError
from pbdp.local.domain import CategoryDomain, Domain
from pbdp.mechanism.weights import TOTAL
from pbdp.parameters import positive

# e^20 of 2^62 leaves 33 bits to the smallest weights.
LARGEST_EPSILON = 20.0
SMALLEST_EPSILON = 1e-6
# Taken off epsilon before weights are rounded, so that the rounded ratio stays below e^epsilon.
SHAVE = 2.0**-44
# Decimal's logarithm is correctly rounded, so the last of these digits is off by less than one.
DIGITS = 60


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


def checked_epsilons(epsilon: float, epsilon0: float) -> tuple[float, float]:
    """epsilon within what 62 bits can hold, and 0 <= epsilon0 <= epsilon."""
    if not SMALLEST_EPSILON <= positive("epsilon", epsilon) <= LARGEST_EPSILON:
        raise InputError("epsilon", f"from {SMALLEST_EPSILON:g} to {LARGEST_EPSILON:g}", f"{epsilon:g}")
    if not 0 <= epsilon0 <= epsilon:
        raise InputError(
            "epsilon0",
            "from 0 (only the category is reported) to epsilon (plain randomized response)",
            f"{epsilon0:g}",
        )
    return float(epsilon), float(epsilon0)


def ideal_shares(domain: Domain, epsilon: float, epsilon0: float) -> Shares:
    """Probabilities with own = e^epsilon far and near = e^(epsilon - epsilon0) far.

    With r = e^(epsilon - epsilon0) and d_j = e^epsilon + (n_j - 1) r - n_j, the boost is
    D = 1/(1 + sum n_j/d_j) and far_j = D/d_j: row j adds up to sum n_k far_k + far_j d_j = (1 - D) + D. For a
    scale of N values with neighborhoods of n, far = 1/(d + N) and D = d far, as in the paper's proposition,
    which the first formula gives for equal categories.
    """
    near_gain = math.expm1(epsilon - epsilon0)
    gains = [math.expm1(epsilon) + (size - 1) * near_gain for size in part_sizes(domain)]
    if isinstance(domain, CategoryDomain):
        boost = 1 / (1 + math.fsum(n / d for n, d in zip(domain.sizes, gains, strict=True)))
        far = tuple(boost / gain for gain in gains)
    else:
        far = (1 / (gains[0] + domain.count),)
        boost = gains[0] * far[0]
    return Shares(
        own=tuple(share * math.exp(epsilon) for share in far),
        near=tuple(share * math.exp(epsilon - epsilon0) for share in far),
        far=far,
        boost=boost,
    )


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
            for own, near, far, size in zip(self.own, self.near, self.far, part_sizes(domain), strict=True)
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

    def epsilon(self, domain: Domain) -> float:
        """The certified epsilon: at least the logarithm of the ratio."""
        return epsilon_of(self.ratio(domain))

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

    far is rounded up, near down, and own takes what is left of its row. An allowance taken off epsilon keeps
    the exact ratio below e^epsilon; it is doubled until the certificate says so.
    """
    epsilon, epsilon0 = checked_epsilons(epsilon, epsilon0)
    for doublings in count():
        target = epsilon - max(epsilon, 1.0) * SHAVE * 2**doublings
        if target <= 0:
            raise CannotCertifyError(
                "No integer weights hold this epsilon. Use fewer values or more epsilon."
            )
        law = _rounded(domain, target, min(epsilon0, target))
        if law.epsilon(domain) <= epsilon:
            return law
    raise AssertionError("unreachable")


def _rounded(domain: Domain, epsilon: float, epsilon0: float) -> IntegerLaw:
    ideal = ideal_shares(domain, epsilon, epsilon0)
    far = tuple(math.ceil(share * TOTAL) for share in ideal.far)
    boost = TOTAL - sum(n * weight for n, weight in zip(part_values(domain), far, strict=True))
    if boost <= 0:
        raise CannotCertifyError(
            "So many values leave nothing of 2^62 for the true one. Use fewer, or more epsilon."
        )
    near_gain = math.expm1(epsilon - epsilon0)
    own, near = [], []
    for size, weight in zip(part_sizes(domain), far, strict=True):
        share = near_gain / (math.expm1(epsilon) + (size - 1) * near_gain)
        # at most an equal part of the boost, so that near never passes own
        extra = min(math.floor(share * boost), boost // size)
        near.append(weight + extra)
        own.append(weight + boost - (size - 1) * extra)
    law = IntegerLaw(own=tuple(own), near=tuple(near), far=far)
    law.check(domain)
    return law


# ---------------------------------------------------------------------------------------------- epsilon


def epsilon_of(ratio: Fraction) -> float:
    """The least float that is at least ln(ratio), up to 1 in 10^58; ratio is exact and at least one.

    Every step rounds up: the quotient, the logarithm (correctly rounded, then moved to the next decimal) and
    the float. Hence e^epsilon >= ratio: the claim is never below the truth.
    """
    if ratio < 1:
        raise AssertionError("the largest ratio of a column is at least one")
    if ratio == 1:
        return 0.0
    context = Context(prec=DIGITS, rounding=ROUND_CEILING)
    quotient = context.divide(context.create_decimal(ratio.numerator), ratio.denominator)
    logarithm = context.next_plus(context.ln(quotient))
    nearest = float(logarithm)
    return nearest if Fraction(nearest) >= Fraction(logarithm) else math.nextafter(nearest, math.inf)


def largest_ratio(columns: Iterable[Iterable[int]]) -> Fraction:
    """Largest over smallest weight in a column, over all columns of a matrix of integer weights.

    A randomizer with P(y|x) = weight/total is epsilon-LDP if and only if P(y|x) <= e^epsilon P(y|x') for all
    y, x, x', which is this ratio (Kasiviswanathan et al. 2011, definition). A zero beside a positive weight
    has no finite ratio and is refused.
    """
    largest = Fraction(1)
    for column in columns:
        weights = tuple(column)
        least, most = min(weights), max(weights)
        if least <= 0:
            raise CannotCertifyError("A report that some value can never give has no finite privacy loss.")
        largest = max(largest, Fraction(most, least))
    return largest
