"""Adversaries that choose as they go against the budget's filter, every strategy played out.

    PYTHONPATH=src:. python tests/soak/adversaries.py [games] [seed]

Prints how far the best strategies got, as shares of delta, and ends with exit code 1 if one got past it.
"""

from __future__ import annotations

import sys
import time

import numpy as np

from tests.accounting.filters.games import against, random_game

GAMES = 10_000


def main() -> None:
    games = int(sys.argv[1]) if len(sys.argv) > 1 else GAMES
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    rng = np.random.default_rng(seed)
    start, reached = time.monotonic(), []
    for number in range(games):
        filter_, choices = random_game(rng)
        share = against(filter_, choices).largest_delta((7, 5, 4)[len(choices) - 1]) / filter_.delta
        reached.append(share)
        if share > 1:
            print(f"game {number} of seed {seed} got to {share:.6g} of delta: {filter_}")
    middle, high = np.quantile(reached, [0.5, 0.99])
    print(
        f"{games:,} games in {time.monotonic() - start:.0f} s: the best strategy of all got to "
        f"{max(reached):.4f} of delta, one game in a hundred to {high:.4f}, half of them to {middle:.4f}"
    )
    sys.exit(max(reached) > 1)


if __name__ == "__main__":
    main()
