"""What no randomizer can go below: for reports near the truth, and for unbiased estimates.

**A report in its region.** Let P(y|x) be any epsilon-LDP channel (any outputs; sums are integrals then),
S(x) the region of x, tau the cover number of the regions (`local.region`), and P(S(x)|x) >= rho for all x.
Then
    e^epsilon >= rho (tau - 1)/(1 - rho),
and a channel reaches it. *Proof.* Let q(y) be the largest P(y|x) over x, Q its sum, and l_x the weights of
the dual program, which sum to tau with at most 1 on the regions that hold any one y. First P(S(x)|x) <=
q(S(x)), and the weighted mean of q(S(x)) is at most Q/tau, so Q >= rho tau. Second, every y outside of S(x)
has P(y|x) >= q(y)/e^epsilon, so 1 - rho >= (Q - q(S(x)))/e^epsilon for all x, and in the weighted mean 1 -
rho >= Q (1 - 1/tau)/e^epsilon >= rho (tau - 1)/e^epsilon. *Reached:* with the weights h_y of the cover
(scaled so that each region has a part g_xy <= h_y of sum one), P(y|x) = (h_y + (e^epsilon - 1) g_xy)/(tau +
e^epsilon - 1) has column ratios of at most e^epsilon, rows that sum to one, and P(S(x)|x) >= e^epsilon/(tau
+ e^epsilon - 1). QED
Below rho = 1/tau a report that does not depend on the answer is enough.

**Unbiased estimates of k frequencies.** Whatever unbiased estimator is used on the reports of n people, who
may all randomize differently but not because of each other, the mean over the k values of its variance is,
for the worst people, at least n times
    ((k - 1)^2 / max over d of g(d) - (1 - 1/k)) / k,
    g(d) = k d (k - d)(e^eps - 1)^2 / (d e^eps + k - d)^2.
*Proof.* Draw the n people at random, uniform over the values. Divided by n, the estimator is then an
unbiased estimator of the k shares of a distribution, at the uniform one. By Cramér and Rao the trace of its
covariance is at least that of the inverse, on vectors that sum to zero, of J = the sum over people and y of
c c^T / m, c being the column P(y|.) and m its mean. The trace of an inverse in k - 1 dimensions is at least
(k - 1)^2 over the trace. The trace of J per person is a mean of |c/m - 1|^2, with the weights m, which sum
to one. That is convex in c/m, so it is largest at a corner of the polytope of columns that epsilon allows,
where each entry is the least one or e^eps times it (Kairouz et al. 2016): d high entries give g(d). The
covariance has two parts: the mean of the variance for given people, which is wanted, and the variance of the
people's own shares, (1 - 1/k)/n in trace. What holds for the mean over uniform people holds for some people.
QED (d = 1 is plain response. Subset selection reaches the bound for all k and epsilon, as its J is a
multiple of the identity; Ye and Barg 2018 have the rate.)
Categories: take one value of each; with m categories for k it is a limit for their shares.

**Both at once**, `weight` for categories, m categories of n values each: by the same steps with the weights
of the goal, and J averaged over all relabelings of categories and of values within them (which only helps,
the trace of an inverse being convex), J is A/(m - 1) on the m - 1 dimensions between categories and B/(m (n
- 1)) on those within. A column with d high entries, d_j in category j, has A + B = g(d), and A grows with
the sum of d_j^2; so all (A, B) lie below the convex hull of those with that sum largest or least. The goal
is convex in (A, B), its least value on the hull is on one of its edges, in closed form. Where categories have
different sizes, the limit for people who hold n values of each of the categories that have so many is one for
all people, as their errors count no more than all do; the best n is taken.

**The mean** of values from lo to hi: take people at the two ends only. With k = 2 above, the variance that
one person adds is at least (hi - lo)^2 e^eps/(e^eps - 1)^2.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

import numpy as np

from pbdp.local.domain import CategoryDomain, Domain
from pbdp.local.estimates import GUARANTEED
from pbdp.local.estimators import CATEGORY, MEAN, VALUE
from pbdp.local.goal import Goal, LeastError, LeastMeanError, ReportWithin, Within
from pbdp.local.integer_weights import LARGEST_EPSILON, SMALLEST_EPSILON
from pbdp.local.region import Region
from pbdp.noise.kernel import Array
from pbdp.root_finding import between

# Limits are shown a little lower than floats have them, and the least epsilon is found so near.
_ROUNDING, _PRECISION = 1e-9, 1e-7


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """`figure` is what is limited: epsilon, or the root mean squared error times the root of the users."""

    figure: str
    value: float
    subject: str


# ------------------------------------------------------------------------------------------ reports


def report_epsilon(region: Region, confidence: float) -> float:
    """The least epsilon with which a report is in its region with the confidence; 0 if none is needed."""
    tau = float(region.cover_number)
    odds = confidence * (tau - 1) / (1 - confidence)
    return math.log(odds) if odds > 1 else 0.0


def report_confidence(region: Region, epsilon: float) -> float:
    """The largest confidence with which a report can be in its region at an epsilon."""
    return 1 / (1 + (float(region.cover_number) - 1) * math.exp(-epsilon))


# ------------------------------------------------------------------------------------------ estimates


def value_error(count: int, epsilon: float) -> float:
    """Least mean variance that a person adds to the estimated counts of `count` values."""
    return ((count - 1) ** 2 / _largest_trace(count, epsilon) - (1 - 1 / count)) / count


def best_size(count: int, epsilon: float) -> int:
    """d with the largest g(d): the size of the subsets that are best for values."""
    ideal = count / (math.exp(epsilon) + 1)
    near = {min(max(size, 1), count - 1) for size in (math.floor(ideal), math.ceil(ideal))}
    return max(near, key=lambda size: _trace(count, size, epsilon))


def _largest_trace(count: int, epsilon: float) -> float:
    return _trace(count, best_size(count, epsilon), epsilon)


def _trace(count: int, size: int, epsilon: float) -> float:
    """g(d) of the module's text; in d it rises up to d = k/(e^eps + 1) and falls from there on."""
    gain = math.expm1(epsilon)
    return count * size * (count - size) * gain**2 / (size * gain + count) ** 2


def both_errors(domain: Domain, weight: float, epsilon: float) -> float | None:
    """Least of weight times the error of categories plus the rest times that of values; None if unknown."""
    if weight == 0:
        return value_error(domain.count, epsilon)
    if not isinstance(domain, CategoryDomain):
        return None
    groups, count = len(domain.sizes), domain.count
    # each by itself is a limit too
    found = weight * value_error(groups, epsilon) + (1 - weight) * value_error(count, epsilon)
    if weight == 1:
        return found
    for size in sorted(set(domain.sizes) - {1}):
        kept = sum(each >= size for each in domain.sizes)
        if kept > 1:
            # people who hold `size` values of each of the categories that have so many
            shares = weight * kept / groups, (1 - weight) * kept * size / count
            found = max(found, _on_hull(kept, size, shares, epsilon))
    return found


@lru_cache(maxsize=256)
def _on_hull(groups: int, size: int, weights: tuple[float, float], epsilon: float) -> float:
    """The least first/A + second/B - rest over mixtures of columns: on a corner of the hull or on an edge."""
    count, (weight, other) = groups * size, weights
    between, within = groups - 1, groups * (size - 1)
    first = (weight * size / groups + other / count) * between**2
    second = other / count * within**2
    rest = weight * (1 - 1 / groups) / groups + other * (1 - 1 / count) / count
    corners = _upper_hull(_corners(groups, size, epsilon))
    tried = list(corners)
    for (a, b), (c, d) in pairwise(corners):
        if c > a and b > d:
            # the derivative along the edge is zero where A/B has this ratio
            ratio = math.sqrt(first * (c - a) / (second * (b - d)))
            part = min(max((ratio * b - a) / (c - a + ratio * (b - d)), 0.0), 1.0)
            tried.append((a + part * (c - a), b + part * (d - b)))
    return min(first / a + second / b for a, b in tried if a > 0 and b > 0) - rest


def _upper_hull(points: Array) -> list[tuple[float, float]]:
    """Corners of the convex hull on the side of large A and B, by rising A and falling B."""
    found: list[tuple[float, float]] = []
    top = float(points[:, 1].max())
    right = float(points[:, 0].max())
    least_a = float(points[points[:, 1] >= top, 0].max())
    least_b = float(points[points[:, 0] >= right, 1].max())
    for a, b in sorted(set(map(tuple, points.tolist()))):
        if a < least_a or b < least_b:
            continue
        while len(found) > 1 and _turn(found[-2], found[-1], (a, b)) >= 0:
            found.pop()
        found.append((a, b))
    return found


def _turn(one: tuple[float, float], two: tuple[float, float], three: tuple[float, float]) -> float:
    """Above zero where the way from one over two to three turns left."""
    return (two[0] - one[0]) * (three[1] - one[1]) - (two[1] - one[1]) * (three[0] - one[0])


def _corners(groups: int, size: int, epsilon: float) -> Array:
    """(A, B) of all columns with the largest or the least sum of squares of high entries by category."""
    count, gain = groups * size, math.expm1(epsilon)
    high = np.arange(1, count, dtype=np.float64)
    full, left = np.divmod(high, size)
    most = full * size**2 + left**2
    each, over = np.divmod(high, groups)
    least = over * (each + 1) ** 2 + (groups - over) * each**2
    scale = (gain * count / (high * gain + count)) ** 2
    found = []
    for squares in (most, least):
        between = (squares / size - high**2 / count) * scale
        whole = high * (count - high) / count * scale
        found.append(np.stack([between, whole - between], axis=1))
    return np.asarray(np.maximum(np.concatenate(found), 0.0))


def mean_error(domain: Domain, epsilon: float) -> float:
    """Least variance that a person, for the worst people, adds to the sum of all values."""
    numbers = [float(value) for value in domain.values]
    return (max(numbers) - min(numbers)) ** 2 * math.exp(epsilon) / math.expm1(epsilon) ** 2


# ------------------------------------------------------------------------------------------------ of goals


def limit_of(domain: Domain, goal: Goal, epsilon: float) -> Limit | None:
    """What no mechanism can go below for a goal: at this epsilon, or in epsilon where an accuracy is asked
    for.
    """
    if isinstance(goal, ReportWithin):
        if goal.confidence is None:
            miss = 1 - report_confidence(goal.region, epsilon)
            return _limit("misses", miss, "randomizer")
        return _limit("epsilon", report_epsilon(goal.region, goal.confidence), "randomizer")
    if goal.expected is not None:
        return None
    if isinstance(goal, LeastError):
        found = both_errors(domain, goal.category, epsilon)
        if found is None:
            return None
        return _limit("error", math.sqrt(found), "unbiased estimates")
    if isinstance(goal, LeastMeanError):
        return _limit("error", math.sqrt(mean_error(domain, epsilon)), "unbiased estimate")
    if isinstance(goal, Within):
        return _within_limit(domain, goal)
    return None


def _within_limit(domain: Domain, goal: Within) -> Limit | None:
    """The least epsilon at which the least mean variance, which the worst is no less than, is small
    enough.
    """
    if goal.method == GUARANTEED or (CATEGORY in goal.widths and not isinstance(domain, CategoryDomain)):
        return None
    least = max(_least_epsilon(domain, goal, kind, width) for kind, width in goal.widths.items())
    return _limit("epsilon", least, "unbiased estimates") if least > 2 * SMALLEST_EPSILON else None


def _least_epsilon(domain: Domain, goal: Within, kind: str, width: float) -> float:
    allowed = goal.variance_for(kind, width, domain)
    groups = {CATEGORY: len(domain.groups), VALUE: domain.count, MEAN: 1}[kind]

    def short(epsilon: float) -> float:
        error = mean_error(domain, epsilon) if kind == MEAN else value_error(groups, epsilon)
        return error / allowed - 1

    return between(short, 1.0, close=_PRECISION, most=LARGEST_EPSILON)[0]


def _limit(figure: str, value: float, subject: str) -> Limit:
    return Limit(figure=figure, value=value * (1 - _ROUNDING), subject=subject)
