"""A sum, a count and means of one column from two numbers: a sum from the middle, and a count.

A query that asks for the sum of a column and for the count of its values (`Count(column="x")`) has a choice.
Each may have noise of its own. Or the sum S is published from the middle c of the bounds, T = S - c·n, which
one person moves by less, and S = T + c·n follows from it and the count, and so does every mean, c + T/n. How
far these are off is in `mean_error`, and how near both must be in `pair`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING

from pbdp.mechanism.absolute import AbsoluteRegion
from pbdp.tables.bounded import Value
from pbdp.tables.mean import Mean
from pbdp.tables.measures import Count, Sum
from pbdp.tables.numbers import TOUCHED, Number, Quantity, number_of

if TYPE_CHECKING:
    from pbdp.tables.query import Query


@dataclass(frozen=True, slots=True, kw_only=True)
class Centered:
    """Measures of a query that may follow from two numbers of a column; the `count` is published as it is."""

    value: Value
    total: Sum
    count: Count
    means: tuple[Mean, ...]

    @property
    def labels(self) -> tuple[str, str]:
        """The labels of the sum from the middle and of the count."""
        return f"{self.total.name}: from the middle", self.count.name

    @property
    def follows(self) -> dict[str, tuple[str, str]]:
        """The measures that have no numbers of their own, and what they follow from."""
        return {one.name: self.labels for one in self.followers}

    @property
    def followers(self) -> tuple[Sum | Mean, ...]:
        """The measures that follow."""
        return self.total, *self.means

    def quantity(self, query: Query) -> Quantity:
        """The sum from the middle."""
        index = query.aggregation.values.index(self.value)
        return Quantity(of="sum from the middle", rows=query.rows_counted, index=index, value=self.value)

    def number(self, query: Query, width: float) -> Number:
        """The sum from the middle, within a width."""
        confidence, region = query.confidence_of(self.total), AbsoluteRegion.even(width)
        return number_of(query, self.labels[0], self.quantity(query), region, confidence)


def normal_width(confidence: float) -> float:
    """How many standard deviations Gaussian noise is within, this often."""
    return NormalDist().inv_cdf((1 + confidence) / 2)


def centered_of(query: Query) -> list[Centered]:
    """The columns of a query whose sum, count and means can share two numbers; none where they cannot.

    That is where a sum and a count of values have plain widths, in one table of all groups. A mean that only
    says how near its count must be follows if the one that is published is.
    """
    if query.margins is not None or query.top is not None:
        return []
    found = []
    sums = [one for one in query.measures if isinstance(one, Sum) and isinstance(one.within, int | float)]
    counts = [one for one in query.measures if isinstance(one, Count) and isinstance(one.within, int | float)]
    for column in dict.fromkeys(one.column for one in sums):
        total = next(one for one in sums if one.column == column)
        count = next((one for one in counts if one.column == column), None)
        value = total.value(query)
        if count is None or value.per != "row":
            continue
        means = [one for one in query.measures if isinstance(one, Mean) and one.value(query) == value]
        means = [one for one in means if one.within is not None or _is_counted(one, count)]
        found.append(Centered(value=value, total=total, count=count, means=tuple(means)))
    return found


def _is_counted(mean: Mean, count: Count) -> bool:
    """Whether a count is as near as a mean without a promise asks for."""
    asked, near = mean.count_within, count.within
    return mean.at_least is None and asked is not None and isinstance(near, int | float) and near <= asked


def followers_of(centered: Sequence[Centered]) -> dict[str, tuple[str, str]]:
    """All measures that follow, by name, and what they follow from."""
    return {name: labels for one in centered for name, labels in one.follows.items()}


def in_order(numbers: Mapping[str, Number]) -> list[Number]:
    """Numbers as a plan has them: the people whom bounds touch come last."""
    return sorted(numbers.values(), key=lambda number: number.label == TOUCHED)
