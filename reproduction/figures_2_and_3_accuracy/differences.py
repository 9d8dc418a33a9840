"""Findings on the published curves themselves: where they are no upper bounds, and where they are loose.

`Compared` is one requirement with every epsilon that was found for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from reproduction.experiment import Finding, Row, Value, having, number
from reproduction.figures_2_and_3_accuracy.curves import EXACT, MAIN, PUBLISHED, READ, VARIED, witness_of
from reproduction.figures_2_and_3_accuracy.requirements import REGIONS, aligned_of, measure_in_words

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


Points = Sequence[Compared]


def published_findings(rows: list[Row]) -> list[Finding]:
    """For each region whether the published curve is an upper bound; the worst pairs; how loose it is."""
    found: list[Finding] = []
    for region in REGIONS:
        points = having(compared(rows, MAIN), region=region)
        if points:
            found.append(_bound(region, points))
            found += _delta_bound(region, points)
            loose = [point for point in points if point.epsilon(PUBLISHED) > point.epsilon(EXACT)]
            if loose:
                found.append(_loose(region, loose, len(points)))
    return found + _varied(rows)


def _bound(region: str, points: Points) -> Finding:
    """Whether the published epsilon of a region is at least the exact one of the same mechanism."""
    broken = [point for point in points if point.broken]
    figures = {"points": float(len(points)), "not_upper_bounds": float(len(broken))}
    if not broken:
        return Finding(
            text=f"{region.capitalize()} region: as published, ε is an upper bound at all {len(points)} "
            "points.",
            figures=figures,
            holds=True,
        )
    worst = max(broken, key=lambda point: point.factor)
    text = (
        f"{region.capitalize()} region: as published, ε is not an upper bound at {len(broken)} of "
        f"{len(points)} points. The largest factor in ε is {worst.factor:.3g}: published "
        f"{worst.epsilon(PUBLISHED):.4g}, exact {worst.epsilon(EXACT):.4g} ({worst.where()})."
    )
    figures["largest_factor_in_epsilon"] = worst.factor
    return Finding(text=text, figures=figures, holds=False, check=_check(worst))


def _delta_bound(region: str, points: Points) -> list[Finding]:
    """The published epsilon whose delta is furthest off."""
    broken = [point for point in points if point["delta"] is not None and point.broken]
    if not broken:
        return []
    worst = max(broken, key=_delta_factor)
    return [
        Finding(
            text=f"{region.capitalize()} region, at a δ: the largest factor in δ is "
            f"{_delta_factor(worst):.3g}. At the published ε of {worst.epsilon(PUBLISHED):.4g} the mechanism "
            f"needs δ = {_witnessed(worst):.3g} ({worst.where()}).",
            figures={"largest_factor_in_delta": _delta_factor(worst)},
            holds=False,
            check=_check(worst),
        )
    ]


def _loose(region: str, loose: Points, total: int) -> Finding:
    worst = max(loose, key=lambda point: point.ratio(PUBLISHED, EXACT))
    ratio = worst.ratio(PUBLISHED, EXACT)
    return Finding(
        text=f"{region.capitalize()} region: at {len(loose)} of {total} points the published ε is larger "
        f"than the exact one of the same mechanism, by a factor of up to {ratio:.3g} ({worst.where()}: "
        f"published {worst.epsilon(PUBLISHED):.4g}, exact {worst.epsilon(EXACT):.4g}).",
        figures={"loose_points": float(len(loose)), "largest_ratio": ratio},
    )


def _varied(rows: list[Row]) -> list[Finding]:
    """The same with other readings of the formulas and with other values of what the paper leaves out."""
    found = []
    for reading in ("equation 6", "mended"):
        points = having(compared(rows, READ), reading=reading)
        if points:
            found.append(_again(f'With the formulas read as "{reading}"', points))
    points = [point for point in compared(rows, VARIED) if point["region"] != "fixed"]
    if points:
        thetas = sorted({p.number("theta") for p in points if p["theta"] is not None})
        widths = sorted({p.number("width") for p in points})
        where = f"θ = {_listed(thetas)}" if thetas else "Varied"
        found.append(_again(f"With other choices ({where}; |S| = {_listed(widths)})", points))
    return found


def _again(how: str, points: Points) -> Finding:
    parts: list[str] = []
    figures: dict[str, float] = {}
    for region in REGIONS:
        here = having(points, region=region)
        if not here:
            continue
        broken = [point for point in here if point.broken]
        most = max(point.factor for point in here)
        parts.append(
            f"{region}: below the exact ε at {len(broken)} of {len(here)} points, "
            f"exact/published {spread_of([point.factor for point in here])}"
        )
        figures |= {f"{region}_not_upper_bounds": float(len(broken)), f"{region}_largest_factor": most}
    broken_at_all = any(point.broken for point in points)
    return Finding(
        text=f"{how}, the published ε is {'no' if broken_at_all else 'an'} upper bound: "
        + "; ".join(parts)
        + ".",
        figures=figures,
        holds=not broken_at_all,
    )


def _witnessed(point: Compared) -> float:
    return number(point.rows[EXACT], "witnessed")


def _delta_factor(point: Compared) -> float:
    return _witnessed(point) / point.number("delta")


def _shows(point: Compared) -> bool:
    """Whether the set of outputs alone breaks the published bound (a Rényi figure may need all outputs)."""
    floor = point.epsilon(PUBLISHED) if point["delta"] is None else point.number("delta")
    return _witnessed(point) > floor


def _check(point: Compared) -> tuple[str, ...]:
    row = point.rows[EXACT]
    if not _shows(point):
        return ()
    return witness_of(row).check(aligned_of(row).measure, point.epsilon(PUBLISHED))


def _listed(values: Sequence[float]) -> str:
    return ", ".join(f"{value:g}" for value in values)
