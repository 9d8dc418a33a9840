"""Every output of a design and its weight, one noise value after the other, by the words of its docs."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from itertools import product

from pbdp.mechanism.decoder import Decoder
from pbdp.mechanism.design import Design
from pbdp.mechanism.weights import TOTAL


def published(decoder: Decoder, noisy: int) -> int:
    """The map as its docstring says, for one noisy part."""
    if decoder.edges[0] <= noisy < decoder.edges[-1]:
        return decoder.outputs[bisect_right(decoder.edges, noisy) - 1]
    below = noisy < decoder.edges[0]
    if (decoder.first if below else decoder.last) is None:
        return noisy // decoder.parts
    return decoder.outputs[0 if below else -1]


def law_of(design: Design, answer: int) -> Counter[int]:
    """The weight of each output step: every noise value, each of its parts, then clamping."""
    table, decoder, found = design.table_at(float(answer)), design.decoder, Counter[int]()
    parts = 1 if decoder is None else decoder.parts
    assert all(weight % parts == 0 for weight in table.weights.tolist())
    for noise, weight in zip(table.values().tolist(), table.weights.tolist(), strict=True):
        for part in range(parts):
            if decoder is not None:
                output = published(decoder, (answer + noise) * parts + part)
            else:
                output = answer + noise + design.offset
            if design.clamp:
                low, high = (int(end) for end in design.region.answers)
                output = min(max(output, low), high)
            found[output] += weight // parts
    assert found.total() == TOTAL
    return found


def lost(first: Sequence[Counter[int]], second: Sequence[Counter[int]], growth: Fraction) -> Fraction:
    """The hockey-stick of independent outputs: P - growth·Q over all combinations, where above 0."""
    total = Fraction(0)
    for outputs in product(*first):
        one, two = 1, 1
        for law, other, output in zip(first, second, outputs, strict=True):
            one, two = one * law[output], two * other[output]
        if one > growth * two:
            total += one - growth * two
    return total / Fraction(TOTAL ** len(first))
