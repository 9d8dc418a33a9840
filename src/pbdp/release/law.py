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
        table = design.drawn_table() if design.decoder else design.table_at(float(answer_steps))
        noise, weights, missing = table.values(), table.weights, 0.0
    else:
        reach = design.kernel.reach(SMALLEST_LISTED)
        parts = design.parts
        noise = np.arange(-reach * parts, (reach + 1) * parts, dtype=np.int64)
        weights = np.repeat(design.ideal_masses(float(answer_steps), reach) / parts, parts)
        missing = max(0.0, 1.0 - float(np.sum(weights)))
    # several output steps may be published as one number
    published = publisher.values_of(noise + (answer_steps * design.parts + design.offset)).astype(np.float64)
    values, where = np.unique(published, return_inverse=True)
    lumped = np.zeros(len(values), dtype=weights.dtype)
    np.add.at(lumped, where, weights)
    whole = float(TOTAL) if lumped.dtype == np.int64 else 1.0
    can = lumped > 0  # a law that is cut off has cells outside, without weight
    return OutputLaw(output=values[can], probability=lumped[can] / whole, missing_mass=missing)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Weights:
    """P(output step <= k) for any answer, in units of 2^-62, from the table that is sampled.

    With a decoder the steps are noisy numbers, in parts: outputs never fall as those rise.
    """

    publisher: Publisher
    # the smallest kernel noise, and the weight of what is smaller than each value of a law that moves
    start: int = field(init=False)
    _sums: Index = field(init=False, repr=False)

    def __post_init__(self) -> None:
        design, sums = self.publisher.design, np.zeros(1, dtype=np.int64)
        if design.follows_answer:
            table = design.drawn_table()
            sums, start = np.concatenate((sums, np.cumsum(table.weights))), table.start
        else:
            start = design.laws().least_noise
        object.__setattr__(self, "start", start)
        object.__setattr__(self, "_sums", sums)

    @property
    def cells(self) -> int:
        """How many values kernel noise may have."""
        design = self.publisher.design
        return len(self._sums) - 1 if design.follows_answer else design.laws().cells

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
        noise = output - answer * design.parts - design.offset
        if design.follows_answer:
            found = self._sums[np.clip(noise + 1 - self.start, 0, self.cells)]
        else:
            around = design.region.offsets(answer.astype(np.float64))
            found = design.laws().weight_up_to(*around, noise)
        if not design.clamp:
            return np.asarray(found)
        first, last = (int(end) for end in design.region.answers)
        return np.where(output >= last, TOTAL, np.where(output < first, 0, found))
