"""Domains and mechanisms that the tests go through, and their matrices by brute force."""

from __future__ import annotations

from functools import cache
from itertools import pairwise, product

import numpy as np
import numpy.typing as npt

from pbdp.local import Domain, in_blocks, in_categories, on_scale, without_categories
from pbdp.local.boosted_response import BoostedResponse, boosted_response
from pbdp.local.domain import CategoryDomain

DOMAINS: dict[str, Domain] = {
    "equal": in_blocks(range(90), 10),
    "ages": in_blocks(range(10, 101), 10),
    "words": in_categories({"fruit": ["apple", "fig", "pear"], "root": ["beet"], "leaf": ["kale", "chard"]}),
    "alternating": in_categories([[1, 2], [3, 4, 5, 6], [7, 8], [9], [10, 11, 12, 13]]),
    "many sizes": in_categories([[*range(10 * k, 10 * k + k)] for k in range(1, 7)]),
    "plain": without_categories(range(7)),
    "line": on_scale(range(1, 11), 3),
    "short line": on_scale(range(1, 5), 3),
    "wide line": on_scale(["--", "-", "o", "+", "++", "+++"], 5),
    "ring": on_scale(range(12), 5, ring=True),
}
EPSILONS = (0.01, 1.0, 5.0, 15.0)
PARTS = (0.0, 0.3, 1.0)

SETUPS = [(name, epsilon, epsilon * part) for name, epsilon, part in product(DOMAINS, EPSILONS, PARTS)]


@cache
def response(setup: tuple[str, float, float]) -> BoostedResponse:
    name, epsilon, epsilon0 = setup
    return boosted_response(DOMAINS[name], epsilon, epsilon0)


def is_near(domain: Domain, name: str, x: int, y: int) -> bool:
    """Whether values number x and y belong together, from the definitions and not from the runs."""
    n = domain.count
    if isinstance(domain, CategoryDomain):
        edges = [sum(domain.sizes[:k]) for k in range(len(domain.sizes) + 1)]
        return any(low <= x < high and low <= y < high for low, high in pairwise(edges))
    half = {"line": 1, "short line": 1, "wide line": 2, "ring": 2}[name]
    if name == "ring":
        return min((x - y) % n, (y - x) % n) <= half
    center = min(max(x, half), n - 1 - half)
    return abs(center - y) <= half


@cache
def weight_matrix(mechanism: BoostedResponse, name: str) -> list[list[int]]:
    """Weights of report y (column) for value x (row), by brute force from the configuration's three lists."""
    domain, law = mechanism.domain, mechanism.law

    def part(code: int) -> int:
        return int(domain.category_of[code]) if isinstance(domain, CategoryDomain) else 0

    def weight(x: int, y: int) -> int:
        if x == y:
            return law.own[part(y)]
        return law.near[part(y)] if is_near(domain, name, x, y) else law.far[part(y)]

    return [[weight(x, y) for y in range(domain.count)] for x in range(domain.count)]


def matrix(mechanism: BoostedResponse, name: str) -> npt.NDArray[np.float64]:
    return np.array(weight_matrix(mechanism, name), dtype=np.float64) / 2.0**62


def some_truth(domain: Domain, users: int, seed: int = 3) -> npt.NDArray[np.int64]:
    """Codes of users, with a falling histogram and some values that nobody holds."""
    generator = np.random.default_rng(seed)
    share = generator.dirichlet(np.full(domain.count, 0.7))
    return generator.choice(domain.count, size=users, p=share)
