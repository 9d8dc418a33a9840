"""A ledger: what each dataset has spent, what the next release costs, and the answers that were released.

**The log.** A store (a file, a server) keeps rows under numbers: it adds one after the last, and reads them
in order (`stores`). Nothing is looked up in it, and nothing in it is believed for being there. A row is a
record: its hash covers the hash before it, and its MAC is under a key that is never where the ledger is
(`record`, `keys`). **The fold.** What is spent, which keys are paid for and where answers lie follows from
reading the log from its first record; `fold` alone says how, and which records cannot be true. **The cache**
keeps the fold on this machine, so that only new records are read; it can be thrown away. **The witness** is
the last head that this machine has seen; it is never made again in silence.

**Paying** is three steps, for a number, a table, a look and asking again alike (`Ledger.reserve` does the
first two as one, `Ledger.settle` the third):

1. *Price.* Read on to the head; price the request for what is spent there (`Request.payment`).
2. *Commit.* Append the payment after that head; tell the witness. If another record has that number by then,
   begin again: a price is never paid in another state.
3. *Draw, store.* Draw the answer and keep it on this machine; append it, in the same way; tell the witness;
   only then hand it out.

**What holds, and why**

*Paid first.* Noise is drawn after `reserve` has returned: then the spend is on stable storage and the witness
covers it. Whatever dies later cannot take it back. If the commit itself fails, no noise is drawn: a spend may
stand without an answer, never the reverse.

*Exact, at the price of its state.* Limits, costs and totals are whole numbers: a spend fits if and only if
`spent + cost <= limit` for every name. A record continues one head only, so the state that a spend was
priced for is the one that it follows, whoever races; the same holds for the releases of a package. (A repair
may count more than the limit; it releases nothing.)

*Never unreadable.* Each record is read back by the fold before it is appended; what would be refused by the
next reader is not written.

*One key, one answer.* The fold knows one spend of a key and one answer to a spend, and refuses others. Every
caller gets the bytes of that answer, read by its number and checked against the hash that the chain holds. If
they are missing or were changed they are refused: nothing is drawn in their place. A retry with another plan,
dataset, query, number of values or disjointness than its record says is refused.

*Drawn once.* A reservation names its machine, and only that one draws. It keeps what it drew before any
store is sent it, and sends the same again: a store that reads an answer and refuses it learns no second one.
While there is no answer in the log, the witness covers the spend: a spend that was removed is noticed, and
stops all.

*Nothing is told by refusals or records.* Everything in a spend is known before the true answer is read; an
answer record holds the released bytes, their length and digest.

*Any crash.* A store keeps whole records only. A crash (a) before the spend: nothing happened; (b) after it,
before the answer is kept here: paid, and nothing has left, so a retry draws; (c) after that: a retry stores
the same bytes, or finds them stored. What has left the program is stored and witnessed.

*Whoever can write to the store* can change, remove and add rows, and replace the table by a view and its
triggers by others. A changed or added row has no MAC under the key or breaks the chain; a removed one leaves
a gap, or is behind the witness. So what this machine believes is a chain that holders of the key wrote, at
least up to its witness. What it cannot know is what other machines appended after that and the store hides
from it: then both spend from what is left, so that all spending is bounded by the budget times the machines,
until their heads are compared (`verify(against=)` with an export of another one).

**Each piece, and what it stops that no other does**

    chain     a record changed, moved or removed below one that is believed
    MAC       a record added, or a whole log written anew, by somebody without the key
    witness   the last records removed, or an older copy put back: those have all their MACs
    place     a ledger removed, and a new one, with a key of its own, made in its place
    machine   an answer drawn a second time elsewhere, when its row was removed before that machine saw it
    drawn     an answer drawn a second time here, when the store refuses it after having read it
    cache     nothing: it makes opening fast. It is as safe as the witness, in the same folder
    rotation  whoever has copied a key: records under it are not believed after the change
    repair    one bad row locking out all others; it says what is lost, and counts what is in doubt as spent

Who has the store, its key and the witness can forge all of it: an `export` kept elsewhere shows that.
"""

from __future__ import annotations

from pbdp.ledger.errors import BudgetExceededError, LedgerError, RolledBackError
from pbdp.ledger.fold import DatasetState
from pbdp.ledger.ledger import Ledger
from pbdp.ledger.record import Entry
from pbdp.ledger.request import Request, Reservation
from pbdp.ledger.verification import Verification, verify_export, verify_ledger

__all__ = [
    "BudgetExceededError",
    "DatasetState",
    "Entry",
    "Ledger",
    "LedgerError",
    "Request",
    "Reservation",
    "RolledBackError",
    "Verification",
    "verify_export",
    "verify_ledger",
]
