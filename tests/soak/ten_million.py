"""Ten million random designs against enumeration; run from the root of the project:

    PYTHONPATH=src:. python tests/soak/ten_million.py [designs] [seed]

Prints how many claims are below the truth (there must be none), and by how much the others exceed it.
"""

from __future__ import annotations

import sys
import time

import numpy as np

from tests.brute import designs, force
from tests.brute.tally import Tally

BLOCK = 100
REPORT_EVERY = 30.0


def main(wanted: int, seed: int) -> int:
    """Number of violations."""
    rng = np.random.default_rng([30, seed])
    tally = Tally()
    begun = reported = time.monotonic()
    while tally.designs < wanted:
        block = designs.block(rng, size=BLOCK)
        truth = block.truths()
        tally.add(truth, *block.claims(), force.ROUNDING * (1 + (truth if block.order else 0)), block)
        if time.monotonic() - reported > REPORT_EVERY:
            reported = time.monotonic()
            print(
                f"{tally.designs:>12,} designs, {len(tally.violations)} violations, {reported - begun:.0f} s",
                flush=True,
            )
    excess = tally.excess
    print(f"designs            {tally.designs:,}")
    print(f"violations         {len(tally.violations)}")
    print(f"median excess      {np.median(excess):.2e} of the truth, where the truth is not nil")
    print(f"largest excess     {np.max(excess):.2e} of the truth")
    print(f"claimed for nil    {tally.claimed_for_nothing:.2e} at most")
    print(f"seconds            {time.monotonic() - begun:.0f}")
    for violation in tally.violations[:10]:
        print(violation)
    return len(tally.violations)


if __name__ == "__main__":
    arguments = [int(float(a)) for a in sys.argv[1:]]
    sys.exit(1 if main(*arguments[:2], *(10_000_000, 0)[len(arguments) :]) else 0)
