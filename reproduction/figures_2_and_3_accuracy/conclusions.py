"""Findings on what the paper concludes from Figures 2 and 3, and on what else meets the same requirement."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from statistics import median

from reproduction.experiment import Finding, Row, having, number
from reproduction.figures_2_and_3_accuracy.curves import ANY_KERNEL, BEST, EXACT, MAIN, PUBLISHED, VARIED
from reproduction.figures_2_and_3_accuracy.differences import Compared, compared, spread_of
from reproduction.figures_2_and_3_accuracy.requirements import THETA

Points = Sequence[Compared]
PLAIN = "plain gaussian"
TIE = 1 + 1e-6


def conclusion_findings(rows: list[Row]) -> list[Finding]:
    """Each conclusion of the paper that the rows can speak of."""
    points = compared(rows, MAIN)
    moving = [point for point in points if point["region"] != "fixed" and point.has(BEST, PLAIN)]
    found: list[Finding] = []
    for region in ("absolute", "relative"):
        here = having(moving, region=region)
        if here:
            found.append(_boosting_pays(region, here))
    absolute = having(moving, region="absolute")
    if absolute:
        found += _sensitivity(absolute) + _stringency(absolute) + _steepness(absolute)
        found += _alternatives(absolute)
    return found + _relative_is_met_by_absolute(moving) + _fixed(points) + _log_scale(rows)


def _boosting_pays(region: str, points: Points) -> Finding:
    """Whether boosting needs less epsilon than the plain Gaussian, accounted exactly."""
    gains = [point.ratio(PLAIN, BEST) for point in points]
    worse = [point for point in points if point.at_least(EXACT) > point.epsilon(PLAIN) * TIE]
    pays = sum(gain > TIE for gain in gains)
    text = (
        f"{region.capitalize()} error, boosted against plain Gaussian: with σ chosen by exact accounting, "
        f"boosting needs less ε at {pays} of {len(points)} points (plain/boosted {spread_of(gains)}, median "
        f"{median(gains):.3g}). "
    )
    if worse:
        most = max(worse, key=lambda point: point.ratio(EXACT, PLAIN))
        text += (
            f"With the σ that the published formulas choose, it needs more than the plain Gaussian at "
            f"{len(worse)} points, up to {most.ratio(EXACT, PLAIN):.3g} times as much ({most.where()})."
        )
    else:
        text += "So does the σ that the published formulas choose, at every point."
    return Finding(
        text=text,
        figures={
            "points": float(len(points)),
            "boosting_pays": float(pays),
            "largest_gain": max(gains),
            "median_gain": median(gains),
            "published_choice_worse_than_plain": float(len(worse)),
        },
        holds=pays == len(points) and not worse,
    )


def _sensitivity(points: Points) -> list[Finding]:
    """The gap to the plain Gaussian widens with the sensitivity."""
    medians = {
        sensitivity: median([p.ratio(PLAIN, BEST) for p in points if p["sensitivity"] == sensitivity])
        for sensitivity in sorted({p.number("sensitivity") for p in points})
    }
    if len(medians) < 2:
        return []
    low, high = min(medians), max(medians)
    return [
        Finding(
            text="The gap to the plain Gaussian widens with the sensitivity (absolute error, exact "
            "accounting): median of plain/boosted "
            + ", ".join(f"{ratio:.3g} at Δ = {s:g}" for s, ratio in medians.items())
            + ".",
            figures={f"median_gain_at_{s:g}": ratio for s, ratio in medians.items()},
            holds=medians[high] > medians[low],
        )
    ]


def _stringency(points: Points) -> list[Finding]:
    """The reduction is larger for a smaller delta and for a larger order."""
    medians: dict[str, float] = {}
    for point in points:
        medians.setdefault(
            point.measure,
            median([p.ratio(PLAIN, BEST) for p in points if p.measure == point.measure]),
        )
    deltas = [ratio for name, ratio in medians.items() if name.startswith("δ")]
    orders = [ratio for name, ratio in medians.items() if not name.startswith("δ")]
    if len(deltas) < 2 and len(orders) < 2:
        return []
    return [
        Finding(
            text="Under a stricter measure (smaller δ, larger α) boosting saves more (absolute error, exact "
            "accounting): median of plain/boosted "
            + ", ".join(f"{ratio:.3g} at {name}" for name, ratio in medians.items())
            + ".",
            figures={f"median_gain {name}": ratio for name, ratio in medians.items()},
            holds=deltas == sorted(deltas) and orders == sorted(orders),
        )
    ]


def _steepness(points: Points) -> list[Finding]:
    """epsilon rises less with the confidence than that of the plain Gaussian."""
    confidences = sorted({p.number("confidence") for p in points if p["sensitivity"] == 1.0})
    if len(confidences) < 3:
        return []
    first, last = confidences[0], confidences[-1]
    rises: dict[str, list[float]] = {PLAIN: [], BEST: []}
    for kind, ratios in rises.items():
        for low in having(points, confidence=first):
            same = ("sensitivity", "delta", "order", "width")
            high = having(points, confidence=last, **{name: low[name] for name in same})
            ratios += [point.epsilon(kind) / low.epsilon(kind) for point in high]
    if not rises[BEST]:
        return []
    less = sum(a < b for a, b in zip(rises[BEST], rises[PLAIN], strict=True))
    return [
        Finding(
            text=f"From ρ = {first:g} to {last:g} the plain Gaussian's ε grows by a factor of "
            f"{spread_of(rises[PLAIN])}, the boosted one's by {spread_of(rises[BEST])} (absolute error, "
            f"exact accounting); it grows less in {less} of {len(rises[BEST])} cases.",
            figures={
                "largest_rise_plain": max(rises[PLAIN]),
                "largest_rise_boosted": max(rises[BEST]),
                "grows_less": float(less),
            },
            holds=less == len(rises[BEST]),
        )
    ]


def _alternatives(points: Points) -> list[Finding]:
    """What Laplace, the staircase and the planner need for the same requirement, and the limit."""
    found = []
    known = [p for p in points if p.has("plain laplace", "staircase", "planner")]
    for measure, here in (
        ("at a δ", [p for p in known if p["delta"] is not None]),
        ("in Rényi measure", [p for p in known if p["delta"] is None]),
    ):
        if not here:
            continue
        ratios = {
            kind: [p.ratio(BEST, kind) for p in here] for kind in ("plain laplace", "staircase", "planner")
        }
        families = Counter(str(p.rows["planner"]["family"]) for p in here)
        figures = {f"least boosted/{kind}": min(values) for kind, values in ratios.items()}
        figures |= {f"most boosted/{kind}": max(values) for kind, values in ratios.items()}
        found.append(
            Finding(
                text=f"The same requirement (absolute error, {measure}): the best boosted Gaussian needs "
                + "; ".join(
                    f"{spread_of(values)} times the ε of {_NAMES[kind]}" for kind, values in ratios.items()
                )
                + ". The planner chooses "
                + ", ".join(f"{name} ({count})" for name, count in families.most_common())
                + ".",
                figures=figures,
            )
        )
    limited = [p for p in points if p.has("limit", "planner")]
    if limited:
        over = [p.ratio("planner", "limit") for p in limited]
        best = [p.ratio(BEST, "limit") for p in limited]
        found.append(
            Finding(
                text="No mechanism at all can do with less than the proved limit (absolute error at a δ, "
                f"real answers). The planner's choice is {100 * (max(over) - 1):.2g} % above it at most, the "
                f"best boosted Gaussian {spread_of(best)} times it.",
                figures={"largest planner/limit": max(over), "least boosted/limit": min(best)},
            )
        )
    return found


_NAMES = {
    "plain laplace": "plain Laplace noise",
    "staircase": "the staircase",
    "planner": "the planner's choice",
}


def _relative_is_met_by_absolute(points: Points) -> list[Finding]:
    """Noise boosted in the smallest region meets a relative requirement too, and costs less."""
    same = ("sensitivity", "delta", "order", "width", "confidence")
    pairs = [
        (point, other)
        for point in having(points, region="relative")
        for other in having(points, region="absolute", **{name: point[name] for name in same})
    ]
    if not pairs:
        return []
    ratios = [one.epsilon(BEST) / two.epsilon(BEST) for one, two in pairs]
    dearer = sum(ratio > TIE for ratio in ratios)
    return [
        Finding(
            text="A relative region only grows with the answer, so noise boosted within ±τ of every answer "
            "meets the relative requirement too. Noise boosted in each answer's own region needs more at "
            f"{dearer} of {len(ratios)} points: {spread_of(ratios)} times the ε (exact accounting, best σ "
            "each). Regions that change with the answer tell neighbors apart far from zero, where their "
            "edges move by (1 ± θ)Δ.",
            figures={
                "least_ratio": min(ratios),
                "largest_ratio": max(ratios),
                "needs_more": float(dearer),
            },
        )
    ]


def _fixed(points: Points) -> list[Finding]:
    """A fixed range alone is degenerate; with a kernel given there are better ways than boosting."""
    here = [p for p in having(points, region="fixed") if p.has("clamped", "truncated", ANY_KERNEL)]
    if not here:
        return []
    free = max(here, key=lambda point: point.ratio(PUBLISHED, ANY_KERNEL))
    against = {kind: [p.epsilon(EXACT) / p.epsilon(kind) for p in here] for kind in ("clamped", "truncated")}
    wins = {kind: sum(p.epsilon(EXACT) < p.at_least(kind) for p in here) for kind in against}
    return [
        Finding(
            text="A fixed range alone asks for nothing: a constant inside it meets it at ε = 0, and clamping "
            "meets it with any noise. The published ε falls with the kernel's width without end: from "
            f"{free.epsilon(PUBLISHED):.4g} to {free.epsilon(ANY_KERNEL):.4g} when σ may grow to "
            f"{number(free.rows[ANY_KERNEL], 'sigma'):.4g} ({free.where()}). So the kernel's scale is "
            "given here: that of the plain Gaussian which keeps the confidence from the middle of the range.",
            figures={"largest_fall": free.ratio(PUBLISHED, ANY_KERNEL)},
        ),
        Finding(
            text=f"With the same kernel on the same range, exactly accounted, boosting needs "
            f"{spread_of(against['clamped'])} times the ε of clamping and {spread_of(against['truncated'])} "
            f"times that of truncation; it needs less than clamping at {wins['clamped']} and less than "
            f"truncation at {wins['truncated']} of {len(here)} points. Clamping and truncation keep every "
            "output inside; boosting keeps a share ρ.",
            figures={
                "largest boosted/clamped": max(against["clamped"]),
                "largest boosted/truncated": max(against["truncated"]),
                "better_than_clamped": float(wins["clamped"]),
                "better_than_truncated": float(wins["truncated"]),
            },
        ),
    ]


def _log_scale(rows: list[Row]) -> list[Finding]:
    """With a large relative part the planner's noise on a log scale comes in."""
    others = [p for p in having(compared(rows, VARIED), region="relative") if p["theta"] != THETA]
    here = [p for p in others if p.has("planner", BEST)]
    if not here:
        return []
    ratios = [p.ratio(BEST, "planner") for p in here]
    logs = sum("log scale" in str(p.rows["planner"]["family"]) for p in here)
    thetas = ", ".join(f"{t:g}" for t in sorted({p.number("theta") for p in here}))
    return [
        Finding(
            text=f"With other relative parts (θ = {thetas}) the best boosted Gaussian needs "
            f"{spread_of(ratios)} times the ε of the planner's choice, which is noise on a log scale at "
            f"{logs} of {len(here)} points.",
            figures={"least_ratio": min(ratios), "largest_ratio": max(ratios), "log_scale": float(logs)},
        )
    ]
