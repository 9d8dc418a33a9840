"""The inputs of a measurement in OpenDP's terms, and what a distance between two of them says of answers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from opendp.mod import AtomDomain, Domain, Metric, VectorDomain

from pbdp.errors import InputError

WHOLE = ("i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "usize")
REAL = ("f32", "f64")
NORMS = {"L1Distance": 1, "L2Distance": 2, "LInfDistance": math.inf}


@dataclass(frozen=True, slots=True, kw_only=True)
class Space:
    """One number (`norm` None), or a vector of `size` numbers, None if any; `atom` is OpenDP's name for them.

    `norm` is the power in which the changes of the numbers add up: 1, 2 or infinity.
    """

    atom: str
    size: int | None = 1
    norm: float | None = None

    @property
    def is_vector(self) -> bool:
        """Whether inputs are vectors."""
        return self.norm is not None

    @property
    def is_whole(self) -> bool:
        """Whether the numbers are whole."""
        return self.atom in WHOLE

    def moved(self, distance: float) -> float:
        """The most that one number differs by in two inputs at this distance: in every norm, the distance."""
        return math.floor(distance) if self.is_whole else distance

    def changed(self, distance: float) -> float:
        """The most numbers that two inputs at this distance differ in.

        Whole numbers that differ do so by one at least: with d the distance, at most d of them (sum of
        absolute values) or d² of them (Euclidean).
        """
        most = math.inf if self.size is None else self.size
        if not self.is_whole or self.norm not in (1, 2):
            return most
        return min(most, math.floor(Fraction(distance) ** int(self.norm)))


def space_of(input_domain: Domain, input_metric: Metric) -> Space:
    """The space of a domain and a metric; refused where a distance says nothing of the numbers."""
    name = str(input_metric.type).rpartition("::")[2].partition("<")[0]
    match input_domain:
        case AtomDomain() if name == "AbsoluteDistance":
            return Space(atom=_atom(input_domain))
        case VectorDomain() if name in NORMS:
            atom = _atom(input_domain.element_domain)
            return Space(atom=atom, size=input_domain.size, norm=NORMS[name])
    raise InputError(
        "input space",
        "numbers with absolute_distance, or vectors of them with l1_distance, l2_distance or linf_distance",
        f"{input_domain} with {input_metric}",
        "Put the transformation before it that ends in such numbers: a count, a sum, counts by category.",
    )


def _atom(domain: Domain) -> str:
    atom = str(domain.carrier_type)
    if not isinstance(domain, AtomDomain) or atom not in WHOLE + REAL:
        raise InputError("input_domain", "of numbers", f"{domain}")
    if atom in REAL and domain.nan:
        raise InputError(
            "input_domain",
            "free of NaN",
            f"{domain}",
            "Say nan=False, or replace them before: a release that fails on them would tell of them.",
        )
    return atom
