"""Lines of Python that check a certificate without pbdp, and the numbers that they read.

They are printed in the certificate, and the tests run them as they are printed. They use nothing but what
comes with Python, and the tables of noise that the page carries (or, for a budget, an export of the ledger).

**One number.** Everything is a whole number but e^epsilon, which has 60 digits. Where weights fall on both
sides the largest move is the worst (docs/guarantee.md); else all moves are looked at.

**Several numbers.** Privacy losses are rounded down and up to a grid and added up: the epsilon of neighbors
whose answers all differ by the sensitivity lies between the two results. A claim below the first is wrong.
"""

from __future__ import annotations

import json
from typing import Any

from pbdp.ledger.record import FORMAT, NO_PREVIOUS
from pbdp.mechanism.absolute import AbsoluteRegion
from pbdp.mechanism.design import Design
from pbdp.mechanism.grid import LinearGrid
from pbdp.planning.plan import Part, Plan

# Numbers in the tables of a page, and multiplications that its lines may take.
MOST_WEIGHTS = 100_000
MOST_WORK = 30_000_000
# Cells of the grid of losses for each number, the finest that is not too much work first.
FINENESS = (200, 100, 50, 25, 12)

READ = """import json, math, re, sys
page = open(sys.argv[1], encoding="utf-8").read()
claim = json.loads(re.search(r'id="numbers">(.*?)</script>', page, re.S)[1])
"""

ONE = f"""from decimal import Decimal, getcontext
{READ}getcontext().prec = 60
up, down = Decimal(claim["epsilon"]).exp().as_integer_ratio()  # e^epsilon = up/down
w, move, delta, guess = claim["weights"], claim["move"], 0, 0  # P(noise) times 2^62; the sensitivity
assert sum(w) == 2**62 and min(w) >= 0
top = w.index(max(w))
falls = w[:top] == sorted(w[:top]) and w[top:] == sorted(w[top:], reverse=True)
for size in [move] if falls else range(1, move + 1):
    near, far = w + [0] * size, [0] * size + w  # the weights of every output for two neighbors
    for one, two in ((near, far), (far, near)):
        delta = max(delta, sum(max(p * down - up * q, 0) for p, q in zip(one, two)) / (down * 2**62))
    guess = max(guess, sum(map(max, near, far)) / 2**63)
if claim["delta"]:  # without one the claim is of another kind, and only the risk is looked at
    print(f"delta is {{delta:.6g}}; claimed: {{claim['delta']}}")
print(f"an attacker is right {{guess:.6%}} of the time; claimed: {{claim['guessed_right']:.6%}}")
holds = (not claim["delta"] or delta <= claim["delta"]) and guess <= claim["guessed_right"]
if claim["inside"]:
    share = sum(w[slice(*claim["inside"])]) / 2**62
    print(f"within the width {{share:.6%}} of the time; claimed: {{claim['confidence']:.6%}}")
    holds = holds and share >= claim["confidence"]
print("HOLDS" if holds else "DOES NOT HOLD")
"""

SEVERAL = f"""{READ}def losses(w, move, side, rounded):  # ln(p/q) of every output, on a grid
    found = {{}}
    for pair in zip(w + [0] * move, [0] * move + w):
        p, q = pair[::side]
        loss = rounded(math.log(p / q) / claim["step"]) if p and q else math.inf
        found[loss] = found.get(loss, 0.0) + p / 2**62
    return found
def delta(law, epsilon):
    gaps = [(p, epsilon - x * claim["step"]) for x, p in law.items()]
    return claim["missing"] + sum(-p * math.expm1(gap) for p, gap in gaps if gap < 0)
def epsilon(side, rounded):
    law = {{0: 1.0}}  # losses of all numbers together
    for w, move, times in claim["tables"]:
        for one in [losses(w, move, side, rounded)] * times:
            both = {{}}
            for x, p in law.items():
                for y, q in one.items():
                    both[x + y] = both.get(x + y, 0.0) + p * q
            law = both
    low, high = 0.0, 100.0
    while high - low > 1e-9:
        middle = (low + high) / 2
        low, high = (middle, high) if delta(law, middle) > claim["delta"] else (low, middle)
    return high
least, most = (max(epsilon(1, way), epsilon(-1, way)) for way in (math.floor, math.ceil))
print(f"epsilon is from {{least:.5g}} to {{most:.5g}}; claimed: {{claim['epsilon']:.5g}}")
print("AGREES" if least <= claim["epsilon"] + 2e-9 else "DOES NOT HOLD")
"""

LEDGER = f'''import hashlib, json, sys
spent, limits, before = {{}}, {{}}, "{NO_PREVIOUS[0]}" * {len(NO_PREVIOUS)}
for line in open(sys.argv[1], encoding="utf-8"):
    record = json.loads(line)
    if "hash" not in record:
        continue  # the first and the last line
    parts = ["{FORMAT}", str(record["sequence"])]
    parts += [record[name] for name in ("time", "kind", "key_id", "payload", "previous")]
    assert record["previous"] == before, "a record is missing, or was moved"
    before = hashlib.sha256("".join(f"{{len(part)}}:{{part}}," for part in parts).encode()).hexdigest()
    assert record["hash"] == before, "a record was changed"
    said = json.loads(record["payload"])
    if record["kind"] == "dataset":
        limits[said["dataset"]], spent[said["dataset"]] = said["limits"], said["spent"]
    elif record["kind"] == "recovery":
        spent |= said["spent"]
    elif "cost" in said:
        known = spent[said["dataset"]]
        spent[said["dataset"]] = {{name: known[name] + cost for name, cost in said["cost"].items()}}
        assert spent[said["dataset"]] == said["spent"], "what is spent was added up wrong"
        assert all(spent[said["dataset"]][name] <= most for name, most in limits[said["dataset"]].items())
for name in limits:
    print(name, "HOLDS: spent", spent[name], "of", limits[name])
print("last record:", before)
'''


def lines_for(plan: Plan) -> tuple[str, dict[str, Any]] | None:
    """The lines that check a plan, and the numbers they read; None where its noise has no such table."""
    designs = [part.design for part in plan.parts]
    # numbers of a joint kernel are not accounted by the moves of its table
    if not all(isinstance(one, Design) and one.follows_answer and not one.kernel.joint for one in designs):
        return None
    tables = [_table(part) for part in plan.parts]
    if sum(len(weights) for weights, _, _ in tables) > MOST_WEIGHTS:
        return None
    common = {"epsilon": plan.epsilon, "delta": plan.delta, "guessed_right": plan.risk()}
    if len(tables) == 1 and plan.releases == 1 and not plan.missing:
        weights, move, _ = tables[0]
        part = plan.parts[0]
        own = {"weights": weights, "move": move, "inside": _inside(part), "confidence": part.confidence}
        return ONE, common | own
    step = None if plan.delta is None else _step(plan, tables)
    return (
        None
        if step is None
        else (SEVERAL, common | {"missing": plan.missing, "step": step, "tables": tables})
    )


def data_text(data: dict[str, Any]) -> str:
    """The numbers as they stand in a page."""
    return json.dumps(data, separators=(",", ":"), allow_nan=False)


def _table(part: Part) -> tuple[list[int], int, int]:
    """The weights, how many steps one person moves the answer, and how many such numbers there are."""
    design = part.design
    move = design.grid.sensitivity_in_steps(part.requirement.sensitivity)
    return design.table_at(0.0).weights.tolist(), move, part.releases


def _inside(part: Part) -> tuple[int, int] | None:
    """Which weights are of noise that meets the requirement, where that is the same for all answers."""
    design, region = part.design, part.requirement.region
    plain = isinstance(design, Design) and design.decoder is None and isinstance(design.grid, LinearGrid)
    asked = part.requirement
    if not plain or not isinstance(region, AbsoluteRegion) or asked.bounds or asked.coordinates:
        return None
    table = design.table_at(0.0)
    offset = design.offset if isinstance(design, Design) else 0
    below, above = (float(end) for end in design.grid.region_in_steps(region).offsets(0.0))
    noise = table.values() + offset
    inside = ((noise >= -below) & (noise <= above)).nonzero()[0]
    return int(inside[0]), int(inside[-1]) + 1


def _step(plan: Plan, tables: list[tuple[list[int], int, int]]) -> float | None:
    """The grid of losses: as fine as the work allows, so that rounding all of them adds little to epsilon."""
    count = sum(times for _, _, times in tables)
    for fineness in FINENESS:
        step = max(plan.epsilon, 1e-6) / (fineness * count)
        if _work(tables, step) <= MOST_WORK:
            return step
    return None


def _work(tables: list[tuple[list[int], int, int]], step: float) -> int:
    """About how many products the lines take, were all losses as far apart as they can be."""
    import numpy as np

    reached, work = 1, 0
    for weights, move, times in tables:
        w = np.array(weights, dtype=np.float64)
        first, second = w[move:], w[:-move] if move < len(w) else w[:0]
        both = (first > 0) & (second > 0)
        cells = len(np.unique(np.floor(np.log(first[both] / second[both]) / step))) + 1 if both.any() else 1
        spread = float(np.ptp(np.log(first[both] / second[both]))) if both.any() else 0.0
        for _ in range(times):
            work += reached * cells
            reached = min(reached * cells, reached + int(spread / step) + 1)
            if work > MOST_WORK:
                return work
    return work
