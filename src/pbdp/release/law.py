"""The law of what is published for an answer: exact weights, as a list or up to an output."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from pbdp.mechanism.design import Design
from pbdp.mechanism.weights import TOTAL
from pbdp.noise.kernel import Array, Index
from pbdp.release.publisher import Publisher

# Below this an output of an ideal law is no longer listed.
SMALLEST_LISTED = 1e-290


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputLaw:
    """Every output that can be published for one true answer, and its probability."""

    output: Array
    probability: Array
    missing_mass: float


def law_at(publisher: Publisher, answer_steps: int) -> OutputLaw:
    """With a delta the table's own weights, all of them; for a Rényi plan the masses of the ideal law."""
    design = publisher.design
    if publisher.requirement.rdp_order is None or not isinstance(design, Design):
        table = design.table_at(float(answer_steps))
        noise, probability, missing = table.values(), table.probabilities(), 0.0
    else:
        reach = design.kernel.reach(SMALLEST_LISTED)
        noise = np.arange(-reach, reach + 1, dtype=np.int64)
        probability = design.ideal_masses(float(answer_steps), reach)
        missing = max(0.0, 1.0 - float(np.sum(probability)))
    # several output steps may be published as one number
    published = publisher.values_of(noise + (answer_steps + design.offset)).astype(np.float64)
    values, where = np.unique(published, return_inverse=True)
    lumped = np.bincount(where, weights=probability).astype(np.float64)
    return OutputLaw(output=values, probability=lumped, missing_mass=missing)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Weights:
    """P(output step <= k) for any answer, in units of 2^-62, from the table that is sampled."""

    publisher: Publisher
    _sums: Index = field(init=False, repr=False)

    def __post_init__(self) -> None:
        design = self.publisher.design
        sums = np.zeros(1, dtype=np.int64)
        if design.follows_answer:
            sums = np.concatenate((sums, np.cumsum(design.table_at(0.0).weights)))
        object.__setattr__(self, "_sums", sums)

    @property
    def start(self) -> int:
        """The smallest kernel noise."""
        design = self.publisher.design
        moves = design.follows_answer
        return design.table_at(0.0).start if moves else design.reweighted().base.start

    @property
    def cells(self) -> int:
        """How many values kernel noise may have."""
        design = self.publisher.design
        return len(self._sums) - 1 if design.follows_answer else design.reweighted().cells

    def kept_range(self, least: int) -> tuple[int, int]:
        """For a law that moves: the answers, relative to an output, that give it `least` on both sides.

        That is, at least this weight to the outputs up to it, and to those from it on.
        """
        smallest = int(np.searchsorted(self._sums[1:], least)) + self.start
        largest = int(np.searchsorted(self._sums, TOTAL - least, side="right")) - 1 + self.start
        offset = self.publisher.design.offset
        low, high = -largest - offset, -smallest - offset
        # at a very low confidence no answer is left, and the likeliest one is named
        return (low, high) if low <= high else ((low + high) // 2, (low + high) // 2)

    def up_to(self, answers: npt.ArrayLike, outputs: npt.ArrayLike) -> Index:
        """Weight of the outputs up to and including each output step, for each answer step."""
        design = self.publisher.design
        answer, output = np.broadcast_arrays(np.asarray(answers, np.int64), np.asarray(outputs, np.int64))
        noise = output - answer - design.offset
        if design.follows_answer:
            found = self._sums[np.clip(noise + 1 - self.start, 0, self.cells)]
        else:
            around = design.region.offsets(answer.astype(np.float64))
            found = design.reweighted().weight_up_to(*around, noise)
        if not design.clamp:
            return np.asarray(found)
        first, last = (int(end) for end in design.region.answers)
        return np.where(output >= last, TOTAL, np.where(output < first, 0, found))
