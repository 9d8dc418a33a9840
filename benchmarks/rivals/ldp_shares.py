"""A survey by multi-freq-ldpy or pure-ldp: python ldp_shares.py LIBRARY CODES.npy VALUES REPEATS EPSILON...

Prints, for each of its mechanisms and each epsilon, the shares that it estimates in every repeat, and the
seconds of its client and of its server in the last one. All settings are the library's own defaults for the
"optimized" forms.
"""

from __future__ import annotations

import json
import math
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

Work = Callable[[Sequence[int]], tuple[Sequence[float], float, float]]


def multi_freq(values: int, epsilon: float) -> dict[str, Work]:
    from multi_freq_ldpy.pure_frequency_oracles import GRR, LH, SS, UE  # type: ignore[import-not-found]

    def work(client: Any, server: Any) -> Work:
        def run(codes: Sequence[int]) -> tuple[Sequence[float], float, float]:
            client(0)
            start = time.perf_counter()
            reports = [client(code) for code in codes]
            reported = time.perf_counter()
            shares = server(reports)
            return shares, reported - start, time.perf_counter() - reported

        return run

    given = values, epsilon
    return {
        "randomized response": work(
            lambda v: GRR.GRR_Client(v, *given), lambda r: GRR.GRR_Aggregator_MI(r, *given)
        ),
        "unary encoding": work(lambda v: UE.UE_Client(v, *given), lambda r: UE.UE_Aggregator_MI(r, epsilon)),
        "local hashing": work(lambda v: LH.LH_Client(v, *given), lambda r: LH.LH_Aggregator_MI(r, *given)),
        "subset selection": work(lambda v: SS.SS_Client(v, *given), lambda r: SS.SS_Aggregator_MI(r, *given)),
    }


def pure(values: int, epsilon: float) -> dict[str, Work]:
    from pure_ldp import frequency_oracles as f  # type: ignore[import-not-found]

    def work(client: Any, server: Any) -> Work:
        def run(codes: Sequence[int]) -> tuple[Sequence[float], float, float]:
            server.reset()
            start = time.perf_counter()
            reports = [client.privatise(code + 1) for code in codes]
            reported = time.perf_counter()
            server.aggregate_all(reports)
            people = server.estimate_all(range(1, values + 1), suppress_warnings=True)
            taken = time.perf_counter() - reported
            return [float(one) / len(codes) for one in people], reported - start, taken

        return run

    return {
        "randomized response": work(f.DEClient(epsilon, values), f.DEServer(epsilon, values)),
        "unary encoding": work(
            f.UEClient(epsilon, values, use_oue=True), f.UEServer(epsilon, values, use_oue=True)
        ),
        "local hashing": work(
            f.LHClient(epsilon, values, use_olh=True), f.LHServer(epsilon, values, use_olh=True)
        ),
    }


LIBRARIES = {"multi-freq-ldpy": multi_freq, "pure-ldp": pure}


def main() -> None:
    library, path, values, repeats, *epsilons = sys.argv[1:]
    codes = np.load(path).tolist()
    found: dict[str, dict[str, Any]] = {}
    for epsilon in epsilons:
        for name, work in LIBRARIES[library](int(values), float(epsilon)).items():
            runs = [work(codes) for _ in range(int(repeats))]
            shares = [[0.0 if math.isnan(share) else float(share) for share in run[0]] for run in runs]
            found.setdefault(name, {})[epsilon] = {
                "shares": shares,
                "client": runs[-1][1],
                "server": runs[-1][2],
            }
    print(json.dumps(found))


if __name__ == "__main__":
    main()
