"""Alarms on the server's side: reports that honest clients would hardly have sent, each with its p-value.

Nobody can tell a false report from a true one by itself; that is what protects people. But some things about
reports do not depend on what people hold, or only within bounds:

- *Marks*, whose law is the same for every answer: the random coefficients of a hash,
  which question was asked. Each is compared with its law, cell by cell.
- *Cells*: how often a report occurs, or supports a value, is a sum of independent chances between the least
  and the most of any answer, so at most Bin(n, most) and at least Bin(n, least) in the usual order: exact
  tails.
- *Repeats*: where no report has a chance above c, n honest people send the same m times with probability at
  most C(n, m) c^(m - 1) (over all reports: the sum over y of a product of m chances is at most c^(m - 1)),
  and d pairs of equal ones with at most C(n, 2) c / d, by Markov.
- *Drift*: parts of the reports whose estimates differ by more than their variances allow, by the normal law.
  The people of two parts may of course differ; whether they should is for the reader to say.

A p-value is an upper bound for how often honest reports would look so odd in that respect (by the normal law
for drift), for all cells and parts looked at together. No alarm does not mean that all is well:
who sends false answers through an honest client cannot be told from people who hold them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from pbdp.errors import InputError
from pbdp.kinds import instance_of
from pbdp.local.counts import Counts, no_counts
from pbdp.local.domain import Codes
from pbdp.local.estimators import CATEGORY, MEAN, VALUE, exact_bincount
from pbdp.local.intervals import binomial_upper
from pbdp.local.mechanism import MECHANISM, LocalMechanism
from pbdp.noise.kernel import Array
from pbdp.parameters import iterated
from pbdp.signatures import checked

# p-values from which on it is said.
ALARMING = 1e-3
# A p-value below this is said to be this.
LEAST_P = 1e-300
# Reports that a part needs for the normal law.
LEAST_PART = 100
# Reports that are more likely than this repeat by themselves, and more than so many are not compared.
SURPRISING, MOST_NOTED = 1e-6, 20_000_000
# They are counted as no less likely, so that their chance has a logarithm.
LEAST_CHANCE = 1e-300


@dataclass(frozen=True, slots=True, kw_only=True)
class Alarm:
    """What is odd, and how often honest reports would be as odd, at most."""

    kind: str
    p_value: float
    words: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Repeats:
    """How often reports occurred: pairs of equal ones, and the most of one kind."""

    pairs: int
    most: int


REPEATS = instance_of(Repeats, "what `Repeating` found")
PARTS = 'counts by name: [("all", counts)]'


@dataclass(slots=True, kw_only=True)
class Repeating:
    """Counts equal reports where they would be a surprise, by 64 bits of each."""

    mechanism: LocalMechanism
    _seen: list[Codes] = field(default_factory=list)
    _times: list[Codes] = field(default_factory=list)
    _rows: int = 0

    def add(self, reports: npt.NDArray[Any], times: Codes | None) -> None:
        """Take note of reports that occurred so many times each (once, if nothing is said)."""
        chance = self.mechanism.largest_chance
        self._rows += len(reports)
        if chance is None or chance > SURPRISING or self._rows > MOST_NOTED:
            return
        if reports.dtype.kind in "iu":
            self._seen.append(reports.astype(np.int64))
        else:
            digests = (hash(report) for report in reports.tolist())
            self._seen.append(np.fromiter(digests, dtype=np.int64, count=len(reports)))
        self._times.append(np.ones(len(reports), dtype=np.int64) if times is None else times)

    def found(self) -> Repeats | None:
        """What was found, None where nothing was looked at."""
        if not self._seen or self._rows > MOST_NOTED:
            return None
        _, which = np.unique(np.concatenate(self._seen), return_inverse=True)
        often = exact_bincount(which, np.concatenate(self._times), int(which.max()) + 1)
        return Repeats(pairs=int((often * (often - 1) // 2).sum()), most=int(often.max()))


@checked(mechanism=MECHANISM, repeats=REPEATS)
def alarms(
    mechanism: LocalMechanism, parts: Sequence[tuple[str, Counts]], repeats: Repeats | None = None
) -> tuple[Alarm, ...]:
    """All that is alarming about the reports of all parts together, and about their differences."""
    parts = [_part(one) for one in iterated("parts", parts, PARTS)]
    if not parts:
        raise InputError("parts", PARTS, "none")
    total = no_counts(mechanism)
    for _, counts in parts:
        total += counts
    if total.users == 0:
        return ()
    found = [*_marks(mechanism, total), *_cells(mechanism, total)]
    if repeats is not None:
        found += _repeats(mechanism, total.users, repeats)
    found += _drift(mechanism, parts)
    said = [
        replace(alarm, p_value=max(alarm.p_value, LEAST_P)) for alarm in found if alarm.p_value < ALARMING
    ]
    return tuple(sorted(said, key=lambda each: each.p_value))


def _part(given: object) -> tuple[str, Counts]:
    if not isinstance(given, tuple) or len(given) != 2 or not isinstance(given[1], Counts):
        raise InputError("parts", PARTS, f"a part of type {type(given).__name__}")
    return given


def _marks(mechanism: LocalMechanism, counts: Counts) -> list[Alarm]:
    found = []
    start = 0
    for law in mechanism.mark_laws:
        seen = counts.marks[start : start + len(law.chances)].astype(np.float64)
        start += len(law.chances)
        users = float(seen.sum())
        if users == 0:
            continue
        rare = np.minimum(_upper(seen, users, law.chances), _lower(seen, users, law.chances))
        worst = int(np.argmin(rare))
        p = min(2 * len(rare) * float(rare[worst]), 1.0)
        seen_words = (
            f"{int(seen[worst]):,} reports with {law.names[worst]}, where {users * law.chances[worst]:,.2f}"
        )
        found.append(Alarm(kind="marks", p_value=p, words=f"{seen_words} are expected"))
    return found


def _cells(mechanism: LocalMechanism, counts: Counts) -> list[Alarm]:
    """The most extreme count beyond what any answers allow."""
    tails = []
    number = 0
    for bounds in mechanism.cell_bounds(counts.tally, counts.users):
        high = _upper(bounds.counts, bounds.users, bounds.most)
        low = _lower(bounds.counts, bounds.users, bounds.least)
        number += 2 * len(high)
        for tail, end, side in ((high, bounds.most, "at most"), (low, bounds.least, "at least")):
            at = int(np.argmin(tail))
            seen = f"{bounds.counts[at]:,.0f} reports for {bounds.names[at]}"
            expected_words = f"{side} {bounds.users * end[at]:,.1f} are expected, whatever people hold"
            tails.append((float(tail[at]), f"{seen}, where {expected_words}"))
    if not tails:
        return []
    p, words = min(tails)
    return [Alarm(kind="cells", p_value=min(p * number, 1.0), words=words)]


def _repeats(mechanism: LocalMechanism, users: int, repeats: Repeats) -> list[Alarm]:
    chance = mechanism.largest_chance
    if repeats.pairs == 0 or chance is None:
        return []
    chance = max(chance, LEAST_CHANCE)
    pairs = users * (users - 1) / 2 * chance / repeats.pairs
    most = (
        math.lgamma(users + 1)
        - math.lgamma(repeats.most + 1)
        - math.lgamma(users - repeats.most + 1)
        + (repeats.most - 1) * math.log(chance)
    )
    p = 2 * min(pairs, math.exp(min(most, 0.0)))
    words = f"{repeats.pairs:,} pairs of equal reports, one of them {repeats.most:,} times"
    expected = users * (users - 1) / 2 * chance
    return [
        Alarm(
            kind="repeats",
            p_value=min(p, 1.0),
            words=f"{words}, where up to {expected:.2g} pairs are expected",
        )
    ]


def _drift(mechanism: LocalMechanism, parts: Sequence[tuple[str, Counts]]) -> list[Alarm]:
    """Each part against all others together, in all that can be estimated."""
    large = [(name, counts) for name, counts in parts if counts.users >= LEAST_PART]
    if len(large) < 2:
        return []
    names = {VALUE: mechanism.domain.values, CATEGORY: mechanism.domain.groups, MEAN: ("the mean",)}
    kinds = [MEAN] if mechanism.estimates_means else _kinds(mechanism)
    scored = {kind: _scores(mechanism, kind, [counts for _, counts in large]) for kind in kinds}
    looked_at = sum(scores.size for scores in scored.values())
    found = []
    for place, (name, _) in enumerate(large):
        score, kind, worst = max(
            (float(s[place].max()), kind, int(s[place].argmax())) for kind, s in scored.items()
        )
        words = f"{name} differs from the rest in {names[kind][worst]} by {score:.1f} standard errors"
        found.append(Alarm(kind="drift", p_value=min(_two_sided(score) * looked_at, 1.0), words=words))
    return found


def _scores(mechanism: LocalMechanism, kind: str, parts: Sequence[Counts]) -> Array:
    """How many standard errors each part is from the others together, by group."""
    found = [mechanism.estimates(kind, counts.tally, counts.users) for counts in parts]
    users = np.array([[counts.users] for counts in parts], dtype=np.float64)
    least = mechanism.variances(kind).least
    people = np.array([each[0] for each in found])
    variance = np.maximum(np.array([each[1] for each in found]), users * least)
    others = users.sum() - users
    apart = people / users - (people.sum(axis=0) - people) / others
    noise = variance / users**2 + (variance.sum(axis=0) - variance) / others**2
    return np.asarray(np.abs(apart) / np.sqrt(noise))


def _kinds(mechanism: LocalMechanism) -> list[str]:
    """What reports tell about: values, categories or both."""
    kinds = [VALUE, CATEGORY] if mechanism.domain.grouped else [VALUE]
    return [kind for kind in kinds if np.all(np.isfinite(mechanism.variances(kind).worst))]


def _upper(counts: Array, users: float, chances: Array) -> Array:
    """P(Bin(users, chance) >= count)."""
    return binomial_upper(counts, np.full(len(counts), float(users)), chances)


def _lower(counts: Array, users: float, chances: Array) -> Array:
    """P(Bin(users, chance) <= count)."""
    return binomial_upper(users - counts, np.full(len(counts), float(users)), 1 - chances)


def _two_sided(score: float) -> float:
    from scipy.special import ndtr

    return float(2 * ndtr(-abs(score)))
