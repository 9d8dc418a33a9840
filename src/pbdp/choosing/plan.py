"""Plans for choosing: state how near the best, and how often; get the least epsilon, and choose."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from pbdp.accounting.risk import guarantee_curve, guessed_right, risk_words
from pbdp.choosing import limits, rivals
from pbdp.choosing.coins import Coins, largest_coin
from pbdp.choosing.independent import independent_for, independent_from
from pbdp.choosing.picks import BLIND, Picks, coins_from, picks_for, together
from pbdp.choosing.scores import Given, Scale, read_scores
from pbdp.choosing.uniform import uniform_for, uniform_from
from pbdp.choosing.way import Asked, Way
from pbdp.choosing.weighted import Weighted, weighted_for
from pbdp.digits import delta_text, percent_down, rounded_up
from pbdp.domains import confidence_level, non_negative, positive
from pbdp.errors import (
    CannotCertifyError,
    ContradictionError,
    InputError,
    PlanFileError,
    unchangeable,
)
from pbdp.mechanism.neighbors import Neighbors
from pbdp.noise.kernel import Index
from pbdp.planning.pricing.priced import Priced
from pbdp.release.keystream import Keystream, keystream_from
from pbdp.spelling import NotJsonError, content_of, json_of, neighbours_too

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FORMAT = "pbdp-choice"
# Of plans that pick by permute and flip, and of all others.
VERSION, _OTHERS = 1, 2
# Searches end this near to what they look for; the figures of what is found are exact.
_CLOSE, _NEAR = 1e-9, 1e-4


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
    way: Way

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
        what = "the option" if asked.top == 1 else f"{asked.top} options, each"
        best = "the best" if asked.top == 1 else "the best that is left"
        delta = f" at delta {delta_text(self.delta)}" if self.delta else ""
        return (
            f"{what} of {asked.options:,} within {self.within:g} of {best}, with confidence "
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
        own = {**self.way.record(), "step": self.scale.step}
        # as the first version has it: picks say nothing of other laws and limits, unless there is one pick
        plain = picks and asked.picks > 1
        others = () if plain else self.alternatives
        return {
            "format": FORMAT,
            "version": VERSION if picks else _OTHERS,
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
            **({"coins": own} if picks else {"way": own}),
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
        way = Picks(coins=coins_from(law, name)) if record["version"] == VERSION else _way(law, asked, name)
        plan = ChoicePlan(asked=asked, within=within, way=way)
        claims = record["epsilon"], record["confidence"]
        agrees = math.isclose(plan.epsilon, claims[0], rel_tol=_CLOSE, abs_tol=1e-15) and math.isclose(
            plan.confidence, claims[1], rel_tol=_CLOSE
        )
    except (KeyError, TypeError) as problem:
        raise PlanFileError(name, "complete", f"without a usable {problem}", _HOW) from None
    if not agrees or plan.scale.step != law.get("step"):
        raise PlanFileError(name, "as it was made", "one whose claims do not hold", "Make it again.")
    return plan


def _way(law: Mapping[str, Any], asked: Asked, name: str) -> Way:
    match law["kind"]:
        case "uniform":
            return uniform_from(law, asked)
        case "independent":
            return independent_from(law)
        case "exponential mechanism":
            return Weighted(coins=coins_from(law, name))
        case _:
            raise PlanFileError(name, "one of a known law", "another one", "Use a newer pbdp.")


@neighbours_too
def plan_choice(
    *,
    options: int,
    sensitivity: float,
    within: float | None = None,
    confidence: float | None = None,
    epsilon: float | None = None,
    integer: bool = False,
    rising: bool = False,
    top: int = 1,
    delta: float = 0.0,
    neighbors: str = Neighbors.ADD_REMOVE,
) -> ChoicePlan:
    """The plan with the least epsilon that chooses within `within` of the best so often.

    `options` is how many there are; `sensitivity` the most by which one person changes any score, where one
    person may change all of them; `integer` says that scores are whole numbers; `rising` that adding a person
    never lowers one, as with counts, which halves epsilon; `top` how many are chosen, best first, each within
    `within` of the best that is left, with the confidence for all of them. As many as there are options give
    an order. Of all laws that can do it the one with the least epsilon is taken, at the `delta`; without one
    there are fewer. Give two of within, confidence and epsilon.

    `neighbors` is "add/remove" or "replace".
    """
    asked = Asked(
        options=options,
        sensitivity=sensitivity,
        integer=integer,
        rising=rising,
        top=top,
        delta=delta,
        neighbors=neighbors,
    )
    if [within, confidence, epsilon].count(None) != 1:
        raise ContradictionError("within, confidence and epsilon", "two", _given(within, confidence, epsilon))
    if within is not None:
        non_negative("within", within)
    if confidence is not None:
        confidence_level("confidence", confidence)
    if epsilon is not None:
        positive("epsilon", epsilon)
    if asked.options == 1:
        return ChoicePlan(asked=asked, within=within or 0.0, way=BLIND)
    if epsilon is None:
        if within is None or confidence is None:
            raise AssertionError("two are given")
        return _cheapest(plans_for(asked, within, confidence))
    plans = plans_of_epsilon(asked, within, confidence, epsilon)
    if within is not None:
        return max(plans, key=lambda plan: plan.confidence)
    return min(plans, key=lambda plan: (plan.within, plan.epsilon))


@neighbours_too
def choose(
    scores: object,
    *,
    sensitivity: float,
    within: float | None = None,
    confidence: float | None = None,
    epsilon: float | None = None,
    integer: bool = False,
    rising: bool = False,
    top: int = 1,
    delta: float = 0.0,
    column: str | None = None,
    names: str | None = None,
    neighbors: str = Neighbors.ADD_REMOVE,
) -> object:
    """The option whose score is near the best, or the list of the `top` ones; see `plan_choice`.

    `scores` is a mapping or a pandas Series from options to their scores, a list or array of scores, where
    options are their places, or a pandas, polars or Arrow frame: `column` has the scores then, and `names`
    the options. Nothing counts what is spent: `Budget.choose` does.

    `sensitivity`, `within`, `confidence`, `epsilon`, `integer`, `rising`, `delta` and `neighbors` are as in
    `plan_choice`.
    """
    given = read_scores(scores, column=column, names=names)
    plan = plan_choice(
        options=len(given.options),
        sensitivity=sensitivity,
        within=within,
        confidence=confidence,
        epsilon=epsilon,
        integer=integer,
        rising=rising,
        top=top,
        delta=delta,
        neighbors=neighbors,
    )
    return plan.choose(given)


Make = Callable[[Asked, float, float], Way | None]


def _picks(asked: Asked, within: float, confidence: float) -> Way:
    way = picks_for(asked, within, confidence)
    if way.right(asked, way.scale(within, asked)) < confidence:
        raise CannotCertifyError(
            "So many options and so high a confidence need coins finer than can be drawn. Ask for a lower "
            "confidence, or for fewer options."
        )
    return way


def _other_ways(asked: Asked) -> list[Make]:
    """What else than permute and flip may cost less: nothing for one pick, and less without a delta."""
    if asked.picks < 2:
        return []
    return [uniform_for, *((weighted_for, independent_for) if asked.delta else ())]


def plan_picks(asked: Asked, within: float, confidence: float) -> ChoicePlan:
    """The plan by permute and flip."""
    return ChoicePlan(asked=asked, within=within, way=_picks(asked, within, confidence))


def plans_for(asked: Asked, within: float, confidence: float) -> list[ChoicePlan]:
    """A plan by each law that can do it: permute and flip first, unless only others can."""
    found: list[ChoicePlan] = []
    refusal: CannotCertifyError | None = None
    for make in (_picks, *_other_ways(asked)):
        try:
            way = make(asked, within, confidence)
        except CannotCertifyError as problem:
            refusal = refusal or problem
            continue
        if way is not None:
            found.append(ChoicePlan(asked=asked, within=within, way=way))
    if not found:
        raise refusal or CannotCertifyError("No law was found. Ask for a wider width.")
    return found


def _cheapest(plans: list[ChoicePlan]) -> ChoicePlan:
    """The least epsilon; permute and flip, which comes first, among equals."""
    return min(plans, key=lambda plan: plan.epsilon)


def plans_of_epsilon(
    asked: Asked, within: float | None, confidence: float | None, epsilon: float
) -> list[ChoicePlan]:
    """The best plan of an epsilon by each law, permute and flip first, for a width or for a confidence."""
    if within is not None:
        return _most_confident(asked, within, epsilon)
    if confidence is None:
        raise AssertionError("two are given")
    return _narrowest(asked, confidence, epsilon)


def _most_confident(asked: Asked, within: float, epsilon: float) -> list[ChoicePlan]:
    """The most confident plan of an epsilon by each law."""
    each = _each(epsilon, asked)
    blind = ChoicePlan(asked=asked, within=within, way=BLIND)
    found = [_for_width(_picks, blind, lambda plan: (plan.epsilon_each or 0.0) <= each, _CLOSE)]
    others = _other_ways(asked)
    return found + [_for_width(make, blind, lambda plan: plan.epsilon <= epsilon, _NEAR) for make in others]


def _for_width(make: Make, blind: ChoicePlan, fits: Callable[[ChoicePlan], bool], close: float) -> ChoicePlan:
    """What is asked for is met by less and less until none is left; blind chance, if nothing fits."""
    asked, within = blind.asked, blind.within
    low, high = 1 / asked.options, 1.0
    best = blind
    for _ in range(60):
        middle = 1 - math.sqrt((1 - low) * max(1 - high, (1 - low) * 1e-6))
        if not low < middle < high:
            break
        plan = _made(make, asked, within, middle)
        if plan is not None and fits(plan):
            best, low = plan, middle
        else:
            high = middle
        if high - low <= close * (1 - high):
            break
    return best


def _narrowest(asked: Asked, confidence: float, epsilon: float) -> list[ChoicePlan]:
    """The narrowest plan of an epsilon by each law; permute and flip has one."""
    each = _each(epsilon, asked)
    coin = largest_coin(asked.options, confidence, asked.picks)
    people = 1 if asked.rising else 2
    needed = math.log(1 / coin) if coin < 1 else 0.0
    widest = 2 * needed * people * asked.sensitivity / each + asked.sensitivity

    def by_picks(width: float) -> ChoicePlan | None:
        plan = plan_picks(asked, width, confidence)
        return plan if (plan.epsilon_each or 0.0) <= each else None

    found = [_for_confidence(by_picks, asked, widest, 1e-6) or plan_picks(asked, widest, confidence)]
    for make in _other_ways(asked):

        def by_this(width: float, make: Make = make) -> ChoicePlan | None:
            plan = _made(make, asked, width, confidence)
            return plan if plan is not None and plan.epsilon <= epsilon else None

        # wider than by permute and flip is of no use
        other = _for_confidence(by_this, asked, found[0].within, _NEAR)
        found += [] if other is None else [other]
    return found


def _for_confidence(
    at: Callable[[float], ChoicePlan | None], asked: Asked, high: float, close: float
) -> ChoicePlan | None:
    low, best = 0.0, None
    for _ in range(60):
        middle = (low + high) / 2
        plan = at(float(math.floor(middle)) if asked.integer else middle)
        if plan is not None:
            best, high = plan, middle
        else:
            low = middle
        if high - low <= (0.25 if asked.integer else close * high):
            break
    return best


def _made(make: Make, asked: Asked, within: float, confidence: float) -> ChoicePlan | None:
    try:
        way = make(asked, within, confidence)
    except CannotCertifyError:
        return None
    return None if way is None else ChoicePlan(asked=asked, within=within, way=way)


def _each(epsilon: float, asked: Asked) -> float:
    """The largest epsilon of one pick with which all of them are within this one, up to a hair."""
    picks = max(asked.picks, 1)
    low, high = epsilon / picks, epsilon
    if not asked.delta or picks == 1:
        return low
    while high - low > 1e-4 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if together(middle, picks, asked.delta) <= epsilon else (low, middle)
    return low


def _given(within: float | None, confidence: float | None, epsilon: float | None) -> str:
    named = {"within": within, "confidence": confidence, "epsilon": epsilon}
    return ", ".join(name for name, value in named.items() if value is not None) or "none"
