"""Plans for choosing: what they promise and cost, how they choose, and their files. `search` finds them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from pbdp.accounting.risk import guarantee_curve, guessed_right, risk_words
from pbdp.choosing.exponential_mechanism import ExponentialMechanism
from pbdp.choosing.law import Law
from pbdp.choosing.limit import limit_of_one, limit_of_several
from pbdp.choosing.permute_and_flip import PermuteAndFlip
from pbdp.choosing.request import Asked
from pbdp.choosing.scores import Given, Scale, read_scores
from pbdp.choosing.uniform import UniformNoise
from pbdp.digits import delta_text, percent_down, rounded_up
from pbdp.errors import unchangeable
from pbdp.json_records import VERSION, broken_refused, check_claims, file_content, of_format, record_in, write
from pbdp.mechanism.neighbors import Neighbors
from pbdp.noise.kernel import Index
from pbdp.parameters import non_negative
from pbdp.planning.pricing.priced import Priced
from pbdp.release.keystream import Keystream, keystream_from
from pbdp.reported import Reported

FORMAT = "pbdp-choice"
_LAWS: dict[object, type[Law]] = {
    law.name: law for law in (PermuteAndFlip, ExponentialMechanism, UniformNoise)
}


class Alternative(NamedTuple):
    """Another law, and its epsilon for the same accuracy at the same delta, certified from its table."""

    name: str
    epsilon: float


@unchangeable("A plan", "What it promises follows from what it is: make another plan.")
@dataclass(frozen=True, kw_only=True)  # no slots: what is asked for is found once
class ChoicePlan(Reported):
    """A certified way of choosing: `choose` takes scores and gives an option, or the `top` ones."""

    asked: Asked
    within: float
    way: Law

    # ------------------------------------------------------------------------------------- what it claims

    @cached_property
    def scale(self) -> Scale:
        """The steps that scores are counted in."""
        return self.way.scale(self.within, self.asked)

    @cached_property
    def epsilon_each(self) -> float | None:
        """The loss of one pick by permute and flip, at delta 0; None for laws that choose all at once."""
        return self.way.each(self.asked, self.scale) if isinstance(self.way, PermuteAndFlip) else None

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
    def alternatives(self) -> tuple[Alternative, ...]:
        """Other laws for several picks with this confidence; for one pick none is better."""
        if self.asked.picks < 2:
            return ()
        from pbdp.choosing.search import plans_for  # which makes such plans

        others = plans_for(self.asked, self.within, self.confidence)
        found = [Alternative(plan.law, plan.epsilon) for plan in others if plan.law != self.law]
        return tuple(sorted(found, key=lambda other: other.epsilon))

    @cached_property
    def limit(self) -> float | None:
        """An epsilon that no mechanism can go below, at delta 0; proved in `limit`.

        None for several at another delta.
        """
        asked = self.asked
        losing = self.scale.losing(self.within, asked)
        if asked.picks > 1:
            if asked.delta:
                return None
            return limit_of_several(asked.options, asked.picks, self.confidence, *losing)
        return limit_of_one(asked.options, self.confidence, *losing) if asked.picks else None

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
            "guessed_right": self.risk(),
            "law": {**self.way.record(), "step": self.scale.step},
        }

    def save(self, path: Path | str) -> None:
        """Write the plan as JSON.

        `path` names the file.
        """
        write("plan file", path, file_content(self.record()))

    @classmethod
    def load(cls, path: Path | str) -> ChoicePlan:
        """Read a plan; what it claims is computed again, and has to agree.

        `path` names the file.
        """
        return plan_from_record(record_in("plan file", path, FORMAT), str(path))


def plan_from_record(given: object, name: str = "record") -> ChoicePlan:
    """The plan of a record; what it claims is computed again, and has to agree."""
    record = of_format(given, FORMAT, name)
    with broken_refused(name):
        asked = Asked(**{setting: record[setting] for setting in Asked.settings()})
        law = record["law"]
        way = _LAWS[law["kind"]].read(law, asked)
        plan = ChoicePlan(asked=asked, within=non_negative("within", record["within"]), way=way)
        check_claims(plan.record(), record, "plan")
        return plan
