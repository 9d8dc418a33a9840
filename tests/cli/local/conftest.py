"""A survey of ages that was planned and answered."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pbdp.cli.main import main
from pbdp.local import in_blocks, save_configuration
from pbdp.local.boosted_response import boosted_response
from reproduction.age_errors import adult_ages
from tests.cli.commands import run_command
from tests.cli.local.survey import AGES


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A survey of ages, another one, and the Adult ages as text and as Parquet."""
    place = tmp_path_factory.mktemp("survey")
    wanted = ["--epsilon", "5", "--goal", "0.5", "--use", "boosted response"]
    done = run_command("local", "plan", *AGES, *wanted, "-o", str(place / "survey.json"))
    assert done.code == 0, done
    save_configuration(boosted_response(in_blocks(range(10, 101), 10), 4.0, 2.0), place / "other.json")
    ages = np.repeat(list(adult_ages()), list(adult_ages().values()))
    np.random.default_rng(1).shuffle(ages)
    (place / "ages.txt").write_text("".join(f"{age}\n" for age in ages))
    pq.write_table(pa.table({"id": np.arange(len(ages)), "age": ages}), place / "people.parquet")
    for source, made in (("ages.txt", "reports.csv"), ("people.parquet", "reports.parquet")):
        column = ["--column", "age"] if source.endswith("parquet") else []
        asked = [str(place / "survey.json"), "--input", str(place / source), *column]
        assert main(["local", "randomize", *asked, "-o", str(place / made)]) == 0
    return place
