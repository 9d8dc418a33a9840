"""The ledger: budgets, spends and answers. What it guarantees, and why, is proved in `pbdp.ledger`."""

from __future__ import annotations

import json
import logging
import re
import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

from pbdp.errors import ContradictionError, InputError
from pbdp.json_records import canonical
from pbdp.ledger.errors import (
    DamagedLedgerError,
    DatasetExistsError,
    KeyReusedError,
    LedgerError,
    MissingKeyError,
    NotALedgerError,
    PriceMovedError,
    UntrustedLedgerError,
)
from pbdp.ledger.export import export_lines
from pbdp.ledger.guard import Change, Gap, Guard, signing_key
from pbdp.ledger.keys import Key, Keyring, key_folder, state_folder
from pbdp.ledger.record import (
    FORMAT,
    Amounts,
    Entry,
    Payload,
    Record,
    checked_amounts,
    checked_name,
    entries_of,
    none_of,
)
from pbdp.ledger.request import (
    Pricing,
    Purchase,
    Receipt,
    Request,
    Reservation,
    charge,
    check_relation,
    is_paid,
    purchase_contents,
    spend_content,
    spent_after,
)
from pbdp.ledger.snapshot import DatasetState, Snapshot, Spend, packed_answer
from pbdp.ledger.stores.interface import Store, Writing
from pbdp.ledger.stores.sqlite import SqliteStore
from pbdp.ledger.verification import Verification
from pbdp.ledger.witness import ledger_seen_at, place_file
from pbdp.mechanism.neighbors import Neighbors
from pbdp.parameters import is_connection

T = TypeVar("T")
_LOG = logging.getLogger("pbdp.ledger")
# Seconds to wait for another program that holds the ledger.
WAIT = 30.0
# Nobody means to wait for longer.
LONGEST_WAIT = 86_400
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)://")
# How often a price is found outside the lock, if others spend meanwhile, before it is found inside.
OUTSIDE = 3
AFTER_RECOVERY = "one of after the last recovery of this ledger"


class Ledger:
    """An open ledger. Get one with `create`, `open` or `recover`; it can be used from several threads."""

    def __init__(self, guard: Guard) -> None:
        if not isinstance(guard, Guard):
            raise ContradictionError(
                "Ledger",
                "opened or made, not called",
                f"Ledger({guard!r})",
                "Write Ledger.open(place) for one that is there, Ledger.create(place) for a new one.",
            )
        self._guard = guard

    @classmethod
    def create(cls, url: str | Path, *, wait: float = WAIT, trust: bool = False) -> Self:
        """A new ledger in a new file, or in a PostgreSQL database (`postgresql://...`).

        Refused where this machine has seen another ledger before, which is gone, unless `trust` says that
        this is meant.

        `url` names a file, or a PostgreSQL database (`postgresql://...`); `wait` is how many seconds to
        wait for others who write.
        """

        def first(writing: Writing) -> None:
            identity, key = secrets.token_hex(16), Key.fresh()
            # before anything is under it
            Keyring(identity, key_folder(), place=str(store_at(url, wait=wait).place)).add(key)
            content = {"ledger": identity, "format": FORMAT}
            writing.append(Record.after(None, "genesis", content, key))

        def begin(store: Store) -> Guard:
            if not trust:
                refuse_removed(store)
            store.initialize(first)
            guard = Guard(store, wait=wait)
            guard.meet(trust=True)
            # that the witness is new is no news
            guard.notes.clear()
            guard.trusted = None
            return guard

        return cls._guarded(url, wait, begin)

    @classmethod
    def open(cls, url: str | Path, *, wait: float = WAIT, trust: bool = False) -> Self:
        """The ledger at this place; a `RolledBackError` if it is older than this machine knows it.

        If this machine knows nothing of it (a container with a fresh home), it can only be read, unless
        `trust` says that it is up to date; then every release says so too.

        `url` names a file, or a PostgreSQL database (`postgresql://...`); `wait` is how many seconds to
        wait for others who write.
        """

        def begin(store: Store) -> Guard:
            guard = Guard(store, wait=wait)
            guard.meet(trust=trust)
            return guard

        return cls._guarded(url, wait, begin)

    @classmethod
    def recover(cls, url: str | Path, gap: Gap, *, wait: float = WAIT) -> Self:
        """Open a ledger that was taken back to an older state, with the gap counted as `known` or `all`.

        `url` names a file, or a PostgreSQL database (`postgresql://...`); `wait` is how many seconds to
        wait for others who write.
        """
        if gap not in ("known", "all"):
            raise InputError("gap", '"known" or "all"', ascii(gap))

        def begin(store: Store) -> Guard:
            guard = Guard(store, wait=wait)
            guard.recover(gap)
            return guard

        return cls._guarded(url, wait, begin)

    @classmethod
    def _guarded(cls, url: str | Path, wait: float, begin: Callable[[Store], Guard]) -> Self:
        store = store_at(url, wait=wait)
        try:
            return cls(begin(store))
        except BaseException:
            store.close()
            raise

    def close(self) -> None:
        """Give the file or the connection back."""
        self._guard.store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def identity(self) -> str:
        """The random id in the first record."""
        return self._guard.identity

    @property
    def place(self) -> str:
        """Where it is, without a password."""
        return self._guard.store.place

    @property
    def notes(self) -> tuple[str, ...]:
        """What the operator should know: no witness on this machine, a server that is not durable."""
        return (*self._guard.notes, *self._guard.store.notes())

    def keyed_digest(self, purpose: str, data: bytes, *, like: str | None = None) -> str:
        """`KEY:DIGEST` of the data, which only a holder of the ledger's key can compute.

        With `like`, an earlier one, under the key of that, so that the two can be compared after a rotation.

        `purpose` keeps digests for different ends apart.
        """
        ring = self._guard.ring
        ring.look_again()
        if like is None:
            key = self._guard.read(lambda snapshot: signing_key(snapshot, ring))
        else:
            name = like.partition(":")[0]
            found = ring.key(name)
            if found is None:
                raise MissingKeyError(self.place, name)
            key = found
        return f"{key.id}:{key.keyed_digest(purpose, data)}"

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
            "releases": 0,
        }

        def make(change: Change) -> DatasetState:
            if change.snapshot.reading.dataset_made(name) is not None:
                raise DatasetExistsError(name)
            recovery = change.snapshot.recovery
            if recovery is not None and name in recovery.content["lost"]:
                raise DatasetExistsError(name, "it was lost when this ledger was taken back")
            change.append("dataset", content)
            return change.dataset(name)

        return self._guard.write(make)

    def dataset(self, name: str) -> DatasetState:
        """The dataset's budget now.

        `name` is that of the dataset.
        """
        return self._guard.read(lambda snapshot: snapshot.dataset(name))

    def datasets(self) -> list[DatasetState]:
        """All budgets now, in the order in which they were given."""
        return self._guard.read(lambda snapshot: snapshot.datasets())

    def reserve(self, request: Request) -> Reservation:
        """Step 1: pay for a release, durably. Only after this returns may noise be drawn for it.

        A price that depends on the state is found outside the lock, and paid if the state is still the same.

        `request` says what is to be released and how it is priced.
        """
        key = request.key if request.key is not None else secrets.token_hex(16)

        def needs_price(snapshot: Snapshot) -> bool:
            package = snapshot.package(request.dataset, request.plan)
            refused = package.bought and not request.again
            return not (refused or is_paid(request, package))

        return self._priced(request, key, needs_price, lambda price: self._reserved(request, key, price))

    def buy(self, purchase: Purchase) -> Receipt:
        """Pay for packages of several plans together, durably; their releases can be used from then on.

        The same key buys once.

        `purchase` says which plans, and how they are priced.
        """
        key = purchase.key if purchase.key is not None else secrets.token_hex(16)
        return self._priced(purchase, key, lambda _: True, lambda price: self._bought(purchase, key, price))

    def _priced(
        self,
        asked: Request | Purchase,
        key: str,
        needs_price: Callable[[Snapshot], bool],
        pay: Callable[[Pricing], T],
    ) -> T:
        """Pay with a price that was found for the state of now; again if others spent meanwhile."""

        def look(snapshot: Snapshot) -> DatasetState | None:
            if snapshot.reading.spend_with(key) is not None:
                return None
            state = snapshot.dataset(asked.dataset)
            return state if needs_price(snapshot) else None

        for _ in range(OUTSIDE if callable(asked.cost) else 0):
            state = self._guard.read(look)
            try:
                return pay(_held(state, None if state is None else asked.priced(state)))
            except PriceMovedError:
                continue
        return pay(asked.priced)

    def _bought(self, purchase: Purchase, key: str, price: Pricing) -> Receipt:
        def pay(change: Change) -> Receipt:
            state = change.dataset(purchase.dataset)
            known = change.snapshot.reading.spend_with(key)
            if known is not None:
                if known.content["fingerprint"] != purchase.fingerprint(key):
                    raise KeyReusedError(key)
                if change.snapshot.is_void(known.sequence):
                    raise KeyReusedError(key, AFTER_RECOVERY, repr(key))
                paid: Payload = known.content
                return Receipt(key=key, charged=paid["cost"], spent=paid["spent"], fresh=False)
            check_relation(purchase.neighbors, state)
            cost = price(state)
            spent = spent_after(state, cost)
            packages = [change.snapshot.package(purchase.dataset, plan) for plan, _, _ in purchase.plans]
            for content in purchase_contents(purchase, key, state, packages, (cost, spent)):
                change.append("purchase", content)
            change.touch(replace(state, spent=spent, sequence=change.snapshot.head.sequence))
            return Receipt(key=key, charged=cost, spent=spent, fresh=True)

        receipt = self._guard.write(pay)
        if self._guard.trusted is not None:
            _LOG.warning("%s", self._guard.trusted)
        return receipt

    def _reserved(self, request: Request, key: str, price: Pricing) -> Reservation:
        def pay(change: Change) -> tuple[Record, bool, bytes | None]:
            state = change.dataset(request.dataset)
            spend = change.snapshot.reading.spend_with(key)
            if spend is None:
                package = change.snapshot.package(request.dataset, request.plan)
                charged = charge(request, state, package, price)
                spend = change.append("spend", spend_content(request, key, state, charged))
                change.touch(replace(state, spent=charged.spent, sequence=spend.sequence))
                return spend, True, None
            if spend.content["fingerprint"] != request.fingerprint(key):
                raise KeyReusedError(key)
            answer = change.snapshot.answer_to(spend.sequence)
            if answer is None and change.snapshot.is_void(spend.sequence):
                raise KeyReusedError(key, AFTER_RECOVERY, repr(key))
            return spend, False, answer

        spend, fresh, answer = self._guard.write(pay)
        if self._guard.trusted is not None:
            _LOG.warning("%s", self._guard.trusted)
        content = spend.content
        return Reservation(
            ledger=self.identity,
            key=key,
            sequence=spend.sequence,
            dataset=request.dataset,
            charged=content["cost"],
            spent=content["spent"],
            units_left=content["bought"] - content["used"],
            fresh=fresh,
            stored_answer=answer,
        )

    def settle(self, reservation: Reservation, answer: bytes) -> bytes:
        """Step 3: store the answer, durably; the first one wins. Only what this returns may be shown.

        `reservation` is what `reserve` returned.
        """
        if not isinstance(answer, bytes):
            raise InputError("answer", "bytes", type(answer).__name__)
        if reservation.ledger != self.identity:
            raise InputError("reservation", "one of this ledger", "one of another ledger")
        content, packed = packed_answer(answer, reservation.sequence)

        def store(change: Change) -> bytes:
            spend = change.snapshot.reading.record(reservation.sequence)
            if spend is None or spend.kind != "spend" or spend.content["key"] != reservation.key:
                raise InputError("reservation", "one that `reserve` returned", "something else")
            change.dataset(spend.content["dataset"])
            stored = change.snapshot.answer_to(spend.sequence)
            if stored is not None:
                return stored
            if change.snapshot.is_void(spend.sequence):
                raise LedgerError("The ledger was recovered after this was reserved. Reserve with a new key.")
            change.append("answer", content, packed)
            return answer

        return self._guard.write(store)

    def release(self, request: Request, draw: Callable[[], bytes]) -> bytes:
        """All three steps in their order: pay, draw the noise unless there is an answer already, store it.

        `request` is as in `reserve`.
        """
        reservation = self.reserve(request)
        if reservation.stored_answer is not None:
            return reservation.stored_answer
        return self.settle(reservation, draw())

    def spend_of(self, key: str) -> Spend | None:
        """What was paid for under this request key."""
        return self._guard.read(lambda snapshot: snapshot.spend(key))

    def history(self, dataset: str | None = None) -> Iterator[Entry]:
        """Every change of every budget, or of one, in order.

        `dataset` names the one; all of them, if left out.
        """
        if dataset is not None:
            self.dataset(dataset)
        rows = self._guard.rows(answers=False)
        entries = (entry for row in rows for entry in entries_of(row.record))
        return (entry for entry in entries if dataset in (None, entry.dataset))

    def export(self) -> Iterator[str]:
        """Every record and answer as JSON lines; `verify_export` checks them without the store."""
        return export_lines(self.identity, self._guard.rows(answers=True))

    def verify(self, *, everything: bool = False, against: Iterable[str] | None = None) -> Verification:
        """Check everything: each hash, MAC, total, package, key and answer, the store's files, the witness.

        Records that are byte for byte those of this machine's last verification are not added up again,
        unless `everything` is said (see `checkpoint`). The ledger must continue the export `against`.
        """
        from pbdp.ledger.checkpoint import outcome

        return outcome(self._guard, everything=everything, against=against)

    def rotate_key(self) -> str:
        """Put what comes from now on under a new key; its id. Other machines need it: `exported_keys`."""
        return self._guard.rotate_key()

    def exported_keys(self) -> str:
        """Every key of this ledger that this machine holds, for another machine. Keep it secret."""
        ring = self._guard.ring
        self._guard.read(lambda snapshot: signing_key(snapshot, ring))  # else it would be of little use
        return ring.exported()

    def take_keys(self, exported: object) -> list[str]:
        """Keep keys that another machine exported, as JSON says them; their ids."""
        return [key.id for key in self._guard.ring.take(exported)]

    @classmethod
    def replace_key(cls, url: str | Path, export: Iterable[str], *, wait: float = WAIT) -> Self:
        """Open a ledger whose key is lost, and put a new key in its place.

        `export` is the newest that was kept elsewhere. The ledger must hold all its records unchanged; what
        came after them must add up. What was taken back since the export is noticed only by a witness.

        `url` names a file, or a PostgreSQL database (`postgresql://...`); `wait` is how many seconds to
        wait for others who write.
        """

        def begin(store: Store) -> Guard:
            from pbdp.ledger.checkpoint import sound_export, verified

            guard = Guard(store, wait=wait)
            guard.meet()
            kept = sound_export(guard, export)
            walk = verified(guard, everything=True).walk
            fault = walk.fault or store.fault() or guard.divergence(kept.hashes)
            if fault is not None:
                raise DamagedLedgerError(store.place, fault)
            guard.replace_key(walk, {"sequence": len(kept.hashes) - 1, "hash": kept.hashes[-1]})
            return guard

        return cls._guarded(url, wait, begin)


def _held(state: DatasetState | None, cost: Amounts | None) -> Pricing:
    """The price that was found, in the state that it was found for."""

    def price(now: DatasetState) -> Amounts:
        if state is None or cost is None or now.spent != state.spent:
            raise PriceMovedError
        return cost

    return price


def verify_ledger(
    url: str | Path,
    *,
    wait: float = WAIT,
    everything: bool = False,
    against: Iterable[str] | None = None,
) -> Verification:
    """`verify`, also for a ledger that cannot be opened: the reason is then the fault."""
    place = store_at(url, wait=wait).place
    try:
        with Ledger.open(url, wait=wait) as ledger:
            return ledger.verify(everything=everything, against=against)
    except DamagedLedgerError as found:
        return Verification(place=place, fault=found.fault)
    except (LedgerError, NotALedgerError) as found:
        return Verification(place=place, fault=str(found))


def store_at(url: str | Path, *, wait: float) -> Store:
    """The store that keeps the ledger: PostgreSQL at postgresql:// URLs, SQLite at the path of a file."""
    if not 0 <= wait <= LONGEST_WAIT:
        raise InputError("wait", f"a number of seconds from 0 to {LONGEST_WAIT}", wait)
    text = str(url)
    rule = "the path of a file or a postgresql:// URL"
    if not text.startswith(("postgresql://", "postgres://")):
        if scheme := _SCHEME.match(text):
            raise InputError("ledger", rule, f"{scheme.group(1)}://...")
        if is_connection(text):
            remedy = "Write postgresql://host:port/database; a file in this folder with ./ before its name."
            raise InputError("ledger", rule, "what looks like another way to name a database", remedy)
        if not text or "\0" in text:
            raise InputError("ledger", rule, ascii(text))
        return SqliteStore(Path(text), wait=wait)
    from pbdp.ledger.stores.postgres import PostgresStore

    return PostgresStore(text, wait=wait)


def refuse_removed(store: Store) -> None:
    """A ledger that this machine has seen at this place must be there."""
    known = ledger_seen_at(place_file(store.place, state_folder()))
    if known is None:
        return
    try:
        store.read(lambda reading: reading.head())
    except NotALedgerError:
        raise UntrustedLedgerError(
            store.place, f"the ledger {known}, which this machine knows, is gone"
        ) from None


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
