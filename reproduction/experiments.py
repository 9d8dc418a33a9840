"""Every experiment that `pbdp reproduce` runs: a new one is named here."""

from __future__ import annotations

from reproduction import broken_bounds
from reproduction import figure_1_noise_shapes as noise_shapes
from reproduction import figure_4_runtime as runtime
from reproduction import figure_5a_feasible as feasible
from reproduction import figure_7_adult as adult
from reproduction.discussion_section import extensions
from reproduction.experiment import Experiment
from reproduction.figure_6_many_releases import composition
from reproduction.figures_2_and_3_accuracy.figures import AGAINST_CONFIDENCE, AGAINST_WIDTH

# In the order of the paper's figures; supplements come last.
EXPERIMENTS: tuple[Experiment, ...] = (
    noise_shapes.EXPERIMENT,
    AGAINST_WIDTH,
    AGAINST_CONFIDENCE,
    *(module.EXPERIMENT for module in (runtime, feasible, composition, adult, broken_bounds, extensions)),
)
