"""Findings on Figure 6: the published totals of T releases, what boosting saves, and what else there is."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from reproduction.accuracy.compared import spread_of
from reproduction.accuracy.curves import BEST, EXACT, MAIN, PUBLISHED, VARIED
from reproduction.accuracy.requirements import aligned_of, measure_in_words
from reproduction.accuracy.violation import pair_at
from reproduction.experiment import Finding, Row
from reproduction.many_releases.composed_violation import piece_loss

PLAIN = "plain gaussian"
Totals = dict[int, dict[str, Row]]


def composition_findings(rows: list[Row]) -> list[Finding]:
    """Whether the published totals are upper bounds, what boosting saves, and what else there is."""
    found: list[Finding] = []
    for width in sorted({float(str(row["width"])) for row in rows}):
        for delta, order in dict.fromkeys((row["delta"], row["order"]) for row in rows):
            here = [
                row
                for row in rows
                if row["width"] == width and (row["delta"], row["order"]) == (delta, order)
            ]
            where = f"{measure_in_words(delta, order)}, within {width / 2:g}"
            found += _bound(where, _totals(here, "absolute", MAIN))
            if delta is not None:
                for region in ("relative", "fixed"):
                    found += _bound(f"{region} region, {where}", _totals(here, region, MAIN))
                suited = _totals(here, "absolute", VARIED)
                found += _bound(f"{where}, σ chosen for T by the published formula", suited)
            found += _against_plain(where, _totals(here, "absolute", MAIN))
            found += _against_others(where, _totals(here, "absolute", MAIN))
    return found + _stringency(rows)


def _sentence(text: str) -> str:
    """A capital at the start, but never of a symbol: δ and Δ are not the same."""
    return text[0].upper() + text[1:] if text[0].isascii() else text


def _check(releases: int, kinds: dict[str, Row]) -> tuple[str, ...]:
    """The arithmetic that shows the published total too small, for absolute error at a delta."""
    row = kinds[EXACT]
    if row["region"] != "absolute" or row["delta"] is None:
        return ()
    pair = pair_at(
        aligned_of(row).preferred,
        sigma=float(str(row["sigma"])),
        boost=float(str(row["boost"])),
        answer=0.0,
        other=float(str(row["sensitivity"])),
    )
    return piece_loss(pair).check(_epsilon(kinds[PUBLISHED]), float(str(row["delta"])), releases)


def _totals(rows: Sequence[Row], region: str, part: str) -> Totals:
    """The rows of one curve by number of releases and kind."""
    totals: Totals = {}
    for row in rows:
        if row["region"] == region and row["part"] == part:
            totals.setdefault(int(str(row["releases"])), {})[str(row["kind"])] = row
    return totals


def _bound(where: str, totals: Totals) -> list[Finding]:
    """Whether the published total is at least the exact one."""
    factors = {T: _lower(kinds[EXACT]) / _epsilon(kinds[PUBLISHED]) for T, kinds in totals.items()}
    if not factors:
        return []
    broken = [T for T, factor in factors.items() if factor > 1 + 1e-9]
    worst = max(factors, key=lambda T: factors[T])
    figures = {
        "points": float(len(factors)),
        "not_upper_bounds": float(len(broken)),
        "largest exact/published": factors[worst],
        "least exact/published": min(factors.values()),
    }
    proved = all(kinds[EXACT]["epsilon"] is not None for kinds in totals.values())
    if not broken:
        what = (
            "the exact composition" if proved else "the composition of any pair of neighbors that was tried"
        )
        text = (
            f"{where}: as published, the total ε is not below that of {what} at any of {len(factors)} T; "
            f"exact/published {spread_of(list(factors.values()))}."
        )
    else:
        kinds = totals[worst]
        text = (
            f"{where}: as published, the total ε is not an upper bound at {len(broken)} of {len(factors)} T "
            f"(T = {min(broken)} to {max(broken)}). The largest factor is {factors[worst]:.3g} at T = "
            f"{worst}: published {_epsilon(kinds[PUBLISHED]):.4g}, exact at least "
            f"{_lower(kinds[EXACT]):.4g}; over all T exact/published is {spread_of(list(factors.values()))}."
        )
    check = _check(worst, totals[worst]) if broken else ()
    holds = False if broken else True if proved else None
    return [Finding(text=_sentence(text), figures=figures, holds=holds, check=check)]


def _against_plain(where: str, totals: Totals) -> list[Finding]:
    """What boosting saves against the plain Gaussian after composition."""
    if not totals:
        return []
    saved = {
        kind: {T: 1 - _epsilon(kinds[kind]) / _epsilon(kinds[PLAIN]) for T, kinds in totals.items()}
        for kind in (PUBLISHED, EXACT, BEST)
    }
    first, last = min(totals), max(totals)
    words = {PUBLISHED: "as published", EXACT: "exactly", BEST: "with the best σ"}
    text = f"{where}: against the plain Gaussian boosting saves " + "; ".join(
        f"{words[kind]} {100 * values[first]:.3g} % of ε at T = {first} and {100 * values[last]:.3g} % at "
        f"T = {last}"
        for kind, values in saved.items()
    )
    worse = [T for T, value in saved[EXACT].items() if value < 0]
    text += "."
    if worse:
        text += (
            f" At {len(worse)} of {len(totals)} T the published choice needs more than the plain Gaussian."
        )
    figures = {f"saved at {T} {words[kind]}": saved[kind][T] for kind in saved for T in (first, last)}
    return [Finding(text=_sentence(text), figures=figures, holds=not worse)]


def _stringency(rows: list[Row]) -> list[Finding]:
    """Whether boosting saves more at the larger Rényi order, exactly accounted with the best σ."""
    saved: dict[float, dict[float, float]] = {}
    for row in rows:
        if row["order"] is not None and row["releases"] == 1 and row["kind"] in {PLAIN, BEST}:
            here = saved.setdefault(float(str(row["width"])), {})
            order, sign = float(str(row["order"])), 1 if row["kind"] == PLAIN else -1
            here[order] = here.get(order, 0.0) + sign * math.log(_epsilon(row))
    ratios = {
        width: [math.exp(gain) for _, gain in sorted(orders.items())]
        for width, orders in saved.items()
        if len(orders) > 1
    }
    if not ratios:
        return []
    return [
        Finding(
            text="In Rényi measure boosting saves more at the larger order (exact accounting, best σ; the "
            "same for every T): plain/boosted "
            + "; ".join(
                f"{' and '.join(f'{ratio:.3g}' for ratio in found)} at α = 2 and 20, within {width / 2:g}"
                for width, found in ratios.items()
            )
            + ".",
            figures={f"within {width / 2:g}": found[-1] / found[0] for width, found in ratios.items()},
            holds=all(found[-1] > found[0] for found in ratios.values()),
        )
    ]


def _against_others(where: str, totals: Totals) -> list[Finding]:
    """Laplace noise, the planner's choice and the limit for T releases."""
    if not totals:
        return []
    better = [T for T, kinds in totals.items() if _epsilon(kinds["plain laplace"]) < _epsilon(kinds[BEST])]
    over = {T: _epsilon(kinds[BEST]) / _epsilon(kinds["planner"]) for T, kinds in totals.items()}
    families = Counter(str(kinds["planner"]["family"]) for kinds in totals.values())
    text = (
        f"{where}: plain Laplace noise needs less than the best boosted Gaussian at {len(better)} of "
        f"{len(totals)} T"
        + (f" (up to T = {max(better)})" if better else "")
        + "; the best boosted Gaussian "
        f"needs {spread_of(list(over.values()))} times the ε of the planner's choice, which is "
        + ", ".join(f"{name} ({count})" for name, count in families.most_common())
        + "."
    )
    figures = {"laplace_better": float(len(better)), "largest boosted/planner": max(over.values())}
    limited = [kinds for kinds in totals.values() if "limit" in kinds]
    if limited:
        ratios = [_epsilon(kinds["planner"]) / _epsilon(kinds["limit"]) for kinds in limited]
        text += (
            f" The planner is at {spread_of(ratios)} times the proved limit, which for several releases is "
            "far from tight."
        )
        figures["largest planner/limit"] = max(ratios)
    return [Finding(text=_sentence(text), figures=figures)]


def _epsilon(row: Row) -> float:
    return float(str(row["epsilon"]))


def _lower(row: Row) -> float:
    return float(str(row["epsilon_lower"]))
