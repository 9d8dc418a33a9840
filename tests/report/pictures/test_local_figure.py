"""Pictures of surveys: the facts in them, not the pixels."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure

from pbdp.local import LeastError, Within, count_reports, distribution, estimate, in_blocks, plan_local
from pbdp.local.boosted_response import boosted_response
from pbdp.local.mean_response import mean_response
from pbdp.local.square_wave import square_wave
from pbdp.report.pictures.canvas import save
from pbdp.report.pictures.local_figure import draw_comparison, draw_distribution, draw_estimates
from reproduction.age_errors import adult_truth

DOMAIN = in_blocks(range(10, 101), 10)


def text_of(figure: Figure, folder: Path) -> str:
    save(figure, folder / "f.svg")
    return (folder / "f.svg").read_text(encoding="utf-8")


def test_estimates_are_drawn_with_their_intervals(tmp_path: Path) -> None:
    mechanism = boosted_response(DOMAIN, 5.0, 2.0)
    truth = adult_truth(DOMAIN)
    codes = np.repeat(np.arange(91), truth)
    counts = count_reports(mechanism, np.append(mechanism.drawn(codes) + 10, 7))
    made = estimate(mechanism, counts, "category")
    figure = draw_estimates(made)
    (panel,) = figure.axes
    *_caps, points, _zero = panel.lines
    assert np.asarray(points.get_ydata()) == pytest.approx(made.people / 452.22)
    segments = panel.collections[0].get_segments()  # type: ignore[attr-defined]
    assert [segment[0, 1] for segment in segments] == pytest.approx(made.low / 452.22)
    assert [segment[1, 1] for segment in segments] == pytest.approx(made.high / 452.22)
    text = text_of(figure, tmp_path)
    for words in ("45,222 reports, 1 refused", "95 % interval (score)", "10..19"):
        assert words in text
    assert "projected: biased" in text_of(draw_estimates(estimate(mechanism, counts).projected()), tmp_path)


def test_reports_from_a_seed_are_marked(tmp_path: Path) -> None:
    mechanism = boosted_response(DOMAIN, 5.0, 2.0)
    with pytest.warns(UserWarning, match="tests only"):
        reports = mechanism.randomize([20, 30, 40], insecure_test_seed=1)
    made = estimate(mechanism, count_reports(mechanism, reports))
    assert "from a test seed, not private" in text_of(draw_estimates(made), tmp_path)


@pytest.mark.parametrize("accuracy", [True, False])
def test_a_comparison_shows_every_mechanism(accuracy: bool, tmp_path: Path) -> None:
    if accuracy:
        plan = plan_local(DOMAIN, Within(category=0.02, users=10_000))
    else:
        plan = plan_local(DOMAIN, LeastError(category=0.5), epsilon=2)
    figure = draw_comparison(plan)
    lengths = [bar.get_width() for bar in figure.axes[0].patches]  # type: ignore[attr-defined]
    assert lengths == sorted(lengths)
    text = text_of(figure, tmp_path)
    for entry in (plan.chosen, *plan.others):
        assert entry.name in text
    assert f"epsilon {plan.epsilon:.4g}" in text


def test_a_comparison_shows_the_limit(tmp_path: Path) -> None:
    plan = plan_local(DOMAIN, LeastError(category=0.5), epsilon=1)
    assert plan.limit is not None
    figure = draw_comparison(plan)
    line = figure.axes[0].lines[0]
    assert np.asarray(line.get_xdata())[0] == pytest.approx(plan.limit.value)
    assert f"limit {plan.limit.value:.3f}"[:9] in text_of(figure, tmp_path)


def test_a_distribution_is_drawn_with_its_curve(tmp_path: Path) -> None:
    mechanism = square_wave(DOMAIN, 1.0)
    truth = adult_truth(DOMAIN)
    codes = np.repeat(np.arange(91), truth)
    found = distribution(mechanism, count_reports(mechanism, mechanism.drawn(codes)))
    figure = draw_distribution(found)
    shares, curve = figure.axes
    assert np.asarray(shares.lines[0].get_ydata()) == pytest.approx(100 * found.share)
    assert np.asarray(curve.lines[0].get_ydata()) == pytest.approx(100 * found.cumulative)
    text = text_of(figure, tmp_path)
    for words in ("45,222 reports", "estimate (smoothed: biased)", "95 % interval (score)"):
        assert words in text


def test_a_mean_is_drawn_in_its_own_unit(tmp_path: Path) -> None:
    mechanism = mean_response(DOMAIN, 2.0)
    counts = count_reports(mechanism, mechanism.drawn(np.repeat(np.arange(91), 50)))
    made = estimate(mechanism, counts, "mean")
    (panel,) = draw_estimates(made).axes
    points = panel.lines[-1]
    assert np.asarray(points.get_ydata()) == pytest.approx(made.share)
    assert 40 < made.share[0] < 70
    assert "share of people" not in made._repr_html_()
    assert "Mean" in text_of(draw_estimates(made), tmp_path)
