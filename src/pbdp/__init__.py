"""pbdp: differential privacy that meets your accuracy requirement.

plan = pbdp.plan(within=5, confidence=0.9, sensitivity=1, delta=1e-6, integer=True)
plan.epsilon       # the least privacy loss that meets it, certified
"""

from __future__ import annotations

from pbdp.errors import CannotCertifyError, InputError, PbdpError
from pbdp.planning.ask import plan
from pbdp.planning.plan import Plan

__all__ = ["CannotCertifyError", "InputError", "PbdpError", "Plan", "plan"]
__version__ = "0.1.0"
