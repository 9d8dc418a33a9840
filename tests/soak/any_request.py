"""Thousands of requests, drawn over all that the docs allow, each planned twice in processes of their own.

Run: PYTHONPATH=. python tests/soak/any_request.py [requests] [first seed]

A request is at fault if it ends with anything but a plan or a refusal, takes more than 10 seconds of a core,
needs more than 6 GB, is more than 1 % above the limit where that is claimed, or is planned differently in the
second process.
"""

from __future__ import annotations

import json
import random
import resource
import subprocess
import sys
import time

import pbdp
from pbdp.errors import PbdpError
from pbdp.planning.plan_file import plan_record
from tests.planning.requests import comes_near, drawn

REQUESTS = 2000
MOST_SECONDS = 10.0
MEMORY = 6 << 30


def answer(seed: int) -> dict[str, object]:
    """What becomes of one request, and the processor seconds it takes."""
    request, began = drawn(random.Random(seed)), time.process_time()
    try:
        plan = pbdp.plan(**request)
        record = plan_record(plan)
    except PbdpError as refused:
        told, near = str(refused), True
    else:
        told, near = json.dumps(record), comes_near(request, plan)
    seconds = time.process_time() - began
    return {"seed": seed, "told": told, "near": near, "planned": told.startswith("{"), "seconds": seconds}


def serve() -> None:
    """Answer the seeds on standard input, one per line."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    for line in sys.stdin:
        print(json.dumps(answer(int(line))), flush=True)


def asked(seeds: list[int]) -> list[dict[str, object]]:
    """The answers of a new process; a seed that it does not survive has none."""
    found: list[dict[str, object]] = []
    left = list(seeds)
    while left:
        command = [sys.executable, __file__, "--serve"]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
            if process.stdin is None or process.stdout is None:
                raise AssertionError("both are pipes")
            for seed in list(left):
                print(seed, file=process.stdin, flush=True)
                line = process.stdout.readline()
                left.remove(seed)
                if not line:
                    break
                found.append(json.loads(line))
            process.stdin.close()
    return found


def main(requests: int, first: int) -> int:
    """Faults found, each on a line, then the figures."""
    faults, planned = 0, 0
    seconds: list[tuple[float, int]] = []
    for start in range(first, first + requests, 10):
        seeds = list(range(start, min(start + 10, first + requests)))
        once, again = ({entry["seed"]: entry for entry in asked(seeds)} for _ in range(2))
        for seed in seeds:
            wrong = []
            if seed not in once or seed not in again:
                wrong = ["no answer"]
            else:
                taken = min(float(str(entry[seed]["seconds"])) for entry in (once, again))
                seconds.append((taken, seed))
                planned += bool(once[seed]["planned"])
                wrong += ["slow"] * (taken > MOST_SECONDS) + ["far from the limit"] * (not once[seed]["near"])
                wrong += ["not the same twice"] * (once[seed]["told"] != again[seed]["told"])
            faults += bool(wrong)
            if wrong:
                print(f"seed {seed}: {', '.join(wrong)}: {drawn(random.Random(seed))}", flush=True)
    seconds.sort()
    if seconds:
        middle, (longest, slowest) = seconds[len(seconds) // 2][0], seconds[-1]
        print(f"median {middle:.2f} s of one core, longest {longest:.1f} s (seed {slowest})")
    print(f"{requests} requests: {planned} planned, {requests - planned} refused, {faults} faults")
    return faults


if __name__ == "__main__":
    if "--serve" in sys.argv:
        serve()
    else:
        numbers = [int(argument) for argument in sys.argv[1:]]
        sys.exit(main(*([*numbers, *[REQUESTS, 0][len(numbers) :]][:2])) > 0)
