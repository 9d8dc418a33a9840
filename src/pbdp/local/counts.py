"""Counts of reports: all that an estimate needs. They come in pieces and add up.

Where the reports are in a database, the counting is one line of SQL there,
    select report, count(*) from reports group by report,
and `count_groups` takes its two columns.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from pbdp.errors import InputError
from pbdp.kinds import TEXT, instance_of
from pbdp.local.domain import Codes
from pbdp.local.mechanism import MECHANISM, LocalMechanism, Reports
from pbdp.local.value_codes import REASONS, read_values
from pbdp.signatures import checked

OTHER_CONFIGURATION = "another configuration"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Counts:
    """A tally of good reports, how many people sent them, and how many reports were refused and why.

    `marks` count what does not depend on answers (see `alarms`). `insecure_test` says that some came from a
    test seed.
    """

    fingerprint: str
    tally: Codes
    users: int
    marks: Codes = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    refused: Mapping[str, int] = field(default_factory=dict)
    insecure_test: bool = False

    def __add__(self, other: Counts) -> Counts:
        if self.fingerprint != other.fingerprint or len(self.tally) != len(other.tally):
            raise InputError("counts", "of one configuration", f"{self.fingerprint} and {other.fingerprint}")
        reasons = sorted({*self.refused, *other.refused})
        return Counts(
            fingerprint=self.fingerprint,
            tally=self.tally + other.tally,
            users=self.users + other.users,
            marks=self.marks + other.marks,
            refused={why: self.refused.get(why, 0) + other.refused.get(why, 0) for why in reasons},
            insecure_test=self.insecure_test or other.insecure_test,
        )

    @property
    def refused_reports(self) -> int:
        """How many reports were refused."""
        return sum(self.refused.values())


COUNTS = instance_of(Counts, "counts of its reports")


@checked(mechanism=MECHANISM)
def no_counts(mechanism: LocalMechanism) -> Counts:
    """The counts of no reports, to add others to."""
    return Counts(
        fingerprint=mechanism.fingerprint,
        tally=np.zeros(mechanism.cells, dtype=np.int64),
        users=0,
        marks=np.zeros(sum(len(law.chances) for law in mechanism.mark_laws), dtype=np.int64),
    )


@checked(mechanism=MECHANISM, fingerprint=TEXT)
def count_reports(mechanism: LocalMechanism, reports: object, *, fingerprint: str | None = None) -> Counts:
    """Counts of a column of reports.

    Those of `Reports` carry their fingerprint; for a plain column give the one that came with it. Reports of
    another configuration are refused, all of them.
    """
    insecure = False
    if isinstance(reports, Reports):
        insecure = reports.insecure_test_seed is not None
        if fingerprint is None:
            fingerprint = reports.fingerprint
        reports = reports.values
    array = read_values("reports", reports).array
    return _counted(mechanism, array, None, fingerprint, insecure)


@checked(mechanism=MECHANISM, fingerprint=TEXT)
def count_groups(
    mechanism: LocalMechanism,
    reports: object,
    counts: object = None,
    *,
    fingerprint: str | None = None,
) -> Counts:
    """Counts from the result of a group-by: a mapping of report to count, or its two columns."""
    if isinstance(reports, Mapping):
        if counts is not None:
            raise InputError("counts", "left out beside a mapping", "both")
        counts = list(reports.values())
        reports = list(reports)
    array = read_values("reports", reports).array
    times = read_values("counts", counts).array
    if times.dtype == object and all(type(time) is int for time in times.tolist()):
        try:
            times = times.astype(np.int64)
        except OverflowError:
            raise InputError("counts", "below 2^63", "a larger one") from None
    if times.dtype.kind not in "iu" or len(times) != len(array):
        raise InputError("counts", "one whole number for each report", "others")
    # the sum in Python's numbers, which do not overflow
    if len(times) and (int(times.min()) < 0 or sum(times.tolist()) >= 2**53):
        raise InputError("counts", "0 or more, below 2^53 together", "others")
    return _counted(mechanism, array, times.astype(np.int64), fingerprint, insecure=False)


def _counted(
    mechanism: LocalMechanism, array: Any, times: Codes | None, fingerprint: str | None, insecure: bool
) -> Counts:
    total = len(array) if times is None else int(times.sum())
    nothing = no_counts(mechanism)
    if fingerprint is not None and fingerprint != mechanism.fingerprint:
        refused = {OTHER_CONFIGURATION: total}
        return replace(nothing, refused=refused)
    codes = mechanism.report_codes(array)
    refused = {}
    if len(codes) and int(codes.min()) < 0:
        for code, why in REASONS.items():
            bad = codes == code
            found = int(np.count_nonzero(bad) if times is None else times[bad].sum())
            if found:
                refused[why] = found
        good = codes >= 0
        array, codes, times = array[good], codes[good], None if times is None else times[good]
    return Counts(
        fingerprint=mechanism.fingerprint,
        tally=mechanism.tally(array, codes, times) if len(codes) else nothing.tally,
        users=len(codes) if times is None else int(times.sum()),
        marks=mechanism.marks(array, codes, times) if len(codes) else nothing.marks,
        refused=refused,
        insecure_test=insecure,
    )
