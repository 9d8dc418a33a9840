"""Releasing: the answer on the grid, noise from the accounted table, the number in the answer's own form."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Generic, TypeVar

import numpy as np

from pbdp.errors import InputError
from pbdp.mechanism.design import AnyDesign
from pbdp.mechanism.requirement import Requirement
from pbdp.noise.kernel import Array, Index
from pbdp.parameters import flag, listed, promised_level
from pbdp.release.intervals import (
    Intervals,
    confidence_intervals,
    likelihoods,
    output_steps,
    relative_intervals,
    requirement_intervals,
)
from pbdp.release.keystream import SECURE, Keystream, keystream_from
from pbdp.release.law import Weights
from pbdp.release.publisher import (
    SCALARS,
    Answers,
    Publisher,
    is_number,
    machine_words,
    no_number,
    read_answers,
    read_published,
    restorer,
)
from pbdp.release.sampler import NoiseSampler, sampler_of

# Candidates that a likelihood is asked for at a time.
MOST_LIKELIHOODS = 1_000_000

# What answers come in and published numbers go out in: a list, an array, a column; a number by itself.
Form = TypeVar("Form")


@dataclass(frozen=True, slots=True, kw_only=True)
class Released(Generic[Form]):
    """Published numbers with their intervals: low <= true answer <= high with at least `confidence`, each.

    `value`, `low` and `high` have the form of the answers. `insecure_test_seed` is None unless the noise came
    from such a seed, in which case nothing is protected.
    """

    value: Form
    low: Form
    high: Form
    confidence: float
    insecure_test_seed: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Prepared:
    """Answers whose types were checked: `draw` publishes them, `restored` gives numbers their form.

    `shape` is how many of the numbers belong to each part of a plan that has several.
    """

    count: int
    draw: Callable[[Keystream], Array | Index]
    restored: Callable[[Array | Index], Any]
    shape: Sequence[int] | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Releaser:
    """Draws for one requirement and one design; made once a plan, used for every release."""

    requirement: Requirement
    design: AnyDesign
    confidence: float
    publisher: Publisher = field(init=False, repr=False)
    sampler: NoiseSampler = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "publisher", Publisher(requirement=self.requirement, design=self.design))
        object.__setattr__(self, "sampler", sampler_of(self.design))

    def check_count(self, count: int, disjoint: bool, name: str = "answer") -> None:
        """Refuse more numbers than the plan covers, unless each person affects only one of them."""
        disjoint = flag("disjoint", disjoint)
        if self.requirement.coordinates is not None:
            if count != self.requirement.dimensions:
                raise InputError(
                    name,
                    f"of {self.requirement.dimensions} numbers, the dimensions of the plan",
                    f"{count}",
                    "Make a plan for that many.",
                )
        elif count > self.requirement.releases and not disjoint:
            covered = self.requirement.releases
            numbers = "one number" if covered == 1 else f"at most {covered} numbers"
            raise InputError(
                "what is released",
                f"{numbers}, because the plan is for {'one' if covered == 1 else f'{covered} releases'}",
                f"{count} numbers",
                f"Make a plan for {count} releases, or say disjoint=True if no person affects more than one "
                "of the numbers.",
            )

    def published(self, answer: Any, keystream: Keystream = SECURE) -> Array | Index:
        """The published number for one answer, as a row."""
        return self.publisher.values_of(self.sampler.output(self.steps_of(answer), keystream))

    def steps_of(self, answer: Any) -> Index:
        """The grid point of one number, as a row.

        Whole numbers and floats that a machine word holds take the way of arrays, whose time does not depend
        on what is in them. They are written into a row, and numpy's own numbers are read as the bytes that
        they are: `np.array` would make a Python number of them first, in a time that tells small ones apart.
        Others are looked at with all their digits.
        """
        if isinstance(answer, float):
            row = np.empty(1, dtype=np.float64)
            row[0] = answer
            return self.publisher.steps_of(row)
        if isinstance(answer, int):
            words = np.empty(1, dtype=np.int64)
            with contextlib.suppress(OverflowError):
                words[0] = answer
                return self.publisher.steps_of(words)
        elif isinstance(answer, np.generic) and not isinstance(answer, np.longdouble):
            return self.publisher.steps_of(machine_words(np.frombuffer(answer, dtype=answer.dtype)))
        return np.array([self.publisher.exact_steps(answer)], dtype=np.int64)

    def column(self, answers: Answers, keystream: Keystream = SECURE) -> Array | Index:
        """Published numbers for answers that were read."""
        return self.publisher.values_of(self.output_steps(answers.steps(), keystream))

    def output_steps(self, steps: Index, keystream: Keystream = SECURE) -> Index:
        """Output steps: answer, offset and noise."""
        return self.sampler.outputs(steps, keystream)

    def intervals(
        self, published: Array, confidence: float | None, *, as_promised: bool = False
    ) -> Intervals:
        """The requirement inverted at the plan's confidence (shorter where it is relative), or at another.

        Each number has the confidence by itself; a vector has it as a whole. Files of tables hold intervals
        `as_promised`, the requirement inverted, and are verified against them.
        """
        if confidence is None:
            ways = (requirement_intervals,) if as_promised else (relative_intervals, requirement_intervals)
            for inverted in ways:
                found = inverted(self.publisher, published, self.confidence)
                if found is not None:
                    return found
            confidence = self.confidence
        each = self.requirement.confidence_each_of(promised_level("confidence", confidence))
        weights = Weights(publisher=self.publisher)
        return replace(confidence_intervals(weights, published, each), confidence=confidence)

    def interval(self, published: object, confidence: float | None = None) -> tuple[Any, Any]:
        """Low and high for a number, arrays of them for several numbers or a vector (see `intervals`)."""
        numbers = self.published_numbers(published)
        found = self.intervals(numbers, confidence)
        if isinstance(published, SCALARS):
            return float(found.low[0]), float(found.high[0])
        return found.low, found.high

    def published_numbers(self, published: object) -> Array:
        """One number, or several, as floats; refused unless this could have published them."""
        single = isinstance(published, SCALARS)
        if single and self.requirement.coordinates is not None:
            raise _no_vector("published number", published)
        numbers = read_published([published] if single else published)
        self.check_count(len(numbers), disjoint=True, name="published number")
        for number in np.unique(numbers).tolist():
            output_steps(self.publisher, number)
        return numbers

    def likelihood(self, published: object, answers: Sequence[object]) -> Array:
        """P(this is published) for each candidate: a number each, or as many numbers as were published."""
        answers = listed("answers", answers, "a list of answers", MOST_LIKELIHOODS)
        numbers, weights = self.published_numbers(published), Weights(publisher=self.publisher)
        if isinstance(published, SCALARS):
            if unfit := [type(answer) for answer in answers if not is_number(type(answer))]:
                raise no_number(unfit[0])
            known = [self.steps_of(answer) for answer in answers]
        else:
            known = [self._steps_of_several(answer, len(numbers)) for answer in answers]
        steps = np.array(known, dtype=np.int64).reshape(-1, len(numbers))
        each = [likelihoods(weights, *of) for of in zip(numbers.tolist(), steps.T, strict=True)]
        return np.asarray(np.prod(each, axis=0))

    def _steps_of_several(self, answers: object, count: int) -> Index:
        steps = read_answers(answers, self.publisher).steps()
        if len(steps) != count:
            raise InputError("answer", f"of {count} numbers, as many as were published", f"{len(steps)}")
        return steps

    def prepared(self, answers: object) -> Prepared:
        """The answers, their types checked; how many of them a plan covers is for the caller to count.

        Nothing here depends on what numbers they are: those are looked at when they are drawn for.
        """
        kind: type = type(answers)
        if is_number(kind):
            if self.requirement.coordinates is not None:
                raise _no_vector("answer", answers)
            put = restorer(kind, self.publisher.grid.whole_outputs)
            return Prepared(
                count=1,
                draw=lambda keystream: self.published(answers, keystream),
                restored=lambda out: put(out.item()),
            )
        read = read_answers(answers, self.publisher)
        if self.requirement.coordinates is not None:
            self.check_count(read.count, disjoint=False)
            if (
                self.requirement.coordinates.changed_in != "linf"
                and self.publisher.grid.whole_outputs
                and not read.whole
            ):
                # rounding a small change of every coordinate could make a large one of their sum
                raise InputError(
                    "answer",
                    "of whole numbers by their type, as the plan counts by how much they change in all",
                    "numbers of other types",
                    "Round them, and plan with the sensitivity of the rounded vector.",
                )
        return Prepared(
            count=read.count, draw=lambda keystream: self.column(read, keystream), restored=read.restored
        )

    def release(
        self,
        answers: object,
        *,
        disjoint: bool = False,
        interval: bool | float = False,
        insecure_test_seed: int | None = None,
    ) -> Any:
        """Published numbers in the form of the answers; a `Released` with intervals or a test seed."""
        keystream = keystream_from(insecure_test_seed)
        plain = interval is False and insecure_test_seed is None
        kind: type = type(answers)
        if plain and is_number(kind) and self.requirement.coordinates is None:
            # the same as below, without the objects in between
            put = restorer(kind, self.publisher.grid.whole_outputs)
            return put(self.published(answers).item())
        ready = self.prepared(answers)
        self.check_count(ready.count, disjoint)
        published = ready.draw(keystream)
        if plain:
            return ready.restored(published)
        found = self.intervals(published.astype(np.float64), None if isinstance(interval, bool) else interval)
        return Released(
            value=ready.restored(published),
            low=ready.restored(found.low),
            high=ready.restored(found.high),
            confidence=found.confidence,
            insecure_test_seed=insecure_test_seed,
        )


def _no_vector(name: str, given: object) -> InputError:
    rule = "a list, a numpy array or a column, as the plan is for vectors"
    return InputError(name, rule, f"a {type(given).__name__}")
