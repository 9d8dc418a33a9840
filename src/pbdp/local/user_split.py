"""Splitting users: a coin asks each person for the category or for the value, each with all of epsilon.

How a client draws, from 1 + max(a, b) random words below 2^64, a and b being what the two parts take: u =
word 0 // 4. If u < share, the report is "c" and what the part for categories makes of the number of the
person's category, from the words after the first; else "v" and what the part for values makes of the value.
The rest of the words is not used.

Privacy: the coin does not look at the answer, so the ratio is the larger one of the two parts.

Estimates. With s the chance of the category question, g_j and f_v the unbiased coefficients of the two
parts, F_j the sum of f_v over category j of n_j values, and C_j, c_v constants (as for people spread evenly,
so that it matters little how the coins fell), a report adds to the people in category j and holding v
    C_j + a [c] (g_j - C_j)/s + (1 - a) [v] (F_j - C_j)/(1 - s),
    c_v + [v] (f_v - c_v - a (F_j - C_j)/n_j)/(1 - s) + a [c] (g_j - C_j)/(n_j s),
which is unbiased for every a, adds up, and uses both kinds of reports for both: a is the weight that makes
the variance of categories least for people spread evenly. As only one of [c], [v] is 1, squares have no
mixed terms.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from pbdp.errors import CannotCertifyError, InputError
from pbdp.local.blanket import AnswerPair
from pbdp.local.domain import CategoryDomain, Codes, Domain, without_categories
from pbdp.local.estimators import CATEGORY, NOT_KNOWABLE, VALUE, exact_bincount
from pbdp.local.intervals import PureCounts
from pbdp.local.mechanism import CellBounds, LocalMechanism, MarkLaw
from pbdp.local.subset_selection import SubsetSelection, subset_selection
from pbdp.local.value_codes import NULL, UNKNOWN, WRONG_TYPE, is_null
from pbdp.local.variances import DenseVariances, GroupVariances, ValueVariances, Variances, unknowable
from pbdp.mechanism.weights import TOTAL
from pbdp.noise.kernel import Array, Words

MARKS = ("c", "v")


@dataclass(frozen=True, kw_only=True)
class UserSplit(LocalMechanism):
    """`share` of 2^62 is the weight of the question for the category."""

    kind: ClassVar[str] = "user splitting"
    linear_variances: ClassVar[bool] = False
    domain: CategoryDomain
    of_category: SubsetSelection
    # None where all are asked for the category
    of_value: SubsetSelection | None
    share: int

    def __post_init__(self) -> None:
        least, most = (1, TOTAL - 1) if self.of_value is not None else (TOTAL, TOTAL)
        if not least <= self.share <= most:
            raise InputError("share", "above 0 and below 2^62 (2^62 without a part for values)", self.share)
        if not self.domain.grouped:
            raise InputError("domain", "one with categories", "none")

    @property
    def name(self) -> str:
        return "subset selection of categories" if self.of_value is None else self.kind

    @property
    def epsilon(self) -> float:
        return max(part.epsilon for part in self._parts)

    @property
    def parameters(self) -> dict[str, Any]:
        return {
            "total_bits": 62,
            "share": str(self.share),
            "category": self.of_category.parameters,
            "value": None if self.of_value is None else self.of_value.parameters,
        }

    @property
    def report_words(self) -> str:
        if self.of_value is None:
            return "the letter c and hexadecimal digits, a bit for each category"
        return "c or v, which says what was asked, and hexadecimal digits, a bit for each category or value"

    @classmethod
    def of_record(cls, domain: Domain, record: dict[str, Any]) -> UserSplit:
        if not isinstance(domain, CategoryDomain):
            raise InputError("domain", "one of categories", "a scale")
        given = record["parameters"]
        return cls(
            domain=domain,
            of_category=SubsetSelection.of_record(numbers_of(domain), {"parameters": given["category"]}),
            of_value=None
            if given["value"] is None
            else SubsetSelection.of_record(domain, {"parameters": given["value"]}),
            share=int(given["share"]),
        )

    @property
    def _parts(self) -> tuple[SubsetSelection, ...]:
        return (self.of_category,) if self.of_value is None else (self.of_category, self.of_value)

    @property
    def words_per_user(self) -> int:
        return 1 + max(part.words_per_user for part in self._parts)

    def draw(self, codes: Codes, words: Words) -> npt.NDArray[Any]:
        """Texts; both parts are drawn for everyone, so that time does not tell who was asked what."""
        texts: list[npt.NDArray[Any]] = []
        for mark, part, held in zip(
            MARKS, self._parts, (self.domain.category_of[codes], codes), strict=False
        ):
            internal = part.draw(held, words[:, 1 : 1 + part.words_per_user])
            texts.append(np.char.add(mark, part.published(internal, np.empty(0, dtype=np.int64))))
        if len(texts) == 1:
            return texts[0]
        return np.where((words[:, 0] >> np.uint64(2)) < np.uint64(self.share), *texts)

    def report_codes(self, reports: npt.NDArray[Any]) -> Codes:
        """0 for a report on the category, 1 for one on the value."""
        listed = reports.tolist()
        marks = np.fromiter(map(_mark, listed), dtype=np.int64, count=len(listed))
        for number, part in enumerate(self._parts):
            mine = np.flatnonzero(marks == number)
            if len(mine):
                rest = np.array([listed[place][1:] for place in mine], dtype=object)
                marks[mine] = np.where(part.report_codes(rest) < 0, UNKNOWN, number)
        return marks

    @property
    def cells(self) -> int:
        """The tally of each part, and how many reports it has."""
        return sum(part.cells + 1 for part in self._parts)

    def tally(self, reports: npt.NDArray[Any], codes: Codes, times: Codes | None) -> Codes:
        found = []
        for number, part in enumerate(self._parts):
            mine = np.flatnonzero(codes == number)
            rest = np.array([text[1:] for text in reports[mine].tolist()], dtype=object)
            often = None if times is None else times[mine]
            users = len(mine) if often is None else int(often.sum())
            counted = (
                part.tally(rest, np.zeros(len(mine), dtype=np.int64), often)
                if len(mine)
                else np.zeros(part.cells, dtype=np.int64)
            )
            found.append(np.append(counted, users))
        return np.concatenate(found)

    @property
    def mark_laws(self) -> tuple[MarkLaw, ...]:
        share = self.share / TOTAL
        names = ("the category question", "the value question")
        return (MarkLaw(chances=np.array([share, 1 - share]), names=names),)

    def marks(self, reports: npt.NDArray[Any], codes: Codes, times: Codes | None) -> Codes:  # noqa: ARG002
        return exact_bincount(codes, times, 2)

    def cell_bounds(self, tally: Codes, users: int) -> list[CellBounds]:  # noqa: ARG002
        found, start = [], 0
        for part in self._parts:
            mine = tally[start : start + part.cells]
            start += part.cells + 1
            found += part.cell_bounds(mine, int(tally[start - 1]))
        # categories are numbered in their part
        return [replace(found[0], names=self.domain.groups), *found[1:]]

    @property
    def largest_chance(self) -> float:
        share = self.share / TOTAL
        return max(
            part.largest_chance * asked for part, asked in zip(self._parts, (share, 1 - share), strict=False)
        )

    def estimates(self, kind: str, tally: Codes, users: int) -> tuple[Array, Array]:
        """Variances are exact for the people that the estimates say there are."""
        if self.of_value is None:
            if kind == VALUE:
                raise CannotCertifyError(NOT_KNOWABLE)
            return self.of_category.estimates(VALUE, tally[:-1], users)
        first = self.of_category.cells + 1
        asked, others = int(tally[first - 1]), int(tally[-1])
        by_category = self.of_category.estimates(VALUE, tally[: first - 1], asked)[0]
        by_value = self.of_value.estimates(VALUE, tally[first:-1], others)[0]
        s, a, sizes = self.share / TOTAL, self._weight, np.array(self.domain.sizes)
        centers, each = sizes / self.domain.count, 1 / self.domain.count
        from_category = (by_category - asked * centers) / s
        from_value = (self.domain.group_sums(by_value) - others * centers) / (1 - s)
        values = users * each + (by_value - others * each) / (1 - s)
        values += (a * (from_category - from_value) / sizes)[self.domain.category_of]
        truth = np.maximum(values, 0.0)
        truth *= users / max(truth.sum(), 1.0)
        categories = users * centers + a * from_category + (1 - a) * from_value
        return values if kind == VALUE else categories, self.variances(kind).at(truth)

    @cached_property
    def _weight(self) -> float:
        """a of the module's text."""
        if self.of_value is None:
            return 1.0
        s = self.share / TOTAL
        center = 1 / len(self.domain.sizes)
        first = self.of_category.variances(VALUE).mean.mean() + center * (1 - center)
        second = self.of_value.variances(CATEGORY).mean.mean() + center * (1 - center)
        return float((second / (1 - s)) / (first / s + second / (1 - s)))

    def pure(self, kind: str, tally: Codes) -> PureCounts | None:
        if self.of_value is None and kind == CATEGORY:
            return self.of_category.pure(VALUE, tally[:-1])
        return None

    def share_variances(self, kind: str) -> Variances:
        if kind == CATEGORY and self.of_value is None:
            alone = self.of_category.share_variances(VALUE)
            assert isinstance(alone, ValueVariances)  # noqa: S101 - sets of all values have no other
            inside, outside = (np.repeat(each, len(self.domain.sizes)) for each in (alone.own, alone.same))
            at = self.domain.category_of
            return GroupVariances(group=at, inside=inside, outside=outside, reach=alone.reach)
        return self._of_values if kind == VALUE else self._of_categories

    @cached_property
    def _of_values(self) -> Variances:
        return self.weighted(np.eye(self.domain.count))

    @cached_property
    def _of_categories(self) -> Variances:
        return self.weighted(self.domain.members().astype(np.float64))

    def weighted(self, weights: Array) -> Variances:
        """From the variances of the parts, by the coefficients that the module's text gives each of them."""
        s, a, at = self.share / TOTAL, self._weight, self.domain.category_of
        sizes = np.array(self.domain.sizes, dtype=np.float64)
        by_category = self.domain.group_sums(weights) / sizes
        first, second = a * by_category, weights - a * by_category[:, at]
        ways = [(self.of_category, first, s, at)]
        if self.of_value is not None:
            ways.append((self.of_value, second, 1 - s, np.arange(self.domain.count)))
        elif np.abs(second).max() > 0:
            return unknowable(len(weights), self.domain.count)
        total, reach = np.zeros(weights.shape), np.zeros(len(weights))
        for part, mix, chance, held in ways:
            own = part.weighted(mix)
            assert isinstance(own, DenseVariances)  # noqa: S101 - sets of all values have no other
            each = mix[:, held]
            middle = each.mean(axis=1)[:, None]
            total += (own.matrix[:, held] + (each - middle) ** 2) / chance
            # coefficients are at most their reach from every mean they can have
            reach = np.maximum(reach, own.reach / chance)
        total -= (weights - weights.mean(axis=1)[:, None]) ** 2
        return DenseVariances(matrix=np.maximum(total, 0.0), reach=reach + np.ptp(weights, axis=1))

    @property
    def answer_pairs(self) -> tuple[AnswerPair, ...]:
        """Of two values in different categories; two of one category differ less, by the other question
        only.
        """
        s = self.share / TOTAL
        (first,) = self.of_category.answer_pairs
        if self.of_value is None:
            return (first,)
        (second,) = self.of_value.answer_pairs
        return (first.scaled(s).beside(second.scaled(1 - s)),)


def user_split(domain: Domain, epsilon: float, share: float, size: int | None = None) -> UserSplit:
    """Splitting users with at most the given epsilon; `share` of them are asked for their category.

    `size` is that of the sets of categories, the best for their mean error if none is given.
    """
    if not isinstance(domain, CategoryDomain):
        raise InputError("domain", "one of categories", "a scale")
    return UserSplit(
        domain=domain,
        of_category=subset_selection(numbers_of(domain), epsilon, size),
        of_value=subset_selection(domain, epsilon) if share < 1 else None,
        share=min(max(round(share * TOTAL), 1), TOTAL),
    )


def numbers_of(domain: CategoryDomain) -> CategoryDomain:
    """The numbers of the categories, from 0 on, as values."""
    return without_categories(range(len(domain.sizes)))


def _mark(report: object) -> int:
    if is_null(report):
        return NULL
    if not isinstance(report, str):
        return WRONG_TYPE
    return MARKS.index(report[0]) if report[:1] in MARKS else UNKNOWN
