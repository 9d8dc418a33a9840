"""What the files in this folder were asked for; `make` makes them."""

from __future__ import annotations

import math
from typing import Any

from pbdp.requirement.absolute import AbsoluteRegion

Record = dict[str, Any]

USUAL: Record = {"confidence": 0.9, "sensitivity": 1, "delta": 1e-6}
WHOLE: Record = USUAL | {"within": 5, "integer": True}
PERCENTAGE: Record = USUAL | {"within": "20%+3"}
RANGE: Record = USUAL | {"range": (0, 20), "scale": 5, "integer": True, "delta": 1e-5}
NO_WIDTH: Record = {"confidence": 0.9, "epsilon": 1.0, "sensitivity": 1, "delta": 1e-6}

# What was asked for, and which of the laws that were compared is the file's: the best one, or one by name.
# With a name the plan has no alternatives.
PLANS: dict[str, tuple[Record, str | None]] = {
    "readme": (WHOLE, None),
    "laplace": (WHOLE | {"families": ("laplace",)}, None),
    "gaussian": (WHOLE | {"families": ("gaussian",)}, "gaussian"),
    "boosted gaussian": (WHOLE | {"families": ("gaussian",)}, None),
    "staircase": (WHOLE | {"sensitivity": 4, "families": ("staircase",)}, None),
    "cut staircase": (WHOLE | {"sensitivity": 2, "delta": 0.01, "families": ("cut staircase",)}, None),
    "generalised normal": (WHOLE | {"families": ("generalised normal",)}, "generalised normal"),
    "boosted generalised normal": (WHOLE | {"families": ("generalised normal",)}, None),
    "huber": (WHOLE | {"families": ("huber",)}, None),
    "cosine": (WHOLE | {"families": ("cosine",)}, "cosine"),
    "boosted cosine": (WHOLE | {"families": ("cosine",)}, None),
    "linear program": (WHOLE | {"delta": 0.03, "families": ("linear program",)}, None),
    "free form": (
        WHOLE | {"within": 2, "confidence": 0.6, "delta": 0.01, "releases": 3, "families": ("free form",)},
        None,
    ),
    "lopsided": (WHOLE | {"within": (2, 7), "families": ("laplace", "gaussian")}, None),
    "one-sided": (
        USUAL
        | {
            "region": AbsoluteRegion(below=math.inf, above=4),
            "integer": True,
            "families": ("laplace",),
        },
        "laplace",
    ),
    "percentage, log scale": (PERCENTAGE | {"nonnegative": True, "families": ("laplace",)}, None),
    "percentage, signed": (PERCENTAGE | {"families": ("laplace",)}, "laplace, log scale"),
    "percentage, whole": (
        PERCENTAGE | {"nonnegative": True, "integer": True, "families": ("laplace",)},
        "laplace, log scale",
    ),
    "percentage, staircase": (PERCENTAGE | {"nonnegative": True, "families": ("staircase",)}, None),
    "percentage, per answer": (
        PERCENTAGE | {"within": "40%+3", "integer": True, "families": ("gaussian",)},
        "boosted gaussian, per answer",
    ),
    "range, clamped": (RANGE | {"families": ("laplace",)}, "laplace, clamped"),
    "range, boosted": (RANGE | {"families": ("gaussian",)}, "boosted gaussian"),
    "range, truncated": (RANGE | {"families": ("gaussian",)}, "truncated gaussian"),
    "width and range": (WHOLE | {"within": 3, "range": (0, 20), "families": ("laplace",)}, None),
    "real": (USUAL | {"within": 2.5, "families": ("laplace",)}, None),
    "real, step": (USUAL | {"within": 2.5, "step": 0.5, "families": ("laplace", "generalised normal")}, None),
    "ten releases": (WHOLE | {"releases": 10, "families": ("gaussian",)}, None),
    "simultaneous": (WHOLE | {"releases": 3, "simultaneous": True, "families": ("laplace",)}, None),
    "order": (WHOLE | {"delta": None, "rdp_order": 8, "families": ("gaussian",)}, None),
    "order, laplace": (WHOLE | {"delta": None, "rdp_order": 8, "families": ("laplace",)}, None),
    "replace": (WHOLE | {"neighbours": "replace", "families": ("laplace",)}, None),
    "confidence found": (
        WHOLE | {"confidence": None, "epsilon": 1.0, "families": ("laplace",)},
        None,
    ),
    "width found": (NO_WIDTH | {"integer": True, "families": ("laplace",)}, None),
    "share found": (
        NO_WIDTH | {"within": "?%+10", "nonnegative": True, "families": ("laplace",)},
        "laplace, log scale",
    ),
    "part found": (
        NO_WIDTH | {"within": "5%+?", "nonnegative": True, "integer": True, "families": ("laplace",)},
        None,
    ),
}
ANSWERS: tuple[float, ...] = (3, 0, 17)
REAL_ANSWERS: tuple[float, ...] = (2.75, 0.0, 17.3)

# For vectors the same.
VECTORS: dict[str, tuple[Record, str | None]] = {
    "independent": ({"norm": "linf", "dimensions": 4, "within": 20, "integer": True}, None),
    "independent, touches one": (
        {"norm": "linf", "dimensions": 4, "within": 20, "integer": True, "touches": 1},
        None,
    ),
    "independent, real": ({"norm": "linf", "dimensions": 3, "within": 20, "step": 0.5}, None),
    "product laplace": ({"norm": "l1", "dimensions": 5, "within": 40, "integer": True}, None),
    "product laplace, real": ({"norm": "l1", "dimensions": 5, "within": 40, "step": 0.25}, None),
    "spherical laplace": ({"norm": "l2", "dimensions": 10, "within": 30}, None),
    "spherical gaussian": ({"norm": "l2", "dimensions": 10, "within": 30}, "gaussian"),
    "spherical boosted gaussian": (
        {"norm": "l2", "dimensions": 3, "within": 30, "neighbours": "replace"},
        "boosted gaussian",
    ),
}

# Families that joint plans are made of.
FEW = ("laplace", "gaussian", "staircase")

# Visits to cities, and what is published of them.
DATA = "data.csv"
CITIES = ("Oslo", "Paris", "Rome")
PEOPLE = 150

QUERIES: dict[str, str] = {
    "public": """
data = "data.csv"
unit = "person"
groups_per_person = 2
rows_per_group = 2
delta = 1e-6

[by]
city = ["Paris", "Rome", "Nowhere"]
member = [true, false]

[visits]
kind = "count"
within = 25

[spend]
kind = "sum"
column = "spend"
low = 0
high = 100
within = "5%+2500"
confidence = 0.9
""",
    "selected": """
data = "data.csv"
unit = "person"
groups_per_person = 1
delta = 1e-6
neighbours = "replace"

[by]
city = "?"

[select]
people = 40
confidence = 0.9

[people]
kind = "people"
within = 20
""",
    "means": """
data = "data.csv"
one_row_per_person = true
delta = 1e-6

[by]
month = "1..3"

[hours]
kind = "mean"
column = "hours"
low = 0
high = 80
whole = true
within = 20
at_least = 30
""",
    "found": """
data = "data.csv"
unit = "person"
groups_per_person = 1
rows_per_group = 1
delta = 1e-6
epsilon = 1

[by]
day = [2024-02-29, 2024-03-01]

[people]
kind = "people"

[hours]
kind = "sum"
column = "hours"
low = -10
high = 80
per = "person"
whole = true
""",
    "seeded": """
data = "data.csv"
one_row_per_person = true
delta = 1e-6

[by]
city = ["Oslo", "Paris", "Rome"]

[count]
kind = "count"
within = [10, 20]

[spend]
kind = "mean"
column = "spend"
low = -20
high = 120
count_within = 15
""",
}

# Requirements for `pbdp together`.
TOGETHER = """
delta = 1e-6

[visits]
within = 20
confidence = 0.9
sensitivity = 1
integer = true

[spend]
within = 30
confidence = 0.9
sensitivity = 2
integer = true
releases = 2
"""

# All of them with --json, in this folder.
_LOSS = ["--sensitivity", "1", "--delta", "1e-6"]
COMMANDS: tuple[list[str], ...] = (
    ["plan", "--within", "5", "--confidence", "0.9", *_LOSS, "--integer"],
    ["plan", "--within", "5", "--epsilon", "1", *_LOSS, "--integer", "--family", "laplace"],
    ["plan", "--confidence", "0.9", "--epsilon", "1", *_LOSS, "--integer", "--family", "gaussian"],
    ["plan", "--below", "2", "--above", "7", "--confidence", "0.9", *_LOSS, "--integer", "--family", "huber"],
    ["noise", "plans/readme.json", "--answer", "1234"],
    ["noise", "plans/range-clamped.json", "--answer", "19"],
    ["noise", "plans/linear-program.json", "--answer", "-1.5e2"],
    ["interval", "plans/readme.json", "1236", "--confidence", "0.99", "--answers", "1230", "1240"],
    ["interval", "plans/range-truncated.json", "20"],
    ["release", "plans/readme.json", "1234", "--insecure-test-seed", "1", "--interval"],
    ["release", "plans/ten-releases.json", "1", "2", "3", "--insecure-test-seed", "9"],
    [
        "vector",
        "--norm",
        "linf",
        "--dimensions",
        "3",
        "--within",
        "20",
        "--confidence",
        "0.9",
        *_LOSS,
        "--step",
        "1",
    ],
    ["vector", "--norm", "l1", "--dimensions", "5", "--within", "40", "--confidence", "0.9", *_LOSS],
    ["together", "tables/together.toml"],
    ["tables", "tables/means.toml", "--dry-run"],
    ["local", "estimate", "local/boosted-ages.json", "--input", "local/reports.csv", "--of", "value"],
)
