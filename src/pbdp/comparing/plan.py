"""The plan of a comparison: its noise, the analysis that goes with it, and what published numbers say."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from pbdp.comparing.experiment import Experiment, Pair, Published, checked_users
from pbdp.comparing.looks import Procedure
from pbdp.comparing.nuisance import variance_of
from pbdp.comparing.reach import Reach
from pbdp.digits import delta_text, percent_down, percent_up, rounded_up
from pbdp.errors import ContradictionError, InputError, unchangeable
from pbdp.parameters import with_words
from pbdp.paying import MEANING, PayingFor
from pbdp.planning.plan import Plan

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from pbdp.comparing.compared import Compared
    from pbdp.ledger.budget import Budget


@unchangeable("A plan", "What it promises follows from what it is: make another plan.")
@dataclass(frozen=True, kw_only=True, repr=False)  # no slots: what is asked for is found once
class ComparisonPlan:
    """What is compared, and the loss of a published number; the noise and the analysis follow from them."""

    asked: Experiment[Any]
    loss: float

    # ------------------------------------------------------------------------------------- what it claims

    @cached_property
    def noise(self) -> Plan:
        """The noise on everything that is published, a plan like any other."""
        return self.asked.noise(self.loss)

    @cached_property
    def analysis(self) -> Procedure | Reach:
        """The analysis that goes with the noise: of counts, or of means."""
        made: Procedure | Reach = self.asked.at(self.loss)
        return made

    @property
    def epsilon(self) -> float:
        """The loss of everything that is published, all looks together."""
        return self.noise.epsilon

    @property
    def delta(self) -> float:
        """What epsilon is for."""
        return self.noise.delta or 0.0

    @property
    def confidence(self) -> float:
        """That of the intervals; of those of all looks together."""
        return self.asked.confidence

    @property
    def looks(self) -> int:
        """How often is looked."""
        return len(self.asked.schedule)

    @cached_property
    def wider(self) -> float:
        """By what share intervals are wider than they would be without noise, as planned, at any look."""
        return max(self._wider)

    @cached_property
    def _wider(self) -> list[float]:
        return self.asked.wider(self.analysis)

    def coverage(self, first: float, second: float) -> float | None:
        """How often all intervals hold the truth at these rates, exactly (rounded down); None for means.

        `first` and `second` are the true rates of the two groups.
        """
        return self.asked.coverage(self.analysis, first, second)

    def power(self, first: float, second: float) -> float:
        """How often a difference is found at these rates or means, at any look.

        `first` and `second` are the true rates or means of the two groups. Found is when `decided` says so:
        the p-value, which holds for all rates, is 1 - confidence or less. For rates it is rounded down, but
        for what a grid of rates misses, about a ten-thousandth at one look, which may make it too high.
        """
        return self.asked.power(self.analysis, first, second)

    @cached_property
    def users(self) -> Pair:
        """How many people of each group privacy costs: without noise, so many fewer would do as well.

        At several looks it is the last one's interval.
        """
        share = 1 - 1 / (1 + max(self._wider[-1], 0.0)) ** 2
        first, second = (math.ceil(n * share) for n in self.asked.users)
        return first, second

    def risk(self, prior: float = 0.5) -> float:
        """How often the best attacker with this prior guesses right, at most, seeing all of it."""
        return self.noise.risk(prior)

    def risk_words(self) -> str:
        """The same at even odds, in a sentence."""
        return self.noise.risk_words()

    # --------------------------------------------------------------------------------------- what it does

    def compare(
        self,
        first: object,
        second: object,
        *,
        after: Compared | None = None,
        users: Pair | None = None,
        insecure_test_seed: int | None = None,
    ) -> Compared:
        """Publish both groups with noise, and what they say. Nothing counts what is spent: a ledger does.

        `first` and `second` are true counts of those who say yes, or columns of yes and no; of means, columns
        of numbers. At several looks they are of those who came since the last look, and `after` is what was
        found then; looks that a budget paid for go on with `paid`. `users` are the groups' sizes where they
        are not as planned; columns say their own. `insecure_test_seed` repeats the noise, for tests.
        """
        if after is not None and after.published[-1].paid is not None:
            # the ledger would know nothing of this look, and could pay for none after it
            remedy = "This one is paid for, too: use paid, with the same budget."
            raise ContradictionError(
                "after", "looks without a ledger", "looks that a budget paid for", remedy
            )
        answers, sizes = self._answers(first, second, after, users)
        seed = insecure_test_seed
        disjoint = self.asked.disjoint
        if seed is None:
            drawn = self.noise.release(answers, disjoint=disjoint)
        else:
            look = 0 if after is None else len(after.published)
            drawn = self.noise.release(answers, disjoint=disjoint, insecure_test_seed=seed + look).value
        return self._found(drawn, sizes, after, insecure_test_seed=insecure_test_seed)

    @with_words(PayingFor, MEANING)
    def paid(
        self,
        budget: Budget,
        groups: Sequence[object],
        *,
        after: Compared | None = None,
        users: Pair | None = None,
        **paying: Unpack[PayingFor],
    ) -> Compared:
        """The same, paid from a `budget` first.

        `groups` are the two groups, as in `compare`, as are `after` and `users`. The first look pays for all
        of them, and the key of the first is that of all.
        """
        from pbdp.comparing.paid import pay

        if not isinstance(groups, list | tuple) or len(groups) != 2:
            raise InputError("groups", "two, the first and the second", "something else")
        answers, sizes = self._answers(groups[0], groups[1], after, users)
        drawn, paid = pay(self, budget, answers, after, paying)
        return self._found(drawn, sizes, after, paid=paid)

    def say(self, *numbers: int, after: Compared | None = None, users: Pair | None = None) -> Compared:
        """What published numbers say; nothing is spent.

        `numbers` are the two published counts, or the four published sums of means; `after` and `users` are
        as in `compare`.
        """
        count = self.asked.count
        if len(numbers) != count:
            raise InputError("numbers", f"the {count} that were published", f"{len(numbers)}")
        return self._found(numbers, self._sizes(after, users, None), after)

    def _answers(
        self, first: object, second: object, after: Compared | None, users: Pair | None
    ) -> tuple[list[Any], Pair]:
        """True numbers and sizes, checked before anything is drawn or paid."""
        answers, found = self.asked.answers(first, second)
        sizes = self._sizes(after, users, found)
        return self.asked.clamped(answers, sizes), sizes

    def _sizes(self, after: Compared | None, users: Pair | None, found: Pair | None) -> Pair:
        done = 0
        if after is not None:
            if (after.plan.asked, after.plan.loss) != (self.asked, self.loss):
                raise InputError("after", "what this plan found", "what another plan found")
            done = len(after.published)
        if done >= self.looks:
            looks = f"{self.looks} look{'s' if self.looks > 1 else ''}"
            raise ContradictionError("after", f"left out after all {looks} of the plan", f"look {done}")
        given = None if users is None else checked_users(users, least=1)
        if given is not None and found is not None and given != found:
            raise ContradictionError("users", "as long as the columns", "others")
        return given or found or self.asked.schedule[done]

    def _found(
        self,
        drawn: Sequence[Any],
        users: Pair,
        after: Compared | None,
        *,
        paid: Mapping[str, Any] | None = None,
        insecure_test_seed: int | None = None,
    ) -> Compared:
        from pbdp.comparing.compared import Compared

        entry = Published(
            numbers=tuple(int(number) for number in drawn),
            users=users,
            paid=paid,
            insecure_test_seed=insecure_test_seed,
        )
        return Compared(plan=self, published=(*(() if after is None else after.published), entry))

    # -------------------------------------------------------------------------------------------- in words

    def describe(self) -> str:
        """What is promised in a sentence, and what it means in another."""
        return f"{self.summary()}.\n{self.risk_words()}"

    def summary(self) -> str:
        """The plan in one line."""
        words = "intervals that hold together" if self.looks > 1 else "intervals"
        return (
            f"{self.asked.describe()}: {words} with confidence {percent_down(self.asked.confidence)}, at "
            f"most {percent_up(max(self.wider, 0.0))} wider than without noise; epsilon "
            f"{rounded_up(self.epsilon)} at delta {delta_text(self.delta)}"
        )

    def __repr__(self) -> str:
        looks = f", {self.looks} looks" if self.looks > 1 else ""
        wider = percent_up(max(self.wider, 0.0))
        return (
            f"<ComparisonPlan: {self.asked.measure} of {self.asked.kind}, {self.asked.sizes} people{looks}; "
            f"intervals at most {wider} wider; epsilon {rounded_up(self.epsilon)} at delta "
            f"{delta_text(self.delta)}>"
        )

    def _repr_html_(self) -> str:
        from pbdp.figures.cards import comparison_card

        return comparison_card(self)

    def plot(self, path: str | Path | None = None) -> Figure:
        """How often a difference is found, with and without noise; the intervals of several looks.

        Written to `path`, if one is given (.png, .svg or .pdf). Needs matplotlib.
        """
        from pbdp.figures.canvas import saved
        from pbdp.figures.comparison_figure import plan_figure

        return saved(plan_figure(self), path)

    def record(self) -> dict[str, object]:
        """What is planned, for programs."""
        asked = self.asked
        levels, noise = asked.planned, asked.noise_record(self.loss)
        return {
            "epsilon": self.epsilon,
            "delta": self.delta,
            "guessed_right": self.noise.risk(),
            **asked.record(),
            "coverage": self.coverage(*levels),
            "power": self.power(*levels) if asked.lift else None,
            "wider": self.wider,
            "users_that_privacy_costs": list(self.users),
            "noise_variance": variance_of(self.noise.mechanism.table_at(0.0)) * noise["step"] ** 2,
            "noise": noise,
        }

    def save(self, path: Path | str) -> None:
        """Write the plan as JSON.

        `path` names the file.
        """
        from pbdp.comparing.file import save

        save(self, (), path)

    @classmethod
    def load(cls, path: Path | str) -> ComparisonPlan:
        """Read a plan; its noise is certified again.

        `path` names the file.
        """
        from pbdp.comparing.file import read

        return read(path)[0]
