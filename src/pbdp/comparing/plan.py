"""The plan of a comparison: of all noise that gives the analysis what it needs, that of least epsilon.

A file holds the plan, and what was published with it, if anything. The noise and the analysis follow from
what is asked and from the loss of a number; they are made and certified again when the file is read, and what
the file claims has to agree. It holds nothing of the data but what is published, and not where a ledger is
kept.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from pbdp.comparing.compared import Compared
from pbdp.comparing.count_laws import variance_of
from pbdp.comparing.experiment import Experiment
from pbdp.comparing.means import Means
from pbdp.comparing.rates import Rates
from pbdp.comparing.request import CompareRequest, ComparisonRequest, Pair, checked_users
from pbdp.digits import delta_text, percent_down, percent_up, rounded_up
from pbdp.errors import CannotCertifyError, ContradictionError, InputError, PlanFileError, unchangeable
from pbdp.json_records import (
    EDITED,
    SAME,
    VERSION,
    broken_refused,
    check_claims,
    file_content,
    of_format,
    record_in,
    write,
)
from pbdp.ledger.request import about
from pbdp.parameters import finite, positive
from pbdp.paying import A_BUDGET, PAYING, PayingFor
from pbdp.planning.plan import Plan
from pbdp.release.keystream import SECURE
from pbdp.reported import Reported
from pbdp.root_finding import least_enough
from pbdp.signatures import checked, takes
from pbdp.version import __version__

if TYPE_CHECKING:
    from pbdp.ledger.budget import Budget

FORMAT = "pbdp-comparison"
# The search ends this near to the least loss, or where power, or such a part of `wider`, is exceeded by less.
_CLOSE = _SPARE = 1e-3


@unchangeable("A plan", "What it promises follows from what it is: make another plan.")
@dataclass(frozen=True, kw_only=True, repr=False)  # no slots: what is asked for is found once
class ComparisonPlan(Reported):
    """What is compared, and the loss of a published number; the noise and the analysis follow from them."""

    asked: Experiment[Any]
    loss: float

    # ------------------------------------------------------------------------------------- what it claims

    @cached_property
    def noise(self) -> Plan:
        """The noise on everything that is published, a plan like any other."""
        return self.asked.noise(self.loss)

    @cached_property
    def analysis(self) -> object:
        """The analysis that goes with the noise: of counts, or of means."""
        return self.asked.at(self.loss)

    @property
    def epsilon(self) -> float:
        """The loss of everything that is published."""
        return self.noise.epsilon

    @property
    def delta(self) -> float:
        """What epsilon is for."""
        return self.noise.delta or 0.0

    @property
    def confidence(self) -> float:
        """That of the interval."""
        return self.asked.confidence

    @cached_property
    def wider(self) -> float:
        """By what share intervals are wider than they would be without noise, as planned."""
        return self.asked.widening(self.analysis)

    def power(self, first: float, second: float) -> float:
        """How often a difference is found at these rates or means: the interval leaves "no difference" out.

        `first` and `second` are the true rates or means of the two groups. For rates it is exact (rounded
        down), for means about right.
        """
        return self.asked.power_at(self.analysis, *self._true(first, second))

    def _true(self, first: object, second: object) -> tuple[float, float]:
        """Rates or means that the groups may have."""
        found = finite("first", first), finite("second", second)
        if self.asked.counted and not all(0 <= rate <= 1 for rate in found):
            raise InputError("rates", "from 0 to 1", f"{found[0]:g} and {found[1]:g}")
        if self.asked.measure == "ratio" and min(found) <= 0:
            raise InputError("rates and means", "above 0 where ratios are compared", f"{min(found):g}")
        return found

    @cached_property
    def users(self) -> Pair:
        """How many people of each group privacy costs: without noise, so many fewer would do as well."""
        share = 1 - 1 / (1 + max(self.wider, 0.0)) ** 2
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
        users: Pair | None = None,
        insecure_test_seed: int | None = None,
    ) -> Compared:
        """Publish both groups with noise, and what they say. Nothing counts what is spent: a ledger does.

        `first` and `second` are true counts of those who say yes, or columns of yes and no; of means, columns
        of numbers. `users` are the groups' sizes where they are not as planned; columns say their own.
        `insecure_test_seed` repeats the noise, for tests.
        """
        answers, sizes = self._answers(first, second, users)
        seed, disjoint = insecure_test_seed, self.asked.disjoint
        if seed is None:
            drawn = self.noise.release(answers, disjoint=disjoint)
        else:
            drawn = self.noise.release(answers, disjoint=disjoint, insecure_test_seed=seed).value
        return self._found(drawn, sizes, insecure_test_seed=seed)

    @checked(budget=A_BUDGET, **PAYING)
    def paid(
        self,
        budget: Budget,
        groups: Sequence[object],
        *,
        users: Pair | None = None,
        **paying: Unpack[PayingFor],
    ) -> Compared:
        """The same, paid from a `budget` before noise is drawn; the same key gives the same numbers again.

        `groups` are the two groups, as in `compare`, as are `users`.
        """
        if not isinstance(groups, list | tuple) or len(groups) != 2:
            raise InputError("groups", "two, the first and the second", "something else")
        answers, sizes = self._answers(groups[0], groups[1], users)
        disjoint = self.asked.disjoint
        ready = self.noise.prepared(answers, disjoint=disjoint)
        asked = about(paying, self.asked_of(sizes))
        paid = budget.paid(
            self.noise, ready.count, lambda: ready.draw(SECURE), disjoint=disjoint, again=True, **asked
        )
        names = ("ledger", "dataset", "key", "sequence")
        record = {name: getattr(paid.reservation, name) for name in names}
        return self._found(paid.values.tolist(), sizes, paid=record | {"blocks": paying.get("blocks")})

    def asked_of(self, sizes: Pair) -> str:
        """What a ledger records of a comparison of groups of these sizes."""
        first, second = sizes
        return f"{self.summary()}; groups of {first:,} and {second:,} people"

    def say(self, *numbers: int, users: Pair | None = None) -> Compared:
        """What published numbers say; nothing is spent.

        `numbers` are the two published counts, or the four published sums of means; `users` are as in
        `compare`.
        """
        count = self.asked.count
        if len(numbers) != count:
            raise InputError("numbers", f"the {count} that were published", f"{len(numbers)}")
        return self._found(numbers, self._sizes(users, None))

    def _answers(self, first: object, second: object, users: Pair | None) -> tuple[list[Any], Pair]:
        """True numbers and sizes, checked before anything is drawn or paid."""
        answers, found = self.asked.answers(first, second)
        sizes = self._sizes(users, found)
        return self.asked.clamped(answers, sizes), sizes

    def _sizes(self, users: Pair | None, found: Pair | None) -> Pair:
        given = None if users is None else checked_users(users, least=1)
        if given is not None and found is not None and given != found:
            raise ContradictionError("users", "as long as the columns", "others")
        return given or found or self.asked.users

    def _found(
        self,
        drawn: Sequence[Any],
        sizes: Pair,
        *,
        paid: Mapping[str, Any] | None = None,
        insecure_test_seed: int | None = None,
    ) -> Compared:
        counts = tuple(int(number) for number in drawn)
        return Compared(
            plan=self, counts=counts, sizes=sizes, paid=paid, insecure_test_seed=insecure_test_seed
        )

    # -------------------------------------------------------------------------------------------- in words

    def describe(self) -> str:
        """What is promised in a sentence, and what it means in another."""
        return f"{self.summary()}.\n{self.risk_words()}"

    def summary(self) -> str:
        """The plan in one line."""
        return (
            f"{self.asked.describe()}: intervals with confidence {percent_down(self.asked.confidence)}, at "
            f"most {percent_up(max(self.wider, 0.0))} wider than without noise; epsilon "
            f"{rounded_up(self.epsilon)} at delta {delta_text(self.delta)}"
        )

    def __repr__(self) -> str:
        wider = percent_up(max(self.wider, 0.0))
        return (
            f"<ComparisonPlan: {self.asked.measure} of {self.asked.kind}, {self.asked.sizes} people; "
            f"intervals at most {wider} wider; epsilon {rounded_up(self.epsilon)} at delta "
            f"{delta_text(self.delta)}>"
        )

    def record(self) -> dict[str, object]:
        """What is planned, for programs."""
        asked = self.asked
        noise, settings = asked.noise_record(self.loss), asked.settings()
        known = {name: getattr(asked, name) for name in settings}
        return {
            "epsilon": self.epsilon,
            "delta": self.delta,
            "guessed_right": self.noise.risk(),
            "kind": asked.kind,
            **{name: settings[name].kind.write(value) for name, value in known.items() if value is not None},
            "power": self.power(*asked.planned) if asked.lift else None,
            "wider": self.wider,
            "users_that_privacy_costs": list(self.users),
            "noise_variance": variance_of(self.noise.mechanism.table_at(0.0)) * noise["step"] ** 2,
            "noise": noise,
        }

    def claims(self) -> dict[str, object]:
        """The request, and what is claimed of the noise for it."""
        return {
            "epsilon": self.epsilon,
            "delta": self.delta,
            "asked": self.asked.record(),
            "loss": self.loss,
            "noise": self.asked.noise_record(self.loss),
            "wider": self.wider,
        }

    def content(self, found: Compared | None = None) -> bytes:
        """The bytes of the file of the plan, and of what was `found` with it."""
        published = (
            None
            if found is None
            else {
                "numbers": list(found.counts),
                "users": list(found.sizes),
                "created": found.created,
                "ledger": None if found.paid is None else dict(found.paid),
                "insecure_test_seed": found.insecure_test_seed,
            }
        )
        record = {"format": FORMAT, "version": VERSION, "pbdp": __version__, **self.claims()}
        return file_content(record | {"published": published})

    def save(self, path: Path | str, found: Compared | None = None) -> None:
        """Write the plan as JSON.

        `path` names the file; what was `found` with the plan stands in it too.
        """
        write("comparison file", path, self.content(found))

    @classmethod
    def load(cls, path: Path | str) -> ComparisonPlan:
        """Read a plan; its noise is certified again.

        `path` names the file.
        """
        return read(path)[0]


# ------------------------------------------------------------------------------------------------- files


def read(path: Path | str) -> tuple[ComparisonPlan, Compared | None]:
    """The plan in a file, its noise certified again, and what was published with it."""
    return from_record(record_in("comparison file", path, FORMAT), str(path))


def from_record(given: object, name: str) -> tuple[ComparisonPlan, Compared | None]:
    """The same of what was read."""
    record = of_format(given, FORMAT, name)
    with broken_refused(name):
        asked = experiment_of(ComparisonRequest.read(record["asked"]))
        plan = ComparisonPlan(asked=asked, loss=positive("loss", record["loss"]))
        check_claims(plan.claims(), record, "comparison")
        if asked.short(plan.loss) > SAME:
            raise PlanFileError(
                name, "one whose noise gives what the analysis needs", "one with more", EDITED
            )
        published = record["published"]
        return plan, None if published is None else _published(published, plan)


def _published(entry: Mapping[str, Any], plan: ComparisonPlan) -> Compared:
    numbers, paid = entry["numbers"], entry["ledger"]
    if len(numbers) != plan.asked.count or not all(type(number) is int for number in numbers):
        raise TypeError("numbers")
    if paid is not None and not (
        all(isinstance(paid[name], str) for name in ("ledger", "dataset", "key"))
        and type(paid["sequence"]) is int
        and all(isinstance(block, str) for block in paid["blocks"] or [])
    ):
        raise TypeError("ledger")
    return Compared(
        plan=plan,
        counts=tuple(numbers),
        sizes=checked_users(entry["users"], least=1),
        created=str(entry["created"]),
        paid=paid,
        insecure_test_seed=entry["insecure_test_seed"],
    )


# ---------------------------------------------------------------------------------------------- planning


def experiment_of(asked: ComparisonRequest) -> Experiment[Any]:
    """The kind of comparison that is asked for: of rates, or of means."""
    kind: type[Experiment[Any]] = Rates if asked.rate is not None else Means
    return kind(**asked.given())


def comparison_of(asked: ComparisonRequest) -> ComparisonPlan:
    """The noise with the least epsilon for comparing two arms, groups or periods.

    Say what the analysis needs: intervals at most `wider` than without privacy (0.05 for 5 %), or `power` to
    find a `lift`. To compare how many say yes, give their `rate`; to compare means, `bounds` and `spread`.
    """
    made = experiment_of(asked)
    if made.power is not None and (best := made.power_at(made.without, *made.planned)) <= made.power:
        raise CannotCertifyError(
            f"Without any noise the power is {percent_down(best)}. Take larger groups, or look for a "
            "larger lift."
        )
    spare = _SPARE * (made.wider or 1.0)
    return ComparisonPlan(asked=made, loss=least_enough(made.short, made.guess(), close=_CLOSE, spare=spare))


plan_comparison = takes(ComparisonRequest)(comparison_of)


def compared_of(asked: CompareRequest) -> Compared:
    """Compare two groups at once: plan the noise, publish, analyze; see `plan_comparison`.

    Nothing counts what is spent: `Budget` does.
    """
    sizes, groups = asked.users, (asked.first, asked.second)
    if sizes is None:
        if not all(hasattr(group, "__len__") for group in groups):
            raise ContradictionError(
                "users", "given with counts", "nothing", "How many people has each group?"
            )
        sizes = (len(asked.first), len(asked.second))  # type: ignore[arg-type]
    return comparison_of(asked.comparison(sizes)).compare(*groups)


compare = takes(CompareRequest)(compared_of)
