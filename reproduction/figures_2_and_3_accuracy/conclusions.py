"""Findings on what the paper concludes from Figures 2 and 3, and on what else meets the same requirement."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from statistics import median

from reproduction.experiment import Cause, Finding, Row, Value, having, judged, number
from reproduction.figures_2_and_3_accuracy.compared import Compared, compared, spread_of
from reproduction.figures_2_and_3_accuracy.curves import ANY_KERNEL, BEST, EXACT, MAIN, PUBLISHED, VARIED
from reproduction.figures_2_and_3_accuracy.requirements import THETA, aligned_of
from reproduction.figures_2_and_3_accuracy.verdicts import PLAIN, TIE, above_lines, plain_lines

Points = Sequence[Compared]
# What the points of a curve against the confidence share.
ALONG = ("sensitivity", "delta", "order", "width")


def conclusion_findings(rows: list[Row]) -> list[Finding]:
    """Each conclusion of the paper that the rows can speak of."""
    points = compared(rows, MAIN)
    moving = [point for point in points if point["region"] != "fixed" and point.has(BEST, PLAIN)]
    found: list[Finding] = []
    absolute = having(moving, region="absolute")
    if absolute:
        found += _sensitivity(absolute) + _stringency(absolute) + _steepness(absolute)
        found += _alternatives(absolute)
    return found + _relative_is_met_by_absolute(moving) + _fixed(points) + _log_scale(rows)


def _saved(point: Compared) -> float:
    """How much less epsilon the best boosted Gaussian needs than the plain one."""
    return point.epsilon(PLAIN) - point.epsilon(BEST)


def _sensitivity(points: Points) -> list[Finding]:
    """The gap to the plain Gaussian widens with the sensitivity, under each measure."""
    ordered = {
        f"{measure}, Δ = {sensitivity:g}": here
        for measure in dict.fromkeys(point.measure for point in points)
        for sensitivity in sorted({p.number("sensitivity") for p in points if p.measure == measure})
        if (here := [p for p in points if p.measure == measure and p["sensitivity"] == sensitivity])
    }
    pairs = [
        (low, high) for low, high in pairwise(ordered) if low.partition(", Δ")[0] == high.partition(", Δ")[0]
    ]
    if not pairs:
        return []
    return [_ordered("The gap to the plain Gaussian widens with the sensitivity", ordered, pairs)]


def _stringency(points: Points) -> list[Finding]:
    """The reduction is larger for a smaller delta and for a larger order."""
    shared = {p["sensitivity"] for p in points if p["delta"] is not None}
    ordered = {
        measure: [p for p in points if p.measure == measure and p["sensitivity"] in shared]
        for measure in dict.fromkeys(point.measure for point in points)
    }
    ordered = {measure: here for measure, here in ordered.items() if here}
    pairs = [(low, high) for low, high in pairwise(ordered) if low.startswith("δ") == high.startswith("δ")]
    if not ordered:
        return []
    if not pairs:
        run = " and ".join(ordered)
        text = f"Whether boosting saves more under a stricter measure is open: only {run} was run."
        return [Finding(text=text, figures={"measures": float(len(ordered))})]
    return [_ordered("Under a stricter measure (smaller δ, larger α) boosting saves more ε", ordered, pairs)]


def _ordered(claim: str, groups: dict[str, list[Compared]], pairs: Sequence[tuple[str, str]]) -> Finding:
    """That boosting saves more in the second group of each pair: medians of what it saves."""
    saved = {name: median([_saved(p) for p in here]) for name, here in groups.items()}
    ratios = {name: median([p.ratio(PLAIN, BEST) for p in here]) for name, here in groups.items()}
    wrong = [(low, high) for low, high in pairs if saved[high] <= saved[low]]
    return Finding(
        text=f"{claim} (absolute error, σ chosen by exact accounting): median of plain - boosted "
        + ", ".join(
            f"{value:.3g} at {name} (plain/boosted {ratios[name]:.3g})" for name, value in saved.items()
        )
        + ".",
        figures={f"median_saved {name}": value for name, value in saved.items()}
        | {f"median_gain {name}": value for name, value in ratios.items()},
        holds=not wrong,
        cause=Cause.SETTING if wrong else None,
        check=tuple(
            f"{point.where()}: plain {point.epsilon(PLAIN):.6g}, boosted {point.epsilon(BEST):.6g} with σ = "
            f"{point.boosted(BEST).sigma:.6g} and q = {point.boosted(BEST).boost:.6g}."
            for name in (wrong[0] if wrong else ())
            for point in groups[name]
        ),
    )


def _steepness(points: Points) -> list[Finding]:
    """epsilon rises by less with the confidence than that of the plain Gaussian."""
    curves: dict[tuple[Value, ...], list[Compared]] = {}
    for point in sorted(points, key=lambda point: point.number("confidence")):
        curves.setdefault(tuple(point[name] for name in ALONG), []).append(point)
    known = [curve for curve in curves.values() if len(curve) > 2]
    if not known:
        return []
    return [
        _rises(known, BEST, "with σ chosen by exact accounting", Cause.SETTING),
        _rises(known, EXACT, "with the σ of Algorithm 2, exactly accounted", Cause.CHOICE),
    ]


def _rises(curves: Sequence[Sequence[Compared]], kind: str, how: str, cause: Cause) -> Finding:
    """Whether the increments of a kind are smaller than the plain Gaussian's, curve by curve."""
    steps = [pair for curve in curves for pair in pairwise(curve)]
    less, step_less = (sum(not _rises_more(part, kind) for part in parts) for parts in (curves, steps))
    factors = sum(
        curve[-1].epsilon(kind) / curve[0].epsilon(kind) < curve[-1].epsilon(PLAIN) / curve[0].epsilon(PLAIN)
        for curve in curves
    )
    ratios = [_rise(curve, kind) / _rise(curve, PLAIN) for curve in curves]
    worst = curves[ratios.index(max(ratios))]
    return judged(
        f"ε rises by less than that of the plain Gaussian (absolute error, {how}): from ρ = "
        f"{worst[0]['confidence']:g} to {worst[-1]['confidence']:g} in {less} of {len(curves)} curves, and "
        f"in {step_less} of {len(steps)} single steps of ρ. The increment is {min(ratios):.4g} to "
        f"{max(ratios):.4g} times the plain one's. (As a factor ε grows by less in {factors} of "
        f"{len(curves)}.)",
        {
            "curves": float(len(curves)),
            "rises_by_less": float(less),
            "steps": float(len(steps)),
            "steps_by_less": float(step_less),
            "largest_increment_to_plain": max(ratios),
        },
        holds=less == len(curves),
        cause=cause,
        check=_rise_check(worst, kind) if less < len(curves) else (),
    )


def _rises_more(curve: Sequence[Compared], kind: str) -> bool:
    """Whether the increment is proved to be larger than the plain Gaussian's."""
    return curve[-1].at_least(kind) - curve[0].epsilon(kind) > _rise(curve, PLAIN)


def _rise(curve: Sequence[Compared], kind: str) -> float:
    """How much more epsilon the last point needs than the first."""
    return curve[-1].epsilon(kind) - curve[0].epsilon(kind)


def _rise_check(curve: Sequence[Compared], kind: str) -> tuple[str, ...]:
    """That the last point needs more than the first and the plain Gaussian's increment together."""
    first, last = curve[0], curve[-1]
    needed = first.epsilon(kind) + _rise(curve, PLAIN)
    return (
        *plain_lines(aligned_of(first.rows[PLAIN]), first.epsilon(PLAIN)),
        *plain_lines(aligned_of(last.rows[PLAIN]), last.epsilon(PLAIN)),
        f"At ρ = {first['confidence']:g} the boosted one needs ε = {first.epsilon(kind):.6g} at most (proved "
        f"over all neighbors). With the plain increment of {_rise(curve, PLAIN):.6g} that would be "
        f"{needed:.6g} at ρ = {last['confidence']:g}.",
        *above_lines(last, needed, "With the plain increment", kind),
    )


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
