"""Every output of a design and its weight, by the words of its docs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from itertools import product

import numpy as np

from pbdp.mechanism.decoder import Decoder
from pbdp.mechanism.design import Design
from pbdp.mechanism.weights import TOTAL
from pbdp.noise.kernel import Index


def published(decoder: Decoder, noisy: Index) -> Index:
    """The map as its docstring says, for noisy parts."""
    start, stop = decoder.edges[0], decoder.edges[-1]
    listed = np.repeat(decoder.outputs, np.diff(decoder.edges))
    found = listed[np.clip(noisy - start, 0, stop - start - 1)]
    itself = (noisy < start) & (decoder.first is None) | (noisy >= stop) & (decoder.last is None)
    return np.where(itself, noisy // decoder.parts, found)


def law_of(design: Design, answer: int) -> Counter[int]:
    """The weight of each output step: every noise value, each of its parts, then clamping."""
    table, decoder = design.table_at(float(answer)), design.decoder
    parts = 1 if decoder is None else decoder.parts
    assert not np.any(table.weights % parts)
    if decoder is None:
        outputs = answer + table.values() + design.offset
    else:
        noisy = (answer + table.values())[:, None] * parts + np.arange(parts)
        outputs = published(decoder, noisy.reshape(-1))
    if design.clamp:
        low, high = (int(end) for end in design.region.answers)
        outputs = np.clip(outputs, low, high)
    found, where = np.unique(outputs, return_inverse=True)
    weights = np.zeros(len(found), dtype=np.int64)
    np.add.at(weights, where, np.repeat(table.weights // parts, parts))
    law = Counter(dict(zip(found.tolist(), weights.tolist(), strict=True)))
    assert law.total() == TOTAL
    return law


def lost(first: Sequence[Counter[int]], second: Sequence[Counter[int]], growth: Fraction) -> Fraction:
    """The hockey-stick of independent outputs: P - growth·Q over all combinations, where above 0."""
    total = 0
    for outputs in product(*first):
        one, two = 1, 1
        for law, other, output in zip(first, second, outputs, strict=True):
            one, two = one * law[output], two * other[output]
        total += max(0, one * growth.denominator - two * growth.numerator)
    return Fraction(total, growth.denominator * TOTAL ** len(first))
