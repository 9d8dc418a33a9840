"""What can go wrong with a ledger.

    PbdpError
    ├── BudgetExceededError       the release does not fit into the budget; nothing was spent (exit code 3)
    ├── LedgerError               the ledger cannot be used as it is
    │   ├── DamagedLedgerError    its content is not what was written
    │   ├── RolledBackError       it is older than its last known head: restored from a backup?
    │   ├── RemovedLedgerError    it is gone from where this machine has seen it
    │   ├── ReservedElsewhereError   another machine paid for the request, and has to draw
    │   ├── UntrustedLedgerError  this machine cannot know whether it is up to date
    │   ├── MissingKeyError       this machine does not have its key
    │   ├── StateFileError        a file of this machine's cannot be read
    │   │   ├── WitnessError      ... of what it knew of the ledger
    │   │   └── KeyFileError      ... with a key of the ledger
    │   ├── LockedLedgerError     another program held it for too long
    │   ├── ReadOnlyLedgerError   it cannot be written
    │   ├── UnlockableLedgerError its file system keeps no locks
    │   └── UnreachableLedgerError   the server or the file cannot be reached
    └── InputError
        ├── NotALedgerError       there is no ledger there, or something else is
        ├── LedgerExistsError     there is one already
        ├── UnknownDatasetError   no such dataset; the message lists the known ones
        ├── DatasetExistsError    a dataset of this name exists
        ├── KeyReusedError        a request key came back with another request
        └── PackageUsedUpError    the plan's releases are used up; paying again must be asked for

No message holds an answer, true or released.
"""

from __future__ import annotations

from pathlib import Path

from pbdp.errors import InputError, PbdpError, did_you_mean


class BudgetExceededError(PbdpError):
    """What was asked for does not fit into what is left; nothing was spent. `remedy` says what would fit."""

    exit_code = 3

    def __init__(self, dataset: str, reason: str, remedy: str = "") -> None:
        self.dataset = dataset
        self.reason = reason
        self.remedy = remedy
        text = f"The budget of {dataset} does not allow this: {reason}. Nothing was spent."
        super().__init__(f"{text} {remedy}" if remedy else text)


class LedgerError(PbdpError):
    """The ledger cannot be used as it is; the message says why and what to do."""


class DamagedLedgerError(LedgerError):
    """What is stored is not what was written."""

    def __init__(self, place: str, fault: str) -> None:
        self.place = place
        self.fault = fault
        super().__init__(
            f"The ledger {place} is damaged: {fault}. Nothing was spent. Put a sound copy in its place, or "
            "go on from the records before: `pbdp ledger repair` says what is lost, and counts what is in "
            "doubt as spent."
        )


class RolledBackError(LedgerError):
    """The store does not hold the record that this machine saw last."""

    def __init__(self, *, place: str, found: int, known: int, diverged: bool) -> None:
        self.place = place
        self.found = found
        self.known = known
        self.diverged = diverged
        what = (
            f"its record {known} is not the one that this machine saw"
            if diverged
            else f"it ends at record {found}, but this machine has seen record {known}"
        )
        self.fault = f"it was taken back to an older state: {what}"
        super().__init__(
            f"The ledger {place} was taken back to an older state: {what}. It was probably restored from a "
            "backup, and what was spent since then is missing from it. Put the newer one back, or say how to "
            "count the gap: `pbdp ledger repair --gap known` (Ledger.repair) charges what this machine "
            "knows to be spent, `--gap all` counts every dataset as fully spent."
        )


class RemovedLedgerError(LedgerError):
    """There is nothing at a place where this machine has seen a ledger."""

    def __init__(self, place: str, ledger: str) -> None:
        self.place = place
        self.ledger = ledger
        super().__init__(
            f"The ledger {ledger}, which this machine knows, is gone from {place}. Put it back from a copy: "
            "a new one would forget what was spent. If the people in it are not asked about any more, make a "
            "new one (pbdp ledger create) with trust=True."
        )


class ReservedElsewhereError(LedgerError):
    """Another machine paid for this request; only that one draws its answer."""

    def __init__(self, key: str) -> None:
        self.key = key
        super().__init__(
            f"The request {key!r} was paid for on another machine (or with another state folder), and has no "
            "answer yet. Nothing was spent. Repeat it there, or take a new key and pay again."
        )


class UntrustedLedgerError(LedgerError):
    """Nothing here says that the ledger was not taken back or replaced; `doubt` says why."""

    def __init__(self, place: str, doubt: str) -> None:
        self.place = place
        self.doubt = doubt
        super().__init__(
            f"Nothing is spent from the ledger {place}: {doubt}. If you know that it is the right one and up "
            "to date, say so with trust=True."
        )


class MissingKeyError(LedgerError):
    """The ledger can be read; only a holder of its key can write to it."""

    def __init__(self, place: str, key_id: str) -> None:
        self.place = place
        self.key_id = key_id
        super().__init__(f"Nothing is spent from the ledger {place}: {missing_key(key_id)}")


def missing_key(key_id: str) -> str:
    """What is known of a key that is not here, and what to do."""
    return (
        f"this machine does not have its key {key_id}, so it cannot know whether the records under that key "
        "are genuine. Bring the key here from a machine that has it (pbdp ledger key export there, pbdp "
        "ledger key import here). If it is lost everywhere, pbdp ledger key replace takes the ledger up "
        "again from an export. If nobody has made or replaced a key, somebody without one has written to "
        "the ledger."
    )


class StateFileError(LedgerError):
    """A file of this machine's is there, but says nothing that can be relied on."""

    def __init__(self, file: Path, fault: str, message: str) -> None:
        self.file = file
        self.fault = fault
        super().__init__(message)


class WitnessError(StateFileError):
    """What this machine knew of the ledger is in doubt."""

    def __init__(self, file: Path, fault: str) -> None:
        super().__init__(
            file,
            fault,
            f"What this machine knew of the ledger is in {file}, but {fault}. Put it back from a copy. If "
            "there is none and you know that the ledger is up to date, remove the file and open the ledger "
            "once with trust=True.",
        )


class KeyFileError(StateFileError):
    """A key of the ledger cannot be used."""

    def __init__(self, file: Path, fault: str) -> None:
        super().__init__(
            file,
            fault,
            f"A key of the ledger is in {file}, but {fault}. Without it the ledger can only be read. Put it "
            "back from a copy, or import it from another machine (pbdp ledger key import).",
        )


class LockedLedgerError(LedgerError):
    """Another program held the ledger longer than we were willing to wait."""

    def __init__(self, place: str, wait: float) -> None:
        self.place = place
        self.wait = wait
        super().__init__(
            f"The ledger {place} was locked by another program for more than {wait:g} seconds. Nothing was "
            "spent; try again."
        )


class ReadOnlyLedgerError(LedgerError):
    """Reading works, spending does not."""

    def __init__(self, place: str, reason: str = "it is read-only") -> None:
        self.place = place
        super().__init__(
            f"The ledger {place} cannot be written: {reason}. Nothing was spent. Check the permissions of "
            "the file and of its folder, or of the database role."
        )


class UnlockableLedgerError(LedgerError):
    """Two programs could spend the same budget at once."""

    def __init__(self, place: str, reason: str) -> None:
        self.place = place
        super().__init__(
            f"The ledger {place} cannot be kept there: {reason}. Nothing was spent. Put it on a local disk, "
            "or use PostgreSQL where several machines share it."
        )


class UnreachableLedgerError(LedgerError):
    """A server that does not answer, a file that cannot be opened, a disk that fails."""

    def __init__(self, place: str, reason: str) -> None:
        self.place = place
        super().__init__(
            f"The ledger {place} cannot be reached: {reason}. If this happened during a release, repeat it "
            "with the same request key: what was paid is not paid twice."
        )


class NotALedgerError(InputError):
    """What is there is not a pbdp ledger, or one of a version that this pbdp does not know.

    `empty` says that there is nothing at all.
    """

    def __init__(self, place: str, found: str, *, empty: bool = False) -> None:
        self.empty = empty
        super().__init__(
            "ledger",
            "the place of a pbdp ledger",
            f"{place}, {found}",
            "Make one: pbdp.budget(dataset, epsilon=..., delta=...), or pbdp ledger create.",
        )


class LedgerExistsError(InputError):
    """A ledger is never made over something that exists."""

    def __init__(self, place: str) -> None:
        super().__init__(
            "ledger",
            "a place where nothing is yet",
            place,
            "Open the ledger that is there.",
        )


class UnknownDatasetError(InputError):
    """The dataset has no budget in this ledger."""

    def __init__(self, dataset: str, known: list[str]) -> None:
        self.known = known
        names = ", ".join(known) if known else "none yet"
        remedy = did_you_mean(dataset, known) or "Give its epsilon and delta to make it."
        super().__init__("dataset", f"one of this ledger's (known: {names})", repr(dataset), remedy)


class DatasetExistsError(InputError):
    """A budget is given once; it is never changed."""

    def __init__(self, dataset: str, reason: str = "it exists and its budget cannot be changed") -> None:
        super().__init__(
            "dataset",
            "one that has no budget yet",
            f"{dataset!r}: {reason}",
            "Open the budget that is there. A second name for the same people would be a second budget: what "
            "they may lose would add up.",
        )


class KeyReusedError(InputError):
    """One request key stands for one request."""

    def __init__(self, key: str, rule: str = "used for one request only", value: str = "") -> None:
        super().__init__(
            "key",
            rule,
            value or f"{key!r} with another plan, dataset, query or number of values than before",
            "Take a new key for a new request.",
        )


class PackageUsedUpError(InputError):
    """The plan was paid for so many releases; this request needs more."""

    exit_code = 3

    def __init__(self, *, dataset: str, bought: int, used: int, asked: int, package: int) -> None:
        self.dataset = dataset
        self.bought = bought
        self.used = used
        self.asked = asked
        plan = "one release" if bought == 1 else f"{bought} releases"
        more = "another" if package == 1 else f"another {package}"
        super().__init__(
            f"releases of this plan on {dataset}",
            f"at most those that were paid for ({plan})",
            f"{asked} more, after {used} {'was' if used == 1 else 'were'} used",
            f"Nothing was spent. Say again=True to pay for {more}; the key of the earlier request gives its "
            "answer again at no cost.",
        )
