"""Plans for choosing: state how near the best, and how often; get the least epsilon, and choose."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from pbdp.accounting.composition.composed import compose
from pbdp.accounting.filters.steps import claimed_release
from pbdp.accounting.risk import guarantee_curve, guessed_right, risk_words
from pbdp.choosing import limits, rivals
from pbdp.choosing.coins import MOST_GAPS, Coins, coins_for, largest_coin
from pbdp.choosing.draw import chosen
from pbdp.choosing.scores import Given, Scale, read_scores, scale_for
from pbdp.digits import delta_text, percent_down, rounded_up
from pbdp.domains import confidence_level, fraction, non_negative, positive, whole
from pbdp.errors import (
    CannotCertifyError,
    ContradictionError,
    InputError,
    PlanFileError,
    unchangeable,
)
from pbdp.mechanism.neighbors import Neighbors
from pbdp.noise.kernel import Index
from pbdp.planning.pricing.priced import Claim
from pbdp.release.keystream import Keystream, keystream_from
from pbdp.spelling import NotJsonError, content_of, json_of, neighbours_too

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FORMAT = "pbdp-choice"
VERSION = 1
MOST_OPTIONS = 10**8
# Searches end this near to what they look for; the figures of what is found are exact.
_CLOSE = 1e-9


class Rival(NamedTuple):
    """Another law, and its epsilon for the same accuracy, certified from its table; at a delta if needed."""

    name: str
    epsilon: float
    delta: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What is chosen from what, and how scores move: the public side of a request."""

    options: int
    sensitivity: float
    integer: bool = False
    rising: bool = False
    top: int = 1
    delta: float = 0.0
    neighbors: str = Neighbors.ADD_REMOVE

    def __post_init__(self) -> None:
        object.__setattr__(self, "options", whole("options", self.options))
        if self.options > MOST_OPTIONS:
            raise InputError("options", f"at most {MOST_OPTIONS:,}", f"{self.options:,}")
        positive("sensitivity", self.sensitivity, "1 if one person changes every score by at most 1.")
        object.__setattr__(self, "top", whole("top", self.top))
        if self.top > self.options:
            raise InputError("top", f"at most {self.options}, the number of options", f"{self.top}")
        fraction("delta", self.delta, "Leave it out: choosing needs none.")
        object.__setattr__(self, "neighbors", Neighbors(self.neighbors))
        if self.rising and self.neighbors != Neighbors.ADD_REMOVE:
            raise ContradictionError(
                "rising",
                "used with add/remove neighbors",
                self.neighbors,
                "Whoever replaces another may raise one score and lower another; leave it out.",
            )

    @property
    def picks(self) -> int:
        """How often something is chosen: the last option that is left is no choice."""
        return min(self.top, self.options - 1)


@unchangeable("A plan", "What it promises follows from what it is: make another plan.")
@dataclass(frozen=True, kw_only=True)  # no slots: what is asked for is found once
class ChoicePlan:
    """Permute-and-flip with certified coins: `choose` takes scores and gives an option, or the `top` ones."""

    asked: Asked
    within: float
    scale: Scale
    coins: Coins

    # ------------------------------------------------------------------------------------- what it claims

    @cached_property
    def epsilon_each(self) -> float:
        """The loss of one pick, at delta 0."""
        return 0.0 if not self.asked.picks else self.coins.epsilon(self.scale.moved)

    @cached_property
    def epsilon(self) -> float:
        """The loss of all picks together, at `delta`."""
        return _together(self.epsilon_each, self.asked.picks, self.asked.delta)

    @property
    def delta(self) -> float:
        """What epsilon is for; 0 unless several are chosen and a delta was given."""
        return self.asked.delta

    @cached_property
    def confidence(self) -> float:
        """How often every pick is within `within` of the best that is left, at least, whatever the scores."""
        return self.coins.right(self.asked.options, self.scale.gap, self.asked.picks)

    @cached_property
    def alternatives(self) -> tuple[Rival, ...]:
        """Other laws for one pick with this confidence."""
        if self.asked.picks != 1:
            return ()
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
        return tuple(sorted(found, key=lambda rival: rival.epsilon))

    @cached_property
    def limit(self) -> float | None:
        """An epsilon that no mechanism can go below, for one pick at delta 0; proved in `limits`."""
        if self.asked.picks != 1:
            return None
        return limits.limit(self.asked.options, self.confidence, *self.scale.losing(self.within, self.asked))

    def risk(self, prior: float = 0.5) -> float:
        """How often the best attacker with this prior guesses right, at most, seeing all that is chosen."""
        return guessed_right(guarantee_curve(self.epsilon, self.delta), prior)

    def risk_words(self) -> str:
        """The same in a sentence."""
        return risk_words(self.risk(), Neighbors(self.asked.neighbors).question)

    @property
    def law(self) -> str:
        """What chooses."""
        return "permute and flip"

    @property
    def claim(self) -> Claim:
        """What a budget pays for, once for each pick."""
        return Claim(
            epsilon=self.epsilon_each,
            neighbors=self.asked.neighbors,
            label=f"choice of {self.asked.top} of {self.asked.options}",
        )

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
        return chosen(self.scale.steps(given.scores), self.asked.top, self.coins, keystream)

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
        asked = self.asked
        return {
            "format": FORMAT,
            "version": VERSION,
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
            "epsilon_each": self.epsilon_each,
            "guessed_right": self.risk(),
            "coins": {
                "law": "2^62 c(g) = ceil(2^62 exp(-fall * ceil(g / stride))), g = min(gap / step, last)",
                "fall": self.coins.fall,
                "stride": self.coins.stride,
                "last": self.coins.last,
                "step": self.scale.step,
            },
            "alternatives": [rival._asdict() for rival in self.alternatives],
            "limit": self.limit,
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
    if record.get("version") != VERSION:
        raise PlanFileError(f"version of {name}", f"{VERSION}", record.get("version"), "Make it again.")
    try:
        asked = Asked(
            **{
                name: record[name] for name in ("options", "sensitivity", "integer", "rising", "top", "delta")
            },
            neighbors=record["neighbors"],
        )
        within = non_negative("within", record["within"])
        law = record["coins"]
        coins = Coins(
            fall=non_negative("fall", law["fall"]),
            stride=whole("stride", law["stride"]),
            last=whole("last", law["last"], least=0),
        )
        claims = record["epsilon"], record["confidence"]
        if coins.last > 2 * MOST_GAPS:
            raise PlanFileError(f"last of {name}", f"at most {2 * MOST_GAPS:,}", coins.last, _HOW)
        plan = ChoicePlan(asked=asked, within=within, scale=scale_for(within, asked), coins=coins)
        agrees = math.isclose(plan.epsilon, claims[0], rel_tol=_CLOSE, abs_tol=1e-15) and math.isclose(
            plan.confidence, claims[1], rel_tol=_CLOSE
        )
    except (KeyError, TypeError) as problem:
        raise PlanFileError(name, "complete", f"without a usable {problem}", _HOW) from None
    if not agrees or plan.scale.step != law.get("step"):
        raise PlanFileError(name, "as it was made", "one whose claims do not hold", "Make it again.")
    return plan


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
    never lowers one, as with counts, which halves epsilon; `top` how many are chosen, one after the other,
    each within `within` of the best that is left, with the confidence for all of them. With a `delta` the
    epsilon of several picks is that of their composition. Give two of within, confidence and epsilon.

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
        only = scale_for(within or 0.0, asked)
        return ChoicePlan(asked=asked, within=within or 0.0, scale=only, coins=_BLIND)
    if epsilon is None:
        if within is None or confidence is None:
            raise AssertionError("two are given")
        return _for_accuracy(asked, within, confidence)
    each = _each(epsilon, asked)
    if within is not None:
        return _for_width(asked, within, each)
    if confidence is None:
        raise AssertionError("two are given")
    return _for_confidence(asked, confidence, each)


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
    column: str | None = None,
    names: str | None = None,
    neighbors: str = Neighbors.ADD_REMOVE,
) -> object:
    """The option whose score is near the best, or the list of the `top` ones; see `plan_choice`.

    `scores` is a mapping or a pandas Series from options to their scores, a list or array of scores, where
    options are their places, or a pandas, polars or Arrow frame: `column` has the scores then, and `names`
    the options. Nothing counts what is spent: `Budget.choose` does.

    `sensitivity`, `within`, `confidence`, `epsilon`, `integer`, `rising` and `neighbors` are as in
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
        neighbors=neighbors,
    )
    return plan.choose(given)


_BLIND = Coins(fall=0.0, stride=1, last=0)


def _for_accuracy(asked: Asked, within: float, confidence: float) -> ChoicePlan:
    scale = scale_for(within, asked)
    coin = largest_coin(asked.options, confidence, asked.picks)
    coins = coins_for(coin, scale.gap, scale.moved)
    plan = ChoicePlan(asked=asked, within=within, scale=scale, coins=coins)
    if plan.confidence < confidence:
        raise CannotCertifyError(
            "So many options and so high a confidence need coins finer than can be drawn. Ask for a lower "
            "confidence, or for fewer options."
        )
    return plan


def _for_width(asked: Asked, within: float, each: float) -> ChoicePlan:
    """The most confident plan of an epsilon: what is asked for is met by less and less until none is left."""
    low, high = 1 / asked.options, 1.0
    best = ChoicePlan(asked=asked, within=within, scale=scale_for(within, asked), coins=_BLIND)
    for _ in range(60):
        middle = 1 - math.sqrt((1 - low) * max(1 - high, (1 - low) * 1e-6))
        if not low < middle < high:
            break
        try:
            plan = _for_accuracy(asked, within, middle)
        except CannotCertifyError:
            high = middle
            continue
        if plan.epsilon_each <= each:
            best, low = plan, middle
        else:
            high = middle
        if high - low <= _CLOSE * (1 - high):
            break
    return best


def _for_confidence(asked: Asked, confidence: float, each: float) -> ChoicePlan:
    """The narrowest plan of an epsilon."""
    coin = largest_coin(asked.options, confidence, asked.picks)
    people = 1 if asked.rising else 2
    needed = math.log(1 / coin) if coin < 1 else 0.0
    width = needed * people * asked.sensitivity / each
    low, high = 0.0, 2 * width + asked.sensitivity
    best: ChoicePlan | None = None
    for _ in range(60):
        middle = (low + high) / 2
        width = float(math.floor(middle)) if asked.integer else middle
        plan = _for_accuracy(asked, width, confidence)
        if plan.epsilon_each <= each:
            best, high = plan, middle
        else:
            low = middle
        if high - low <= (0.25 if asked.integer else 1e-6 * high):
            break
    return best if best is not None else _for_accuracy(asked, high, confidence)


def _each(epsilon: float, asked: Asked) -> float:
    """The largest epsilon of one pick with which all of them are within this one, up to a hair."""
    picks = max(asked.picks, 1)
    low, high = epsilon / picks, epsilon
    if not asked.delta or picks == 1:
        return low
    while high - low > 1e-4 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if _together(middle, picks, asked.delta) <= epsilon else (low, middle)
    return low


def _together(each: float, picks: int, delta: float) -> float:
    """Picks that may depend on those before: randomized response stands for each of them."""
    total = each * picks * (1 + 2.0**-50)
    if picks < 2 or not delta or not each:
        return total
    return min(total, compose([(claimed_release(each, 0.0), picks)]).epsilon_at(delta).upper)


def _given(within: float | None, confidence: float | None, epsilon: float | None) -> str:
    named = {"within": within, "confidence": confidence, "epsilon": epsilon}
    return ", ".join(name for name, value in named.items() if value is not None) or "none"
