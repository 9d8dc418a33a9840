"""What every reader must know, whichever way an object is shown: warnings that several objects share.

A warning is data with a code. `statement` puts it into the statement of an object, and every renderer shows
all warnings of a statement (`tests/report/test_warnings.py` goes through them).
"""

from __future__ import annotations

from pbdp.report.statement import Caution, literal

NO_LEDGER = Caution(
    code="no_ledger",
    text="no ledger recorded this: other releases about the same people are not counted.",
)
UNSIGNED = Caution(
    code="unsigned",
    text="whoever can write the file can change it and its checksums.",
    remedy="Sign what you publish: pbdp keys sign FILE --key NAME.",
)
NAN_COUNTS = Caution(
    code="nan_counts",
    text="an answer that is NaN, or missing in the column, counts as 0; which ones were is not told.",
    remedy="Check what you release before you release it.",
)


def insecure(seed: int, never: str = "publish") -> Caution:
    """Of everything that was drawn from a test seed."""
    text = f"drawn from test seed {seed}; nothing is protected. Never {never} it."
    return Caution(code="insecure", text=literal(text))
