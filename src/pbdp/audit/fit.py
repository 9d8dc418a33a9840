"""Goodness of fit: whether what was drawn follows the law that the plan states.

Four tests at every answer, each with an eye for something else:

- **cells** (Pearson's chi-square): neighboring outputs are joined until enough draws are expected in each
  group. Its p-value is that of the limiting law, the only approximation here.
- **distribution** (Kolmogorov's distance D between the distribution functions): p = 2·exp(-2nD²), which holds
  for every law and every n (Massart 1990), discrete ones included.
- **tails**: the mass of both tails at levels 1/2, 1/4, 1/8 and so on, far beyond what is expected to be seen,
  each by the exact binomial law, together by Bonferroni.
- **lowest bits** (chi-square over the residues of an output's place on the grid), where outputs are many.

A number that the law does not list at all needs no test: one is enough.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from pbdp import special
from pbdp.audit.clopper_pearson import two_sided_p_value
from pbdp.audit.events import RESIDUES, group_starts
from pbdp.audit.samples import Counts, Sample, answer_text
from pbdp.noise.kernel import Array

# Draws expected in a group of cells, at least, so that the limiting law of chi-square holds far out in its
# tail, where the corrected tests look; and groups, at most, so that small differences add up.
LEAST_EXPECTED = 200
MOST_GROUPS = 256
# Tails are followed until one draw in them would be this unlikely.
RAREST = 1e-4


@dataclass(frozen=True, slots=True, kw_only=True)
class FitTest:
    """A test at one answer; `p_value` is its own, before any correction for the number of tests."""

    answer: int | float
    name: str
    statistic: float
    p_value: float


@dataclass(frozen=True, slots=True, kw_only=True)
class FitFinding:
    """All tests; a true sampler fails one of them with at most the probability `error`.

    `numbers` is how many numbers were drawn in all, and `off_law` how many of them no law lists, by answer.
    """

    error: float
    tests: tuple[FitTest, ...]
    off_law: tuple[tuple[int | float, int], ...]
    numbers: int

    @property
    def worst(self) -> FitTest:
        """The test with the smallest p-value."""
        return min(self.tests, key=lambda test: test.p_value)

    @property
    def p_value(self) -> float:
        """The smallest p-value, corrected for the number of tests (Bonferroni)."""
        return min(1.0, len(self.tests) * self.worst.p_value)

    @property
    def outside(self) -> int:
        """How many of all draws were numbers that the plan's law does not list."""
        return sum(count for _, count in self.off_law)

    @property
    def fits(self) -> bool:
        """Whether the frequencies agree with the law."""
        return self.p_value > self.error

    @property
    def passed(self) -> bool:
        """Whether the frequencies agree with the law and nothing else was published."""
        return self.fits and self.outside == 0

    @property
    def rows(self) -> tuple[tuple[str, str, str], tuple[str, str, str]]:
        """What was looked at, seen and claimed: of the law, and of the outputs that the plan lists."""
        outside = (
            f"{self.outside:,} of {self.numbers:,} are not in it"
            if self.outside
            else "all in the plan's table"
        )
        law = "law", f"p-value {self.p_value:.2g}", f"above {self.error:.2g}"
        return law, ("outputs", outside, "all in the plan's table")

    def lines(self) -> list[str]:
        """The finding in sentences."""
        worst, everything = self.worst, self.numbers
        lines = [
            f"Fit: of {len(self.tests)} tests against the plan's own law the least likely result "
            f"({worst.name} at answer {answer_text(worst.answer)}) has p = {self.p_value:.2g}, corrected; "
            + (
                f"above {self.error:.2g}: consistent."
                if self.fits
                else f"at most {self.error:.2g}: CONTRADICTED, the numbers do not follow the law."
            )
        ]
        if self.outside == 0:
            lines.append(
                f"Outputs: all {everything:,} numbers are among those that the plan lists: consistent."
            )
        else:
            lines.append(
                f"Outputs: {self.outside:,} of {everything:,} numbers are none that the plan can publish; "
                "one is too many, since its digits may tell the answer: CONTRADICTED."
            )
        return lines

    def record(self) -> dict[str, Any]:
        """The finding for a program to read."""
        return {
            "p_value": self.p_value,
            "error": self.error,
            "off_law": self.outside,
            "passed": self.passed,
            "tests": [{name: getattr(test, name) for name in FitTest.__slots__} for test in self.tests],
        }


def fit_finding(samples: list[Sample], error: float) -> FitFinding:
    """Every test at every answer."""
    return FitFinding(
        error=error,
        tests=tuple(test for sample in samples for test in _tests(sample)),
        off_law=tuple((sample.answer, sample.off_law) for sample in samples),
        numbers=sum(sample.draws for sample in samples),
    )


def pooled(sample: Sample, least: float) -> tuple[Counts, Counts, Array]:
    """First cells, counts and expected counts of groups of neighboring outputs."""
    expected = sample.draws * sample.law.probability
    starts = np.fromiter(group_starts(expected, least), dtype=np.int64)
    return starts, np.add.reduceat(sample.counts, starts), np.add.reduceat(expected, starts)


def _tests(sample: Sample) -> list[FitTest]:
    def test(name: str, statistic: float, p_value: float) -> FitTest:
        return FitTest(answer=sample.answer, name=name, statistic=statistic, p_value=p_value)

    _, counts, expected = pooled(sample, max(LEAST_EXPECTED, sample.draws / MOST_GROUPS))
    tests = [
        test("cells", *_chi_square(counts, expected)),
        test("distribution", *_kolmogorov(sample)),
        test("tails", *_tails(sample)),
    ]
    residues = np.arange(len(sample.counts)) % RESIDUES
    likely: Array = sample.draws * np.bincount(residues, weights=sample.law.probability).astype(np.float64)
    if len(sample.counts) > 2 * RESIDUES and np.min(likely) >= LEAST_EXPECTED:
        seen = np.bincount(residues, weights=sample.counts)
        tests.append(test("lowest bits", *_chi_square(seen, likely)))
    return tests


def _chi_square(counts: Counts | Array, expected: Array) -> tuple[float, float]:
    """Statistic and p-value; one group alone says nothing."""
    if len(counts) < 2:
        return 0.0, 1.0
    statistic = float(np.sum((counts - expected) ** 2 / expected))
    return statistic, float(special.chdtrc(len(counts) - 1, statistic))


def _kolmogorov(sample: Sample) -> tuple[float, float]:
    gap = np.cumsum(sample.counts) / sample.draws - np.cumsum(sample.law.probability)
    distance = float(np.max(np.abs(gap)))
    return distance, min(1.0, 2 * math.exp(-2 * sample.draws * distance**2))


def _tails(sample: Sample) -> tuple[float, float]:
    """The smallest of the exact p-values, and all of them corrected for their number."""
    levels = 0.5 ** np.arange(1, math.ceil(math.log2(sample.draws / RAREST)) + 1)
    p_values = []
    for way in (1, -1):
        mass = np.cumsum(sample.law.probability[::way])
        hits = np.cumsum(sample.counts[::way])
        # the longest tails that hold at most so much
        ends = np.unique(np.searchsorted(mass, levels, side="right") - 1)
        ends = ends[ends >= 0]
        p_values.append(two_sided_p_value(hits[ends], sample.draws, mass[ends]))
    together = np.concatenate(p_values)
    if not together.size:
        return 1.0, 1.0
    least = float(np.min(together))
    return least, min(1.0, len(together) * least)
