"""The worst neighbors of a mechanism, with proof.

**Laws that only move with the answer.** If the density never rises away from its mode, the largest shift is
the worst one at every epsilon >= 0:

    Let g be non-decreasing before its mode 0 and non-increasing after it, 0 < s < t, and let A be the outputs
    with g(y) > e^eps g(y - s). For y > s both points lie after the mode, so g(y) <= g(y - s): not in A.
    Hence A lies below s, where g(y - t) <= g(y - s). So
    delta_t >= P(A) - e^eps P_t(A) >= P(A) - e^eps P_s(A) = delta_s.                                     (1)

Symmetry is not needed; the same holds for negative shifts. Every f-divergence, hence the Rényi divergence of
every order, is a mixture of hockey-sticks of the two directions, so (1) holds for it too. A boosted kernel is
unimodal whenever the kernel is. Other laws (tables of the user's) are checked at every shift.

**Laws that change with the answer.** Boxes of neighbors are bounded from above, from below by pairs inside
them, and split until the two meet or no box can hold a worse pair. The upper value comes from envelopes (see
`pairs`); for a fixed range and a log-concave kernel from an actual, wider pair:

    The weights w(y) are the same for all answers, so the boosted laws have monotone likelihood ratio in Q and
    the worst set at any epsilon is a half-line. Their CDFs fall as Q grows. Hence delta, and with it every
    f-divergence, grows when the two answers move apart on either side: (low, high + s) bounds every
    (Q, Q + s) with low <= Q <= high, and only the largest shift matters.                                (2)
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from pbdp.accounting.exact.pairs import Pairs, envelopes, neighbors
from pbdp.errors import CannotCertifyError
from pbdp.mechanism.design import Boosted
from pbdp.mechanism.region import Region
from pbdp.noise.kernel import Array, LatticeKernel

# Kernel mass beyond which a growing region is treated as the whole line (its remainder stays in the bound).
NEGLIGIBLE_MASS = 1e-40
# How far apart (relative) the two bounds of a searched figure may stay.
TOLERANCE = 2e-7
MOST_PAIRS = 1 << 24
# Boxes of neighbors that a search looks at before it settles for the bounds it has.
MOST_BOXES = 1 << 19


class Divergence(Protocol):
    """A figure for a pair of laws, with bounds, and how figures of two parts of the line add up."""

    def of(self, mechanism: Boosted, pairs: Pairs) -> tuple[Array, Array]:
        """Lower and upper value for every pair."""

    def joined(self, one: Array, two: Array) -> Array:
        """Upper value for the union of two sets of outputs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Worst:
    """lower <= the figure of the worst neighbors <= upper; `answer` and `other` reach the lower one."""

    lower: float
    upper: float
    answer: float
    other: float


def worst_neighbors(
    mechanism: Boosted,
    sensitivity: float,
    divergence: Divergence,
    tolerance: float = TOLERANCE,
    ceiling: float = math.inf,
) -> Worst:
    """Largest divergence over all neighbors.

    The search ends when the bounds are within `tolerance` (relative), when the lower one exceeds `ceiling`,
    or when no box can exceed it.
    """
    listed = listed_neighbors(mechanism, sensitivity)
    if listed is not None:
        answers, others = listed
        lower, upper = divergence.of(mechanism, neighbors(mechanism, answers, others))
        at = int(np.argmax(lower))
        return Worst(
            lower=float(lower[at]),
            upper=float(np.max(upper)),
            answer=float(answers[at]),
            other=float(others[at]),
        )
    return _boxed(mechanism, sensitivity, divergence, tolerance, ceiling)


def listed_neighbors(mechanism: Boosted, sensitivity: float) -> tuple[Array, Array] | None:
    """Finitely many pairs that are sure to hold the worst one, or None if a search is needed."""
    kernel, region = mechanism.kernel, mechanism.region
    lattice = isinstance(kernel, LatticeKernel)
    if (lattice or region.only_whole_answers) and sensitivity != math.floor(sensitivity):
        raise CannotCertifyError("On a grid the sensitivity must be a whole number of steps.")
    if mechanism.follows_answer:
        low, high = region.answers
        sensitivity = min(sensitivity, high - low)
        if kernel.is_unimodal:
            even = kernel.is_symmetric and (mechanism.boost == 0 or region.mirror_symmetric)
            shifts = np.array([sensitivity]) if even else np.array([sensitivity, -sensitivity])
        elif lattice:
            shifts = np.arange(1, sensitivity + 1)
            shifts = (
                shifts
                if kernel.is_symmetric and region.mirror_symmetric
                else np.concatenate([shifts, -shifts])
            )
        else:
            raise CannotCertifyError(
                f"The worst shift of {kernel.family} noise cannot be proved; use a grid."
            )
        return np.zeros(len(shifts)), shifts
    searchable = kernel.is_unimodal and kernel.is_symmetric
    if region.stands_still:
        searchable = kernel.loss_law is not None
    if region.only_whole_answers or not searchable:
        return _every_pair(mechanism, sensitivity)
    return None


def some_neighbors(mechanism: Boosted, sensitivity: float) -> tuple[Array, Array]:
    """A sample of neighbors with the largest shift either way: where a search starts, not where it ends."""
    kernel, region = mechanism.kernel, mechanism.region
    low, high = region.answers
    if math.isinf(high - low):
        last = (kernel.reach(2e-18) + 1) / _growth(region)
        spread = np.concatenate([np.linspace(0, last, 24), np.geomspace(1e-3 * last, last, 24)])
    else:
        spread = np.linspace(low, high, 200)
    whole = isinstance(kernel, LatticeKernel) or region.only_whole_answers
    answers = np.unique(np.rint(spread) if whole else spread)
    first = np.concatenate([answers, answers])
    other = np.concatenate([answers + sensitivity, answers - sensitivity])
    kept = (other >= low) & (other <= high)
    if not np.any(kept):
        return np.array([low]), np.array([high])
    return first[kept], other[kept]


def _every_pair(mechanism: Boosted, sensitivity: float) -> tuple[Array, Array]:
    """All pairs of whole answers at most `sensitivity` apart."""
    kernel, region = mechanism.kernel, mechanism.region
    if not (isinstance(kernel, LatticeKernel) or region.only_whole_answers):
        raise CannotCertifyError(
            f"No guarantee over all answers can be proved for this region ({region.describe()}) with "
            f"continuous {kernel.family} noise. Use noise on a grid."
        )
    # once the regions of both neighbors cover the support the law only moves; one answer beyond stands in
    settled = float(np.ceil(region.settled_from(max(map(abs, kernel.support))))) + sensitivity + 1
    low, high = max(region.answers[0], -settled), min(region.answers[1], settled)
    if math.isinf(high - low):
        raise CannotCertifyError(f"A relative region needs symmetric noise; {kernel.family} noise is not.")
    answers = np.arange(low, high + 1)
    shifts = np.concatenate([np.arange(1, sensitivity + 1), -np.arange(1, sensitivity + 1)])
    if len(answers) * len(shifts) > MOST_PAIRS:
        raise CannotCertifyError(
            f"{len(answers) * len(shifts):,} pairs of answers would have to be checked. Use a coarser step."
        )
    first = np.repeat(answers, len(shifts))
    other = first + np.tile(shifts, len(answers))
    kept = (other >= low) & (other <= high)
    return first[kept], other[kept]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Boxes:
    """Sets of neighbors: answers in [low, high], shifts in [least, most]."""

    low: Array
    high: Array
    least: Array
    most: Array

    def __getitem__(self, index: np.ndarray) -> _Boxes:
        return _Boxes(
            low=self.low[index], high=self.high[index], least=self.least[index], most=self.most[index]
        )

    def __len__(self) -> int:
        return len(self.low)


def _boxed(
    mechanism: Boosted, sensitivity: float, divergence: Divergence, tolerance: float, ceiling: float
) -> Worst:
    """Branch and bound over boxes of neighbors."""
    lattice = isinstance(mechanism.kernel, LatticeKernel)
    boxes, weight = _first_boxes(mechanism, sensitivity)
    best = Worst(lower=-math.inf, upper=-math.inf, answer=math.nan, other=math.nan)
    settled, spent = -math.inf, 0
    while len(boxes):
        spent += len(boxes)
        answers, others = _sample(mechanism, boxes)
        lower, _ = divergence.of(mechanism, neighbors(mechanism, answers, others))
        at = int(np.argmax(lower))
        if lower[at] > best.lower:
            best = Worst(
                lower=float(lower[at]), upper=math.inf, answer=float(answers[at]), other=float(others[at])
            )
        if best.lower > ceiling:
            return best
        upper = _upper(mechanism, boxes, divergence)
        enough = ceiling if math.isfinite(ceiling) else best.lower + tolerance * abs(best.lower)
        final = (upper <= enough) | _is_whole(boxes)
        if spent > MOST_BOXES:
            final = np.ones(len(boxes), bool)
        settled = max(settled, float(np.max(upper[final], initial=-math.inf)))
        boxes = _inside(mechanism, _split(boxes[~final], weight, lattice))
    return Worst(lower=best.lower, upper=max(settled, best.lower), answer=best.answer, other=best.other)


def _is_whole(boxes: _Boxes) -> npt.NDArray[np.bool_]:
    """Whether a box is a single pair, or all of those whose law only moves with the answer."""
    alone = (boxes.low == boxes.high) | np.isinf(boxes.high)
    return np.asarray(alone & (boxes.least == boxes.most))


def _upper(mechanism: Boosted, boxes: _Boxes, divergence: Divergence) -> Array:
    """Upper values for boxes, with the second answer held inside the answers that occur."""
    first_answer, last_answer = mechanism.region.answers
    if mechanism.region.stands_still:
        wider = neighbors(mechanism, boxes.low, boxes.high + boxes.most)
        return divergence.of(mechanism, wider)[1]
    others = (
        np.maximum(boxes.low + boxes.least, first_answer),
        np.minimum(boxes.high + boxes.most, last_answer),
    )
    near, far = envelopes(mechanism, (boxes.low, boxes.high), others, (boxes.least, boxes.most))
    upper = divergence.of(mechanism, near)[1]
    wide = np.flatnonzero(boxes.least != boxes.most)
    if wide.size:
        upper[wide] = divergence.joined(upper[wide], divergence.of(mechanism, far[wide])[1])
    return upper


def _sample(mechanism: Boosted, boxes: _Boxes) -> tuple[Array, Array]:
    """One actual pair of neighbors in every box: the lowest answer with the largest shift that fits."""
    first_answer, last_answer = mechanism.region.answers
    shift = np.where(boxes.least > 0, boxes.most, boxes.least)
    other = np.clip(boxes.low + shift, first_answer, last_answer)
    return boxes.low, other


def _first_boxes(mechanism: Boosted, sensitivity: float) -> tuple[_Boxes, float]:
    """Boxes that cover all neighbors up to mirror images, and how much an answer's width weighs in a box.

    Symmetric kernels: for a mirror-symmetric region (Q, Q') and (-Q, -Q') are mirror images, so Q >= 0; for a
    fixed range mirroring at its middle turns a shift around, so shifts are positive; by (2) as large as
    possible.
    """
    kernel, region = mechanism.kernel, mechanism.region
    smallest = 1.0 if isinstance(kernel, LatticeKernel) else 0.0
    reach = float(kernel.reach(NEGLIGIBLE_MASS))
    if region.stands_still:
        furthest = min(sensitivity, region.answers[1] - region.answers[0])
        low, high = _edges(reach, region.answers, furthest)
        both = [(furthest, furthest)]
        weight = 1.0
    else:
        weight = _growth(region)
        beyond = math.ceil(region.settled_from(reach + 1) + sensitivity) + 1.0
        low, high = np.array([0.0, beyond + smallest]), np.array([beyond, np.inf])
        both = [(smallest, sensitivity), (-sensitivity, -smallest)]
    boxes = [
        _Boxes(low=low, high=high, least=np.full(len(low), least), most=np.full(len(low), most))
        for least, most in both
    ]
    return _inside(mechanism, _joined(boxes)), weight


def _growth(region: Region) -> float:
    """How fast a region grows with answers without end; only mirror-symmetric ones can be searched.

    No bound rests on the figure: it says where a search starts, and which side of a box is halved.
    """
    if region.growth is None or not region.mirror_symmetric:
        raise CannotCertifyError(f"No search over answers is known for a region {region.describe()}.")
    return region.growth


def _edges(reach: float, ends: tuple[float, float], furthest: float) -> tuple[Array, Array]:
    """First answers near either end of a range, and one that stands for all between.

    Further than the kernel reaches from both ends the law only moves with the answer, up to a mass of 1e-40.
    """
    low, high = ends
    margin, last = math.ceil(reach) + 1.0, high - furthest
    if last - low <= 2 * margin + furthest:
        return np.array([low]), np.array([last])
    middle = math.floor((low + last) / 2)
    return (
        np.array([low, middle, last - margin - furthest]),
        np.array([low + margin, middle, last]),
    )


def _inside(mechanism: Boosted, boxes: _Boxes) -> _Boxes:
    """Boxes without those whose second answer cannot occur."""
    first_answer, last_answer = mechanism.region.answers
    return boxes[(boxes.high + boxes.most >= first_answer) & (boxes.low + boxes.least <= last_answer)]


def _joined(parts: list[_Boxes]) -> _Boxes:
    return _Boxes(
        low=np.concatenate([p.low for p in parts]),
        high=np.concatenate([p.high for p in parts]),
        least=np.concatenate([p.least for p in parts]),
        most=np.concatenate([p.most for p in parts]),
    )


def _split(boxes: _Boxes, weight: float, lattice: bool) -> _Boxes:
    """Every box cut in two along the side that matters more."""
    gap = 1.0 if lattice else 0.0
    along_answer = (weight * (boxes.high - boxes.low) >= boxes.most - boxes.least) & np.isfinite(boxes.high)
    if lattice:
        along_answer = np.where(boxes.high == boxes.low, False, along_answer | (boxes.most == boxes.least))
    middle, center = (boxes.low + boxes.high) / 2, (boxes.least + boxes.most) / 2
    if lattice:
        middle, center = np.floor(middle), np.floor(center)
    one = _Boxes(
        low=boxes.low,
        high=np.where(along_answer, middle, boxes.high),
        least=boxes.least,
        most=np.where(along_answer, boxes.most, center),
    )
    two = _Boxes(
        low=np.where(along_answer, middle + gap, boxes.low),
        high=boxes.high,
        least=np.where(along_answer, boxes.least, center + gap),
        most=boxes.most,
    )
    return _joined([one, two])
