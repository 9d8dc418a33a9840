"""Several requirements at once, a count within 20 and a sum within 5 % say: the least joint epsilon.

    joint = plan_together([visits, spend])                                 # accuracy given, least epsilon
    joint = narrowest_together(lambda s: [visits(20 * s), spend(5 * s)], epsilon=1.0)  # epsilon given

`joint` says what is guaranteed and proves it, `search` finds the designs, `narrowest` runs it backwards.
"""

from __future__ import annotations

from pbdp.planning.together.narrowest import narrowest_together
from pbdp.planning.together.search import plan_together

__all__ = ["narrowest_together", "plan_together"]
