"""Plans for choosing: what they promise and cost, how they choose, and their files. `search` finds them."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from pbdp.accounting.risk import guarantee_curve, guessed_right, risk_words
from pbdp.choosing import limits, rivals, weighted
from pbdp.choosing.coins import Coins
from pbdp.choosing.independent import independent_from
from pbdp.choosing.law import Asked, Law
from pbdp.choosing.picks import Picks, coins_from
from pbdp.choosing.scores import Given, Scale, read_scores
from pbdp.choosing.uniform import uniform_from
from pbdp.choosing.weighted import Weighted
from pbdp.digits import delta_text, percent_down, rounded_up
from pbdp.errors import InputError, PlanFileError, unchangeable
from pbdp.json_records import NotJsonError, content_of, json_of
from pbdp.mechanism.neighbors import Neighbors
from pbdp.noise.kernel import Index
from pbdp.parameters import non_negative
from pbdp.planning.pricing.priced import Priced
from pbdp.release.keystream import Keystream, keystream_from

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FORMAT = "pbdp-choice"
# Of plans that pick by permute and flip, each pick right by itself, and of all others.
VERSION, _OTHERS = 1, 2
# The claims of a file are those of its law, but for the last digits of other machines.
_AGREE = 1e-9


class Rival(NamedTuple):
    """Another law, and its epsilon for the same accuracy, certified from its table; at a delta if needed."""

    name: str
    epsilon: float
    delta: float = 0.0


@unchangeable("A plan", "What it promises follows from what it is: make another plan.")
@dataclass(frozen=True, kw_only=True)  # no slots: what is asked for is found once
class ChoicePlan:
    """A certified way of choosing: `choose` takes scores and gives an option, or the `top` ones."""

    asked: Asked
    within: float
    way: Law

    # ------------------------------------------------------------------------------------- what it claims

    @cached_property
    def scale(self) -> Scale:
        """The steps that scores are counted in."""
        return self.way.scale(self.within, self.asked)

    @property
    def coins(self) -> Coins | None:
        """What permute and flip draws with; None for other laws."""
        return self.way.coins if isinstance(self.way, Picks) else None

    @cached_property
    def epsilon_each(self) -> float | None:
        """The loss of one pick by permute and flip, at delta 0; None for laws that choose all at once."""
        return self.way.each(self.asked, self.scale) if isinstance(self.way, Picks) else None

    @cached_property
    def epsilon(self) -> float:
        """The loss of all that is chosen, at `delta`."""
        return self.way.epsilon(self.asked, self.scale)

    @property
    def delta(self) -> float:
        """What epsilon is for; 0 unless several are chosen and a delta was given."""
        return self.asked.delta

    @cached_property
    def confidence(self) -> float:
        """How often every pick is within `within` of the best that is left, at least, whatever the scores."""
        return self.way.right(self.asked, self.scale)

    @cached_property
    def alternatives(self) -> tuple[Rival, ...]:
        """Other laws with this confidence."""
        if self.asked.picks > 1:
            from pbdp.choosing.search import plans_for  # which makes such plans

            others = plans_for(self.asked, self.within, self.confidence)
            found = [Rival(plan.law, plan.epsilon, plan.delta) for plan in others if plan.law != self.law]
        else:
            found = self._for_one()
        return tuple(sorted(found, key=lambda rival: rival.epsilon))

    def _for_one(self) -> list[Rival]:
        """Other laws for one pick."""
        if not self.asked.picks:
            return []
        question = rivals.Question(
            options=self.asked.options,
            confidence=self.confidence,
            gap=self.scale.gap,
            moved=self.scale.moved,
        )
        plain, boosted = rivals.exponential(question), rivals.boosted_exponential(question)
        found = [Rival("exponential mechanism", plain)]
        if boosted < plain:
            found.append(Rival("boosted exponential mechanism", boosted))
        delta = self.delta or rivals.DELTA
        for family in ("laplace", "gaussian"):
            epsilon = rivals.noisy_maximum(family, question, delta)
            if epsilon is not None:
                found.append(Rival(f"{family.capitalize()} noise, largest score", epsilon, delta))
        return found

    @cached_property
    def limit(self) -> float | None:
        """An epsilon that no mechanism can go below, at delta 0; proved in `limits`.

        None for several at another delta.
        """
        asked = self.asked
        losing = self.scale.losing(self.within, asked)
        if asked.picks > 1:
            if asked.delta:
                return None
            return limits.limit_of_several(asked.options, asked.picks, self.confidence, *losing)
        return limits.limit(asked.options, self.confidence, *losing) if asked.picks else None

    def risk(self, prior: float = 0.5) -> float:
        """How often the best attacker with this prior guesses right, at most, seeing all that is chosen."""
        return guessed_right(guarantee_curve(self.epsilon, self.delta), prior)

    def risk_words(self) -> str:
        """The same in a sentence."""
        return risk_words(self.risk(), Neighbors(self.asked.neighbors).question)

    @property
    def law(self) -> str:
        """What chooses."""
        return self.way.name

    @property
    def claim(self) -> Priced:
        """What a budget pays for, `times` times: each pick by permute and flip, or all at once."""
        return self.way.paid(self.asked, self.scale)[0]

    @property
    def times(self) -> int:
        """How often a budget pays for it."""
        return self.way.paid(self.asked, self.scale)[1]

    # --------------------------------------------------------------------------------------- what it does

    def choose(
        self,
        scores: object,
        *,
        column: str | None = None,
        names: str | None = None,
        insecure_test_seed: int | None = None,
    ) -> object:
        """The option that is chosen, or the list of the `top` ones, best first.

        `scores` is a mapping or a pandas Series from options to their scores, a list or array of scores,
        where options are their places, or a frame: `column` has the scores then, and `names` the options, or
        their places are. NaN counts as 0.

        `insecure_test_seed` repeats what is drawn, for tests.
        """
        given = read_scores(scores, self.asked.options, column=column, names=names)
        return self.named(given, self.drawn(given, keystream_from(insecure_test_seed)))

    def drawn(self, given: Given, keystream: Keystream) -> Index:
        """The places of what is chosen.

        `given` are scores that were read, and `keystream` is what draws.
        """
        return self.way.places(self.scale.steps(given.scores), self.asked, self.scale, keystream)

    def named(self, given: Given, places: Index) -> object:
        """The option at the only place, or the list of those at several.

        `given` are scores that were read, and `places` those that were drawn.
        """
        options = [given.options[place] for place in places.tolist()]
        return options[0] if self.asked.top == 1 else options

    # -------------------------------------------------------------------------------------------- in words

    def describe(self) -> str:
        """What is promised, in one sentence."""
        asked = self.asked
        what, best = f"one of {asked.options:,} options,", "the best"
        if asked.top > 1:
            few = f"{asked.top:,} of {asked.options:,} options"
            every = f"all {asked.options:,} options in order"
            what, best = f"{every if asked.top == asked.options else few}, each", "the best that is left"
        delta = f" at delta {delta_text(self.delta)}" if self.delta else ""
        return (
            f"{what} within {self.within:g} of {best}, with confidence "
            f"{percent_down(self.confidence)}; epsilon {rounded_up(self.epsilon)}{delta}"
        )

    def __repr__(self) -> str:
        return f"<ChoicePlan: {self.describe()}>"

    def _repr_html_(self) -> str:
        from pbdp.figures.cards import choice_card

        return choice_card(self)

    def plot(self, path: str | Path | None = None) -> Figure:
        """How likely options behind the best are taken, and epsilon against other laws and the limit.

        Written to `path`, if one is given (.png, .svg or .pdf). Needs matplotlib.
        """
        from pbdp.figures.canvas import saved
        from pbdp.figures.choice_figure import choice_figure

        return saved(choice_figure(self), path)

    def record(self) -> dict[str, object]:
        """The plan as one JSON object."""
        asked, picks = self.asked, isinstance(self.way, Picks)
        first = isinstance(self.way, Picks) and not self.way.jointly
        own = {**self.way.record(), "step": self.scale.step}
        # as the first version has it: picks say nothing of other laws and limits, unless there is one pick
        plain = first and asked.picks > 1
        others = () if plain else self.alternatives
        return {
            "format": FORMAT,
            "version": VERSION if first else _OTHERS,
            "epsilon": self.epsilon,
            "delta": self.delta,
            "confidence": self.confidence,
            "options": asked.options,
            "top": asked.top,
            "within": self.within,
            "sensitivity": asked.sensitivity,
            "integer": asked.integer,
            "rising": asked.rising,
            "neighbors": str(asked.neighbors),
            **({"epsilon_each": self.epsilon_each} if picks else {}),
            "guessed_right": self.risk(),
            **({"coins": own} if first else {"way": own}),
            "alternatives": [rival._asdict() for rival in others],
            "limit": None if plain else self.limit,
        }

    def save(self, path: Path | str) -> None:
        """Write the plan as JSON.

        `path` names the file.
        """
        text = json.dumps(self.record(), indent=2, allow_nan=False) + "\n"
        try:
            Path(path).write_text(text, encoding="utf-8")
        except OSError as error:
            raise InputError("plan file", "a path that can be written", path, str(error.strerror)) from None

    @classmethod
    def load(cls, path: Path | str) -> ChoicePlan:
        """Read a plan; what it claims is computed again, and has to agree.

        `path` names the file.
        """
        try:
            record = json_of(content_of("plan file", path, PlanFileError))
        except NotJsonError:
            raise PlanFileError(str(path), "a plan in JSON", "something else", _HOW) from None
        return plan_from_record(record, str(path))


_HOW = "Make it with `pbdp choose ... -o FILE`."


def plan_from_record(record: object, name: str = "record") -> ChoicePlan:
    """The plan of a record, certified again."""
    if not isinstance(record, Mapping) or record.get("format") != FORMAT:
        raise PlanFileError(name, "a plan for choosing", "other JSON", _HOW)
    if record.get("version") not in (VERSION, _OTHERS):
        rule = f"{VERSION} or {_OTHERS}"
        raise PlanFileError(f"version of {name}", rule, record.get("version"), "Make it again.")
    try:
        asked = Asked(
            **{
                name: record[name] for name in ("options", "sensitivity", "integer", "rising", "top", "delta")
            },
            neighbors=record["neighbors"],
        )
        within = non_negative("within", record["within"])
        law = record["coins" if record["version"] == VERSION else "way"]
        first = record["version"] == VERSION
        way = Picks(coins=coins_from(law, name), jointly=False) if first else _way(law, asked, name)
        plan = ChoicePlan(asked=asked, within=within, way=way)
        claims = [
            (record["epsilon"], plan.epsilon),
            (record["confidence"], plan.confidence),
            (record["guessed_right"], plan.risk()),
            *([(record["epsilon_each"], plan.epsilon_each or 0.0)] if "epsilon_each" in record else []),
        ]
        agrees = all(math.isclose(claimed, found, rel_tol=_AGREE, abs_tol=1e-15) for claimed, found in claims)
        agrees = agrees and law["law"] == way.record()["law"]
    except (KeyError, TypeError) as problem:
        raise PlanFileError(name, "complete", f"without a usable {problem}", _HOW) from None
    if not agrees or plan.scale.step != law.get("step"):
        raise PlanFileError(name, "as it was made", "one whose claims do not hold", "Make it again.")
    return plan


def _way(law: Mapping[str, Any], asked: Asked, name: str) -> Law:
    match law["kind"]:
        case "uniform":
            return uniform_from(law, asked)
        case "independent":
            return independent_from(law)
        case "permute and flip":
            return Picks(coins=coins_from(law, name))
        case weighted.EACH | weighted.JOINTLY as kind:
            return Weighted(coins=coins_from(law, name), jointly=kind == weighted.JOINTLY)
        case _:
            raise PlanFileError(name, "one of a known law", "another one", "Use a newer pbdp.")
