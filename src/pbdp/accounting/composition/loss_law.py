"""The law of the privacy loss of one pair of neighbors, atom by atom.

For outputs with probabilities p (first neighbor) and q (second), the loss is ln(p/q) with probability p, and

    delta(epsilon) = P(loss infinite) + sum of p · max(0, 1 - e^(epsilon - loss))      for every real epsilon.

A *measure* below is any finite one on (-inf, +inf]; its curve is the same formula, and releases with
independent noise compose by convolution: the losses add up. Everything that this package rounds rests on one

    Lemma. If the curve of one factor rises (at every real epsilon), so does that of a convolution:
    delta of mu * rho at epsilon = integral of delta_mu(epsilon - t) d rho(t), which is monotone in delta_mu.

Hence raising a mass, raising a loss, or replacing an atom by atoms with the same p and q in total (the first
law is then a function of the second, so the curve cannot fall) is pessimistic in any composition.

**On a grid.** An atom of mass p and loss l in [kh, (k+1)h] becomes two atoms at the ends, with the same p and
the same q = p·e^(-l) in total:

    share of the upper end = (1 - e^-(l - kh)) / (1 - e^-h).                                             (1)

The new pair dominates the old one (the atom is recovered by merging its two parts), and no probability is a
difference of nearly equal numbers.

One release on its own needs no grid and no transform: `law_delta` and `law_epsilon` sum over the atoms.
A `Release` holds the pairs of neighbors that its guarantee covers, and those that really occur.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from pbdp.accounting.exact.tables import Bounds, table_shifts
from pbdp.errors import InputError
from pbdp.mechanism.weights import TOTAL, WeightTable
from pbdp.noise.kernel import Array
from pbdp.parameters import whole

UNIT = 2.0**-53
# Finite losses beyond this are neglected: they count as infinite above and not at all below.
LARGEST_LOSS = 600.0
# Laws with fewer atoms are as they are.
FEW_TO_MERGE = 1 << 12
_TOTAL_TOLERANCE = 1e-12


def loss_margin(losses: Array) -> Array:
    """Bound for the rounding error of a loss: one division of two rounded numbers, one logarithm."""
    return 16 * UNIT * (1 + np.abs(losses))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LossLaw:
    """Finite losses in rising order with their masses, and the mass of infinite ones.

    Each loss is within `loss_margin` of the true one and each mass within one part in 2^51. `neglected` is
    mass whose loss is finite but was set aside: bounds from above count it as infinite, others drop it.
    `merged` is how many atoms were put together with others of the same loss; sums of them are rounded.
    """

    losses: Array
    masses: Array
    infinite: float
    neglected: float = 0.0
    merged: int = 0

    @property
    def atoms(self) -> int:
        """How many outputs the masses are of."""
        return len(self.losses) + self.merged

    def without_extremes(self, mass: float) -> LossLaw:
        """The law with its largest and its smallest losses, of total mass at most `mass` each, neglected."""
        first = int(np.searchsorted(np.cumsum(self.masses), mass, side="right"))
        above = int(np.searchsorted(np.cumsum(self.masses[::-1]), mass, side="right"))
        stop = len(self.masses) - above
        if first == above == 0 or first >= stop:
            return self
        dropped = math.fsum(self.masses[:first]) + math.fsum(self.masses[stop:])
        return LossLaw(
            losses=self.losses[first:stop],
            masses=self.masses[first:stop],
            infinite=self.infinite,
            neglected=self.neglected + dropped,
            merged=self.merged,
        )

    def with_equal_merged(self) -> LossLaw:
        """The law with one atom for each loss, where that is many times shorter: stairs have few losses."""
        if len(self.losses) < FEW_TO_MERGE:
            return self
        starts = np.flatnonzero(np.diff(self.losses, prepend=-math.inf))
        if len(starts) > len(self.losses) // 4:
            return self
        return replace(
            self,
            losses=self.losses[starts],
            masses=np.add.reduceat(self.masses, starts),
            merged=self.atoms - len(starts),
        )

    @property
    def infinite_above(self) -> float:
        """Upper bound for the mass that counts as infinite."""
        return (self.infinite + self.neglected) * (1 + 16 * UNIT)

    @property
    def infinite_below(self) -> float:
        """Lower bound for the mass of truly infinite losses."""
        return self.infinite * (1 - 16 * UNIT)

    @property
    def is_nil(self) -> bool:
        """Whether both neighbors have the same law."""
        return self.infinite_above == 0 and not np.any(self.losses)


def loss_law(first: npt.ArrayLike, second: npt.ArrayLike) -> LossLaw:
    """The law of two vectors of probabilities on the same outputs, taken as they stand.

    The second may add up to less than one: the rest lies on outputs that the first cannot produce.
    """
    p, q = (np.asarray(masses, dtype=np.float64) for masses in (first, second))
    if p.ndim != 1 or p.shape != q.shape:
        raise InputError("second", "as long as first", f"shapes {p.shape} and {q.shape}")
    for name, masses in (("first", p), ("second", q)):
        if not (np.all(np.isfinite(masses)) and np.all(masses >= 0)):
            raise InputError(name, "finite and not negative", "a negative or infinite probability")
    total = math.fsum(p)
    if abs(total - 1) > _TOTAL_TOLERANCE:
        raise InputError("first", "probabilities that add up to 1", f"{total!r}")
    if math.fsum(q) > 1 + _TOTAL_TOLERANCE:
        raise InputError("second", "probabilities that add up to at most 1", f"{math.fsum(q)!r}")
    return _law(p, q)


def table_loss_law(table: WeightTable, shift: int) -> LossLaw:
    """The law of a table of integer weights against its copy moved by `shift`, truncation included."""
    weights = table.weights
    moved = np.zeros_like(weights)
    if 0 <= shift < len(weights):
        moved[shift:] = weights[: len(weights) - shift]
    elif -len(weights) < shift < 0:
        moved[:shift] = weights[-shift:]
    return _law(weights / float(TOTAL), moved / float(TOTAL))


def _law(p: Array, q: Array) -> LossLaw:
    infinite = math.fsum(p[q == 0])
    shared = (p > 0) & (q > 0)
    p, q = p[shared], q[shared]
    with np.errstate(over="ignore", under="ignore", divide="ignore"):
        losses = np.log(p / q)
    kept = np.abs(losses) < LARGEST_LOSS
    order = np.argsort(losses[kept], kind="stable")
    return LossLaw(
        losses=losses[kept][order],
        masses=p[kept][order],
        infinite=infinite,
        neglected=math.fsum(p[~kept]),
    )


def split_atoms(law: LossLaw, step: float) -> tuple[npt.NDArray[np.int64], Array]:
    """The points k of the grid k·step that the atoms are split between, by (1), and their masses, rounded up.

    The loss used is raised by its margin; masses are raised by `split_error`.
    """
    losses = law.losses + loss_margin(law.losses)
    cells = np.floor(losses / step).astype(np.int64)
    offset = np.clip(losses - cells * step, 0.0, step)
    share = np.minimum(np.expm1(-offset) / math.expm1(-step), 1.0)
    masses = np.concatenate([law.masses * (1 - share), law.masses * share])
    return np.concatenate([cells, cells + 1]), masses * (1 + split_error(law))


def split_error(law: LossLaw) -> float:
    """What covers the rounding: a share is known to a few units, a point sums up to two terms an atom."""
    return (32 + 4 * law.atoms) * UNIT


def law_delta(law: LossLaw, epsilon: float) -> Bounds:
    """delta of one pair: losses moved by their margin, sums of positive terms rounded to either side."""
    margin = loss_margin(law.losses)
    error = (64 + 2 * law.atoms) * UNIT
    # not by `@`, whose threads cost more than they bring
    upper = float(np.sum(law.masses * -np.expm1(np.minimum(epsilon - law.losses - margin, 0.0))))
    lower = float(np.sum(law.masses * -np.expm1(np.minimum(epsilon - law.losses + margin, 0.0))))
    return Bounds(
        lower=law.infinite_below + lower * (1 - error),
        upper=min(law.infinite_above + upper * (1 + error), 1.0),
    )


def law_epsilon(law: LossLaw, delta: float) -> Bounds:
    """Smallest epsilon >= 0 of one pair at delta > 0; each end was seen to be on its side."""
    if law.infinite_above >= delta:
        certain = law.infinite_below > delta
        return Bounds(lower=math.inf if certain else 0.0, upper=math.inf)
    root = _root(law, delta)
    upper = _confirmed(root, +1, lambda epsilon: law_delta(law, epsilon).upper <= delta)
    lower = _confirmed(root, -1, lambda epsilon: law_delta(law, epsilon).lower > delta)
    return Bounds(lower=0.0 if lower is None else lower, upper=math.inf if upper is None else upper)


def _root(law: LossLaw, delta: float) -> float:
    """Root of the curve, which is a straight line in x = e^epsilon between neighboring losses.

    With Q_i the second law's mass above loss i: delta_i = infinite + sum over j >= i of (x_(j+1) - x_j)·Q_j.
    """
    if not len(law.losses):
        return 0.0
    x = np.exp(law.losses)
    masses = np.cumsum((law.masses / x)[::-1])[::-1]  # at or above
    steps = np.diff(x)
    deltas = np.zeros(len(x))
    deltas[:-1] = np.cumsum((steps * masses[1:])[::-1])[::-1]
    deltas += law.infinite + law.neglected
    # deltas falls with the index: the first one that meets delta ends the stretch.
    stretch = int(np.searchsorted(-deltas, -delta))
    if stretch == len(x):
        return float(law.losses[-1])
    meeting = x[stretch] - (delta - deltas[stretch]) / masses[stretch]
    return math.log(meeting) if meeting > 1 else 0.0


def _confirmed(root: float, direction: int, holds: Callable[[float], bool]) -> float | None:
    if root == 0:
        return 0.0 if direction < 0 or holds(0.0) else _confirmed(1e-14, direction, holds)
    margin = 1e-14
    while margin < 1e3:
        epsilon = root * (1 + direction * margin) + direction * margin * 1e-2
        if epsilon <= 0 and direction < 0:
            return 0.0
        if holds(epsilon):
            return epsilon
        margin *= 4
    return None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Release:
    """What one release can reveal about one person.

    Upper bounds take the largest curve over `covered`. Lower ones take one pair of `actual`, never a
    maximum; without any, the lower bound is zero. Several releases reach their lower bound together if one
    person may affect each of them in the direction of its worst pair.
    """

    covered: tuple[LossLaw, ...]
    actual: tuple[LossLaw, ...] = ()

    def __post_init__(self) -> None:
        if not self.covered:
            raise InputError("covered", "at least one pair of neighbors", "none")

    @property
    def is_nil(self) -> bool:
        """Whether it reveals nothing."""
        return all(law.is_nil for law in self.covered)


def table_release(table: WeightTable, sensitivity: int) -> Release:
    """A table of integer weights that moves with the answer, by at most `sensitivity` between neighbors."""
    whole("sensitivity", sensitivity)
    shifts = table_shifts(table, sensitivity, table.is_symmetric)
    laws = tuple(table_loss_law(table, shift) for shift in shifts)
    return Release(covered=laws, actual=laws)


def pair_release(first: npt.ArrayLike, second: npt.ArrayLike, one_way: bool = False) -> Release:
    """Two neighbors' probabilities on the same outputs; both directions, unless `one_way`."""
    laws = [loss_law(first, second)]
    back = loss_law(second, first)
    if not (one_way or _equal(laws[0], back)):
        laws.append(back)
    return Release(covered=tuple(laws), actual=tuple(laws))


def _equal(one: LossLaw, two: LossLaw) -> bool:
    same = one.infinite == two.infinite and one.neglected == two.neglected
    return same and np.array_equal(one.losses, two.losses) and np.array_equal(one.masses, two.masses)
