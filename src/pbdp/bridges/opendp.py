"""OpenDP's measurements as what a budget pays for.

budget.reserve(priced_measurement(measurement, 1), key="theirs")
"""

from __future__ import annotations

from typing import Any

from pbdp.bridges import curve, needed_by
from pbdp.errors import InputError
from pbdp.mechanism.neighbors import Neighbors
from pbdp.planning.pricing.priced import Claim, Measured

with needed_by("The bridge to OpenDP", "opendp"):
    import opendp.prelude as dp
    from opendp.mod import Measurement

# Who are neighbors at a distance of one between datasets.
_RELATIONS = {
    "SymmetricDistance": Neighbors.ADD_REMOVE,
    "InsertDeleteDistance": Neighbors.ADD_REMOVE,
    "ChangeOneDistance": Neighbors.REPLACE,
    "HammingDistance": Neighbors.REPLACE,
}


def priced_measurement(
    measurement: Measurement, d_in: Any, *, neighbors: str | None = None, label: str = "measurement"
) -> Claim | Measured:
    """An OpenDP measurement as a budget pays for it, by its own privacy map at `d_in`.

    With (epsilon, delta) it is a claim; with a privacy profile, which zero-concentrated loss is turned into,
    it is paid for by its curve. Whoever calls it answers for OpenDP's map. `neighbors` follows from datasets
    at a distance of 1, and has to be given elsewhere.
    """
    metric = str(measurement.input_metric.type).rpartition("::")[2].partition("<")[0]
    if neighbors is None:
        if metric not in _RELATIONS or d_in != 1:
            rule = "given, unless datasets are at a distance of 1"
            raise InputError("neighbors", rule, f"{metric} and {d_in!r}", f"One of {', '.join(Neighbors)}.")
        neighbors = _RELATIONS[metric]
    if str(measurement.output_measure) == "ZeroConcentratedDivergence":
        measurement = dp.c.make_zCDP_to_approxDP(measurement)
    loss: Any = measurement.map(d_in)  # type: ignore[no-untyped-call]  # OpenDP annotates no results
    match str(measurement.output_measure):
        case "SmoothedMaxDivergence":
            return curve(loss.delta, loss.epsilon, neighbors, label)
        case "MaxDivergence":
            return Claim(epsilon=loss, neighbors=neighbors, label=label)
        case "Approximate(MaxDivergence)":
            return Claim(epsilon=loss[0], delta=loss[1], neighbors=neighbors, label=label)
    rule = "max_divergence, its approximate or smoothed form, or zero_concentrated_divergence"
    raise InputError("output measure", rule, f"{measurement.output_measure}")
