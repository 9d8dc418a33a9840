"""Visits to shops, made up: the data and the query files that tests of `pbdp tables` ask about."""

from __future__ import annotations

import csv
import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tests.cli.toml_text import toml_text

CITIES = ("Paris", "Rome", "Oslo")
PEOPLE = 400

# One count of each city, from people with one row in each of at most two cities.
QUERY: dict[str, Any] = {
    "data": "visits.parquet",
    "unit": "user_id",
    "groups_per_person": 2,
    "rows_per_group": 1,
    "delta": 1e-6,
    "by": {"city": ["Paris", "Rome"]},
    "visits": {"kind": "count", "within": 50},
}
# The same with flags.
FLAGS = ["--unit", "user_id", "--groups-per-person", "2", "--rows-per-group", "1", "--delta", "1e-6"]
COUNT = [*FLAGS, "--by", "city=Paris,Rome", "--count", "50", "name=visits"]


def rows() -> list[dict[str, Any]]:
    """Every person in one or two of the cities, with one row in each: nobody exceeds the bounds."""
    random_of = random.Random(7)
    return [
        {
            "user_id": person,
            "city": city,
            "month": random_of.randint(1, 12),
            "spend": round(random_of.uniform(-20, 120), 2),
            "note": f"private-{person}",
        }
        for person in range(PEOPLE)
        for city in random_of.sample(CITIES, random_of.choice((1, 2)))
    ]


def true_counts(of: list[dict[str, Any]]) -> dict[str, int]:
    """How many rows each city has."""
    return {city: sum(row["city"] == city for row in of) for city in CITIES}


def write_data(folder: Path) -> dict[str, Path]:
    """The visits as Parquet and CSV."""
    made = rows()
    files = {"parquet": folder / "visits.parquet", "csv": folder / "visits.csv"}
    pq.write_table(pa.Table.from_pylist(made), files["parquet"], row_group_size=100)
    with files["csv"].open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(made[0]))
        writer.writeheader()
        writer.writerows(made)
    return files


def write_query(folder: Path, name: str = "query.toml", **changes: Any) -> Path:
    """A query file beside the data; a change to None leaves a name out."""
    record = {name: value for name, value in (QUERY | changes).items() if value is not None}
    path = folder / name
    path.write_text(toml_text(record), encoding="utf-8")
    return path
