"""The ledger: budgets, spends and answers. What it guarantees, and why, is proved in `pbdp.ledger`."""

from __future__ import annotations

import json
import logging
import os
import re
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from numbers import Real
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakSet

from pbdp.errors import ContradictionError, InputError, shown
from pbdp.json_records import canonical
from pbdp.ledger.cache import Cache
from pbdp.ledger.errors import (
    BudgetExceededError,
    DamagedLedgerError,
    DatasetExistsError,
    KeyReusedError,
    LedgerError,
    LockedLedgerError,
    MissingKeyError,
    NotALedgerError,
    PackageUsedUpError,
    RemovedLedgerError,
    ReservedElsewhereError,
    RolledBackError,
    UntrustedLedgerError,
    WitnessError,
    missing_key,
)
from pbdp.ledger.fold import DatasetState, Fold, Head, Known
from pbdp.ledger.keys import LEDGER_ID, Key, Keyring, key_folder, random_bytes, state_folder
from pbdp.ledger.record import (
    FORMAT,
    NO_PREVIOUS,
    Amounts,
    BrokenRecordError,
    Entry,
    Payload,
    Record,
    Row,
    checked_amounts,
    checked_name,
    entries_of,
    none_of,
    packed_answer,
    total,
    unpacked_answer,
)
from pbdp.ledger.request import Purchase, Receipt, Request, Reservation, check_key
from pbdp.ledger.stores.interface import MOST_ROWS, Store
from pbdp.ledger.stores.sql import leave_alone
from pbdp.ledger.stores.sqlite import SqliteStore
from pbdp.ledger.witness import Memory, Witness, ledger_seen_at, place_file
from pbdp.mechanism.neighbors import Neighbors
from pbdp.parameters import flag, instance, is_connection

if TYPE_CHECKING:
    from pbdp.ledger.verification import Verification

_LOG = logging.getLogger("pbdp.ledger")
# Seconds to wait for another program that holds the ledger.
WAIT = 30.0
# Nobody means to wait for longer.
LONGEST_WAIT = 86_400
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)://")
AFTER_RECOVERY = "one of after the last recovery of this ledger"
_REPLACED = "another ledger was there when this machine saw the place last; it was removed or replaced"
_UNNOTICED = "If it was taken back to an older state before, that is not noticed."


class Draft(NamedTuple):
    """What is to be appended."""

    kind: str
    content: Payload
    packed: bytes | None = None


class Spend(NamedTuple):
    """What a request key was paid for, what it cost, what is spent since, and the answer, if it has one."""

    key: str
    sequence: int
    dataset: str
    plan: str
    query: str | None
    cost: Amounts
    spent: Amounts
    answer: bytes | None

    @property
    def spent_before(self) -> Amounts:
        """What was spent when it was priced."""
        return total(self.spent, self.cost, -1)


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
        self._store = store
        self._wait = wait
        # held for each step, and never while noise is drawn
        self._turn = threading.RLock()
        _opened.add(self)
        self.identity = identity_of(store)
        self._ring = Keyring(self.identity, key_folder(), place=store.place)
        self._witness = Witness(self.identity, state_folder(), place=store.place, wait=wait)
        self._cache = Cache(_cache_file(self.identity))
        self._fold = Fold(self._ring, self._cache)
        # the last head that this process has seen and could judge
        self._seen: Head | None = None
        self._notes: list[str] = []
        self._doubt: str | None = None
        # said with every spend: that this ledger was taken on trust
        self._trusted: str | None = None

    @classmethod
    def create(cls, url: str | Path, *, wait: float = WAIT, trust: bool = False) -> Ledger:
        """A new ledger in a new file, or in a PostgreSQL database (`postgresql://...`).

        Refused where this machine has seen another ledger before, which is gone, unless `trust` says that
        this is meant.

        `url` names a file, or a PostgreSQL database (`postgresql://...`); `wait` is how many seconds to
        wait for others who write.
        """
        flag("trust", trust)
        identity, key = random_bytes(16).hex(), Key.fresh()

        def begin(store: Store) -> Ledger:
            if not trust:
                refuse_removed(store)
            # before anything is under it
            Keyring(identity, key_folder(), place=store.place).add(key)
            content = {"ledger": identity, "format": FORMAT}
            store.create([Record.after(-1, NO_PREVIOUS, "genesis", content, key).row()])
            ledger = cls(store, wait=wait)
            ledger._meet(trust=True)
            # that the witness is new is no news
            ledger._notes.clear()
            ledger._trusted = None
            return ledger

        return cls._guarded(url, wait, begin)

    @classmethod
    def open(cls, url: str | Path, *, wait: float = WAIT, trust: bool = False) -> Ledger:
        """The ledger at this place; a `RolledBackError` if it is older than this machine knows it.

        If this machine knows nothing of it (a container with a fresh home), it can only be read, unless
        `trust` says that it is up to date; then every release says so too.

        `url` names a file, or a PostgreSQL database (`postgresql://...`); `wait` is how many seconds to
        wait for others who write.
        """
        flag("trust", trust)

        def begin(store: Store) -> Ledger:
            try:
                ledger = cls(store, wait=wait)
            except NotALedgerError:
                if not trust:
                    refuse_removed(store)
                raise
            ledger._meet(trust=trust)
            return ledger

        return cls._guarded(url, wait, begin)

    @classmethod
    def repair(cls, url: str | Path, gap: str = "known", *, wait: float = WAIT) -> Ledger:
        """Go on with a ledger that is damaged or was taken back to an older state.

        It goes on from the last record up to which everything is sound. What is missing is counted as spent:
        with the gap `known`, what this machine has seen being spent, and everything where that is not
        certain; with `all`, everything. What was damaged is kept beside it. `notes` say what is lost.

        `url` names a file, or a PostgreSQL database (`postgresql://...`); `wait` is how many seconds to
        wait for others who write.
        """
        from pbdp.ledger.repair import repair

        if gap not in ("known", "all"):
            raise InputError("gap", '"known" or "all"', shown(gap))

        def begin(store: Store) -> Ledger:
            lost = repair(store, gap, wait)
            ledger = cls(store, wait=wait)
            ledger._meet()
            ledger._notes[:0] = lost
            return ledger

        return cls._guarded(url, wait, begin)

    @classmethod
    def _guarded(cls, url: str | Path, wait: float, begin: Callable[[Store], Ledger]) -> Ledger:
        store = store_at(url, wait=wait)
        try:
            return begin(store)
        except BaseException:
            store.close()
            raise

    def close(self) -> None:
        """Give the file or the connection back."""
        with self._turn:
            self._store.close()
            self._cache.close()

    def __enter__(self) -> Ledger:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Ledger {self.identity} at {self.place}>"

    @property
    def place(self) -> str:
        """Where it is, without a password."""
        return self._store.place

    @property
    def notes(self) -> tuple[str, ...]:
        """What the operator should know: no witness on this machine, a server that is not durable."""
        with self._turn:
            return (*self._notes, *self._store.notes())

    # ------------------------------------------------------------------------------------ what it says

    def dataset(self, name: str) -> DatasetState:
        """The dataset's budget now.

        `name` is that of the dataset.
        """
        checked_name("dataset", name)
        with self._turn:
            return self._read_on().dataset(name)

    def datasets(self) -> list[DatasetState]:
        """All budgets now, in the order in which they were given."""
        with self._turn:
            fold = self._read_on()
            return [fold.dataset(name) for name in fold.datasets]

    def spend_of(self, key: str) -> Spend | None:
        """What was paid for under this request key."""
        check_key(key)
        with self._turn:
            known = self._read_on().known(key)
            if known is None:
                return None
            record = self._record(known.sequence, known.hash)
            content, answer = record.content, None if known.answer is None else self._stored_answer(known)
            return Spend(
                key=key,
                sequence=record.sequence,
                dataset=content["dataset"],
                plan=content.get("plan", ""),
                query=content.get("query"),
                cost=content["cost"],
                spent=content["spent"],
                answer=answer,
            )

    def history(self, dataset: str | None = None) -> Iterator[Entry]:
        """Every change of every budget, or of one, in order.

        `dataset` names the one; all of them, if left out.
        """
        if dataset is not None:
            self.dataset(dataset)
        entries = [entry for record, _ in self._records() for entry in entries_of(record)]
        return (entry for entry in entries if dataset in (None, entry.dataset))

    def export(self) -> Iterator[str]:
        """Every record and answer as JSON lines; `verify_export` checks them without the store."""
        from pbdp.ledger.verification import export_lines

        return export_lines(self.identity, self._records(answers=True))

    def verify(self, *, against: Iterable[str] | None = None) -> Verification:
        """Check everything: each hash, MAC, total, package, key and answer, the store's files, the witness.

        The ledger must continue the export `against`.
        """
        from pbdp.ledger.verification import Walk, divergence, sound_export

        if against is not None:
            instance("against", against, Iterable, "the lines of an export")
        export = None if against is None else sound_export(against, self.identity, self._ring)
        walk, notes = Walk(self._ring), [*self.notes]
        try:
            for _, row in self._records(answers=True):
                walk.take(row)
            with self._turn:
                walk.fault = walk.fault or self._store.fault() or self._misled(walk.fold)
            if walk.fault is None and export is not None:
                walk.fault = divergence(walk.hashes, export)
                notes.append(f"The export ends at record {len(export) - 1}.")
        except DamagedLedgerError as damage:
            walk.fault = walk.fault or damage.fault
        except LedgerError as problem:
            walk.fault = walk.fault or str(problem)
        return walk.outcome(self.place, notes)

    def _misled(self, again: Fold) -> str | None:
        """Whether what this machine keeps of the ledger says something else than all records do."""
        if self._fold.head != again.head or self._fold.spent() == again.spent():
            return None
        self._cache.clear()
        return (
            f"what this machine had worked out of it ({self._cache.file}) was wrong, and is worked out again "
            "now; another program wrote that file"
        )

    # ------------------------------------------------------------------------------------ what is written

    def create_dataset(
        self, name: str, limits: Amounts, rule: Mapping[str, object], neighbors: str, note: str | None = None
    ) -> DatasetState:
        """Give a dataset its budget, once. `rule` is any JSON object; it is kept as it is.

        `name` is new, `limits` are what may be spent, `neighbors` the relation, and `note` a public remark.
        """
        limits = checked_amounts("limits", limits)
        if note is not None and not isinstance(note, str):
            raise InputError("note", "a text", type(note).__name__)
        content: Payload = {
            "dataset": checked_name("dataset", name),
            "limits": limits,
            "rule": _checked_rule(rule),
            "neighbors": Neighbors(neighbors),
            "note": note,
            "spent": none_of(limits),
        }

        def make(fold: Fold) -> Draft:
            if name in fold.datasets:
                raise DatasetExistsError(name)
            if name in fold.get("lost", ()):
                raise DatasetExistsError(name, "it was lost when this ledger was taken back")
            return Draft("dataset", content)

        with self._turn:
            self._append(make)
            return self._fold.dataset(name)

    def reserve(self, request: Request) -> Reservation:
        """Step 1: price the request for what is spent now, and commit. Only after this may noise be drawn.

        `request` says what is to be released and how it is priced.
        """
        instance("request", request, Request, "a Request")
        key = request.key if request.key is not None else random_bytes(16).hex()
        with self._turn:
            self._refuse_doubt()
            machine = self._witness.machine()
            spend = self._append(lambda fold: spend_draft(fold, request, key, machine))
            fresh, known = spend is not None, self._paid(key)
            answer = None
            if spend is None:
                spend = self._record(known.sequence, known.hash)
                if spend.content["fingerprint"] != request.fingerprint(key):
                    raise KeyReusedError(key)
                answer = None if known.answer is None else self._stored_answer(known)
                if answer is None and known.sequence < self._fold.recovery:
                    raise KeyReusedError(key, AFTER_RECOVERY, shown(key))
                if answer is None and spend.content["machine"] != machine:
                    raise ReservedElsewhereError(key)
        self._warn()
        return Reservation(
            ledger=self.identity,
            key=key,
            sequence=spend.sequence,
            hash=spend.hash,
            dataset=request.dataset,
            charged=spend.content["cost"],
            spent=spend.content["spent"],
            units_left=spend.content["units_left"],
            fresh=fresh,
            stored_answer=answer,
        )

    def settle(self, reservation: Reservation, draw: Callable[[], bytes]) -> bytes:
        """Step 2: draw the answer, unless it was, and store it. Only what this returns may be shown.

        `reservation` is what `reserve` returned; `draw` makes the answer.
        """
        instance("reservation", reservation, Reservation, "one that `reserve` returned")
        instance("draw", draw, Callable, "a function")  # type: ignore[arg-type]
        if reservation.ledger != self.identity:
            raise InputError("reservation", "one of this ledger", "one of another ledger")

        def waits(fold: Fold) -> bool:
            known = fold.known(reservation.key)
            if known is None or (known.sequence, known.hash) != (reservation.sequence, reservation.hash):
                raise InputError("reservation", "one that `reserve` returned", "something else")
            if known.answer is None and known.sequence < fold.recovery:
                raise LedgerError("The ledger was recovered after this was reserved. Reserve with a new key.")
            return known.answer is None

        def store(fold: Fold) -> Draft | None:
            return Draft("answer", content, packed) if waits(fold) else None

        answer = reservation.stored_answer
        if answer is None:
            with self._turn:
                waiting = waits(self._read_on())
            drawn = self._drawn(reservation, draw) if waiting else b""
            content, packed = packed_answer(drawn, reservation.sequence, reservation.key)
            with self._turn:
                stored = self._append(store)
                answer = drawn if stored else self._stored_answer(self._paid(reservation.key))
        self._witness.forget_drawn(reservation.hash)
        return answer

    def _drawn(self, reservation: Reservation, draw: Callable[[], bytes]) -> bytes:
        """The answer, kept on this machine before the store is sent it: drawn once, whoever refuses it."""
        found = self._witness.drawn(reservation.hash)
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
            found = self._witness.keep_drawn(reservation.hash, fresh)
        return found

    def release(self, request: Request, draw: Callable[[], bytes]) -> bytes:
        """Both steps: price and commit; draw and store.

        `request` is as in `reserve`, `draw` makes the answer.
        """
        instance("draw", draw, Callable, "a function")  # type: ignore[arg-type]
        return self.settle(self.reserve(request), draw)

    def buy(self, purchase: Purchase) -> Receipt:
        """Pay for packages of several plans together, durably; their releases can be used from then on.

        The same key buys once.

        `purchase` says which plans, and how they are priced.
        """
        instance("purchase", purchase, Purchase, "a Purchase")
        key = purchase.key if purchase.key is not None else random_bytes(16).hex()
        with self._turn:
            paid = self._append(lambda fold: purchase_draft(fold, purchase, key))
            fresh = paid is not None
            if paid is None:
                known = self._paid(key)
                paid = self._record(known.sequence, known.hash)
                if paid.content["fingerprint"] != purchase.fingerprint(key):
                    raise KeyReusedError(key)
                if known.sequence < self._fold.recovery:
                    raise KeyReusedError(key, AFTER_RECOVERY, shown(key))
        self._warn()
        return Receipt(key=key, charged=paid.content["cost"], spent=paid.content["spent"], fresh=fresh)

    # ------------------------------------------------------------------------------------ its keys

    def keyed_digest(self, purpose: str, data: bytes, *, like: str | None = None) -> str:
        """`KEY:DIGEST` of the data, which only a holder of the ledger's key can compute.

        With `like`, an earlier one, under the key of that, so that the two can be compared after a rotation.

        `purpose` keeps digests for different ends apart.
        """
        with self._turn:
            self._ring.look_again()
            if like is None:
                key = self._signing_key(self._read_on())
            else:
                name = like.partition(":")[0]
                found = self._ring.key(name)
                if found is None:
                    raise MissingKeyError(self.place, name)
                key = found
        return f"{key.id}:{key.keyed_digest(purpose, data)}"

    def rotate_key(self) -> str:
        """Put what comes from now on under a new key; its id. Other machines need it: `exported_keys`."""
        new = Key.fresh()
        with self._turn:
            self._refuse_doubt()
            self._ring.add(new)  # before anything is under it

            def rotate(fold: Fold) -> Draft:
                before = self._head(fold).next_key
                return Draft("key", {"key": new.id, "before": before, "change": "rotated", "export": None})

            self._append(rotate)
        return new.id

    def exported_keys(self) -> str:
        """Every key of this ledger that this machine holds, for another machine. Keep it secret."""
        with self._turn:
            self._signing_key(self._read_on())  # else it would be of little use
            return self._ring.exported()

    def take_keys(self, exported: object) -> list[str]:
        """Keep keys that another machine exported, as JSON says them; their ids."""
        with self._turn:
            return [key.id for key in self._ring.take(exported)]

    @classmethod
    def replace_key(cls, url: str | Path, export: Iterable[str], *, wait: float = WAIT) -> Ledger:
        """Open a ledger whose key is lost, and put a new key in its place.

        `export` is the newest that was kept elsewhere. The ledger must hold all its records unchanged; what
        came after them must add up. What was taken back since the export is noticed only by a witness.

        `url` names a file, or a PostgreSQL database (`postgresql://...`); `wait` is how many seconds to
        wait for others who write.
        """

        def begin(store: Store) -> Ledger:
            from pbdp.ledger.verification import Walk, divergence, sound_export

            ledger = cls(store, wait=wait)
            ledger._meet()
            kept = sound_export(export, ledger.identity, ledger._ring)
            walk = Walk(ledger._ring)
            for _, row in ledger._records(answers=True):
                walk.take(row)
            fault = walk.fault or walk.missing_answer() or store.fault() or divergence(walk.hashes, kept)
            if fault is not None:
                raise DamagedLedgerError(store.place, fault)
            lost = ledger._head(walk.fold).next_key
            if ledger._ring.key(lost) is not None:
                remedy = "Use `pbdp ledger key rotate` to change it."
                raise InputError("key", "lost, to be replaced", f"{lost}, which is here", remedy)
            ledger._witness.check_writable()
            new = Key.fresh()
            ledger._ring.add(new)
            content = {"key": new.id, "before": lost, "change": "replaced"}
            head = {"sequence": len(kept) - 1, "hash": kept[-1]}
            if ledger._committed(walk.fold, Draft("key", content | {"export": head}), new) is None:
                raise LedgerError("Another program wrote meanwhile. Nothing was changed; try again.")
            ledger._meet(trust=True)
            return ledger

        return cls._guarded(url, wait, begin)

    # ------------------------------------------------------------------------------------ the log

    def _meet(self, *, trust: bool = False) -> None:
        """Refuse a store that is older than the witness; bring the witness up to the store."""
        self._notes, self._trusted, self._doubt = [], None, None
        at_place, known = self._witness.ledger_at_place(), self._witness.read()
        with self._turn:
            fold = self._read_on(tell=False)
            head = self._head(fold)
            if at_place not in (None, self.identity):
                self._doubt = _REPLACED
            # a ledger of one record is as good as a new one
            elif known is None and head.sequence > 0:
                self._doubt = f"this machine has no witness of it ({self._witness.place})"
            if self._doubt is not None:
                if not trust:
                    self._notes.append(f"{_UNNOTICED} Nothing is spent from it: {self._doubt}.")
                    fold.keep()
                    return
                self._trusted = f"The ledger {self.place} is taken on trust: {self._doubt}. {_UNNOTICED}"
                self._notes.append(self._trusted)
                self._doubt = None
            missing = head.unvouched or (None if self._ring.key(head.next_key) else head.next_key)
            if missing is not None:
                self._notes.append(f"The ledger {self.place} can only be read: {missing_key(missing)}")
            if head.unvouched is not None:
                fold.keep()
                return
            try:
                self._tell(fold, known)
                if at_place != self.identity:
                    self._witness.note_place()
            except WitnessError:
                raise
            except LedgerError as problem:  # reading works all the same
                self._notes.append(str(problem))

    def _read_on(self, *, tell: bool = True) -> Fold:
        """Take what was appended since; refuse a store that does not hold what is known of it."""
        fold = self._fold
        # asked first: the witness follows the store, so it knows nothing newer than what is read now
        known = self._witness.read()
        self._ring.look_again()
        try:
            self._cache.begin()
            fold.look_again()
            rows = self._rows_after(fold, known)
            while rows:
                for row in rows:
                    try:
                        fold.take(Record.read(row))
                    except BrokenRecordError as broken:
                        raise DamagedLedgerError(self.place, f"record {row[0]} {broken}") from None
                rows = self._store.rows(rows[-1][0] + 1) if len(rows) == MOST_ROWS else []
        finally:
            self._cache.end()
        head = self._head(fold)
        if known is not None and fold.hash_of(known.sequence) != known.hash:
            self._check_holds(fold, known.sequence, known.hash)
        if head.unvouched is None:
            self._seen = head
        if tell and self._doubt is None and head.unvouched is None:
            # what is only read is read without it, too
            with suppress(LedgerError):
                self._tell(fold, known)
        return fold

    def _rows_after(self, fold: Fold, known: Memory | None) -> list[Row]:
        """The rows after the head, which must be there."""
        head = fold.head
        if head is None:
            return self._store.rows(0)
        rows = self._store.rows(head.sequence)
        if rows and self._is(rows[0], head.sequence, head.hash):
            return rows[1:]
        # The head is not there. What this process or the witness has seen must be.
        for seen in (self._seen, known):
            if seen is not None:
                self._check_holds(fold, seen.sequence, seen.hash)
        # it was never vouched for, or the witness is not here: all of it is read again
        fold.restart()
        return self._store.rows(0)

    def _check_holds(self, fold: Fold, sequence: int, known: str) -> None:
        rows = self._store.rows(sequence, last=sequence)
        if rows and self._is(rows[0], sequence, known):
            return
        # the last recovery counted exactly this witness, which was then not told of it (a crash)
        if [sequence, known] in fold.get("counted", ()):
            return
        last = self._store.last()
        if not rows and sequence < last:
            raise DamagedLedgerError(self.place, f"record {sequence} is missing")
        raise RolledBackError(place=self.place, found=last, known=sequence, diverged=sequence <= last)

    def _is(self, row: Row, sequence: int, known: str) -> bool:
        """Whether this is the record of the number and hash."""
        try:
            return row[0] == sequence and Record.read(row).hash == known
        except BrokenRecordError as broken:
            raise DamagedLedgerError(self.place, f"record {row[0]} {broken}") from None

    def _tell(self, fold: Fold, known: Memory | None) -> None:
        """The witness covers everything up to the head."""
        now = fold.memory()
        if known is not None and [known.sequence, known.hash] in fold.get("counted", ()):
            self._witness.restart(known, now)
        elif known is None or known.sequence < now.sequence:
            self._witness.note(now)
        fold.keep()

    def _append(self, draft: Callable[[Fold], Draft | None]) -> Record | None:
        """Append what `draft` says of the newest state, and commit; None if it says nothing."""
        self._refuse_doubt()
        self._witness.check_writable()
        end = time.monotonic() + self._wait
        while True:
            fold = self._read_on(tell=False)
            head = self._head(fold)
            if head.unvouched is not None:
                raise MissingKeyError(self.place, head.unvouched)
            drafted = draft(fold)
            if drafted is None:
                self._tell(fold, self._witness.read())
                return None
            record = self._committed(fold, drafted, self._signing_key(fold))
            if record is not None:
                self._seen = self._head(fold)
                self._witness.note(fold.memory())
                fold.keep()
                return record
            if time.monotonic() > end:
                raise LockedLedgerError(self.place, self._wait)

    def _committed(self, fold: Fold, draft: Draft, key: Key) -> Record | None:
        """Read the record back as the next reader will, and commit it; None if others were first."""
        head = self._head(fold)
        record = Record.after(head.sequence, head.hash, draft.kind, draft.content, key)
        try:
            changes = fold.changes(Record.read(record.row()))
        except BrokenRecordError as broken:
            if fold.moved():  # half of it was read in a newer state: others were first
                return None
            raise LedgerError(
                f"This is a defect of pbdp, please report it: record {record.sequence} {broken}. Nothing was "
                f"written to the ledger {self.place}."
            ) from None
        if not self._store.append(record.row(draft.packed)):
            return None
        # by now others may have gone on, and written the cache
        fold.take(record, changes)
        return record

    def _refuse_doubt(self) -> None:
        if self._doubt is not None:
            raise UntrustedLedgerError(self.place, self._doubt)

    def _warn(self) -> None:
        if self._trusted is not None:
            _LOG.warning("%s", self._trusted)

    def _head(self, fold: Fold) -> Head:
        if fold.head is None:
            raise DamagedLedgerError(self.place, "it has no records")
        return fold.head

    def _signing_key(self, fold: Fold) -> Key:
        """The key that the next record goes under."""
        name = self._head(fold).next_key
        key = self._ring.key(name)
        if key is None:
            raise MissingKeyError(self.place, name)
        return key

    def _paid(self, key: str) -> Known:
        known = self._fold.known(key)
        if known is None:
            raise AssertionError("it was paid for")
        return known

    def _record(self, sequence: int, known: str, *, answer: bool = False) -> Record:
        return self._row(sequence, known, answer=answer)[0]

    def _row(self, sequence: int, known: str, *, answer: bool = False) -> tuple[Record, Row]:
        """The record of this number, which must be the one that the chain holds."""
        rows = self._store.rows(sequence, last=sequence, answers=answer)
        if not rows:
            raise DamagedLedgerError(self.place, f"record {sequence} is missing")
        if not self._is(rows[0], sequence, known):
            raise DamagedLedgerError(self.place, f"record {sequence} was changed")
        return Record.read(rows[0]), rows[0]

    def _stored_answer(self, known: Known) -> bytes:
        """The answer, as it was stored; a missing or changed one is refused, and never drawn again."""
        if known.answer is None or known.answer_hash is None:
            raise AssertionError("it was answered")
        record, row = self._row(known.answer, known.answer_hash, answer=True)
        answer = unpacked_answer(record.content, row[8])
        if answer is not None:
            return answer
        if record.sequence in self._fold.get("unanswered", ()):
            raise LedgerError(
                f"The answer of record {record.sequence} was lost when the ledger {self.place} was damaged. "
                "It is never drawn again; take a new key and pay for a new one."
            )
        fault = f"the answer of record {record.sequence} is missing or was changed"
        raise DamagedLedgerError(self.place, fault)

    def _records(self, *, answers: bool = False) -> Iterator[tuple[Record, Row]]:
        """Every record up to now, checked to be one chain that ends at the head."""
        with self._turn:
            head = self._head(self._read_on())
        number, previous = 0, NO_PREVIOUS
        while number <= head.sequence:
            with self._turn:
                rows = self._store.rows(number, last=head.sequence, answers=answers)
            if not rows:
                raise DamagedLedgerError(self.place, f"record {number} is missing")
            for row in rows:
                try:
                    record = Record.read(row)
                except BrokenRecordError as broken:
                    raise DamagedLedgerError(self.place, f"record {row[0]} {broken}") from None
                if record.sequence != number:
                    raise DamagedLedgerError(self.place, f"record {number} is missing")
                if record.previous != previous:
                    fault = f"record {number} does not continue the record before it"
                    raise DamagedLedgerError(self.place, fault)
                number, previous = number + 1, record.hash
                yield record, row
        if previous != head.hash:
            raise DamagedLedgerError(self.place, f"record {head.sequence} was changed")

    def _forked(self) -> None:
        """In the child: nobody is left who would give the turn back, and the connections are the parent's."""
        self._turn = threading.RLock()
        self._store.forked()
        leave_alone(self._cache.connection)
        self._cache.connection = None


def spend_draft(fold: Fold, request: Request, key: str, machine: str) -> Draft | None:
    """The record of a spend, priced for what is spent now, if it fits; None if the key was paid for.

    It is made before the answer is known, so it holds nothing of it.
    """
    state = fold.dataset(request.dataset)
    if fold.known(key) is not None:
        return None
    check_relation(request.neighbors, state)
    bought, used = fold.package(request.dataset, request.plan)
    used += request.units
    cost, spent = none_of(state.limits), state.spent
    if used > bought:
        if bought and not request.again:
            raise PackageUsedUpError(
                dataset=state.name,
                bought=bought,
                used=used - request.units,
                asked=request.units,
                package=request.package,
            )
        cost = dict(request.priced(state.spent))
        spent = spent_after(state, cost)
        bought += request.package
    content = {"key": key, "fingerprint": request.fingerprint(key), "machine": machine}
    paid = {"units_left": bought - used, "cost": cost, "spent": spent}
    return Draft("spend", request.told() | content | paid)


def purchase_draft(fold: Fold, purchase: Purchase, key: str) -> Draft | None:
    """The same of a purchase."""
    state = fold.dataset(purchase.dataset)
    if fold.known(key) is not None:
        return None
    check_relation(purchase.neighbors, state)
    cost = purchase.priced(state.spent)
    content = {
        "dataset": purchase.dataset,
        "plans": [list(plan) for plan in purchase.plans],
        "key": key,
        "fingerprint": purchase.fingerprint(key),
        "neighbors": purchase.neighbors,
        "cost": cost,
        "spent": spent_after(state, cost),
    }
    return Draft("purchase", content)


def spent_after(dataset: DatasetState, cost: Amounts) -> Amounts:
    """What is spent after this cost: `spent + cost <= limit` for every name, exactly, or it is refused."""
    if cost.keys() != dataset.limits.keys():
        rule = f"in the amounts that {dataset.name} is limited in ({', '.join(dataset.limits)})"
        raise InputError("cost", rule, ", ".join(cost))
    spent = total(dataset.spent, cost)
    for name, limit in sorted(dataset.limits.items()):
        if spent[name] > limit and cost[name]:
            left = max(0, limit - dataset.spent[name])
            words = f"it costs {cost[name]} of {name}, but {left} is left of {limit}"
            raise BudgetExceededError(dataset.name, words)
    return spent


def check_relation(neighbors: str, dataset: DatasetState) -> None:
    """What is asked must hold for the dataset's neighboring relation."""
    if neighbors != dataset.neighbors:
        raise InputError(
            "neighbors",
            f"{dataset.neighbors!r}, as everything on {dataset.name}",
            shown(neighbors),
            "Guarantees for different neighboring relations do not add up; plan with the same one.",
        )


def verify_ledger(
    url: str | Path, *, wait: float = WAIT, against: Iterable[str] | None = None
) -> Verification:
    """`verify`, also for a ledger that cannot be opened: the reason is then the fault."""
    from pbdp.ledger.verification import Verification

    place = store_at(url, wait=wait).place
    try:
        with Ledger.open(url, wait=wait) as ledger:
            return ledger.verify(against=against)
    except DamagedLedgerError as found:
        return Verification(place=place, fault=found.fault)
    except (LedgerError, NotALedgerError) as found:
        return Verification(place=place, fault=str(found))


def store_at(url: str | Path, *, wait: float) -> Store:
    """The store that keeps the ledger: PostgreSQL at postgresql:// URLs, SQLite at the path of a file."""
    seconds = f"a number of seconds from 0 to {LONGEST_WAIT}"
    instance("wait", wait, Real, seconds)
    if not 0 <= wait <= LONGEST_WAIT:
        raise InputError("wait", seconds, wait)
    instance("ledger", url, str | Path, "a file, or a PostgreSQL database (postgresql://...)")
    text = str(url)
    rule = "the path of a file or a postgresql:// URL"
    if not text.startswith(("postgresql://", "postgres://")):
        if scheme := _SCHEME.match(text):
            raise InputError("ledger", rule, f"{scheme.group(1)}://...")
        if is_connection(text):
            remedy = "Write postgresql://host:port/database; a file in this folder with ./ before its name."
            raise InputError("ledger", rule, "what looks like another way to name a database", remedy)
        if not text or "\0" in text:
            raise InputError("ledger", rule, shown(text))
        return SqliteStore(Path(text), wait=wait)
    from pbdp.ledger.stores.postgres import PostgresStore

    return PostgresStore(text, wait=wait)


def identity_of(store: Store) -> str:
    """The random id in the first record."""
    try:
        first = [Record.read(row) for row in store.rows(0, last=0)]
    except BrokenRecordError as broken:
        raise DamagedLedgerError(store.place, f"record 0 {broken}") from None
    if not first or first[0].kind != "genesis":
        raise DamagedLedgerError(store.place, "its first record is missing")
    identity = str(first[0].content["ledger"])
    if not LEDGER_ID.fullmatch(identity):  # files are named after it
        raise DamagedLedgerError(store.place, "its first record has an id that no ledger gives")
    return identity


def refuse_removed(store: Store) -> None:
    """A ledger that this machine has seen at this place must be there."""
    known = ledger_seen_at(place_file(store.place, state_folder()))
    if known is None:
        return
    try:
        store.last()
    except NotALedgerError as missing:
        if missing.empty:
            raise RemovedLedgerError(store.place, known) from None
    except LedgerError:  # something is there
        return


def _cache_file(identity: str) -> Path | None:
    """Where this machine keeps what it has worked out; None where it can keep nothing."""
    folder = state_folder()
    with suppress(OSError):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder / f"{identity}.cache" if os.access(folder, os.W_OK | os.X_OK) else None


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


_opened: WeakSet[Ledger] = WeakSet()
_held: list[Any] = []


def _before_fork() -> None:
    """No transaction is open while a process forks: SQLite in the child would take its locks for held."""
    for ledger in list(_opened):
        ledger._turn.acquire()
        _held.append(ledger._turn)


def _after_fork() -> None:
    while _held:
        _held.pop().release()


def _in_child() -> None:
    _held.clear()
    for ledger in _opened:
        ledger._forked()


os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_in_child)
