"""Rounded Gaussian noise on many rows together: what strategies with such noise share.

A number that is a weighted sum of rows is off by the same sum of independent noises, each Gaussian noise of
one σ and a rounding of at most 1/2, which is 0 on average as the law is even. With c the sum of the squares
of the weights that is a Gaussian number of variance σ²·c, plus by Hoeffding's inequality at most
sqrt(ln(2/h)·c/2) but for a probability of h. Tables differ from the law by η for each noise.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping
from typing import ClassVar

from pbdp import special
from pbdp.errors import CannotCertifyError
from pbdp.mechanism.absolute import AbsoluteRegion
from pbdp.mechanism.design import Design
from pbdp.mechanism.grid import LinearGrid
from pbdp.noise.rounded_gaussian import RoundedGaussian
from pbdp.tables.strategies.strategy import Moves, Strategy

# About the sigma of noise in steps: rounding to whole steps and tables of whole weights cost nothing then.
FIRST_SIGMA, LARGEST_SIGMA = 1 << 12, 1 << 17
# That of running totals times the rows that one person moves: tables differ from laws by as much for each.
MOST_TOUCHED = 3e8
# What a table differs from its law by, over σ; what share of delta this may take, and what is next to none.
EACH, FOR_TABLES, NEXT_TO_NONE = 1.8e-18, 5e-3, 1e-3
# Hoeffding's h.
DOUBT = 1e-9
# What a few operations on doubles may be off by.
SAFE = 1 + 1e-12


class JointStrategy(Strategy):
    """One part: all rows, with noise of one σ, which is one release by the length that one person moves."""

    __slots__ = ()

    joint: ClassVar[bool] = True

    @abstractmethod
    def squared_length(self) -> int:
        """Of what one person moves all rows by, in steps, at most."""

    @property
    @abstractmethod
    def touched(self) -> int:
        """How many rows one person moves, or two where one is replaced, at most."""

    @property
    def parts(self) -> Mapping[str, Moves]:
        length = math.isqrt(self.squared_length() - 1) + 1
        return {self.label: Moves(numbers=1, steps=length, laws=self.touched)}

    def own_designs(self, step: float, whole: bool) -> list[Design]:
        """Rounded Gaussian noise to begin with; how much of it there may be is found by its widths."""
        grid = LinearGrid(step=step, rounded=not whole)
        kernel = RoundedGaussian(sigma=float(LARGEST_SIGMA))
        return [Design(grid=grid, kernel=kernel, region=AbsoluteRegion.even(float(LARGEST_SIGMA)))]

    def follows(self, table: int) -> str:
        del table
        return self.label


def largest_sigma(touched: int, mean: float, delta: float) -> float:
    """About the widest noise with which what tables differ from their laws by is little against delta.

    `mean` is the length that one person moves them by over σ.
    """
    return min(LARGEST_SIGMA, FOR_TABLES * delta / (_told(touched, mean, delta) * EACH))


def share_of_tables(touched: int, mean: float, sigma: float, delta: float) -> float:
    """About what share of delta it takes that tables of noise with this σ differ from their laws."""
    return _told(touched, mean, delta) * (EACH * sigma + RoundedGaussian.mass_error) / delta


def _told(touched: int, mean: float, delta: float) -> float:
    """How many times what one table differs by counts, for so many of them: next to none of delta is left of
    the laws beyond E = mean²/2 + mean·z.
    """
    far = mean**2 / 2 - mean * float(special.ndtri(NEXT_TO_NONE * delta))
    return touched * (1 + math.exp(min(far, 600.0)))


def sigma_of(design: Design) -> float:
    """The σ of rounded Gaussian noise, in steps."""
    if not isinstance(design.kernel, RoundedGaussian):
        raise AssertionError("rows that are accounted together have rounded Gaussian noise")
    return float(design.kernel.sigma)


def gaussian_width(design: Design, squares: float, noises: int, confidence: float) -> float:
    """How far a sum of so many noises with weights of this sum of squares is from 0; rounded up."""
    sigma = sigma_of(design)
    squares = squares * SAFE
    short = 1 - confidence - DOUBT - noises * design.table_error()
    if short <= 0:
        raise CannotCertifyError("The confidence is too close to one for these tables. Ask for less.")
    far = -float(special.ndtri(short / 2)) * SAFE
    return far * sigma * math.sqrt(squares) + math.sqrt(math.log(2 / DOUBT) * squares / 2)
