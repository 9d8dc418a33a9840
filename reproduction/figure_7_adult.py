"""Figure 7: ages of the Adult data, value against category frequencies as ε0 goes from 0 to ε."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from pbdp.local import in_blocks
from pbdp.local.boosted_response import boosted_response
from pbdp.local.domain import CategoryDomain
from pbdp.local.estimators import CATEGORY, VALUE
from pbdp.report.pictures.canvas import COLORS, legend_below, new_figure
from reproduction.age_errors import (
    AGES,
    EPSILON,
    AgeErrors,
    adult_truth,
    age_errors,
    best_epsilons,
    draw_age_errors,
    exact_error,
)
from reproduction.experiment import Cause, Experiment, Finding, Row, Settings, having, judged, number, numbers
from reproduction.figure_7_rivals import (
    EPSILONS,
    confidence_finding,
    confidence_row,
    drawn_rivals,
    rival_finding,
    rival_rows,
    threshold_findings,
    threshold_row,
)
from reproduction.figures_2_and_3_accuracy.figures import HOLLOW

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SIZES = (10, 5)
# Other ranges of ages (first, last), sizes of categories and budgets; the paper's range has 91 ages.
VARIED = [
    (first, last, size, epsilon)
    for first, last in ((10, 100), (10, 99), (17, 90))
    for size in (3, 5, 10, 20)
    for epsilon in (3.0, 5.0, 7.0)
]
EMPTY: Row = dict.fromkeys(
    (
        *("kind", "first", "last", "size", "epsilon", "epsilon0", "category_mse", "value_mse"),
        *("simulated_category_mse", "simulated_value_mse", "surveys", "seed"),
        *("best_for_category", "best_for_value", "best_for_trade_off"),
        *("category_mse_at_0", "category_mse_at_epsilon", "value_mse_at_epsilon", "value_mse_at_half"),
        *("off_grr", "off_categories", "off_published"),
        *("rival", "confidence", "confidence_printed"),
        *("grr_best_up_to", "printed_bound", "subset_better_from", "subset_size"),
    )
)


def cases(quick: bool) -> list[Settings]:
    """Surveys in batches, each with a seed of its own, and variations without simulation."""
    batches, surveys, points = (2, 2, 11) if quick else (20, 5, 21)
    simulated: list[Settings] = [
        {"kind": "errors", "size": size, "surveys": surveys, "points": points, "seed": 100 * size + batch}
        for size in SIZES
        for batch in range(batches)
    ]
    varied: list[Settings] = [
        {"kind": "varied", "first": first, "last": last, "size": size, "epsilon": epsilon}
        for first, last, size, epsilon in VARIED
    ]
    rivals: list[Settings] = [{"kind": "rival", "size": size} for size in SIZES]
    bounds: list[Settings] = [{"kind": "bound", "epsilon": epsilon} for epsilon in EPSILONS]
    # ages 10 to 99, so that all categories have the size that the remark assumes
    confident: list[Settings] = [
        {"kind": "confidence", "first": 10, "last": 99, "size": size, "epsilon": EPSILON, "epsilon0": at}
        for size in SIZES
        for at in np.linspace(0.0, EPSILON, points).tolist()
    ]
    return simulated + varied + rivals + bounds + confident


def compute(settings: Settings) -> list[Row]:
    """The rows of one case."""
    match settings["kind"]:
        case "varied":
            return [EMPTY | settings | _varied(settings)]
        case "rival":
            return [EMPTY | settings | row for row in rival_rows(int(number(settings, "size")))]
        case "bound":
            return [EMPTY | settings | threshold_row(settings)]
        case "confidence":
            return [EMPTY | settings | confidence_row(settings)]
    size, surveys, points, seed = (
        int(number(settings, name)) for name in ("size", "surveys", "points", "seed")
    )
    found = age_errors(size, surveys=surveys, points=points, insecure_test_seed=seed)
    return _error_rows(found, seed)


def _error_rows(found: AgeErrors, seed: int) -> list[Row]:
    def known(value: float) -> float | None:
        return float(value) if math.isfinite(value) else None

    return [
        EMPTY
        | {"kind": "errors", "first": AGES[0], "last": AGES[-1], "size": found.size, "epsilon": found.epsilon}
        | {"epsilon0": float(found.epsilon0[i]), "category_mse": found.category[i]}
        | {"value_mse": known(found.value[i]), "surveys": found.surveys, "seed": seed}
        | {"simulated_category_mse": known(found.simulated_category[i])}
        | {"simulated_value_mse": known(found.simulated_value[i])}
        | {"best_for_category": found.best["category"], "best_for_value": found.best["value"]}
        | {"best_for_trade_off": found.best["trade-off"]}
        for i in range(len(found.epsilon0))
    ]


def _varied(settings: Settings) -> Row:
    """Where the best ε0 are, errors at the ends, and how far the ends are from what the paper says."""
    first, last, size = (int(number(settings, name)) for name in ("first", "last", "size"))
    domain, epsilon = in_blocks(range(first, last + 1), size), number(settings, "epsilon")
    truth, best = adult_truth(domain), best_epsilons(domain, epsilon)

    def error(epsilon0: float, kind: str) -> float:
        return exact_error(boosted_response(domain, epsilon, epsilon0), kind, truth)

    grr = boosted_response(domain, epsilon, epsilon).shares
    only = boosted_response(domain, epsilon, 0.0).shares
    own = math.exp(epsilon) / (math.exp(epsilon) + domain.count - 1)
    return {
        "best_for_category": best["category"],
        "best_for_value": best["value"],
        "best_for_trade_off": best["trade-off"],
        "category_mse_at_0": error(0.0, CATEGORY),
        "category_mse_at_epsilon": error(epsilon, CATEGORY),
        "value_mse_at_epsilon": error(epsilon, VALUE),
        "value_mse_at_half": error(epsilon / 2, VALUE),
        "off_grr": float(np.max(np.abs(np.asarray(grr.own) - own))),
        "off_categories": float(np.max(np.abs(np.asarray(only.own) - np.asarray(only.near)))),
        "off_published": _off_published(domain, size, epsilon),
    }


def _off_published(domain: CategoryDomain, size: int, epsilon: float) -> float | None:
    """Largest difference from the paper's p, p_s and p_s-bar at ε0 = ε/2, where all categories are equal."""
    if domain.count % size:
        return None
    shares = boosted_response(domain, epsilon, epsilon / 2).shares
    e, near = math.exp(epsilon), math.exp(epsilon / 2)
    total = e + (size - 1) * near + domain.count - size
    pairs = ((shares.own, e / total), (shares.near, near / total), (shares.far, 1 / total))
    return max(float(np.max(np.abs(np.asarray(drawn) - printed))) for drawn, printed in pairs)


def _merged(rows: list[Row], size: int) -> AgeErrors:
    """All batches of a size as one experiment: mean squared errors are means over batches."""
    found: Any = having(rows, kind="errors", size=size)
    grid = sorted({row["epsilon0"] for row in found})
    first = found[: len(grid)]

    def mean(column: str) -> Any:
        table = [[row[column] for row in having(found, epsilon0=at)] for at in grid]
        return np.array([np.mean([math.nan if v is None else v for v in values]) for values in table])

    return AgeErrors(
        size=size,
        epsilon=first[0]["epsilon"],
        epsilon0=np.array(grid),
        category=np.array([row["category_mse"] for row in first]),
        value=np.array([math.inf if row["value_mse"] is None else row["value_mse"] for row in first]),
        simulated_category=mean("simulated_category_mse"),
        simulated_value=mean("simulated_value_mse"),
        surveys=first[0]["surveys"] * len(found) // len(grid),
        best={
            "category": first[0]["best_for_category"],
            "value": first[0]["best_for_value"],
            "trade-off": first[0]["best_for_trade_off"],
        },
    )


def draw(rows: list[Row]) -> Figure:
    """A panel for each size of categories, with OUE and OLH beside it, and one for the confidence."""
    figure, panels = new_figure(1, len(SIZES) + 1, width=4.6, height=5.4)
    for panel, size in zip(panels, SIZES, strict=False):
        draw_age_errors(panel, _merged(rows, size))
        rivals = drawn_rivals(having(rows, kind="rival", size=size))
        for (name, category, value), color in zip(rivals, COLORS[3:], strict=False):
            panel.axhline(category, color=color, ls="-.", lw=1.5, label=f"category, {name}")
            if value is not None:
                panel.axhline(value, color=color, ls=":", lw=1.5, label=f"value, {name}")
        legend_below(panel)
    for index, size in enumerate(SIZES):
        found = having(rows, kind="confidence", size=size)
        at = numbers(found, "epsilon0")
        label = f"|S| = {size}, as drawn"
        panels[-1].plot(at, numbers(found, "confidence"), color=COLORS[index], lw=2, label=label)
        panels[-1].plot(
            *(at, numbers(found, "confidence_printed")),
            **HOLLOW | {"ls": "none", "color": COLORS[index], "marker": "os"[index]},
            label=f"|S| = {size}, as printed",
        )
    panels[-1].set(title="report stays in its category", xlabel="ε0", ylabel="confidence ρ")
    legend_below(panels[-1])
    return figure


def findings(rows: list[Row]) -> list[Finding]:
    """The ends, the trade-off, the size of categories, and that none of it hangs on the range of ages."""
    merged = {size: _merged(rows, size) for size in SIZES}
    varied: Any = having(rows, kind="varied")
    rising = all(bool(np.all(np.diff(found.category) > 0)) for found in merged.values())
    falling = all(bool(np.all(np.diff(found.value[1:]) < 0)) for found in merged.values())
    worse = {size: float(found.category[-1] / found.category[0]) for size, found in merged.items()}
    published = [row["off_published"] for row in varied if row["off_published"] is not None]
    off = max(*(row["off_grr"] for row in varied), *(row["off_categories"] for row in varied), *published)
    seen = {
        size: (
            float(np.nanmean(found.simulated_category / found.category)),
            float(np.nanmean(found.simulated_value[1:] / found.value[1:])),
        )
        for size, found in merged.items()
    }
    ends = sum(
        row["best_for_category"] < 1e-6 and row["best_for_value"] > row["epsilon"] - 1e-6 for row in varied
    )
    between = sum(0.01 < row["best_for_trade_off"] < row["epsilon"] - 0.01 for row in varied)
    trade = {size: found.best["trade-off"] for size, found in merged.items()}
    return [
        judged(
            "General randomized response (ε0 = ε) is the best choice for value frequencies and the "
            "worst for category frequencies: from ε0 = 0 to ε the category error only rises, the value "
            "error only falls. At "
            + "; ".join(
                f"|S| = {s}: category error {r:.2f} times as large as at ε0 = 0" for s, r in worse.items()
            )
            + ".",
            {f"category_error_ratio_{size}": ratio for size, ratio in worse.items()},
            holds=rising and falling,
            cause=Cause.SETTING,
        ),
        judged(
            f"The disadvantage for categories grows with |S|, as the paper says: {worse[SIZES[0]]:.2f} "
            f"times at |S| = {SIZES[0]} against {worse[SIZES[1]]:.2f} times at |S| = {SIZES[1]}.",
            {f"ratio_{size}": ratio for size, ratio in worse.items()},
            holds=worse[SIZES[0]] > worse[SIZES[1]],
            cause=Cause.SETTING,
        ),
        judged(
            "The ends are what the paper says: at ε0 = ε plain randomized response, at ε0 = 0 all "
            "values of a category are alike (only categories can then be estimated); between, the "
            "probabilities are the printed ones where categories have equal sizes (largest difference "
            f"{off:.1e} in {len(varied)} settings).",
            {"largest_difference": off},
            holds=off < 1e-12,
            cause=Cause.SETTING,
        ),
        Finding(
            text="With equal weights for the two errors the best ε0 is "
            + ", ".join(f"{best:.3f} at |S| = {size}" for size, best in trade.items())
            + ". The simulated errors are on average "
            + "; ".join(
                f"{c:.3f} (category) and {v:.3f} (value) times the exact ones at |S| = {size}, "
                f"{merged[size].surveys} surveys of {int(adult_truth(in_blocks(AGES, size)).sum()):,} people"
                for size, (c, v) in seen.items()
            )
            + ".",
            figures={f"best_trade_off_{size}": best for size, best in trade.items()}
            | {f"simulated_over_exact_category_{size}": c for size, (c, _) in seen.items()}
            | {f"simulated_over_exact_value_{size}": v for size, (_, v) in seen.items()},
        ),
        Finding(
            text=f"None of it hangs on the range of ages, the size of categories or ε: in {ends} of "
            f"{len(varied)} variations ε0 = 0 is best for categories and ε0 = ε for values. In {between} the "
            "best trade-off lies between; in the others one of the errors outweighs the other so much that "
            "it lies at an end.",
            figures={"variations": len(varied), "ends_best": ends, "trade_off_between": between},
        ),
        confidence_finding(having(rows, kind="confidence")),
        rival_finding(
            having(rows, kind="rival"),
            {size: (float(found.category[-1]), float(found.value[-1])) for size, found in merged.items()},
            {size: float(found.category[0]) for size, found in merged.items()},
        ),
        *threshold_findings(having(rows, kind="bound")),
    ]


EXPERIMENT = Experiment(
    number=7,
    name="7-adult-ages",
    title="Adult ages: value against category frequencies",
    claim=f"With ε = {EPSILON:g} fixed, ε0 from 0 to ε moves the boosted randomized response from the best "
    "estimate of category frequencies to the best estimate of value frequencies. Plain randomized response "
    "(ε0 = ε) is best for values and worst for categories, the more so the larger the categories; a "
    "trade-off lies between. A report stays in its category with the probability ρ of the remark after "
    "Proposition 7. Other mechanisms (OUE, OLH) are said to do better only where there are many values or "
    "ε is small: GRR is optimal if |X| < 3e^ε + 2. Pure local privacy: no δ is involved, and we found no "
    "fault in the mechanism.",
    chosen=f"The paper says ages {AGES[0]} to {AGES[-1]} in categories of {SIZES[0]} and {SIZES[1]}: that is "
    f"{len(AGES)} ages, so the last category has one age only, and the formulas for unequal categories are "
    "used. It does not say how many times the surveys were repeated: the legend gives our number of "
    "simulated surveys, beside the exact expectation. Varied: ranges of ages, |S| = 3 to 20, ε = 3, 5, 7.",
    cases=cases,
    compute=compute,
    draw=draw,
    findings=findings,
)
