"""What every local randomizer does: draw reports from words, count them, and know its own law."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from pbdp.accounting.risk import guarantee_curve, guessed_right, risk_words
from pbdp.errors import InputError
from pbdp.json_records import VERSION, digest
from pbdp.kinds import instance_of
from pbdp.local.blanket import AnswerPair, largest_distance
from pbdp.local.domain import Codes, Domain, Value
from pbdp.local.estimators import MEAN, Estimator, exact_bincount
from pbdp.local.intervals import PureCounts
from pbdp.local.region import Region
from pbdp.local.value_codes import Lookup, read_values, true_codes
from pbdp.local.variances import Variances
from pbdp.noise.kernel import Array, Words
from pbdp.release.keystream import SECURE, SLACK, WORD, Keystream, keystream_from

# Words drawn at a time: what is made of them stays in the processor's cache.
CHUNK = 1 << 15
_ZEROS = memoryview(bytes(CHUNK * WORD))

# Of the configurations that are written.
FORMAT = "pbdp-local"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reports:
    """Randomized reports in the form of the values, and the fingerprint of the configuration they belong to.

    `insecure_test_seed` is None unless they came from such a seed, in which case nothing is protected.
    """

    values: Any
    fingerprint: str
    insecure_test_seed: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MarkLaw:
    """A mark of reports whose law does not depend on the answer; `names` say what each mark is."""

    chances: Array
    names: Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CellBounds:
    """Counts of reports, each with the least and the most that any answer makes it likely."""

    counts: Array
    users: int
    least: Array
    most: Array
    names: Sequence[object]


@dataclass(frozen=True, kw_only=True)
class LocalMechanism(Estimator):
    """A randomizer that people run at home, with what a server needs to estimate from its reports."""

    domain: Domain

    # the name in a configuration
    kind: ClassVar[str]
    # whether reports tell the mean by themselves, and not by way of the values
    estimates_means: ClassVar[bool] = False
    # whether estimated variances are sum L^2 - F, as a linear estimator gives them
    linear_variances: ClassVar[bool] = True

    @property
    def name(self) -> str:
        """What it is called where it is planned, described and estimated from; a kind may go by several."""
        return self.kind

    @property
    @abstractmethod
    def epsilon(self) -> float:
        """Certified: at least the logarithm of the largest column ratio of the integer weights."""

    @property
    def distance(self) -> Fraction:
        """Largest total variation distance between the reports of two answers, or a little more."""
        return largest_distance(self.answer_pairs)

    def risk(self, prior: float = 0.5) -> float:
        """How often the best attacker guesses right which of two answers a person gave, at most.

        The attacker believes in one of them with probability `prior` beforehand and sees one report.
        """
        claimed = guarantee_curve(self.epsilon, 0.0)
        # delta falls with epsilon, and at 0 it is the distance
        most = math.nextafter(float(self.distance), 1.0)
        return guessed_right(lambda epsilon: min(claimed(epsilon), most), prior)

    def risk_words(self) -> str:
        """The same at even odds, in a sentence."""
        return risk_words(self.risk(), "which of two answers you gave", "from one report, ")

    @property
    @abstractmethod
    def parameters(self) -> dict[str, Any]:
        """What a client needs besides the domain, as JSON; whole numbers beyond 2^53 as strings."""

    @property
    def words_per_user(self) -> int:
        """Random 64-bit words that one report takes."""
        return 1

    @abstractmethod
    def draw(self, codes: Codes, words: Words) -> npt.NDArray[Any]:
        """One internal report for each code, from `words` of shape (len(codes), words_per_user)."""

    def published(self, internal: npt.NDArray[Any], like: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Reports as they travel, for internal ones; `like` are the values that they answer to."""
        return internal.astype(object) if like.dtype == object else internal

    @abstractmethod
    def report_codes(self, reports: npt.NDArray[Any]) -> Codes:
        """The code of each report that traveled, or a negative one (see `value_codes`)."""

    @property
    @abstractmethod
    def cells(self) -> int:
        """How many numbers a tally of the reports has."""

    def tally(self, reports: npt.NDArray[Any], codes: Codes, times: Codes | None) -> Codes:  # noqa: ARG002
        """Counts of the good reports, each taken `times` times; `codes` are theirs."""
        return exact_bincount(codes, times, self.cells)

    @property
    def mark_laws(self) -> tuple[MarkLaw, ...]:
        """The laws of what reports show whatever the answer, in the order of `marks`."""
        return ()

    def marks(self, reports: npt.NDArray[Any], codes: Codes, times: Codes | None) -> Codes:  # noqa: ARG002
        """Counts of the marks of the good reports, those of all laws after each other."""
        return np.zeros(0, dtype=np.int64)

    @abstractmethod
    def cell_bounds(self, tally: Codes, users: int) -> list[CellBounds]:
        """Counts whose chances are bounded whatever people hold."""

    @property
    def largest_chance(self) -> float | None:
        """No report is more likely than this for any answer; None where equal reports are no surprise."""
        return None

    def variances(self, kind: str) -> Variances:
        """Exact variances of the estimates of values, of categories, or of the sum of all numbers."""
        if kind != MEAN:
            return self.share_variances(kind)
        if not self.lookup.whole:
            raise InputError("mean", "asked for where answers are whole numbers", "texts")
        return self.weighted(np.array([self.domain.values], dtype=np.float64))

    @property
    @abstractmethod
    def answer_pairs(self) -> tuple[AnswerPair, ...]:
        """How the reports of two answers differ, for every pair of answers up to equal or weaker ones."""

    def near_enough(self, region: Region) -> float | None:  # noqa: ARG002 - reports may be no values
        """How likely a report is in the region of the worst true answer; None if it is no value."""
        return None

    @property
    @abstractmethod
    def report_words(self) -> str:
        """What a report is, for people."""

    @classmethod
    @abstractmethod
    def of_record(cls, domain: Domain, record: dict[str, Any]) -> LocalMechanism:
        """The mechanism of a configuration."""

    @cached_property
    def fingerprint(self) -> str:
        """The first 16 hexadecimal digits of SHA-256 of the shared record, which stand for it."""
        return digest(self.shared_record())[:16]

    def shared_record(self) -> dict[str, Any]:
        """Everything that a report depends on: what clients and server must share."""
        return {
            "format": FORMAT,
            "version": VERSION,
            "mechanism": self.kind,
            "domain": self.domain.record(),
            "parameters": self.parameters,
        }

    @cached_property
    def lookup(self) -> Lookup:
        """The look-up of the domain's values."""
        return Lookup(values=self.domain.values)

    def randomize(self, values: object, *, insecure_test_seed: int | None = None) -> Reports:
        """One independent report for each value: in the form of the values, drawn with a secure generator.

        Each report costs its person `epsilon`; whoever reports k times spends up to k times as much.
        """
        keystream = keystream_from(insecure_test_seed)
        column = read_values("values", values)
        given, lookup = column.array, self.lookup

        def part(start: int, words: Words) -> npt.NDArray[Any]:
            some = given[start : start + len(words)]
            return self.published(self.draw(true_codes(lookup, some), words), some)

        return Reports(
            values=column.back(self._in_blocks(part, len(given), keystream)),
            fingerprint=self.fingerprint,
            insecure_test_seed=insecure_test_seed,
        )

    def drawn(self, codes: Codes, keystream: Keystream = SECURE) -> npt.NDArray[Any]:
        """Internal reports for codes."""

        def part(start: int, words: Words) -> npt.NDArray[Any]:
            return self.draw(codes[start : start + len(words)], words)

        return self._in_blocks(part, len(codes), keystream)

    def _in_blocks(
        self, part: Callable[[int, Words], npt.NDArray[Any]], count: int, keystream: Keystream
    ) -> npt.NDArray[Any]:
        """What `part` makes of the first person's number and the words of each block, put together."""
        nothing = part(0, np.empty((0, self.words_per_user), dtype=np.uint64))
        made = np.empty((count, *nothing.shape[1:]), dtype=nothing.dtype)
        for start, words in word_blocks(keystream, count, self.words_per_user):
            made[start : start + len(words)] = part(start, words)
        return made

    def report_of(self, value: Value, words: list[int]) -> Any:
        """The report that given words make of a value: for test vectors, never for a real report."""
        if len(words) != self.words_per_user or not all(0 <= word < 1 << 64 for word in words):
            raise InputError("words", f"{self.words_per_user} numbers below 2^64", "others")
        column = read_values("value", value)
        codes = true_codes(self.lookup, column.array)
        return column.back(self.published(self.draw(codes, np.array([words], dtype="<u8")), column.array))


@dataclass(frozen=True, kw_only=True)
class EstimatedMechanism(LocalMechanism):
    """One whose reports an estimator of their own form reads."""

    @property
    @abstractmethod
    def estimator(self) -> Estimator:
        """What its reports tell."""

    def estimates(self, kind: str, tally: Codes, users: int) -> tuple[Array, Array]:
        return self.estimator.estimates(kind, tally, users)

    def pure(self, kind: str, tally: Codes) -> PureCounts | None:
        return self.estimator.pure(kind, tally)

    def share_variances(self, kind: str) -> Variances:
        return self.estimator.share_variances(kind)

    def weighted(self, weights: Array) -> Variances:
        return self.estimator.weighted(weights)


def word_blocks(keystream: Keystream, count: int, each: int) -> Iterator[tuple[int, Words]]:
    """Random words in blocks of shape (users, each) with the first user's number; a block is reused."""
    users = max(1, CHUNK // each)
    room = min(count, users) * each
    zeros = _ZEROS if room <= CHUNK else memoryview(bytes(room * WORD))
    buffer = bytearray(room * WORD + SLACK)
    words = np.frombuffer(buffer, dtype="<u8", count=room)
    stream = keystream.stream()
    for start in range(0, count, users):
        size = min(users, count - start) * each
        stream.fill(buffer, zeros[: size * WORD])
        yield start, words[:size].reshape(-1, each)


MECHANISM = instance_of(LocalMechanism, "that of a plan or a configuration")
