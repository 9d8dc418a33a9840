"""Lines of Python that check a certificate without pbdp, and the numbers that they read.

They are printed in the certificate, and the tests run them as they are printed. They use nothing but what
comes with Python, and the tables of noise that the page carries (or, for a budget, an export of the ledger).

**One number.** Everything is a whole number but e^epsilon, which has 60 digits. Where weights fall on both
sides the largest move is the worst (docs/guarantee.md); else all moves are looked at.

**Several numbers.** Privacy losses are rounded down and up to a grid and added up: the epsilon of neighbors
whose answers all differ by the sensitivity lies between the two results. A claim below the first is wrong.
Very many are added up by a Fourier transform, for which the lines need numpy.

**Noise that changes with the answer.** Pairs of neighboring answers are listed with their regions; the lines
compute the two laws of each and its delta. A claim below the largest is wrong.

**Changes in the sum of absolute values.** Laplace noise loses at most the size of a change over its scale.
What its tables differ from the law by is charged to delta as the plan says.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pbdp.ledger.record import FORMAT, NO_PREVIOUS
from pbdp.mechanism.absolute import AbsoluteRegion
from pbdp.mechanism.design import Design
from pbdp.mechanism.grid import LinearGrid
from pbdp.mechanism.requirement import Requirement
from pbdp.noise.kernel import Array
from pbdp.planning.plan import Part, Plan, number_design
from pbdp.planning.vectors.product_laplace import ProductLaplace, sensitivity_in_steps

# Numbers in the tables of a page, and multiplications that its lines may take.
MOST_WEIGHTS = 1 << 18  # a page of five megabytes
MOST_WORK = 30_000_000
# Cells of the grid of losses for each number, the finest that is not too much work first.
FINENESS = (200, 100, 50, 25, 12)
# Cells of a transform, and pairs of answers, that lines may look at.
MOST_CELLS = 1 << 23
MOST_PAIRS = 200

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

MANY = f"""import numpy as np
{READ}step = claim["step"]
def losses(w, move, side, rounded):  # ln(p/q) on a grid: its first cell, masses, what is infinite
    p, q = (np.array(one, float) / 2**62 for one in (w + [0] * move, [0] * move + w)[::side])
    both = (p > 0) & (q > 0)
    cells = rounded(np.log(p[both] / q[both]) / step).astype(int)
    return cells.min(), np.bincount(cells - cells.min(), p[both]), p[~both].sum()
def epsilon(side, rounded):
    laws = [(*losses(w, move, side, rounded), times) for w, move, times in claim["tables"]]
    size = 1 << int(sum((len(masses) - 1) * times for _, masses, _, times in laws)).bit_length()
    spectrum = 1
    for _, masses, _, times in laws:
        spectrum = spectrum * np.fft.rfft(masses, size) ** times
    p = np.fft.irfft(spectrum, size)  # losses of all numbers together
    x = step * (sum(first * times for first, _, _, times in laws) + np.arange(size))
    p, x = p[p > 1e-15], x[p > 1e-15]  # what is smaller is rounding of the transform
    missing = claim["missing"] + sum(times * infinite for _, _, infinite, times in laws)
    low, high = 0.0, 100.0
    while high - low > 1e-9:
        middle = (low + high) / 2
        delta = missing - np.sum(p * np.expm1(np.minimum(middle - x, 0)))
        low, high = (middle, high) if delta > claim["delta"] else (low, middle)
    return high
least, most = (max(epsilon(1, way), epsilon(-1, way)) for way in (np.floor, np.ceil))
print(f"epsilon is from {{least:.5g}} to {{most:.5g}}; claimed: {{claim['epsilon']:.5g}}")
print("AGREES" if least <= claim["epsilon"] + 2e-9 else "DOES NOT HOLD")
"""

CHANGING = f"""{READ}w, first, kept = claim["weights"], claim["first"], 1 - claim["boost"]
def law(low, high):  # of the noise first, first + 1, ... where it is to be from low to high
    noise = [p if low <= first + place <= high else kept * p for place, p in enumerate(w)]
    total = sum(noise)
    return [p / total for p in noise]
def delta(near, far, move):  # of two answers that are so many steps apart, the larger direction
    one, two = law(*near) + [0.0] * move, [0.0] * move + law(*far)
    factor = math.exp(claim["epsilon"])
    gaps = ((p - factor * q, q - factor * p) for p, q in zip(one, two))
    return max(map(sum, zip(*((max(a, 0.0), max(b, 0.0)) for a, b in gaps))))
worst = max(delta(*pair) for pair in claim["pairs"])
print(f"delta is {{worst:.6g}} in {{len(claim['pairs'])}} pairs of answers; claimed: {{claim['delta']}}")
print("AGREES" if worst <= claim["delta"] * (1 + 1e-9) else "DOES NOT HOLD")
"""

SUM = f"""{READ}loss = claim["change"] / claim["scale"]  # no output is more than e^loss times as likely
w = claim["weights"]  # the table of a coordinate against the law e^(-|n|/scale), n whole
top, r = w.index(max(w)), math.exp(-1 / claim["scale"])
ideal = [(1 - r) / (1 + r) * r ** abs(place - top) for place in range(len(w))]
drawing = claim["moved"] * sum(abs(p / 2**62 - q) for p, q in zip(w, ideal)) / 2
charge = (1 + math.exp(loss)) * drawing
print(f"epsilon is {{loss:.8g}}; claimed: {{claim['epsilon']:.8g}}")
print(f"drawing takes {{charge:.3g}} of delta {{claim['delta']}}")
holds = loss <= claim["epsilon"] and charge <= claim["delta"]
print("HOLDS" if holds else "DOES NOT HOLD")
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
    """The lines that check a plan, and the numbers they read; None where there is too much to check."""
    part = plan.parts[0]
    common = {"epsilon": plan.epsilon, "delta": plan.delta, "guessed_right": plan.risk()}
    if len(plan.parts) == 1 and isinstance(part.design, ProductLaplace):
        return SUM, common | _of_sums(part.design, part.requirement)
    # numbers of a joint kernel are not accounted by the moves of its table
    if not all(isinstance(part.design, Design) and not part.design.kernel.joint for part in plan.parts):
        return None
    if not all(part.design.follows_answer for part in plan.parts):
        found = _changing(plan) if plan.releases == 1 and plan.delta is not None else None
        return None if found is None else (CHANGING, common | found)
    tables = [_table(part) for part in plan.parts]
    if sum(len(weights) for weights, _, _ in tables) > MOST_WEIGHTS:
        return None
    if len(tables) == 1 and plan.releases == 1 and not plan.missing:
        weights, move, _ = tables[0]
        own = {"weights": weights, "move": move, "inside": _inside(part), "confidence": part.confidence}
        return ONE, common | own
    if plan.delta is None:
        return None
    several = common | {"missing": plan.missing, "tables": tables}
    for lines, work, most in ((SEVERAL, _work, MOST_WORK), (MANY, _cells, MOST_CELLS)):
        step = _step(plan, tables, work, most)
        if step is not None:
            return lines, several | {"step": step}
    return None


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


def _of_sums(design: ProductLaplace, asked: Requirement) -> dict[str, Any]:
    """Laplace noise whose losses are added up over the coordinates."""
    moved = sensitivity_in_steps(asked, design.grid)
    return {
        "change": moved,
        "scale": design.scale_in_steps,
        "weights": design.table.weights.tolist(),
        "moved": min(asked.touched, moved),
    }


def _changing(plan: Plan) -> dict[str, Any] | None:
    """Neighboring answers, in steps, with the noise that each prefers, and the table before that."""
    part = plan.parts[0]
    design = number_design(part.design)
    base = design.laws().base
    move = design.grid.sensitivity_in_steps(part.requirement.sensitivity)
    count = min(MOST_PAIRS, MOST_WORK // (8 * len(base.weights)))
    low, high = design.region.answers
    end = design.region.settled_from(float(design.reach))
    low, high = max(low, -end), min(high, end)
    if len(base.weights) > MOST_WEIGHTS or count < 2 or not math.isfinite(low + high):
        return None
    move = min(move, int(high - low))
    # close together where the region is narrow, and ever further apart
    answers = np.unique(np.round(np.concatenate([low + np.geomspace(1, high - low + 1, count) - 1, [0.0]])))
    answers = answers[(answers >= low) & (answers + move <= high)]
    regions = [np.broadcast_arrays(*design.region.offsets(at)) for at in (answers, answers + move)]
    pairs = [
        [_ends(near), _ends(far), move]
        for near, far in zip(*(zip(*region, strict=True) for region in regions), strict=True)
    ]
    return {"weights": base.weights.tolist(), "first": base.start, "boost": design.boost, "pairs": pairs}


def _ends(offsets: Sequence[float]) -> list[float]:
    below, above = (min(float(offset), float(MOST_WEIGHTS)) for offset in offsets)
    return [-below, above]


Tables = list[tuple[list[int], int, int]]


def _step(plan: Plan, tables: Tables, work: Callable[[Tables, float], int], most: int) -> float | None:
    """The grid of losses: as fine as the work allows, so that rounding all of them adds little to epsilon."""
    count = sum(times for _, _, times in tables)
    for fineness in FINENESS:
        step = max(plan.epsilon, 1e-6) / (fineness * count)
        if work(tables, step) <= most:
            return step
    return None


def _losses(weights: list[int], move: int) -> Array:
    """The finite losses of a table."""
    w = np.array(weights, dtype=np.float64)
    first, second = w[move:], w[:-move] if move < len(w) else w[:0]
    both = (first > 0) & (second > 0)
    return np.asarray(np.log(first[both] / second[both]))


def _cells(tables: Tables, step: float) -> int:
    """About how many cells the grid of all losses together has."""
    spread = sum(times * float(np.ptp(_losses(w, move))) for w, move, times in tables if move < len(w))
    return int(spread / step)


def _work(tables: Tables, step: float) -> int:
    """About how many products the lines take, were all losses as far apart as they can be."""
    reached, work = 1, 0
    for weights, move, times in tables:
        losses = _losses(weights, move)
        cells = len(np.unique(np.floor(losses / step))) + 1
        spread = float(np.ptp(losses)) if len(losses) else 0.0
        for _ in range(times):
            work += reached * cells
            reached = min(reached * cells, reached + int(spread / step) + 1)
            if work > MOST_WORK:
                return work
    return work
