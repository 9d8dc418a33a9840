"""The ledger: budgets, payments and answers. What it guarantees, and why, is proved in `pbdp.ledger`."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from pbdp.errors import ContradictionError, InputError, shown
from pbdp.json_records import canonical
from pbdp.kinds import FLAG, one_of
from pbdp.ledger.errors import (
    DamagedLedgerError,
    DatasetExistsError,
    KeyReusedError,
    LedgerError,
    MissingKeyError,
    NotALedgerError,
    ReservedElsewhereError,
)
from pbdp.ledger.fold import DatasetState, Fold, Known
from pbdp.ledger.keys import Key, Keyring, key_folder, random_bytes
from pbdp.ledger.log import Draft, Log, refuse_removed
from pbdp.ledger.record import (
    FORMAT,
    NO_PREVIOUS,
    Amounts,
    Entry,
    Record,
    check_key,
    check_text,
    checked_amounts,
    checked_name,
    entries_of,
    none_of,
    packed_answer,
    unpacked_answer,
)
from pbdp.ledger.request import Request, Reservation
from pbdp.ledger.stores.interface import Store
from pbdp.ledger.stores.places import WAIT, store_at
from pbdp.mechanism.neighbors import Neighbors
from pbdp.parameters import instance
from pbdp.signatures import checked

if TYPE_CHECKING:
    from pbdp.ledger.verification import Verification

_LOG = logging.getLogger("pbdp.ledger")
AFTER_RECOVERY = "one of after the last recovery of this ledger"


class Ledger:
    """An open ledger. Get one with `create`, `open` or `repair`; it can be used from several threads."""

    def __init__(self, store: Store, *, wait: float = WAIT) -> None:
        if not hasattr(store, "append"):
            raise ContradictionError(
                "Ledger",
                "opened or made, not called",
                f"Ledger({store!r})",
                "Write Ledger.open(place) for one that is there, Ledger.create(place) for a new one.",
            )
        self._log = Log(store, wait=wait)

    @classmethod
    @checked(trust=FLAG)
    def create(cls, url: str | Path, *, wait: float = WAIT, trust: bool = False) -> Ledger:
        """A new ledger in a new file, or in a PostgreSQL database (`postgresql://...`).

        Refused where this machine has seen another ledger before, which is gone, unless `trust` says that
        this is meant.

        `url` names a file, or a PostgreSQL database (`postgresql://...`); `wait` is how many seconds to
        wait for others who write.
        """
        identity, key = random_bytes(16).hex(), Key.fresh()
        with _opening(url, wait) as store:
            if not trust:
                refuse_removed(store)
            # before anything is under it
            Keyring(identity, key_folder(), place=store.place).add(key)
            content = {"ledger": identity, "format": FORMAT}
            store.create([Record.after(-1, NO_PREVIOUS, "genesis", content, key).row()])
            ledger = cls(store, wait=wait)
            ledger._log.meet(trust=True)
            # that the witness is new is no news
            ledger._log.notes, ledger._log.trusted = [], None
            return ledger

    @classmethod
    @checked(trust=FLAG)
    def open(cls, url: str | Path, *, wait: float = WAIT, trust: bool = False) -> Ledger:
        """The ledger at this place; a `RolledBackError` if it is older than this machine knows it.

        If this machine knows nothing of it (a container with a fresh home), it can only be read, unless
        `trust` says that it is up to date; then every release says so too.

        `url` names a file, or a PostgreSQL database (`postgresql://...`); `wait` is how many seconds to
        wait for others who write.
        """
        with _opening(url, wait) as store:
            try:
                ledger = cls(store, wait=wait)
            except NotALedgerError:
                if not trust:
                    refuse_removed(store)
                raise
            ledger._log.meet(trust=trust)
            return ledger

    @classmethod
    @checked(gap=one_of(("known", "all")))
    def repair(cls, url: str | Path, gap: str = "known", *, wait: float = WAIT) -> Ledger:
        """Go on with a ledger that is damaged or was taken back to an older state.

        It goes on from the last record up to which everything is sound. What is missing is counted as spent:
        with the gap `known`, what this machine has seen being spent, and everything where that is not
        certain; with `all`, everything. What was damaged is kept beside it. `notes` say what is lost.

        `url` names a file, or a PostgreSQL database (`postgresql://...`); `wait` is how many seconds to
        wait for others who write.
        """
        from pbdp.ledger.repair import repair

        with _opening(url, wait) as store:
            lost = repair(store, gap, wait)
            ledger = cls(store, wait=wait)
            ledger._log.meet()
            ledger._log.notes[:0] = lost
            return ledger

    def close(self) -> None:
        """Give the file or the connection back."""
        self._log.close()

    def __enter__(self) -> Ledger:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Ledger {self.identity} at {self.place}>"

    @property
    def identity(self) -> str:
        """The random id in its first record."""
        return self._log.identity

    @property
    def place(self) -> str:
        """Where it is, without a password."""
        return self._log.place

    @property
    def notes(self) -> tuple[str, ...]:
        """What the operator should know: no witness on this machine, a server that is not durable."""
        with self._log.turn:
            return (*self._log.notes, *self._log.store.notes())

    # ------------------------------------------------------------------------------------ what it says

    def dataset(self, name: str) -> DatasetState:
        """The dataset's budget now.

        `name` is that of the dataset.
        """
        checked_name("dataset", name)
        with self._log.turn:
            return self._log.read_on().dataset(name)

    def datasets(self) -> list[DatasetState]:
        """All budgets now, in the order in which they were given."""
        with self._log.turn:
            fold = self._log.read_on()
            return [fold.dataset(name) for name in fold.datasets]

    def spend_of(self, key: str) -> Reservation | None:
        """What was paid for under this request key."""
        check_key(key)
        with self._log.turn:
            known = self._log.read_on().known(key)
            return None if known is None else self._reservation(known)

    def history(self, dataset: str | None = None) -> Iterator[Entry]:
        """Every change of every budget, or of one, in order.

        `dataset` names the one; all of them, if left out.
        """
        if dataset is not None:
            self.dataset(dataset)
        from pbdp.ledger.verification import records

        entries = [entry for record, _ in records(self._log) for entry in entries_of(record)]
        return (entry for entry in entries if dataset in (None, entry.dataset))

    def export(self) -> Iterator[str]:
        """Every record and answer as JSON lines; `verify_export` checks them without the store."""
        from pbdp.ledger.verification import export_lines, records

        return export_lines(self.identity, records(self._log, answers=True))

    def verify(self, *, against: Iterable[str] | None = None) -> Verification:
        """Check everything: each hash, MAC, total, package, key and answer, the store's files, the witness.

        The ledger must continue the export `against`.
        """
        from pbdp.ledger.verification import verified

        return verified(self._log, self.notes, against)

    # ------------------------------------------------------------------------------------ what is written

    def create_dataset(
        self, name: str, limits: Amounts, rule: Mapping[str, object], neighbors: str, note: str | None = None
    ) -> DatasetState:
        """Give a dataset its budget, once. `rule` is any JSON object; it is kept as it is.

        `name` is new, `limits` are what may be spent, `neighbors` the relation, and `note` a public remark.
        """
        limits = checked_amounts("limits", limits)
        check_text("note", note)
        content = {
            "dataset": checked_name("dataset", name),
            "limits": limits,
            "rule": _checked_rule(rule),
            "neighbors": Neighbors(neighbors).value,
            "note": note,
            "spent": none_of(limits),
        }

        def make(fold: Fold) -> Draft:
            if name in fold.datasets:
                raise DatasetExistsError(name)
            if name in fold.get("lost", ()):
                raise DatasetExistsError(name, "it was lost when this ledger was taken back")
            return Draft("dataset", content)

        with self._log.turn:
            self._log.append(make)
            return self._log.fold.dataset(name)

    def reserve(self, request: Request) -> Reservation:
        """Price the request for what is spent now, and commit. Only after this may noise be drawn.

        `request` says what is to be released, or paid for in advance, and how it is priced.
        """
        instance("request", request, Request, "a Request")
        log, key = self._log, random_bytes(16).hex() if request.key is None else request.key

        def pay(fold: Fold) -> Draft | None:
            content = request.payment(fold, key, machine)
            return None if content is None else Draft("spend", content)

        with log.turn:
            log.refuse_doubt()
            machine = log.witness.machine()
            fresh, known = log.append(pay) is not None, self._paid(key)
            if not fresh:
                self._refuse_another(request, key, known, machine)
            reservation = self._reservation(known, fresh=fresh)
        if log.trusted is not None:
            _LOG.warning("%s", log.trusted)
        return reservation

    def settle(self, reservation: Reservation, draw: Callable[[], bytes]) -> bytes:
        """Draw the answer, unless it was, and store it. Only what this returns may be shown.

        `reservation` is what `reserve` returned; `draw` makes the answer.
        """
        instance("reservation", reservation, Reservation, "one that `reserve` returned")
        instance("draw", draw, Callable, "a function")  # type: ignore[arg-type]
        if reservation.ledger != self.identity or not reservation.values:
            raise InputError("reservation", "one of numbers, of this ledger", "another one")
        log, answer = self._log, reservation.answer

        def waits(fold: Fold) -> bool:
            known = fold.known(reservation.key)
            if known is None or (known.sequence, known.hash) != (reservation.sequence, reservation.hash):
                raise InputError("reservation", "one that `reserve` returned", "something else")
            if known.answer is None and known.sequence < fold.recovery:
                raise LedgerError("The ledger was recovered after this was reserved. Reserve with a new key.")
            return known.answer is None

        def store(fold: Fold) -> Draft | None:
            return Draft("answer", content, packed) if waits(fold) else None

        if answer is None:
            with log.turn:
                waiting = waits(log.read_on())
            drawn = self._drawn(reservation, draw) if waiting else b""
            content, packed = packed_answer(drawn, reservation.sequence, reservation.key)
            with log.turn:
                stored = log.append(store)
                answer = drawn if stored else self._stored_answer(self._paid(reservation.key))
        log.witness.forget_drawn(reservation.hash)
        return answer

    def release(self, request: Request, draw: Callable[[], bytes]) -> bytes:
        """Price and commit; then draw and store.

        `request` is as in `reserve`, `draw` makes the answer.
        """
        instance("draw", draw, Callable, "a function")  # type: ignore[arg-type]
        return self.settle(self.reserve(request), draw)

    def _drawn(self, reservation: Reservation, draw: Callable[[], bytes]) -> bytes:
        """The answer, kept on this machine before the store is sent it: drawn once, whoever refuses it."""
        found = self._log.witness.drawn(reservation.hash)
        if found is None:
            try:
                fresh = draw()
            except OSError as problem:
                raise LedgerError(
                    f"The answer could not be made: {problem.strerror or type(problem).__name__}. It is paid "
                    f"for: repeat the request with the key {reservation.key!r}, at no cost."
                ) from problem
            instance("answer", fresh, bytes, "bytes")
            # another process of this machine may have been first
            found = self._log.witness.keep_drawn(reservation.hash, fresh)
        return found

    def _refuse_another(self, request: Request, key: str, known: Known, machine: str) -> None:
        """A key that was paid for brings back the same request only, and its answer is drawn where it was."""
        content = self._log.record(known.sequence, known.hash)[0].content
        if any(content[name] != value for name, value in request.told().items()):
            raise KeyReusedError(key)
        if known.answer is None and known.sequence < self._log.fold.recovery:
            raise KeyReusedError(key, AFTER_RECOVERY, shown(key))
        if known.answer is None and request.values and content["machine"] != machine:
            raise ReservedElsewhereError(key)

    def _paid(self, key: str) -> Known:
        known = self._log.fold.known(key)
        if known is None:
            raise AssertionError("it was paid for")
        return known

    def _reservation(self, known: Known, *, fresh: bool = False) -> Reservation:
        record, _ = self._log.record(known.sequence, known.hash)
        content, values = record.content, record.content["values"]
        return Reservation(
            ledger=self.identity,
            sequence=record.sequence,
            hash=record.hash,
            plan=content["plans"][0][0] if values else "",
            charged=content["cost"],
            answer=None if known.answer is None else self._stored_answer(known),
            fresh=fresh,
            disjoint=content["disjoint"],
            **{name: content[name] for name in ("key", "dataset", "query", "values", "spent", "units_left")},
        )

    def _stored_answer(self, known: Known) -> bytes:
        """The answer, as it was stored; a missing or changed one is refused, and never drawn again."""
        if known.answer is None or known.answer_hash is None:
            raise AssertionError("it was answered")
        record, packed = self._log.record(known.answer, known.answer_hash, answer=True)
        answer = unpacked_answer(record.content, packed)
        if answer is not None:
            return answer
        if record.sequence in self._log.fold.get("unanswered", ()):
            raise LedgerError(
                f"The answer of record {record.sequence} was lost when the ledger {self.place} was damaged. "
                "It is never drawn again; take a new key and pay for a new one."
            )
        fault = f"the answer of record {record.sequence} is missing or was changed"
        raise DamagedLedgerError(self.place, fault)

    # ------------------------------------------------------------------------------------ its keys

    def keyed_digest(self, purpose: str, data: bytes, *, like: str | None = None) -> str:
        """`KEY:DIGEST` of the data, which only a holder of the ledger's key can compute.

        With `like`, an earlier one, under the key of that, so that the two can be compared after a rotation.

        `purpose` keeps digests for different ends apart.
        """
        log = self._log
        with log.turn:
            log.ring.look_again()
            if like is None:
                key = log.signing_key(log.read_on())
            else:
                name = like.partition(":")[0]
                found = log.ring.key(name)
                if found is None:
                    raise MissingKeyError(self.place, name)
                key = found
        return f"{key.id}:{key.keyed_digest(purpose, data)}"

    def rotate_key(self) -> str:
        """Put what comes from now on under a new key; its id. Other machines need it: `exported_keys`."""
        new, log = Key.fresh(), self._log
        with log.turn:
            log.refuse_doubt()
            log.ring.add(new)  # before anything is under it

            def rotate(fold: Fold) -> Draft:
                before = log.head(fold).next_key
                return Draft("key", {"key": new.id, "before": before, "change": "rotated", "export": None})

            log.append(rotate)
        return new.id

    def exported_keys(self) -> str:
        """Every key of this ledger that this machine holds, for another machine. Keep it secret."""
        with self._log.turn:
            self._log.signing_key(self._log.read_on())  # else it would be of little use
            return self._log.ring.exported()

    def take_keys(self, exported: object) -> list[str]:
        """Keep keys that another machine exported, as JSON says them; their ids."""
        with self._log.turn:
            return [key.id for key in self._log.ring.take(exported)]

    @classmethod
    def replace_key(cls, url: str | Path, export: Iterable[str], *, wait: float = WAIT) -> Ledger:
        """Open a ledger whose key is lost, and put a new key in its place.

        `export` is the newest that was kept elsewhere. The ledger must hold all its records unchanged; what
        came after them must add up. What was taken back since the export is noticed only by a witness.

        `url` names a file, or a PostgreSQL database (`postgresql://...`); `wait` is how many seconds to
        wait for others who write.
        """
        from pbdp.ledger.verification import Walk, divergence, sound_export

        with _opening(url, wait) as store:
            ledger = cls(store, wait=wait)
            log = ledger._log
            log.meet()
            kept = sound_export(export, ledger.identity, log.ring)
            walk = Walk(log.ring)
            for row in log.rows(log.newest(), answers=True):
                walk.take(row)
            fault = walk.fault or walk.missing_answer() or store.fault() or divergence(walk.hashes, kept)
            if fault is not None:
                raise DamagedLedgerError(store.place, fault)
            lost = log.head(walk.fold).next_key
            if log.ring.key(lost) is not None:
                remedy = "Use `pbdp ledger key rotate` to change it."
                raise InputError("key", "lost, to be replaced", f"{lost}, which is here", remedy)
            log.witness.check_writable()
            new = Key.fresh()
            log.ring.add(new)
            content = {"key": new.id, "before": lost, "change": "replaced"}
            head = {"sequence": len(kept) - 1, "hash": kept[-1]}
            if log.commit(walk.fold, Draft("key", content | {"export": head}), new) is None:
                raise LedgerError("Another program wrote meanwhile. Nothing was changed; try again.")
            log.meet(trust=True)
            return ledger


@contextmanager
def _opening(url: str | Path, wait: float) -> Iterator[Store]:
    """The store at a place; given back where the ledger cannot be opened."""
    store = store_at(url, wait=wait)
    try:
        yield store
    except BaseException:
        store.close()
        raise


def _checked_rule(rule: object) -> dict[str, Any]:
    """The rule, if it comes back from JSON as it is."""
    if not isinstance(rule, dict):
        raise InputError("rule", "a JSON object", type(rule).__name__)
    try:
        copy: dict[str, Any] = json.loads(canonical(rule))
    except (TypeError, ValueError):
        raise InputError("rule", "a JSON object", "something that JSON cannot hold") from None
    if copy != rule:
        raise InputError("rule", "a JSON object with texts as names", "something that JSON would change")
    return copy
