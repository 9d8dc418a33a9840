"""A plan: what is asked of one or more answers, the noise that serves them, and the proof of both.

A plan has parts. A number, or several releases of it, is one part; so is a vector. Several requirements that
are planned together are a part each. One certificate holds for all parts together.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np

from pbdp.accounting.exact.tables import table_delta
from pbdp.digits import delta_text, loss_text, order_text, percent_down
from pbdp.errors import ContradictionError, InputError, did_you_mean, shown, unchangeable
from pbdp.mechanism.design import AnyDesign, Design
from pbdp.mechanism.grid import Grid
from pbdp.mechanism.neighbors import Neighbors
from pbdp.mechanism.requirement import Requirement
from pbdp.noise.kernel import Array, Index
from pbdp.parameters import instance
from pbdp.planning.certificate import Certificate, Certified, ProvenDesign, noise_delta
from pbdp.release.law import OutputLaw, law_at
from pbdp.release.publisher import Number
from pbdp.release.releaser import Form, Prepared, Released, Releaser
from pbdp.reported import Reported

if TYPE_CHECKING:
    from pbdp.planning.limit.closed_form import Limit

Ends = float | Array


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One requirement and the design that serves it.

    `confidence` is the probability with which every answer meets the requirement, at least: for each number,
    or for all of them together if so asked. Parts of a joint plan have a name.
    """

    requirement: Requirement
    design: AnyDesign
    confidence: float
    name: str = ""
    _releaser: Releaser | None = field(init=False, default=None, repr=False, compare=False)

    @property
    def releases(self) -> int:
        """How many numbers of this part one person may affect."""
        return self.requirement.releases * self.requirement.touched

    @property
    def composed(self) -> int:
        """How many releases it counts as in a composition; noise accounted for a whole vector is one."""
        return 1 if isinstance(self.design, ProvenDesign) else self.releases

    @property
    def releaser(self) -> Releaser:
        """What draws for this part; made at the first release, then kept."""
        if self._releaser is None:
            made = Releaser(requirement=self.requirement, design=self.design, confidence=self.confidence)
            object.__setattr__(self, "_releaser", made)
            return made
        return self._releaser

    def describe(self) -> str:
        """The noise in words."""
        if isinstance(self.design, ProvenDesign):
            return self.design.describe(self.requirement)
        grid = self.design.grid.describe()
        if self.requirement.coordinates is None:
            return f"{self.design.name} noise on {grid}"
        where = f"each of {self.requirement.dimensions} coordinates"
        return f"independent {self.design.name} noise in {where}, on {grid}"

    def law_at(self, answer: Number) -> OutputLaw:
        """Every output and its probability when this is the true answer, or one coordinate of it.

        With a delta these are the table's own weights, all of them; for a Rényi plan those of the ideal law.
        """
        publisher = self.releaser.publisher
        return law_at(publisher, publisher.exact_steps(answer))


@dataclass(frozen=True, slots=True, kw_only=True)
class Alternative:
    """Another mechanism that was certified for the same requirement."""

    family: str
    epsilon: float
    confidence: float


@unchangeable("A plan", "Its certificate holds for what it says: make another plan.")
@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Plan(Reported):
    """Parts whose noise meets their requirements, and the certificate of all of them together.

    `missing` is the part of delta that is set aside for outputs that a neighbor can never produce (see
    `together.joint`); the noise has the rest.
    """

    parts: tuple[Part, ...]
    certificate: Certificate
    missing: float = 0.0
    # what stands beside the plan is found when it is asked for, and kept
    _found: dict[str, Any] = field(init=False, default_factory=dict, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not self.parts:
            raise InputError("parts", "at least one", "none")
        delta = common_delta([part.requirement for part in self.parts], rdp_order=self.certificate.rdp_order)
        if delta != self.certificate.delta:
            raise ContradictionError("delta", "that of the requirements", self.certificate.delta)
        if self.missing and delta is not None:
            noise_delta(delta, self.missing)
        names = Counter(part.name for part in self.parts)
        if len(self.parts) > 1 and (repeated := [name for name, count in names.items() if count > 1]):
            raise InputError("names of the parts", "different", ", ".join(map(repr, repeated)))

    # ---- what is guaranteed

    @property
    def epsilon(self) -> float:
        """Guaranteed privacy loss, in total, at `delta` or `rdp_order`."""
        return self.certificate.epsilon

    @property
    def delta(self) -> float | None:
        """The delta that epsilon holds at, or None for a Rényi plan."""
        return self.certificate.delta

    @property
    def rdp_order(self) -> float | None:
        """The Rényi order that epsilon holds at, or None."""
        return self.certificate.rdp_order

    @property
    def confidence(self) -> float:
        """Probability with which every answer meets its requirement, at least; joint if so asked."""
        return min(part.confidence for part in self.parts)

    @property
    def neighbors(self) -> Neighbors:
        """The neighboring relation that the guarantee is for."""
        return Neighbors(self.parts[0].requirement.neighbors)

    @property
    def releases(self) -> int:
        """How many numbers one person may affect, in all parts."""
        return sum(part.releases for part in self.parts)

    # ---- what is asked, and the noise, of plans with one part

    @property
    def only(self) -> Part:
        """The part of a plan that has one."""
        if len(self.parts) > 1:
            raise ContradictionError(
                "plan",
                "one for a single requirement here",
                f"one for {', '.join(part.name for part in self.parts)}",
                "Look at its parts one by one: plan.alone(name), or part=NAME.",
            )
        return self.parts[0]

    @property
    def is_joint(self) -> bool:
        """Whether its parts have names, as requirements that were planned together have."""
        return bool(self.parts[0].name)

    def part(self, name: str) -> Part:
        """The part of this name.

        `name` is that of a requirement.
        """
        if not self.is_joint:
            raise ContradictionError("part", "left out for a plan without parts", shown(name))
        instance("part", name, str, "a name")
        for part in self.parts:
            if part.name == name:
                return part
        names = [part.name for part in self.parts]
        raise InputError("part", f"among {', '.join(names)}", shown(name), did_you_mean(name, names))

    def alone(self, name: str) -> Plan:
        """One part by itself: what holds for all that is published holds for a part of it.

        `name` is that of the part.
        """
        part = replace(self.part(name), name="")
        return replace(self, parts=(part,))

    @property
    def requirement(self) -> Requirement:
        """What is asked."""
        return self.only.requirement

    @property
    def mechanism(self) -> AnyDesign:
        """The noise: kernel, boost and region, in steps of the grid."""
        return self.only.design

    @property
    def design(self) -> Design:
        """The noise of one number, or of each coordinate of a vector; refused where it has no such law."""
        return number_design(self.only.design)

    @property
    def chosen(self) -> Certified:
        """The noise with its certificate, as its alternatives have."""
        return Certified(design=self.only.design, certificate=self.certificate)

    @property
    def grid(self) -> Grid:
        """The grid that outputs live on."""
        return self.only.design.grid

    @property
    def within(self) -> float | str | list[float] | None:
        """The width, as it was asked for."""
        return self.requirement.region.within

    # ---- what stands beside it

    @property
    def others(self) -> tuple[Certified, ...]:
        """What else can be certified for the same requirement, best first; found when this is asked."""
        if self.is_joint:
            return ()
        if "others" not in self._found:
            asked = self.requirement
            if asked.is_one_by_one:
                from pbdp.planning.planner import all_families, certified_laws

                known = certified_laws(asked, all_families())
            else:
                from pbdp.planning.vectors.plan import certified_vectors

                known = certified_vectors(asked)
            name = self.mechanism.name
            self._found["others"] = tuple(entry for entry in known if entry.design.name != name)
        found: tuple[Certified, ...] = self._found["others"]
        return found

    @property
    def alternatives(self) -> tuple[Alternative, ...]:
        """Other noise for the same requirement, best first, each certified."""
        return tuple(
            Alternative(
                family=other.design.name,
                epsilon=other.certificate.epsilon,
                confidence=other.certificate.confidence,
            )
            for other in self.others
        )

    @property
    def limit(self) -> Limit | None:
        """An epsilon that no mechanism for the requirement can go below; None where none is known."""
        if "limit" not in self._found:
            from pbdp.planning.limit.closed_form import limit_of

            self._found["limit"] = None if self.is_joint else limit_of(self.requirement)
        found: Limit | None = self._found["limit"]
        return found

    def limit_of_any_law(self) -> Limit | None:
        """An epsilon that no mechanism can go below, not even with a law of its own for every answer.

        A linear program proves it, for one release of one number: also for relative widths and ranges, where
        `limit` is None. It takes seconds and is kept; None where nothing is proved.
        """
        if "limit of any law" not in self._found:
            from pbdp.planning.limit.answers import limit_of_any_law

            found = None if self.is_joint else limit_of_any_law(self.requirement, self.epsilon)
            self._found["limit of any law"] = found
        known: Limit | None = self._found["limit of any law"]
        return known

    def risk(self, prior: float = 0.5) -> float:
        """How often the best attacker guesses right whether a person is in the data, at most.

        The attacker believes it with probability `prior` beforehand and sees all releases of the plan. From
        the tables themselves, rounded up.
        """
        from pbdp.accounting.risk import guessed_right

        return guessed_right(_delta_curve(self), prior)

    def risk_words(self) -> str:
        """The same at even odds, in a sentence."""
        from pbdp.accounting.risk import risk_words

        return risk_words(self.risk(), self.neighbors.question)

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What the guarantee rests on."""
        from pbdp.planning.assumptions import assumptions_of

        return assumptions_of(self)

    def __repr__(self) -> str:
        names = (
            f"{len(self.parts)} part{'s'[: len(self.parts) != 1]}"
            if self.is_joint
            else self.only.requirement.describe()
        )
        sure = percent_down(self.confidence)
        return f"<Plan: {names}, {sure} of the time; {self._loss()}>"

    def _loss(self) -> str:
        at = (
            f"delta {delta_text(self.delta)}"
            if self.delta is not None
            else f"Rényi order {order_text(self.rdp_order or 0.0)}"
        )
        return f"epsilon {loss_text(self.epsilon)} at {at}"

    def summary(self) -> str:
        """The plan in one line."""
        noise = "; ".join(
            f"{part.name + ': ' if part.name else ''}{part.describe()}, {part.requirement.describe()} with "
            f"confidence {percent_down(part.confidence)}"
            for part in self.parts
        )
        return f"{noise}; {self._loss()}"

    # ---- releases

    @property
    def releaser(self) -> Releaser:
        """What draws for the only part."""
        return self.only.releaser

    # the first signature that fits counts: a whole number may come back as a float, where the grid is real
    @overload
    def release(  # type: ignore[overload-overlap]
        self,
        answers: float,
        *,
        disjoint: bool = False,
        interval: Literal[False] = False,
        insecure_test_seed: None = None,
    ) -> float: ...

    @overload
    def release(
        self,
        answers: Form,
        *,
        disjoint: bool = False,
        interval: Literal[False] = False,
        insecure_test_seed: None = None,
    ) -> Form: ...

    @overload
    def release(  # type: ignore[overload-overlap]
        self,
        answers: Mapping[str, object],
        *,
        disjoint: bool = False,
        interval: bool | float = False,
        insecure_test_seed: int | None = None,
    ) -> dict[str, Released[object]]: ...

    @overload
    def release(
        self,
        answers: Form,
        *,
        disjoint: bool = False,
        interval: bool | float = False,
        insecure_test_seed: int | None = None,
    ) -> Released[Form]: ...

    def release(
        self,
        answers: object,
        *,
        disjoint: bool = False,
        interval: bool | float = False,
        insecure_test_seed: int | None = None,
    ) -> object:
        """Publish a number, or each of a list, numpy array, pandas or polars column, in the same form.

        n numbers are n releases, at most `releases` of the plan, unless no person affects more than one of
        them (`disjoint`). A vector has as many numbers as the plan has dimensions and is one release. A plan
        of several parts takes answers by the parts' names, or in their order. Only this call is checked: a
        ledger counts across calls and processes.

        `interval` gives a `Released` with the interval that each number stands for, at the plan's confidence
        (True) or at another (0.99). `insecure_test_seed` repeats the noise, for tests; `Released` says so.
        """
        if not self.is_joint:
            return self.releaser.release(
                answers, disjoint=disjoint, interval=interval, insecure_test_seed=insecure_test_seed
            )
        given = self.answers_by_part(answers)
        # every part is checked before any of them is drawn
        for part, own in given:
            part.releaser.check_count(part.releaser.prepared(own).count, disjoint)
        drawn = {
            part.name: part.releaser.release(
                own,
                disjoint=disjoint,
                interval=interval,
                insecure_test_seed=None if insecure_test_seed is None else insecure_test_seed + index,
            )
            for index, (part, own) in enumerate(given)
        }
        return drawn if isinstance(answers, Mapping) else list(drawn.values())

    def prepared(self, answers: object, *, disjoint: bool = False) -> Prepared:
        """The answers of all parts, their types checked, to be drawn once they are paid for.

        A vector, and the answers of all parts of a joint plan, count as one release of the plan.

        `disjoint` says that no person affects more than one of the answers.
        """
        if not self.is_joint:
            ready = self.releaser.prepared(answers)
            return ready if self.requirement.coordinates is None else replace(ready, count=1)
        given = [(part, part.releaser.prepared(own)) for part, own in self.answers_by_part(answers)]
        for part, ready in given:
            part.releaser.check_count(ready.count, disjoint)
        counts = [ready.count for _, ready in given]
        ends = np.cumsum(counts)[:-1]

        def restored(values: Array | Index) -> Any:
            parts: list[Any] = np.split(values, ends)
            drawn = {part.name: ready.restored(own) for (part, ready), own in zip(given, parts, strict=True)}
            return drawn if isinstance(answers, Mapping) else list(drawn.values())

        return Prepared(
            count=1,
            draw=lambda keystream: np.concatenate([ready.draw(keystream) for _, ready in given]),
            restored=restored,
            shape=counts,
        )

    @property
    def package(self) -> int:
        """How many requests one payment covers: the releases of a number, one vector, all parts once."""
        return 1 if self.is_joint else self.requirement.releases

    def answers_by_part(self, answers: object) -> list[tuple[Part, object]]:
        """The answers of each part: given by name, or in the order of the parts."""
        names = [part.name for part in self.parts]
        if isinstance(answers, Mapping):
            if unknown := [str(name) for name in answers if name not in names]:
                rule = f"among {', '.join(names)}"
                near = did_you_mean(unknown[0], names)
                raise InputError("names of the answers", rule, ", ".join(unknown), near)
            if missing := [name for name in names if name not in answers]:
                raise InputError("answers", "given for every part", f"none for {', '.join(missing)}")
            return [(part, answers[part.name]) for part in self.parts]
        if not isinstance(answers, list | tuple) or len(answers) != len(self.parts):
            rule = f"given by name, or a list in the order of the parts ({', '.join(names)})"
            raise InputError("answers", rule, f"a {type(answers).__name__}")
        return list(zip(self.parts, answers, strict=True))

    @overload
    def interval(  # type: ignore[overload-overlap]
        self, published: float, confidence: float | None = None
    ) -> tuple[float, float]: ...

    @overload
    def interval(  # type: ignore[overload-overlap]
        self, published: Mapping[str, object], confidence: float | None = None
    ) -> dict[str, tuple[Ends, Ends]]: ...

    @overload
    def interval(self, published: object, confidence: float | None = None) -> tuple[Array, Array]: ...

    def interval(self, published: object, confidence: float | None = None) -> object:
        """Low and high that hold the true answer with at least this confidence, or with the plan's own.

        A range by itself holds all outputs, so that its plan's own confidence tells nothing of the answer.

        They are arrays for several numbers, each of which has the confidence by itself, and for a vector,
        which has it as a whole. Numbers of several parts are given by the parts' names, as many as there are,
        or in their order, and so are their intervals.

        `published` is what was published, with all its digits.
        """
        if not self.is_joint:
            return self.releaser.interval(published, confidence)
        if isinstance(published, Mapping):
            given = [(self.part(name), own) for name, own in published.items()]
            return {part.name: part.releaser.interval(own, confidence) for part, own in given}
        return [part.releaser.interval(own, confidence) for part, own in self.answers_by_part(published)]

    def likelihood(self, published: object, answers: Sequence[object]) -> Array:
        """P(this is published) for each candidate for the true answer; the law is public.

        A candidate has the form of what was published: a number, a list of them, answers of all parts.
        """
        if not self.is_joint:
            return self.releaser.likelihood(published, answers)
        candidates = [self.answers_by_part(answer) for answer in answers]
        each = [
            part.releaser.likelihood(own, [candidate[index][1] for candidate in candidates])
            for index, (part, own) in enumerate(self.answers_by_part(published))
        ]
        return np.asarray(np.prod(each, axis=0))

    def answer_in_steps(self, answer: Number) -> int:
        """A true number on the grid: rounded half up and clamped where the plan says so.

        `answer` is any number.
        """
        return self.releaser.publisher.exact_steps(answer)

    def law_at(self, answer: Number) -> OutputLaw:
        """Every output and its probability when this is the true answer, or one coordinate of it.

        `answer` is any number that the plan is for.
        """
        return self.only.law_at(answer)

    # ---- files

    def save(self, path: str | Path) -> None:
        """Write the plan as versioned JSON.

        `path` names the file.
        """
        from pbdp.planning.plan_file import save_plan

        save_plan(self, path)

    @classmethod
    def load(cls, path: str | Path, neighbors: str | None = None) -> Plan:
        """Read a plan and check what will be drawn again; `neighbors` is the relation that is relied on.

        `path` names the file.
        """
        from pbdp.planning.plan_file import load_plan

        return load_plan(path, neighbors)


def plan_of(requirement: Requirement, chosen: Certified) -> Plan:
    """The plan of one part that was certified."""
    part = Part(requirement=requirement, design=chosen.design, confidence=chosen.certificate.confidence)
    return Plan(parts=(part,), certificate=chosen.certificate)


def number_design(design: AnyDesign) -> Design:
    """A design for single numbers, or for each coordinate of a vector; other noise is refused."""
    if not isinstance(design, Design):
        raise InputError(
            "plan",
            "one with the same noise for every number, added to it",
            f"{design.name} noise, which has a proof of its own",
            "plan.mechanism is its noise.",
        )
    return design


def _delta_curve(plan: Plan) -> Callable[[float], float]:
    """An upper bound for delta at every epsilon: from the table of one number, else of all composed.

    Where a composition tells next to nothing, as of a very small epsilon, the guarantee itself does.
    """
    part = plan.parts[0]
    design = part.design
    plain = isinstance(design, Design) and design.follows_answer and not design.kernel.joint
    if plain and plan.releases == 1 and not plan.missing:
        steps = design.grid.sensitivity_in_steps(part.requirement.sensitivity)
        table = design.table_at(0.0)
        return lambda epsilon: table_delta(table, steps, epsilon).upper
    from pbdp.accounting.risk import guarantee_curve
    from pbdp.planning.pricing.priced import compose_plans

    composed = compose_plans([(plan, 1)])
    if plan.delta is None:
        return lambda epsilon: composed.delta_at(epsilon).upper
    known = guarantee_curve(plan.epsilon, plan.delta)
    return lambda epsilon: min(composed.delta_at(epsilon).upper, known(epsilon))


def common_delta(requirements: Sequence[Requirement], rdp_order: float | None = None) -> float | None:
    """The one delta of all requirements, which must agree on what they are about."""
    if not requirements:
        raise InputError("requirements", "at least one", "none")
    relations = {requirement.neighbors for requirement in requirements}
    if len(relations) > 1:
        raise ContradictionError(
            "neighbors",
            "the same for all requirements",
            " and ".join(sorted(relations)),
            "Guarantees for different relations do not add up.",
        )
    deltas = {requirement.delta for requirement in requirements}
    delta = next(iter(deltas))
    if len(deltas) > 1 or (delta is None and (rdp_order is None or len(requirements) > 1)):
        raise ContradictionError(
            "delta",
            "the same for all requirements",
            "several, or none",
            "The joint epsilon holds at one delta.",
        )
    return delta
