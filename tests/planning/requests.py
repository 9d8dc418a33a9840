"""Requests drawn over all that the docs allow: widths, confidences, deltas and releases of any size."""

from __future__ import annotations

import math
import random
from typing import Any

from pbdp.planning.plan import Plan

Request = dict[str, Any]


def drawn(chance: random.Random) -> Request:
    """One request; every size is drawn evenly on a logarithmic scale."""
    integer = chance.random() < 0.5
    sensitivity = float(round(_size(chance, 1, 1e6))) if integer else _size(chance, 1e-9, 1e9)
    request: Request = {"sensitivity": sensitivity, "integer": integer}
    if chance.random() < 0.9:
        request["delta"] = _size(chance, 1e-15, 0.1)
    else:
        request["rdp_order"] = 1 + _size(chance, 1e-3, 1e3)
    if chance.random() < 0.4:
        request["releases"] = round(_size(chance, 1, 1e9))
        request["simultaneous"] = chance.random() < 0.3
    _state_accuracy(request, chance)
    return request


def _size(chance: random.Random, low: float, high: float) -> float:
    return math.exp(chance.uniform(math.log(low), math.log(high)))


def _state_accuracy(request: Request, chance: random.Random) -> None:
    """A width, a confidence and an epsilon, one of which is left out."""
    sensitivity = request["sensitivity"]
    kind = chance.choice(["even", "even", "even", "lopsided", "one-sided", "relative", "range", "bounds"])
    width = sensitivity * _size(chance, 1e-3, 1e6)
    if request["integer"]:
        width = float(max(round(width), 1))
    if kind == "even":
        request["within"] = width
    elif kind == "lopsided":
        request["within"] = (width * chance.choice([0.0, _size(chance, 1e-6, 1)]), width)
    elif kind == "one-sided":
        request["within"] = (width, math.inf) if chance.random() < 0.5 else (math.inf, width)
    elif kind == "relative":
        request["within"] = f"{_size(chance, 0.1, 99):.6g}%+{width:.6g}"
        request["nonnegative"] = chance.random() < 0.5
    elif kind == "range":
        high = float(max(round(width), 2)) if request["integer"] else width
        request |= {"range": (0.0, high), "scale": sensitivity * _size(chance, 0.1, 1e4)}
    else:
        high = width * _size(chance, 1, 1e4)
        request |= {"within": width, "range": (0.0, float(round(high)) if request["integer"] else high)}
    sure = 1 - _size(chance, 1e-9, 0.5) if chance.random() < 0.8 else _size(chance, 1e-2, 0.5)
    question = "epsilon" if kind == "range" else chance.choice(["epsilon"] * 6 + ["confidence", "within"])
    if question != "confidence":
        request["confidence"] = sure
    if question != "epsilon":
        request["epsilon"] = _size(chance, 1e-6, 1e3)
    if question == "within":
        del request["within"]
        request.pop("nonnegative", None)


def comes_near(request: Request, plan: Plan) -> bool:
    """Within 1 % of the limit, where that is claimed: one release, a delta small beside what is missed.

    Widths from 0.3 sensitivities on for real answers (narrower ones are a few steps), any for whole ones; an
    epsilon and a delta that whole weights, of which 2^62 are one, are fine enough for. At an epsilon above 10
    a ten-thousandth of a width beyond a whole number of sensitivities counts, and no grid is as fine.
    """
    limit = plan.limit
    if limit is None or plan.releases > 1 or plan.delta is None or not isinstance(plan.within, float):
        return True
    narrow = not request["integer"] and plan.within < 0.3 * request["sensitivity"]
    stairs = plan.within / request["sensitivity"]
    narrow |= not request["integer"] and plan.epsilon > 10 and stairs - math.floor(stairs) < 1e-4
    # a weight that falls by a whole unit each time falls by more than epsilon below 1/epsilon units
    steps = plan.grid.sensitivity_in_steps(request["sensitivity"])
    narrow |= plan.epsilon * plan.delta * 2.0**62 < 16 * steps
    # a delta of the size of epsilon, or of what is missed, asks for other laws
    large = plan.delta > min(0.01 * (1 - plan.confidence), 0.01 * plan.epsilon, 1e-4)
    return narrow or large or plan.epsilon <= 1.01 * limit.epsilon + 1e-12
