"""A strategy: whole-number questions about the cells that get noise, and tables that follow from the answers.

**Setting.** x holds a whole number of steps for every cell (`pbdp.tables.margins`). One person changes at
most k cells of it, each by at most s steps, or two people do where one is replaced: then a cell that both are
in moves by at most S steps, s <= S <= 2·s (S = s where nobody moves a cell down). A strategy asks A·x, A a
matrix of whole numbers, adds noise z to every row, all of it independent and drawn from tables of whole
weights, and publishes tables that are functions of y = A·x + z. Rows come in parts: rows of one part have
noise of one design. What follows is post-processing, so privacy is that of y; and so is what becomes of rows
that do not fit into 64 bits, of which the lowest 64 are kept.

**Privacy.** Let one person move the rows by c = A·(x - x'). The noise is independent, so the pair of laws of
y is the product over the rows. If every factor, or every group of factors, is dominated by another pair, so
is the product (lemma in `accounting.composition.loss_law`), and parts are composed as in any joint plan. What
remains is to dominate each part over *all* c that one person may cause:

- *Cells.* At most k rows move, each by at most s. A table that never rises away from zero is dominated at its
  largest move, so the part is k releases with sensitivity s. The same for rows of groups of one cell each.
  Where a person is replaced, j rows that both are in move by S and 2(k - j) others by s, for some j from 0 to
  k, and some of them by less: all of these are 2k releases with sensitivity S. Log-concave noise is k
  releases with sensitivity 2·s as well: pair the 2(k - j) rows, and each pair is dominated by one row that
  moves by 2·s (the lemma below), as is each of the j rows, S being no more than that. It is the least of the
  two that is taken; where S = s they are alike, and the first needs no lemma.
- *One row.* A total moves by k·s at most: one release with that sensitivity. Where a person is replaced, what
  is added to one cell and taken from another is S together, but for rounding of both: k·min(S + 1, 2·s) if
  values may be negative, and else still k·s.
- *Sums over groups of cells.* Some rows move, by c_1, c_2, ... with c_1 + c_2 + ... <= k·s in size.

  **Lemma (moves add up).** Let the law of the noise be log-concave on the whole numbers, p(n)² >=
  p(n-1)·p(n+1) on a run of them. Then moving two rows by a and b is dominated by moving one row by a + b.

  *Proof.* Let h_a(α) be the largest power, at level α, of a test of p against p moved by a. The likelihood
  ratio rises with the output, so the best tests are "at least t", randomized between t and t + 1: h_a maps
  P(n >= t) to P(n >= t - a) and is linear between. Both ends of such a piece are mapped to neighboring nodes
  of h_b, where h_b is linear again, so that h_b(h_a(α)) is linear on the same pieces and has the values of
  h_(a+b) at their ends: h_b∘h_a = h_(a+b). Now let φ be any test of the two rows, of level α when neither is
  moved. If only the first is moved its power is at most h_a(α) (average over the second, whose law is the
  same), and then if the second is moved as well at most h_b(h_a(α)) = h_(a+b)(α), by the same argument at
  that level. That is the power of the best test of one row moved by a + b, at every level, and so it
  dominates (Blackwell 1953; Dong, Roth and Su 2022, theorem 2.10).                                        ∎

  So the part is one release with sensitivity k·s. Where a person is replaced it is two, if no value is
  negative: the rows that gain move by what the one adds, those that lose by what the other takes. If some
  are, it is one with sensitivity 2·k·s.
- *A total that is shared.* Let a person be replaced, and no value be negative. If one adds α in all cells and
  the other takes β, the sums over groups of cells move by α and by β in all, and their total by α - β. Let
  α >= β, and let all of these rows have noise of one log-concave and even law. The groups are dominated by
  two rows that are moved by α and by β. An even law moved down is one moved up, seen in a mirror, so the
  latter and the total, moved by β and by α - β, are dominated by one row that is moved by α. So groups and
  total are two releases with sensitivity k·s, as the groups are without their total: it costs nothing.
- *Rows that are rounded.* Cells of real numbers are rounded to steps, or else (`rows_rounded`) their sums: a
  row that one person moves by c in all of its m cells, m·Δ at most, then moves by ceil(c/step) steps, and
  that is at most m·s with s = ceil(Δ/step). So all of the above holds for these rows too, and a row loses
  half a step to rounding, however many cells it has. Of a total that is shared only the sum is known: rows
  that are moved by β_1, β_2, ... and by α - β move by ceil(β_1/step) + ... + ceil((α - β)/step) steps, which
  is below α/step + k + 1, and so at most k·(s + 1).
- *Rounded Gaussian noise* (`noise.rounded_gaussian`) on any rows: one release, by the largest Euclidean
  length of c, since y is a function of A·x + Gaussian noise.

**From laws to tables.** The last two rest on laws, and what is drawn are tables near them. If the rows that
one person moves are within η in total variation altogether, for either neighbor and for the case that
dominates, then H_ε <= d(ε) + (1 + e^ε)·η for every ε >= 0, d that of the laws; beyond any E, H_ε <= H_E. So

    H_ε <= d(ε) + m    for all ε >= 0,    m = (1 + e^E)·η + d(E),

and m is set aside of delta as `missing` (see `planning.together.joint`), in compositions and in budgets. The
same in the other direction. `set_aside` finds an E for which m is next to nothing; where there is none, as
epsilon is very large, the strategy is not taken.

**Accuracy.** A published number is off by a weighted sum of noises, whose law is the convolution of tables
(`release.combination`), and by rounding: answers to steps, and the numbers so that they add up. Widths cover
all of it.

**Adding up.** Numbers are rounded from the coarsest table to the finest, so that each is the whole number
below or above the one it is rounded from (`rounding`). For a whole width w and a whole truth that costs
nothing: if |v - truth| <= w then so are both whole numbers next to v. Rounding cumulative sums instead gains
half a step where noise is wide (`cumulative`).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from pbdp.errors import InputError
from pbdp.mechanism.design import Design
from pbdp.noise.kernel import Array, Index
from pbdp.tables.bounded import Aggregates
from pbdp.tables.margins import Margins
from pbdp.tables.numbers import Quantity

Record = dict[str, Any]
Designs = Mapping[str, Design]


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What one person can do: at most `cells` cells, each by at most `steps`; `people` where one is replaced.

    `signed` says that some may be moved up and others down; a cell that two people are in then moves by
    `swapped` steps at most, twice as many as one moves it unless less is known. `lost` is what rounding to a
    `step` takes of every cell (`Grid.lost`), or of every row, if cells are added up as they are and only
    `rows_rounded`.
    """

    cells: int
    steps: int
    people: int = 1
    signed: bool = False
    swapped: int | None = None
    lost: Fraction = Fraction(0)
    step: float = 1.0
    rows_rounded: bool = False

    def __post_init__(self) -> None:
        if self.people not in (1, 2):
            raise InputError("neighbors", "those of one person or two for several tables", f"{self.people}")

    @property
    def both(self) -> int:
        """The most steps that a cell moves which two people are in."""
        if self.people == 1 or not self.signed:
            return self.steps
        return 2 * self.steps if self.swapped is None else self.swapped

    def of_total(self, cells: int) -> Moves:
        """What is moved of the sum of all cells; proved above."""
        both = self.steps if self.both == self.steps else min(self.both + 1, 2 * self.steps)
        return Moves(numbers=1, steps=both * cells)

    def of_rows(self, cells: int, rows: int) -> Moves:
        """What is moved of `rows` rows of one cell each, of at most `cells` by one person; proved above."""
        numbers = min(self.people * cells, rows)
        plain, paired = Moves(numbers=numbers, steps=self.both), min(cells, rows)
        if self.both == self.steps or paired == numbers or 2 * paired * self.steps > numbers * self.both:
            return plain
        return Moves(numbers=paired, steps=2 * self.steps, laws=numbers + paired, concave=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Moves:
    """A part's numbers that one person moves: so many `numbers` by so many `steps` each, at most.

    `laws` is how many numbers of tables stand for the laws that this is proved for, 0 if it is proved for the
    tables themselves. They are log-concave (`concave`), or Gaussian.
    """

    numbers: int
    steps: int
    laws: int = 0
    concave: bool = False


class Strategy(ABC):
    """What is asked of the cells of one number, and how its tables follow."""

    __slots__ = ()

    kind: ClassVar[str]
    # whether its rows are accounted together, by their length: noise of a joint kernel, and of no other
    joint: ClassVar[bool] = False
    # what strategies of one kind that are compared with each other differ in
    variant: str = ""
    # whether its tables agree wherever they are about the same rows
    adds_up: ClassVar[bool] = True
    label: str
    margins: Margins
    change: Change

    @property
    def is_whole(self) -> bool:
        """Whether its numbers are whole numbers of steps."""
        return True

    @property
    @abstractmethod
    def parts(self) -> Mapping[str, Moves]:
        """The parts that have noise of their own, by name, and what one person moves of each."""

    @abstractmethod
    def answers(self, cells: Index) -> dict[str, Index]:
        """The rows of each part, from the cells in steps: private."""

    def rows_of(
        self, quantity: Quantity, aggregates: Aggregates, steps: Callable[[str, Index | Array], Index]
    ) -> dict[str, Index]:
        """The same from what an engine found; `steps` turns answers into those of a part."""
        return self.answers(steps(next(iter(self.parts)), quantity.answers(aggregates)))

    @abstractmethod
    def tables(self, rows: Mapping[str, Index]) -> list[Array | Index]:
        """The numbers of each table in steps, from the rows with noise; they add up."""

    @abstractmethod
    def widths(self, designs: Designs, table: int, confidence: float) -> Array:
        """How far each group's number is off, in steps, with the confidence at least."""

    @abstractmethod
    def record(self) -> Record:
        """What is needed to make it again, for a manifest."""

    @abstractmethod
    def follows(self, table: int) -> str:
        """The part whose noise matters most for a table."""

    @abstractmethod
    def rows(self, table: int) -> int:
        """How many numbers of that part a group is the sum of, at most."""

    def rough_cost(self, widths: Mapping[int, float]) -> float:
        """About the variance of the privacy loss, for tables that are within so many steps, but for a factor.

        As if noise of a part were Gaussian, and a table as far off as the numbers that it is the sum of.
        """
        least: dict[str, float] = {}
        for table, width in widths.items():
            name = self.follows(table)
            least[name] = min(least.get(name, math.inf), width / math.sqrt(self.rows(table)))
        own = [
            moves.numbers * (moves.steps / least[name]) ** 2
            for name, moves in self.parts.items()
            if name in least
        ]
        return math.fsum(own)

    def own_designs(self, step: float, whole: bool) -> list[Design]:
        """The designs of its parts, where they are of one kind only: to be scaled; none if any will do."""
        del step, whole
        return []

    def widest(self, designs: Designs, table: int, confidence: float) -> float:
        """The largest of the widths of a table."""
        return float(np.max(self.widths(designs, table, confidence)))

    def room(self, designs: Designs, table: int, confidence: float, width: float) -> float:
        """How many times as wide a table may be for its numbers to be within so many steps."""
        return width / max(self.widest(designs, table, confidence), 0.5)

    def near_room(self, designs: Designs, table: int, confidence: float, width: float) -> float:
        """About the same, where that takes less time."""
        return self.room(designs, table, confidence, width)

    def name(self, table: int) -> str:
        """What the rows of a table are called, where these have noise of their own."""
        label = self.margins.tables[table].label
        finest = self.margins.tables[table].columns == self.margins.columns
        return self.label if finest else f"{self.label} ({label})"


def spread(of: Sequence[int] | Index, widths: Mapping[int, float]) -> Array:
    """The width of each group, by how many cells it has, say."""
    kept, where = np.unique(np.asarray(of), return_inverse=True)
    return np.array([widths[int(one)] for one in kept])[where.reshape(-1)]
