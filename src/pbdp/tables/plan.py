"""A table's plan: noise for every number of every group, with one certificate for all of it together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Unpack

import numpy as np

from pbdp.digits import delta_text, percent_down, rounded_up
from pbdp.mechanism.design import Design
from pbdp.noise.kernel import Array
from pbdp.paying import PAYING_ONCE, PayingOnce
from pbdp.planning.plan import Part, Plan, number_design
from pbdp.reported import Reported
from pbdp.signatures import checked
from pbdp.tables.measure import Column, Measure
from pbdp.tables.nonnegative import nonnegative_tables
from pbdp.tables.numbers import Number, worth
from pbdp.tables.quantiles import Choice
from pbdp.tables.query import Query
from pbdp.tables.selection import Threshold
from pbdp.tables.top import TOP, Choosing

if TYPE_CHECKING:
    from pbdp.ledger.budget import Budget
    from pbdp.tables.engines.files import Csv
    from pbdp.tables.strategies.strategy import Strategy
    from pbdp.tables.table import ReleasedTable

# The part of the plan that a selection's threshold has; no measure can have a name like this.
SELECTION = "(selection)"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class TablePlan(Reported):
    """A query, the numbers that answer it, and the plan whose parts are their noise, in order.

    After them come the `choices` of values. A selection's threshold has the last part, and the choice of the
    `top` groups the one before it. Several
    tables follow from the numbers by `strategies`, one for each label of the measures. `follows` has the
    measures that follow from two numbers of one column (`pairs`), by name, and which these are.
    """

    query: Query
    numbers: tuple[Number, ...]
    noise: Plan
    threshold: Threshold | None = None
    top: Choosing | None = None
    choices: tuple[Choice, ...] = ()
    strategies: Mapping[str, Strategy] = field(default_factory=dict)
    follows: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    _found: dict[tuple[str, int], tuple[Array, float]] = field(
        init=False, default_factory=dict, repr=False, compare=False
    )

    @property
    def epsilon(self) -> float:
        """Guaranteed privacy loss of the whole table for one person, at `delta`."""
        return self.noise.epsilon

    @property
    def delta(self) -> float:
        """The delta that epsilon holds at, selection included."""
        return self.query.delta

    def risk(self, prior: float = 0.5) -> float:
        """How often the best attacker with this prior guesses right after the whole table, at most."""
        return self.noise.risk(prior)

    def risk_words(self) -> str:
        """The same at even odds, in a sentence."""
        return self.noise.risk_words()

    def __repr__(self) -> str:
        return (
            f"<TablePlan: {self.asked}; epsilon {rounded_up(self.epsilon)} at delta {delta_text(self.delta)}>"
        )

    @property
    def asked(self) -> str:
        """The measures, by what, and of how many groups, in one line."""
        query = self.query
        top = "" if query.listed is None else f"the top {query.listed.groups:,} of "
        groups = f" for {top}{len(query.groups):,} groups" if query.groups is not None else ""
        if query.groups is None and top:
            groups = f" for {top}those selected"
        by = f" by {', '.join(query.columns)}" if query.columns else ""
        return f"{', '.join(measure.name for measure in query.measures)}{by}{groups}"

    @property
    def picked(self) -> frozenset[str]:
        """The parts whose noise stands for picks: of the top groups, and of values."""
        return frozenset([*([] if self.top is None else [TOP]), *(one.label for one in self.choices)])

    @property
    def paired(self) -> frozenset[str]:
        """The numbers of which two groups move at most as far as one (`numbers.Number`)."""
        return frozenset(number.label for number in self.numbers if number.laws)

    def labels(self, measure: Measure) -> tuple[str, ...]:
        """The numbers that a measure is made of.

        `measure` is one of the query's.
        """
        return self.follows.get(measure.name, measure.labels_in(self.query))

    def part(self, label: str) -> Part:
        """The noise of one number.

        `label` is that of a number: a measure's name, or of a mean `hours: sum`.
        """
        return self.noise.part(label)

    def choice_of(self, label: str) -> Choice | None:
        """The choice of a value that a part of the plan pays for, if it is one.

        `label` is that of the part.
        """
        return next((one for one in self.choices if one.label == label), None)

    def design(self, label: str) -> Design:
        """The noise of one number, for the number itself.

        `label` is that of a number.
        """
        return number_design(self.part(label).design)

    def confidence(self, label: str) -> float:
        """How often a number is within its width.

        `label` is that of a number.
        """
        return self.widths(label, 0)[1] if self.strategies else self.part(label).confidence

    def step(self, label: str) -> float:
        """What one step of a number of several tables is worth.

        `label` is that of a number.
        """
        grid = self.part(next(iter(self.strategies[label].parts))).design.grid
        return grid.step

    def widths(self, label: str, which: int) -> tuple[Array, float]:
        """How far the numbers of one of several tables are off at most, and with what confidence.

        `label` is that of a number, `which` the place of the table.
        """
        known = self._found.get((label, which))
        if known is None:
            strategy = self.strategies[label]
            designs = {name: self.design(name) for name in strategy.parts}
            measure = next(one for one in self.query.measures if label in one.labels_in(self.query))
            confidence = measure.confidence_each(self.query)
            widths = strategy.widths(designs, which, confidence) * self.step(label)
            known = self._found[label, which] = widths, confidence
        return known

    def cell_width(self, label: str) -> float:
        """How near a number is in every group by all columns, where that is the same for all answers.

        `label` is that of a number.
        """
        margins = self.query.margins
        whole = (
            []
            if margins is None
            else [at for at, t in enumerate(margins.tables) if t.columns == margins.columns]
        )
        if whole:
            return float(np.max(self.widths(label, whole[0])[0]))
        return float(self.part(label).requirement.region.offsets(0.0)[0])

    def tables(self, rows: Mapping[str, Column]) -> list[dict[str, Column]]:
        """The numbers of each of several tables by their labels, from the rows with noise.

        Beside them are those that are not negative, if asked for and if they add up.

        `rows` are those of all parts, in steps.
        """
        if self.query.margins is None:
            raise AssertionError("one table has no others")
        found: list[dict[str, Column]] = [{} for _ in self.query.margins.tables]
        for label, strategy in self.strategies.items():
            part = self.part(next(iter(strategy.parts)))
            own = {name: rows[name].astype(np.int64) for name in strategy.parts}
            for numbers, made in zip(found, strategy.tables(own), strict=True):
                numbers[label] = worth(made, part)
        for choice in self.choices:
            found[choice.table][choice.name] = rows[choice.label]
        above_zero = nonnegative_tables(self, found)
        return [numbers | more for numbers, more in zip(found, above_zero, strict=True)]

    def accuracy(self, label: str) -> str:
        """How near a number is, in words, and to what: bounds may stand between it and the truth.

        `label` is that of a number, or of the choice of the top groups.
        """
        if self.top is not None and label == TOP:
            return self.top.describe()
        if (chosen := self.choice_of(label)) is not None:
            return f"{chosen.describe()} with confidence {percent_down(chosen.asked)}"
        of = next((of for of, strategy in self.strategies.items() if label in strategy.parts), label)
        words = self.part(label).requirement.describe()
        bounded = any(self.query.is_bounded(one) for one in self.query.measures if of in self.labels(one))
        return words.replace("of the truth", "of the bounded number") if bounded else words

    @checked(**PAYING_ONCE)
    def release(
        self,
        data: object,
        *,
        table: str | None = None,
        csv: Csv | None = None,
        budget: Budget | None = None,
        insecure_test_seed: int | None = None,
        source: str | None = None,
        version: str = "",
        **paying: Unpack[PayingOnce],
    ) -> ReleasedTable:
        """Publish the table of this data: a file, a data frame, a database (`table` names what is in it).

        `csv` says how numbers, dates and nothing are written in CSV files.

        A `budget` pays before the data is read; without a key, the query and the name of the data are the
        key. `insecure_test_seed` repeats the noise, for tests. `source` and `version` name the data in the
        manifest.
        """
        from pbdp.tables.engines.sources import source_of
        from pbdp.tables.release import release_table
        from pbdp.tables.table import SourceName

        return release_table(
            self,
            source_of(data, table, csv),
            budget=budget,
            insecure_test_seed=insecure_test_seed,
            named=None if source is None else SourceName(name=source, version=version),
            **paying,
        )
