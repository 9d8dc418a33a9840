"""Domains: the values that people may hold, and which of them are near one another."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from pbdp.errors import InputError
from pbdp.kinds import instance_of
from pbdp.parameters import iterated, whole

Value = int | str
Codes = npt.NDArray[np.int64]
Number = TypeVar("Number", np.int64, np.float64)

LARGEST_DOMAIN = 1 << 24


@dataclass(frozen=True, kw_only=True)
class Domain(ABC):
    """Values numbered 0, 1, ...; those near a value x are a run of `size[x]` codes from `start[x]` on.

    The run may pass the last code and go on at the first. `position[x]` is the place of x in its own run.
    """

    values: tuple[Value, ...]

    def __post_init__(self) -> None:
        kinds = {type(value) for value in self.values}
        if len(kinds) != 1 or kinds - {int, str}:
            raise InputError(
                "values", "all whole numbers or all strings", ", ".join(sorted(k.__name__ for k in kinds))
            )
        if not 2 <= len(self.values) <= LARGEST_DOMAIN:
            raise InputError("values", f"2 to {LARGEST_DOMAIN:,} values", f"{len(self.values):,}")
        if len(set(self.values)) < len(self.values):
            raise InputError("values", "listed once each", "a value listed twice")
        if any(isinstance(value, int) and not -(2**63) <= value < 2**63 for value in self.values):
            raise InputError("values", "between -2^63 and 2^63 - 1", "a larger one")

    @property
    @abstractmethod
    def start(self) -> Codes:
        """Where the run of each value begins."""

    @property
    @abstractmethod
    def size(self) -> Codes:
        """How long it is."""

    @cached_property
    def position(self) -> Codes:
        """The place of each value in its own run."""
        return np.asarray((np.arange(self.count) - self.start) % self.count)

    @abstractmethod
    def record(self) -> dict[str, Any]:
        """The domain as JSON; the order of the values numbers them from 0."""

    @property
    def count(self) -> int:
        """How many values there are."""
        return len(self.values)

    @property
    def grouped(self) -> bool:
        """Whether any values belong together, so that groups differ from values."""
        return True

    @property
    @abstractmethod
    def groups(self) -> tuple[str, ...]:
        """Names of the categories, or of the neighborhoods of a scale."""

    @abstractmethod
    def members(self) -> npt.NDArray[np.bool_]:
        """Row for each group: which codes are in it."""

    @abstractmethod
    def group_sums(self, by_value: npt.NDArray[Number]) -> npt.NDArray[Number]:
        """Sums of something given for each value, over the values of each group; of each row, if in rows."""


@dataclass(frozen=True, kw_only=True)
class CategoryDomain(Domain):
    """Values in categories: those of the first category first, then those of the second, ..."""

    sizes: tuple[int, ...]
    names: tuple[str, ...]

    def __post_init__(self) -> None:
        super().__post_init__()
        if any(size < 1 for size in self.sizes) or sum(self.sizes) != self.count:
            raise InputError("categories", "not empty, and together all values", "others")
        if len(self.sizes) < 2:
            raise InputError("categories", "two or more", "one", "With one, nothing is learned from it.")
        if len(set(self.names)) != len(self.sizes):
            raise InputError("category names", "one different name for each category", f"{len(self.names)}")

    @cached_property
    def category_of(self) -> Codes:
        """The number of each value's category."""
        return np.repeat(np.arange(len(self.sizes)), self.sizes)

    @cached_property
    def start(self) -> Codes:
        return np.asarray((np.cumsum(self.sizes) - self.sizes)[self.category_of])

    @cached_property
    def size(self) -> Codes:
        return np.array(self.sizes, dtype=np.int64)[self.category_of]

    def record(self) -> dict[str, Any]:
        return {
            "values": list(self.values),
            "categories": {"sizes": list(self.sizes), "names": list(self.names)},
        }

    @property
    def grouped(self) -> bool:
        return len(self.sizes) < self.count

    @property
    def groups(self) -> tuple[str, ...]:
        return self.names

    def members(self) -> npt.NDArray[np.bool_]:
        return np.asarray(self.category_of == np.arange(len(self.sizes))[:, None])

    def group_sums(self, by_value: npt.NDArray[Number]) -> npt.NDArray[Number]:
        return np.asarray(np.add.reduceat(by_value, np.cumsum((0, *self.sizes[:-1])), axis=-1))


@dataclass(frozen=True, kw_only=True)
class ScaleDomain(Domain):
    """Values in their order, each with a neighborhood of `width` values, itself in the middle.

    On a ring the last value is next to the first. On a line the neighborhood of a value near an end is moved
    inwards until it fits. So every neighborhood has `width` values, which keeps all rows of the matrix
    permutations of each other and the paper's probabilities exact.
    """

    width: int
    ring: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if whole("width", self.width, least=3) % 2 == 0 or self.width >= self.count:
            raise InputError(
                "width",
                f"odd and below the number of values, {self.count}",
                self.width,
                "It counts the value.",
            )

    @cached_property
    def start(self) -> Codes:
        start = np.arange(self.count) - self.width // 2
        return start % self.count if self.ring else np.clip(start, 0, self.count - self.width)

    @cached_property
    def size(self) -> Codes:
        return np.full(self.count, self.width, dtype=np.int64)

    def record(self) -> dict[str, Any]:
        return {"values": list(self.values), "scale": {"width": self.width, "ring": self.ring}}

    @property
    def groups(self) -> tuple[str, ...]:
        return tuple(f"near {value}" for value in self.values)

    def members(self) -> npt.NDArray[np.bool_]:
        near = np.zeros((self.count, self.count), dtype=np.bool_)
        columns = (self.start[:, None] + np.arange(self.width)) % self.count
        near[np.arange(self.count)[:, None], columns] = True
        return near

    def group_sums(self, by_value: npt.NDArray[Number]) -> npt.NDArray[Number]:
        return np.asarray(by_value @ self.members().T.astype(by_value.dtype))


def in_categories(
    categories: Mapping[str, Iterable[Hashable]] | Iterable[Iterable[Hashable]],
) -> CategoryDomain:
    """A domain from its categories: name to values, or the values only."""
    if isinstance(categories, Mapping):
        names, members = tuple(map(str, categories)), [_plain(part) for part in categories.values()]
    else:
        parts = iterated("categories", categories, "lists of values, or these by name")
        members = [_plain(part) for part in parts]
        names = tuple(_name(part, index) for index, part in enumerate(members))
    values = tuple(value for part in members for value in part)
    return CategoryDomain(values=values, sizes=tuple(map(len, members)), names=names)


def in_blocks(values: Iterable[Hashable], size: int) -> CategoryDomain:
    """Consecutive categories of `size` values each; the last one has what is left over."""
    listed, step = _plain(values), whole("category size", size)
    return in_categories([listed[at : at + step] for at in range(0, len(listed), step)])


def without_categories(values: Iterable[Hashable]) -> CategoryDomain:
    """Every value a category of its own: boosted response is then plain randomized response (GRR)."""
    return in_blocks(values, 1)


def on_scale(values: Iterable[Hashable], width: int, *, ring: bool = False) -> ScaleDomain:
    """A rating scale: neighborhoods of `width` values (odd, counting the value) on a line or a ring."""
    return ScaleDomain(values=_plain(values), width=width, ring=ring)


def _plain(values: Iterable[Hashable]) -> tuple[Value, ...]:
    """Values as Python's own int or str; other types are left for the domain to refuse."""
    listed = list(islice(iterated("values", values, "a list of values"), LARGEST_DOMAIN + 1))
    if len(listed) > LARGEST_DOMAIN:
        raise InputError("values", f"at most {LARGEST_DOMAIN:,}", "more")
    return tuple(map(_python, listed))


def _python(value: Hashable) -> Value:
    if isinstance(value, np.integer):
        return int(value)
    return str(value) if isinstance(value, np.str_) else value  # type: ignore[return-value]


def _name(part: Sequence[Value], index: int) -> str:
    if not part:
        return f"category {index + 1}"
    return str(part[0]) if len(part) == 1 else f"{part[0]}..{part[-1]}"


DOMAIN = instance_of(Domain, "a domain, such as in_blocks(range(10, 101), 10)")
