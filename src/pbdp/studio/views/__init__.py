"""The views of the page, in the order of their links, and the answer to whatever they ask."""

from __future__ import annotations

import warnings

from pbdp.errors import LargeDeltaWarning, PbdpError
from pbdp.studio.answer import Answer
from pbdp.studio.opened import Opened
from pbdp.studio.view import Given
from pbdp.studio.views.budget import BUDGET
from pbdp.studio.views.explore import EXPLORE
from pbdp.studio.views.table import TABLE

# The first one is shown at first.
VIEWS = (EXPLORE, TABLE, BUDGET)

_OWNERS = {task: view for view in VIEWS for task in (*view.tells, *view.answers)}


def answer_to(opened: Opened, task: str, given: Given) -> Answer:
    """What a worker does: the answer to a request; mistakes in it are an answer too, with their fields."""
    view = _OWNERS[task]
    try:
        with warnings.catch_warnings():
            # what is shown says it
            warnings.simplefilter("ignore", LargeDeltaWarning)
            return {**view.tells, **view.answers}[task](opened, given)
    except PbdpError as error:
        return Answer.of({"errors": view.mistakes(error, given)}, 422)
    except MemoryError:
        return Answer.refusal("This needs more memory than there is. Ask for less.")
