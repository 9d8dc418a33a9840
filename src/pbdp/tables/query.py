"""A query: whose data, which groups, which numbers, how accurate. Checked once, before any data is read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace
from os import PathLike
from typing import TYPE_CHECKING

from pbdp.accounting.risk import warn_of_delta
from pbdp.errors import ContradictionError, InputError, unchangeable
from pbdp.json_records import place_of
from pbdp.mechanism.neighbors import Neighbors
from pbdp.noise.kernel import Index
from pbdp.settings import request
from pbdp.tables.bounded import MOST_ROWS_PER_GROUP, BoundedAggregation, Value
from pbdp.tables.expressions.reading import expression_of
from pbdp.tables.expressions.tree import Expression
from pbdp.tables.groups import Special, crossed_tables, derived_columns
from pbdp.tables.key_files import keys_in_file
from pbdp.tables.keys import KeyColumn, KeyTable, crossed, key_column, key_table
from pbdp.tables.margins import Margins, check_running, check_tables, check_through
from pbdp.tables.measure import Measure
from pbdp.tables.nonnegative import check_nonnegative, nonnegative_names
from pbdp.tables.quality import check_quality, quality_names
from pbdp.tables.request import NOT_SAID, QueryRequest
from pbdp.tables.top import Top, top_of

if TYPE_CHECKING:
    from pbdp.tables.plan import TablePlan

# Measures whose noise can end at their width, and the confidence of what else is told beside them.
ALWAYS_KINDS = ("count", "people", "sum")
BESIDE_ALWAYS = 0.95


@unchangeable("A query", "It was checked as it is: make another one.")
@request("Query", eq=False)
class Query(QueryRequest):
    """A group-by table to be published.

    Keys of `by` are lists or ranges ({"city": ["Paris", "Rome"], "month": range(1, 13)}: every combination is
    a group), `Bins` of a number, or `Keys` with a group for everything else. Columns come without keys
    (["city"]) if `keys` is a table of public groups, or `select` a `Selection`. Keys are assumed public, so
    columns of the data are refused.

    Accuracies belong to the measures, or else `epsilon` is given and widths are found; `confidence` is for
    measures that have none of their own. `pbdp.tables.expressions` has the language of `where` and `derive`.

    Noise of `running` totals is shared between days, so that a year of totals costs little more than a few of
    them. List the days to come as well, and publish the totals `through` a day: a budget pays once for all of
    them, and later days are added under the same key.

    With `top` only the groups with the highest numbers are published: how many, or a `Top` that says by which
    measure and how surely. Choosing them pays for itself.
    """

    special: Special = field(init=False)
    derived: Mapping[str, Expression] = field(init=False)
    groups: KeyTable | None = field(init=False)
    only: tuple[KeyTable, ...] = field(init=False)
    margins: Margins | None = field(init=False)
    aggregation: BoundedAggregation = field(init=False)

    @classmethod
    def sql(cls, text: str, *, keys: object = None, **settings: object) -> Query:
        """The query that a SELECT says, with what SQL does not say (see `select_statement`).

            Query.sql(
                "SELECT city, COUNT(*) AS visits, AVG(spend) AS spend FROM visits GROUP BY city",
                unit="user_id", keys={"city": ["Paris", "Rome"]}, groups_per_person=3, rows_per_group=5,
                within={"visits": 50, "spend": 2}, at_least={"spend": 1000}, bounds={"spend": (0, 200)},
                delta=1e-6,
            )

        `keys` are those of the columns after GROUP BY, `within` and `at_least` belong to measures, `bounds`
        and the `step` of medians and quantiles to columns. All other `settings` are those of a query.
        """
        from pbdp.tables.select_statement import query_settings

        by_column = keys if isinstance(keys, Mapping) else None
        if by_column is None and keys is not None:
            settings["keys"] = keys
        return cls(**query_settings(cls, {**settings, "sql": text, "by": by_column}))

    def agree(self) -> None:
        """Refuse settings that do not go with each other, and find what follows from them."""
        self._check_unit()
        self._read_keys()
        by, special = Special.of(self.by, self.bins, self.rest)
        object.__setattr__(self, "by", by)
        object.__setattr__(self, "special", special)
        # so that a copy is the same
        object.__setattr__(self, "bins", dict(special.bins) or None)
        object.__setattr__(self, "rest", dict(special.rest) or None)
        object.__setattr__(self, "derived", derived_columns(self.derive))
        if self.unit in self.derived:
            raise ContradictionError("unit", "a column of the data", "a derived one")
        self._check_measures()
        check_quality(self)
        groups, only = self._groups()
        object.__setattr__(self, "groups", groups)
        object.__setattr__(self, "only", only)
        object.__setattr__(self, "margins", self._margins())
        check_nonnegative(self)
        self._check_add_up()
        self._check_always()
        object.__setattr__(self, "top", top_of(self))
        self._check_widths()
        self._check_bounds()
        aggregation = self._aggregation()
        cuts = bool(aggregation.cutting)
        if self.bounds_touched and not cuts:
            raise ContradictionError("bounds_touched", "asked where bounds may cut something", "no bound")
        if self.bounds_touched is True:
            object.__setattr__(self, "bounds_touched", None)
        told = cuts and self.bounds_touched is not False
        object.__setattr__(self, "aggregation", replace(aggregation, touched=told))
        self._check_through()

    def _check_unit(self) -> None:
        if self.unit == NOT_SAID and not self.one_row_per_person:
            raise InputError(
                "unit",
                "given",
                "nothing",
                "Which column says whose row it is? (user_id, say.) If nobody has more than one row, say "
                "one_row_per_person=True. Nothing is assumed here, because a mistake breaks the guarantee.",
            )
        if self.unit not in (NOT_SAID, None) and self.one_row_per_person:
            raise ContradictionError("unit and one_row_per_person", "given one at a time", "both")
        # one way to say it
        object.__setattr__(self, "unit", self.unit or None)
        object.__setattr__(self, "one_row_per_person", self.unit is None)

    def _read_keys(self) -> None:
        """Keys in a file; its columns are grouped by, unless `by` names some of them."""
        if not isinstance(self.keys, str | PathLike):
            if self.text_keys:
                raise ContradictionError("text_keys", "used with a file of keys", "no file")
            return
        columns = keys_in_file(place_of("keys", self.keys), self.text_keys)
        object.__setattr__(self, "keys", columns)
        object.__setattr__(self, "text_keys", ())
        if not set(self.by) & set(columns):
            own = self.by if isinstance(self.by, Mapping) else dict.fromkeys(self.by)
            object.__setattr__(self, "by", {**dict.fromkeys(columns), **own})

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns to group by."""
        return tuple(self.by)

    @property
    def groups_of_one(self) -> int:
        """The most groups that one person counts in: one, if every row is a person or there is one group."""
        return 1 if self.unit is None else self.groups_per_person or 1

    @property
    def groups_touched(self) -> int:
        """The most groups that differ between neighbors: those of one person, or of two if replaced."""
        mine = self.groups_of_one
        if self.groups is not None:
            mine = min(mine, len(self.groups))
        touched = Neighbors(self.neighbors).people * mine
        return touched if self.groups is None else min(touched, len(self.groups))

    @property
    def published_touched(self) -> int:
        """The most of the groups that get numbers which differ between neighbors: of the top, if asked."""
        return self.groups_touched if self.listed is None else min(self.groups_touched, self.listed.groups)

    @property
    def listed(self) -> Top | None:
        """What is asked of the top groups, all of it said; None if all groups are published."""
        return self.top if isinstance(self.top, Top) else None

    @property
    def rows_counted(self) -> int:
        """The most rows of one person in one group that count."""
        return 1 if self.unit is None else self.rows_per_group or 1

    @property
    def keys_assumed(self) -> str:
        """What is taken for granted of the keys, in words; nothing where there are none."""
        if not self.by:
            return ""
        if self.groups is not None:
            return "Keys: assumed public."
        listed = " Listed keys of single columns: assumed public." if self.only else ""
        return f"Keys: selected from the data with noise.{listed}"

    def confidence_of(self, measure: Measure) -> float:
        """The measure's own confidence, or the query's."""
        return self.confidence if measure.confidence is None else measure.confidence

    @property
    def confidence_touched(self) -> float:
        """That of how many people the bounds change, for which nothing has to hold without exception."""
        return BESIDE_ALWAYS if self.confidence == 1 else self.confidence

    def with_widths(self, factor: float) -> Query:
        """The query without its epsilon; widths that are left open are `factor` sensitivities."""
        measures = [measure.with_width(self, factor) for measure in self.measures]
        return replace(self, measures=measures, epsilon=None)

    def plan(self) -> TablePlan:
        """The noise with the least joint epsilon that was found for all measures; no data is read."""
        from pbdp.tables.planning import plan_table

        warn_of_delta(self.delta, depth=3)
        return plan_table(self)

    def _check_measures(self) -> None:
        published = [*self.by, *(column for measure in self.measures for column in measure.columns)]
        published += [*quality_names(self), *nonnegative_names(self)]
        if doubles := sorted({name for name in published if published.count(name) > 1}):
            raise InputError("names", "different for every column", ", ".join(doubles), "Name the measures.")
        for measure in self.measures:
            # refuses a count of values that nothing adds up
            measure.value(self)
        left_open = [measure.name for measure in self.measures if measure.is_open_in(self)]
        if self.epsilon is None and left_open:
            raise ContradictionError(
                f"within of {', '.join(left_open)}",
                "given, or an epsilon to find it from",
                "neither",
                "Give a width: within=50, or within='5%+10'.",
            )
        if self.epsilon is not None and not left_open:
            rule = "left out where all widths are given"
            raise ContradictionError("epsilon", rule, f"{self.epsilon:g}", "It is found then.")

    def _check_always(self) -> None:
        """Confidence 1 is for counts and sums with noise of their own, which can end at the width."""
        for measure in self.measures:
            if self.confidence_of(measure) < 1:
                continue
            shared = [name for name in ("tables", "running", "top") if getattr(self, name)]
            if shared or measure.kind not in ALWAYS_KINDS:
                name = measure.name if not shared else f"{measure.name} with {shared[0]}"
                remedy = "Only counts and sums with noise of their own can end at a width."
                raise ContradictionError(f"confidence of {name}", "below 1", 1, remedy)

    def _groups(self) -> tuple[KeyTable | None, tuple[KeyTable, ...]]:
        """The public groups, or public values that single columns are restricted to before a selection."""
        by = self.by
        if len(set(by)) < len(tuple(by)):
            raise InputError("by", "different columns", ", ".join(by))
        listed: dict[str, KeyColumn] = {
            name: key_column(name, keys)
            for name, keys in (by.items() if isinstance(by, Mapping) else ())
            if keys is not None
        }
        if self.keys is not None:
            if self.select is not None:
                raise ContradictionError("keys", "the only groups", "a table and a selection")
            unlisted = tuple(name for name in by if name not in listed)
            if listed and not unlisted:
                raise ContradictionError("keys", "the only groups of their columns", "a table and lists")
            table = key_table(unlisted, self.keys)
            return (crossed_tables(table, crossed(listed), by) if listed else table), ()
        open_columns = [name for name in by if name not in listed]
        if self.select is not None:
            if not open_columns:
                raise ContradictionError("select", "used with a column without keys", "keys for all of them")
            return None, tuple(KeyTable(columns={name: column}) for name, column in listed.items())
        if open_columns:
            raise InputError(
                f"keys of {', '.join(open_columns)}",
                "listed, or left to a private selection",
                "neither",
                "Which groups appear in the data is private too: a group of one person would show that this "
                "person is there. List the public keys, or publish the groups of roughly a size or larger: "
                "select=Selection(people=100), or --select 100.",
            )
        return crossed(listed), ()

    def _margins(self) -> Margins | None:
        """The several tables, if it is not just one by all columns, or that of running totals."""
        if self.running is not None:
            return self._running()
        if self.tables is None:
            return None
        tables = check_tables(self.tables, self.columns)
        several = None if tables == (self.columns,) else tables
        object.__setattr__(self, "tables", several)
        if several is None:
            return None
        if self.groups is None:
            remedy = "List the public keys of all columns, or ask for one table."
            raise ContradictionError("tables", "used with public keys", "a selection of groups", remedy)
        return Margins(cells=self.groups, asked=tables)

    def _running(self) -> Margins:
        """The table of running totals, refused where these are not sums of what the days have."""
        running = check_running(self.running, self.groups, self.columns)
        for name in ("tables", "top", "epsilon"):
            if getattr(self, name) is not None:
                remedy = "Give the measures a width." if name == "epsilon" else "Ask for it in another query."
                raise ContradictionError("running", f"used without {name}", "both", remedy)
        if strange := [one.name for one in self.measures if one.derived]:
            raise ContradictionError(
                "running",
                "used with counts and sums",
                ", ".join(strange),
                "Ask for the running sum and count.",
            )
        if self.groups_of_one > 1 and (people := [one.name for one in self.measures if one.kind == "people"]):
            remedy = "Who comes on two days would count twice: groups_per_person=1, or count rows."
            raise ContradictionError(
                "running", "used with people of one group each", ", ".join(people), remedy
            )
        if self.groups is None:
            raise AssertionError("groups are public here")
        if self.through is not None:
            object.__setattr__(self, "through", check_through(self.through, self.groups.columns[running]))
        return Margins(cells=self.groups, asked=(self.columns,), running=running, through=self.through)  # type: ignore[arg-type]  # no text any more

    @property
    def is_extended(self) -> bool:
        """Whether running totals can be published as days go by: nobody's part in earlier days changes.

        Where people count in some of their groups alone, which ones is chosen among all that are in the data,
        unless they are the first ones and nothing happens to those.
        """
        chosen = self.aggregation.groups_per_person is not None and not self.append_only
        return self.running is not None and not chosen and not self.aggregation.touched

    def _check_through(self) -> None:
        if self.append_only and self.running is None:
            raise ContradictionError("append_only", "used with running totals", "none", 'Say running="day".')
        if self.through is None:
            return
        if self.running is None:
            raise ContradictionError("through", "used with running totals", "none", 'Say running="day".')
        if self.aggregation.groups_per_person is not None and not self.append_only:
            raise ContradictionError(
                "through",
                "used where nobody's choice of groups can change",
                f"groups_per_person = {self.groups_per_person}",
                "Days to come change which groups of a person are kept. If rows of published days never "
                "change, say append_only=True: everybody then counts in their first groups. Or publish all "
                "days at once.",
            )
        if self.aggregation.touched:
            remedy = "Leave these out: bounds_touched=False."
            raise ContradictionError("through", "used without counts of whom bounds touch", "both", remedy)

    def _check_widths(self) -> None:
        """Widths of several tables are plain numbers, by the names of the tables if they differ."""
        for measure in self.measures:
            within = measure.within
            if measure.chosen:
                continue
            if self.margins is None and isinstance(within, Mapping):
                raise ContradictionError(
                    f"within of {measure.name}",
                    "one width for one table",
                    "widths by table",
                    "Name the tables.",
                )
            if self.margins is None or within is None:
                continue
            widths = within if isinstance(within, Mapping) else dict.fromkeys(self.margins.labels, within)
            if strange := [str(name) for name in widths if name not in self.margins.labels]:
                rule = f"by the tables ({'; '.join(self.margins.labels)})"
                raise InputError(f"within of {measure.name}", rule, "; ".join(strange))
            if any(not isinstance(width, int | float) for width in widths.values()):
                remedy = "Relative and lopsided widths are for one table."
                raise InputError(
                    f"within of {measure.name}", "plain numbers for several tables", within, remedy
                )

    def _check_add_up(self) -> None:
        if self.add_up:
            return
        if self.margins is None or self.running is not None:
            what = "none" if self.running is None else "running totals"
            raise ContradictionError("add_up", "left out unless there are several tables", what)
        if self.epsilon is not None:
            raise ContradictionError("add_up", "used without epsilon", "both", "Give the measures a width.")
        if derived := [one.name for one in self.measures if one.derived]:
            remedy = "Ask for it in another query, or for tables that add up."
            raise ContradictionError("add_up", "used with counts and sums", ", ".join(derived), remedy)
        for measure in self.measures:
            every = measure.within if isinstance(measure.within, Mapping) else self.margins.labels
            if missing := [label for label in self.margins.labels if label not in every]:
                remedy = "It does not follow from other tables if these need not add up."
                raise InputError(
                    f"within of {measure.name}", "given for all tables", f"none for {missing[0]}", remedy
                )

    def _check_bounds(self) -> None:
        if self.unit is None:
            for name in ("groups_per_person", "rows_per_group"):
                if getattr(self, name) is not None:
                    raise ContradictionError(
                        name, "left out where every person has one row", getattr(self, name)
                    )
            return
        single = self.groups is not None and len(self.groups) == 1
        if self.groups_per_person is None and not single:
            raise InputError(
                "groups_per_person",
                "given",
                "nothing",
                "In how many groups may one person count? More keeps more of the data and needs more noise.",
            )
        if self.rows_per_group is not None:
            if self.rows_per_group > MOST_ROWS_PER_GROUP:
                raise InputError("rows_per_group", f"at most {MOST_ROWS_PER_GROUP:,}", self.rows_per_group)
        elif rows := [m.name for m in self.measures if m.counts_rows]:
            raise InputError(
                "rows_per_group",
                f"given for {', '.join(rows)}",
                "nothing",
                "How many rows of one person may count in a group? Or count people, or sum per='person'.",
            )

    def _aggregation(self) -> BoundedAggregation:
        values = [value for one in self.measures for value in one.values(self)]
        limit = self.groups_per_person if self.unit is not None else None
        if limit is not None and self.groups is not None and limit >= len(self.groups):
            limit = None
        own = dict(column for one in self.measures for column in one.derived_columns(self).items())
        special, tables = self.special, [*([self.groups] if self.groups is not None else []), *self.only]
        return BoundedAggregation(
            unit=self.unit,
            by=tuple(map(special.engine_name, self.columns)),
            keys=None if self.groups is None else special.engine_keys(self.groups),
            values=tuple(dict.fromkeys(values)),
            grids=tuple(dict.fromkeys(grid for one in self.measures for grid in one.grids(self))),
            groups_per_person=limit,
            rows_per_group=self.rows_per_group if any(one.counts_rows for one in self.measures) else None,
            along=special.engine_name(str(self.running)) if self.append_only and limit is not None else None,
            only=tuple(map(special.engine_keys, self.only)),
            where=self.condition,
            time_zone=self.time_zone,
            derived=tuple({**self.derived, **special.derived(tables, self.derived), **own}.items()),
            tables=self._counted_apart(),
        )

    def _counted_apart(self) -> tuple[Index, ...]:
        """The tables that people are counted in by themselves, as they may be in several cells."""
        people = any(measure.kind == "people" for measure in self.measures)
        if self.margins is None or not people or self.groups_of_one == 1:
            return ()
        return tuple(table.of_cell for table in self.margins.tables)

    @property
    def condition(self) -> Expression | None:
        """The rows that count, if not all of them do."""
        return None if self.where is None else expression_of("where", self.where, self.derived, "boolean")

    def is_bounded(self, measure: Measure) -> bool:
        """Whether bounds may cut its numbers: what is promised of them is of the bounded number then.

        `measure` is one of the query's.
        """
        values = bool(measure.values(self) or measure.grids(self))
        by = {"groups": True, "rows": measure.counts_rows, "values": values}
        return any(by[bound] for bound in self.aggregation.cutting)

    def value_of(self, measure: Measure) -> tuple[int, Value]:
        """Which of the aggregation's values a measure adds up, by its place in it and itself."""
        value = measure.value(self)
        if value is None:
            raise AssertionError(f"a {measure.kind} adds up no column")
        return self.aggregation.values.index(value), value
