"""Private group-by tables that meet an accuracy: one person's whole contribution is protected.

    query = Query(
        unit="user_id",
        by={"city": ["Paris", "Rome"], "month": range(1, 13)},
        measures=[Count(within=50, name="visits"), Sum(column="spend", low=0, high=100, within="5%+500")],
        groups_per_person=3,
        rows_per_group=5,
        delta=1e-6,
    )
    plan = query.plan()                     # what it costs; no data is read
    table = plan.release("visits.parquet")  # or a data frame, a database, a Spark DataFrame
    table.to_pandas()
    table.save("visits.csv")                # and a manifest beside it

Where things are: `measures`, `keys`, `groups`, `expressions` and `query` are what is asked; `bounded` defines
the aggregates and proves how far one person moves them; `engines` compute
them where the data lives; `numbers` and `selection` say what noise they need, `plan` finds it; `release`
pays, asks and draws; `table` is what comes out, with `touched`, `quality` and `nonnegative`; `manifest`,
`laws` and `signing` are about what stands beside it, and `verify` checks that.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pbdp.tables.bounds import Bounds
    from pbdp.tables.distribution import Distribution
    from pbdp.tables.engines.files import Csv
    from pbdp.tables.groups import Bins, Keys
    from pbdp.tables.measures import Count, People, Sum
    from pbdp.tables.plan import TablePlan
    from pbdp.tables.quantiles import Median, Quantile
    from pbdp.tables.query import Query
    from pbdp.tables.quotients import Mean, Ratio
    from pbdp.tables.selection import Selection
    from pbdp.tables.spread import StandardDeviation, Variance
    from pbdp.tables.table import ReleasedTable
    from pbdp.tables.top import Top
    from pbdp.tables.verify import verify_manifest

__all__ = [
    "Bins",
    "Bounds",
    "Count",
    "Csv",
    "Distribution",
    "Keys",
    "Mean",
    "Median",
    "People",
    "Quantile",
    "Query",
    "Ratio",
    "ReleasedTable",
    "Selection",
    "StandardDeviation",
    "Sum",
    "TablePlan",
    "Top",
    "Variance",
    "verify_manifest",
]

_LATER = {
    "Bins": "groups",
    "Count": "measures",
    "Csv": "engines.files",
    "Keys": "groups",
    "Mean": "quotients",
    "Bounds": "bounds",
    "Distribution": "distribution",
    "StandardDeviation": "spread",
    "Variance": "spread",
    "Median": "quantiles",
    "People": "measures",
    "Quantile": "quantiles",
    "Query": "query",
    "Ratio": "quotients",
    "ReleasedTable": "table",
    "Selection": "selection",
    "Sum": "measures",
    "TablePlan": "plan",
    "Top": "top",
    "verify_manifest": "verify",
}


def __getattr__(name: str) -> object:
    """The names above, imported on first use."""
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(import_module(f"pbdp.tables.{_LATER[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """The public names, for tab completion and `help`, whether they are loaded or not."""
    return sorted([*__all__, "__doc__", "__name__", "__path__", "__spec__"])
