"""One requirement with every epsilon that was found for it, side by side."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from reproduction.experiment import Row, Value, number
from reproduction.figures_2_and_3_accuracy.curves import EXACT, PUBLISHED
from reproduction.figures_2_and_3_accuracy.noise import BoostedGaussian
from reproduction.figures_2_and_3_accuracy.requirements import aligned_of, measure_in_words

KEY = (
    *("region", "sensitivity", "delta", "order", "width", "confidence", "theta", "spread", "reading"),
    "part",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """One requirement with every epsilon that was found for it, by kind."""

    rows: dict[str, Row]

    def __getitem__(self, name: str) -> Value:
        return next(iter(self.rows.values()))[name]

    def number(self, name: str) -> float:
        """A number that all rows share."""
        return number(next(iter(self.rows.values())), name)

    def has(self, *kinds: str) -> bool:
        """Whether all of these kinds were computed."""
        return all(kind in self.rows for kind in kinds)

    def epsilon(self, kind: str) -> float:
        """The epsilon of a kind: its upper value."""
        return number(self.rows[kind], "epsilon")

    def at_least(self, kind: str) -> float:
        """The lower value of an exact epsilon, which a pair of neighbors reaches."""
        return number(self.rows[kind], "epsilon_lower")

    def ratio(self, kind: str, other: str) -> float:
        """epsilon of a kind over that of another."""
        return self.epsilon(kind) / self.epsilon(other)

    @property
    def broken(self) -> bool:
        """Whether the published epsilon is no upper bound: a pair of neighbors exceeds it."""
        return self.at_least(EXACT) > self.epsilon(PUBLISHED) * (1 + 1e-9)

    @property
    def factor(self) -> float:
        """How many times the published epsilon the exact one is, at least."""
        return self.at_least(EXACT) / self.epsilon(PUBLISHED)

    def boosted(self, kind: str = EXACT) -> BoostedGaussian:
        """The boosted Gaussian of a kind."""
        row = self.rows[kind]
        return BoostedGaussian(
            aligned=aligned_of(row), sigma=number(row, "sigma"), boost=number(row, "boost")
        )

    @property
    def measure(self) -> str:
        """The measure in words."""
        return measure_in_words(self["delta"], self["order"])

    def where(self) -> str:
        """The requirement in words."""
        theta = f", θ = {self['theta']:g}" if self["region"] == "relative" else ""
        return (
            f"{self['region']}{theta}, Δ = {self['sensitivity']:g}, |S| = {self['width']:g}, "
            f"ρ = {self['confidence']:g}, {self.measure}"
        )


def compared(rows: Iterable[Row], part: str) -> list[Compared]:
    """The requirements of one part of an experiment, in order."""
    found: dict[tuple[Value, ...], dict[str, Row]] = {}
    for row in rows:
        if row["part"] == part:
            found.setdefault(tuple(row[name] for name in KEY), {})[str(row["kind"])] = row
    return [Compared(rows=kinds) for kinds in found.values()]


def spread_of(ratios: Sequence[float]) -> str:
    """The range of some ratios in words."""
    low, high = min(ratios), max(ratios)
    return f"{low:.3g}" if f"{low:.3g}" == f"{high:.3g}" else f"{low:.3g} to {high:.3g}"
