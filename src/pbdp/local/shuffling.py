"""What a report costs once it is shuffled among others: epsilon at a delta, computed for the randomizer
itself.

If n people's reports arrive without names, times or order, one of them hides among the rest. The bound is the
*privacy blanket* (Balle, Bell, Gascon and Nissim 2019), with nothing approximated:

**Theorem.** Let b(y) <= P(y|x) for all x, of sum g. For any two answers x, x' of one person and any answers
of the n - 1 others, the shuffled reports P_n, Q_n satisfy
    delta(epsilon) <= E[(l_1 + ... + l_n)_+] / n,   independent l_i = (P(y|x) - e^epsilon P(y|x'))/b(y) with
                                                     probability b(y) for each y, and 0 with probability 1 -
                                                     g.
*Proof.* Draw every other person's report with probability g from the blanket b/g and else from what is left
of their law; show those who did the latter, and their reports. Of the rest, C + 1 reports with C ~ Bin(n -
1, g), one is the person's and the others are of the blanket. Against C + 1 reports of the blanket their
density is the mean of P(y_j|x) g/b(y_j) over j, as each of them may be the person's; so delta given C is
E[(L_1 + ... + L_{C+1})_+]/(C + 1), L_j = l(y_j) g, y_j from the blanket. Since the chance of C times 1/(C +
1) is that of C + 1 for Bin(n, g), over n g, the mean over C is the claim. What was shown in addition can
only have raised it. QED

A pair of answers (`blanket`) has all that is needed of P(.|x), P(.|x') and b. How it is computed, all errors
to the safe side: the l are put on a grid of steps h, each moved to its two neighbors so that its mean stays,
which raises the mean of every convex function of the sum; the sum's law is found with one Fourier transform
of the tilted masses, whose error is bounded (`accounting.composition.convolution`), and mass that leaves its
window is bounded by Chernoff.

The formula with one clone for each side, and people who send neither, that is sometimes given for the
variation-ratio method is below the exact value already for three people of five answers (a test shows it),
so it is not used.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from pbdp.accounting.composition.convolution import convolution
from pbdp.errors import InputError, shown
from pbdp.kinds import PEOPLE, POSITIVE, SHARE
from pbdp.local.blanket import AnswerPair
from pbdp.local.mechanism import MECHANISM, LocalMechanism
from pbdp.noise.kernel import Array
from pbdp.root_finding import least_enough
from pbdp.signatures import checked

# Steps of the grid in the largest l at most, and cells of the window about at most and at least.
STEPS, MOST_CELLS, LEAST_CELLS = 24, 1 << 17, 1 << 10
# Standard deviations of the tilted sum to either side of its middle.
REACH = 11.0
# epsilon is found to this relative precision, and the larger end is taken.
PRECISION = 2e-4
# What floats may have lost in the l.
ROUNDING = 1e-14
LEAST_DELTA = 1e-12


@dataclass(frozen=True, slots=True, kw_only=True)
class Shuffled:
    """The guarantee for a person whose report is shuffled among those of `users` people."""

    users: int
    delta: float
    epsilon: float


@checked(mechanism=MECHANISM, users=PEOPLE, delta=SHARE, known=POSITIVE)
def shuffled(mechanism: LocalMechanism, users: int, delta: float, known: float = math.inf) -> Shuffled:
    """The least epsilon that is proved for this delta: over all answers, and whatever the others hold.

    `known` is one that was proved already (`costs_at_most`).
    """
    if delta < LEAST_DELTA:
        raise InputError("delta", f"at least {LEAST_DELTA:g}", shown(delta))
    pairs = [side for each in mechanism.answer_pairs for side in (each, each.swapped())]
    found = 0.0
    for pair in pairs:
        # most pairs do not matter where another one was found to cost more
        if found == 0.0 or delta_after(pair, users, found) > delta:
            found = _least_epsilon(pair, users, delta, min(mechanism.epsilon, known))
    return Shuffled(users=users, delta=delta, epsilon=found)


def costs_at_most(mechanism: LocalMechanism, users: int, delta: float, epsilon: float) -> bool:
    """Whether that epsilon is proved for the shuffled reports; faster than finding the least one."""
    if mechanism.epsilon <= epsilon:
        return True
    pairs = [side for each in mechanism.answer_pairs for side in (each, each.swapped())]
    return all(delta_after(pair, users, epsilon) <= delta for pair in pairs)


def _least_epsilon(pair: AnswerPair, users: int, delta: float, most: float) -> float:
    """Of one pair; at most the local epsilon, at which delta is 0."""

    def short(epsilon: float) -> float:
        return math.log(max(delta_after(pair, users, epsilon), LEAST_DELTA**2) / delta)

    least = most * 2.0**-40
    found = least_enough(lambda x: short(max(x, least)), most / 8, close=PRECISION, most=most)
    return min(max(found, least), most)


def delta_after(pair: AnswerPair, users: int, epsilon: float) -> float:
    """The bound of the theorem for one pair of answers, rounded up."""
    masses = np.append(pair.blanket, max(1.0 - float(pair.blanket.sum()), 0.0))
    jumps = np.append((pair.first - math.exp(epsilon) * pair.second) / pair.blanket, 0.0)
    # the most frequent one stays where it is, so that many small moves do not add up
    center = float(jumps[int(np.argmax(masses))])
    moves = jumps - center
    largest = float(np.abs(moves).max())
    if largest == 0.0:
        return max(center, 0.0) + ROUNDING
    variance = float(masses @ moves**2) * users
    # a whole number of steps in the largest: the two that matter most are of nearly the same size
    steps = math.floor(largest * MOST_CELLS / (2 * REACH * math.sqrt(variance)))
    step = largest / min(max(steps, 1), STEPS)
    places, chances = _on_grid(moves / step, masses)
    return (_mean_above(places, chances, users, center / step) * step / users + ROUNDING) * (1 + 1e-9)


def _on_grid(moves: Array, masses: Array) -> tuple[Array, Array]:
    """Each move on the two whole numbers beside it, with the same mean; equal places together."""
    below = np.floor(moves)
    above = moves - below
    places = np.concatenate([below, below + 1])
    chances = np.concatenate([masses * (1 - above), masses * above])
    found, which = np.unique(places, return_inverse=True)
    return found, np.bincount(which, weights=chances).astype(np.float64)


def _mean_above(places: Array, chances: Array, users: int, center: float) -> float:
    """At least E[(S)_+], S = users·center + the sum of `users` independent places.

    With chances tilted by e^(tilt·place) and M their sum, E[(S)_+] = M^users e^(tilt·users·center) times the
    sum over S of (tilted chance of S)·w(S), w(S) = S e^(-tilt·S) for S > 0, at most 1/(e·tilt).
    """
    tilt = _tilt(places, chances, center)
    weights = chances * np.exp(tilt * places)
    total = float(weights.sum())
    tilted = weights / total
    mean = float(tilted @ places)
    spread = math.sqrt(users * float(tilted @ (places - mean) ** 2))
    reach = REACH * spread + float(np.abs(places).max())
    cells = 1 << max(math.ceil(math.log2(2 * reach + 2)), LEAST_CELLS.bit_length() - 1)
    factor = np.zeros(cells)
    np.add.at(factor, places.astype(np.int64) % cells, tilted)
    convolved = convolution([(factor, users)])
    # the window is centered on the tilted mean; what leaves it on one side enters on the other
    first = round(users * mean) - cells // 2
    start = max(first, math.floor(-users * center) + 1)
    sums = np.arange(start, first + cells) + users * center
    masses = np.roll(convolved.masses, -(first % cells))[start - first :]
    weigh = sums * np.exp(-tilt * sums)
    # plain sums: the threads of a library would cost more than they save
    value, squared = (float(np.einsum("i,i->", each, weigh)) for each in (masses, weigh))
    peak = 1 / (math.e * tilt)
    missing = _tail(places - mean, tilted, users, cells / 2 - 1) * peak
    error = convolved.error * math.sqrt(squared)
    scale = math.exp(users * (math.log(total) + tilt * center))
    return scale * (value + missing + error) * (1 + 1e-9 + users * 1e-14)


def _tilt(places: Array, chances: Array, center: float) -> float:
    """The tilt at which the mean of place + center is 0, or a little more where it is 0 without any."""
    low, high = 1e-9, 1.0

    def mean(tilt: float) -> float:
        weights = chances * np.exp(tilt * (places - places.max()))
        return float(weights @ places) / float(weights.sum()) + center

    while mean(high) < 0 and high < 700:
        low, high = high, 2 * high
    while high - low > 1e-6 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if mean(middle) < 0 else (low, middle)
    return high


def _tail(moves: Array, chances: Array, users: int, distance: float) -> float:
    """Chernoff's bound for a sum of centered moves that is that far from 0 on the upper side."""
    variance = float(chances @ moves**2)
    if variance == 0.0:
        return 0.0
    found = 0.0
    for part in (0.25, 0.5, 0.75, 1.0):
        slope = part * min(distance / (users * variance), 50.0 / float(np.abs(moves).max()))
        found = min(found, users * math.log(float(chances @ np.exp(slope * moves))) - slope * distance)
    return math.exp(found)
