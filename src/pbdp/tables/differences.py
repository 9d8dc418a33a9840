"""How two published numbers differ, with an interval that holds: this month against last, a against b.

It follows from what is published and costs nothing.

**Independent noise.** Two cells of one table, or of two releases, have noise of their own. Where it is the
same for all answers, even, and never more likely further out, the difference is off by the sum of both
noises: by its law (`release.combination`), and by what both lost when they were rounded to steps, with the
confidence that both are published with. That is nearer than both at their worst: two equal Gaussian noises
are off by 1.41 times one.

**Anything else.** Means, relative widths, and numbers of several tables, whose noise may be shared, or of one
release twice: the difference is between the ends of both intervals. These hold together with the product of
their confidences where the noise is independent, and however it depends with p + q - 1.

Intervals are for two cells that are named for other reasons than what was published of them: of many pairs,
that with the largest difference is further off.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from pbdp.digits import percent_down, plain
from pbdp.errors import ContradictionError, InputError, did_you_mean, shown
from pbdp.mechanism.absolute import moved_down
from pbdp.mechanism.design import Design
from pbdp.release.combination import Term, law_of_sum
from pbdp.tables.measure import Measure
from pbdp.tables.quotient_error import is_proved_for

if TYPE_CHECKING:
    from pbdp.tables.table import ReleasedTable

Keys = Mapping[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """The first number less the second one, and the ends of an interval for the true difference."""

    value: float
    low: float
    high: float
    confidence: float

    def describe(self) -> str:
        """The interval in words."""
        ends = f"{plain(self.low)} and {plain(self.high)}"
        return f"{plain(self.value)}: between {ends} with confidence {percent_down(self.confidence)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Cell:
    """A number of a published table."""

    table: ReleasedTable
    measure: Measure
    row: int

    @property
    def value(self) -> float:
        return self._of("")

    @property
    def ends(self) -> tuple[float, float]:
        return self._of("_bounded_low"), self._of("_bounded_high")

    @property
    def confidence(self) -> float:
        return self._of("_confidence")

    def _of(self, suffix: str) -> float:
        return float(self.table.columns[self.measure.name + suffix][self.row])

    @property
    def design(self) -> Design | None:
        """The noise of the number, if it is all that the number is off by and the same for all answers."""
        plan, labels = self.table.plan, self.table.plan.labels(self.measure)
        if plan.strategies or len(labels) > 1 or self.measure.name in plan.follows:
            return None
        design = plan.design(labels[0])
        return design if is_proved_for(design) and not design.clamp else None

    @property
    def asked(self) -> float:
        """The confidence that the query asks for."""
        return self.table.plan.query.confidence_of(self.measure)


def difference_of(
    measure: str, one: tuple[ReleasedTable, Keys], other: tuple[ReleasedTable, Keys]
) -> Difference:
    """The number of a measure in one group, less that in another group or in another table."""
    first, second = (_cell(measure, table, keys) for table, keys in (one, other))
    dependent = _is_shared(first.table, second.table)
    if dependent and first.row == second.row and first.table.label == second.table.label:
        raise ContradictionError("the two cells", "different", "the same one twice")
    value = first.value - second.value
    designs = first.design, second.design
    if designs[0] is not None and designs[1] is not None and (not dependent or first.row != second.row):
        confidence = min(first.asked, second.asked)
        width = _width(designs[0], designs[1], confidence)
        low, high = _less(value, width), -_less(-value, width)
    else:
        (low, most), (least, high) = first.ends, second.ends
        low, high = _less(low, high), -_less(least, most)
        shared = dependent and bool(first.table.plan.strategies)
        p, q = first.confidence, second.confidence
        confidence = max(p + q - 1, 0.0) * (1 - 2.0**-50) if shared else p * q * (1 - 2.0**-50)
    return Difference(value=value, low=low, high=high, confidence=confidence)


def _width(one: Design, other: Design, confidence: float) -> float:
    """How far a difference is off at most; rounded up."""
    steps = [Fraction(design.grid.step) for design in (one, other)]
    terms = [
        Term(table=design.table_at(0.0), weight=step)
        for design, step in zip((one, other), steps, strict=True)
    ]
    if one == other:
        terms = [Term(table=one.table_at(0.0), weight=steps[0], count=2)]
    lost = one.grid.lost * steps[0] + other.grid.lost * steps[1]
    exact = law_of_sum(terms).half_width(confidence) + lost
    width = float(exact)
    return width if width >= exact else float(np.nextafter(width, np.inf))


def _less(one: float, other: float) -> float:
    """A difference, rounded down; whole numbers are exact."""
    return float(moved_down(np.array([one]), np.array([other]))[0])


def _cell(measure: str, table: ReleasedTable, keys: Keys) -> _Cell:
    """The cell of a measure and of these keys; refused if there is none with an interval."""
    query = table.plan.query
    named = {one.name: one for one in query.measures}
    if measure not in named:
        near = did_you_mean(str(measure), named)
        raise InputError("measure", f"one of the table ({', '.join(named)})", shown(measure), near)
    if named[measure].chosen:
        remedy = "It is promised a rank, and how far that is in its own unit nobody knows."
        raise InputError("measure", "one with intervals", measure, remedy)
    columns = table.groups.columns
    if not _are_keys(keys) or set(keys) != set(columns):
        how = ", ".join(f"{name!r}: ..." for name in columns)
        raise InputError("cell", f"a key for each column, {{{how}}}", shown(keys))
    found = np.ones(len(table), dtype=bool)
    for name, column in columns.items():
        found &= np.array([one == keys[name] for one in column.values.tolist()], dtype=bool)
    if not found.any():
        raise InputError("cell", "a group of the table", shown(dict(keys)))
    row = int(np.flatnonzero(found)[0])
    if table.withheld[row]:
        raise InputError("cell", "a group whose numbers are published", shown(dict(keys)))
    return _Cell(table=table, measure=named[measure], row=row)


def _are_keys(keys: object) -> bool:
    return isinstance(keys, Mapping)


def _is_shared(one: ReleasedTable, other: ReleasedTable) -> bool:
    """Whether both may be of one release, and so have the same noise."""
    if one.payment is not None and other.payment is not None:
        return (one.payment.ledger, one.payment.sequence) == (other.payment.ledger, other.payment.sequence)
    if one.insecure_test_seed is not None and one.insecure_test_seed == other.insecure_test_seed:
        return True
    return one.values is other.values or one.label != other.label
