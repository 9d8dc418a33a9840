"""Every member against its channel by brute force: certificate, estimates, variances, contrasts, bounds."""

from __future__ import annotations

from typing import Any

import mpmath
import numpy as np
import numpy.typing as npt
import pytest
from scipy import stats

from pbdp.errors import CannotCertifyError, InputError
from pbdp.local import LocalMechanism, in_blocks, in_categories, on_scale, region_of, without_categories
from pbdp.local.boosted_response import boosted_response
from pbdp.local.center_response import center_response
from pbdp.local.configuration import configuration, mechanism_of
from pbdp.local.local_hashing import local_hashing
from pbdp.local.mean_response import mean_response
from pbdp.local.square_wave import SquareWave, Window, best_half, square_wave
from pbdp.local.subset_selection import SubsetSelection, subset_selection
from pbdp.local.user_split import user_split
from pbdp.release.keystream import InsecureTestKeystream
from tests.effort import FULL
from tests.local.channels import MEMBERS, channel, matrix

Floats = npt.NDArray[np.float64]
every_member = pytest.mark.parametrize("name", MEMBERS)


@every_member
def test_rows_add_up_and_the_largest_column_ratio_is_certified(name: str) -> None:
    rows = channel(MEMBERS[name])
    assert all(sum(row.values()) == 1 for row in rows)
    assert all(set(row) == set(rows[0]) for row in rows)
    ratio = max(max(row[y] for row in rows) / min(row[y] for row in rows) for y in rows[0])
    with mpmath.workdps(40):
        truth = mpmath.log(mpmath.mpf(ratio.numerator) / ratio.denominator)
        assert truth <= mpmath.mpf(MEMBERS[name].epsilon)
        assert MEMBERS[name].epsilon < truth + 1e-12


@pytest.mark.parametrize("seed", range(100 if FULL else 8))
def test_every_mechanism_keeps_its_epsilon_at_random_settings(seed: int) -> None:
    """From the configuration alone, as a client in another language has it."""
    generator = np.random.default_rng(seed)
    epsilon = float(np.exp(generator.uniform(np.log(0.02), np.log(9.0))))
    sizes = generator.integers(1, 4, 3).tolist()
    parts = in_categories([[10 * part + k for k in range(size + 1)] for part, size in enumerate(sizes)])
    line = without_categories(np.cumsum(generator.integers(1, 3, 7)).tolist())
    size = int(generator.integers(1, parts.count))
    made = [
        boosted_response(parts, epsilon, epsilon * generator.random()),
        boosted_response(on_scale(range(8), 3, ring=bool(seed % 2)), epsilon, epsilon * generator.random()),
        center_response(line, region_of(line, int(generator.integers(0, 3))), epsilon),
        local_hashing(without_categories(range(3)), min(epsilon, 3.0)),
        subset_selection(parts, epsilon, size),
        subset_selection(parts, epsilon, size, by_category=True),
        user_split(parts, epsilon, float(generator.random())),
        square_wave(line, epsilon, int(generator.integers(0, 5))),
        mean_response(line, epsilon),
    ]
    for mechanism in made:
        rows = channel(mechanism)
        assert all(sum(row.values()) == 1 for row in rows)
        ratio = max(max(row[y] for row in rows) / min(row[y] for row in rows) for y in rows[0])
        with mpmath.workdps(40):
            truth = mpmath.log(mpmath.mpf(ratio.numerator) / ratio.denominator)
            assert truth <= mpmath.mpf(mechanism.epsilon)
            assert mechanism.epsilon <= (min(epsilon, 3.0) if mechanism.kind == "local hashing" else epsilon)


def tally_of(mechanism: LocalMechanism, report: Any) -> npt.NDArray[np.int64]:
    """The tally of one report, by way of the form in which it travels."""
    sent = np.array([sent_form(mechanism, report)], dtype=object)
    codes = mechanism.report_codes(sent)
    assert codes[0] >= 0
    return mechanism.tally(sent, codes, None)


def sent_form(mechanism: LocalMechanism, report: Any) -> Any:
    if mechanism.kind == "subset selection":
        return bits(report, mechanism.domain.count)
    if mechanism.kind == "user splitting":
        mark, *held = report
        count = len(mechanism.domain.groups) if mark == "c" else mechanism.domain.count
        return mark + bits(held, count)
    if mechanism.kind == "local hashing":
        *a, r = report
        g = configuration(mechanism)["parameters"]["g"]
        return r + sum(c * g ** (i + 1) for i, c in enumerate(a))
    return report


def bits(ones: Any, count: int) -> str:
    text = "".join("1" if place in ones else "0" for place in range(count)) + "0" * (-count % 8)
    return f"{int(text, 2):0{len(text) // 4}x}"


def coefficients(mechanism: LocalMechanism, kind: str, reports: list[Any]) -> Floats:
    """What one report adds to each estimate: a linear estimator is known from single reports."""
    return np.stack([mechanism.estimates(kind, tally_of(mechanism, r), 1)[0] for r in reports], axis=1)


@every_member
@pytest.mark.parametrize("kind", ["value", "category", "mean"])
def test_estimates_are_unbiased_with_the_exact_variance(name: str, kind: str) -> None:
    mechanism = MEMBERS[name]
    domain = mechanism.domain
    chances, reports = matrix(mechanism)
    numbers = np.array([domain.values], dtype=float)
    weights = {"value": np.eye(domain.count), "category": domain.members().astype(float), "mean": numbers}[
        kind
    ]
    spread = mechanism.variances(kind)
    if not np.all(np.isfinite(spread.worst)):
        if kind != "mean":
            with pytest.raises(CannotCertifyError):
                coefficients(mechanism, kind, reports)
        return
    found = (
        numbers @ coefficients(mechanism, "value", reports)
        if kind == "mean" and not mechanism.estimates_means
        else coefficients(mechanism, kind, reports)
    )
    size = np.abs(found).max()
    assert found @ chances.T == pytest.approx(weights, abs=1e-8 * size)
    exact = found**2 @ chances.T - weights**2
    truth = np.arange(1.0, domain.count + 1)
    assert spread.at(truth) == pytest.approx(exact @ truth, rel=1e-7)
    assert spread.mean == pytest.approx(exact.mean(axis=0), rel=1e-7)
    assert spread.worst == pytest.approx(exact.max(axis=1), rel=1e-7)
    assert spread.least == pytest.approx(exact.min(axis=1), rel=1e-7)
    ends = weights.min(axis=1), weights.max(axis=1)
    reach = np.maximum(found.max(axis=1) - ends[0], ends[1] - found.min(axis=1))
    assert np.all(spread.reach >= reach * (1 - 1e-9))


@pytest.mark.parametrize("name", [name for name in MEMBERS if "mean" not in name and "split" not in name])
@pytest.mark.parametrize("kind", ["value", "category"])
def test_estimated_variances_are_unbiased(name: str, kind: str) -> None:
    mechanism = MEMBERS[name]
    spread = mechanism.variances(kind)
    if not np.all(np.isfinite(spread.worst)):
        return
    chances, reports = matrix(mechanism)
    truth = np.arange(1.0, mechanism.domain.count + 1)
    expected = chances.T @ truth
    scale = 1e6
    tally = sum(
        round(often * scale) * tally_of(mechanism, report)
        for often, report in zip(expected, reports, strict=True)
    )
    users = round(truth.sum() * scale)
    people, variance = mechanism.estimates(kind, np.asarray(tally), users)
    size = spread.at(truth)
    assert variance / scale == pytest.approx(size, rel=1e-3, abs=1e-3 * size.max())
    weights = (
        mechanism.domain.members().astype(float) if kind == "category" else np.eye(mechanism.domain.count)
    )
    assert people.sum() / scale == pytest.approx(float((weights @ truth).sum()), rel=1e-3)


@every_member
def test_contrasts_tell_all_there_is_to_tell_two_answers_apart(name: str) -> None:
    """Every pair's hockey-stick is at most that of some contrast, and every contrast's that of a pair."""
    mechanism = MEMBERS[name]
    chances, _ = matrix(mechanism)
    sides = [side for each in mechanism.answer_pairs for side in (each, each.swapped())]
    for side in sides:
        assert side.first.sum() == pytest.approx(1)
        assert side.second.sum() == pytest.approx(1)
        assert np.all(side.blanket <= np.minimum(side.first, side.second) * (1 + 1e-9))
    count = len(chances)
    for epsilon in (0.0, 0.2, 0.5, 0.9):
        grown = np.exp(epsilon)
        told = max(float(np.maximum(side.first - grown * side.second, 0).sum()) for side in sides)
        pairs = [
            float(np.maximum(chances[x] - grown * chances[y], 0).sum())
            for x in range(count)
            for y in range(count)
        ]
        assert max(pairs) == pytest.approx(told, rel=1e-6, abs=1e-9)
    blanket = float(chances.min(axis=0).sum())
    assert all(float(side.blanket.sum()) <= blanket * (1 + 1e-9) for side in sides)
    # its own leaves out hashes that are the same for all
    if name != "hashing":
        assert all(float(side.blanket.sum()) == pytest.approx(blanket, rel=1e-6) for side in sides)


@every_member
def test_cells_marks_and_the_largest_chance_hold_for_every_answer(name: str) -> None:
    mechanism = MEMBERS[name]
    chances, reports = matrix(mechanism)
    if mechanism.largest_chance is not None:
        assert chances.max() == pytest.approx(mechanism.largest_chance, rel=1e-9)
    tallies = [tally_of(mechanism, report) for report in reports]
    cells = [mechanism.cell_bounds(tally, 1) for tally in tallies]
    for part in range(len(cells[0])):
        counted = np.stack([each[part].counts for each in cells], axis=1)
        asked = np.array([each[part].users for each in cells])
        # of those who were asked this question
        often = counted @ chances.T / (chances @ asked)
        assert np.all(often <= cells[0][part].most[:, None] * (1 + 1e-9))
        assert np.all(often >= cells[0][part].least[:, None] * (1 - 1e-9))
        if name != "mean, steps":  # some places of which no one is at
            assert often.max(axis=1) == pytest.approx(cells[0][part].most, rel=1e-6)
            assert often.min(axis=1) == pytest.approx(cells[0][part].least, rel=1e-6)
    if not mechanism.mark_laws:
        return
    sent = [np.array([sent_form(mechanism, report)], dtype=object) for report in reports]
    marks = np.stack([mechanism.marks(one, mechanism.report_codes(one), None) for one in sent], axis=1)
    law = np.concatenate([each.chances for each in mechanism.mark_laws])
    for row in chances:
        assert marks @ row == pytest.approx(law, rel=1e-9, abs=1e-15)


@every_member
def test_reports_near_the_truth_are_as_likely_as_said(name: str) -> None:
    mechanism = MEMBERS[name]
    domain = mechanism.domain
    chances, reports = matrix(mechanism)
    regions = [region_of(domain, within) for within in (0, 1) if domain.count > 2 * within + 1]
    if domain.grouped and hasattr(domain, "sizes"):
        regions.append(region_of(domain, "category"))
    for region in regions:
        said = mechanism.near_enough(region)
        if said is None:
            continue
        inside = np.zeros(chances.shape)
        for x in range(domain.count):
            run = {(int(region.start[x]) + k) % domain.count for k in range(int(region.size[x]))}
            near = {domain.values[code] for code in run}
            for y, report in enumerate(reports):
                if mechanism.kind == "subset selection":
                    inside[x, y] = report[0] in run
                elif isinstance(mechanism, SquareWave):
                    place = min(max(report - mechanism.first, 0), domain.count - 1)
                    inside[x, y] = place in run
                else:
                    inside[x, y] = report in near
        assert said == pytest.approx(float((chances * inside).sum(axis=1).min()), rel=1e-9)


@every_member
def test_wrong_weights_are_refused(name: str) -> None:
    record = configuration(MEMBERS[name])
    changed = dict(record["parameters"])
    key = next(key for key in ("far", "other", "noise", "category") if key in changed)
    old = changed[key]
    if isinstance(old, dict):
        changed[key] = old | {"other": ["0"] * len(old["other"])}
    else:
        changed[key] = ["0"] * len(old) if isinstance(old, list) else 0 if isinstance(old, int) else "0"
    with pytest.raises(InputError):
        mechanism_of(record | {"parameters": changed})


@every_member
def test_reports_are_drawn_with_the_chances_of_the_channel(name: str) -> None:
    """Accepts the channel's row, and would reject one in which the true answer's gain is a tenth less."""
    mechanism = MEMBERS[name]
    chances, reports = matrix(mechanism)
    forms = {sent_form(mechanism, report): place for place, report in enumerate(reports)}
    users = 40_000
    for x in (0, mechanism.domain.count - 1):
        internal = mechanism.drawn(np.full(users, x), InsecureTestKeystream(x))
        seen = mechanism.published(internal, np.empty(0, dtype=np.int64)).tolist()
        counts = np.bincount([forms[report] for report in seen], minlength=len(reports))
        assert stats.chisquare(counts, users * chances[x]).pvalue > 1e-4
        wrong = 0.9 * chances[x] + 0.1 * chances.mean(axis=0)
        assert (
            stats.chisquare(counts, users * wrong).pvalue < stats.chisquare(counts, users * chances[x]).pvalue
        )


@pytest.mark.parametrize("name", ["wave", "mean", "centers"])
def test_every_edge_between_two_reports_is_where_the_weights_put_it(name: str) -> None:
    """Each report's words are whole intervals: as many numbers as its weight, to the last one."""
    mechanism = MEMBERS[name]
    given = configuration(mechanism)["parameters"]
    far = int(given["far"])
    reports = len(given["centers"]) if name == "centers" else mechanism.domain.count + 2 * given["half"]
    head = [0] if name == "mean" else []  # which asks for the window
    for x, value in enumerate(mechanism.domain.values):
        for place in range(reports):
            first, last = (
                mechanism.report_of(value, [*head, 4 * u]) for u in (place * far, (place + 1) * far - 1)
            )
            assert first == last
        last = mechanism.report_of(value, [*head, 4 * (reports * far - 1) + 3])
        beyond = mechanism.report_of(value, [*head, 4 * reports * far])
        if name == "centers":
            assert beyond == mechanism.report_of(value, [2**64 - 1])
        else:
            shift = 2 if name == "mean" else given["first"] - given["half"]
            assert (last, beyond) == (reports - 1 + shift, x + shift)
            step = int(given["near"]) - far
            ends = [reports * far + k * step for k in range(2 * given["half"] + 2)]
            found = [mechanism.report_of(value, [*head, 4 * u]) for u in ends[:-1]]
            assert found == [x + k + shift for k in range(2 * given["half"] + 1)]
            assert [mechanism.report_of(value, [*head, 4 * (u - 1)]) for u in ends[1:]] == found


# ------------------------------------------------------------------------------------------ the members' own


def test_subset_selection_reaches_the_least_error_of_values() -> None:
    """The figures of an SDP over all channels, for 8 values at epsilon .5 and 1."""
    for epsilon, least in ((0.5, 11.889), (1.0, 2.717)):
        made = subset_selection(without_categories(range(8)), epsilon)
        assert made.variances("value").mean.max() == pytest.approx(least, rel=1e-4)


def test_subsets_of_one_value_are_plain_response() -> None:
    chances, reports = matrix(subset_selection(without_categories(range(5)), 1.3, 1))
    assert [held for (held,) in reports] == list(range(5))
    e = np.exp(1.3)
    expected = np.where(np.eye(5) > 0, e, 1.0) / (e + 4)
    assert chances == pytest.approx(expected, rel=1e-9)


def test_the_half_width_of_a_square_wave_is_that_of_its_paper() -> None:
    e = np.e
    assert best_half(1000, 1.0) == round(1000 * 1 / (2 * e * (e - 2)))
    assert best_half(1000, 1e-6) == 500
    assert best_half(1000, 12.0) == 0


def test_hard_cases_are_refused() -> None:
    seven = without_categories(range(7))
    with pytest.raises(InputError, match="sizes"):
        subset_selection(seven, 1.0, 7)
    with pytest.raises(InputError, match="Use hashing"):
        subset_selection(without_categories(range(65_537)), 1.0)
    with pytest.raises(InputError, match="scale"):
        user_split(MEMBERS["boosted, line"].domain, 1.0, 0.5)
    with pytest.raises(InputError, match="texts"):
        mean_response(without_categories(["a", "b"]), 1.0)
    with pytest.raises(InputError, match="steps apart"):
        mean_response(without_categories([0, 1, 1 << 40]), 1.0)
    with pytest.raises(InputError, match="2\\^62"):
        Window(places=3, half=1, near=5, far=1)
    with pytest.raises(CannotCertifyError, match="common multiple"):
        subset_selection(
            in_categories([[100 * n + k for k in range(n)] for n in range(2, 40)]), 1.0, 37, by_category=True
        )
    with pytest.raises(InputError, match="sizes"):
        SubsetSelection(domain=in_blocks(range(6), 3), sizes=(1, 2, 3), other=(1, 1, 1))


def test_the_fewest_centers_are_reported() -> None:
    domain = without_categories(range(1, 13))
    made = center_response(domain, region_of(domain, 3), 1.0)
    assert made.centers == (4, 11)
    assert made.domain.sizes == (7, 5)
    assert set(made.randomize(list(range(1, 13)) * 20).values) == {4, 11}


def test_a_wave_counts_places_where_values_have_gaps() -> None:
    made = square_wave(without_categories([1, 2, 5, 9]), 2.0)
    assert made.first == 0
    assert square_wave(without_categories(range(10, 20)), 2.0).first == 10


def test_line_ups_of_many_values_are_as_described() -> None:
    """The words of `subset` one by one, with more values than 12 bits can number, and equal keys."""
    domain = without_categories(range(6000))
    mechanism = subset_selection(domain, 3.0)
    (size,), (other,) = mechanism.sizes, mechanism.other
    generator = np.random.default_rng(3)
    base = 6000 * other
    for u, code in ((0, 5), (2**62 - 1, 5999), (base - 1, 17), (base + 5, 4500), (2**61, 5000)):
        words = generator.integers(0, 2**64, mechanism.words_per_user, dtype=np.uint64)
        words[0] = u * 4
        words[1:50] = words[1]  # equal keys
        halves = [half for word in words[1:].tolist() for half in (word % 2**32, word >> 32)]
        line = sorted(range(6000), key=lambda value: (halves[value], value))
        if u < base:
            start = u // other
        else:
            i = (u - base) // (mechanism.boost // size)
            start = line.index(code) - i if i < size else 0
        expected = {line[(start + step) % 6000] for step in range(size)}
        drawn = np.unpackbits(mechanism.draw(np.array([code]), words[None, :]), axis=1)[0]
        assert set(np.flatnonzero(drawn).tolist()) == expected
