"""Channels by brute force: P(report | value) of every member, exactly, from its JSON configuration alone.

Reports are whatever can be told apart: values, sets, bits, hashes with their coefficients. Keys and
coefficients are taken as uniform. Written from the texts that specify the members, not from their code.
"""

from __future__ import annotations

import json
from fractions import Fraction
from itertools import combinations, product
from math import comb, lcm
from typing import Any

import numpy as np
import numpy.typing as npt

from pbdp.local import LocalMechanism, in_blocks, in_categories, on_scale, region_of, without_categories
from pbdp.local.boosted_response import boosted_response
from pbdp.local.center_response import center_response
from pbdp.local.configuration import configuration
from pbdp.local.local_hashing import local_hashing
from pbdp.local.mean_response import mean_response
from pbdp.local.square_wave import square_wave
from pbdp.local.subset_selection import subset_selection
from pbdp.local.user_split import user_split

Row = dict[Any, Fraction]
TOTAL = Fraction(2**62)

EQUAL, UNEQUAL = in_blocks(range(6), 3), in_categories([[0, 1, 2], [3], [4, 5, 6, 7]])
LINE, RING = on_scale(range(6), 3), on_scale(range(7), 3, ring=True)
FOUR, SEVEN = without_categories(range(4)), without_categories(range(7))

MEMBERS: dict[str, LocalMechanism] = {
    "boosted, equal": boosted_response(EQUAL, 1.5, 0.7),
    "boosted, unequal": boosted_response(UNEQUAL, 1.5, 0.7),
    "boosted, line": boosted_response(LINE, 1.5, 0.7),
    "boosted, ring": boosted_response(RING, 1.5, 0.7),
    "plain": boosted_response(FOUR, 1.0, 1.0),
    "centers": center_response(SEVEN, region_of(SEVEN, 1), 1.0),
    "hashing": local_hashing(FOUR, 1.0),
    "subsets": subset_selection(SEVEN, 1.0),
    "subsets of two": subset_selection(UNEQUAL, 0.5, 2),
    "subsets of a line": subset_selection(LINE, 1.0, 2),
    "in categories": subset_selection(EQUAL, 2.0, 2, by_category=True),
    "in unequal categories": subset_selection(UNEQUAL, 2.0, 3, by_category=True),
    "whole categories": subset_selection(EQUAL, 2.0, 3, by_category=True),
    "split": user_split(UNEQUAL, 1.0, 0.4),
    "split, categories only": user_split(UNEQUAL, 1.0, 1.0),
    "wave": square_wave(SEVEN, 1.0),
    "wave on gaps": square_wave(without_categories([1, 2, 5, 9]), 2.0),
    "mean": mean_response(SEVEN, 1.0),
    "mean, one bit": mean_response(SEVEN, 0.3),
    "mean, steps": mean_response(without_categories([10, 30, 70]), 3.0),
}


def channel(mechanism: LocalMechanism) -> list[Row]:
    """For each value, how likely each report is."""
    record = json.loads(json.dumps(configuration(mechanism)))
    values, given = record["domain"]["values"], record["parameters"]
    make = {
        "boosted response": _boosted,
        "response on centers": _centers,
        "local hashing": _hashing,
        "subset selection": _sets,
        "user splitting": _split,
        "square wave": _wave,
        "mean response": _mean,
    }[record["mechanism"]]
    return [make(record["domain"], given, x) for x in range(len(values))]


def matrix(mechanism: LocalMechanism) -> tuple[npt.NDArray[np.float64], list[Any]]:
    """The channel as numbers, a column for each report, and the reports."""
    rows = channel(mechanism)
    reports = sorted({report for row in rows for report in row}, key=repr)
    return np.array([[float(row.get(report, 0)) for report in reports] for row in rows]), reports


def _block(domain: dict[str, Any], x: int) -> tuple[int, range]:
    """The number and the values of x's category."""
    first = 0
    for number, size in enumerate(domain["categories"]["sizes"]):
        if x < first + size:
            return number, range(first, first + size)
        first += size
    raise AssertionError(x)


def _boosted(domain: dict[str, Any], given: dict[str, Any], x: int) -> Row:
    count = len(domain["values"])
    own, near, far = ([Fraction(int(w)) / TOTAL for w in given[key]] for key in ("own", "near", "far"))
    if "scale" in domain:
        width = domain["scale"]["width"]
        start = x - width // 2
        if not domain["scale"]["ring"]:
            start = max(0, min(start, count - width))
        around = {(start + k) % count for k in range(width)}
        part = [0] * count
    else:
        around = set(_block(domain, x)[1])
        part = [_block(domain, y)[0] for y in range(count)]
    return {
        domain["values"][y]: own[part[y]] if y == x else near[part[y]] if y in around else far[part[y]]
        for y in range(count)
    }


def _centers(domain: dict[str, Any], given: dict[str, Any], x: int) -> Row:
    far, m = Fraction(int(given["far"])) / TOTAL, len(given["centers"])
    mine = _block(domain, x)[0]
    return {c: 1 - (m - 1) * far if j == mine else far for j, c in enumerate(given["centers"])}


def _hashing(domain: dict[str, Any], given: dict[str, Any], x: int) -> Row:
    g, digits, other = given["g"], given["digits"], Fraction(int(given["other"])) / TOTAL
    assert g**digits >= len(domain["values"])
    row: Row = {}
    for a in product(range(g), repeat=digits):
        hashed = sum(c * (x // g**i % g) for i, c in enumerate(a)) % g
        for r in range(g):
            row[*a, r] = (1 - (g - 1) * other if r == hashed else other) / g**digits
    return row


def _sets(domain: dict[str, Any], given: dict[str, Any], x: int) -> Row:
    sizes, other = given["sizes"], [int(w) for w in given["other"]]
    blocks: list[range] = [range(len(domain["values"]))]
    if len(sizes) > 1:
        blocks = list({_block(domain, v)[0]: _block(domain, v)[1] for v in blocks[0]}.values())
    base = sum(len(block) * w for block, w in zip(blocks, other, strict=True))
    boost = (2**62 - base) // lcm(*sizes) * lcm(*sizes)
    left = 2**62 - base - boost
    row: Row = {}
    for number, (block, d, w) in enumerate(zip(blocks, sizes, other, strict=True)):
        n = len(block)
        for held in combinations(block, d):
            chance = Fraction(n * w, comb(n, d))
            # what is left over of 2^62 is the very first start: any set of the first block
            chance += Fraction(left, comb(n, d)) if number == 0 else 0
            chance += Fraction(boost, comb(n - 1, d - 1)) if x in held else 0
            row[held] = chance / TOTAL
    return row


def _split(domain: dict[str, Any], given: dict[str, Any], x: int) -> Row:
    share = Fraction(int(given["share"])) / TOTAL
    numbers = {"values": list(range(len(domain["categories"]["sizes"])))}
    row = {("c", *r): share * p for r, p in _sets(numbers, given["category"], _block(domain, x)[0]).items()}
    if given["value"] is not None:
        row |= {("v", *r): (1 - share) * p for r, p in _sets(domain, given["value"], x).items()}
    return row


def _window(given: dict[str, Any], places: int, x: int) -> Row:
    half, near, far = given["half"], int(given["near"]), int(given["far"])
    row = {y: Fraction(near if x <= y <= x + 2 * half else far) / TOTAL for y in range(places + 2 * half)}
    row[0] += 1 - sum(row.values())
    return row


def _wave(domain: dict[str, Any], given: dict[str, Any], x: int) -> Row:
    shift = given["first"] - given["half"]
    return {y + shift: p for y, p in _window(given, len(domain["values"]), x).items()}


def _mean(domain: dict[str, Any], given: dict[str, Any], x: int) -> Row:
    t = (domain["values"][x] - given["low"]) // given["step"]
    places = (max(domain["values"]) - given["low"]) // given["step"] + 1
    share = Fraction(int(given["share"])) / TOTAL
    one = Fraction(int(given["least"]) + t * int(given["slope"])) / TOTAL
    row = {0: (1 - share) * (1 - one), 1: (1 - share) * one}
    row |= {2 + y: share * p for y, p in _window(given, places, t).items()}
    return {report: p for report, p in row.items() if p}
