"""prv_accountant: seconds to epsilon of Gaussian releases. python prv_composition.py SIGMA DELTA T..."""

from __future__ import annotations

import json
import sys
import time

from prv_accountant import GaussianMechanism, PRVAccountant  # type: ignore[import-not-found]


def main() -> None:
    sigma, delta, *counts = sys.argv[1:]
    found = {}
    for text in counts:
        count, times, upper = int(text), [], 0.0
        for _ in range(3):
            start = time.perf_counter()
            accountant = PRVAccountant(
                prvs=[GaussianMechanism(noise_multiplier=float(sigma))],
                max_self_compositions=[count],
                eps_error=0.01,
                delta_error=float(delta) * 1e-3,
            )
            upper = accountant.compute_epsilon(delta=float(delta), num_self_compositions=[count])[2]
            times.append(time.perf_counter() - start)
        found[text] = {"seconds": times, "epsilon": float(upper)}
    print(json.dumps(found))


if __name__ == "__main__":
    main()
