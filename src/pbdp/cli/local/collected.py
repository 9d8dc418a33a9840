"""Counts of the reports in a file, block by block; what cannot be used is counted by its reason."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from pbdp.cli.local.report_file import REPORT, SEED, SURVEY
from pbdp.cli.local.rows import Block, Wanted, blocks_of
from pbdp.cli.progress import Progress
from pbdp.errors import InputError
from pbdp.local.counts import Counts, count_groups, count_reports, no_counts

if TYPE_CHECKING:
    from pbdp.cli.local.cells import Cells
    from pbdp.local.mechanism import LocalMechanism

BROKEN = "broken row"
# Numbers of people that floats hold exactly.
MOST_USERS = 1 << 53
# Any other fingerprint: an empty text is that of no survey.
NO_SURVEY = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Collected:
    """The counts of one file, and whether the file says which survey its reports are of."""

    name: str
    counts: Counts
    said: bool


def collected(
    mechanism: LocalMechanism,
    name: str,
    given_format: str | None,
    column: str | None,
    times: str | None,
    *,
    whole: bool,
    progress: Progress,
) -> Collected:
    """Count a file of reports, or of reports with how often each occurs in the column `times`."""
    more = {SURVEY: False, SEED: False} | ({} if times is None else {times: True})
    wanted = Wanted(
        column=column,
        whole=whole,
        usual=REPORT,
        more=more,
        needed=() if times is None else (times,),
        # a row of a grouped table may stand for any number of people, so it is not passed over
        broken_rows=times is None,
    )
    total, said, done = no_counts(mechanism), True, 0
    with closing(blocks_of(name, given_format, wanted)) as blocks:
        for block in blocks:
            mine = _mine(mechanism, block)
            said = said and mine is not None
            everything = np.ones(len(block.cells), dtype=bool)
            total += _counted(mechanism, block, everything if mine is None else mine, times)
            if total.users >= MOST_USERS:
                raise InputError("input", "of fewer than 2^53 reports", "more")
            done += len(block.cells)
            progress.tell(f"counting {name}, row", done, block.total)
    return Collected(name=name, counts=total, said=said)


def _mine(mechanism: LocalMechanism, block: Block) -> npt.NDArray[np.bool_] | None:
    """Which rows say that they are of this survey; None where neither they nor the file say of which."""
    said = block.more.get(SURVEY)
    if said is not None and said.dtype == object:
        return np.asarray(said == mechanism.fingerprint)
    if said is None and block.survey is None:
        return None
    # whole numbers are no fingerprints
    return np.full(len(block.cells), said is None and block.survey == mechanism.fingerprint)


def _counted(
    mechanism: LocalMechanism, block: Block, mine: npt.NDArray[np.bool_], times: str | None
) -> Counts:
    counts = None if times is None else _times(block, times)
    total = no_counts(mechanism)
    if block.broken:
        total = replace(total, refused={BROKEN: block.broken})
    for rows, fingerprint in ((mine, mechanism.fingerprint), (~mine, NO_SURVEY)):
        if not rows.any():
            continue
        if counts is None:
            found = count_reports(mechanism, block.cells[rows], fingerprint=fingerprint)
        else:
            found = count_groups(mechanism, block.cells[rows], counts[rows], fingerprint=fingerprint)
        total += found
    seeds = block.more[SEED][mine].tolist() if SEED in block.more else []
    marked = block.insecure_test or any(seed is not None for seed in seeds)
    return replace(total, insecure_test=marked and bool(mine.any()))


def _times(block: Block, times: str) -> Cells:
    """How often each report occurs; a row without a whole number refuses the file."""
    cells = block.more[times]
    if cells.dtype == object:
        bad = np.array(
            [type(cell) is not int or not 0 <= cell < MOST_USERS for cell in cells.tolist()], dtype=bool
        )
    else:
        bad = (cells < 0) | (cells >= MOST_USERS)
    if bad.any():
        place = block.place(int(np.argmax(bad)))
        raise InputError(f"count in {place}", "a whole number from 0 to below 2^53", "something else")
    return cells.astype(np.int64)
