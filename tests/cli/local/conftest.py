"""A survey of ages that was planned and answered."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from reproduction.age_errors import adult_ages
from tests.cli.commands import run_command
from tests.cli.local.survey import AGES


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A survey of ages, another one, and the Adult ages as text and as Parquet."""
    place = tmp_path_factory.mktemp("survey")
    for name, epsilon in (("survey", "5"), ("other", "4")):
        wanted = ["--epsilon", epsilon, "--goal", "0.5", "--use", "boosted response"]
        done = run_command("local", "plan", *AGES, *wanted, "-o", str(place / f"{name}.json"))
        assert done.code == 0, done
    ages = np.repeat(list(adult_ages()), list(adult_ages().values()))
    np.random.default_rng(1).shuffle(ages)
    (place / "ages.txt").write_text("".join(f"{age}\n" for age in ages))
    pq.write_table(pa.table({"id": np.arange(len(ages)), "age": ages}), place / "people.parquet")
    for source, made in (("ages.txt", "reports.csv"), ("people.parquet", "reports.parquet")):
        column = ["--column", "age"] if source.endswith("parquet") else []
        out = str(place / made)
        done = run_command(
            "local",
            "randomize",
            str(place / "survey.json"),
            "--input",
            str(place / source),
            *column,
            "-o",
            out,
        )
        assert done.code == 0, done
    return place
