"""OpenDP: a plan as a measurement, so that it works inside a pipeline.

Needs `dp.enable_features("contrib", "honest-but-curious")`:

    counting >> then_plan_release(plan)
"""

from __future__ import annotations

from pbdp.bridges.opendp.measurement import make_plan_release, opendp_measurement, then_plan_release

__all__ = ["make_plan_release", "opendp_measurement", "then_plan_release"]
