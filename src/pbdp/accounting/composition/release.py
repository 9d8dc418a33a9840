"""One release: the pairs of neighbors that its guarantee covers, and those that really occur."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pbdp.accounting.composition.loss_distribution import LossDistribution
from pbdp.accounting.composition.loss_law import LossLaw, loss_law, table_loss_law
from pbdp.accounting.exact.tables import table_shifts
from pbdp.domains import whole
from pbdp.errors import InputError
from pbdp.mechanism.weights import WeightTable


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


def distribution_release(*distributions: LossDistribution) -> Release:
    """Dominating distributions from elsewhere: an upper bound only, for all of them at once."""
    return Release(covered=tuple(distribution.law() for distribution in distributions))
