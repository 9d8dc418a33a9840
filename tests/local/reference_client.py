"""A client that knows only the JSON configuration and the documented arithmetic, one person at a time."""

from __future__ import annotations

from typing import Any


def report(record: dict[str, Any], value: int | str, words: list[int]) -> int | str:
    x = record["domain"]["values"].index(value)
    made: int | str = {
        "boosted response": _boosted,
        "local hashing": _hashed,
    }[record["mechanism"]](record["domain"], record["parameters"], x, words)
    return made


def _boosted(domain: dict[str, Any], parameters: dict[str, Any], x: int, words: list[int]) -> int | str:
    values: list[int | str] = domain["values"]
    own, near, far = ([int(w) for w in parameters[key]] for key in ("own", "near", "far"))
    if "scale" in domain:
        width, count = domain["scale"]["width"], len(values)
        first = x - width // 2
        if not domain["scale"]["ring"]:
            first = max(0, min(first, count - width))
        around = [(first + k) % count for k in range(width)]
        mine, sizes = 0, [count]
    else:
        sizes = domain["categories"]["sizes"]
        mine, first = 0, 0
        while x >= first + sizes[mine]:
            first += sizes[mine]
            mine += 1
        around = list(range(first, first + sizes[mine]))
    u = words[0] // 4
    start, code = 0, 0
    for size, weight in zip(sizes, far, strict=True):
        if u < start + size * weight:
            return values[code + (u - start) // weight]
        start += size * weight
        code += size
    e = u - start - (own[mine] - far[mine])
    if e < 0:
        return values[x]
    k = e // (near[mine] - far[mine])
    report: int | str = values[around[(around.index(x) + 1 + k) % len(around)]]
    return report


def _hashed(domain: dict[str, Any], parameters: dict[str, Any], x: int, words: list[int]) -> int:
    assert len(domain["values"]) <= parameters["g"] ** parameters["digits"]
    g, other = parameters["g"], int(parameters["other"])
    a = [word % g for word in words[1:]]
    u = words[0] // 4
    r = u // other if u < g * other else sum(c * (x // g**i % g) for i, c in enumerate(a)) % g
    return int(r + sum(c * g ** (i + 1) for i, c in enumerate(a)))
