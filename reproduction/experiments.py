"""All experiments, in the order of the paper's figures; the supplement comes last."""

from __future__ import annotations

from collections.abc import Sequence

from pbdp.errors import InputError
from reproduction import adult, broken_bounds, noise_shapes
from reproduction.accuracy import confidence, width
from reproduction.experiment import Experiment
from reproduction.many_releases import composition
from reproduction.ranges import feasible
from reproduction.times import runtime

EXPERIMENTS: tuple[Experiment, ...] = tuple(
    module.EXPERIMENT
    for module in (noise_shapes, width, confidence, runtime, feasible, composition, adult, broken_bounds)
)


def chosen_experiments(numbers: str | None) -> Sequence[Experiment]:
    """Those whose numbers are named, as in "2,5"; all without a name."""
    if numbers is None:
        return EXPERIMENTS
    known = {str(experiment.number): experiment for experiment in EXPERIMENTS}
    asked = [part.strip() for part in numbers.split(",")]
    unknown = [part for part in asked if part not in known]
    if unknown:
        raise InputError("--only", f"figures among {', '.join(known)}, such as 2,5", repr(numbers))
    return tuple(experiment for number, experiment in known.items() if number in asked)
