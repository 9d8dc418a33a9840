"""The widest noise that has a decoder: what is spare, the sketch of it, and the search in few looks."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

import pbdp
from pbdp.mechanism.grid import Grid
from pbdp.mechanism.requirement import Requirement
from pbdp.noise.family import Problem
from pbdp.planning.candidates import shapes_for
from pbdp.planning.certificate import goal_on
from pbdp.planning.grids import grids_of
from pbdp.planning.runs import Law
from pbdp.planning.sketch import SketchedLaw
from pbdp.planning.thresholds import Line, _runs
from pbdp.planning.widest import CLOSE, Looks, middle_problem

ASKED: dict[str, dict[str, Any]] = {
    "signed": {"within": "20%+5", "confidence": 0.9},
    "0 or more": {"within": "50%+2.5", "confidence": 0.8, "nonnegative": True},
    "hardly relative": {"within": "1%+100", "confidence": 0.95},
    "half of the time": {"within": "5%+10", "confidence": 0.5, "sensitivity": 3},
    "whole": {"within": "20%+5", "confidence": 0.9, "integer": True},
    "whole, in a range": {"within": 5, "confidence": 0.9, "range": (0, 40), "integer": True},
    "lopsided, in a range": {"within": (2, 4), "confidence": 0.7, "range": (-7.5, 9.2), "sensitivity": 3},
    "real, in a range": {"within": 2, "confidence": 0.8, "range": (0.3, 9.1)},
}
SHAPES = ("laplace", "gaussian", "staircase", "huber")
asked = pytest.mark.parametrize("name", ASKED)


@cache
def lined(name: str) -> tuple[Line, Problem]:
    requirement: Requirement = pbdp.plan(**{"sensitivity": 1, "delta": 1e-6} | ASKED[name]).requirement
    grid: Grid = grids_of(requirement)[0]
    goal = goal_on(grid, requirement)
    line = Line.of(grid, requirement, goal.confidence)
    assert line is not None
    return line, middle_problem(line, goal)


def law_of(looks: Looks, scale: float) -> Law:
    """The noise in parts, added up one by one."""
    reach, parts = looks._reach(scale), looks.line.parts
    assert reach is not None
    noise = np.arange(-reach, reach + 1.0)
    masses = np.repeat(np.exp(looks.shape.log_density(np.abs(noise), np.array(scale))), parts)
    sums = np.concatenate((np.zeros(1), np.cumsum(masses / masses.sum())))
    return Law(sums=sums, start=-reach * parts, wanted=looks.line.confidence)


def looks_at(line: Line, problem: Problem, gain: float = 0.0) -> list[Looks]:
    shapes = [shapes.shape(shapes.few[0]) for shapes in shapes_for(problem, SHAPES)]
    return [Looks(line=line, shape=shape, problem=problem, gain=gain) for shape in shapes]


@asked
def test_something_is_spare_iff_a_single_way_up_finds_thresholds(name: str) -> None:
    line, problem = lined(name)
    for looks in looks_at(line, problem):
        widest, seen = looks.widest(), set()
        for share in (0.9, 0.9999, 1.0001, 1.1):
            law = law_of(looks, widest * share)
            end = line._end(law.half_width)
            runs = None if end is None else _runs(line, end)
            assert runs is not None
            found = runs.least(law) is not None
            assert (line.spare(law) >= 0) == found
            seen.add(found)
        assert seen == {True, False}


@pytest.mark.parametrize("gain", [0.0, 1.2, 3.0])
@pytest.mark.parametrize("name", ["signed", "whole", "lopsided, in a range"])
def test_the_scale_has_a_decoder_and_hardly_more_has_none(name: str, gain: float) -> None:
    line, problem = lined(name)
    for looks in looks_at(line, problem, gain):
        widest = looks.widest()
        assert line.spare(law_of(looks, widest * (1 - 1e-9))) >= 0
        assert line.spare(law_of(looks, widest * (1 + 1.01 * CLOSE))) < 0


@pytest.mark.parametrize("name", ["signed", "0 or more", "hardly relative", "half of the time"])
def test_a_sketch_tells_about_what_is_spare(name: str) -> None:
    line, problem = lined(name)
    assert line.stride > 1
    for looks in looks_at(line, problem):
        widest = looks.widest()
        for share in (0.97, 0.99, 1.0):
            law = law_of(looks, widest * share)
            sketched = SketchedLaw.of(looks.shape, widest * share, -law.start, line.stride)
            assert line.sketched_spare(sketched) == pytest.approx(line.spare(law), abs=5e-3)
        assert looks.estimate == pytest.approx(widest, rel=1e-2)


def test_few_looks_are_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    line, problem = lined("signed")
    seen, look = [], Line.spare

    def counted(self: Line, law: Law) -> float:
        seen.append(law)
        return look(self, law)

    monkeypatch.setattr(Line, "spare", counted)
    for looks in looks_at(line, problem):
        seen.clear()
        looks.widest()
        assert 2 <= len(seen) <= 12


def test_answers_are_looked_at_as_far_as_that_can_be_done() -> None:
    """Sharing what is known of them between scales asks for more of them, which may be too many."""
    asked: dict[str, Any] = {"within": "0.518%+2.972", "confidence": 0.8, "sensitivity": 1, "delta": 7.95e-05}
    plan = pbdp.plan(**asked, integer=True, releases=2, families=("laplace",))
    assert plan.epsilon < 1.1237
