"""diffprivlib: seconds per draw of its geometric noise. python diffprivlib_draws.py COUNT"""

from __future__ import annotations

import json
import sys
import time

from diffprivlib.mechanisms import Geometric  # type: ignore[import-not-found]


def main() -> None:
    count = int(sys.argv[1])
    noise, times = Geometric(epsilon=0.4, sensitivity=1), []
    for _ in range(3):
        start = time.perf_counter()
        for _ in range(count):
            noise.randomise(1234)
        times.append((time.perf_counter() - start) / count)
    print(json.dumps(times))


if __name__ == "__main__":
    main()
